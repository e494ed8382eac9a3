# Everything here creates its own environment: only python3 (3.11 or newer), make and git are needed.
# The tests bring the tools that they need: a browser is fetched into build/browser if none is installed (or name one: NOUGHTS_BROWSER), and
# Helm into build/helm (NOUGHTS_HELM).
# Zig compiles C and C++ if there is no other compiler. Only Rust's cargo and nginx come from the machine: without them the examples in
# Rust and the reverse proxy are not tried, and the run says so. NOUGHTS_REQUIRE=rust,nginx makes that a failure.
# Another Python: make test PYTHON=python3.12

PYTHON ?= python3
# Twice as many as two cores: on average a test waits for processes and clocks for two thirds of its time.
WORKERS ?= 4
PYTEST = PYTHONUNBUFFERED=1 $(BIN)/pytest -n $(WORKERS) --dist worksteal
# Makes goals at the same time, prints the output of each when it is finished, and makes the others also if one fails.
TOGETHER = $(MAKE) --no-print-directory --keep-going --output-sync=target --jobs

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
GOOGLEAPIS := build/googleapis/google/rpc

# With it each of a thousand processes of the tests would compile all that it loads.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo live test test-long quick check format docs browser helm stubs lock wheel audit bench soak clean

help: ## list what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP) ## play a small tournament on this machine
	@$(BIN)/noughts demo

live: $(STAMP) ## a server, its site and bots that go on playing: something to look at
	@$(BIN)/noughts live

test: $(STAMP) $(GOOGLEAPIS) ## all checks and the tests, at the same time
	@$(TOGETHER)=3 tests types style 3>&1 || \
	    { echo "make test failed: the output of what failed is above a line that begins with 'make[1]: ***'" >&2; exit 1; }

# Descriptor 3 shows the progress of the tests at once. A make that a test runs must not take part in the jobs of this one.
.PHONY: tests
tests: docs browser helm
	@env -u MAKEFLAGS $(PYTEST) -m "not at_length" >&3 2>&3

test-long: $(STAMP) docs browser helm ## the tests that repeat a proof at length: kills, whole tutorials, every page
	$(PYTEST) -m at_length

quick: check ## all checks, then the tests that start no process and are not long: a minute
	$(BIN)/pytest -q -n auto --dist worksteal -m "not processes and not long and not at_length"

check: $(STAMP) $(GOOGLEAPIS) docs ## format, lint, security, types, import rules, stubs, protocol, spelling, plain words, documentation
	@$(TOGETHER)=2 types style

.PHONY: types style
types:
	$(BIN)/mypy

style:
	$(BIN)/ruff format --check .
	$(BIN)/oxfmt --check $(STYLES_AND_SCRIPTS)
	$(BIN)/ruff check .
	$(BIN)/bandit -q -c pyproject.toml -r -ll proto referee bots/noughts_bots server
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/regenerate.py --check
	$(BIN)/buf lint
	$(BIN)/codespell
	$(BIN)/python -m tools.plain_words
	$(BIN)/python -m pip check

STYLES_AND_SCRIPTS := '**/*.{css,js,mjs}'

format: $(STAMP) ## format Python, CSS and JavaScript
	$(BIN)/ruff format .
	$(BIN)/oxfmt $(STYLES_AND_SCRIPTS)

docs: $(STAMP) ## build the documentation; the website serves it under /docs
	$(BIN)/sphinx-build -q -W --keep-going -b html -d build/doctrees docs server/noughts_server/web/handbook
	@echo "Open server/noughts_server/web/handbook/index.html in a browser."

browser: $(STAMP) ## fetch the browser of the tests, unless one is installed
	@$(BIN)/python -m tests.support.browser_program

helm: $(STAMP) ## fetch the Helm of the tests, unless it is installed
	@$(BIN)/python -m tests.support.helm_program

stubs: $(STAMP) ## generate the protobuf and gRPC stubs, and the texts of the documentation that follow from the code
	$(BIN)/python tools/regenerate.py

LOCK := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock" --quiet

lock: $(STAMP) ## resolve pyproject.toml into the three locks; newest of everything: make lock UPGRADE=1
	$(LOCK) $(if $(UPGRADE),--upgrade) pyproject.toml --all-extras --group dev --output-file requirements.lock
	$(LOCK) --constraint requirements.lock pyproject.toml --extra server --extra web --extra cluster --extra wasm --output-file requirements-runtime.lock
	$(LOCK) --constraint requirements.lock --group build --group docs --output-file requirements-build.lock

wheel: export SOURCE_DATE_EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),0)
wheel: docs ## build the wheel, with the documentation, bills of materials (CycloneDX) and checksums, in dist
	rm -rf dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .
	$(BIN)/python -m tools.bill_of_materials dist

audit: $(STAMP) ## compare the locks with advisories in OSV format: make audit FILE=advisories.json
	@$(BIN)/python -m tools.audit $(FILE)

bench: $(STAMP) ## measure throughput
	$(BIN)/python benchmarks/throughput.py

soak: $(STAMP) browser ## load, kills, rubbish and attacks for a long time: hours
	$(BIN)/python benchmarks/soak.py
	$(BIN)/python -m tests.chaos disruptions --count 1000 --minutes 300 --only "kill server" "kill bot" "kill both" "kill child" "kill web"
	$(BIN)/python -m tests.chaos disruptions --count 1000
	$(BIN)/python -m tests.chaos fuzz --frames 1000000 --connections 10000
	$(BIN)/python -m tests.chaos attacks
	NOUGHTS_EXAMPLES=10000 $(BIN)/pytest -q tests/chaos/test_bad_input.py --timeout 0
	NOUGHTS_THOROUGH=1 $(BIN)/pytest -q tests/bots/hosts/test_wasm.py tests/bots/reference tests/referee tests/server/competition tests/server/statistics tests/server/records tests/server/store tests/server/tables tests/server/cli/commands/puzzle --timeout 0 -o faulthandler_timeout=0

clean: ## remove the environment and all caches
	rm -rf $(VENV) build dist server/noughts_server/web/handbook .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

$(STAMP): requirements.lock pyproject.toml | $(BIN)/python
	@echo "Installing the locked packages into $(VENV)"
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || \
	    { echo "noughts: no $(PYTHON) here; install Python 3.11 or newer, or name one: make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "noughts: needs Python 3.11 or newer, this is $$($(PYTHON) -V 2>&1); name another: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "noughts: $(PYTHON) lacks venv or ensurepip; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Creating the environment in $(VENV) (once, about a minute)"
	@$(PYTHON) -m venv $(VENV)

# What our protocol imports from Google's, where buf finds it without asking a registry.
$(GOOGLEAPIS): $(STAMP)
	@mkdir -p $@
	@cp $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/google/rpc/*.proto $@
	@touch $@
