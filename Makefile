# Everything that people and CI run. Each target makes .venv if it is not there.
#   make demo    the main job on the shipped encoder: a table, a plot, a report and an ELAN file in demo-out/
#   make test    lint, types and all tests
#   make check   lint and types only
#   make bench   speed and memory, as ratios, into docs/reference/benchmarks.md
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
TORCH  := torch==2.13.0
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test check bench docs clean

demo: $(VENV)/.core
	$(BIN)/signspot demo --out demo-out

test: check
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

docs: $(VENV)/.core
	$(BIN)/python tools/cli_reference.py

# The core first, torch first of all: pinned, because an open range pulls gigabytes of CUDA packages.
$(VENV)/.core: pyproject.toml constraints.txt tools/system-packages
	tools/system-packages $(PYTHON)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	tools/system-packages $(PYTHON) test
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) demo-out build *.egg-info .mypy_cache .ruff_cache .pytest_cache
