# Everything a developer runs. A machine needs python3 >= 3.11 and make: no uv, no root.

PYTHON ?= python3
# Processes of the tests: on two cores three are fastest, because tests wait a third of their time.
JOBS ?= 3
VENV := .venv
BIN := $(VENV)/bin
CHECKED := $(wildcard src tests bench docs examples deploy hatch_build.py)
# The dashboard is built when one of its sources has changed.
WEB := $(shell find web -name node_modules -prune -o -type f ! -name '*.md' -print 2>/dev/null)

# uv brings certificates of its own; the machine's are the ones that also know a company's proxy, as pip does.
export UV_SYSTEM_CERTS := 1
export UV_PROJECT_ENVIRONMENT := $(VENV)
unexport VIRTUAL_ENV
# The tests start hundreds of processes: without compiled files each would compile everything anew, for a second.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test prove lint bench lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.ready-demo ## run the main job on this machine, with live progress
	@$(BIN)/reel demo

test: $(VENV)/.ready ## run the tests, on a real PostgreSQL that they start themselves
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not prove"

prove: $(VENV)/.ready ## run the long version of every promise, with live output
	@$(BIN)/python -m pytest -m prove --capture=no --verbose

lint: $(VENV)/.ready ## check format, rules, types and import layers
	@$(BIN)/ruff format --check $(CHECKED)
	@$(BIN)/ruff check $(CHECKED)
	@$(BIN)/mypy $(CHECKED)
	@$(BIN)/lint-imports

bench: $(VENV)/.ready-bench ## measure the engine next to its peers, workers next to one ffmpeg, and what subscribers get
	@$(BIN)/python -m bench.engine
	@$(BIN)/python -m bench.dispatch
	@$(BIN)/python -m bench.media
	@$(BIN)/python -m bench.api
	@$(BIN)/python -m bench.states
	@$(BIN)/python -m bench.archive

lock: ## write uv.lock anew after a change of dependencies
	@sh -euc "$$FIND_UV"' find_uv || { echo "make lock needs uv, and it could not be installed." >&2; exit 1; }; "$$uv" lock'

clean: ## remove the environment, caches and builds
	@rm -rf $(VENV) build dist web/node_modules src/reelstate/api/static .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find $(wildcard src tests bench docs examples) -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.ready: pyproject.toml uv.lock hatch_build.py $(WEB)
	@sh -euc "$$FIND_UV$$SET_UP" set-up dev
	@touch $@

$(VENV)/.ready-demo: pyproject.toml uv.lock hatch_build.py $(WEB)
	@sh -euc "$$FIND_UV$$SET_UP" set-up
	@touch $@

$(VENV)/.ready-bench: $(VENV)/.ready
	@sh -euc "$$FIND_UV$$SET_UP" set-up dev bench
	@touch $@

# find_uv: sets $uv to the uv on PATH, or to one installed into the environment; fails when neither can be had.
define FIND_UV
say() { echo "reelstate: $$*" >&2; }

tell_dashboard() {
    if [ -f src/reelstate/api/static/index.html ] || [ ! -d web ]; then return; fi
    say "WARNING: THE DASHBOARD IS NOT BUILT. Everything else works. What its build said:"
    cat build/dashboard-build.log >&2 2>/dev/null || true
}

recent() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for python in "$(PYTHON)" python3.14 python3.13 python3.12 python3.11; do
        if recent "$$python"; then return; fi
    done
    found=$$("$(PYTHON)" --version 2>&1) || found="no $(PYTHON)"
    say "Python 3.11 or newer is needed, and this machine has $$found."
    say "Install a newer one, or name one: make PYTHON=/path/to/python3.12 ..."
    exit 1
}

make_environment() {
    if [ -x $(BIN)/python ] && recent $(BIN)/python && $(BIN)/python -m pip --version >/dev/null 2>&1; then return; fi
    find_python
    say "making $(VENV) with $$("$$python" --version)"
    if "$$python" -m venv --clear $(VENV) >/dev/null 2>&1; then return; fi
    # Without ensurepip (Debian's python3-venv) a pip that stands outside can still fill a bare environment.
    if "$$python" -m venv --clear --without-pip $(VENV) >/dev/null 2>&1 &&
        "$$python" -m pip --python $(BIN)/python install --quiet pip; then return; fi
    rm -rf $(VENV)
    say "$$("$$python" --version) can make no environment: it has neither ensurepip nor pip."
    say "Install uv (it needs no root), or your system's package python3-venv, then run make again."
    exit 1
}

find_uv() {
    if uv=$$(command -v uv); then return; fi
    make_environment
    uv=$(BIN)/uv
    [ -x "$$uv" ] || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
}

endef
export FIND_UV

# The locked versions by uv; where uv can't be had or can't reach the packages, the newest allowed ones by pip. Without
# a group it is what users install, a third of it all.
define SET_UP
groups="--no-dev" && for group in "$$@"; do groups="$${groups#--no-dev} --group $$group"; done
if find_uv; then
    say "installing the locked packages$${*:+ ($$*)} with uv"
    if "$$uv" sync --quiet --frozen --inexact $$groups; then tell_dashboard; exit 0; fi
fi
say "uv did not succeed; installing the packages$${*:+ ($$*)} with pip, not locked"
make_environment
$(BIN)/python - "$$@" <<'END' | $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --requirement /dev/stdin
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    groups = tomllib.load(file)["dependency-groups"]
for group in sys.argv[1:]:
    print(*groups[group], sep="\n")
END
tell_dashboard
endef
export SET_UP
