# A thin front for meson and ninja: every target does its own set-up.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
# Where services look for their configuration; an installation for oneself keeps to its own folder.
SYSCONFDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/etc,$(PREFIX)/etc)

.PHONY: all help build test demo bench rehearse fuzz sanitize lint crash nth torture hosts \
    install deb sbom clean

# What is built when nothing is named.
all: build

# What there is to make, and what it does.
help:
	@awk '/^#/ { note = note (note ? "\n            " : "") substr($$0, 3); next } \
	    /^[a-z]+:/ { sub(":.*", ""); printf "%-11s %s\n", $$0, note } { note = "" }' Makefile

# The program, into the build folder.
build:
	@tools/setup.sh build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD)
	@ninja -C $(BUILD)

# Every test there is. (A folder from before cmocka was installed knows no unit tests: look again.)
test:
	@tools/setup.sh test
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD)
	@grep -q cmocka $(BUILD)/build.ninja || meson setup --reconfigure $(BUILD)
	@ninja -C $(BUILD)
	@python3 tests/run.py $(BUILD)

# A made-up site, an archive of it and its pages, to look at.
demo: build
	@BUILD=$(BUILD) tools/demo.sh

# Writes docs/benchmarks.md. BENCH=--quick looks only; BENCH="--only http1,serve" renews some of it.
bench:
	@tools/setup.sh bench
	@$(MAKE) --no-print-directory build
	@python3 tests/bench/run.py --build $(BUILD) $(BENCH)

# A catch-up with REHEARSE_IDS (5,000,000) made-up ids into each database, below REHEARSE_DIR.
rehearse:
	@tools/setup.sh test
	@$(MAKE) --no-print-directory build
	@python3 tests/bench/rehearse.py --build $(BUILD)

# A hunt with clang's fuzzer: FUZZ_SECONDS (120) for each target.
fuzz:
	@tools/setup.sh lint
	@$(MAKE) --no-print-directory build
	@BUILD=$(BUILD) tools/fuzz.sh

# The suites under the address, undefined and thread sanitizers.
sanitize:
	@tools/setup.sh lint
	@tools/sanitize.sh

# gcc and clang with warnings as errors, clang-format, clang-tidy, cppcheck.
lint:
	@tools/setup.sh lint
	@$(MAKE) --no-print-directory build
	@test -f build-clang/build.ninja || CC=clang meson setup build-clang
	@ninja -C build-clang
	@python3 tools/lint.py build-clang

# The crash tests at full length: CRASH_ROUNDS (50) kills where `make test` has a few.
crash:
	@tools/setup.sh test
	@$(MAKE) --no-print-directory build
	@CRASH_ROUNDS=$${CRASH_ROUNDS:-50} python3 tests/run.py $(BUILD) crash

# Every fallible call of the program fails once: some of them under the address sanitizer, then all
# without it.
nth:
	@tools/setup.sh test
	@$(MAKE) --no-print-directory build
	@test -f build-asan/build.ninja || \
	    meson setup build-asan -Db_sanitize=address,undefined -Db_lundef=false
	@ninja -C build-asan tests/nth/nth
	@python3 -B tests/nth/run_nth.py build-asan/tests/nth/nth $(BUILD) TestNth
	@NTH=all python3 -B tests/nth/run_nth.py $(BUILD)/tests/nth/nth $(BUILD)

# Random faults on everything for TORTURE_MINUTES (5) or TORTURE_ROUNDS; TORTURE_SEED repeats them.
torture:
	@tools/setup.sh test
	@$(MAKE) --no-print-directory build
	@python3 -B tests/torture/run.py $(BUILD)

# Many hosts, in network namespaces: HOSTS_ROUNDS (40) faults at random, or HOSTS_FAULTS. As root.
hosts:
	@tools/setup.sh test
	@python3 -B tests/hosts/network.py
	@$(MAKE) --no-print-directory build
	@TAIN_BUILD=$(BUILD) HOSTS_ROUNDS=$${HOSTS_ROUNDS:-40} python3 -B tests/hosts/test_hosts.py

# Below PREFIX (/usr/local) and DESTDIR.
install: build
	@meson configure $(BUILD) -Dprefix=$(PREFIX) -Dsysconfdir=$(SYSCONFDIR)
	@meson install -C $(BUILD) --quiet $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))
	@echo "installed below $(DESTDIR)$(PREFIX); for the services, as root: systemd-sysusers &&" \
	    "systemd-tmpfiles --create && systemctl daemon-reload"

# A Debian package, into the build folder.
deb:
	@tools/setup.sh deb
	@$(MAKE) --no-print-directory build
	@python3 packaging/debian/build.py $(BUILD)

# Which libraries the program is linked with, of which packages, under which licences.
sbom: build
	@python3 tools/sbom.py $(BUILD)/tain tain "$$($(BUILD)/tain --version | sed -n '1s/tain //p')" \
	    Apache-2.0 $(BUILD)/tain.cdx.json
	@echo $(BUILD)/tain.cdx.json

# Removes every build folder.
clean:
	@rm -rf $(BUILD) build-asan build-tsan build-clang build-fuzz
