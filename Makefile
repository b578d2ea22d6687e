# Needs Python 3.11 or newer and make; everything else goes into $(VENV).

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
SECONDS ?= 60

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
AT_ONCE := -n $(JOBS) --dist worksteal
SAY := @printf '==> %s\n'

HELPERS := $(addprefix benchmarks/,timing.py page.py peaks.py limited_memory.py made_text.py answering.py crfsuite_features.py tagger_data.py semisupervised.py active.py)
BENCHMARKS := $(patsubst benchmarks/%.py,bench-%,$(filter-out $(HELPERS),$(wildcard benchmarks/[a-z]*.py)))
DEMONSTRATED := chain spanning tagger parser aligner translator
KERNELS := $(wildcard src/partita/kernels/*.py src/partita/kernels/*/*.py)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help install test lint format demo docs tutorials samples fuzz test-matrix soak mutation bench clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

install: $(VENV)/.installed ## create the environment: Partita and the tools of its developers

# Kernels are compiled first, each once; two workers that meet one at the same time both compile it.
# Each worker begins with a part of the tests in one piece, so that few fixtures are made twice.
test: lint $(VENV)/.compiled ## install, then check style and types, and run all tests
	$(SAY) "Running the tests and the examples in docstrings, $(JOBS) at a time"
	@$(BIN)/python -m pytest -q $(AT_ONCE)
	$(SAY) "Running the conformance tests again, reduced, without compilation"
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q $(AT_ONCE) -m "not slow" tests/conformance

lint: install ## check format, style and types
	$(SAY) "Checking the format (make format mends it)"
	@$(BIN)/ruff format --check --quiet .
	$(SAY) "Checking style and imports"
	@$(BIN)/ruff check --quiet .
	$(SAY) "Checking types"
	@$(BIN)/mypy

format: install ## rewrite the sources in the standard format
	$(SAY) "Formatting the sources and sorting their imports"
	@$(BIN)/ruff check --quiet --select I --fix .
	@$(BIN)/ruff format .

# If all kernels have been compiled, as for the tests, that is enough.
demo: $(or $(wildcard $(VENV)/.compiled),$(VENV)/.compiled-for-demo) ## install, then run the demonstration, which writes partita-report.html
	$(SAY) "Running the demonstration (one to two minutes)"
	@$(BIN)/partita demo

docs: $(VENV)/.docs ## build the documentation into site/, strictly: a broken link is an error
	$(SAY) "Building the documentation into site/ (open site/index.html)"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

tutorials: install ## run the tutorials' scripts and write their pages anew
	$(SAY) "Running the tutorials"
	@$(BIN)/python docs/tools/run_tutorials.py

samples: install ## write the sample files of the package anew (tools/samples)
	$(SAY) "Writing src/partita/samples/files"
	@$(BIN)/python -m tools.samples.generate

fuzz: install ## try readers, files, commands and distributions with what nobody sends
	$(SAY) "Fuzzing, $(SECONDS) seconds for each of five targets (make fuzz SECONDS=600)"
	@$(BIN)/python -m tools.fuzz --seconds $(SECONDS)

test-matrix: install ## build the wheel, install it with old and new Pythons and NumPys, and try it
	$(SAY) "Installing the wheel into clean environments (some minutes each; needs the network)"
	@$(BIN)/python -m tools.matrix

soak: install ## train, predict and kill for ten minutes, and watch the memory
	$(SAY) "Training, predicting and killing for ten minutes"
	@$(BIN)/python -m tools.soak

mutation: install ## make mistakes in a sample of the sources, and count those that no test notices
	$(SAY) "Mutation testing, without compilation (the first time most of an hour)"
	@$(BIN)/python -m tools.mutation --jobs $(JOBS)

bench: $(BENCHMARKS) ## run every benchmark, beside the libraries it compares with
	$(SAY) "Writing docs/benchmarks.md"
	@$(BIN)/python -m benchmarks.page

bench-%: benchmarks/%.py $(VENV)/.bench ## run one benchmark: benchmarks/%.py
	$(SAY) "Running benchmarks/$*.py"
	@$(BIN)/python -m benchmarks.$*

clean: ## remove caches and builds, but not the environment
	$(SAY) "Removing caches and builds"
	@rm -rf build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# Done again only when pyproject.toml changes, so that everything works offline afterwards.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Partita needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(SAY) "Installing Partita and its development tools into $(VENV) (once; about a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install -e '.[dev]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/.installed
	$(SAY) "Installing the tools that build the documentation into $(VENV) (once; half a minute)"
	@$(PIP) install -e '.[docs]'
	@touch $@

$(VENV)/.bench: pyproject.toml | $(VENV)/.installed
	$(SAY) "Installing the libraries to compare with into $(VENV) (once; a few minutes)"
	@$(PIP) install -e '.[bench]'
	@touch $@

# On all cores.
$(VENV)/.compiled: $(KERNELS) | $(VENV)/.installed
	$(SAY) "Compiling the kernels (once; one to three minutes on two cores)"
	@$(BIN)/partita compile
	@touch $@

# What the demonstration needs beyond that it compiles by itself.
$(VENV)/.compiled-for-demo: $(KERNELS) | $(VENV)/.installed
	$(SAY) "Compiling the kernels that it needs (once; one to two minutes on two cores)"
	@$(BIN)/partita compile $(DEMONSTRATED)
	@touch $@
