#!/bin/sh
# Installs the system packages that building and testing need, where they are missing: as root or
# through sudo without a password; otherwise says which command does it, and fails.
set -eu

missing=

# need COMMAND PACKAGE
need() {
    command -v "$1" > /dev/null 2>&1 || missing="$missing $2"
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

if ! command -v cargo > /dev/null 2>&1; then
    echo "setup: Rust is missing. https://rustup.rs tells how to install it; rust-toolchain.toml names the version." >&2
    exit 1
fi
[ -n "$missing" ] || exit 0

command="apt-get install -y --no-install-recommends$missing"
if ! command -v apt-get > /dev/null 2>&1; then
    echo "setup: missing:$missing (names of Debian packages). Please install them." >&2
    exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif sudo -n true 2> /dev/null; then
    as_root="sudo -n"
else
    echo "setup: missing:$missing. Please run: sudo apt-get update && sudo $command" >&2
    exit 1
fi
echo "setup: installing$missing" >&2
# shellcheck disable=SC2086
$as_root apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $as_root $command
