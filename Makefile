# Tern. What the targets do is in scripts/; `make help` lists them.

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo

# Where cargo puts what it builds.
TARGET := $(or $(CARGO_TARGET_DIR),target)
# What `demo`, `test` and `bench` install into and run from.
LOCAL := $(CURDIR)/target/prefix
BUILT := $(TARGET)/release

# The architecture of what is built, as rustc and uname call it: aarch64, x86_64, riscv64. For another one than this machine's the compiler is
# GNU's of that name (Debian: gcc-aarch64-linux-gnu), and qemu-user runs the programs that write their own manual pages.
# Of the command line alone: who builds kernels has a variable of that name, with other words.
ifneq ($(origin ARCH),command line)
ARCH := $(shell uname -m)
endif
unexport ARCH
ifneq ($(ARCH),$(shell uname -m))
include scripts/cross.mk
endif

.PHONY: help build install local demo test check-deep check-model model-lines chaos check-arm64 check-arm64-guest check-no-avx check-sources check-suites check-ulfm kmod bench model book setup clean

help:
	@echo 'make build                   builds the library, mpiexec and the tools'
	@echo 'make install PREFIX=/usr/local [DESTDIR=]'
	@echo '     ARCH=aarch64            for another architecture than this machine'"'"'s: build, install, local, deb, wheel'
	@echo 'make demo                    builds, installs into target/prefix, runs real MPI programs'
	@echo 'make test                    every test'
	@echo 'make model                   the library for tern-bench model: large nodes that are made up, in virtual time'
	@echo 'make model-lines [MACHINE=]  Tern'"'"'s control lines beside the algorithms of others on such nodes; RANKS=96'
	@echo 'make check-model             tests of tern-bench model: lines that cross borders at 96 ranks, equal runs, C programs'
	@echo 'make check-deep              tests that take longer than make test may'
	@echo 'make chaos [TIME=3600]       programs under chaos by new seeds, so many seconds; TERN_NPB=DIR, TERN_ULFM=DIR for more programs'
	@echo 'make check-arm64             builds for arm64 and tests that by qemu-user; half an hour and more'
	@echo 'make check-arm64-guest       builds for arm64 and tests that with Debian kernels for arm64 in a virtual machine'
	@echo 'make check-no-avx            C programs on an x86-64 without AVX, by qemu-user'
	@echo 'make check-sources           Fortran programs from source, with their tests: an hour and more'
	@echo 'make check-suites            test suites of others, fetched, built and run: two hours and more; SUITES="ibm mbi"'
	@echo 'make check-ulfm ULFM=DIR     the suite of User Level Failure Mitigation, a clone of ICLDisco/ulfm-testing: an hour; RANKS="4 8"'
	@echo 'make kmod                    the kernel module, in target/kmod; KDIR=/lib/modules/VERSION/build'
	@echo 'make bench                   Tern beside the other MPI libraries; ARGS="knem --quick" for one part'
	@echo 'make book                    the pages of docs/ as a book in target/book; needs mdbook'
	@echo 'make wheel                   a wheel for Python, in dist/'
	@echo 'make deb                     a Debian package, in dist/'
	@echo 'make setup                   installs missing system packages'

build:
	$(CARGO) build --release --workspace $(CROSS)

install: build
	scripts/install.sh $(BUILT) $(PREFIX) $(DESTDIR)

local:
	scripts/setup.sh
	$(MAKE) build
	scripts/install.sh $(BUILT) $(LOCAL)
	$(if $(filter no,$(MODEL)),,scripts/model.sh $(TARGET) $(LOCAL))

demo:
	$(MAKE) local MODEL=no
	demo/run.sh $(LOCAL)

test:
	scripts/setup.sh test
	$(MAKE) local MODEL=no
	scripts/test.sh $(LOCAL)

