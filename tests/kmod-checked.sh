#!/bin/sh
# The kernel module in kernels at native speed: user-mode Linux, built from Debian's sources. First a kernel that checks itself
# (KASAN, lockdep, debugging of the allocator and of objects), then a plain one, which tells the times of copies.
# Usage: tests/kmod-checked.sh
#   The kernels are built once: five minutes on two idle cores. Needs dpkg, flex, bison, bc, a static C library.
#   TERN_TEST_CALLS   random calls of each of 3 seeds [100000]
#   TERN_TEST_KMOD=times   nothing but the plain kernel: half a minute where that is built
#   TERN_TEST_UML          where the kernels are built and kept; not in /tmp, which they see empty [target/uml]
set -eu
kernels="checked plain"
[ "${TERN_TEST_KMOD:-}" != times ] || kernels=plain

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
place=${TERN_TEST_UML:-$root/target/uml}
mkdir -p "$place/build"
place=$(cd "$place" && pwd)
build=$place/build
case $place in
/tmp/*) echo "TERN_TEST_UML: $place is in /tmp, which the kernels see empty"; exit 2 ;;
esac

skip() {
    echo "SKIP kernel module in user-mode Linux: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

for program in dpkg flex bison bc busybox; do
    command -v "$program" > /dev/null || skip "no $program"
done
[ "$(uname -m)" = x86_64 ] || skip "only built for x86-64"

# The sources, with a notifier that only drivers of hardware select.
if [ ! -d "$place/linux" ]; then
    (cd "$place" && apt-get download linux-source-6.1 > log 2>&1) || skip "no package linux-source-6.1"
    rm -rf "$place/package" && dpkg -x "$place"/linux-source-6.1_*.deb "$place/package"
    mkdir "$place/unpacked" && tar xf "$place/package/usr/src/linux-source-6.1.tar.xz" -C "$place/unpacked" --strip-components=1
    sed -i '/^config MMU_NOTIFIER/,/^$/s/^\tbool$/\tdef_bool y/' "$place/unpacked/mm/Kconfig"
    mv "$place/unpacked" "$place/linux"
    rm -rf "$place/package" "$place"/*.deb
fi

# kernel NAME DEFAULTS OPTION...: builds a kernel in target/uml/NAME, if it is not there.
kernel() {
    [ ! -f "$place/$1/built" ] || return 0
    name=$1 defaults=$2
    shift 2
    mkdir -p "$place/$name"
    make -C "$place/linux" O="$place/$name" ARCH=um SUBARCH=x86_64 "$defaults" > "$place/log" 2>&1
    (cd "$place/$name" && "$place/linux/scripts/config" "$@")
    if ! { make -C "$place/$name" ARCH=um SUBARCH=x86_64 olddefconfig && make -C "$place/$name" ARCH=um SUBARCH=x86_64 -j2; } > "$place/log" 2>&1; then
        tail -n 20 "$place/log"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
    fi
    touch "$place/$name/built"
}
common="-e HOSTFS -e MODULES -e MODULE_UNLOAD -e CROSS_MEMORY_ATTACH -e TMPFS -e SHMEM -e MEMFD_CREATE -e DEVTMPFS -e PROC_FS -e SYSFS
    -e FUTEX -e EPOLL -e EVENTFD -e MEMBARRIER -d WERROR -e BINFMT_ELF -e BINFMT_SCRIPT -e PRINTK -e MULTIUSER -e TTY -e BUG -e UNIX -e NET"
# shellcheck disable=SC2086
[ "$kernels" = plain ] || kernel checked defconfig $common -e USERFAULTFD -e KASAN -e KASAN_GENERIC -e KASAN_OUTLINE -e PROVE_LOCKING -e PROVE_RCU -e DEBUG_KERNEL \
    -e DEBUG_ATOMIC_SLEEP -e SLUB_DEBUG -e SLUB_DEBUG_ON -e DEBUG_LIST -e DEBUG_OBJECTS -e DEBUG_OBJECTS_WORK -e DEBUG_OBJECTS_RCU_HEAD \
    -e PAGE_POISONING -e DEBUG_VM -d EXT4_FS -d REISERFS_FS -d NETFILTER -d IPV6 -d SOUND -d WLAN
# shellcheck disable=SC2086
kernel plain tinyconfig $common -e 64BIT -e CC_OPTIMIZE_FOR_PERFORMANCE -d CC_OPTIMIZE_FOR_SIZE -e POSIX_TIMERS -e HIGH_RES_TIMERS \
    -e ADVISE_SYSCALLS -e KALLSYMS -e FILE_LOCKING -e BASE_FULL -e SIGNALFD -e TIMERFD -e SLUB

for name in $kernels; do
    rm -rf "$build/$name" && mkdir -p "$build/$name" && cp -r "$root"/kmod/* "$build/$name/"
    if ! make -C "$place/$name" M="$build/$name" ARCH=um SUBARCH=x86_64 modules > "$place/log" 2>&1; then
        cat "$place/log"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
    fi
done
for program in functional hostile random count; do
    cc -O1 -g -Wall -Wextra -Werror -static "$here/kmod/$program.c" -o "$build/$program-test" -pthread
done

# boot NAME: runs tests/kmod/checked.sh in that kernel; output to the file of its name.
boot() {
    TMPDIR=/dev/shm timeout 3000 "$place/$1/linux" mem=2G quiet rootfstype=hostfs rootflags=/ root=/dev/root ro con=null con0=fd:0,fd:1 \
        "init=$here/kmod/checked.sh" "TERN_PLACE=$build" "TERN_KERNEL=$1" "TERN_CALLS=${TERN_TEST_CALLS:-100000}" \
        < /dev/null 2>&1 | tr -d '\r' > "$build/$1.log" || true
    # The kernel's own lines begin with its clock or an address.
    sed -n '/^inside$/,/^end$/p' "$build/$1.log" | grep -vE '^(\[| |inside|end)' || true
    grep -q '^end' "$build/$1.log" && return 0
    echo "FAIL the kernel $1 did not come to its end"
    tail -n 30 "$build/$1.log"
    echo "0 passed, 1 failed, 0 skipped"
}
failed=0
for name in $kernels; do
    boot "$name"
    if grep -q '^FAIL' "$build/$name.log" || ! grep -q '^end' "$build/$name.log"; then failed=1; fi
done
exit "$failed"
