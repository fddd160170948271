//! Every function is called by some program under tests/c, with right and with wrong arguments. The listing goes to `called.txt` in cargo's folder for tests; it says for each function where.
//!
//! The programs are read as the preprocessor leaves them, so that calls by macros count. A call inside
//! `FAILS` or `REFUSES` (tests/c/check.h), which name the error that they expect, is one with wrong arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tern_table::Tables;

/// Built functions that no argument makes fail.
const CANNOT_FAIL: &[(&str, &str)] = &[
    ("MPI_Buffer_flush", "has no arguments"),
    ("MPI_Finalize", "has no arguments; a second call ends the program"),
    ("MPI_Free_mem", "takes what MPI_Alloc_mem gave, and cannot tell another address"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// A program without its comments, its macros expanded. Declarations of mpi.h are in front.
fn preprocessed(program: &Path) -> String {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let output = Command::new(&compiler)
        .args(["-E", "-P", "-DLISTING", "-I"])
        .arg(root().join("include"))
        .arg(program)
        .output()
        .unwrap_or_else(|error| panic!("{compiler} cannot be run: {error}; set CC to a C compiler"));
    assert!(output.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The functions that a preprocessed program calls, rightly and wrongly.
#[derive(Default)]
struct Calls {
    rightly: BTreeSet<String>,
    wrongly: BTreeSet<String>,
}

impl Calls {
    fn of(text: &str) -> Calls {
        let mut calls = Calls::default();
        let (mut wrong, mut rest) = (false, text);
        while let Some((word, after)) = next_word(rest) {
            rest = after;
            match word {
                "begin_wrong" => wrong = true,
                "end_wrong" => wrong = false,
                _ if (word.starts_with("MPI_") || word.starts_with("MPIX_"))
                    && rest.trim_start().starts_with('(')
                    && !is_declaration(text, word, rest) =>
                {
                    let set = if wrong { &mut calls.wrongly } else { &mut calls.rightly };
                    set.insert(word.to_owned());
                }
                _ => {}
            }
        }
        calls
    }
}

/// The next identifier that is not in a string, and what follows it.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let mut rest = text;
    loop {
        let at = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '"')?;
        if rest[at..].starts_with('"') {
            rest = after_string(&rest[at + 1..]);
            continue;
        }
        let word = &rest[at..];
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(word.len());
        return Some((&word[..end], &word[end..]));
    }
}

fn after_string(text: &str) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

/// True for `int MPI_Send(...)`: a type stands in front, as in mpi.h and in programs that define a function
/// of their own.
fn is_declaration(text: &str, word: &str, rest: &str) -> bool {
    let start = text.len() - rest.len() - word.len();
    let before = text[..start].trim_end();
    let last = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(before, |at| &before[at + 1..]);
    !last.is_empty() && last != "return" && last != "else" && last != "do"
}

#[test]
fn calls_are_told_from_declarations_strings_and_wrong_calls() {
    let text = r#"
        int MPI_Init(int *a, char ***b); MPI_Comm MPI_Comm_fromint(int);
        void f(void) { if (MPI_Send(x, "MPI_Recv(\" )")) return MPI_Wait(r); else MPI_Test (r); }
        begin_wrong(MPI_ERR_COMM); MPI_Barrier(MPI_COMM_NULL); end_wrong(); MPI_Bcast(x); y = MPI_Isend;
    "#;
    let calls = Calls::of(text);
    let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(names(&calls.rightly), "MPI_Bcast MPI_Send MPI_Test MPI_Wait");
    assert_eq!(names(&calls.wrongly), "MPI_Barrier");
}

#[test]
fn every_function_is_called_with_right_and_with_wrong_arguments() {
    let mut rightly: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut wrongly = rightly.clone();
    let folder = std::fs::read_dir(root().join("tests/c")).expect("the folder of the C programs");
    let mut programs: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
    programs.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    programs.sort();
    for program in &programs {
        let name = program.file_stem().expect("a name").to_string_lossy().into_owned();
        let calls = Calls::of(&preprocessed(program));
        calls.rightly.into_iter().for_each(|function| rightly.entry(function).or_default().push(name.clone()));
        calls.wrongly.into_iter().for_each(|function| wrongly.entry(function).or_default().push(name.clone()));
    }

    let tables = Tables::read();
    let mut listing = String::from("# function | called rightly by | called wrongly by\n");
    let (mut count, mut missing) = (0, Vec::new());
    for function in tables.functions() {
        for &large in function.forms() {
            let name = function.full_name(large);
            let exempt = CANNOT_FAIL.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
            // By hand: the functions on addresses, times and handles, which give no error code.
            let exempt = exempt.or(function.custom.then_some("gives no error"));
            let by = |calls: &BTreeMap<String, Vec<String>>| {
                calls
                    .get(&name)
                    .map_or(String::new(), |programs| programs.iter().take(3).cloned().collect::<Vec<_>>().join(", "))
            };
            let (right, wrong) = (by(&rightly), by(&wrongly));
            count += 1;
            assert!(
                wrong.is_empty() || exempt.is_none() || function.custom,
                "{name} is said not to fail, but {wrong} says that it does"
            );
            let wrong = if wrong.is_empty() { exempt.map_or(wrong, |why| format!("({why})")) } else { wrong };
            let _ = writeln!(listing, "{name} | {right} | {wrong}");
            if right.is_empty() {
                missing.push(format!("{name}: no program calls it with right arguments"));
            }
            if wrong.is_empty() {
                missing.push(format!("{name}: no program calls it with wrong arguments (FAILS or REFUSES of check.h)"));
            }
        }
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("called.txt");
    std::fs::write(&place, &listing).expect("the listing can be written");
    println!("{count} functions; the listing is in {}", place.display());
    assert!(missing.is_empty(), "{} calls are missing under tests/c:\n{}", missing.len(), missing.join("\n"));
}
