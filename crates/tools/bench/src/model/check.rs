//! The model of this machine beside the machine itself: the same program, with the same calls one behind the other.

use super::Stage;
use super::cells::{self, Cell};
use std::process::Command;
use tern_node::list;

/// Rounds of a cell, of which the quickest counts: others may have been on the cores in the rest.
const ROUNDS: u64 = 60;
/// Nanoseconds that a round takes, about.
const ROUND: f64 = 2e6;

/// Relative error from which on a cell is marked.
const LIMIT: f64 = 0.25;

/// Prints each cell's time in the model, on this machine, and the error.
pub fn run(stage: &Stage, operations: &[&'static str], sizes: &[u64]) -> Result<(), String> {
    let cores = tern_node::kernel_affinity();
    if stage.name != "here" || stage.ranks > cores.len() {
        return Err(format!("--check compares this machine (--machine here), with at most {} ranks", cores.len()));
    }
    let program = stage.compile()?;
    println!("{:<10} {:>8} {:>10} {:>10} {:>7}", "operation", "bytes", "model us", "here us", "error");
    let (mut within, mut all) = (0, 0);
    for operation in operations {
        let (cells, _) = cells::of(operation, sizes, stage.ranks);
        // As often as it takes until the library has learned what it learns, as it has on this machine.
        let often: Vec<Cell> = cells.iter().map(|cell| Cell { before: 100, calls: 16, ..*cell }).collect();
        let modelled = times(&stage.run(&words(&program, &often, 3))?.output)?;
        let calls = |cell: &Cell, time: f64| Cell {
            before: 200,
            calls: (ROUND / 1e3 / time).clamp(2.0, 5000.0) as u64,
            ..*cell
        };
        let cells: Vec<Cell> = cells.iter().zip(&modelled).map(|(cell, &time)| calls(cell, time)).collect();
        let real = times(&real(stage, &words(&program, &cells, ROUNDS))?)?;
        for ((cell, model), real) in cells.iter().zip(modelled).zip(real) {
            let error = model / real - 1.0;
            let mark = if error.abs() > LIMIT { " *" } else { "" };
            println!("{:<10} {:>8} {model:>10.2} {real:>10.2} {:>6.0}%{mark}", cell.operation, cell.bytes, error * 1e2);
            within += usize::from(error.abs() <= LIMIT);
            all += 1;
        }
    }
    println!("{within} of {all} within {:.0} %; the others are marked", LIMIT * 1e2);
    Ok(())
}

fn words(program: &str, cells: &[Cell], rounds: u64) -> Vec<String> {
    let head = [program.to_string(), "-t".to_string(), rounds.to_string()];
    head.into_iter().chain(cells.iter().map(Cell::word)).collect()
}

/// The last word of each line: microseconds.
fn times(output: &str) -> Result<Vec<f64>, String> {
    let time = |line: &str| line.split_whitespace().next_back()?.parse().ok();
    output.lines().map(time).collect::<Option<_>>().ok_or_else(|| format!("these are no figures: {output}"))
}

/// The output of the program on this machine, with the ordinary library.
fn real(stage: &Stage, words: &[String]) -> Result<String, String> {
    let mut command = Command::new(stage.places.tern.join("bin/mpiexec"));
    command.args(["-n", &stage.ranks.to_string()]).args(words);
    let done = command.output().map_err(|error| format!("mpiexec: {error}"))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => {
            Err(format!("on cores {}: {}", list(&tern_node::kernel_affinity()), String::from_utf8_lossy(&done.stderr)))
        }
    }
}
