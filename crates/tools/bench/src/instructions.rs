//! Instructions of short calls at rank 0, counted by valgrind: those of a ping-pong, and one-sided ones.
//! Two runs of different length; their difference leaves out what happens only once.

use crate::library::Library;
use crate::run::Outcome;
use crate::session::Session;
use crate::suite::Binding;
use std::fs;
use std::path::Path;
use std::process::Command;

const SHORT: u64 = 200;
const LONG: u64 = 1200;

/// What is counted: a function of the benchmark program that holds nothing but the calls, the benchmark that
/// calls it once a round, and what the calls are.
struct Counted {
    function: &'static str,
    benchmark: &'static str,
    calls: &'static str,
}

const fn counted(function: &'static str, benchmark: &'static str, calls: &'static str) -> Counted {
    Counted { function, benchmark, calls }
}

const COUNTED: [Counted; 22] = [
    counted("counted_send", "pingpong_count", "MPI_Send"),
    counted("counted_receive", "pingpong_count", "MPI_Recv"),
    counted("counted_persistent_send", "pingpong_count", "MPI_Start and MPI_Wait of a send"),
    counted("counted_persistent_receive", "pingpong_count", "MPI_Start and MPI_Wait of a receive"),
    counted("counted_gather_give", "rooted_count", "MPI_Gather, not the root"),
    counted("counted_gather_take", "rooted_count", "MPI_Gather, the root"),
    counted("counted_scatter_give", "rooted_count", "MPI_Scatter, the root"),
    counted("counted_scatter_take", "rooted_count", "MPI_Scatter, not the root"),
    counted("counted_reduce_give", "rooted_count", "MPI_Reduce, not the root"),
    counted("counted_reduce_take", "rooted_count", "MPI_Reduce, the root"),
    counted("counted_put", "rma_count", "MPI_Put"),
    counted("counted_fetch_and_op", "rma_count", "MPI_Fetch_and_op"),
    counted("counted_compare_and_swap", "rma_count", "MPI_Compare_and_swap"),
    counted("counted_accumulate", "rma_count", "MPI_Accumulate"),
    counted("counted_flush", "rma_count", "MPI_Win_flush"),
    counted("counted_lock", "rma_count", "MPI_Win_lock, exclusive, and MPI_Win_unlock"),
    counted(
        "counted_lock_nocheck",
        "epoch_count",
        "MPI_Win_lock, exclusive, with MPI_MODE_NOCHECK, and MPI_Win_unlock",
    ),
    counted("counted_locked_put", "epoch_count", "MPI_Win_lock, exclusive, MPI_Put and MPI_Win_unlock"),
    counted(
        "counted_locked_put_nocheck",
        "epoch_count",
        "MPI_Win_lock, exclusive, with MPI_MODE_NOCHECK, MPI_Put and MPI_Win_unlock",
    ),
    counted("counted_start", "epoch_count", "MPI_Win_start after the post"),
    counted("counted_start_nocheck", "epoch_count", "MPI_Win_start after the post, both with MPI_MODE_NOCHECK"),
    counted("counted_idle_fence", "epoch_count", "MPI_Win_fence, MPI_MODE_NOPRECEDE with MPI_MODE_NOSUCCEED"),
];

/// Sum of all instructions in a callgrind output file.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("totals:").or_else(|| line.strip_prefix("summary:")))?;
    line.split_whitespace().next()?.parse().ok()
}

fn run(session: &Session, library: &Library, counted: &Counted, rounds: u64, file: &Path) -> Result<u64, String> {
    // A file of an earlier run must not be taken for this one's.
    let _ = fs::remove_file(file);
    let before: Vec<String> = vec![
        "valgrind".into(),
        "--tool=callgrind".into(),
        "--collect-atstart=no".into(),
        format!("--toggle-collect={}", counted.function),
        format!("--callgrind-out-file={}", file.display()),
    ];
    let arguments: Vec<String> =
        [counted.benchmark, "--sizes", "8", "--iterations", &rounds.to_string()].map(String::from).to_vec();
    let groups: [(usize, &[String], &[String]); 2] = [(1, &before, &arguments), (1, &[], &arguments)];
    let Outcome { failure, .. } = session.launch(library, Binding::Bound, &groups);
    if let Some(reason) = failure {
        return Err(reason);
    }
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    total(&text).ok_or_else(|| format!("no totals in {}", file.display()))
}

/// Instructions of one round.
fn of_library(session: &Session, library: &Library, counted: &Counted, folder: &Path) -> Result<f64, String> {
    let file = folder.join(format!("callgrind.{}.{}", library.name, counted.function));
    let short = run(session, library, counted, SHORT, &file)?;
    let long = run(session, library, counted, LONG, &file)?;
    if long <= short {
        let calls = counted.calls;
        return Err(format!("{calls}: {LONG} rounds took no more instructions than {SHORT}"));
    }
    Ok((long - short) as f64 / (LONG - SHORT) as f64)
}

/// Counts and prints a table. Skips aloud without valgrind.
pub fn count(session: &mut Session) -> Result<(), String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("SKIPPED instructions: valgrind is not installed");
        return Ok(());
    }
    println!(
        "Instructions of calls on 8 bytes between two ranks. A message is there before it is received, so\n\
         nothing is counted that waits. One-sided calls are on memory that MPI_Win_allocate gave.\n"
    );
    let libraries = session.libraries.clone();
    let labels: Vec<&str> = libraries.iter().map(|library| library.label.as_str()).collect();
    println!("| calls | {} |", labels.join(" | "));
    println!("|---|{}", "---|".repeat(labels.len()));
    for counted in &COUNTED {
        let mut row = format!("| {} |", counted.calls);
        for library in &libraries {
            let folder = session.output.clone();
            match of_library(session, library, counted, &folder) {
                Ok(instructions) => row += &format!(" {instructions:.0} |"),
                Err(reason) => {
                    row += " |";
                    session.problem(&library.name, "instructions", reason);
                }
            }
        }
        println!("{row}");
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
