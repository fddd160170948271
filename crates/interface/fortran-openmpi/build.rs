//! Writes the procedures, and links with the C library of Open MPI's ABI.

fn main() {
    tern_fortran::library::build("libmpi_mpifh.so.40", "libmpi.so.40", tern_fortran::entries::F08::Addresses);
}
