#!/bin/sh
# The region crate as a C library: libtern_region.so as it is installed, by a program of several processes and by the example.
# Usage: tests/region-library-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place

# expect WHAT COMMAND...
expect() {
    what=$1
    shift
    if timeout 60 "$@" > "$place/said" 2>&1; then
        ok "$what"
    else
        fail "$what"
        tail -n 15 "$place/said"
    fi
}

cat > "$place/plain.cc" << 'C'
#include <tern_region.h>
int main() { return tern_region_text(0) == 0; }
C
expect "the header is C++ too" "${CXX:-c++}" -Wall -Wextra -Werror -pedantic -I"$prefix/include" -c "$place/plain.cc" -o "$place/plain.o"
expect "the test is compiled" "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -O1 -g -I"$prefix/include" "$here/region/library.c" \
    -o "$place/library" -L"$prefix/lib" -Wl,-rpath,"$prefix/lib" -ltern_region
# Mapped, or by CMA, or only what needs no permission, or by the kernel module, which is seldom there.
[ ! -e /dev/tern ] || export TERN_TEST_MODULE=1
for options in 0 1 2 3 7 8 10; do
    expect "members with options $options" "$place/library" "$options"
done

expect "the test of short memory is compiled" "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -O1 -I"$prefix/include" \
    "$here/region/lack.c" -o "$place/lack" -L"$prefix/lib" -Wl,-rpath,"$prefix/lib" -ltern_region
"$place/lack" > "$place/lack.said" 2>&1 || true
line='^tern: process [0-9]* cannot have [0-9]* bytes of memory for the library in tern_region_create, and ends the process; its'
expect "no memory: the last line says where, how much, and what limits it" grep -q -e "$line" "$place/lack.said"
if command -v pkg-config > /dev/null; then
    # shellcheck disable=SC2046
    expect "the example is compiled as it says" "${CC:-cc}" "$prefix/share/doc/tern/region-example.c" -o "$place/example" \
        $(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --cflags --libs tern_region)
    expect "the example runs" "$place/example"
    cp "$place/said" "$place/example.said"
    expect "the example says what it has done" grep -q 'the table is "FIRST...----last"' "$place/example.said"
else
    skip "the example" "no pkg-config"
fi
# Every function of the header is there, and nothing else.
sed -n 's/.*[ *]\(tern_region_[a-z_]*\)(.*[,;]$/\1/p' "$prefix/include/tern_region.h" | sort -u > "$place/declared"
nm -D --defined-only "$prefix/lib/libtern_region.so.1" | sed -n 's/.* T //p' | sort > "$place/defined"
expect "functions are those of the header" diff "$place/declared" "$place/defined"
expect "each function has its place in the manual page" sh -c 'while read -r name; do
    grep -q "$name" "$1" || { echo "$name is missing"; exit 1; }; done < "$2"' - "$prefix/share/man/man3/tern_region.3" "$place/declared"

sums
