#!/bin/sh
# Suites of others: scripts/suites.sh fetches a commit, builds it, runs it by its list, and tells in its table what came of each program.
# Usage: tests/suites-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
if ! command -v git > /dev/null; then
    skip "suites of others" "there is no git"
    sums
    exit
fi
evidence=$place/said

# source_file NAME TEXT: a program of the suite, which says the text if it runs on as many ranks as its name tells.
source_file() {
    ranks=1
    [ "$1" != two ] || ranks=2
    cat > "$repository/programs/$1.c" << END
#include <mpi.h>
#include <stdio.h>
int main(void)
{
    int size;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    puts(size == $ranks ? "$2" : "ERROR: wrong number of ranks");
    MPI_Finalize();
    return 0;
}
END
}

# commit: what the repository has now; its name goes to $SMALL.
commit() {
    git -C "$repository" add -A
    git -C "$repository" -c user.name=them -c user.email=them@example.org commit -q -m programs
    SMALL=$(git -C "$repository" rev-parse HEAD)
    export SMALL
}

# run SETTING...: in a folder whose name has a blank, the suite small, or $suites, with these settings besides; its exit code in $code.
suites=small
run() {
    code=0
    # shellcheck disable=SC2086
    env TERN_TEST_RECIPES="$here/suites" TERN_TEST_MIRROR="$place/mirror" TERN_TEST_DIR="$place/the work" "$@" \
        "$here/../scripts/suites.sh" "$prefix" $suites > "$place/said" 2>&1 || code=$?
}

# expect WHAT CODE ROW: how the run has ended, and the numbers of its row.
expect() {
    if [ "$code" -eq "$2" ] && grep -q "^| small, them/small .* | standard ABI | $3 |" "$place/the work/table.md"; then
        ok "$1"
    else
        fail "$1" "code $code, not $2; $(grep '^| small' "$place/the work/table.md" | head -n 1)"
    fi
}

repository=$place/mirror/them+small
mkdir -p "$repository/programs"
git init -q "$repository"
source_file one right
source_file two right
source_file faulty ERROR
source_file left ERROR
commit
run
expect "programs that pass, fail by their own fault and are left out" 0 "2 | 1 | 0 | 1 | 0"
if grep -q '^| small, .* | 1 | own | wants what the standard does not have |$' "$place/the work/table.md"; then
    ok "reasons are told"
else
    fail "reasons are told"
fi

source_file three ERROR
echo 'int main(void) { return missing; }' > "$repository/programs/broken.c"
commit
run
expect "a later commit has a program that fails and one that does not build" 1 "2 | 1 | 0 | 1 | 2"

rm "$place/the work/small/built/one"
run TERN_TEST_KEEP=1 TERN_TEST_ONLY=one
expect "what was built is kept, and some programs can be chosen" 1 "0 | 0 | 0 | 0 | 1"

run TERN_TEST_MIRROR="$place"
expect "what is fetched needs no repository any more" 1 "2 | 1 | 0 | 1 | 2"
SMALL=0123456789012345678901234567890123456789
run
if [ $code -eq 0 ] && grep -q '^SKIP small: them/small could not be fetched' "$place/said"; then
    ok "a commit that is not there is told"
else
    fail "a commit that is not there is told" "code $code"
fi

# row_is WHAT SUITE CODE ROW [LINE]: how a run of the suites has ended, the numbers of the row of one of them, and what it said besides.
row_is() {
    if [ "$code" -eq "$3" ] && grep -q "^| $2 | standard ABI | $4 |" "$place/the work/table.md" && grep -q "${5:-}" "$place/said" &&
        tail -n 1 "$place/said" | grep -q 'passed, .* failed'; then
        ok "$1"
    else
        fail "$1" "code $code, not $3; $(grep "^| $2 | s" "$place/the work/table.md" | head -n 1)"
    fi
}

# Programs that check.py judges: it is a program that writes these numbers into the file of --sums, and then runs this command.
checked() {
    cat > "$place/check.py" << END
import sys
if "$1":
    open(sys.argv[sys.argv.index("--sums") + 1], "w").write("$1\n")
$2
END
    run TERN_TEST_CHECK="$place/check.py"
}
suites=checked
checked "3 1 0 2 0" pass
row_is "check.py is content" checked 0 "3 | 1 | 0 | 2 | 0"
checked "3 1 0 0 1" "sys.exit(1)"
row_is "check.py finds one that has no reason" checked 1 "3 | 1 | 0 | 0 | 1"
checked "" "raise ValueError"
row_is "a check.py that dies" checked 1 "0 | 0 | 0 | 0 | 2" '^FAIL checked: check.py has ended with code 1$'
checked "" pass
row_is "a check.py that tells no numbers" checked 1 "0 | 0 | 0 | 0 | 1" '^FAIL checked: only 0 tests have run, of 3 at least$'
checked "3 1 0 2 0" "raise ValueError"
row_is "a check.py that dies with the numbers told" checked 1 "3 | 1 | 0 | 2 | 1" '^FAIL checked: check.py has ended with code 1$'
checked "1 1 0 9 0" pass
row_is "fewer programs than the list says" checked 1 "1 | 1 | 0 | 9 | 1" '^FAIL checked: only 2 tests have run, of 3 at least$'

# What a recipe has a generator write.
suites=generated
writes='mkdir programs; echo "#include <mpi.h>
int main(int argc, char **argv) { return MPI_Init(&argc, &argv) || MPI_Finalize(); }" > one.c; mpicc -o programs/one one.c'
run GENERATOR="$writes"
row_is "a generator" generated 0 "1 | 0 | 0 | 0 | 0"
run GENERATOR="$writes; exit 3"
row_is "a generator that fails when it has written a program" generated 1 "1 | 0 | 0 | 0 | 0" '^FAIL generated: sh -c '
run GENERATOR="mkdir programs"
row_is "a generator that writes nothing" generated 1 "0 | 0 | 0 | 0 | 1" '^FAIL generated: only 0 tests have run, of 1 at least$'
run GENERATOR=true
row_is "no folder of programs" generated 1 "0 | 0 | 0 | 0 | 1" '^FAIL generated: there is no folder '
sums
