//! Tables of what was measured, with what the first line saves against the second.

use super::experiments::Experiment;
use crate::figures::{Row, Summary};
use crate::report;
use crate::session::Session;
use std::fmt::Write;

/// By how many percent less time a line takes than the second of the experiment. `None`: nothing to compare.
pub fn saved(experiment: &Experiment, line: &str, row: &Row, summary: &dyn Fn(&str) -> Option<Summary>) -> Option<f64> {
    let [_, second, ..] = experiment.variants else { return None };
    let (first, second) = (summary(line)?.median, summary(second.name)?.median);
    if row.is_share() {
        return None;
    }
    let ratio = if row.higher_is_better() { second / first } else { first / second };
    Some(100.0 * (1.0 - ratio))
}

/// One table for each title.
pub fn text(session: &Session, experiment: &Experiment) -> String {
    let mut text = String::new();
    let mut rows: Vec<_> = session.figures.rows().filter(|(row, _)| experiment.has(&row.title)).collect();
    let titles: Vec<String> = rows.iter().map(|(row, _)| row.title.clone()).collect();
    rows.sort_by_key(|(row, _)| titles.iter().position(|title| *title == row.title));
    for table in rows.chunk_by(|(a, _), (b, _)| a.title == b.title) {
        let names: Vec<&str> = experiment.variants.iter().map(|variant| variant.name).collect();
        let gain = if experiment.gain { " time saved |" } else { "" };
        let _ = writeln!(text, "\n**{}**\n\n| | size | unit | {} |{gain}", table[0].0.title, names.join(" | "));
        let _ = writeln!(text, "|{}", "---|".repeat(3 + names.len() + usize::from(experiment.gain)));
        for (row, summary) in table {
            let all: Vec<Option<Summary>> = names.iter().map(|name| summary(name)).collect();
            let cells: Vec<String> = all.iter().map(|one| report::cell(row, *one, &all)).collect();
            let _ =
                write!(text, "| {} | {} | {} | {} |", row.benchmark, report::size(row), row.unit, cells.join(" | "));
            if experiment.gain {
                let saved = saved(experiment, names[0], row, summary).map(|percent| format!("{percent:+.1} %"));
                let _ = write!(text, " {} |", saved.unwrap_or_default());
            }
            text.push('\n');
        }
    }
    text
}
