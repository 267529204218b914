# Two commands do all set-up: `make demo` and `make test`. Everything they make is in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all bench fuzz lint format docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py

test: lint
	$(BIN)/python -m pytest -m "not slow"

test-all: lint
	$(BIN)/python -m pytest

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/clients.py

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
	rm -rf $(VENV)

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
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.installed-demo

# Other releases of Spark, each with all that tests it, for example `make .venv-spark-4.0.0/.installed`.
.venv-spark-%/.installed: pyproject.toml
	@echo "Installing the project with Spark $* into .venv-spark-$* (a minute or two the first time)"
	$(PYTHON) -m venv .venv-spark-$*
	.venv-spark-$*/bin/python -m pip install --quiet --editable '.[bench]' 'pyspark==$*'
	touch $@
