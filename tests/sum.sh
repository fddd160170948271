# Read by the tests that run other tests: how many of all these have passed, failed and been left out. What a part prints is in $place/said.
passed=0 failed=0 skipped=0

# Adds the sums of a part, N passed, N failed, N skipped; one failure if there are none.
add() {
    # shellcheck disable=SC2046
    set -- $(sed -nE 's/^(total: )?([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped.*/\2 \3 \4/p' "$place/said" |
        awk '{ p += $1; f += $2; s += $3 } END { print p + 0, NR ? f + 0 : 1, s + 0 }')
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
}

# mpi4py's suite has ended otherwise than it should: that is a failure even where no test has failed, as when a rank has died.
not_content() {
    echo "0 passed, 1 failed, 0 skipped" >> "$place/said"
}
