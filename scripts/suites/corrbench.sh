# MPI-CorrBench: small programs in C, most of which are wrong. Those of its folder openmp are about threads, and left out. Sourced by ../suites.sh.
if needs python3 && source_of tudasc/MPI-Corrbench a05644b1cfe1f0d929b210acb44c2df6c1d9da13; then
    benches=micro-benches/0-level
    if to_build; then
        (cd "$source/$benches" && find . -name '*.c' ! -path './openmp/*') | while read -r file; do
            file=${file#./}
            binary=$(echo "${file%.c}" | tr / _)
            program "programs/CorrBench-$binary" mpicc -w -O1 "-I../source/$benches/correct/include" "../source/$benches/$file" -lm
        done | programs
        whole
    fi
    checked corrbench "$from" --corrbench "$source/$benches" --programs "$built/programs" --keep "$home/said"
fi
