# The MPI Bugs Initiative: programs in C, written by its generators, most of which are wrong. Sourced by ../suites.sh.
if needs python3 && source_of mquinson/MBI 1bf81e65704ce6ff01177bd2af042cdcfd30b1be /scripts/; then
    if to_build; then
        mkdir "$built/codes"
        for generator in "$source"/scripts/generators/*Generator.py; do
            (cd "$built/codes" && logged python3 "$generator") || true
        done
        (cd "$built/codes" && find . -name '*.c') | while read -r file; do
            file=${file#./}
            program "programs/MBI-${file%.c}" mpicc -w -O1 "codes/$file"
        done | programs
        whole
    fi
    checked mbi "$from" --mbi "$built/codes" --programs "$built/programs" --keep "$home/said"
fi
