# Each target has a caption behind two hashes; plain `make` lists them.
#
# Everything runs in .venv, which is made on first use and again when pyproject.toml or the locks change:
# by uv when there is one, else by venv and pip. Both install exactly what requirements/dev.txt pins by hash.

.DEFAULT_GOAL := help
SHELL := /bin/sh

VENV := .venv
STAMP := $(VENV)/.stamp
BIN := $(VENV)/bin
ARGS ?=
DATA ?=
BENCH := .venv-bench
BENCHMARKS := judgements fetch_cost scheduling streaming jail_cost extraction_cost archive_cost whole_path memory

.PHONY: help demo test test-all lint fix bench docs soak check lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(STAMP) ## Take the sample site in, page by page, and show what became of it
	@$(BIN)/mudroom demo $(ARGS)

test: $(STAMP) ## Run the quick tests (more with ARGS="-k robots")
	$(BIN)/python -m pytest -m "not soak" --ignore=tests/acceptance $(ARGS)

test-all: $(STAMP) ## Run every test, those that take a real jail and real processes too
	$(BIN)/python -m pytest -m "not soak" $(ARGS)

lint: $(STAMP) ## Check style, types and floors
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(STAMP) ## Format, and mend what the linter can mend
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(BENCH)/.stamp ## Measure against peers; each benchmark prints ratios (DATA=DIR for the screening sets)
	@set -e; for name in $(BENCHMARKS); do echo "== $$name"; $(BENCH)/bin/python "benchmarks/$$name.py"; done
	@if [ -n "$(DATA)" ]; then $(BENCH)/bin/python benchmarks/screening.py --data "$(DATA)"; fi

docs: $(STAMP) ## Check links, examples and generated pages of the documentation
	$(BIN)/python docs/generate.py --check
	$(BIN)/python -m pytest -q tests/test_docs.py

soak: $(STAMP) ## Run the long rounds, and crawl Debian's manual of PostgreSQL with two kills (apt-get needed)
	$(BIN)/python -m pytest -m soak $(ARGS)
	$(BIN)/python benchmarks/killed_crawl.py

check: lint test-all docs ## What continuous integration runs

lock: $(STAMP) ## Resolve the dependencies again and pin them by hash (needs uv)
	requirements/lock.sh

clean: ## Remove the environment and all caches
	rm -rf $(VENV) $(BENCH) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist

$(BENCH)/.stamp: pyproject.toml requirements/bench.txt requirements/make_venv.sh
	@requirements/make_venv.sh $(BENCH) requirements/bench.txt
	@touch $@

$(STAMP): pyproject.toml requirements/dev.txt requirements/make_venv.sh
	@requirements/make_venv.sh $(VENV)
	@touch $@
