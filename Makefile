# make demo: see it work. make test: prove it. Both set themselves up.
PY ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_ARGS ?= -m "not slow"

.PHONY: setup demo test lint bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -q -e '.[dev]'
	touch $@

test: setup
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

demo: setup
	$(BIN)/python examples/demo.py runs/demo

bench: setup
	$(BIN)/python -m benchmarks

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	if command -v npx >/dev/null; then npx --yes --package typescript@5 tsc -p src/emcoop/viewer/jsconfig.json; \
	else echo "no node here: the types of the viewer's modules are not checked"; fi

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis
