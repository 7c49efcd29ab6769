# On a fresh machine with only Python: `make demo`, `make test`, `make test-all`.
PYTHON   ?= python3
VENV     := .venv
BIN      := $(VENV)/bin
PARALLEL := --numprocesses 2 --dist loadfile --no-loadscope-reorder
files     = $(shell grep --recursive --files-with-matches --include='test_*.py' $(1) tests research/tests)
EVERY_DAY := "not heavy and not alone and not release"
PAGES    := $(wildcard tests/test_*.py)
MEANING  := tests/concordance/ tests/facts/ tests/terms/ tests/reader/
COMMANDS := tests/cli/ tests/e2e/ tests/browser/ tests/web/
MODELS   := tests/run/ tests/evaluate/ tests/pathgls/ tests/examples/ tests/metrics/
OTHERS   := $(filter-out $(MEANING) $(COMMANDS) $(MODELS),$(wildcard tests/*/))
PIP      := $(BIN)/python -m pip --quiet --disable-pip-version-check

# Where this is set, every process of the tests would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.NOTPARALLEL: # one environment

.PHONY: demo test test-all release lint bench mutants mutation golden golden-write docs docs-serve clean

demo: $(VENV)/demo.done ## install, read, score and trust the bundled examples
	$(BIN)/histoeval extract src/histoeval/examples/pairs.csv --text reference --show 2
	$(BIN)/histoeval demo --output results/demo --no-open
	$(BIN)/histoeval trust --reports examples/trust/reports.csv --output results/demo_trust --overwrite \
		|| test $$? -eq 1  # two reports have no stability, so the exit code is 1
	@echo "The pictures are synthetic, not tissue (examples/trust)."

test: lint ## style, types, and every test that needs no torch, ray or transformers; several runs, for memory
	$(BIN)/pytest $(PARALLEL) -m $(EVERY_DAY) $(PAGES)
	$(BIN)/pytest $(PARALLEL) -m $(EVERY_DAY) $(MEANING)
	$(BIN)/pytest $(PARALLEL) -m $(EVERY_DAY) $(COMMANDS)
	$(BIN)/pytest $(PARALLEL) -m $(EVERY_DAY) $(MODELS)
	$(BIN)/pytest $(PARALLEL) -m $(EVERY_DAY) $(OTHERS)
	$(BIN)/pytest $(PARALLEL) -m $(EVERY_DAY) research/tests/
	$(BIN)/pytest -m "alone and not heavy and not release" $(call files,mark.alone)

test-all: test $(VENV)/dev-all.done ## these too: what `test` left out
	$(BIN)/mypy
	$(BIN)/pytest $(PARALLEL) -m "heavy and not release" $(call files,mark.heavy)

release: lint $(VENV)/dev-all.done ## everything: also what is too long for every day, and the whole blind sets
	$(BIN)/pytest $(PARALLEL) -m "not alone" --hypothesis-profile release
	$(BIN)/pytest -m alone $(call files,mark.alone)

lint: $(VENV)/dev.done ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/dev-all.done ## measure speed, memory and start-up; prints the tables of docs/benchmarks.md
	$(BIN)/python -m benchmarks

mutants: $(VENV)/dev.done ## change central clinical rules one by one; each must fail a test (a minute)
	$(BIN)/python -m benchmarks mutants

golden: $(VENV)/dev.done ## has anything moved that readers, scores, trust or commands say? (four minutes)
	$(BIN)/python -m tests.golden

golden-write: $(VENV)/dev.done ## what they say now is right: written anew, for `git diff --stat` and the next `golden`
	$(BIN)/python -m tests.golden write

mutation: $(VENV)/dev.done ## change values and comparers by rule, hundreds of times; OPTIONS='--sample 200 --seed 1'
	$(BIN)/python -m benchmarks mutation $(OPTIONS)

docs: $(VENV)/dev.done ## the site, into site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: $(VENV)/dev.done ## the site at http://127.0.0.1:8000, built again when a page changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

.PHONY: dist first-minute
dist: $(VENV)/dev-all.done ## the files of a release, built twice and checked, with SBOM and hashes
	$(BIN)/python -m benchmarks dist

first-minute: $(VENV)/demo.done ## a wheel, installed into an empty environment without a network
	$(PIP) install build hatchling
	$(BIN)/python -m build --no-isolation --wheel --outdir dist
	$(BIN)/python -m benchmarks first-minute

$(VENV)/demo.done: EXTRA = slide
$(VENV)/dev.done: EXTRA = dev
$(VENV)/dev-all.done: EXTRA = dev-all
$(VENV)/dev.done $(VENV)/dev-all.done: RESEARCH = --editable ./research
$(VENV)/%.done: pyproject.toml constraints.txt research/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --constraint constraints.txt --editable ".[$(EXTRA)]" $(RESEARCH)
	touch $@

clean:
	rm -rf $(VENV) results site .mypy_cache .pytest_cache .ruff_cache .hypothesis
