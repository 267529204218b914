# Two commands do all set-up: `make demo` and `make test`. Everything they make is in build/ and in
# venvs: .venv, .venv-spark-* for releases of Spark other than the newest, .venv-sail for Sail.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Releases of PySpark beside the newest, and the one that Spark's own connector is made for.
OLDEST_SPARK := 4.0.0
OTHER_SPARKS := 4.1.0 4.2.0
CONNECTOR_SPARK := 4.2.0
# Those that there are jars of Delta and of Iceberg for.
LAKE_SPARKS := 4.1.0 4.2.0
ICEBERG_SPARK := 4.1.0
# What `make dist` builds and checks with.
DIST_TOOLS := build==1.6.1 uv==0.13.9 twine==7.0.0 check-wheel-contents==0.6.3 pip-audit==2.10.1 cyclonedx-bom==7.5.0
# Spark Connect without a JVM: the server, and the client that it is made for.
SAIL := pysail==0.7.2 pyspark-client==4.2.0

# `quick` is for `make test`: no test marked `slow`, only those marked `core` beside Spark's own
# connector and on older releases of PySpark, and few examples for property tests, the same in each
# run. `all` is for `make test-all`: every test, and many examples, new in each run.
TIER ?= quick
SELECT = -m "$(if $(filter all,$(TIER)),$(2),$(1))"
export HYPOTHESIS_PROFILE = $(if $(filter all,$(TIER)),thorough,quick)

# Images for containers often set it. Each of the many Python processes of Spark would compile
# PySpark and pandas anew, which takes three times as long as to import them.
unexport PYTHONDONTWRITEBYTECODE

# What a process frees has 0xDB over its whole length (tests/poison.py).
test-%: export MALLOC_PERTURB_ := 219
test-%: export ARROW_DEFAULT_MEMORY_POOL := system

# What can differ from one release of PySpark to another.
SPARK_TESTS := tests/spark tests/integration --ignore=tests/spark/testing \
	--ignore=tests/spark/cli --ignore-glob='tests/spark/*/test_*faults*.py'

# Three parts run at a time on two cores, the longest first and the shortest last, so that all lanes
# end together: tests wait for brokers and for each other an eighth of their time.
PARTS := test-integration test-protocol test-change-data-$(CONNECTOR_SPARK) test-spark \
	test-oldest test-conformance lint test-hostile test-sail
ALL_PARTS := test-integration test-protocol test-conformance test-oldest \
	$(LAKE_SPARKS:%=test-change-data-%) test-spark $(OTHER_SPARKS:%=test-spark-%) test-hostile \
	test-slow-brokers test-one-record-batches test-planted test-sail lint

# Within `make test` a part runs through tests/parts.py; alone it shows its own output.
PART = $(if $(IN_PARTS),$(PYTHON) tests/parts.py run $(1) --)

.PHONY: demo demo-stream demo-cdc demo-tables demo-tables-iceberg test test-all $(ALL_PARTS) coverage bench bench-read bench-stream
.PHONY: bench-changes bench-tables bench-wide bench-settings bench-upsert bench-claim bench-far bench-types bench-write bench-formats bench-text bench-sail chaos torture soak soak-spark-alone fuzz simulate lint-here coverage-here
.PHONY: quick quick-consumer quick-client quick-protocol quick-formats quick-payloads test-for test-formats
.PHONY: audit format dist docs site site-check clean test-python
.DELETE_ON_ERROR:

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py

# Two minutes of a stream, live: its rows, and its lag in each partition.
demo-stream: $(VENV)/.installed-demo
	$(BIN)/python examples/live_progress.py

# A minute of changes in a real database, a stream that is killed twice, tables that must be equal.
demo-cdc: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-dev
	.venv-spark-$(CONNECTOR_SPARK)/bin/python -m tests.change_data

# Twenty topics, two of them by Debezium from a real database; schemas that change, a query that is
# killed five times, tables that must be equal.
demo-tables: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-dev
	.venv-spark-$(CONNECTOR_SPARK)/bin/python -m tests.change_data.shop_demo

# The same with tables of Iceberg.
demo-tables-iceberg: .venv-spark-$(ICEBERG_SPARK)/.installed $(VENV)/.installed-dev
	.venv-spark-$(ICEBERG_SPARK)/bin/python -m tests.change_data.shop_demo --provider iceberg

# What parts need is installed before the first one starts: make would begin a part whose venv is not
# there yet after all others, and one lane would wait for it at the end.
TESTED_SPARKS = $(OLDEST_SPARK) $(if $(filter all,$(TIER)),$(OTHER_SPARKS),$(CONNECTOR_SPARK))
INSTALLED = $(VENV)/.installed-dev .venv-sail/.installed $(TESTED_SPARKS:%=.venv-spark-%/.installed)

test:
	rm -rf build/test
	@$(MAKE) --jobs=2 --no-print-directory IN_PARTS=1 $(INSTALLED)
	@$(MAKE) --jobs=3 --keep-going --no-print-directory IN_PARTS=1 $(PARTS); parts=$$?; \
	$(if $(MEASURED),$(MAKE) --no-print-directory IN_PARTS=1 coverage,true); coverage=$$?; \
	$(BIN)/python tests/parts.py report; exit $$((parts + coverage))

# Every test, on every release of PySpark.
test-all:
	$(MAKE) test TIER=all PARTS="$(ALL_PARTS)"

lint: $(VENV)/.installed-dev
	@$(call PART,lint) $(MAKE) --no-print-directory lint-here

lint-here:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture

# Of the simulation, this one test starts brokers.
WITH_REAL_BROKERS := tests/simulation/kafka/test_against_real.py

test-protocol: $(VENV)/.installed-dev
	@COVERAGE_FILE=build/test/.coverage.protocol $(call PART,$@) $(BIN)/python -m pytest \
		$(COVERED) tests --ignore=tests/spark --ignore=tests/integration --ignore=tests/hostile \
		--ignore=$(WITH_REAL_BROKERS) $(call SELECT,not slow)

# In a process of their own: their audit hook cannot be removed, and while it hears of a trace
# function, Python 3.11 lets no other thread have one, so that the thread fails.
test-hostile: $(VENV)/.installed-dev
	@$(call PART,$@) $(BIN)/python -m pytest tests/hostile $(call SELECT,not slow)

# Hunts for each planted fault in the simulated world or by tests, and writes docs/reliability.md.
test-planted: $(VENV)/.installed-dev
	@$(call PART,$@) $(BIN)/python -m tests.simulation.planted --jobs 1 --seconds 240 --page

test-spark: $(VENV)/.installed-dev
	@COVERAGE_FILE=build/test/.coverage.spark $(call PART,$@) $(BIN)/python -m pytest \
		$(COVERED) tests/spark $(call SELECT,not slow)

test-integration: $(VENV)/.installed-dev
	@$(call PART,$@) $(BIN)/python -m pytest tests/integration $(WITH_REAL_BROKERS) \
		$(call SELECT,not slow,not older)

# The quick tests of test-integration, with one record in each log batch that librdkafka writes.
test-one-record-batches: $(VENV)/.installed-dev
	@$(call PART,$@) $(BIN)/python -m pytest -p tests.one_record_batches tests/integration \
		-m "not slow and not older"

# The client, with scripted brokers that pause before some requests and responses.
test-slow-brokers: $(VENV)/.installed-dev
	@$(call PART,$@) $(BIN)/python -m pytest -p tests.slow_brokers tests/protocol/client \
		-m "not slow"

# The protocol, the formats and the planning, on another Python: `make test-python PYTHON=python3.13`.
PYTHON_TESTS := tests/protocol tests/formats tests/spark/options tests/spark/planning
PYTHON_VENV = .venv-python-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

test-python:
	$(PYTHON) -m venv $(PYTHON_VENV)
	$(PYTHON_VENV)/bin/python -m pip install --quiet --no-compile --editable '.[dev]'
	$(PYTHON_VENV)/bin/python -m pytest $(PYTHON_TESTS) -m "not slow and not spark and not integration"

# "I changed this, what do I run?": the tests of one module, of the formats, or of all that needs
# neither a broker nor Spark.
FORMAT_TESTS := tests/formats tests/spark/options tests/integration/test_formats.py
QUICK := -m "not slow and not no_cover and not many_inputs and not spark and not integration"

test-for: $(VENV)/.installed-dev
	@tests=$$($(BIN)/python -m tests.mirror $(FILE)) && \
		$(BIN)/python -m pytest $$tests -m "not slow"

