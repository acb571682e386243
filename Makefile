# Everything runs from an environment built from requirements.lock.
#
#   make PYTHON=/path/to/python setup   build it with that Python
#   make lock UPGRADE=1                 take the newest releases into the lock
#   make test WORKERS=8                 use more test processes

VENV ?= .venv
WORKERS ?= 2

# Runs, is of a version that handrail supports, and can make an environment.
PY_OK := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))

# The first Python that really runs: a name on PATH may be a shim with nothing behind it.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	if $$p -c '$(PY_OK)' >/dev/null 2>&1; then echo $$p; break; fi; done)

PY := $(VENV)/bin/python
STAMP := $(VENV)/.stamp
PIP := $(PY) -m pip --disable-pip-version-check install -q
CODE := src tests benchmarks

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: setup demo test test-long test-all lint bench bench-paper bench-service certify mutants lock build clean help FORCE

# The stamp holds the folder it was made in and is written last: an environment that is half
# built, was moved here from elsewhere or has lost its Python is built anew.
STALE = $(shell [ "$$(cat $(STAMP) 2>/dev/null)" = "$(CURDIR)" ] \
	&& $(PY) -c '' 2>/dev/null || echo FORCE)

$(STAMP): requirements.lock pyproject.toml $(STALE)
	@python="$(PYTHON)"; \
	if [ -z "$$python" ]; then \
		echo "make: found no Python >=3.11,<3.14 with venv and pip among python3.11," \
			"python3.12, python3.13 and python3 on PATH; name one: make PYTHON=..." >&2; \
		exit 1; \
	elif ! "$$python" -c '$(PY_OK)' >/dev/null 2>&1; then \
		echo "make: PYTHON=$$python does not run, is not Python >=3.11,<3.14," \
			"or lacks venv or pip" >&2; \
		exit 1; \
	fi; \
	echo "building $(VENV) with $$("$$python" --version) from requirements.lock"; \
	rm -rf $(VENV) && "$$python" -m venv $(VENV)
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation -e .
	@echo "$(CURDIR)" > $@

setup: $(STAMP) ## build .venv from the lock, with handrail in it as editable

demo: $(STAMP) ## reproduce the figures of the paper at a first look's scale, into out/
	$(PY) -m handrail reproduce --scale quick

test: $(STAMP) ## run the tests and doctests, without those marked long
	PYTHONHASHSEED=0 $(PY) -m pytest -n $(WORKERS) -m "not long"

test-long: $(STAMP) ## run the tests marked long
	@PYTHONHASHSEED=0 $(PY) -m pytest -n $(WORKERS) -m long -o faulthandler_timeout=2400; code=$$?; \
	if [ $$code -eq 5 ]; then echo "no test is marked long: nothing was run"; \
	else exit $$code; fi

test-all: test ## run the tests on each of Python 3.11, 3.12 and 3.13 that is installed
	@have=$$($(PY) -c 'import sys; print("%d.%d" % sys.version_info[:2])'); failed=; \
	for v in 3.11 3.12 3.13; do \
		if [ "$$v" = "$$have" ]; then continue; fi; \
		found=; \
		for p in "python$$v" "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$v.*/bin/python; do \
			if "$$p" -c '$(PY_OK)' >/dev/null 2>&1; then found=$$p; break; fi; \
		done; \
		if [ -z "$$found" ]; then \
			echo "Python $$v: not installed here, the tests were not run on it"; \
			continue; \
		fi; \
		echo "Python $$v: running the tests with $$found"; \
		$(MAKE) --no-print-directory VENV=".venv-$$v" PYTHON="$$found" test \
			|| failed="$$failed $$v"; \
	done; \
	if [ -n "$$failed" ]; then echo "the tests failed on Python$$failed" >&2; exit 1; fi

lint: $(STAMP) ## ruff, mypy --strict and the import contracts
	$(PY) -m ruff check $(CODE)
	$(PY) -m ruff format --check $(CODE)
	$(PY) -m mypy --strict $(CODE)
	$(VENV)/bin/lint-imports

bench: $(STAMP) ## run the benchmarks (PARTS="rounds startup": only these), into out/
	$(PY) -m benchmarks $(PARTS)

bench-paper: $(STAMP) ## time the whole reproduction at the paper's scale: minutes
	$(PY) -m benchmarks paper

bench-service: $(STAMP) ## measure the decision service against a bare endpoint: minutes
	$(PY) -m benchmarks service

certify: $(STAMP) ## measure whether every promise is kept, on problems made to hurt: minutes
	@mkdir -p out
	$(PY) -m handrail certify --all --out out/certify.json

mutants: $(STAMP) ## change the rules in 110 random ways (SEED=S: in others): do tests notice?
	$(PY) -m tests.mutants $(if $(SEED),--seed $(SEED)) --workers $(WORKERS)

# Needs no working environment, so that a lock that cannot be installed can be made anew. The
# file is left as it is when nothing changes, and the lock names no place to download from.
lock: ## make requirements.lock anew from pyproject.toml (UPGRADE=1: with the newest releases)
	@set -e; uv=$(VENV)/bin/uv; new=.requirements.lock.new; trap 'rm -f "$$new"' EXIT; \
	if ! $$uv --version >/dev/null 2>&1; then \
		rm -rf .venv-lock; "$(PYTHON)" -m venv .venv-lock; \
		.venv-lock/bin/python -m pip --disable-pip-version-check install -q uv; \
		uv=.venv-lock/bin/uv; \
	fi; \
	if [ -f requirements.lock ]; then cp requirements.lock "$$new"; fi; \
	$$uv pip compile pyproject.toml --quiet --all-extras --universal --python-version 3.11 \
		--fork-strategy fewest --generate-hashes --no-emit-index-url --no-emit-find-links \
		--custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) \
		--output-file "$$new" >/dev/null; \
	if grep -nE '://|^-|^/' "$$new"; then \
		echo "make: the lock would name a host or a path" >&2; exit 1; \
	elif cmp -s "$$new" requirements.lock; then \
		echo "requirements.lock is up to date"; \
	else \
		cat "$$new" > requirements.lock; echo "requirements.lock was made anew"; \
	fi

build: $(STAMP) ## build the sdist and the wheel into dist/
	rm -rf dist
	$(PY) -m build --no-isolation --outdir dist
	@$(PY) -c 'import glob, sys, zipfile; (w,) = glob.glob("dist/*.whl"); \
	sys.exit("handrail/py.typed" not in zipfile.ZipFile(w).namelist() \
	and w + ": py.typed is missing")'
	@echo "the wheel holds py.typed"

clean: ## remove the environments, builds, results (out/) and caches
	rm -rf .venv .venv-* dist build out .requirements.lock.new
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find $(CODE) -name __pycache__ -prune -exec rm -rf {} +

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' Makefile
