# Sets up .venv with everything once, then builds or tests with it.
PYTHON ?= python3
VENV := .venv/bin/python

.PHONY: release test check

release: .venv/ready
	$(VENV) -m release build

test: .venv/ready
	$(VENV) -m release build
	$(VENV) -m ruff check .
	$(VENV) -m pytest -n 2 --dist loadfile

check: .venv/ready
	$(VENV) -m release check

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(VENV) -m pip install --quiet --editable '.[dev]'
	touch $@
