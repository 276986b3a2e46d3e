# make run prepares bAbI, trains a quick model and prints its table; make test runs lint and tests.
PYTHON ?= python3
BIN := .venv/bin
# The bAbI archive, if one is at hand; otherwise it is downloaded.
BABI ?= $(firstword $(wildcard data/tasks_1-20_v1-2.tar.gz ../shared/data/babi/tasks_1-20_v1-2.tar.gz))

.PHONY: setup run test lint

setup: .venv/installed

.venv/installed: pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 10), "Python 3.10 or newer is needed"'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

run: setup data/babi.h5
	$(BIN)/python main.py --config configs/babi.py:quick

data/babi.h5: | setup
ifneq ($(BABI),)
	$(BIN)/python -m data_prep babi --source $(BABI) --supplement en --out $@
else
	$(BIN)/python -m data_prep babi --supplement en --out $@ \
	|| { echo 'No archive could be had: simulated stories take its place.'; \
	     $(BIN)/python -m data_prep babi --source simulated --out $@; }
endif

test: lint
	@echo 'The tests take about 7 minutes on 2 idle cores with AVX-512, 9 to 17 minutes without it.'
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
