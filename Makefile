# SPDX-License-Identifier: GPL-2.0-or-later
# Each verb does its own set-up: `make demo` or `make test` on a fresh machine is all there is to type.

VENV := .venv
BIN := $(VENV)/bin
# The system's Python where there is one: what it runs here is what it runs when packaged.
PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)
# Changing one of these means installing again.
PINS := packaging/dependencies/constraints.txt
INSTALL_INPUTS := setup.cfg setup.py pyproject.toml $(PINS)

# A test that hangs ends its process, which with -n is a worker of its own.
PYTEST := $(BIN)/python -m pytest -o faulthandler_exit_on_timeout=true
# What the tests share, run as a program.
SUPPORT := PYTHONPATH=tests $(BIN)/python -m support
# Four at most: a test may take a guest of 1.5 GB.
JOBS := $(shell n=$$(nproc); echo $$((n < 4 ? n : 4)))
# Some tests wait more than they work.
BESIDE := $(shell echo $$(($(JOBS) + 1)))

.DELETE_ON_ERROR:
.PHONY: help setup packages python harness demo golden products fmt bench clean
.PHONY: wheel deb rpm docs install package-packages page-packages vm-packages vm-fetch
.PHONY: ansible ansible-full test-ansible
.PHONY: check test test-setup test-fetch test-harness test-smoke test-beside test-alone test-quick
.PHONY: test-elsewhere test-packages test-security test-planted
.PHONY: proofs proofs-current release figures instrument-full soak slowest flaky update-locks
.PHONY: lint lint-packages lint-python lint-rooms lint-types lint-c lint-shell

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: packages python harness  ## the programs in .venv/bin, with all they need
	@echo "setup: $(BIN)/lowlat-gen and $(BIN)/lowlat-measure are ready"

packages:
	@packaging/install-dependencies setup rehearse

lint-packages: packages
	@packaging/install-dependencies lint

package-packages: packages
	@packaging/install-dependencies package

# The browser that the report's page is looked at with.
page-packages: packages
	@packaging/install-dependencies page

# .venv/installed tells what was installed from where: another checkout's copy is made anew. What is
# pinned is installed or nothing; LOWLAT_UNPINNED=1 takes what setup.cfg allows, where the index has
# not what is pinned. pip knows no hash of an editable install, which is therefore a second call. The
# pip of Debian 11 and RHEL 9 is too old for one.
PIP = -m pip install --quiet --disable-pip-version-check
python: packages
	@want="$(CURDIR) $$(cat $(INSTALL_INPUTS) | sha256sum)$${LOWLAT_UNPINNED:+ unpinned}"; \
	if [ "$$(cat $(VENV)/installed 2>/dev/null)" = "$$want" ] && $(BIN)/python -c '' 2>/dev/null; then \
		echo "python: $(VENV) is in place"; exit 0; \
	fi; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9))' || \
		{ echo "python: $(PYTHON) is older than 3.9: name another with PYTHON=" >&2; exit 2; }; \
	case "$$(cat $(VENV)/installed 2>/dev/null)" in \
	"$(CURDIR) "*) ;; \
	*) echo "python: making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv --clear $(VENV) || exit;; \
	esac; \
	pip() { $(BIN)/python $(PIP) "$$@" </dev/null; }; \
	if $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		what='.[rehearse,report,test]'; \
		echo "python: installing lowlat and its extras into $(VENV) (first time: 1 to 3 minutes)"; \
	else \
		what=.; \
		echo "python: installing lowlat into $(VENV); rehearse, report and tests need Python 3.11, this is older"; \
	fi; \
	if [ "$$what" = . ] || [ -n "$$LOWLAT_UNPINNED" ]; then \
		pip 'pip >= 21.3' && pip "--editable=$$what" || exit; \
	else \
		pip --require-hashes --requirement=$(PINS) || { \
			echo "python: $(PINS) cannot be installed, pip says why; LOWLAT_UNPINNED=1 takes other versions" >&2; \
			exit 1; \
		}; \
		pip --no-deps --no-build-isolation --editable=. || exit; \
	fi; \
	echo "$$want" >$(VENV)/installed

harness: packages python
	@if $(MAKE) -s -q -C measure all 2>/dev/null; then \
		echo "harness: measure/build/lowlat-measure is in place"; \
	else \
		echo "harness: building measure/build/lowlat-measure"; $(MAKE) -s -j$(JOBS) -C measure all; \
	fi
	@ln -sfn ../../measure/build/lowlat-measure $(BIN)/lowlat-measure

demo: setup  ## what lowlat does, on this machine and in a virtual one: 5 minutes
	packaging/demo

# Run all parts of a verb even if one fails.
ALL = $(MAKE) --no-print-directory --keep-going

test: test-setup  ## all tests that every change must pass, one kernel boot included: 10 to 20 minutes
	@$(ALL) -j3 --output-sync=target test-smoke test-beside test-alone

