# make run prepares bAbI, trains a quick model and prints its table; make test runs lint and tests.
PYTHON ?= python3
BIN := .venv/bin
# The bAbI archive, in data/ or in the folder that RRN_ARCHIVES names; else it is downloaded.
ARCHIVE := tasks_1-20_v1-2.tar.gz
BABI ?= $(firstword $(wildcard data/$(ARCHIVE) $(RRN_ARCHIVES:%=%/$(ARCHIVE)) $(RRN_ARCHIVES:%=%/*/$(ARCHIVE))))

# The lowest Python that is declared.
PYTHON_LOWEST ?= python3.10

.PHONY: setup lock run test lint docs wheel test-lowest

setup: .venv/installed

# With the versions and the hashes of the lock: the same environment on every day.
.venv/installed: pyproject.toml setup.py requirements.lock
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 10), "Python 3.10 or newer is needed"'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# The newest versions that pyproject.toml allows, for all its Pythons and machines.
lock: setup
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.10 --generate-hashes \
	  --custom-compile-command 'make lock' --extra test --output-file requirements.lock pyproject.toml

# The parts of a batch run side by side: two operations at a time, each on half of the cores.
run: setup data/babi.h5
	TF_NUM_INTRAOP_THREADS=$$($(BIN)/python -c 'from rrn.hardware import count_cores; print((count_cores() + 1) // 2)') \
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
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python tests/words.py

# The documentation with the API as a site, in site/: every link is checked.
docs: setup
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/mkdocs build

# Builds the wheel, and tries it in an empty environment: about 5 minutes and a network.
wheel: setup
	rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(BIN)/python tests/try_wheel.py dist/rrn-*.whl

# Runs the tests with the lowest versions that are declared.
test-lowest: .venv-lowest/installed
	.venv-lowest/bin/python -m pytest

.venv-lowest/installed: pyproject.toml setup.py
	$(PYTHON_LOWEST) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade pip
	.venv-lowest/bin/python -m pip install --quiet $$($(PYTHON_LOWEST) tests/lowest.py)
	.venv-lowest/bin/python -m pip install --quiet --no-deps --editable .
	touch $@
