# Two commands do all the set-up: `make demo` and `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test test-fast check perf constraints clean

help:
	@echo "make demo       install, build and verify Syn-Ledger, and say where the result is"
	@echo "make test       install the test extras and run every test"
	@echo "make test-fast  the quick tests, under two minutes"
	@echo "make check      ruff, mypy and the import rule"
	@echo "make perf       speed, as ratios against peers in the same run"

$(VENV)/.base: pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once; about a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) -e .
	@touch $@

$(VENV)/.test: $(VENV)/.base
	@echo "Installing the test extras (once; about a minute) ..."
	@$(PIP) -e '.[test]'
	@touch $@

demo: $(VENV)/.base
	@$(BIN)/chase demo --out demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto

test-fast: $(VENV)/.test
	$(BIN)/python -m pytest -n auto -m "not slow"

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

perf: $(VENV)/.test
	$(BIN)/python -m benchmarks_perf

constraints:
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --upgrade --all-extras --no-header --no-annotate pyproject.toml -o constraints.txt

clean:
	rm -rf $(VENV) demo dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