# All that the tests need from the network, which none of them uses later. In CI all of it must be
# there; each missing part is named.
test-setup: setup test-tools package-packages page-packages ansible test-fetch

# Here, as two tests at once would build them side by side.
test-tools: setup
	@$(MAKE) -s -j$(JOBS) -C measure tools

test-fetch: setup
	@missing=; $(SUPPORT).guest.fetch smoke || missing=1; \
	$(SUPPORT).debs || missing=1; \
	[ -z "$$missing" ] || [ -z "$$CI" ]

proof-fetch: setup
	PYTHONPATH=tests $(BIN)/python -m support.debs proofs

test-harness:
	$(MAKE) -j$(JOBS) -C measure check
	$(MAKE) -j$(JOBS) -C measure sanitize

# The boot has limits of its own.
test-smoke:
	$(PYTEST) -o faulthandler_timeout=0 -m smoke

# The boot goes first: an emulated kernel that starves is no longer the one that is judged.
test-beside:
	nice -n 10 $(PYTEST) -n $(BESIDE) --dist loadfile -m "not (vm or smoke or harness or packages or proof or figure)"

# One by one, as they wait more than they work.
test-alone: test-harness
	$(PYTEST) -n 1 -m "harness and not (vm or proof or figure)"

# The wheel, the DEB and the RPM: built, looked at, installed.
test-packages: setup package-packages
	$(PYTEST) -n $(JOBS) --dist loadfile -m "packages and not proof"

# Ansible itself, below build/: packaging/dependencies/ansible.txt has the versions. The one that
# `test` runs is pinned with all that it needs.
ansible: build/ansible/newest/installed

ansible-full: $(addsuffix /installed,$(addprefix build/ansible/,newest oldest gates))

build/ansible/newest/installed: packaging/dependencies/ansible-newest.txt
build/ansible/%/installed: packaging/dependencies/ansible.txt | packages
	@echo "ansible: installing $* into $(@D)"
	@rm -rf $(@D) && $(PYTHON) -m venv $(@D)
	@if [ $* = newest ] && [ -z "$$LOWLAT_UNPINNED" ]; then \
		set -- --require-hashes --requirement=packaging/dependencies/ansible-newest.txt; \
	else \
		set -- $$(awk '$$1 == "$*" { print $$2 }' $<); \
	fi; \
	$(@D)/bin/python $(PIP) "$$@" </dev/null
	@touch $@

# The collection: its playbooks over hosts that are trees of files; part of `test`.
test-ansible: setup ansible
	$(PYTEST) -m "ansible and not proof"

check: setup lint-packages  ## the linters and the quickest tests: 3 minutes
	@$(ALL) -j2 --output-sync=target lint-python lint-rooms lint-types lint-shell test-quick

test-quick:
	$(PYTEST) -q -n $(BESIDE) --dist loadfile -m "not (vm or smoke or harness or packages or ansible or slow or proof or figure)"

# What audits found, a named test each; part of `test`.
test-security: setup package-packages
	$(PYTEST) -m security

# For every setting the opposite of it, planted in a made-up machine; part of `test`.
test-planted: setup
	$(PYTEST) -q -s tests/verify/test_planted.py

# What depends on the place, in a folder that only root can read and below a path with a space.
test-elsewhere: setup
	tests/elsewhere

vm-packages: packages
	@packaging/install-dependencies vm

# Kernels and a disk image, kept in ~/.cache/lowlat; guests install the DEBs of this tree.
vm-fetch: setup package-packages vm-packages
	$(SUPPORT).guest.fetch

# What is proved beside the gate, by tests/proofs.ini: guests, every cut, clean roots, campaigns, fuzz.
# What is current is left out, and what was stopped goes on. NAME names some, BUDGET the minutes.
proofs: test-setup  ## the long proofs that are not current, recorded in tests/PROOFS.jsonl
	$(BIN)/python tests/proofs.py run $(NAME) $(if $(BUDGET),--budget $(BUDGET:m=))

proofs-current: python
	@$(BIN)/python tests/proofs.py current

# Refuses while a proof is stale or a figure has drifted.
release: setup
	@$(BIN)/python tests/proofs.py release

# What measures this machine, three times: half an hour.
figures: setup  ## the detector beside its rivals and its bounds, recorded in tests/FIGURES.jsonl
	$(BIN)/python tests/figures.py

# The detector with ten times the stalls, and a minute for each witness: ten minutes.
instrument-full: setup
	LOWLAT_INSTRUMENT=full $(PYTEST) -m figure tests/instrument

