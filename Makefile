# Two commands do all set-up: `make demo` and `make test`. Everything they make is in .venv, and in
# .venv-spark-* for releases of Spark other than the newest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Releases of PySpark beside the newest, and the one that Spark's own connector is made for.
OLDEST_SPARK := 4.0.0
OTHER_SPARKS := 4.1.0 4.2.0
CONNECTOR_SPARK := 4.2.0

# Which tests. All that touches Spark; of that, what may differ on the oldest release; and on others.
SPEED = not slow
SPARK_TESTS = tests/spark tests/integration --ignore=tests/spark/testing \
	--ignore=tests/spark/test_cli.py -m "($(SPEED)) and (spark or not integration)"
OLDEST_TESTS = tests/spark --ignore=tests/spark/testing --ignore=tests/spark/test_cli.py \
	--ignore-glob='tests/spark/test_*_faults_*.py' -m "$(SPEED)" \
	$(call integration,batch exactly_once other_sessions positions stream_faults stream_write)
OTHER_TESTS = tests/spark/test_source.py -m "$(SPEED)" \
	$(call integration,batch exactly_once pushdown stream_write)
integration = $(1:%=tests/integration/test_%.py)

# Those that use real brokers, the longest first; and those that use one core and no broker.
ON_OTHERS := $(OTHER_SPARKS:%=test-spark-%)
OF_BROKERS := test-integration test-conformance test-oldest $(ON_OTHERS)
OF_ONE_CORE := test-spark test-protocol
PARTS := $(OF_BROKERS) $(OF_ONE_CORE)
AT_A_TIME ?= 1

.PHONY: demo demo-stream test test-all test-newest $(PARTS) install bench bench-read bench-stream
.PHONY: bench-write fuzz lint format docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py

# Two minutes of a stream, live: its rows, and its lag in each partition.
demo-stream: $(VENV)/.installed-demo
	$(BIN)/python examples/live_progress.py

# AT_A_TIME=2 runs two parts with brokers at a time, where there are more than two cores. What runs
# beside something else is printed when it has ended.
test:
	$(MAKE) --jobs=2 install
	$(MAKE) lint
	$(MAKE) --jobs=2 --output-sync=target --keep-going $(OF_ONE_CORE); units=$$?; \
	$(MAKE) --jobs=$(AT_A_TIME) --output-sync=target --keep-going $(OF_BROKERS) && exit $$units

# The slow ones too, and all that touches Spark with every release.
test-all:
	$(MAKE) test SPEED="slow or not slow" OLDEST_TESTS='$$(SPARK_TESTS)' OTHER_TESTS='$$(SPARK_TESTS)'

install: $(VENV)/.installed-dev $(patsubst %,.venv-spark-%/.installed,$(OLDEST_SPARK) $(OTHER_SPARKS))

test-newest: test-protocol test-spark test-integration

test-protocol: $(VENV)/.installed-dev
	$(BIN)/python -m pytest tests --ignore=tests/spark --ignore=tests/integration -m "$(SPEED)"

test-spark: $(VENV)/.installed-dev
	$(BIN)/python -m pytest tests/spark -m "$(SPEED)"

test-integration: $(VENV)/.installed-dev
	$(BIN)/python -m pytest tests/integration -m "$(SPEED)"

test-oldest: .venv-spark-$(OLDEST_SPARK)/.installed
	.venv-spark-$(OLDEST_SPARK)/bin/python -m pytest $(OLDEST_TESTS)

$(ON_OTHERS): test-spark-%: .venv-spark-%/.installed
	.venv-spark-$*/bin/python -m pytest $(OTHER_TESTS)

# The same queries through Spark's own connector: in a process of their own, for its jars.
test-conformance: .venv-spark-$(CONNECTOR_SPARK)/.installed
	.venv-spark-$(CONNECTOR_SPARK)/bin/python -m pytest tests/conformance -m "$(SPEED)"

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/clients.py

# Beside Spark's own connector, which runs under this release of PySpark only.
bench-read: .venv-spark-$(CONNECTOR_SPARK)/.installed
	.venv-spark-$(CONNECTOR_SPARK)/bin/python benchmarks/read.py

bench-stream: .venv-spark-$(CONNECTOR_SPARK)/.installed
	.venv-spark-$(CONNECTOR_SPARK)/bin/python benchmarks/stream.py

bench-write: .venv-spark-$(CONNECTOR_SPARK)/.installed
	.venv-spark-$(CONNECTOR_SPARK)/bin/python benchmarks/write.py

# For how long: `make fuzz FUZZ_SECONDS=60`.
FUZZ_SECONDS ?= 600

fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m tests.fuzz $(FUZZ_SECONDS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed-dev
	$(BIN)/python docs/make_tables.py

clean:
	rm -rf $(VENV) .venv-spark-*

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-demo: pyproject.toml | $(BIN)/python
	@echo "Installing the project with Spark into $(VENV) (about a minute the first time)"
	$(BIN)/python -m pip install --quiet --editable '.[spark,broker]'
	touch $@

$(VENV)/.installed-bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@ $(VENV)/.installed-dev $(VENV)/.installed-demo

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "Installing the project, Spark and the development tools into $(VENV) (a minute or two the first time)"
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	touch $@ $(VENV)/.installed-demo

# Other releases of Spark, each with all that tests it, for example `make .venv-spark-4.0.0/.installed`.
.venv-spark-%/.installed: pyproject.toml
	@echo "Installing the project with Spark $* into .venv-spark-$* (a minute or two the first time)"
	$(PYTHON) -m venv .venv-spark-$*
	.venv-spark-$*/bin/python -m pip install --quiet --no-compile --editable '.[bench]' 'pyspark==$*'
	touch $@
