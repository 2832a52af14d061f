PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
# Most of a test's time is waiting, so that two cores do for three; each of them starts an emulator of its own.
AT_A_TIME := -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: demo test check format lint types arrows lowest bench bench-smoke soak clean

demo: $(VENV)/installed  ## set up, and run the main job on SQLite
	$(BIN)/python examples/quickstart.py

test: $(VENV)/developed  ## set up, and run every test
	$(BIN)/python -m pytest $(AT_A_TIME)

check: lint types arrows test lowest  ## what CI runs

lint: $(VENV)/developed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

format: $(VENV)/developed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: $(VENV)/developed
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

arrows: $(VENV)/developed
	$(BIN)/lint-imports

lowest: $(LOWEST)/developed  ## the lowest supported versions
	$(LOWEST)/bin/python -m pytest -q $(AT_A_TIME) tests/unit tests/conformance \
		tests/conformance_worker/test_modes.py tests/conformance_worker/test_retries.py

bench: $(VENV)/developed
	$(BIN)/python -m benchmarks

bench-smoke: $(VENV)/developed
	$(BIN)/python -m benchmarks --smoke

soak: $(VENV)/developed  ## ten minutes of chaos: killed workers, failing requests, every message exactly once
	$(BIN)/python -m benchmarks.soak

clean:
	rm -rf $(VENV) $(LOWEST) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/developed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

$(LOWEST)/developed: pyproject.toml
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(LOWEST)/bin/python -m pip install --quiet --editable . --group dev \
		"sqlalchemy==2.1.0" "sqlalchemy-spanner==1.20.0" "google-cloud-spanner==3.71.0" "msgspec==0.19.0" \
		"hpack==4.0.0" "uvloop==0.21.0; sys_platform != 'win32' and python_version < '3.14'"
	touch $@
