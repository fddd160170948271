#!/bin/sh
# The compiler wrappers, the pkg-config file, and installing into another place.
# Usage: tests/wrappers-test.sh PREFIX
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM
cd "$place"
unset CC CXX TERN_CC TERN_CXX MPICH_CC MPICH_CXX OMPI_CC OMPI_CXX
failed=0

# expect WHAT PATTERN COMMAND...: the output of the command matches the whole-line pattern.
expect() {
    what=$1 pattern=$2
    shift 2
    said=$("$@" 2>&1) || true
    if printf '%s\n' "$said" | grep -qx -e "$pattern"; then
        echo "ok   $what"
    else
        failed=1
        echo "FAIL $what: $* said: $said"
    fi
}

cat > c.c <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int major, minor;
    MPI_Init(&argc, &argv);
    MPI_Abi_get_version(&major, &minor);
    printf("C %d.%d\n", major, minor);
    return MPI_Finalize();
}
C
cat > cxx.cc <<'C'
#include <mpi.h>
#include <iostream>
#include <vector>
int main(int argc, char **argv)
{
    std::vector<int> all(1);
    MPI_Init(&argc, &argv);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 1, MPI_INT, MPI_COMM_SELF);
    std::cout << "C++ " << all.size() << std::endl;
    return MPI_Finalize();
}
C

for name in mpicc mpicc_abi; do
    expect "$name compiles and links" "" "$prefix/bin/$name" c.c -o c
    expect "what $name made runs" "C 1.0" ./c
done
for name in mpicxx mpic++ mpicxx_abi mpiCC; do
    expect "$name compiles and links" "" "$prefix/bin/$name" cxx.cc -o cxx
    expect "what $name made runs" "C++ 1" ./cxx
done
# Programs ask this way whether memory of graphics cards may be sent.
cat > ext.c <<'C'
#include <mpi.h>
#include <mpi-ext.h>
int main(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT) && !MPIX_CUDA_AWARE_SUPPORT
    return MPIX_Query_cuda_support() + MPIX_Query_rocm_support();
#else
    return 1;
#endif
}
C
cp ext.c ext.cc
expect "mpi-ext.h in C" "" "$prefix/bin/mpicc" -Wall -Wextra -Werror ext.c -o ext
expect "mpi-ext.h in C++" "" "$prefix/bin/mpicxx" -Wall -Wextra -Werror ext.cc -o extcc
expect "no memory of graphics cards" "no" sh -c './ext && ./extcc && echo no'
# Those who declare the names by themselves link with the library.
cat > own.c <<'C'
extern int MPIX_Query_cuda_support(void), MPIX_Query_rocm_support(void), MPIX_GPU_query_support(int, int *);
int main(void)
{
    int supported = 1;
    MPIX_GPU_query_support(0, &supported);
    return supported + MPIX_Query_cuda_support() + MPIX_Query_rocm_support();
}
C
grep -v mpi-ext.h ext.c | sed 's/^#if.*/#if MPIX_GPU_SUPPORT_CUDA == 0/' > alone.c
cp alone.c alone.cc
expect "the same names in mpi.h alone, in C" "" "$prefix/bin/mpicc" -Wall -Wextra -Werror alone.c -o alone
expect "and in C++" "" "$prefix/bin/mpicxx" -Wall -Wextra -Werror alone.cc -o alonecc
expect "and in the library" "" "$prefix/bin/mpicc" -Wall -Wextra -Werror own.c -o own
expect "where the answer is no too" "no" sh -c './alone && ./alonecc && ./own && echo no'
# The handles of the tool interface are pointers to the structures that the Forum's erratum 1001 names.
for name in enum cvar_handle pvar_handle pvar_session event_registration event_instance; do
    echo "MPI_T_$name as_$name(struct MPI_ABI_T_$name *own) { return own; }"