# Both write committed files anew: look at the difference before it is committed.
golden: setup  ## the expected plans of captured machines, written anew
	LOWLAT_GOLDEN=1 $(PYTEST) tests/plan/test_machines.py
	LOWLAT_GOLDEN=1 $(PYTEST) tests/packaging/test_packages.py -k holds
	LOWLAT_GOLDEN=1 $(PYTEST) tests/lint -k guides

products: setup  ## manuals, completions and TuneD profiles, written anew
	measure/build/lowlat-measure --tools >generator/lowlat/measure/tools.json
	$(BIN)/python packaging/produce
	$(BIN)/python packaging/produce-cli

HASH := \#
C_FILES = $(shell find measure -name '*.[ch]' -not -path 'measure/build/*')
# Scripts are told by their first line, in whatever folder they are: $(call scripts,PATTERN).
scripts = $(shell git -c safe.directory="$(CURDIR)" ls-files --cached --others --exclude-standard | \
	while read -r file; do \
		[ -f "$$file" ] && IFS= read -r line <"$$file" || continue; \
		case $$line in ($(1)) echo "$$file";; esac; \
	done)
SHELL_SCRIPTS = $(call scripts,'$(HASH)!'*/sh|'$(HASH)!'*/bash|'$(HASH)!'*/sh\ *|'$(HASH)!'*bash\ *|'$(HASH)!'*env\ *sh)
PYTHON_SCRIPTS = $(filter-out %.py,$(call scripts,'$(HASH)!'*python3|'$(HASH)!'*python3\ *))

lint: setup lint-packages  ## style, types, rooms, C and shell
	@$(ALL) -j$(JOBS) --output-sync=target lint-python lint-rooms lint-types lint-c lint-shell

lint-python:
	$(BIN)/ruff check . $(PYTHON_SCRIPTS)
	$(BIN)/ruff format --check . $(PYTHON_SCRIPTS)

# Who may import whom: the contracts are in setup.cfg; what they cannot say is in tests/test_rooms.py.
lint-rooms:
	$(BIN)/lint-imports --no-cache
	$(PYTEST) -q tests/test_rooms.py tests/test_rules_of_tests.py

lint-types:
	$(BIN)/mypy

# Leaks are left to the sanitizers: cppcheck does not know the cleanup attribute.
lint-c:
	$(BIN)/clang-format --dry-run -Werror $(C_FILES)
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem \
		--suppress=memleak --suppress=resourceLeak --error-exitcode=1 -i measure/build \
		$(addprefix -I,$(wildcard measure/*/)) measure
	$(MAKE) -s -C measure rooms
	$(MAKE) -s -C measure BUILD=build/lint-gcc CC=gcc CFLAGS='-O2 -Werror' all tests tools instrument
	$(MAKE) -s -C measure BUILD=build/lint-clang CC=clang CFLAGS='-O2 -Werror' all tests tools instrument

lint-shell:
	shellcheck $(SHELL_SCRIPTS)

fmt: setup  ## layout put right
	$(BIN)/ruff check --fix-only . $(PYTHON_SCRIPTS)
	$(BIN)/ruff format . $(PYTHON_SCRIPTS)
	$(BIN)/clang-format -i $(C_FILES)

# An hour under 100,000 gaps a second; SOAK_SECONDS says otherwise.
soak: setup  ## the harness for an hour under 100,000 gaps a second
	$(MAKE) -C measure soak

# The kernels, the guests' image and the Python packages that the tests use: the newest of each.
update-locks: setup vm-packages  ## what the tests install or boot, pinned anew
	$(SUPPORT).guest.fetch --update-locks
	packaging/dependencies/update

# From what .ci/run recorded in build/gate.jsonl.
slowest flaky: python
	@$(BIN)/python tests/support/gate.py $@

bench: setup  ## how long probe, plan and report take
	$(BIN)/python tests/bench.py

wheel: python  ## the Python wheel
	$(BIN)/python -m build --no-isolation --outdir dist .

deb: package-packages  ## the Debian packages
	packaging/build-deb

rpm: package-packages  ## the RPM packages
	packaging/build-rpm

docs: products package-packages  ## the manuals as HTML
	@mkdir -p build/docs
	@for page in packaging/man/*.[1-9]; do \
		mandoc -Thtml "$$page" >"build/docs/$${page##*/}.html" || exit; \
	done
	@echo "docs: the man pages are in build/docs, a page for each tunable in packaging/reference"

# DESTDIR, prefix (/usr/local), pythondir: see packaging/install-files. What may refuse comes first.
install:  ## into DESTDIR and prefix (/usr/local)
	$(MAKE) -C measure all
	packaging/install-files gen
	$(MAKE) -C measure install
	packaging/install-files measure

# Keeps .venv, which costs minutes: `rm -rf .venv` starts over.
clean:  ## all that was built, but for .venv
	-$(MAKE) -s -C measure clean
	rm -rf build dist generator/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find generator profiles templates tests -name __pycache__ -type d -prune -exec rm -rf {} +
