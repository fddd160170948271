#!/bin/sh
# Gets ready what the virtual machine boots: Debian's kernel, taken from its package without installing
# it, and an initramfs of busybox, `init` and the modules. Does nothing when they are there already.
# Usage: tests/virtual/prepare.sh DIRECTORY [KIND]     leaves DIRECTORY/vmlinuz and DIRECTORY/initramfs
#   KIND  the kernel, by the name that Debian gives its kind: amd64, arm64, arm64-16k (pages of 16 KiB) [amd64]
#         For a kernel of arm64 the machine has no files of this one, but DIRECTORY/root: Debian's C library, busybox and
#         Fortran's library for arm64, and what else somebody puts there.
#   TERN_TEST_DEBIAN  where Debian's packages for arm64 are fetched [http://deb.debian.org/debian]
# Exit code: 77, with the reason as its last line, when they cannot be had here.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?"usage: $0 DIRECTORY"}"
place=$(cd "$1" && pwd)
kind=${2:-amd64}

cannot() {
    echo "$*"
    exit 77
}

case $kind in
    amd64)
        [ "$(uname -m)" = x86_64 ] || cannot "the virtual machine is an x86_64 one"
        commands="qemu-system-x86_64:qemu-system-x86 busybox:busybox-static rdma:iproute2 ibv_devinfo:ibverbs-utils"
        ;;
    *) commands="qemu-system-aarch64:qemu-system-arm busybox:busybox xz:xz-utils" ;;
esac
for command in $commands; do
    command -v "${command%:*}" > /dev/null || [ -x "/sbin/${command%:*}" ] ||
        cannot "no ${command%:*} (Debian's package ${command#*:})"
done

# What the machine needs for its root directory, and then for a network card of RDMA.
root_modules="virtio_pci 9pnet_virtio 9p overlay"
card_modules="crc32_generic dummy rdma_rxe ib_uverbs rdma_ucm"
[ "$kind" = amd64 ] || card_modules=

# An apt of its own for packages of arm64, which this machine's knows nothing of: its lists are here, and nothing is installed.
lists_of_arm64() {
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    [ -e "$keys" ] || cannot "no $keys (Debian's package debian-archive-keyring)"
    mkdir -p "$place/apt/lists/partial" "$place/apt/cache/archives/partial"
    : > "$place/apt/status"
    for suite in "$suite" "$suite-backports"; do
        echo "deb [signed-by=$keys] ${TERN_TEST_DEBIAN:-http://deb.debian.org/debian} $suite main"
    done > "$place/apt/sources.list"
    export APT_CONFIG="$place/apt/apt.conf"
    cat > "$APT_CONFIG" << END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Dir::State "$place/apt";
Dir::State::status "$place/apt/status";
Dir::Cache "$place/apt/cache";
Dir::Etc::SourceList "$place/apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Acquire::Languages "none";
END
    timeout 300 apt-get update > "$place/apt/log" 2>&1 || cannot "Debian's lists for arm64 cannot be fetched: $(tail -n 1 "$place/apt/log")"
}

# fetch PACKAGE DIRECTORY: unpacks a package of Debian there.
fetch() {
    mkdir -p "$place/package"
    rm -f "$place/package/$1"_*.deb
    (cd "$place/package" && timeout 300 apt-get download "$1" > download.log 2>&1) ||
        cannot "$1 cannot be downloaded: $(tail -n 1 "$place/package/download.log")"
    dpkg-deb -x "$place/package/$1"_*.deb "$2"
}

