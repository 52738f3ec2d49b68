# Every target sets up what it needs; only Python 3.11+ (with venv) and make must be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Not beside the tests: some packages have folders that would replace modules of Python's.
WASM := build/wasm

CONSOLE := frontend/console
BUILT := platform/coterie/gateway/static/console/index.html
NPM := npm --prefix $(CONSOLE)
PHONE := frontend/phone
BUILT_PHONE := platform/coterie/gateway/static/phone/index.html
NPM_LOCKS := $(CONSOLE) $(PHONE) tests/portability
# Tests that compile, train, simulate or sum for seconds; they have a target of their own. Whatever loads PyTorch is among
# them: it would be loaded in each process of the others.
COMPUTES := $(addprefix tests/coterie/,compile cloud cloud_training simulation simulation_runs twin recipes sdk \
	cli/test_plan.py cluster/test_this_host.py offline/test_command.py \
	merging/test_differences.py merging/test_distilling.py merging/test_running.py owners/test_rebuilding.py \
	accounts/test_separation.py audit/test_every_write.py gateway/console/test_law.py \
	rounds/test_sums_of_sums.py seeding/test_seed_fleet.py) \
	tests/coterie_recipes tests/coterie_agent/test_secure_sum.py tests/coterie_learning/vertical/test_party.py \
	$(addprefix tests/system/test_,alliance.py colla.py gang.py peers.py secure_sums.py simulation_runs.py surroundings.py whole_way.py) \
	tests/architecture/test_cluster_alone.py tests/portability
# What needs a browser is left out by its mark; nor is it read.
BROWSED := tests/console tests/phone
HAS_NODE := node --version 2>/dev/null | grep -qE '^v([2-9][0-9]|[1-9][0-9]{2})\.'

# Many images set it; a test run starts hundreds of processes, and each would compile the whole source anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo up test test-compute test-long test-zoo test-schedules test-portable test-sdk test-object-storage test-prometheus check-chart test-console test-phone screenshots check bench deb language reference lock audit audit-where-possible format console phone check-console check-phone

demo: $(STAMP) console-where-possible  ## Run a fleet that learns, live. ARGS="--devices 4 --rounds 3 --exit" passes options on, "--recipe har" takes another task.
	$(BIN)/coterie demo $(ARGS)

up: $(STAMP) console-where-possible  ## Run the platform in embedded mode.
	$(BIN)/coterie up $(ARGS)

test: $(STAMP)  ## Run the suite; what takes longer has targets of its own, below.
	$(BIN)/python -m pytest -n 5 --dist loadfile --no-loadscope-reorder $(patsubst %,--ignore=%,$(COMPUTES) $(BROWSED)) $(ARGS)

test-compute: $(STAMP)  ## The rest of the suite: what compiles, trains, simulates and sums for seconds, or asks every address of the API.
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(COMPUTES) $(ARGS)

test-long: $(STAMP) console phone  ## More kills, processes, pages, seeds and examples: each strategy, state and recipe that the gate takes one of. Needs chromium.
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder -m "long or (hypothesis and not zoo)" --hypothesis-profile=many $(ARGS)

test-zoo: $(STAMP)  ## Follow PyTorch: every operator, and every model in a realistic size for a hundred steps; and its int8 form, or why it has none.
	$(BIN)/python -m pytest -n 2 -m zoo tests/coterie/compile tests/coterie/cloud $(ARGS)

test-schedules: $(STAMP)  ## Ten thousand secure sums with lost, restarted and lying devices and a lying platform: no wrong sum. Minutes.
	$(BIN)/python -m tests.coterie_learning.secure_sum.schedules 10000

test-portable: $(STAMP)  ## Repeat the zoo's graphs on the oldest onnxruntime that the agent takes, and on WebAssembly (Node, npm).
	$(PYTHON) -m venv build/oldest
	build/oldest/bin/python -m pip install --quiet --disable-pip-version-check -r tests/portability/oldest.txt
	mkdir -p $(WASM) && cp tests/portability/package.json tests/portability/package-lock.json $(WASM)
	cd $(WASM) && npm ci --ignore-scripts --no-audit --no-fund --silent
	PYTHONPATH=platform:edge_agent:. $(BIN)/python -m tests.portability.cases build/portability
	build/oldest/bin/python tests/portability/run_cases.py build/portability
	node tests/portability/run_cases.mjs build/portability $(WASM)

test-sdk:  ## Install what an engineer's notebook needs, without the platform, and check a model with it.
	$(PYTHON) -m venv build/sdk
	build/sdk/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e edge_agent -e '.[sdk]'
	build/sdk/bin/python tests/portability/without_platform.py

test-object-storage: $(STAMP)  ## Keep models and updates in OpenStack Swift behind its S3 interface, which verifies signatures.
	$(PYTHON) -m venv build/swift
	build/swift/bin/python -m pip install --quiet --disable-pip-version-check -r deploy/object-storage/requirements.txt
	$(BIN)/python -m pytest -n 0 tests/coterie/storage tests/coterie/releases tests/system/test_cluster.py tests/system/test_chaos.py $(ARGS)

check-chart: $(STAMP)  ## Have Helm lint and render the chart, and hold what it renders to Kubernetes' schemas.
	$(PYTHON) -m venv build/helm
	build/helm/bin/python -m pip install --quiet --disable-pip-version-check -r deploy/helm/requirements.txt
	$(BIN)/python -m pytest -n 0 tests/deploy/test_helm.py $(ARGS)

build/prometheus/usr/bin/promtool:
	mkdir -p build/prometheus
	cd build/prometheus && apt-get download -qq -o APT::Sandbox::User=root prometheus && dpkg -x prometheus_*.deb .