# Random sequences of what programs do to memory, DEEP seconds of each kind. Each launcher, and each mechanism, with all C programs that it
# can run, and mpi4py's suite, on its published wheel too.
check-deep: local
	scripts/check-deep.sh $(LOCAL) $(or $(DEEP),600)
	tests/ft-test.sh $(LOCAL) 500
	tests/chaos-test.sh $(LOCAL) 40
	TERN_TEST_KILLS=100000 $(CARGO) test -q -p tern-adi --test pair kills
	TERN_TEST_KILLS=10000 $(CARGO) test -q -p tern-mpi --test worlds
	TERN_TEST_KMOD=deep tests/kmod-test.sh $(LOCAL)
	tests/kmod-checked.sh
	TERN_LAUNCHERS_DEEP=1 tests/launchers-test.sh $(LOCAL) mpich impi prterun pmi2 pmi2-3 pmix pmix-3
	tests/prterun-hosts-test.sh $(LOCAL)

# Programs whose processes stop, are refused things, get what has come in another order, and die, all by seed: one new seed after the other.
TIME ?= 3600
chaos: local
	tests/chaos.sh $(LOCAL) $(TIME)

# What is built for arm64, by an emulator of its processors: PARTS="crates programs pages fortran" for some of that, NAMES=all DONE=FILE for all C
# programs in several sittings, CRATES="adi region" for the tests of other crates. scripts/emulated.sh has the rest.
check-arm64:
	scripts/emulated.sh arm64 $(PARTS)

# What is built for arm64, in virtual machines with kernels of Debian for it; KINDS="arm64 arm64-16k" for some of these.
check-arm64-guest:
	$(MAKE) local ARCH=aarch64
	tests/arm64-guest.sh $(CURDIR)/target/prefix-aarch64 $(KINDS)

# The same programs on an x86-64 that has no AVX.
check-no-avx: local
	scripts/emulated.sh x86 $(LOCAL)

# Programs in Fortran, built from source; NAMES="scalapack petsc" for some of them.
check-sources: local
	tests/sources.sh $(LOCAL) $(NAMES)

# Test suites of other projects, fetched and built; SUITES="ibm hlrs" for some of them, or as scripts/suites.sh takes them.
check-suites: local
	scripts/suites.sh $(LOCAL) $(SUITES)

# Programs that lose ranks and go on, by the public suite for that, which lies in the folder ULFM; RANKS="4 8" for some numbers of ranks.
check-ulfm: local
	tests/ulfm-suite.sh $(LOCAL) '$(ULFM)' $(RANKS)

# Without what a kernel module is built with, says so and does nothing.
KDIR ?= $(shell scripts/kernel-headers.sh)
kmod:
	@if [ -e '$(KDIR)/Makefile' ]; then $(MAKE) -C kmod KDIR='$(KDIR)' BUILD=$(CURDIR)/target/kmod; \
	else echo 'kmod: skipped: no kernel headers (Debian: linux-headers-amd64)'; fi

# The library that runs in virtual time, for `tern-bench model`. `make local` builds it too, and `make test` does not.
model:
	$(MAKE) local MODEL=no
	scripts/model.sh $(TARGET) $(LOCAL)

# Processes in virtual time: lines that cross the borders of a large node, equal runs, and C programs, in a few minutes.
check-model: model
	RUSTFLAGS='--cfg tern_model' CARGO_TARGET_DIR=$(TARGET)/model $(CARGO) test -q --package tern-atomics
	tests/model-test.sh $(LOCAL)

# Tern's control lines beside the best algorithm of others on made-up machines, in this process: a minute and more. MACHINE=2x-epyc-7r13, RANKS=96.
model-lines:
	MACHINE='$(MACHINE)' RANKS='$(RANKS)' cargo test -q -p tern-model --test tern -- --ignored --nocapture figures

bench: local
	scripts/bench.sh $(LOCAL) $(ARGS)

book:
	scripts/book.py

wheel:
	scripts/wheel.sh

deb: build
	rm -rf target/deb
	scripts/install.sh $(BUILT) $(CURDIR)/target/deb
	scripts/deb.sh target/deb dist

setup:
	scripts/setup.sh

clean:
	$(CARGO) clean