done | sed '1i #include <mpi.h>' > tool.c
expect "the handles of the tool interface have their types" "" "$prefix/bin/mpicc" -Wall -Wextra -Werror -c tool.c
expect "-c does not link" "" "$prefix/bin/mpicc" -c c.c -o c.o
expect "objects are linked" "" "$prefix/bin/mpicc" c.o -o c2
expect "what was linked runs" "C 1.0" ./c2
expect "-E only preprocesses" ".*MPI_Init(&argc, &argv);.*" "$prefix/bin/mpicc" -E c.c
expect "--version asks the compiler" "cc .*" "$prefix/bin/mpicc" --version
expect "-show when linking" "cc -I$prefix/include c.c -L$prefix/lib .*-lmpi_abi" "$prefix/bin/mpicc" -show c.c
expect "-show when compiling" "cc -I$prefix/include -c c.c" "$prefix/bin/mpicc" -show -c c.c
expect "TERN_CC" "gcc -O1 -I.* c.c -L.*" env TERN_CC="gcc -O1" "$prefix/bin/mpicc" -show c.c
expect "CC" "gcc -I.* c.c -L.*" env CC=gcc "$prefix/bin/mpicc" -show c.c
expect "CC that is a wrapper" "cc -I.* c.c -L.*" env CC="$prefix/bin/mpicc" "$prefix/bin/mpicc" -show c.c
expect "MPICH_CC" "gcc -O2 -I.* c.c -L.*" env MPICH_CC="gcc -O2" CC=clang "$prefix/bin/mpicc" -show c.c
expect "OMPI_CC" "gcc -I.* c.c -L.*" env OMPI_CC=gcc CC=clang "$prefix/bin/mpicc" -show c.c
expect "OMPI_CXX" "g++ -I.* c.c -L.*" env OMPI_CXX=g++ OMPI_CC=gcc "$prefix/bin/mpicxx" -show c.c
expect "TERN_CC comes before the others'" "gcc -I.* c.c -L.*" env TERN_CC=gcc MPICH_CC=clang OMPI_CC=icx "$prefix/bin/mpicc" -show c.c
expect "MPICH_CC that is a wrapper" "cc -I.* c.c -L.*" env MPICH_CC="mpicc -O1" "$prefix/bin/mpicc" -show c.c
expect "-show without files" "cc -I$prefix/include -L$prefix/lib .*-lmpi_abi" "$prefix/bin/mpicc" -show
expect "-show without files, when compiling" "cc -I$prefix/include -c" "$prefix/bin/mpicc" -show -c
for dash in - _; do
    expect "-compile${dash}info" "cc -I$prefix/include" "$prefix/bin/mpicc" -compile${dash}info
    expect "-link${dash}info" "cc -L$prefix/lib .*-lmpi_abi" "$prefix/bin/mpicc" -link${dash}info
done
for option in -showme:compile --showme:compile -show-compile-info; do
    expect "$option" "-I$prefix/include" "$prefix/bin/mpicc" $option
done
for option in -showme:link --showme:link -show-link-info; do
    expect "$option" "-L$prefix/lib .*-lmpi_abi" "$prefix/bin/mpicc" $option
done
expect "--help" " *-show .*" "$prefix/bin/mpicc" --help
expect "--help has the name of the wrapper" " *mpicxx \[options of the wrapper\].*" "$prefix/bin/mpicxx" --help
expect "--showme:help" " *--showme:link .*" "$prefix/bin/mpicc" --showme:help
expect "-showme:command" "cc" "$prefix/bin/mpicc" -showme:command
expect "-showme:incdirs" "$prefix/include" "$prefix/bin/mpicc" -showme:incdirs
expect "-showme:libdirs" "$prefix/lib" "$prefix/bin/mpicc" --showme:libdirs
expect "-showme:libs" "mpi_abi" "$prefix/bin/mpicc" -showme:libs
expect "-showme:version" "mpicc (Tern) .*" "$prefix/bin/mpicc" -showme:version
expect "-cc=" "gcc -I.* c.c -L.*" "$prefix/bin/mpicc" -cc=gcc -show c.c
expect "-cc= that is a wrapper" "mpicc: -cc=mpicxx: .*" "$prefix/bin/mpicc" -cc=mpicxx c.c
expect "words with blanks and quotes are shown quoted" "cc -I.* -c 'a b.c' '-DX=\"it'.''s\"'" \
    "$prefix/bin/mpicc" -show -c 'a b.c' "-DX=\"it's\""
