//! What is measured without MPI: processes that copy between regions of memory, started round by round.

use super::experiments::{Direct, Experiment, Part};
use super::member;
use crate::Options;
use crate::figures::{Row, Sample, parse};
use crate::run::run;
use crate::session::Session;
use std::process::Command;
use std::time::Duration;

/// Columns of the tables: what [`member`] calls so.
pub const COLUMNS: [&str; 7] =
    ["sender writes", "receiver reads", "both halves", "region to region", "copy thread", "one region", "one for each"];

/// Bytes that a batch copies, and batches.
const VOLUME: u64 = 48 << 20;
const BATCHES: usize = 5;
/// The same with `--quick`.
const LITTLE: u64 = 8 << 20;
const FEW_BATCHES: usize = 3;

/// Measures what an experiment has of this kind. What fails is told.
pub fn measure(experiment: &Experiment, options: &Options, session: &mut Session) {
    let Some((direct, parts)) = experiment.direct else { return };
    for part in parts.iter().filter(|part| !part.is_left_out(options.quick) && is_wanted(part, options)) {
        eprintln!("{} processes without MPI: {}", part.ranks, part.benchmarks.join(", "));
        for _ in 0..session.rounds {
            if let Err(reason) = measure_once(direct, part, options, session) {
                session.problem("regions", part.title, reason);
                break;
            }
        }
    }
}

fn is_wanted(part: &Part, options: &Options) -> bool {
    options.only.is_empty() || part.benchmarks.iter().any(|name| options.only.iter().any(|wanted| wanted == name))
}

/// One round of a part.
///
/// Errors: the processes fail, or print no figure.
pub fn measure_once(direct: Direct, part: &Part, options: &Options, session: &mut Session) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let sizes = if options.sizes.is_empty() { part.sizes(options.quick) } else { options.sizes.clone() };
    let (volume, batches) = if options.quick { (LITTLE, FEW_BATCHES) } else { (VOLUME, BATCHES) };
    let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let task = match direct {
        Direct::Strategies => member::Task::Strategies,
        Direct::Regions => member::Task::Regions,
    };
    let mut command = Command::new(program);
    command.arg(member::COMMAND).args(["--task", task.name(), "--members", &part.ranks.to_string()]);
    command.args(["--lengths", &list(&sizes), "--volume", &volume.to_string(), "--batches", &batches.to_string()]);
    let cores: Vec<u64> = session.cores.iter().map(|core| *core as u64).collect();
    if part.ranks <= cores.len() {
        command.args(["--on", &list(&cores)]);
    }
    let outcome = run(&mut command, Duration::from_secs(options.timeout));
    let mut count = 0;
    for line in outcome.output.lines().filter_map(parse) {
        let column = line.benchmark.replace('-', " ");
        let Some(column) = COLUMNS.iter().find(|known| **known == column) else { continue };
        let (title, benchmark) = (part.title.to_string(), part.benchmarks[0].to_string());
        let row = Row { title, benchmark, size: line.size, unit: line.unit, ranks: part.ranks };
        session.figures.add(row, column, Sample { value: line.value, placement: None, others: 0.0 });
        count += 1;
    }
    match outcome.failure {
        Some(reason) => Err(reason),
        None if count == 0 => Err("it printed no figure".to_string()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_measured_by_some_task() {
        let of_members: Vec<String> =
            member::Task::ALL.iter().flat_map(|task| task.ways()).map(|way| way.to_string()).collect();
        let columns: Vec<String> = COLUMNS.iter().map(|name| name.replace(' ', "-")).collect();
        assert_eq!(of_members, columns);
    }
}
