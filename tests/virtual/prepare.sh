#!/bin/sh
# Gets ready what the virtual machine boots: Debian's kernel, taken from its package without installing
# it, and an initramfs of busybox, `init` and the modules. Does nothing when they are there already.
# Usage: tests/virtual/prepare.sh DIRECTORY     leaves DIRECTORY/vmlinuz and DIRECTORY/initramfs
# Exit code: 77, with the reason as its last line, when they cannot be had here.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?"usage: $0 DIRECTORY"}"
place=$(cd "$1" && pwd)

cannot() {
    echo "$*"
    exit 77
}

[ "$(uname -m)" = x86_64 ] || cannot "the virtual machine is an x86_64 one"
for command in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static rdma:iproute2 ibv_devinfo:ibverbs-utils; do
    command -v "${command%:*}" > /dev/null || [ -x "/sbin/${command%:*}" ] ||
        cannot "no ${command%:*} (Debian's package ${command#*:})"
done

# What the machine needs for its root directory, and then for a network card of RDMA.
root_modules="virtio_pci 9pnet_virtio 9p overlay"
card_modules="crc32_generic dummy rdma_rxe ib_uverbs rdma_ucm"

fetch_kernel() {
    for tool in apt-get apt-cache dpkg-deb; do
        command -v $tool > /dev/null || cannot "no $tool, which fetches Debian's kernel"
    done
    # linux-image-amd64 is a name for the newest.
    package=$(apt-cache depends linux-image-amd64 2> /dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')
    [ -n "$package" ] || cannot "Debian's package linux-image-amd64 is not known here (apt-get update?)"
    mkdir -p "$place/package"
    (cd "$place/package" && timeout 300 apt-get download "$package" > download.log 2>&1) ||
        cannot "$package cannot be downloaded: $(tail -n 1 "$place/package/download.log")"
    dpkg-deb -x "$place/package/$package"_*.deb "$place/package/unpacked"
}

# put MODULE: copies it into the initramfs after those that it needs, and writes the order down.
put() {
    grep -q "/$1.ko$" "$tree/$list" && return
    # A file name may have dashes where the name has underscores.
    file=$(find "$modules" -name "$(echo "$1" | sed 's/_/[_-]/g').ko" | head -n 1)
    [ -n "$file" ] || return 0 # built into the kernel
    # shellcheck disable=SC2046
    set -- "$1" "$file" $(tr '\0' '\n' < "$file" | sed -n 's/^depends=//p' | tr ',' ' ')
    name=$1 source=$2
    shift 2
    for needed; do
        (put "$needed")
    done
    cp "$source" "$tree/modules/$name.ko"
    grep -q "/$name.ko$" "$tree/root.list" "$tree/card.list" || echo "/modules/$name.ko" >> "$tree/$list"
}

make_initramfs() {
    modules=$place/package/unpacked/lib/modules
    tree=$place/tree
    mkdir -p "$tree/bin" "$tree/modules" "$tree/proc" "$tree/sys" "$tree/dev" "$tree/root" "$tree/layers"
    cp "$(command -v busybox)" "$tree/bin/busybox"
    cp "$here/init" "$tree/init"
    : > "$tree/root.list"
    : > "$tree/card.list"
    list=root.list
    for module in $root_modules; do put "$module"; done
    list=card.list
    for module in $card_modules; do put "$module"; done
    (cd "$tree" && find . | busybox cpio -o -H newc 2> /dev/null) | gzip -1 > "$place/initramfs.new"
}

# A kernel that unpacks itself needs six seconds for it without hardware virtualisation.
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
