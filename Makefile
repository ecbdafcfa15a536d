# Two commands do everything on a machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: setup demo studio screens test test-slow test-spark fuzz lint bench docs site dist sbom lock clean

setup: $(VENV)/.warm

# Installed again when pyproject.toml changes, because entry points are read at installation.
$(VENV)/.installed: pyproject.toml requirements-dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Reveil needs Python 3.11 or newer; try make PYTHON=python3.12 setup"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV)"
	@$(PIP) install --constraint requirements-dev.lock --editable ".[pandas]"
	@touch $@

# Kernels are compiled once on a machine; where they cannot be kept, every command compiles what it needs.
$(VENV)/.warm: $(VENV)/.installed $(wildcard src/reveil/core/kernels/*.py)
	@$(BIN)/reveil warm-up || echo "the commands work all the same, and take longer"
	@touch $@

$(VENV)/.tools: $(VENV)/.installed
	@echo "installing the development tools into $(VENV)"
	@$(PIP) install --constraint requirements-dev.lock --editable ".[pandas,dev]"
	@touch $@

# The demo compiles what it needs itself, which is less than everything.
demo: $(VENV)/.installed
	@$(BIN)/reveil demo --out demo

# The demo's folder in a browser.
studio: $(VENV)/.studio
	@test -d demo || $(BIN)/reveil demo --out demo
	@$(BIN)/reveil studio demo

$(VENV)/.studio: $(VENV)/.installed
	@$(PIP) install --constraint requirements-dev.lock --editable ".[pandas,studio]"
	@touch $@

test: $(VENV)/.tools $(VENV)/.warm
	@$(BIN)/python -m pytest -n auto --dist worksteal

# What takes long: the demo, word for word as the README shows it, the sources' experiments on small tables, exact Bayes,
# every property with all of its examples, of which make test tries a third, and what needs a server or a browser.
test-slow: $(VENV)/.tools $(VENV)/.warm
	@REVEIL_EXAMPLES=all $(BIN)/python -m pytest --services -m "(slow or hypothesis or server or browser) and not spark" -n auto --dist worksteal

# The engine that asks Spark, in one process. PySpark is half a gigabyte, which nothing else needs: make test skips these
# tests where it is not installed.
test-spark: $(VENV)/.tools $(VENV)/.warm
	@$(PIP) install --constraint requirements-dev.lock --editable ".[pandas,dev,spark]"
	@$(BIN)/python -m pytest --services -m spark tests/engines/spark tests/adversary/in_shards

# Damaged files, odd settings and arguments, valid random series, and commands that are killed in the middle.
CASES ?= 5000
KILLS ?= 40
fuzz: $(VENV)/.tools $(VENV)/.warm
	@$(BIN)/python -m tests.fuzz --cases $(CASES) --kills $(KILLS) --processes 2

# The screens of docs/studio.md, by the tests that walk through the studio.
screens: $(VENV)/.tools
	@REVEIL_SCREENS=docs/studio $(BIN)/python -m pytest --services -m browser tests/studio

lint: $(VENV)/.tools
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

bench: $(VENV)/.tools
	@$(BIN)/python -m benchmarks

# Writes docs/reference.md from the docstrings.
docs: $(VENV)/.tools
	@$(BIN)/python docs/reference.py

# docs/ as a static site, in site/: links are checked, and that its pages fetch nothing from elsewhere.
site: $(VENV)/.tools
	@$(PIP) install --editable ".[site]"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --clean
	@$(BIN)/python docs/site/requests.py site && echo "site/index.html"

$(VENV)/.packaging: $(VENV)/.tools
	@$(PIP) install --editable ".[packaging]"
	@touch $@

# The wheel, made from the sdist, and the sdist.
dist: $(VENV)/.packaging
	@rm -rf dist && $(BIN)/python -m build --outdir dist . >/dev/null && ls dist

# What the package needs, with versions, digests and licence texts, in CycloneDX's form.
sbom: $(VENV)/.packaging
	@mkdir -p dist
	@$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --gather-license-texts --output-reproducible \
	  --output-format JSON --output-file dist/reveil.cdx.json $(BIN)/python 2>/dev/null && ls dist/reveil.cdx.json

# Writes the versions now in use (run it in a fresh environment after widening a range in pyproject.toml), and the same with
# the digests of all their files, for every platform (PySpark is in neither, see make test-spark): pip install --require-hashes -r requirements.lock
lock: $(VENV)/.packaging
	@$(BIN)/python -m pip freeze --exclude-editable --exclude pyspark --exclude py4j | sort -f > requirements-dev.lock
	@$(BIN)/uv pip compile pyproject.toml --quiet --extra pandas --extra dev --extra site --extra packaging --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url --constraint requirements-dev.lock --output-file requirements.lock

clean:
	rm -rf $(VENV) demo dist site
