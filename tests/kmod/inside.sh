#!/bin/sh
# What tests/kmod-test.sh runs inside the machine.
# Usage: tests/kmod/inside.sh BUILD PREFIX CALLS SEED...
#   BUILD has the module and the programs; each SEED is for CALLS random calls
set -u

build=$1 calls=$3
shift 3
failed=0

busybox insmod "$build/module/tern.ko" || exit 1
"$build/functional" || failed=1
"$build/hostile" || failed=1
for seed; do
    "$build/random" "$calls" "$seed" || failed=1
done
# With a reference left anywhere the module could not go.
if busybox rmmod tern; then
    echo "1 passed, 0 failed, 0 skipped"
else
    echo "FAIL the module cannot be unloaded"
    echo "0 passed, 1 failed, 0 skipped"
    failed=1
fi
if dmesg | grep -E 'WARNING:|BUG|Oops|refcount_t|Padding overwritten|Poison overwritten|blocked for more than'; then
    echo "FAIL the kernel complains"
    dmesg | tail -n 60
    echo "0 passed, 1 failed, 0 skipped"
    failed=1
fi
exit "$failed"
