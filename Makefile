# Thin names for what CMake and CTest do; the presets are in CMakePresets.json.
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
LAUNCHER := $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
export CCACHE_SLOPPINESS ?= pch_defines,time_macros

.PHONY: help build test test-kernels sanitize tidy lint format fuzz demo bench install clean
.NOTPARALLEL:

help:
	@echo 'make build         the programs, into build/bin'
	@echo 'make demo          build, then an update, a patch and a revert race to mend one bug'
	@echo 'make test          build, then every test'
	@echo 'make test-kernels  only the tests that boot a guest with Debian kernels'
	@echo 'make sanitize      unit tests and main scenarios under address and undefined-behaviour sanitizers'
	@echo 'make tidy          clang-tidy over what changed since main (ALL=1: over everything)'
	@echo 'make lint          only the lints'
	@echo 'make format        rewrites the C++ as .clang-format says'
	@echo 'make fuzz          what strangers send to cloche-egress, under libFuzzer (SECONDS=60 each)'
	@echo 'make bench         the numbers of SPEC.md, beside bwrap, runc, runsc and firejail'
	@echo 'make install       into $$DESTDIR$$PREFIX (PREFIX=$(PREFIX))'
	@echo 'make clean         removes build/ and build-asan/'

build:
	@tools/deps.sh build
	@test -e build/CMakeCache.txt || cmake --preset release -DCLOCHE_TESTS=OFF $(LAUNCHER) > /dev/null
	@cmake --build build -j $(JOBS)

# Same build directory as `make build`; once the tests are in it they stay.
test: build-with-tests
	@tools/test.sh build $(JOBS)

test-kernels: build-with-tests
	@ctest --test-dir build --output-on-failure --no-tests=error -L kernel

# In build-asan.
sanitize:
	@tools/deps.sh test
	@tools/sanitize.sh $(JOBS)

tidy:
	@tools/deps.sh tidy
	@tools/tidy.sh $(if $(ALL),--all) $(JOBS)

lint: build-with-tests
	@ctest --test-dir build --output-on-failure --no-tests=error -L lint

.PHONY: build-with-tests
build-with-tests:
	@tools/deps.sh test
	@cmake --preset release -DCLOCHE_TESTS=ON $(LAUNCHER) > /dev/null
	@cmake --build build -j $(JOBS)

format:
	@tools/deps.sh test
	@tools/lint/format.sh --fix

fuzz:
	@tools/deps.sh fuzz
	@tests/fuzz/libfuzzer.sh build $(or $(SECONDS),60)

demo: build
	@tools/deps.sh demo
	@tools/demo.sh

bench:
	@tools/deps.sh bench
	@$(MAKE) --no-print-directory build
	@cmake --build build -j $(JOBS) --target cloche-bench
	@build/bin/cloche-bench

# `sudo make install` must not compile as root into a user's build directory.
install:
	@test -x build/bin/cloche || $(MAKE) --no-print-directory build
	@DESTDIR='$(DESTDIR)' cmake --install build --prefix '$(PREFIX)'
	@if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" = 0 ]; then '$(PREFIX)/libexec/cloche/cloche-setup'; fi

clean:
	rm -rf build build-asan
