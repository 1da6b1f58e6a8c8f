# Everything from a bare Python 3.11 (or later) with pip: each target sets itself up first.
#
#   make demo          the tour: TPC-H data, a plan, its run, pictures
#   make test          lint, types and all tests but the slow ones (minutes)
#   make test-all      the slow tests too
#   make bench-search  how fast the search is: tables, and a report in bench-search/ (minutes)
#   make bench-plan    how long planning takes, stage by stage, with DuckDB beside: tables, and a report in bench-plan/ (minutes)
#   make bench-exec    how fast queries run on TPC-H, with DuckDB beside: a table, and a report in bench-exec/ (minutes)
#   make bench-trace   how fast a trace of a million events is walked through, and its memory (minutes)
#   make bench-report  the experiments of docs/results.md, quick, each with a report in bench-report/ (half an hour)
#   make docs          the pages of docs/ with their pictures and outputs, and a site of them in build/site (minutes)
#   make lint          ruff and mypy only
#   make setup         the virtual environment .venv, redone when pyproject.toml changes
#   make clean         remove .venv, caches and what the demo wrote
#
# make PYTHON=/path/to/python3.12 chooses the interpreter of a new .venv.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all bench-search bench-plan bench-trace bench-exec bench-report docs lint clean

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.planscope-setup
# three for two cores: some tests wait for other programs
PYTEST := $(PY) -m pytest -q -n 3 --dist worksteal

help:
	@sed -n 's/^#   //p' Makefile

demo: setup
	@$(VENV)/bin/planscope demo

# tests start planscope a hundred times: Python is to keep what it compiled, also where that is switched off
test test-all: export PYTHONDONTWRITEBYTECODE =

test: lint
	$(PYTEST) -m "not slow"

test-all: lint
	$(PYTEST)

bench-search: setup
	@$(VENV)/bin/planscope bench search -o bench-search

bench-plan: setup
	@$(VENV)/bin/planscope bench plan -o bench-plan

bench-trace: setup
	@$(VENV)/bin/planscope bench trace

bench-exec: setup
	@$(VENV)/bin/planscope bench exec -o bench-exec

bench-report: setup
	@set -e; for each in anchors pruning quality space decorrelation rules robustness; do \
	  $(VENV)/bin/planscope bench $$each --quick -o bench-report/$$each; \
	done

docs: setup
	@$(PY) -c 'import furo, myst_parser, sphinx' 2>/dev/null || $(PY) -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@$(PY) -m experiments.documentation
	@$(PY) -m experiments.documentation.site

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info planscope-demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp holds where .venv was made and for which pyproject.toml: a moved checkout gets a new .venv, a changed
# pyproject.toml an update of the old one.
setup:
	@set -e; \
	wanted="$$(pwd) $$(cksum < pyproject.toml)"; \
	if [ -x $(PY) ] && [ "$$(cat $(STAMP) 2>/dev/null)" = "$$wanted" ]; then exit 0; fi; \
	case "$$(cat $(STAMP) 2>/dev/null)" in ""|"$$(pwd) "*) ;; *) rm -rf $(VENV);; esac; \
	if ! $(PY) -m pip --version >/dev/null 2>&1; then \
	  python=""; \
	  for candidate in $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11 python3.14 python); do \
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then python="$$candidate"; break; fi; \
	  done; \
	  if [ -z "$$python" ]; then \
	    echo "planscope needs Python 3.11 or later, and found none$(if $(PYTHON), at $(PYTHON)):" >&2; \
	    echo "install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; \
	  fi; \
	  echo "setting up $(VENV) with $$("$$python" --version) (once; about a minute)"; \
	  rm -rf $(VENV); \
	  if "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then "$$python" -m venv $(VENV); \
	  elif ! { "$$python" -m venv --without-pip $(VENV) && "$$python" -m pip --python $(PY) install --quiet pip; } >/dev/null 2>&1; then \
	    rm -rf $(VENV); \
	    echo "$$python cannot make virtual environments (its ensurepip module is missing)." >&2; \
	    echo "On Debian and Ubuntu: apt install python3-venv. Else: make PYTHON=/path/to/another/python3.12" >&2; exit 1; \
	  fi; \
	else echo "updating $(VENV) for pyproject.toml"; fi; \
	rm -f $(STAMP); \
	if ! $(PY) -m pip install --quiet --disable-pip-version-check --editable '.[test]'; then \
	  echo "pip could not install planscope and its dependencies into $(VENV) (its messages are above);" >&2; \
	  echo "run make again once it can reach a package index." >&2; exit 1; \
	fi; \
	printf '%s\n' "$$wanted" > $(STAMP)