test-formats: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(FORMAT_TESTS) -m "not slow"

# Five at a time on two cores, the longest first: tests of the client wait for brokers.
QUICK_PARTS := quick-formats quick-protocol quick-payloads quick-client quick-consumer
CONSUMER_TESTS := tests/protocol/client/consumer tests/protocol/client/cluster
PAYLOAD_TESTS := tests/formats/avro tests/formats/json tests/formats/protobuf
SUITE_TESTS := tests/formats/suite

quick: $(VENV)/.installed-dev
	$(MAKE) --jobs=5 --no-print-directory $(QUICK_PARTS)

$(QUICK_PARTS): export HYPOTHESIS_PROFILE := quick
quick-consumer:
	$(BIN)/python -m pytest $(CONSUMER_TESTS) $(QUICK) --quiet

quick-client:
	$(BIN)/python -m pytest tests/protocol/client $(CONSUMER_TESTS:%=--ignore=%) $(QUICK) --quiet

# With the suite of formats, so that all parts take as long.
quick-protocol:
	$(BIN)/python -m pytest tests/protocol --ignore=tests/protocol/client $(SUITE_TESTS) $(QUICK) --quiet

quick-formats:
	$(BIN)/python -m pytest tests/formats $(PAYLOAD_TESTS:%=--ignore=%) $(SUITE_TESTS:%=--ignore=%) \
		$(QUICK) --quiet

quick-payloads:
	$(BIN)/python -m pytest $(PAYLOAD_TESTS) tests/spark/options tests/spark/planning $(QUICK) --quiet

# The same queries through Spark's own connector: in a process of their own, for its jars.
test-conformance: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-dev
	@$(call PART,$@) .venv-spark-$(CONNECTOR_SPARK)/bin/python -m pytest tests/conformance \
		$(call SELECT,core and not slow)

# Few examples show what another release, other log batches or slow brokers change.
test-oldest $(OTHER_SPARKS:%=test-spark-%) test-one-record-batches test-slow-brokers: \
	export HYPOTHESIS_PROFILE := quick

test-oldest: .venv-spark-$(OLDEST_SPARK)/.installed $(VENV)/.installed-dev
	@$(call PART,$@) .venv-spark-$(OLDEST_SPARK)/bin/python -m pytest $(SPARK_TESTS) \
		$(call SELECT,core and not slow,(core or (spark or not integration) and not slow) and not newest)

# 4.1 has the interfaces of 4.0, and 4.2, where conformance runs, those of the newest.
$(OTHER_SPARKS:%=test-spark-%): test-spark-%: .venv-spark-%/.installed $(VENV)/.installed-dev
	@$(call PART,$@) .venv-spark-$*/bin/python -m pytest $(SPARK_TESTS) -m "core and not newest and not slow"

# `apply_changes` on real tables, and the demo: in processes of their own, for the jars.
$(LAKE_SPARKS:%=test-change-data-%): test-change-data-%: .venv-spark-%/.installed $(VENV)/.installed-dev
	@$(call PART,$@) .venv-spark-$*/bin/python -m pytest tests/change_data $(call SELECT,core and not slow)

test-sail: .venv-sail/.installed
	@$(call PART,$@) .venv-sail/bin/python -m pytest tests/integration/sail \
		$(call SELECT,core,integration)

# Coverage of the parts without brokers. What needs no socket is covered whole; for the rest the
# floor is what is reached, and is never lowered. It is measured in `make test` only: tracing makes
# the tests two to three times slower, and more examples would change nothing.
MEASURED = $(filter quick,$(TIER))
COVERED = $(if $(and $(IN_PARTS),$(MEASURED)),--cov --cov-report=)
COVERED_WHOLE := protocol/kafka_protocol/*
ARROW_IO := protocol/kafka_protocol/arrow_io
SOCKETS := protocol/kafka_protocol/client/*,$(ARROW_IO)/topic.py,$(ARROW_IO)/topic_reader.py,$(ARROW_IO)/table.py
FLOOR := 90
FORMATS_FLOOR := 98

coverage: export COVERAGE_FILE := build/test/.coverage
coverage:
	@$(call PART,coverage) $(MAKE) --no-print-directory coverage-here

coverage-here:
	$(BIN)/coverage combine --keep build/test
	$(BIN)/coverage report --include='$(COVERED_WHOLE)' --omit='$(SOCKETS)' \
		--skip-covered --show-missing --fail-under=100
	$(BIN)/coverage report --include='$(SOCKETS),kafka_spark_source/*' --fail-under=$(FLOOR)
	$(BIN)/coverage report --include='protocol/kafka_formats/*' --skip-covered --show-missing \
		--fail-under=$(FORMATS_FLOOR)

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/clients.py

# Beside Spark's own connector, which runs under this release of PySpark only; and without a JVM.
bench-read: .venv-spark-$(CONNECTOR_SPARK)/.installed .venv-sail/.installed $(VENV)/.installed-bench
	.venv-spark-$(CONNECTOR_SPARK)/bin/python benchmarks/read.py

bench-stream: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-bench
	.venv-spark-$(CONNECTOR_SPARK)/bin/python benchmarks/stream.py

# What each setting of the session gives.
bench-settings: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-bench
	.venv-spark-$(CONNECTOR_SPARK)/bin/python -m benchmarks.settings

# Topics with many partitions and a few rows in each.
bench-wide: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-bench
	.venv-spark-$(CONNECTOR_SPARK)/bin/python benchmarks/wide.py

# The newest record of each key, beside queries on Spark's own connector.
bench-upsert: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-bench
	.venv-spark-$(CONNECTOR_SPARK)/bin/python -m benchmarks.upsert

# A micro-batch of changes into a table of Delta, beside a MERGE by hand.
bench-changes: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-bench
	.venv-spark-$(CONNECTOR_SPARK)/bin/python -m benchmarks.changes

# Many topics into tables of Delta, beside a query for each and a foreachBatch by hand.
bench-tables: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-bench
	.venv-spark-$(CONNECTOR_SPARK)/bin/python -m benchmarks.topics_to_tables

# The cost of an exactly-once claim, by the length of the commit log.
bench-claim: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/claim.py

# A broker that is 200 ms away, beside Spark's own connector.
bench-far: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-bench
	.venv-spark-$(CONNECTOR_SPARK)/bin/python -m benchmarks.far

# Several record types in a topic, beside one.
bench-types: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.record_types

bench-write: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-bench
	.venv-spark-$(CONNECTOR_SPARK)/bin/python benchmarks/write.py

# Beside Sail, in a process and a venv of its own.
bench-sail: .venv-spark-$(CONNECTOR_SPARK)/.installed .venv-sail/.installed $(VENV)/.installed-bench
	.venv-spark-$(CONNECTOR_SPARK)/bin/python -m benchmarks.sail

# Values as text, beside a CAST and Spark's own connector.
bench-text: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-bench
	.venv-spark-$(CONNECTOR_SPARK)/bin/python -m benchmarks.text

# Payloads of Avro: alone, and beside Spark's own connector with `from_avro`.
bench-formats: .venv-spark-$(CONNECTOR_SPARK)/.installed $(VENV)/.installed-bench
	.venv-spark-$(CONNECTOR_SPARK)/bin/python benchmarks/formats.py

# Random topics in random queries under faults, each row compared with what librdkafka reads. `make
# torture SEED=7` draws those of a run again, and `CASE=file` runs one that a run has cut down.
TORTURE_MINUTES ?= 120

torture: $(VENV)/.installed-bench .venv-sail/.installed
	$(BIN)/python -m tests.endurance.torture --minutes $(TORTURE_MINUTES) \
		$(SEED:%=--seed %) $(if $(CASE),--case $(CASE) --results build/torture-case)

# Torture's copies alone, under faults that overlap. `make chaos CHAOS_SEED=7` repeats those of a run.
CHAOS_MINUTES ?= 30

chaos: $(VENV)/.installed-bench
	$(BIN)/python -m tests.endurance.torture --way copies --minutes $(CHAOS_MINUTES) \
		$(CHAOS_SEED:%=--seed %) --results build/chaos

# For how long: `make fuzz FUZZ_SECONDS=60`.
FUZZ_SECONDS ?= 600

fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m tests.fuzz $(FUZZ_SECONDS)

# The client in a simulated world, many seeds. `make simulate SEED=7` repeats one, with its time line.
SIMULATE_SECONDS ?= 300

simulate: $(VENV)/.installed-dev
	$(BIN)/python -m tests.simulation \
		$(if $(SEED),--seed $(SEED),--seconds $(SIMULATE_SECONDS) --jobs 2)

# For how long: `make soak SOAK_MINUTES=20`. It draws a plot, as the benchmarks do.
SOAK_MINUTES ?= 120

soak: $(VENV)/.installed-bench
	$(BIN)/python -m tests.endurance.soak --minutes $(SOAK_MINUTES)

# The same with nothing of this project: what Spark itself keeps.
soak-spark-alone: $(VENV)/.installed-bench
	$(BIN)/python -m tests.endurance.soak --minutes $(SOAK_MINUTES) --of spark-alone \
		--results build/soak-spark-alone

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A release in dist/: built, checked, installed, tried on a real broker. Its SBOM is in build/dist.
dist: .venv-dist/.installed $(VENV)/.installed-dev
	$(BIN)/python -m tests.release

docs: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.figures
	$(BIN)/python docs/make_tables.py

# The site, in build/site. It fails on a dead link or anchor, and on a page that is not in the navigation.
site: export NO_MKDOCS_2_WARNING := 1
site: $(VENV)/.installed-docs
	$(BIN)/python docs/make_site.py
	$(BIN)/mkdocs build --strict

# Each page in a real browser: Debian's packages chromium and chromium-driver.
site-check: site $(VENV)/.installed-dev
	$(BIN)/python -m pytest tests/site

clean:
	rm -rf .venv .venv-* build dist

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-demo: pyproject.toml | $(BIN)/python
	@echo "Installing the project with Spark into $(VENV) (about a minute the first time)"
	$(BIN)/python -m pip install --quiet --editable '.[spark,broker]'
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "Installing the project, Spark and the development tools into $(VENV) (a minute or two the first time)"
	@$(call PART,install) $(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	$(call PRECOMPILE,$(VENV))
	touch $@ $(VENV)/.installed-demo

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

# Beside what is there: neither Spark nor the development tools are needed.
$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	@echo "Installing the builder of the site into $(VENV) (half a minute the first time)"
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

# Known vulnerabilities of what the packages need, at the lowest and the newest versions that they
# allow. It asks the package index, which must have its JSON API.
audit: .venv-dist/.installed
	mkdir -p build/audit
	for resolution in lowest-direct highest; do \
		.venv-dist/bin/uv pip compile --quiet pyproject.toml --resolution $$resolution \
			--extra cli --extra msk --extra gssapi --extra protobuf \
			--output-file build/audit/$$resolution.txt && \
		.venv-dist/bin/pip-audit --strict --no-deps --disable-pip \
			--requirement build/audit/$$resolution.txt || exit 1; \
	done

.venv-dist/.installed: Makefile
	@echo "Installing the tools for a release into .venv-dist"
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet $(DIST_TOOLS)
	touch $@

# Another release of PySpark: a venv with nothing but that, on top of what is in .venv. For example
# `make .venv-spark-4.0.0/.installed`.
.venv-spark-%/.installed: pyproject.toml | $(VENV)/.installed-dev
	@echo "Installing Spark $* into .venv-spark-$* (a minute or two the first time)"
	$(PYTHON) -m venv .venv-spark-$*
	@$(call PART,install-spark-$*) .venv-spark-$*/bin/python -m pip install --quiet --no-compile \
		'pyspark==$*'
	$(call PRECOMPILE,.venv-spark-$*)
	$(call ON_TOP,.venv-spark-$*)
	touch $@

# With its own packages first: what .venv has is not installed again.
.venv-sail/.installed: $(VENV)/.installed-dev
	@echo "Installing Sail into .venv-sail"
	$(PYTHON) -m venv .venv-sail
	$(call ON_TOP,.venv-sail)
	@$(call PART,install-sail) .venv-sail/bin/python -m pip install --quiet --no-compile $(SAIL)
	touch $@

# Tests start many Python processes of Spark.
define PRECOMPILE
$(BIN)/pykafka precompile --spark-home $$(echo $(1)/lib/python3.*/site-packages/pyspark)
endef

# Python of a venv finds what is in .venv, too.
define ON_TOP
echo "import site; site.addsitedir('$$(echo $(CURDIR)/$(VENV)/lib/python3.*/site-packages)')" \
		> $$(echo $(1)/lib/python3.*/site-packages)/on-top-of-newest.pth
endef
