#!/bin/sh
# Manual pages, completion, and the Debian package: installed, used and removed in a copy of this system that is gone
# afterwards.
# Usage: tests/package-test.sh PREFIX
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$root/tests/common.sh"
make_place

# check WHAT COMMAND...: the command ends well.
check() {
    what=$1
    shift
    if said=$("$@" 2>&1); then ok "$what"; else fail "$what: $said"; fi
}

# Pages and completion.
pages_are_clean() {
    said=$(groff -ww -man -Tutf8 -z "$prefix"/share/man/man?/* 2>&1) || return 1
    [ -z "$said" ] || { printf '%s\n' "$said" | head -n 5; return 1; }
}
# Every function that the library exports has a page.
pages_are_complete() {
    nm -D --defined-only "$prefix/lib/libmpi_abi.so.1" | sed -n 's/.* T \(MPI_[A-Za-z0-9_]*\)$/\1/p' > "$place/functions"
    [ "$(wc -l < "$place/functions")" -gt 600 ] || { echo "the library has few functions"; return 1; }
    while read -r name; do
        # Names that MPI-3.0 removed: the header has them by their successors, and old programs find them in the library.
        ! grep -q "^static __inline int $name(" "$prefix/include/mpi.h" || continue
        [ -e "$prefix/share/man/man3/$name.3" ] || { echo "no page of $name"; return 1; }
    done < "$place/functions"
    for program in "$prefix"/bin/*; do
        [ -e "$prefix/share/man/man1/${program##*/}.1" ] || { echo "no page of $program"; return 1; }
    done
}
cat > "$place/complete" << 'BASH'
compopt() { :; }
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_mpiexec
echo "${COMPREPLY[*]}"
BASH
completes() {
    want=$1
    shift
    said=$(bash "$place/complete" "$prefix/share/bash-completion/completions/mpiexec" "$@")
    [ "$said" = "$want" ] || { echo "$*: $said"; return 1; }
}
if command -v groff > /dev/null; then check "pages have no warning" pages_are_clean; else skip "pages: no groff here"; fi
check "each function and each program has a page" pages_are_complete
if command -v bash > /dev/null; then
    check "options are completed" completes "--no-library-path" mpiexec --no-l
    check "values are completed" completes "core none" mpiexec --bind-to ""
    check "options behind values are completed" completes "--verbose --version" mpiexec -n 4 -x A --ver
    check "arguments of the program are its own" completes "" mpiexec -n 4 true --ver
    check "the next program has options again" completes "--verbose --version" mpiexec true -x : -n 1 --ver
else
    skip "completion: no bash here"
fi

# What is done with the package, as root of a system of its own; each line of output is `ok` or `FAIL`.
cat > "$place/inside" << 'SH'
package=$1 program=$2
check() {
    what=$1
    shift
    if said=$("$@" 2>&1); then echo "ok   $what"; else echo "FAIL $what: $*: $said"; fi
}
same() { [ "$1" = "$2" ] || { echo "$1 is not $2"; return 1; }; }
has() {
    text=$1
    shift
    "$@" > /tmp/said 2>&1 || { cat /tmp/said; return 1; }
    grep -q -e "$text" /tmp/said || { cat /tmp/said; return 1; }
}
# Pages are found without the index, which takes long to make.
rm -f /var/lib/man-db/auto-update
before=$(readlink -e /usr/bin/mpiexec || true)
check "the package is installed" dpkg --force-depends -i "$package"
home=$(dirname "$(dirname "$(readlink -f /usr/bin/mpiexec.tern)")")
dpkg -L tern-mpi > /tmp/files
check "its files are whole" same "$(dpkg -V tern-mpi)" ""
check "mpiexec is there by its own name" has 'Tern' mpiexec.tern --version
if [ -n "$before" ]; then
    check "what mpiexec was before it still is" same "$(readlink -f /usr/bin/mpiexec)" "$before"
else
    check "mpiexec is Tern's where there is no other" has 'Tern' mpiexec --version
fi
if command -v cc > /dev/null; then
    check "mpicc compiles" mpicc.tern "$program" -o /tmp/program
    check "a program runs" has 'rank 1 of 2' mpiexec.tern -n 2 /tmp/program
fi
if command -v gfortran > /dev/null; then
    check "mpifort builds its modules" has 'built MPI' mpifort.tern --showme:compile
    check "they are in the package's folder" has 'mpi_f08.mod' find "$home/lib/tern/mod" -name '*.mod'
fi
check "all of mpicc can be chosen" update-alternatives --set mpi /usr/bin/mpicc.tern
check "all of mpirun can be chosen" update-alternatives --set mpirun /usr/bin/mpirun.tern
check "mpicc is Tern's then" has "$home/include" mpicc -show
check "mpicxx too, and knows its name" has "c++.*$home/include" mpicxx -show
check "mpirun too" has 'Tern' mpirun --version
check "mpirun is completed by its own name" has 'complete -F.* mpirun' cat /usr/share/bash-completion/completions/mpirun
check "the pages of the documentation are there" has 'TERN_STALL' cat /usr/share/doc/tern-mpi/docs/debugging.md
check "the pictures of the documentation are there" has '<svg' cat /usr/share/doc/tern-mpi/docs/benchmarks/plots/latency.svg
# Except those into the sources.
links() {
    (cd /usr/share/doc/tern-mpi && grep -ro --include='*.md' ']([^)#: ]*[)#]' . | grep -v '(\(\.\./\)*\(crates\|tests\)/' |
        sed 's/^\([^:]*\):](\([^)#]*\).*/\1 \2/' | while read -r page link; do
        [ -e "${page%/*}/$link" ] || echo "$page: $link"
    done)
}
check "its links lead somewhere" same "$(links)" ""
check "the changelog tells what this version has" has '^  \* .*libmpi.so.12' zcat /usr/share/doc/tern-mpi/changelog.gz
if command -v dpkg-parsechangelog > /dev/null; then
    zcat /usr/share/doc/tern-mpi/changelog.gz > /tmp/changelog
    check "Debian's tools read it" has "^Version: $(dpkg-query -W -f '${Version}' tern-mpi)" dpkg-parsechangelog -l /tmp/changelog
