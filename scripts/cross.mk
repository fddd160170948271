# For another architecture than this machine's. The Makefile reads this file when ARCH names one.

export TRIPLE := $(ARCH)-unknown-linux-gnu
LINKER := CARGO_TARGET_$(shell echo $(TRIPLE) | tr a-z- A-Z_)_LINKER
export $(LINKER) ?= $(ARCH)-linux-gnu-gcc
# What runs a program of that architecture.
export EMULATOR ?= qemu-$(ARCH) -L /usr/$(ARCH)-linux-gnu

CROSS := --target $(TRIPLE)
BUILT := $(TARGET)/$(TRIPLE)/release
LOCAL := $(CURDIR)/target/prefix-$(ARCH)
