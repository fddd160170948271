//! The Fortran sources follow from the tables, and compilers of any kind can read them.

use std::collections::HashSet;
use tern_fortran::{constant_calls, entries, routine, sources};
use tern_table::Tables;

fn text(name: &str) -> String {
    let all = sources::all(&Tables::read());
    all.into_iter().find(|(file, _)| *file == name).expect("a source of that name").1
}

#[test]
fn lines_fit_their_form() {
    for (name, text) in sources::all(&Tables::read()) {
        let included = name.ends_with(".h");
        let most = if included { 72 } else { 132 };
        for line in text.lines().filter(|line| !line.starts_with('!')) {
            assert!(line.len() <= most, "{name}: {line}");
            // These are included by fixed and by free form: no line goes on.
            assert!(!included || line.starts_with("      "), "{name}: {line}");
        }
    }
}

#[test]
fn every_interface_has_its_procedure() {
    let tables = Tables::read();
    let exported = entries::entries(&tables, entries::F08::Sections);
    let names: HashSet<&str> = exported.split([' ', ';', ')', '\n']).collect();
    for file in ["mpi.f90", "mpi_f08.f90"] {
        let source = text(file);
        // Abstract interfaces have none.
        let at =
            source.find("abstract interface").map(|from| from..from + source[from..].find("end interface").unwrap());
        let mut declared = 0;
        let mut place = 0;
        for line in source.split_inclusive('\n') {
            place += line.len();
            let words: Vec<&str> = line.split([' ', '(']).filter(|word| !word.is_empty()).collect();
            let (["subroutine" | "function", name, ..], false) =
                (&words[..], at.as_ref().is_some_and(|at| at.contains(&place)))
            else {
                continue;
            };
            declared += 1;
            let symbol = format!("{}_", name.trim().to_lowercase());
            assert!(names.contains(symbol.as_str()), "{file}: {name} has no procedure {symbol}");
        }
        assert!(declared > 800, "{file}: {declared} procedures");
    }
}

#[test]
fn forms_of_a_generic_name_differ() {
    let tables = Tables::read();
    let routines = routine::routines(&tables);
    let source = text("mpi_f08.f90").to_lowercase();
    let mut overloaded = 0;
    for large in routines.iter().filter(|r| r.generic() != r.name()) {
        let plain = routines.iter().find(|r| r.name() == large.generic()).expect("the ordinary form");
        let form = if large.has_choice() { "f08ts" } else { "f08" };
        let there = source.contains(&format!("subroutine mpi_{}_{form}(", large.name().to_lowercase()));
        assert_eq!(there, large.signature() != plain.signature(), "{}", large.name());
        overloaded += there as usize;
    }
    assert!(overloaded > 130, "{overloaded} names with large counts");
}

#[test]
fn every_procedure_that_may_change_a_handle_is_called_with_constants() {
    let tables = Tables::read();
    let program = constant_calls::program(&tables);
    assert_eq!(constant_calls::changing(&tables).len(), 25);
    for routine in constant_calls::changing(&tables) {
        assert!(program.contains(&format!("call MPI_{}(", routine.name())), "{}", routine.name());
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fortran/old/constants.f90");
    assert!(
        std::fs::read_to_string(file).expect("the program") == program,
        "tests/fortran/old/constants.f90 is not up to date; run\n  cargo run -q -p tern-fortran --example constant-calls > {file}"
    );
}
