//! Writes the procedures, and links with the C library of the standard ABI.

fn main() {
    tern_fortran::library::build("libmpifort_abi.so.1", "libmpi_abi.so.1", tern_fortran::entries::F08::Sections);
}