fetch_kernel() {
    for tool in apt-get apt-cache dpkg-deb; do
        command -v $tool > /dev/null || cannot "no $tool, which fetches Debian's kernel"
    done
    [ "$kind" = amd64 ] || lists_of_arm64
    # linux-image-amd64 is a name for the newest.
    package=$(apt-cache depends "linux-image-$kind" 2> /dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')
    [ -n "$package" ] || cannot "Debian's package linux-image-$kind is not known here (apt-get update?)"
    fetch "$package" "$place/package/unpacked"
    [ "$kind" = amd64 ] || make_root
}

# The files of a machine of arm64.
make_root() {
    for package in libc6 libgcc-s1 libgfortran5 busybox-static; do fetch "$package" "$place/root"; done
    for directory in bin dev proc root run sbin sys tmp usr/bin usr/sbin; do mkdir -p "$place/root/$directory"; done
    for name in $("$(command -v busybox)" --list); do
        [ -e "$place/root/bin/$name" ] || ln -s busybox "$place/root/bin/$name"
    done
    echo 'root:x:0:0:root:/root:/bin/sh' > "$place/root/etc/passwd"
    printf '127.0.0.1 localhost virtual\n10.83.0.1 virtual\n' > "$place/root/etc/hosts"
}

# put MODULE: copies it into the initramfs after those that it needs, and writes the order down.
put() {
    grep -q "/$1.ko$" "$tree/$list" && return
    # A file name may have dashes where the name has underscores.
    file=$(find "$modules" -name "$(echo "$1" | sed 's/_/[_-]/g').ko" -o -name "$(echo "$1" | sed 's/_/[_-]/g').ko.xz" | head -n 1)
    [ -n "$file" ] || return 0 # built into the kernel
    case $file in
        *.xz) xz -dc "$file" > "$tree/modules/$1.ko" ;;
        *) cp "$file" "$tree/modules/$1.ko" ;;
    esac
    # shellcheck disable=SC2046
    set -- "$1" $(tr '\0' '\n' < "$tree/modules/$1.ko" | sed -n 's/^depends=//p' | tr ',' ' ')
    name=$1
    shift
    for needed; do
        (put "$needed")
    done
    grep -q "/$name.ko$" "$tree/root.list" "$tree/card.list" || echo "/modules/$name.ko" >> "$tree/$list"
}

make_initramfs() {
    modules=$place/package/unpacked/lib/modules
    tree=$place/tree
    mkdir -p "$tree/bin" "$tree/modules" "$tree/proc" "$tree/sys" "$tree/dev" "$tree/root" "$tree/layers"
    case $kind in
        amd64) cp "$(command -v busybox)" "$tree/bin/busybox" ;;
        *) cp "$place/root/bin/busybox" "$tree/bin/busybox" ;;
    esac
    cp "$here/init" "$tree/init"
    : > "$tree/root.list"
    : > "$tree/card.list"
    list=root.list
    for module in $root_modules; do put "$module"; done
    list=card.list
    for module in $card_modules; do put "$module"; done
    (cd "$tree" && find . | busybox cpio -o -H newc 2> /dev/null) | gzip -1 > "$place/initramfs.new"
}

# A kernel that unpacks itself needs six seconds for it without hardware virtualisation. Those of arm64 are not packed.
unpack_kernel() {
    packed=$(echo "$place"/package/unpacked/boot/vmlinuz-*)
    start=$(LC_ALL=C grep -abo -P '\xFD7zXZ\x00' "$packed" 2> /dev/null | head -n 1 | cut -d : -f 1)
    if [ -z "$start" ] ||
        ! tail -c "+$((start + 1))" "$packed" | xz -dc --single-stream > "$place/vmlinuz" 2> /dev/null; then
        cp "$packed" "$place/vmlinuz"
    fi
}

stamp=$(cat "$here/prepare.sh" "$here/init" | cksum)
[ "$(cat "$place/stamp" 2> /dev/null)" != "$stamp" ] || exit 0
if [ ! -d "$place/package/unpacked/lib/modules" ]; then
    rm -rf "$place/package"
    fetch_kernel
fi
rm -rf "$place/tree"
make_initramfs
unpack_kernel
mv "$place/initramfs.new" "$place/initramfs"
echo "$stamp" > "$place/stamp"
