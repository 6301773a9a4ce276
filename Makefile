# make test   lint, types and tests, in a virtual environment made on first use
# make check  style, types, and the tests that take no programs and no servers: three minutes
# make external  the tests with agents' own programs, which npm installs
# make coverage  which lines of src/ricordo the tests reach; TESTS names fewer of them
# make demo   take examples/ into a throw-away store and search it
# make site   build the documentation as a site, into build/site
# make bundle pack the MCP bundle, dist/ricordo.mcpb (needs Node)
# make faults kill, damage and starve stores on purpose, and check what is left (minutes; SEED repeats a run)
# make mutations  put 150 faults into the code, one at a time, and say which of them no test notices (an hour; SEED)
# make audit  known holes in the locked dependencies (needs the network); make sbom lists them, make lock renews the lock
# make bench  Ricordo beside other engines over CORPUS (a folder of documents; docs/ unless given), at SIZES passages

VENV ?= .venv
PYTHON ?= python3
WORKERS ?= $(shell expr 2 \* $$($(PYTHON) -c "import os; print(os.cpu_count())"))
CORPUS ?= docs
SIZES ?= 10000
SEED ?= $(shell date +%s)
TESTS ?= tests
FAST := $(addprefix tests/,unit values properties scenarios search memory context trust knowledge ingest)

BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
STAMP := $(VENV)/.installed
AUDIT := build/audit/$(notdir $(BIN))/pip-audit
UV := $(shell command -v uv 2>/dev/null)

.PHONY: demo check test external coverage lint format bench docs site bundle faults mutations audit lock sbom clean

demo: $(STAMP)
	@$(BIN)/python tools/demo.py

check: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(FAST)

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not external"

external: $(STAMP)
	$(BIN)/python -m pytest -m external -rs

coverage: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term --cov-report=html $(TESTS)

lint: $(STAMP)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

format: $(STAMP)
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

docs: $(STAMP)
	$(BIN)/python tools/make_verbs.py
	$(BIN)/python tools/make_docs.py
	$(BIN)/python tools/make_cli_docs.py
	$(BIN)/python tools/make_plugins.py

site: $(STAMP)
ifneq ($(UV),)
	$(UV) pip install --quiet --python $(BIN)/python --group docs
else
	$(BIN)/python -m pip install --quiet --group docs
endif
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

bundle:
	mkdir -p dist
	npx --yes @anthropic-ai/mcpb pack packaging/mcpb dist/ricordo.mcpb

bench: $(STAMP)
ifneq ($(UV),)
	$(UV) pip install --quiet --python $(BIN)/python --group compare
else
	$(BIN)/python -m pip install --quiet --group compare
endif
	$(BIN)/python bench/compare.py --corpus $(CORPUS) --sizes $(SIZES) --out build/compare.json --page docs/performance.md

faults: $(STAMP)
	$(BIN)/python faults/kills.py --kills 200 --workers 8 --pace 0.3 --seed $(SEED)
	$(BIN)/python faults/machines.py --operations 5000 --seed $(SEED)
	$(BIN)/python faults/machines.py --operations 5000 --seed $(SEED) --restore
	$(BIN)/python faults/flips.py --flips 200 --seed $(SEED)
	$(BIN)/python faults/broken_disk.py --most 200 --cuts 30 --limits 50 --seed $(SEED)
	$(BIN)/python faults/fuzz.py --seconds 600 --seed $(SEED)

mutations: $(STAMP)
	$(BIN)/python tools/mutate.py . --count 150 --seed $(SEED)

lock:
	$(UV) pip compile --quiet --universal --generate-hashes --extra all --no-header pyproject.toml --output-file requirements.lock

audit: $(AUDIT)
	$(AUDIT) --requirement requirements.lock --disable-pip

$(AUDIT):
	$(PYTHON) -m venv build/audit
	$(dir $(AUDIT))python -m pip install --quiet pip-audit

sbom: $(STAMP)
	$(BIN)/python tools/make_sbom.py > sbom.json

clean:
	rm -rf dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
	find src tests tools bench -name __pycache__ -type d -prune -exec rm -rf {} +

# Groups need a recent pip; uv knows them already.
$(STAMP): pyproject.toml
ifneq ($(UV),)
	test -x $(BIN)/python || $(UV) venv $(VENV)
	$(UV) pip install --quiet --python $(BIN)/python --editable '.[all]' --group dev
else
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
endif
	@touch $@
