//! Writes the procedures, and links with the C library of MPICH's ABI.

fn main() {
    tern_fortran::library::build("libmpifort.so.12", "libmpi.so.12", tern_fortran::entries::F08::None);
}
