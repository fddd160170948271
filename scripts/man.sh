#!/bin/sh
# Writes the manual pages, one for each function of MPI and one for each program, and mpiexec's completion for bash.
# Usage: scripts/man.sh BUILT PREFIX
#   BUILT    cargo's output folder, such as target/release
#   PREFIX   an installed Tern, whose programs tell how they are used; the pages go into share there
# EMULATOR: as for scripts/install.sh.
set -eu

built=${1:?"usage: $0 BUILT PREFIX"}
prefix=${2:?"usage: $0 BUILT PREFIX"}
man=$prefix/share/man
mkdir -p "$man/man1" "$man/man3"

# The program of this name; what is a script needs no emulator.
run() {
    case $1 in
        */mpicc | */mpifort) "$@" ;;
        *) ${EMULATOR:-} "$@" ;;
    esac
}

run "$built/tern-man" functions "$man/man3"

# page NAME SUMMARY HELP...: a page of what the program prints; other names of the program lead to it.
page() {
    name=$1 summary=$2
    shift 2
    [ -x "$prefix/bin/$name" ] || return 0
    run "$prefix/bin/$name" "$@" > "$man/help"
    run "$built/tern-man" program "$name" "$summary" < "$man/help" > "$man/man1/$name.1"
    rm "$man/help"
}
other() {
    shown=$1
    shift
    for name in "$@"; do
        [ ! -e "$prefix/bin/$name" ] || ln -sfn "$shown.1" "$man/man1/$name.1"
    done
}

page mpiexec "starts the processes of an MPI program" --help
other mpiexec mpirun
page mpicc "compiles C and C++ programs for MPI" --showme:help
other mpicc mpicc_abi mpicxx mpicxx_abi mpic++ mpiCC
page mpifort "compiles Fortran programs for MPI" --showme:help
other mpifort mpifort_abi mpif77 mpif90
page tern-info "tells what Tern is and what this machine offers" --help
page tern-tune "measures what it costs to move messages on this machine" --help
page tern-bench "compares Tern with other MPI libraries" --help

completions=$prefix/share/bash-completion/completions
mkdir -p "$completions"
for name in mpiexec mpirun; do
    run "$prefix/bin/mpiexec" --help | run "$built/tern-man" completion $name > "$completions/$name"
done
