#!/bin/sh
# The wheel, made of what is installed in PREFIX: in a new virtual environment, programs and Python run on it.
# Usage: tests/wheel-test.sh PREFIX
#   TERN_TEST_MPI4PY  how pip is asked for mpi4py's published wheel [--only-binary mpi4py mpi4py==4.1.2]
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$root/tests/common.sh"
make_place
cd "$place"
unset LD_LIBRARY_PATH MPI4PY_LIBMPI MPI4PY_MPIABI PYTHONPATH CC CXX

end() {
    sums
    exit
}
# expect WHAT PATTERN COMMAND...: the output of the command has a line that the pattern matches whole.
expect() {
    what=$1 pattern=$2
    shift 2
    said=$("$@" 2>&1) || true
    if printf '%s\n' "$said" | grep -qx -e "$pattern"; then
        ok "$what"
    else
        fail "$what" "$* said: $said"
    fi
}

if ! python3 -m venv venv > why 2>&1; then
    skip "the wheel: python3 -m venv: $(tail -n 1 why)"
    end
fi
expect "the wheel is made" "$place/tern_mpi-.*-py3-none-manylinux_2_[0-9]*_.*\.whl" "$root/scripts/wheel.py" "$prefix" "$place"
expect "pip installs it" "Successfully installed tern-mpi-.*" \
    venv/bin/pip install --no-index --no-deps --disable-pip-version-check tern_mpi-*.whl
# The wheel is used from another place than it was made in: nothing may lead back.
mv venv moved
venv=$place/moved
expect "nothing names the place where it was made" "" grep -rIl "$prefix" "$venv/bin/mpicc" "$venv/lib/pkgconfig" \
    "$venv/share/tern"
expect "mpiexec runs" "mpiexec (Tern) .*" "$venv/bin/mpiexec" --version
expect "mpirun runs" "mpiexec (Tern) .*" "$venv/bin/mpirun" --version
cat > first.c << 'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d\n", rank, size);
    return MPI_Finalize();
}
C
if command -v cc > /dev/null; then
    expect "mpicc compiles" "" "$venv/bin/mpicc" first.c -o first
    expect "what mpicc made runs" "rank 1 of 2" "$venv/bin/mpiexec" -n 2 ./first
    expect "it has the environment's library" "mpiexec: ./first: libmpi_abi.so.1 .* is Tern's, $venv/lib/libmpi_abi.so.1" \
        "$venv/bin/mpiexec" -v -n 2 ./first
fi
if command -v pkg-config > /dev/null; then
    expect "pkg-config finds it" "-I$venv/lib/pkgconfig/../../include.*" \
        env PKG_CONFIG_PATH="$venv/lib/pkgconfig" pkg-config --cflags tern
fi

cat > program.py << 'PY'
from mpi4py import MPI
comm = MPI.COMM_WORLD
name = MPI.Get_library_version().split()[0]
print(f"{name}: rank {comm.rank} of {comm.size}: {comm.allreduce(comm.rank)}")
PY
python=$venv/bin/python3
# shellcheck disable=SC2086
if [ ! -e "$venv/lib/libmpi.so.12" ]; then
    skip "mpi4py: this Tern has no libmpi.so.12"
elif ! "$python" -m pip install -q --disable-pip-version-check ${TERN_TEST_MPI4PY:---only-binary mpi4py mpi4py==4.1.2} \
    > why 2>&1; then
    skip "mpi4py: pip cannot get it: $(tail -n 1 why)"
else
    expect "mpi4py's published wheel runs on it" "\[3\] Tern: rank 3 of 4: 6" "$venv/bin/mpiexec" -l -n 4 "$python" program.py
    expect "without mpiexec too" "Tern: rank 0 of 1: 0" "$python" program.py
    for abi in mpich openmpi; do
        expect "its module for $abi does" "\[1\] Tern: rank 1 of 2: 1" \
            env MPI4PY_MPIABI=$abi "$venv/bin/mpiexec" -l -n 2 "$python" program.py
    done
fi
end
