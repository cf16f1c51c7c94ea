# One definition of each command, for people, hooks and CI alike. `make` alone runs `check`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false

.DEFAULT_GOAL := check
.PHONY: run test test-fast check lint format cov golden mutants docs docs-check clean

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[demo,tokens]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml','rb'))['dependency-groups']['dev'], sep='\n')" > $(VENV)/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r $(VENV)/dev.txt
	@touch $@

run: $(VENV)/.installed  ## install everything and watch an agent find, load and call tools
	$(BIN)/toolsearch demo

test: $(VENV)/.installed-dev  ## all tests, the real default model included
	$(BIN)/python -m pytest

test-fast: $(VENV)/.installed-dev  ## the tests that need no model
	$(BIN)/python -m pytest -m "not model"

check: lint test-fast  ## format, lint, types, layers, documentation, fast tests

lint: $(VENV)/.installed-dev  ## everything of check but the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python docs/generate.py --check

format: $(VENV)/.installed-dev  ## rewrite in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

cov: $(VENV)/.installed-dev  ## branch coverage of toolsearch/, floor 95
	$(BIN)/python -m pytest --cov --cov-report=term-missing:skip-covered

mutants: $(VENV)/.installed-dev  ## break each rule on purpose; fail where no test notices
	$(BIN)/python tests/mutants/run.py

docs: $(VENV)/.installed-dev  ## rewrite what the documentation copies from the code
	$(BIN)/python docs/generate.py

docs-check: $(VENV)/.installed-dev  ## fail where the documentation is behind the code
	$(BIN)/python docs/generate.py --check

golden: $(VENV)/.installed-dev  ## rewrite the golden files; then read the difference by eye
	TOOLSEARCH_GOLDEN=write $(BIN)/python -m pytest -q tests/processor/test_golden.py
	git --no-pager diff --stat tests/golden

clean:
	rm -rf $(VENV) dist build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
