#!/bin/sh
# Every function that the tables call `todo` says so: MPI_ERR_UNSUPPORTED_OPERATION through
# MPI_ERRORS_RETURN; never success, never a crash.
# Usage: tests/not-built-test.sh PREFIX
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT INT TERM

# NAME todo, or NAME large todo: then there is a NAME_c too.
functions=$(awk '/^[A-Z].* todo( |$)/ { print $1; if ($2 ~ /^large/) print $1 "_c" }' "$root"/crates/abi/table/*.txt)
if [ -z "$functions" ]; then
    echo "every function is built"
    echo "1 passed, 0 failed, 0 skipped"
    exit
fi

# Null handles and pointers do: an unbuilt function looks at no argument but the object whose error
# handler it calls, and that is MPI_COMM_SELF's when there is none.
{
    cat << 'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
typedef int function(long, long, long, long, long, long, long, long, long, long, long, long, long, long);
static int failed;
static void try(const char *prefix, const char *name, int wanted)
{
    char symbol[128];
    snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    function *call = (function *)dlsym(RTLD_DEFAULT, symbol);
    int code = call ? call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) : -1;
    if (code != wanted) {
        failed++;
        printf("%s: %d\n", symbol, code);
    }
}
static void both(const char *name)
{
    try("MPI_", name, MPI_ERR_UNSUPPORTED_OPERATION);
    try("PMPI_", name, MPI_ERR_UNSUPPORTED_OPERATION);
}
int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
C
    for name in $functions; do
        echo "    both(\"$name\");"
    done
    echo '    MPI_Finalize();'
    echo '    return failed != 0;'
    echo '}'
} > "$place/not-built.c"
"$prefix/bin/mpicc" -Wall -o "$place/not-built" "$place/not-built.c" -ldl

count=$(echo "$functions" | wc -l)
if LD_LIBRARY_PATH="$prefix/lib" timeout --kill-after=5 60 "$place/not-built" < /dev/null; then
    echo "ok   $count functions say that they are not built"
    echo "1 passed, 0 failed, 0 skipped"
else
    echo "FAIL: the functions above do not say that they are not built (exit code $?)"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
