# Everything a newcomer needs: `make demo` and `make test`. Both set themselves up.
# `make test EXTRAS=test,engines` installs Ray, Spark and Dask too, and runs their tests.
PYTHON ?= python3
EXTRAS ?= test
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(EXTRAS)

.PHONY: help demo test docs dist format bench profile clean

help:            ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/ -/'

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ffml needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@echo "Setting up $(VENV) (once; about a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@

demo: $(READY)   ## A lender's 24 months: the default beside the paper's FFML and beside no fairness
	$(BIN)/ffml run lender --aim 0.02 --out runs/demo --overwrite
	$(BIN)/ffml run lender --method ffml --aim 0.02 --out runs/demo-ffml --overwrite --quiet
	$(BIN)/ffml report runs/demo --beside runs/demo-ffml

test: $(READY)   ## Lint, type-check and run all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

docs: $(READY)   ## Build the documentation: docs/_build/html/index.html
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

dist: $(READY)   ## Build the wheel and the source distribution: dist/
	$(BIN)/python -m hatchling build

format: $(READY) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## Time an outer iteration side by side with others (3 minutes)
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]' || echo "torch, torchopt and higher could not be installed: they are left out"
	$(BIN)/python benchmarks/outer_iteration.py --json runs/bench.json

profile: $(READY) ## Trace rounds, and print where their time goes
	$(BIN)/python benchmarks/profile_round.py

clean:           ## Remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis
