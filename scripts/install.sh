#!/bin/sh
# Installs what cargo has built.
# Usage: scripts/install.sh BUILT PREFIX [DESTDIR]
#   BUILT    cargo's output folder, such as target/release
#   DESTDIR  put in front of PREFIX, for packages
# EMULATOR: a command that runs programs of another architecture, where they are of one; some write files about themselves.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
built=${1:?"usage: $0 BUILT PREFIX [DESTDIR]"}
prefix=${2:?"usage: $0 BUILT PREFIX [DESTDIR]"}
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
to=${3:-}$prefix
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)

mkdir -p "$to/bin" "$to/lib/pkgconfig" "$to/include" "$to/share/tern" "$to/share/doc/tern"

# Programs that run keep the library that they have loaded: a new file in place of the old.
put() {
    install -m "$1" "$2" "$3.new"
    mv -f "$3.new" "$3"
}

put 755 "$built/libmpi_abi.so" "$to/lib/libmpi_abi.so.1"
ln -sfn libmpi_abi.so.1 "$to/lib/libmpi_abi.so"
put 644 "$root/include/mpi.h" "$to/include/mpi.h"
put 644 "$root/include/mpi-ext.h" "$to/include/mpi-ext.h"

# The faces of other binary interfaces, by the names that programs look for.
if [ -e "$built/libtern_mpich.so" ]; then
    put 755 "$built/libtern_mpich.so" "$to/lib/libmpi.so.12"
    ln -sfn libmpi.so.12 "$to/lib/libmpich.so.12"
    # For programs that open the name without a version; mpiexec says for which of them.
    mkdir -p "$to/lib/tern/open/12"
    ln -sfn ../../../libmpi.so.12 "$to/lib/tern/open/12/libmpi.so"
fi
if [ -e "$built/libtern_openmpi.so" ]; then
    put 755 "$built/libtern_openmpi.so" "$to/lib/libmpi.so.40"
    # The few symbols of C++ that programs refer to are in it too.
    ln -sfn libmpi.so.40 "$to/lib/libmpi_cxx.so.40"
    mkdir -p "$to/lib/tern/open/40"
    ln -sfn ../../../libmpi.so.40 "$to/lib/tern/open/40/libmpi.so"
fi

# Copies between processes, for programs and libraries without Tern's MPI.
if [ -e "$built/libtern_region_c.so" ]; then
    region=$root/crates/devices/region-c
    put 755 "$built/libtern_region_c.so" "$to/lib/libtern_region.so.1"
    ln -sfn libtern_region.so.1 "$to/lib/libtern_region.so"
    put 644 "$region/include/tern_region.h" "$to/include/tern_region.h"
    put 644 "$region/example.c" "$to/share/doc/tern/region-example.c"
    sed "s/@VERSION@/$version/" "$root/wrappers/tern_region.pc.in" > "$to/lib/pkgconfig/tern_region.pc"
    mkdir -p "$to/share/man/man3"
    sed "s/@VERSION@/$version/" "$region/tern_region.3" > "$to/share/man/man3/tern_region.3"
fi

# For parallel debuggers: the library that shows message queues, and gdb's command that does it.
if [ -e "$built/libtern_msgq.so" ]; then
    put 755 "$built/libtern_msgq.so" "$to/lib/libtern_msgq.so"
    put 644 "$root/wrappers/gdb/tern.py" "$to/share/tern/gdb.py"
fi

put 755 "$built/mpiexec" "$to/bin/mpiexec"
ln -sfn mpiexec "$to/bin/mpirun"
for program in tern-info tern-tune tern-bench; do
    if [ -x "$built/$program" ]; then
        put 755 "$built/$program" "$to/bin/$program"
    fi
done

