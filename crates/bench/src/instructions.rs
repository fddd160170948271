//! Instructions of a short message: the ping-pong's send and receive calls at rank 0, counted by
//! valgrind. Two runs of different length; their difference leaves out what happens only once.

use crate::library::Library;
use crate::run::Outcome;
use crate::session::Session;
use crate::suite::Binding;
use std::fs;
use std::path::Path;
use std::process::Command;

const SHORT: u64 = 200;
const LONG: u64 = 1200;

/// Functions of the benchmark program that hold nothing but the call to count.
const COUNTED: [&str; 2] = ["counted_send", "counted_receive"];

/// Sum of all instructions in a callgrind output file.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| {
        line.strip_prefix("totals:")
            .or_else(|| line.strip_prefix("summary:"))
    })?;
    line.split_whitespace().next()?.parse().ok()
}

fn run(
    session: &Session,
    library: &Library,
    function: &str,
    messages: u64,
    file: &Path,
) -> Result<u64, String> {
    // A file of an earlier run must not be taken for this one's.
    let _ = fs::remove_file(file);
    let before: Vec<String> = vec![
        "valgrind".into(),
        "--tool=callgrind".into(),
        "--collect-atstart=no".into(),
        format!("--toggle-collect={function}"),
        format!("--callgrind-out-file={}", file.display()),
    ];
    let arguments: Vec<String> = [
        "pingpong_count",
        "--sizes",
        "8",
        "--iterations",
        &messages.to_string(),
    ]
    .map(String::from)
    .to_vec();
    let groups: [(usize, &[String], &[String]); 2] =
        [(1, &before, &arguments), (1, &[], &arguments)];
    let Outcome { failure, .. } = session.launch(library, Binding::Bound, &groups);
    if let Some(reason) = failure {
        return Err(reason);
    }
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    total(&text).ok_or_else(|| format!("no totals in {}", file.display()))
}

/// Instructions of one call of each counted function.
fn of_library(session: &Session, library: &Library, folder: &Path) -> Result<[f64; 2], String> {
    let mut found = [0.0; 2];
    for (function, place) in COUNTED.into_iter().zip(&mut found) {
        let file = folder.join(format!("callgrind.{}.{function}", library.name));
        let short = run(session, library, function, SHORT, &file)?;
        let long = run(session, library, function, LONG, &file)?;
        if long <= short {
            return Err(format!(
                "{function}: {LONG} messages took no more instructions than {SHORT}"
            ));
        }
        *place = (long - short) as f64 / (LONG - SHORT) as f64;
    }
    Ok(found)
}

/// Counts and prints a table. Skips aloud without valgrind.
pub fn count(session: &mut Session) -> Result<(), String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("SKIPPED instructions: valgrind is not installed");
        return Ok(());
    }
    println!(
        "Instructions of an 8-byte message between two ranks. The message is there before MPI_Recv is\n\
         called, so nothing is counted that waits.\n"
    );
    println!("| library | MPI_Send | MPI_Recv | together |\n|---|---|---|---|");
    for library in session.libraries.clone() {
        let folder = session.output.clone();
        match of_library(session, &library, &folder) {
            Ok([send, receive]) => {
                println!(
                    "| {} | {send:.0} | {receive:.0} | {:.0} |",
                    library.label,
                    send + receive
                );
            }
            Err(reason) => session.problem(&library.name, "instructions", reason),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_total_of_a_callgrind_file() {
        assert_eq!(total("events: Ir\nfn=(1)\n1 2\ntotals: 4711\n"), Some(4711));
        assert_eq!(total("summary: 12 3\n"), Some(12));
        assert_eq!(total("events: Ir\n"), None);
    }
}
