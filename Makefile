# A thin front for meson and ninja: every target does its own set-up.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all build test demo bench install clean

all: build

build:
	@tools/setup.sh build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD)
	@ninja -C $(BUILD)

# A folder configured before cmocka was installed knows no unit tests: look again.
test:
	@tools/setup.sh test
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD)
	@grep -q cmocka $(BUILD)/build.ninja || meson setup --reconfigure $(BUILD)
	@ninja -C $(BUILD)
	@python3 tests/run.py $(BUILD)

demo: build
	@BUILD=$(BUILD) tools/demo.sh

bench:
	@tools/setup.sh test
	@$(MAKE) --no-print-directory build
	@python3 tests/bench/run.py --build $(BUILD)

install: build
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@meson install -C $(BUILD) $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

clean:
	@rm -rf $(BUILD)
