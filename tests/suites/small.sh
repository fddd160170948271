# A suite of four programs, for tests/suites-test.sh, which tells its commit by $SMALL. Sourced by scripts/suites.sh.
if source_of them/small "$SMALL" /programs/; then
    if to_build; then
        (cd "$source/programs" && find . -name '*.c') | while read -r file; do
            file=${file#./}
            program "${file%.c}" mpicc -w "../source/programs/$file"
        done | programs
        whole
    fi
    suite small "$built" "small, $from" "standard ABI"
fi
