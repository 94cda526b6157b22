# The commands that people and CI run. Each target makes .venv first if it is missing.
#   make demo        the main job with the shipped encoder: a table, a plot, a report and an ELAN file in demo-out/
#   make check       lint, types, unreferenced functions; needs no browser, database or other system package
#   make test-fast   the quick tests, in under a minute; for use while you work
#   make test        check, and all tests but the longest
#   make test-slow   the longest tests, and property tests with many more examples
#   make test-processors  the tests as other processors, thread counts, orders and loads would run them; an hour or more
#   make coverage    all tests, and which lines they do not run; the pages are in build/coverage/
#   make wheel-test  build the wheel, install it into an environment of what it names, run `signspot demo` from there;
#                    FRESH=1: all of it fetched by pip, as before a release
#   make docs        write docs/reference/cli.md again and build the site into build/site/
#   make holistic    npm's package that estimates landmarks in the sign page, into build/holistic/, for its test
#   make screenshots  every page of the workbench at 1200 and 400 pixels, into build/screenshots/pages; some into docs/images/
#   make attack      mutated files, hostile media, killed commands and an attacked server; ATTACK=--quick: a few of each
#   make sbom        every distribution that is installed with signspot, and its licence, into build/dependencies.md
#   make bench       speed and memory, as ratios, into experiments/results/benchmarks.md
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
TORCH  := torch==2.13.0
PIP    := $(BIN)/python -m pip install --quiet --constraint constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export NO_MKDOCS_2_WARNING = 1

# One thread for each test process, and for what it starts. Three processes: browsers and killed runs are waited for.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
# Packages, and single files of others, that need neither MediaPipe, a training, a browser nor other processes.
FAST := $(filter-out tests/test_attack.py,$(wildcard tests/test_*.py)) tests/formats tests/losses tests/metrics tests/subtitles tests/words

.PHONY: demo check test-fast test test-slow test-processors coverage wheel-test docs holistic screenshots bench attack sbom clean

demo: $(VENV)/.core
	$(BIN)/signspot demo --out demo-out

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/unreferenced.py

test-fast: $(VENV)/.dev
	$(PYTEST) -n 2 -q -m "not slow" $(FAST)

test: check $(VENV)/.test
	$(PYTEST) -n 3 --dist worksteal -q -m "not long"

test-slow: $(VENV)/.test
	$(PYTEST) -q -m "long or hypothesis" --hypothesis-profile=thorough -o faulthandler_timeout=7200

# For example: make test-processors RUNS='aten-avx2 busy'
test-processors: $(VENV)/.test
	tools/test-processors $(RUNS)

coverage: $(VENV)/.test
	$(PYTEST) -n 2 --dist worksteal -q -m "not long" --cov --cov-report=term --cov-report=html:build/coverage

wheel-test: $(VENV)/.core
	FRESH='$(FRESH)' tools/try-wheel $(BIN)/python

docs: $(VENV)/.docs
	$(BIN)/python tools/cli_reference.py
	$(BIN)/mkdocs build --strict --quiet --site-dir build/site

screenshots: $(VENV)/.test
	$(BIN)/python -m tools.screenshots

holistic:
	mkdir -p build/holistic
	cd build/holistic && npm pack @mediapipe/holistic && tar xf mediapipe-holistic-*.tgz

sbom: $(VENV)/.core
	mkdir -p build
	$(BIN)/python tools/dependencies.py list > build/dependencies.md

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.workbench

# For example: make attack ATTACK='readers --count 500'
attack: $(VENV)/.test
	$(BIN)/python -m tools.attack $(ATTACK)

# Torch first, and pinned: an open range installs gigabytes of CUDA packages.
$(VENV)/.core: pyproject.toml constraints.txt tools/system-packages
	tools/system-packages $(PYTHON)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) --editable ".[dev]"
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(PIP) --editable ".[docs]"
	touch $@

# Only the tests need a browser, a database server and WordNet.
$(VENV)/.test: $(VENV)/.dev
	tools/system-packages $(PYTHON) test
	touch $@

clean:
	rm -rf $(VENV) demo-out build *.egg-info .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache
