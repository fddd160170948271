#!/bin/sh
# Programs of Debian's packages, and of Intel's wheel, unmodified, on Tern and on the library that they were built for:
# results side by side, with wall times. Programs that are not installed are skipped, aloud. Takes minutes.
# Usage: tests/clients.sh PREFIX [NAME...]
#   TERN_TEST_DIR   where inputs and outputs go [target/clients]
#   IMB_FOLDER        folder of IMB programs, of an environment with the impi-rt wheel
# Packages: hpcc gromacs lammps lammps-examples quantum-espresso quantum-espresso-data cp2k nwchem-openmpi nwchem-mpich
# python3-h5py-mpi python3-petsc4py r-cran-rmpi iqtree
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [NAME...]"}" && pwd)
. "$here/common.sh"
shift
wanted=$*
work=${TERN_TEST_DIR:-$here/../target/clients}
mkdir -p "$work"
cd "$work"
unset LD_LIBRARY_PATH
export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# now: seconds with two digits.
now() { date +%s.%N; }

# client NAME ABI RANKS RESULT-COMMAND COMMAND...: runs COMMAND in two folders, one for each library, and compares what
# RESULT-COMMAND prints there.
client() {
    name=$1 abi=$2 ranks=$3 result=$4
    shift 4
    case " $wanted " in *" $name "* | '  ') ;; *) return 0 ;; esac
    if ! command -v "$1" > /dev/null; then
        skip "$name" "$1 is not installed"
        return 0
    fi
    own=/usr/bin/mpiexec.$abi
    [ "$abi" != impi ] || own=$IMB_FOLDER/mpiexec
    for whose in tern own; do
        rm -rf "$name/$whose"
        mkdir -p "$name/$whose"
        [ ! -d "$here/clients/$name" ] || cp "$here/clients/$name"/* "$name/$whose/"
        [ "$name" != hpcc ] || sed '6s/.*/500 Ns/' /usr/share/doc/hpcc/examples/_hpccinf.txt > "$name/$whose/hpccinf.txt"
        launch=$own
        [ $whose = own ] || launch=$prefix/bin/mpiexec
        begin=$(now)
        code=0
        (cd "$name/$whose" && timeout 300 "$launch" -n "$ranks" "$@" > out 2> err < /dev/null) || code=$?
        echo "$(now) $begin" | awk '{ printf "%.1f", $1 - $2 }' > "$name/$whose.seconds"
        (cd "$name/$whose" && sh -c "$result") > "$name/$whose.result" 2>&1 || true
        echo "exit code $code" >> "$name/$whose.result"
    done
    times="$(cat "$name/tern.seconds") s, on its own library $(cat "$name/own.seconds") s"
    if cmp -s "$name/tern.result" "$name/own.result" && grep -q '^exit code 0' "$name/tern.result"; then
        ok "$name ($abi, $ranks ranks): $(head -n 1 "$name/tern.result") ($times)"
    else
        fail "$name" "$abi, $ranks ranks; $times:"
        head -n 5 "$name/tern/err" | sed 's/^/    /'
        diff "$name/own.result" "$name/tern.result" | head -n 8 | sed 's/^/    /'
    fi
}

if [ -e /usr/share/gromacs/top/spc216.gro ] && [ ! -e water.tpr ]; then
    printf '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spc.itp"\n[ system ]\nwater\n[ molecules ]\nSOL 216\n' > water.top
    printf 'integrator = md\ndt = 0.001\nnsteps = 500\nrvdw = 0.8\nrcoulomb = 0.8\nrlist = 0.85\nnstenergy = 100\ncoulombtype = PME\ntcoupl = no\ngen_vel = yes\ngen_seed = 7\ngen_temp = 300\nconstraints = h-bonds\n' > water.mdp
    gmx_mpi grompp -f water.mdp -p water.top -c /usr/share/gromacs/top/spc216.gro -o water.tpr -maxwarn 3 > grompp.log 2>&1 ||
        tail -n 5 grompp.log
fi
tpr=$PWD/water.tpr

client hpcc openmpi 4 "echo \"\$(grep -c PASSED hpccoutf.txt) tests passed, \$(grep -c FAILED hpccoutf.txt) failed\"; grep -h '^Success' hpccoutf.txt" hpcc
# The first step is exact; later ones differ in the last digits by the order of sums.
client gromacs openmpi 2 "grep -A 9 -m 1 'Energies (kJ/mol)' md.log | grep -A 1 Potential | tail -n 1 | awk '{ printf \"potential %.3g, total %.3g\\n\", \$1, \$3 }'" \
    gmx_mpi mdrun -s "$tpr" -ntomp 1 -reprod -noconfout
client lammps openmpi 4 "sed -n '/^Step/,/^Loop/p' log.lammps | grep -v Loop | tail -n 1" \
    lmp -in /usr/share/lammps/examples/melt/in.melt
client espresso openmpi 2 "grep '^!' out" pw.x -in si.in
client cp2k openmpi 2 "grep 'Total FORCE_EVAL' out" cp2k.popt -i water.inp
client nwchem-openmpi openmpi 2 "grep 'Total SCF energy' out" nwchem.openmpi water.nw
client nwchem-mpich mpich 2 "grep 'Total SCF energy' out" nwchem.mpich water.nw
client h5py openmpi 4 "cat out" /usr/bin/python3 file.py
client petsc4py openmpi 4 "sort out" env PETSC_DIR=/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real /usr/bin/python3 poisson.py
# It looks for libmpi.so, which only the packages for development have, and does without.
client Rmpi openmpi 2 "grep rank out | sort" sh rscript.sh
# Its ranks send each other trees as they find them, so that branches differ in their last digits; it ends MPI from a static object.
for ranks in 2 4; do
    client "iqtree-$ranks" openmpi "$ranks" "sed -nE 's/^BEST SCORE FOUND : (.*)[0-9]{2}\$/log-likelihood \1/p' out; sed 's/:[0-9.e-]*//g' tree.treefile" \
        iqtree2-mpi -s /usr/share/doc/iqtree/examples/example.phy -m HKY+G -seed 7 -nt 1 -pre tree
done
if [ -n "${IMB_FOLDER:-}" ]; then
    export LD_LIBRARY_PATH="$IMB_FOLDER/../lib"
    for suite in IMB-MPI1 IMB-P2P IMB-RMA; do
        client "$suite" impi 2 "echo \"\$(grep -c '^# Benchmarking' out) benchmarks\"; grep -c 'All processes entering MPI_Finalize' out" \
            "$IMB_FOLDER/$suite" -iter 10 -msglog 6 -time 0.1
    done
fi

sums
