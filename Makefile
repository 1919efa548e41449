# Thin front for people; the build itself is CMake (CMakePresets.json).
#   make quickstart   install what is missing, build, dry-run the quick-start script on 8 ranks
#   make test         install what is missing, build, run all tests
# Everything can be repeated; what is there already is not done again.

SHELL := /bin/bash
JOBS ?= $(shell nproc)
RANKS ?= 8
FUZZ_SECONDS ?= 30
PROVE_SECONDS ?= 60
SOAK_SCHEDULES ?= 1000000
SOAK_SEED ?= 1

.DEFAULT_GOAL := help
MACHINE ?= $(shell uname -m)

.PHONY: soak help wheel deb try-packages quickstart test release dev asan tsan fuzz prove web samples operators truth accuracy real-models bench check format tidy packages packages-test packages-check clean

help:
	@sed -n 's/^#   /  /p' Makefile
	@echo "  make asan | tsan  the tests under address and undefined-behaviour, or thread, sanitizer"
	@echo "  make fuzz         every fuzz target for FUZZ_SECONDS ($(FUZZ_SECONDS)) seconds"
	@echo "  make soak         the cluster's state machines under SOAK_SCHEDULES ($(SOAK_SCHEDULES)) seeded fault schedules from SOAK_SEED ($(SOAK_SEED)) on"
	@echo "  make prove        the numeric proof with new programs for PROVE_SECONDS ($(PROVE_SECONDS)) seconds"
	@echo "  make web          bundles the report page, reports/web/report_page.html (needs Node.js)"
	@echo "  make samples      writes docs/examples/reports and, with Chromium, the picture in README.md"
	@echo "  make operators    writes docs/operators.md"
	@echo "  make truth        MindSpore's own dry run beside ours, writes docs/truth.md; RECORDED=1: from what is recorded alone"
	@echo "  make accuracy     published measurements beside the closed forms of drydock plan, writes docs/accuracy.md"
	@echo "  make real-models REPOS=FOLDER  training configurations of the checkout FOLDER/mindformers, a table; PYTHON=interpreter with its requirements"
	@echo "  make wheel        a Python wheel of the program, in build/wheel; MACHINE=aarch64: cross build"
	@echo "  make deb          a Debian package of it, in build/deb"
	@echo "  make try-packages both installed, run and removed in bare environments"
	@echo "  make bench        the benchmarks"
	@echo "  make check        checks of the tree (includes, one place, words, sizes, format)"
	@echo "  make tidy         clang-tidy on what changed; make format: clang-format on everything"

packages:
	@tests/tools/install_packages.sh build

packages-test:
	@tests/tools/install_packages.sh build test

packages-check:
	@tests/tools/install_packages.sh build test check

# $(call build,preset[,targets[,cmake options]])
build = cmake --preset $(1) $(3) >build/$(1).log || { cat build/$(1).log; exit 1; }; \
        cmake --build build/$(1) -j $(JOBS) $(if $(2),--target $(2))

quickstart: packages
	@mkdir -p build
	@$(call build,release,msrun)
	build/release/bin/msrun --sim_level=1 --worker_num=$(RANKS) --log_dir build/quickstart docs/examples/quickstart/net.py

release: packages
	@mkdir -p build
	@$(call build,$@)

dev: packages-test
	@mkdir -p build
	@$(call build,$@,,-DDRYDOCK_UNITY=ON)

test: dev
	@tests/tools/run_tests.sh build/dev

asan tsan: packages-check
	@mkdir -p build
	@$(call build,$@)
	@tests/tools/run_tests.sh build/$@ -LE check

fuzz: packages-check
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tests/tools/run_fuzzers.sh

soak: packages-test
	@mkdir -p build
	@$(call build,dev,cluster_test)
	@tests/tools/soak.sh build/dev/tests/cluster_test $(SOAK_SCHEDULES) $(SOAK_SEED)

prove: packages-check
	@mkdir -p build
	@$(call build,dev,proof_test)
	@python3 -B tests/tools/prove.py build/dev/tests/proof_test --seconds $(PROVE_SECONDS)

# Node.js and npm are needed here only: the bundled page is committed.
web:
	@cd reports/web && { test -n "$$DRYDOCK_NODE_MODULES" || npm ci --no-audit --no-fund; } && node build.mjs

samples: release
	@python3 -B tests/tools/report_samples.py build/release/bin --picture

operators: dev
	@python3 -B tests/tools/operators_page.py build/dev/bin/msrun

truth: dev
	@python3 -B tests/reference/truth.py $(if $(RECORDED),--recorded) $(if $(ONLY),--only $(ONLY),--page docs/truth.md)

accuracy: dev
	@python3 -B tests/reference/accuracy.py $(if $(DRYDOCK_VECTORS),,--page docs/accuracy.md) $(if $(CALCULON),--calculon "$(CALCULON)")

real-models: release
	@test -f "$(REPOS)/mindformers/run_mindformer.py" || { echo "REPOS must be a folder with a checkout of mindformers"; exit 1; }
	python3 tests/peer/real_models.py --repository "$(REPOS)/mindformers" --msrun build/release/bin/msrun --python "$(or $(PYTHON),python3)" --table

wheel: packages
	@tests/packages/make_wheel.sh $(MACHINE)

deb: packages
	@tests/tools/install_packages.sh packages
	@mkdir -p build
	@cmake --preset release -B build/deb -DDRYDOCK_DEB=ON >build/deb.log || { cat build/deb.log; exit 1; }
	@cmake --build build/deb -j $(JOBS) --target msrun
	@cd build/deb && cpack -G DEB >cpack.log || { cat cpack.log; exit 1; }
	@ls build/deb/*.deb

try-packages: wheel deb
	@set -e; wheel=$$(ls build/wheel/*_$(MACHINE).whl); tests/packages/try_packages.sh wheel $$wheel; \
	tests/packages/try_packages.sh wheel-root $$wheel; tests/packages/try_packages.sh wheel-root $$wheel bullseye; tests/packages/try_packages.sh deb build/deb/*.deb

bench: packages-test
	@mkdir -p build
	@$(call build,release,,-DDRYDOCK_BENCH=ON)
	@set -e; for program in build/release/bench/*_bench; do "$$program"; done

check: packages-check
	@tests/tools/run_checks.sh

tidy: packages-check dev
	@tests/tools/tidy_changed.sh

format: packages-check
	@find base strategies sim reports launcher tests bench \( -name '*.cc' -o -name '*.h' \) -print0 | \
	  xargs -0 -r -n 50 clang-format-14 -i

clean:
	rm -rf build
