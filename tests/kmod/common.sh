#!/bin/sh
# What the scripts that run inside the machine have in common: results, and what must hold at their end.
failed=0

bad() {
    echo "FAIL $*"
    echo "0 passed, 1 failed, 0 skipped"
    failed=1
}
good() {
    echo "ok $*"
    echo "1 passed, 0 failed, 0 skipped"
}

# The programs have left nothing, the module goes, and the kernel has said nothing.
at_the_end() {
    for name in contexts regions pinned_pages jobs attachments; do
        [ "$(cat /sys/class/misc/tern/$name)" = 0 ] || bad "the MPI programs have left $name: $(cat /sys/class/misc/tern/$name)"
    done
    # With a reference left anywhere the module could not go.
    if busybox rmmod tern; then good "the module is unloaded"; else bad "the module cannot be unloaded"; fi
    if dmesg | grep -E 'WARNING:|BUG|Oops|refcount_t|Padding overwritten|Poison overwritten|blocked for more than'; then
        bad "the kernel complains"
        dmesg | tail -n 60
    else
        good "the kernel has nothing to complain of"
    fi
}
