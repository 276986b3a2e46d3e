# make run: prepare bAbI, train a quick model, print its table.  make test: lint and the whole test suite.
PYTHON ?= python3
BIN := .venv/bin
# The archive, if one is at hand; otherwise it is downloaded.
BABI ?= $(firstword $(wildcard data/tasks_1-20_v1-2.tar.gz ../shared/data/babi/tasks_1-20_v1-2.tar.gz))

.PHONY: setup run test lint

setup: .venv/installed

.venv/installed: pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 10), "Python 3.10 or newer is needed, this is " + sys.version'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

run: setup data/babi.h5
	$(BIN)/python main.py --config configs/babi.py:quick

data/babi.h5: | setup
	$(BIN)/python -m data_prep babi $(if $(BABI),--source $(BABI)) --supplement en --out $@ \
	|| (echo 'No archive: simulated stories take its place.' \
	    && $(BIN)/python -m data_prep babi --source simulated --out $@)

test: lint
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
