# Tern. What the targets do is in scripts/; `make help` lists them.

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo

# Where cargo puts what it builds.
TARGET := $(or $(CARGO_TARGET_DIR),target)
# What `demo`, `test` and `bench` install into and run from.
LOCAL := $(CURDIR)/target/prefix

.PHONY: help build install local demo test check-deep check-sources check-suites kmod bench setup clean

help:
	@echo 'make build                   builds the library, mpiexec and the tools'
	@echo 'make install PREFIX=/usr/local [DESTDIR=]'
	@echo 'make demo                    builds, installs into target/prefix, runs real MPI programs'
	@echo 'make test                    every test'
	@echo 'make check-deep              tests that take longer than make test may'
	@echo 'make check-sources           Fortran programs from source, with their tests: an hour and more'
	@echo 'make check-suites SUITES=... test suites of others that you have built: scripts/suites.sh'
	@echo 'make kmod                    the kernel module, in target/kmod; KDIR=/lib/modules/VERSION/build'
	@echo 'make bench                   Tern beside the other MPI libraries'
	@echo 'make wheel                   a wheel for Python, in dist/'
	@echo 'make deb                     a Debian package, in dist/'
	@echo 'make setup                   installs missing system packages'

build:
	$(CARGO) build --release --workspace

install: build
	scripts/install.sh $(TARGET)/release $(PREFIX) $(DESTDIR)

local:
	scripts/setup.sh
	$(MAKE) build
	scripts/install.sh $(TARGET)/release $(LOCAL)

demo: local
	demo/run.sh $(LOCAL)

test:
	scripts/setup.sh test
	$(MAKE) local
	scripts/test.sh $(LOCAL)

# Random sequences of what programs do to memory, DEEP seconds of each kind. Each launcher, and each mechanism, with all C programs that it
# can run, and mpi4py's suite, on its published wheel too.
check-deep: local
	scripts/check-deep.sh $(LOCAL) $(or $(DEEP),600)
	TERN_TEST_KMOD=deep tests/kmod-test.sh $(LOCAL)
	tests/kmod-checked.sh
	TERN_LAUNCHERS_DEEP=1 tests/launchers-test.sh $(LOCAL) mpich impi prterun pmi2 pmi2-3 pmix pmix-3

# Programs in Fortran, built from source; NAMES="scalapack petsc" for some of them.
check-sources: local
	tests/sources.sh $(LOCAL) $(NAMES)

# SUITES: --SUITE FOLDER..., as scripts/suites.sh takes them.
check-suites: local
	scripts/suites.sh $(LOCAL) $(SUITES)

# Without what a kernel module is built with, says so and does nothing.
KDIR ?= $(shell scripts/kernel-headers.sh)
kmod:
	@if [ -e '$(KDIR)/Makefile' ]; then $(MAKE) -C kmod KDIR='$(KDIR)' BUILD=$(CURDIR)/target/kmod; \
	else echo 'kmod: skipped: no kernel headers (Debian: linux-headers-amd64)'; fi

bench: local
	scripts/bench.sh $(LOCAL)

wheel:
	scripts/wheel.sh

deb: build
	rm -rf target/deb
	scripts/install.sh $(TARGET)/release $(CURDIR)/target/deb
	scripts/deb.sh target/deb dist

setup:
	scripts/setup.sh

clean:
	$(CARGO) clean
