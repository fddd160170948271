//! Prints `tests/fortran/old/constants.f90`.

fn main() {
    print!("{}", tern_fortran::constant_calls::program(&tern_table::Tables::read()));
}