put 644 "$root/wrappers/common.sh" "$to/share/tern/wrapper.sh"
put 755 "$root/wrappers/mpicc" "$to/bin/mpicc"
for name in mpicc_abi mpicxx mpicxx_abi mpic++ mpiCC; do
    # The script goes by the name that it is called by.
    ln -sfn mpicc "$to/bin/$name"
done

# Their Fortran procedures.
if [ -e "$built/libtern_fortran_mpich.so" ]; then
    put 755 "$built/libtern_fortran_mpich.so" "$to/lib/libmpifort.so.12"
    ln -sfn libmpifort.so.12 "$to/lib/libmpichfort.so.12"
fi
if [ -e "$built/libtern_fortran_openmpi.so" ]; then
    put 755 "$built/libtern_fortran_openmpi.so" "$to/lib/libmpi_mpifh.so.40"
    # The modules' procedures are in it too.
    ln -sfn libmpi_mpifh.so.40 "$to/lib/libmpi_usempif08.so.40"
    ln -sfn libmpi_mpifh.so.40 "$to/lib/libmpi_usempi_ignore_tkr.so.40"
fi

if [ -e "$built/libmpifort_abi.so" ]; then
    put 755 "$built/libmpifort_abi.so" "$to/lib/libmpifort_abi.so.1"
    ln -sfn libmpifort_abi.so.1 "$to/lib/libmpifort_abi.so"
    ${EMULATOR:-} "$built/tern-fortran-sources" "$to/share/tern/fortran"
    for name in mpif.h mpif-ext.h; do
        put 644 "$to/share/tern/fortran/$name" "$to/include/$name"
        rm "$to/share/tern/fortran/$name"
    done
    put 644 "$root/wrappers/modules.sh" "$to/share/tern/fortran/modules.sh"
    # Modules that mpifort has built are those of these sources.
    cat "$to"/share/tern/fortran/*.f90 "$to"/share/tern/fortran/*.inc "$to/share/tern/fortran/modules.sh" | cksum | tr -d ' \n' > "$to/share/tern/fortran/sum"
    mkdir -p "$to/lib/tern/mod"
    put 755 "$root/wrappers/mpifort" "$to/bin/mpifort"
    for name in mpifort_abi mpif77 mpif90; do
        ln -sfn mpifort "$to/bin/$name"
    done
    sed "s/@VERSION@/$version/" "$root/wrappers/mpifort_abi.pc.in" > "$to/lib/pkgconfig/mpifort_abi.pc"
    sed 's/^Name: .*/Name: ompi-fort/' "$to/lib/pkgconfig/mpifort_abi.pc" > "$to/lib/pkgconfig/ompi-fort.pc"
fi

sed "s/@VERSION@/$version/" "$root/wrappers/mpi_abi.pc.in" > "$to/lib/pkgconfig/mpi_abi.pc"
# The last two are names of Open MPI's: Meson before 1.6 looks for them before it looks for mpicc.
for name in tern ompi-c ompi-cxx; do
    sed "s/^Name: .*/Name: $name/" "$to/lib/pkgconfig/mpi_abi.pc" > "$to/lib/pkgconfig/$name.pc"
done
# For environment-modules and for Lmod; each leaves the other's file alone.
mkdir -p "$to/share/modulefiles/tern"
put 644 "$root/wrappers/tern.modulefile" "$to/share/modulefiles/tern/$version"
put 644 "$root/wrappers/tern.lua" "$to/share/modulefiles/tern/$version.lua"

for file in README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE-APACHE LICENSE-MIT; do
    if [ -e "$root/$file" ]; then
        put 644 "$root/$file" "$to/share/doc/tern/$file"
    fi
done
(cd "$root" && find docs -name '*.md' -o -name '*.svg' && find demo/kubernetes -type f) | while read -r page; do
    mkdir -p "$to/share/doc/tern/${page%/*}"
    put 644 "$root/$page" "$to/share/doc/tern/$page"
done

if [ -x "$built/tern-man" ]; then
    "$root/scripts/man.sh" "$built" "$to"
fi
