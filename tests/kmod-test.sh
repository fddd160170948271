#!/bin/sh
# The kernel module, in a virtual machine with Debian's kernel: what /dev/tern promises, and what it survives.
# Usage: tests/kmod-test.sh PREFIX
#   TERN_TEST_KMOD=deep            with debugging of the kernel's allocator, and 100,000 random calls of each of 3 seeds
#   TERN_TEST_VIRTUAL_LIMIT        seconds for the machine, from power on to power off [300, deep: 3000]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
place=$root/target/virtual
build=$root/target/kmod-test
mkdir -p "$build"

skip() {
    echo "SKIP kernel module: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

code=0
why=$("$here/virtual/prepare.sh" "$place") || code=$?
[ "$code" -ne 77 ] || skip "no virtual machine: ${why##*
}"
[ "$code" -eq 0 ] || { echo "$why"; exit "$code"; }
kernel=$(basename "$(echo "$place"/package/unpacked/lib/modules/*)")
headers=$("$root/scripts/kernel-headers.sh" "$kernel") || skip "no headers of the kernel $kernel (Debian's package linux-headers-$kernel)"

if ! make -C "$root/kmod" KDIR="$headers" BUILD="$build/module" W=1 > "$build/log" 2>&1 || grep -q warning: "$build/log"; then
    cat "$build/log"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
for program in functional hostile random; do
    cc -O1 -g -Wall -Wextra -Werror -static "$here/kmod/$program.c" -o "$build/$program" -pthread
done

case ${TERN_TEST_KMOD:-} in
deep) limit=3000 calls=100000 seeds="1 2 3" TERN_TEST_KERNEL="slub_debug=FZPU page_poison=1" ;;
*) limit=300 calls=4000 seeds=$(date +%s) TERN_TEST_KERNEL= ;;
esac
export TERN_TEST_KERNEL
# shellcheck disable=SC2086
"$here/virtual/run.sh" "$place" "${TERN_TEST_VIRTUAL_LIMIT:-$limit}" "$here/kmod/inside.sh" "$build" "$prefix" "$calls" $seeds
