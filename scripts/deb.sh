#!/bin/sh
# Packs an installed Tern into a Debian package, which may stand beside those of other MPI libraries.
# Usage: scripts/deb.sh PREFIX OUT
#   PREFIX  what scripts/install.sh has installed
#   OUT     folder for tern-mpi_VERSION_ARCH.deb; its path is printed
# Everything is under /usr/lib/TRIPLET/tern; programs are /usr/bin/NAME.tern, and NAME by update-alternatives if nothing
# else has it. No library gets into the loader's own folders.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX OUT"}" && pwd)
out=${2:?"usage: $0 PREFIX OUT"}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
# Of what is installed: the architecture that its programs say, as Debian calls it.
machine=$("$root/scripts/machine.sh" "$prefix/bin/mpiexec")
case $machine in
    x86_64) arch=amd64 ;;
    aarch64) arch=arm64 ;;
    *) arch=$machine ;;
esac
triplet=$machine-linux-gnu
home=/usr/lib/$triplet/tern

mkdir -p "$out"
out=$(cd "$out" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
trap 'exit 130' INT TERM
chmod 755 "$stage"
umask 022

mkdir -p "$stage$home" "$stage/usr/bin" "$stage/usr/share/doc/tern-mpi" "$stage/usr/share/man/man1" \
    "$stage/usr/share/man/man3" "$stage/usr/share/bash-completion/completions" "$stage/usr/lib/$triplet/pkgconfig" \
    "$stage/DEBIAN"
cp -a "$prefix/bin" "$prefix/lib" "$prefix/include" "$stage$home/"
mkdir "$stage$home/share"
for folder in tern modulefiles; do
    [ ! -d "$prefix/share/$folder" ] || cp -a "$prefix/share/$folder" "$stage$home/share/"
done
# Those that mpifort has built there fit the compiler of this machine, and are no part of the package.
rm -rf "$stage$home/lib/tern/mod"
mkdir -p "$stage$home/lib/tern/mod"
# It compares libraries, for those who develop Tern.
rm -f "$stage$home/bin/tern-bench"
find "$stage$home/bin" "$stage$home/lib" -type f | while read -r file; do
    if [ "$(head -c 4 "$file" | tail -c 3)" = ELF ]; then
        "$root/scripts/strip.sh" "$file" "$file"
    fi
done
chmod 644 "$stage$home"/lib/*.so.*

# Programs. Those that only Tern has keep their names.
programs= wrappers= own=
for path in "$stage$home"/bin/*; do
    name=${path##*/}
    case $name in
        tern-*) own="$own $name"; ln -s "..${home#/usr}/bin/$name" "$stage/usr/bin/$name"; continue ;;
        mpiexec | mpirun) programs="$programs $name" ;;
        *_abi) ;;
        *) wrappers="$wrappers $name" ;;
    esac
    ln -s "..${home#/usr}/bin/$name" "$stage/usr/bin/$name.tern"
done

