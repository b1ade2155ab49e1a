# Everything from a fresh clone with python3, make and git: `make quickstart` or `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install browser quickstart test test-all check lock clean

install: $(STAMP)

# pip compiles the packages' bytecode; the project's own is compiled here, since a Ray worker
# that has to compile what it imports starts three times slower, and the kernels' machine code.
$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q runner
	$(BIN)/python -m runner.models.kernels
	touch $(STAMP)

# For the tests of the report's page, which are skipped where there is no Chromium.
browser:
	@command -v chromium || command -v chromium-browser || command -v google-chrome || { \
		command -v apt-get >/dev/null || { echo "install Chromium to test the report's page"; exit 1; }; \
		sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$sudo apt-get update -qq && $$sudo apt-get install -y -qq --no-install-recommends chromium; \
	}

quickstart: install
	$(BIN)/runner sweep configs/quickstart.yaml
	$(BIN)/runner report --results results/quickstart

test: install
	$(BIN)/python -m pytest -m "not slow"

test-all: install
	$(BIN)/python -m pytest

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Universal: one file for every supported Python and platform. Needs uv on the PATH.
lock:
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-header --quiet --output-file requirements.lock

clean:
	rm -rf $(VENV)
