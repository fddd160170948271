#!/bin/sh
# Runs a command in a virtual machine with Debian's kernel, which has this machine's files (what it writes
# is forgotten) and a software card of RDMA, rxe0. Prints its output; gives its exit code.
# Usage: tests/virtual/run.sh DIRECTORY SECONDS COMMAND...
#   The machine is one of arm64, with the files of DIRECTORY/root alone, where there are such.
#   DIRECTORY is what prepare.sh has filled; SECONDS is the limit, from power on to power off
#   TERN_TEST_KERNEL   options for the kernel [none]
#   TERN_TEST_QEMU     more options for QEMU [none]
#   TERN_TEST_ACCEL    tcg or kvm [kvm where the processor virtualises for this machine, else tcg]
#   TERN_TEST_CPU      the processor of a machine of arm64, as QEMU calls it [neoverse-n1]
# Exit code: that of the command; 124 after SECONDS; 125 when the machine ended without running it.
set -eu

[ $# -ge 3 ] || { echo "usage: $0 DIRECTORY SECONDS COMMAND..." >&2; exit 2; }
place=$(cd "$1" && pwd)
seconds=$2
shift 2
exchange=$(mktemp -d)
machine=
trap '[ -z "$machine" ] || kill "$machine" 2> /dev/null; rm -rf "$exchange"' EXIT
trap 'exit 130' INT TERM

# The command with each word quoted, so that the shell inside sees the same words.
for word; do
    printf "'%s' " "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")"
done > "$exchange/command"
: > "$exchange/output"

cores=$(nproc)
[ "$cores" -le 4 ] || cores=4
# With hardware virtualisation where the processor has it for this machine: a machine that is virtual itself may have a /dev/kvm without it, in which
# Debian's kernel does not come to its end. On a busy machine the kernel would take its timer for broken (no_timer_check).
accelerator=tcg
if [ -w /dev/kvm ] && { [ -d /sys/module/kvm_intel ] || [ -d /sys/module/kvm_amd ]; } && [ ! -d /sys/module/kvm_pvm ]; then
    accelerator=kvm
fi
accelerator=${TERN_TEST_ACCEL:-$accelerator}
# The time of `-icount` is that of instructions, which only the emulator counts.
case ${TERN_TEST_QEMU:-} in *-icount*) accelerator=tcg ;; esac
tree=/
machine_of_kind="qemu-system-x86_64 -machine q35 -accel $accelerator -cpu max" console="ttyS0 mitigations=off no_timer_check"
if [ -d "$place/root" ]; then
    tree=$place/root
    machine_of_kind="qemu-system-aarch64 -machine virt,gic-version=3 -accel tcg -cpu ${TERN_TEST_CPU:-neoverse-n1}" console=ttyAMA0
fi
# shellcheck disable=SC2086
timeout --kill-after=5 "$seconds" $machine_of_kind \
    -smp "$cores" -m 3G -nodefaults -no-user-config -no-reboot -display none \
    -kernel "$place/vmlinuz" -initrd "$place/initramfs" -append "console=$console quiet panic=-1 ${TERN_TEST_KERNEL:-}" \
    -serial "file:$exchange/console" \
    -virtfs "local,path=$tree,mount_tag=host,security_model=none,readonly=on,multidevs=remap" \
    -virtfs "local,path=$exchange,mount_tag=exchange,security_model=none" ${TERN_TEST_QEMU:-} \
    < /dev/null > "$exchange/qemu" 2>&1 &
machine=$!
tail -f -s 0.2 -n +1 --pid="$machine" "$exchange/output" 2> /dev/null || true
code=0
wait "$machine" || code=$?
machine=
if [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then
    echo "virtual: not at its end after $seconds s"
    tail -n 5 "$exchange/console"
    exit 124
fi
if [ ! -s "$exchange/code" ]; then
    echo "virtual: the machine ended (qemu: $code) without running the command"
    tail -n 5 "$exchange/qemu" "$exchange/console"
    exit 125
fi
exit "$(cat "$exchange/code")"