# Manual pages: NAME.tern in section 1, section 3tern for functions. What was a link stays one.
for path in "$prefix"/share/man/man[13]/*; do
    name=${path##*/}
    case $name in
        tern-bench.1) continue ;;
        tern-*.1) to=man1/$name ;;
        *.1) to=man1/${name%.1}.tern.1 ;;
        *) to=man3/${name%.3}.3tern ;;
    esac
    if [ -L "$path" ]; then
        same=$(readlink "$path")
        case $to in
            man1/*) ln -s "${same%.1}.tern.1.gz" "$stage/usr/share/man/$to.gz" ;;
            *) ln -s "${same%.3}.3tern.gz" "$stage/usr/share/man/$to.gz" ;;
        esac
    else
        sed '1s/^\.TH \([^ ]*\) 3 /.TH \1 3tern /' "$path" > "$stage/usr/share/man/$to"
    fi
done
find "$stage/usr/share/man" -type f -exec gzip -9n {} +
for name in mpiexec mpirun; do
    sed "s/_$name\\b/_${name}_tern/; s/^complete.*/& $name.tern/; s/\`$name/\`$name.tern/" \
        "$prefix/share/bash-completion/completions/$name" |
        sed "s/^\\(complete -F [a-z_]*\\) $name $name.tern/\\1 $name.tern/" \
            > "$stage/usr/share/bash-completion/completions/$name.tern"
done
# By the names of the alternatives, for as long as these are Tern's.
mkdir -p "$stage$home/share/bash-completion"
cp -a "$prefix/share/bash-completion/completions" "$stage$home/share/bash-completion/"
# The files tell their place by themselves; here they stand elsewhere.
for name in tern tern_region mpi_abi mpifort_abi; do
    [ -e "$prefix/lib/pkgconfig/$name.pc" ] || continue
    sed "s|^prefix=.*|prefix=$home|" "$prefix/lib/pkgconfig/$name.pc" > "$stage/usr/lib/$triplet/pkgconfig/$name.pc"
done

# The kernel module's sources, where DKMS looks for them. Nothing is built unless somebody asks: dkms install tern/1.
mkdir -p "$stage/usr/src/tern-1/include/uapi"
(cd "$root/kmod" && install -m 644 Kbuild Makefile dkms.conf 60-tern.rules tern.conf ./*.c ./*.h "$stage/usr/src/tern-1/")
install -m 644 "$root/kmod/include/uapi/tern_ioctl.h" "$stage/usr/src/tern-1/include/uapi/"

doc=$stage/usr/share/doc/tern-mpi
cp "$root/README.md" "$root/SECURITY.md" "$root/CONTRIBUTING.md" "$root/LICENSE-APACHE" "$root/LICENSE-MIT" "$doc/"
cp -a "$prefix/share/doc/tern/docs" "$prefix/share/doc/tern/demo" "$doc/"
gzip -9n < "$root/CHANGELOG.md" > "$doc/NEWS.gz"
mkdir "$doc/examples"
install -m 644 "$prefix/share/doc/tern/region-example.c" "$doc/examples/"
cat > "$doc/copyright" << TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Tern

Files: *
Copyright: the authors of Tern
License: Apache-2.0 or Expat

License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.

License: Expat
$(sed 's/^$/./; s/^/ /' "$root/LICENSE-MIT")
TEXT
# What the changelog says of this version, in Debian's form: an entry for each `-`, and the text without links.
entries=$(sed -n "/^## $version /,/^## /{/^## /d;p}" "$root/CHANGELOG.md" |
    sed -E '/^$/d; s/\[([^]]*)\]\([^)]*\)/\1/g; s/^- /  * /; t; s/^  /    /; t; s/^/  /')
released=$(sed -n "s/^## $version (\(.*\))\$/\1/p" "$root/CHANGELOG.md")
if [ -z "$entries" ] || [ -z "$released" ]; then
    echo "deb.sh: CHANGELOG.md has no entry '## $version (DATE)'" >&2
    exit 1
fi
printf 'tern-mpi (%s) unstable; urgency=medium\n\n%s\n\n -- The authors of Tern <tern@localhost>  %s\n' \
    "$version" "$entries" "$(date -R -u -d "$released")" | gzip -9n > "$doc/changelog.gz"

# The newest version of the C library that anything asks for.
libc=$(find "$stage$home/bin" "$stage$home/lib" -type f -exec grep -aoh 'GLIBC_2\.[0-9]*' {} + | sort -u -t. -k2,2n | tail -n 1)
cat > "$stage/DEBIAN/control" << TEXT
Package: tern-mpi
Version: $version
Architecture: $arch
Maintainer: The authors of Tern <tern@localhost>
Installed-Size: $(du -sk "$stage/usr" | cut -f 1)
Depends: libc6 (>= ${libc#GLIBC_}), libgcc-s1
Suggests: gcc, gfortran, dkms
Section: libs
Priority: optional
Description: MPI library with the MPI 5.0 standard ABI
 Tern runs programs of the Message Passing Interface: those compiled for the
 standard ABI of MPI 5.0, and those built for MPICH or Open MPI. It comes with
 mpiexec, compiler wrappers and tools, and may stand beside other MPI libraries.
TEXT

# alternatives MASTER NAMES...: how one of the groups that Debian's MPI packages share is set up. A program that is
# wanted by another name there, and its page, follow the first.
alternatives() {
    group=$1 link=$2
    shift 2
    printf 'update-alternatives --install /usr/bin/%s %s /usr/bin/%s.tern 30' "$link" "$group" "$link"
    page "$link"
    for name in "$@"; do
        [ "$name" != "$link" ] || continue
        printf ' \\\n    --slave /usr/bin/%s %s /usr/bin/%s.tern' "$name" "$name" "$name"
        page "$name"
    done
    echo
}
# The page and the completion of a program.
page() {
    if [ -e "$stage$home/share/bash-completion/completions/$1" ]; then
        printf ' \\\n    --slave /usr/share/bash-completion/completions/%s %s.completion %s' "$1" "$1" "$home/share/bash-completion/completions/$1"
    fi
    [ -e "$stage/usr/share/man/man1/$1.tern.1.gz" ] || return 0
    printf ' \\\n    --slave /usr/share/man/man1/%s.1.gz %s.1.gz /usr/share/man/man1/%s.tern.1.gz' "$1" "$1" "$1"
}
{
    printf '#!/bin/sh\nset -e\nif [ "$1" = configure ]; then\n'
    # shellcheck disable=SC2086
    alternatives mpi mpicc $wrappers
    # shellcheck disable=SC2086
    alternatives mpirun mpirun $programs
    printf 'fi\n'
} > "$stage/DEBIAN/postinst"
cat > "$stage/DEBIAN/prerm" << TEXT
#!/bin/sh
set -e
if [ "\$1" = remove ] || [ "\$1" = deconfigure ]; then
    update-alternatives --remove mpi /usr/bin/mpicc.tern
    update-alternatives --remove mpirun /usr/bin/mpirun.tern
fi
if [ "\$1" = remove ]; then
    # What was made by these files after they were installed: modules of Fortran, and the kernel module.
    find $home/lib/tern/mod -mindepth 1 -delete
    if command -v dkms > /dev/null && [ -n "\$(dkms status tern/1 2> /dev/null)" ]; then
        dkms remove tern/1 --all
    fi
fi
TEXT
chmod 755 "$stage/DEBIAN/postinst" "$stage/DEBIAN/prerm"
(cd "$stage" && find usr -type f -exec md5sum {} +) > "$stage/DEBIAN/md5sums"

archive=$out/tern-mpi_${version}_$arch.deb
dpkg-deb --root-owner-group --build "$stage" "$archive" > /dev/null
echo "$archive"
