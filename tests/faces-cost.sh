#!/bin/sh
# The cost of a face: ping-pong of 8 B and 64 KiB and an allreduce of 8 B between two processes, through each binary
# interface, in C and in Fortran. Rounds are interleaved; a line has the median and the extremes of all rounds.
# Usage: tests/faces-cost.sh PREFIX [instructions]
#   instructions     counted by callgrind in place of times: of one operation in one process, which sends to itself
#   TERN_TEST_ROUNDS how many rounds [15]
#   TERN_TEST_STEPS  how many operations a round has of each kind [20000]
#   TERN_TEST_FC     the Fortran compiler [gfortran, or gfortran-12]
#   TERN_PEERS_DIR   where packages of MPICH and Open MPI are (see tests/faces-test.sh)
# What cannot be compiled is skipped, aloud. The exit code does not depend on times.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
prefix=$(cd "${1:?"usage: $0 PREFIX [instructions]"}" && pwd)
how=${2:-times}
place=$root/target/faces
mkdir -p "$place"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
fc=${TERN_TEST_FC:-$(command -v gfortran || command -v gfortran-12 || true)}
rounds=${TERN_TEST_ROUNDS:-15} steps=${TERN_TEST_STEPS:-20000}
skipped=0
. "$here/faces/header.sh"

skip() {
    skipped=$((skipped + 1))
    echo "skip $1"
}
# compile NAME COMMAND...: the program of that name.
compile() {
    name=$1
    shift
    if "$@" -O2 -o "$work/$name" > "$work/log" 2>&1; then
        echo "$name" >> "$work/names"
    else
        skip "$name: does not compile: $(grep -v '^ *$' "$work/log" | tail -n 1)"
    fi
}

link="-L$prefix/lib -Wl,-rpath,$prefix/lib -Wl,--no-as-needed"
compile C-standard "$prefix/bin/mpicc" "$here/faces/cost.c"
for face in mpich:12 openmpi:40; do
    include=$(header_of "${face%:*}")
    if [ -z "$include" ]; then
        skip "C-${face%:*}: no mpi.h of it: $(tail -n 1 "$place/${face%:*}.log")"
        continue
    fi
    # shellcheck disable=SC2086
    compile "C-${face%:*}" "${CC:-cc}" -w "-I$include" "$here/faces/cost.c" $link "-l:libmpi.so.${face#*:}"
done
if [ -z "$fc" ]; then
    skip "Fortran: no gfortran"
else
    fortran="-cpp -w -fallow-argument-mismatch -J$work $here/faces/cost.F90"
    # shellcheck disable=SC2086
    {
        compile mpif.h-standard "$prefix/bin/mpifort" -fc="$fc" $fortran
        compile mpi_f08-standard "$prefix/bin/mpifort" -fc="$fc" -DF08 $fortran
        compile mpif.h-mpich "$fc" -DMPICH $fortran $link -l:libmpifort.so.12 -l:libmpi.so.12
        compile mpif.h-openmpi "$fc" -DOPENMPI $fortran $link -l:libmpi_mpifh.so.40 -l:libmpi.so.40
        compile mpi_f08-openmpi "$fc" -DOPENMPI -DF08 $fortran $link -l:libmpi_usempif08.so.40 -l:libmpi.so.40
    }
fi

# count NAME KIND STEPS: instructions of a run.
count() {
    valgrind --tool=callgrind --aspace-minaddr=0x200000000 --callgrind-out-file=/dev/null "$work/$1" "$3" "$2" 2>&1 | sed -n 's/.*Collected : //p'
}
if [ "$how" = instructions ]; then
    command -v valgrind > /dev/null || { echo "skip all: no valgrind"; exit 0; }
    printf '%-18s %12s %12s %12s\n' instructions 'to self, 8 B' '64 KiB' 'allreduce'
    while read -r name; do
        printf '%-18s' "$name"
        for kind in send8 send64k reduce8; do
            few=$(count "$name" $kind 500) many=$(count "$name" $kind 1500)
            printf ' %12d' $(((many - few) / 1000))
        done
        echo
    done < "$work/names"
    echo "$skipped skipped"
    exit
fi

unset TERN_PEERS_DIR
round=0
while [ $round -lt "$rounds" ]; do
    while read -r name; do
        "$prefix/bin/mpiexec" -n 2 "$work/$name" "$steps" < /dev/null 2>> "$work/errors" |
            sed -n 's/^ *cost//p' >> "$work/$name.times"
    done < "$work/names"
    round=$((round + 1))
done
printf '%-18s %-30s %-30s %-30s\n' 'us, of 2 processes' 'ping-pong 8 B' 'ping-pong 64 KiB' 'allreduce 8 B'
while read -r name; do
    printf '%-18s' "$name"
    for column in 1 2 3; do
        awk -v c=$column '{ print $c }' "$work/$name.times" | sort -n > "$work/sorted"
        base=$work/base.$column
        [ -e "$base" ] || sed -n "$(((rounds + 1) / 2))p" "$work/sorted" > "$base"
        awk -v base="$(cat "$base")" '{ t[NR] = $1 } END {
            m = t[int((NR + 1) / 2)]
            printf " %-30s", sprintf("%.3f (%.3f-%.3f) %+.1f%%", m, t[1], t[NR], (m / base - 1) * 100) }' "$work/sorted"
    done
    echo
done < "$work/names"
tail -n 3 "$work/errors"
echo "medians of $rounds rounds, extremes, and how much more than the first line; $skipped skipped"