expect "through a symbolic link" "cc -I$prefix/include -c c.c" sh -c "ln -s $prefix/bin/mpicc mpicc; ./mpicc -show -c c.c"
expect "LD_LIBRARY_PATH goes first (RUNPATH)" ".*RUNPATH.*$prefix/lib.*" readelf -d c

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
for name in tern mpi_abi ompi-c ompi-cxx; do
    # shellcheck disable=SC2046
    expect "pkg-config $name" "" cc c.c -o c3 $(pkg-config --cflags --libs $name)
    expect "what pkg-config $name made runs" "C 1.0" ./c3
done

# Meson, which asks pkg-config for Open MPI's name first: here that is a library that is not Tern's, as with Debian's package for development.
mkdir foreign
printf 'Name: ompi-c\nDescription: none\nVersion: 4.1.4\nLibs: -L/nonexistent -lmpi_of_another\n' > foreign/ompi-c.pc
printf "project('c', 'c')\nexecutable('c', 'c.c', dependencies: dependency('mpi', language: 'c'))\n" > meson.build
# by_meson VERSION VARIABLE=VALUE...: the program, built by that version of PyPI's Meson with these variables and Tern's wrappers first in PATH.
by_meson() {
    version=$1
    shift
    rm -rf built-by-meson
    env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR="$place/foreign" PATH="$prefix/bin:$place/meson-$version/bin:$PATH" \
        PYTHONPATH="$place/meson-$version" "$@" sh -c 'meson setup built-by-meson && meson compile -C built-by-meson' && ./built-by-meson/c
}
for version in 1.0.1 1.12.0; do
    if ! timeout 200 python3 -m pip install -q --no-input --target "meson-$version" "meson==$version" ninja > pip.log 2>&1; then
        echo "SKIP Meson $version: $(tail -n 1 pip.log)"
        continue
    fi
    expect "Meson $version takes Tern by PKG_CONFIG_PATH" "C 1.0" by_meson $version PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
    case $version in 1.12*) expect "Meson $version takes it by PATH alone" "C 1.0" by_meson $version ;; esac
done

# What the pages name beside them is there: pictures too.
lost() {
    for page in README.md SECURITY.md docs/benchmarks/README.md docs/papers/knem.md; do
        grep -o '](\([^)#: ]*\)' "$prefix/share/doc/tern/$page" | cut -c 3- | grep -v '^$' | sort -u | while read -r link; do
            [ -e "$prefix/share/doc/tern/$(dirname "$page")/$link" ] || echo "$page: $link"
        done
    done
    echo "that is all"
}
expect "what installed pages show and link is installed" "that is all" sh -c 'test "$1" = "that is all" && echo "$1" || echo "lost: $1"' - "$(lost)"

# An installation that is moved afterwards, as packages are.
mkdir built
cp "$prefix/lib/libmpi_abi.so.1" built/libmpi_abi.so
cp "$prefix/bin/mpiexec" built/mpiexec
expect "installing with DESTDIR" "" "$root/scripts/install.sh" built /opt/tern "$place/dest"
mv dest/opt/tern moved
expect "a moved installation compiles" "" moved/bin/mpicc c.c -o c4
expect "what it made runs" "C 1.0" ./c4

# Folders have any name.
odd="$place/it's \"odd\", \$HOME * here"
mv moved "$odd"
expect "a prefix with blanks and quotes compiles" "" "$odd/bin/mpicc" c.c -o c5
expect "what it made runs" "C 1.0" ./c5
shown=$("$odd/bin/mpicc" -show c.c -o c6)
expect "what -show prints is a command for the shell" "" sh -c "$shown"
expect "what that command made runs" "C 1.0" ./c6
expect "-showme:incdirs is a word for the shell" ".*/it's .odd., .HOME . here/include" sh -c "printf '%s\n' $("$odd/bin/mpicc" -showme:incdirs)"
exit $failed
