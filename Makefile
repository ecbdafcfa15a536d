# Two commands do everything on a machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: setup demo test test-slow fuzz lint bench docs lock clean

setup: $(VENV)/.installed

# Installed again when pyproject.toml changes, because entry points are read at installation.
$(VENV)/.installed: pyproject.toml requirements-dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Reveil needs Python 3.11 or newer; try make PYTHON=python3.12 setup"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV)"
	@$(PIP) install --constraint requirements-dev.lock --editable ".[pandas]"
	@touch $@

$(VENV)/.tools: $(VENV)/.installed
	@echo "installing the development tools into $(VENV)"
	@$(PIP) install --constraint requirements-dev.lock --editable ".[pandas,dev]"
	@touch $@

demo: setup
	@$(BIN)/reveil demo --out demo

test: $(VENV)/.tools
	@$(BIN)/python -m pytest -n auto --dist worksteal

# What takes long: the demo, word for word as the README shows it, the sources' experiments on small tables, exact Bayes.
test-slow: $(VENV)/.tools
	@$(BIN)/python -m pytest -m slow -n auto --dist worksteal

# Damaged files, odd settings and arguments, valid random series, and commands that are killed in the middle.
fuzz: $(VENV)/.tools
	@$(BIN)/python -m tests.fuzz --cases 5000 --kills 40 --processes 2

lint: $(VENV)/.tools
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

bench: $(VENV)/.tools
	@$(BIN)/python -m benchmarks

# Writes docs/reference.md from the docstrings.
docs: $(VENV)/.tools
	@$(BIN)/python docs/reference.py

# Writes the versions now in use; run it in a fresh environment after widening a range in pyproject.toml.
lock: $(VENV)/.tools
	@$(BIN)/python -m pip freeze --exclude-editable | sort -f > requirements-dev.lock

clean:
	rm -rf $(VENV) demo