test-prometheus: $(STAMP) build/prometheus/usr/bin/promtool  ## Have Prometheus read the alerts and the dashboard's queries. Needs Debian, which it takes Prometheus from.
	PATH="$$PATH:$(CURDIR)/build/prometheus/usr/bin" $(BIN)/python -m pytest -n 0 tests/deploy/test_prometheus.py $(ARGS)

test-console: $(STAMP) console phone  ## Drive the built console with a browser, on a real platform with real agents. Needs chromium.
	$(BIN)/python -m pytest -m "console and not long" tests/console $(ARGS)

test-phone: $(STAMP) phone $(CONSOLE)/node_modules/.package-lock.json  ## Let a browser join, train and be killed, on a real platform with real agents. Needs chromium.
	$(BIN)/python -m pytest -m "phone and not long" tests/phone $(ARGS)

screenshots: $(STAMP) console  ## Take the pictures of docs/console.md. ARGS="--states DIR" takes those of every state, to be looked at.
	$(BIN)/python -m tests.console.screenshots $(ARGS)

check: $(STAMP)  ## Lint, formatting, types, direction of imports, missing migrations; the console's, where Node 20 is.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python manage.py makemigrations --check --dry-run
	@if $(HAS_NODE); then $(MAKE) --no-print-directory check-console check-phone; else echo "Without Node 20 or newer the console and the phone's page are not checked."; fi

check-console: $(CONSOLE)/node_modules/.package-lock.json  ## Lint, types, stale client and component tests of the console.
	$(NPM) run --silent check
	$(NPM) test --silent

check-phone: $(PHONE)/node_modules/.package-lock.json  ## Lint, types and tests of the phone's page, on the vectors that Python wrote.
	npm --prefix $(PHONE) run --silent check
	npm --prefix $(PHONE) test --silent

phone: $(BUILT_PHONE)  ## Build the page on which phones train; needs Node 20 or newer.

console: $(BUILT)  ## Build the console; needs Node 20 or newer.

.PHONY: console-where-possible
console-where-possible:
	@if ! $(HAS_NODE); then echo "Without Node 20 or newer the platform shows a plain page instead of the console."; \
	else $(MAKE) --no-print-directory console || echo "The console could not be built: the platform shows a plain page instead."; \
	$(MAKE) --no-print-directory phone || echo "The phone's page could not be built: phones join by the agent."; fi

$(BUILT): $(CONSOLE)/node_modules/.package-lock.json $(shell find $(CONSOLE)/src $(CONSOLE)/scripts $(CONSOLE)/language -type f) $(CONSOLE)/index.html $(CONSOLE)/vite.config.ts
	$(NPM) run --silent build

$(BUILT_PHONE): $(PHONE)/node_modules/.package-lock.json $(shell find $(PHONE)/src $(PHONE)/scripts $(PHONE)/shell -type f) $(PHONE)/index.html $(PHONE)/vite.config.ts
	npm --prefix $(PHONE) run --silent build

# Not `npm ci`: it wants the packages of every other system, too, which not every registry has.
$(CONSOLE)/node_modules/.package-lock.json: $(CONSOLE)/package-lock.json
	$(NPM) install --silent --no-audit --no-fund
	@touch $@

$(PHONE)/node_modules/.package-lock.json: $(PHONE)/package-lock.json
	npm --prefix $(PHONE) install --silent --ignore-scripts --no-audit --no-fund
	@touch $@

bench: $(STAMP) console-where-possible  ## Measure. NAME=merge for one of tests/benchmarks/, NAME=inference.served for a part of one that has parts.
	$(BIN)/python -m tests.benchmarks $(NAME)

deb:  ## Build the agent's Debian package. ARGS="--arch arm64": a Raspberry Pi's, on any machine.
	$(PYTHON) deploy/debian/build.py $(ARGS)

language: $(STAMP) $(CONSOLE)/node_modules/.package-lock.json  ## After a change of texts: bring the catalogues of other languages up to date, and say what has no translation. Needs gettext.
	$(NPM) run --silent language
	cd platform/coterie && ../../$(BIN)/django-admin compilemessages --verbosity 0

reference: $(STAMP)  ## Write the generated pages of docs/reference.
	$(BIN)/python -m tests.contract.reference

lock: $(STAMP)  ## After a change of constraints.txt or a lock of npm: write the hashes of all files (requirements.lock) and the bill (sbom.cdx.json).
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.9
	grep -vE '^(#|torch==)' constraints.txt | build/lock/bin/uv pip compile --quiet --no-deps --python $(BIN)/python \
	    --generate-hashes --no-header --no-annotate --no-emit-index-url --output-file requirements.lock -
	$(BIN)/python -m tests.contract.sbom

audit: $(STAMP)  ## Compare everything that is locked with the advisory databases; ADVISORIES=DIRECTORY: with kept ones of OSV, without a network.
ifdef ADVISORIES
	$(BIN)/python -m tests.contract.advisories $(ADVISORIES)
else
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	build/audit/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off --requirement constraints.txt
	for directory in $(NPM_LOCKS); do npm --prefix $$directory audit --package-lock-only || exit 1; done
endif

audit-where-possible: $(STAMP)  ## The same for a gate that may have no network: what is known fails it, and what could not be asked is said.
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	$(BIN)/python -m tests.contract.asking_databases $(ADVISORIES)

format: $(STAMP)
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

# First everything but PyTorch, whose build depends on the machine, by its hash; then PyTorch and our own two packages.
$(STAMP): pyproject.toml edge_agent/pyproject.toml constraints.txt requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -c constraints.txt -e edge_agent -e '.[dev]'
	@touch $@