fi
check "no library is in the loader's folders" same "$(ldconfig -p | grep "$home")" ""
if command -v man > /dev/null; then
    check "a function has a page" has 'MPI_Send.3tern' man -w 3tern MPI_Send
    check "a large-count form has one" has 'large\|any size' man 3tern MPI_Send_c
    check "a program has a page" has 'starts the processes' man mpiexec.tern
fi
if command -v pkg-config > /dev/null; then
    for name in tern mpi_abi tern_region; do
        check "pkg-config finds $name" has "$home/include" pkg-config --cflags $name
    done
    if [ -e "$home/lib/libmpifort_abi.so" ]; then check "and Fortran's library" has "lmpifort_abi.*lmpi_abi" pkg-config --libs mpifort_abi; fi
fi
# Module files, of environment-modules and of Lmod. Debian lets one of the two be there: the other is installed in its place, in this copy.
loads() {
    said=$(bash -c ". $1"' > /dev/null 2>&1
        unset MPI_HOME; module use "$0/share/modulefiles" && module load tern && command -v mpicc && echo "$MPI_HOME" &&
            echo "$PKG_CONFIG_PATH" | tr : "\n" | grep "^$0/" && module unload tern && echo "after: ${MPI_HOME-unset}"' "$home" 2>&1) ||
        { printf '%s\n' "$said"; return 1; }
    same "$said" "$home/bin/mpicc
$home
$home/lib/pkgconfig
after: unset"
}
for module in environment-modules:/usr/share/modules/init/bash lmod:/usr/share/lmod/lmod/init/bash; do
    name=${module%%:*} init=${module#*:}
    if [ ! -e "$init" ] && ! { DEBIAN_FRONTEND=noninteractive timeout 200 apt-get install -y --no-install-recommends $name; } > /tmp/said 2>&1; then
        echo "SKIP the module file: no $name here, and it cannot be installed: $(tail -n 1 /tmp/said)"
    else
        check "$name loads and unloads the module file" loads "$init"
    fi
done
check "the package is removed" dpkg --force-depends -r tern-mpi
check "nothing of it is left" same "$(grep -v '/\.$' /tmp/files | while read -r file; do
    [ -d "$file" ] || [ ! -e "$file" ] || echo "$file"
done)$(find /usr -path '*/tern*' 2> /dev/null | grep -e "^$home" -e '\.tern')" ""
check "mpiexec is what it was" same "$(update-alternatives --auto mpi > /dev/null 2>&1
    update-alternatives --auto mpirun > /dev/null 2>&1
    readlink -e /usr/bin/mpiexec)" "$before"
SH
cat > "$place/first.c" << 'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d\n", rank, size);
    return MPI_Finalize();
}
C
# A system whose changes are in memory.
cat > "$place/copy" << 'SH'
set -e
place=$1
mkdir -p "$place/memory"
mount -t tmpfs tmpfs "$place/memory"
mkdir "$place/memory/upper" "$place/memory/work" "$place/memory/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$place/memory/upper,workdir=$place/memory/work" "$place/memory/root"
cd "$place/memory/root"
mount --rbind /proc proc
mount --rbind /dev dev
mount -t tmpfs tmpfs tmp
shift
[ "$#" -gt 0 ] || exit 0
cp "$@" tmp/
exec chroot . /bin/sh /tmp/inside "/tmp/${3##*/}" /tmp/first.c
SH
alone="unshare -m"
[ "$(id -u)" = 0 ] || alone="unshare -rm"
if ! command -v dpkg-deb > /dev/null; then
    skip "the package: no dpkg-deb here"
elif ! archive=$("$root/scripts/deb.sh" "$prefix" "$place" 2> "$place/why"); then
    fail "the package is made: $(cat "$place/why")"
else
    ok "the package is made"
    unpacked=$place/unpacked
    dpkg-deb -x "$archive" "$unpacked"
    # Wherever it lies, it finds its own parts.
    check "it runs from any place" "$unpacked/usr/bin/mpiexec.tern" -n 2 "$unpacked/usr/bin/tern-info" version
    if $alone sh "$place/copy" "$place" > "$place/why" 2>&1; then
        $alone sh "$place/copy" "$place" "$place/inside" "$place/first.c" "$archive" > "$place/said" 2>&1 ||
            echo "FAIL the copy of the system ended with $?" >> "$place/said"
        cat "$place/said"
        passed=$((passed + $(grep -c '^ok' "$place/said" || true)))
        failed=$((failed + $(grep -c '^FAIL' "$place/said" || true)))
        skipped=$((skipped + $(grep -c '^SKIP' "$place/said" || true)))
    else
        skip "installing the package: no copy of this system can be had: $(tail -n 1 "$place/why")"
    fi
fi

sums
