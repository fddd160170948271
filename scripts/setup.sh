#!/bin/sh
# Installs the system packages that building and testing need, where they are missing: as root or
# through sudo without a password; otherwise says which command does it, and fails.
# Usage: scripts/setup.sh [test]     with `test` also those that some tests use; without them these are skipped
set -eu

missing=
wanted=

# need COMMAND PACKAGE
need() {
    command -v "$1" > /dev/null 2>&1 || missing="$missing $2"
}

# want COMMAND PACKAGE: as need, for what can be missing.
want() {
    command -v "$1" > /dev/null 2>&1 || [ -x "/sbin/$1" ] || wanted="$wanted $2"
}

need cc gcc
need c++ g++
need make make
need pkg-config pkg-config
need python3 python3
need nm binutils
# The C library's headers, and venv with pip, come in packages without a command of their own.
if command -v cc > /dev/null 2>&1; then
    echo '#include <stdio.h>' | cc -E - > /dev/null 2>&1 || missing="$missing libc6-dev"
fi
if command -v python3 > /dev/null 2>&1; then
    python3 -c 'import venv, ensurepip' 2> /dev/null || missing="$missing python3-venv"
    header=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h
    [ -e "$header" ] || missing="$missing python3-dev"
else
    missing="$missing python3-venv python3-dev"
fi

if [ "${1:-}" = test ]; then
    # The virtual machine with a software card of RDMA.
    want qemu-system-x86_64 qemu-system-x86
    want busybox busybox-static
    want rdma iproute2
    want ibv_devinfo "rdma-core ibverbs-providers ibverbs-utils"
    want xz xz-utils
    # Hosts behind a firewall.
    want nft nftables
    # The kernel module is built for Debian's kernel.
    [ "$(uname -m)" != x86_64 ] || "$(dirname "$0")/kernel-headers.sh" > /dev/null || wanted="$wanted linux-headers-amd64"
    # Networks by libfabric; its header is what declarations are compared with.
    want fi_info "libfabric1 libfabric-dev libfabric-bin"
    # A debugger that starts a job.
    want gdb gdb
    # A window for each rank, on a display that nobody sees.
    want xterm xterm
    want Xvfb xvfb
    # Module files. Debian lets one of the two programs for them be there; the test installs the other where it does no harm.
    [ -e /usr/share/modules/init/bash ] || [ -e /usr/share/lmod/lmod/init/bash ] || wanted="$wanted environment-modules"
    # Fortran programs; a compiler of another name serves too.
    command -v gfortran-12 > /dev/null 2>&1 || want gfortran gfortran
fi

if ! command -v cargo > /dev/null 2>&1; then
    echo "setup: Rust is missing. https://rustup.rs tells how to install it; rust-toolchain.toml names the version." >&2
    exit 1
fi
[ -n "$missing$wanted" ] || exit 0

# Fails, or without a need for it only says so.
give_up() {
    echo "setup: $1" >&2
    [ -z "$missing" ] || exit 1
    echo "setup: without them some tests are skipped" >&2
    exit 0
}

packages="$missing$wanted"
command="apt-get install -y --no-install-recommends$packages"
command -v apt-get > /dev/null 2>&1 || give_up "missing:$packages (names of Debian packages). Please install them."
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif sudo -n true 2> /dev/null; then
    as_root="sudo -n"
else
    give_up "missing:$packages. Please run: sudo apt-get update && sudo $command"
fi
echo "setup: installing$packages" >&2
# shellcheck disable=SC2086
$as_root apt-get update -qq || give_up "the list of packages cannot be fetched"
# shellcheck disable=SC2086
if ! DEBIAN_FRONTEND=noninteractive $as_root $command; then
    # Perhaps only one that can be missing.
    [ -z "$missing" ] || [ -z "$wanted" ] ||
        DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y --no-install-recommends $missing || exit 1
    missing=
    give_up "not installed:$wanted"
fi
