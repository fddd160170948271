#!/bin/sh
# What tests/kmod-checked.sh runs as the first process of user-mode Linux. The command line gives TERN_PLACE, TERN_KERNEL and TERN_CALLS.
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2> /dev/null # often there already
mount -t tmpfs tmpfs /tmp
busybox mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
build=$TERN_PLACE

result() {
    if [ "$1" = 0 ]; then
        echo "ok $2"
        echo "1 passed, 0 failed, 0 skipped"
    else
        echo "FAIL $2"
        echo "0 passed, 1 failed, 0 skipped"
    fi
}

echo inside
before=$(dmesg | grep -cE 'WARNING:|BUG|KASAN')
busybox insmod "$build/$TERN_KERNEL/tern.ko"
result $? "$TERN_KERNEL: the module is loaded"
if [ "$TERN_KERNEL" = plain ]; then
    # A system call takes 20 us of them.
    "$build/count-test" nanoseconds
else
    # User-mode Linux gives a child memory that it must not have (MADV_DONTFORK too), and has no huge pages.
    echo "SKIP attached, huge_pages: not as on a machine"
    echo "0 passed, 0 failed, 2 skipped"
    for name in about inline_copies segments errors single_use third_process asynchronous generation later_writes descriptors users locked_memory; do
        "$build/functional-test" "$name" 2>&1
    done
    "$build/hostile-test" 2>&1
    for seed in 1 2 3; do
        "$build/random-test" "$TERN_CALLS" "$seed" 2>&1
    done
fi
for name in contexts regions pinned_pages jobs attachments; do
    [ "$(cat /sys/class/misc/tern/$name)" = 0 ]
    result $? "$TERN_KERNEL: no $name are left"
done
busybox rmmod tern
result $? "$TERN_KERNEL: the module is unloaded"
after=$(dmesg | grep -cE 'WARNING:|BUG|KASAN')
[ "$before" = "$after" ]
result $? "$TERN_KERNEL: the kernel has nothing to complain of"
[ "$before" = "$after" ] || dmesg | tail -n 80
echo end
busybox poweroff -f
