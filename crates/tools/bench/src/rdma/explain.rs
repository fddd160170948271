//! What Tern itself says about what it has measured.

use super::experiments::Experiment;
use crate::Places;
use crate::figures::{Row, Sample};
use crate::line::Setting;
use crate::run::run;
use crate::session::Session;
use std::process::Command;
use std::time::Duration;

/// What Tern explains of an experiment with the settings of its first line, as a text; its numbers go to the figures. Nothing
/// when there is nothing to explain, or when that fails, which is told.
pub fn explain(experiment: &Experiment, places: &Places, session: &mut Session) -> String {
    let (Some((title, start)), Some(variant)) = (experiment.explained, experiment.variants.first()) else {
        return String::new();
    };
    let text = table(&said(variant, experiment.link, places, session), start);
    for (size, uses) in counts(&text) {
        let (title, benchmark, unit) = (title.to_string(), "break_even".to_string(), "uses".to_string());
        let row = Row { title, benchmark, size, unit, ranks: 2 };
        session.figures.add(row, variant.name, Sample { value: uses, placement: None, others: 0.0 });
    }
    if text.is_empty() {
        session.problem(variant.name, title, format!("Tern prints nothing that begins with `{start}`"));
    }
    text
}

/// What Tern says with a line's settings on a link.
pub fn said(line: &Setting, link: &str, places: &Places, session: &Session) -> String {
    let mut command = Command::new("sh");
    // The explanation goes to the standard error.
    command.args(["-c", "exec \"$@\" 2>&1", "sh"]).arg(places.tern.join("bin/mpiexec"));
    command.args(["--nodes", "2", "-n", "2"]).arg(session.output.join("tern_mpi_bench.abi"));
    command.args(["pingpong_nonblocking", "--sizes", "4096", "--time-ms", "5", "--batches", "3"]);
    command.env("TERN_EXPLAIN", "1").env("TERN_LINK", link).env("LD_LIBRARY_PATH", places.tern.join("lib"));
    command.envs(line.settings.iter().copied());
    run(&mut command, Duration::from_secs(60)).output
}

/// Of frequently used buffers by size: nanoseconds of a copy, and the break-even count where there is one.
pub fn costs(said: &str) -> Vec<(u64, f64, Option<f64>)> {
    let cost = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[size, _, copy, _, even, _] = &words[..] else { return None };
        Some((size.parse().ok()?, copy.parse().ok()?, even.parse().ok()))
    };
    table(said, "frequently used buffers").lines().filter_map(cost).collect()
}

/// Numbers below a heading. Sizes that never go in one packet are left out.
fn table(said: &str, start: &str) -> String {
    let lines = said.lines().skip_while(|line| !line.starts_with(start)).enumerate();
    let lines = lines.take_while(|(place, line)| *place == 0 || line.starts_with(' '));
    lines.filter(|(_, line)| !line.contains(" inf ")).map(|(_, line)| format!("{line}\n")).collect()
}

/// Sizes and break-even counts of the table, where there is such a count.
fn counts(table: &str) -> Vec<(u64, f64)> {
    let count = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[size, _, _, _, even, _] = &words[..] else { return None };
        Some((size.parse().ok()?, even.parse().ok()?))
    };
    table.lines().filter_map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_break_even_counts_is_read() {
        let said = "something else\nfrequent, at 25 %:\n    bytes  register ns copy ns look ns even at\n      128  11673 3.7 51.6 never never\n\
                    \x20     8192 12352 87.4 57.5 414 104\n    16384 inf 0.0 0.0 never never\npingpong 8 1 us\n";
        let table = table(said, "frequent");
        assert!(table.starts_with("frequent") && table.ends_with("414 104\n"), "{table}");
        assert_eq!(counts(&table), [(8192, 414.0)]);
        assert_eq!(
            costs(&said.replace("frequent,", "frequently used buffers,")),
            [(128, 3.7, None), (8192, 87.4, Some(414.0))]
        );
        assert_eq!(super::table(said, "nothing"), "");
    }
}
