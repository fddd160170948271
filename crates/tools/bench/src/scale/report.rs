//! The report for people, of the results alone.

use super::choice::MEMORY_SHARE;
use super::plots::Plot;
use super::results::{LineOf, Results};
use super::verdict::{Cell, Range, cells, losses, ranges, sum};
use crate::figures::{Row, Summary};
use crate::report::{self, cell, short};
use std::fmt::Write;

/// Losses that are told one by one.
const TOLD: usize = 40;

/// `1 cell`, `2 cells`.
pub fn many(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The size of a row; a barrier has none.
fn bytes(row: &Row) -> String {
    if row.size == 0 { "-".to_string() } else { report::bytes(row.size) }
}

fn ranks(range: &Range) -> String {
    match range.ranks {
        [least, most] if least == most => format!("{most} ranks"),
        [least, most] => format!("{least} to {most} ranks"),
    }
}

/// How Tern stands, level by level.
fn verdict(results: &Results, cells: &[Cell]) -> String {
    if results.own().is_none() {
        return "Tern as it comes was not measured.\n".to_string();
    }
    if cells.is_empty() {
        return "No peer was measured beside Tern, so there is no verdict.\n".to_string();
    }
    let mut text = String::new();
    for range in ranges(results) {
        let Some(sum) = sum(cells.iter().filter(|cell| range.has(cell))) else { continue };
        let all = sum.ahead + sum.even + sum.behind;
        let _ = writeln!(
            text,
            "- {}, {}: of {} Tern is ahead in {}, even in {} and behind in {}; half of the ratios are above {:.2}.",
            ranks(&range),
            range.place,
            many(all, "cell"),
            sum.ahead,
            sum.even,
            sum.behind,
            sum.median
        );
    }
    text
}

/// The median ratio of each collective in each range of ranks.
fn overview(results: &Results, cells: &[Cell]) -> String {
    let ranges: Vec<Range> =
        ranges(results).into_iter().filter(|range| cells.iter().any(|cell| range.has(cell))).collect();
    let heads: Vec<String> = ranges.iter().map(ranks).collect();
    let mut text = format!("\n| collective | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for operation in results.operations() {
        let of = |range: &Range| {
            let there = cells.iter().filter(|cell| range.has(cell) && cell.row.benchmark == operation);
            sum(there).map_or("-".to_string(), |sum| match sum.behind {
                0 => format!("{:.2}", sum.median),
                behind => format!("{:.2}, {behind} behind", sum.median),
            })
        };
        let columns: Vec<String> = ranges.iter().map(of).collect();
        let _ = writeln!(text, "| {operation} | {} |", columns.join(" | "));
    }
    text
}

/// Where Tern loses, the worst first.
fn lost(cells: &[Cell]) -> String {
    let losses = losses(cells);
    if losses.is_empty() {
        return "Nowhere.\n".to_string();
    }
    let mut text =
        "| collective | ranks | size | Tern, us | best peer, us | which | ratio |\n|---|---|---|---|---|---|---|\n"
            .to_string();
    for Cell { row, own, peer, name, ratio, .. } in losses.iter().take(TOLD) {
        let (own, peer) = (short(own.median), short(peer.median));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {own} | {peer} | {name} | {ratio:.2} |",
            row.benchmark,
            row.ranks,
            bytes(row)
        );
    }
    if losses.len() > TOLD {
        let _ = writeln!(text, "\nThe tables below have {} more.", losses.len() - TOLD);
    }
    text
}

/// The table of one collective and number of ranks.
fn table(results: &Results, cells: &[Cell], operation: &str, ranks: usize) -> String {
    let of_table = |row: &Row| row.benchmark == operation && row.ranks == ranks;
    let rows: Vec<_> = results.figures.rows().filter(|(row, _)| of_table(row)).collect();
    let has_figure = |line: &&LineOf| rows.iter().any(|(_, summary)| summary(&line.name).is_some());
    let lines: Vec<&LineOf> = results.lines.iter().filter(has_figure).collect();
    if lines.is_empty() {
        return String::new();
    }
    let labels: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
    let mut text = format!("\n**{operation}, {ranks} ranks** (us)\n\n| size | {} | ratio | n |\n", labels.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(labels.len() + 3));
    for (row, summary) in &rows {
        let all: Vec<Option<Summary>> = lines.iter().map(|line| summary(&line.name)).collect();
        let columns: Vec<String> = all.iter().map(|one| cell(row, *one, &all)).collect();
        let ratio = cells.iter().find(|cell| cell.row == *row).map_or("-".into(), |cell| format!("{:.2}", cell.ratio));
        let fewest = all.iter().flatten().map(|one| one.count).min().unwrap_or(0);
        let _ = writeln!(text, "| {} | {} | {ratio} | {fewest} |", bytes(row), columns.join(" | "));
    }
    text
}

/// What was measured, where, how.
fn head(results: &Results) -> String {
    let (rounds, date, commit, version) =
        (many(results.rounds, "round"), &results.date, &results.commit, &results.version);
    let quick = if results.quick { " A quick look: it shows that it runs, and compares nothing." } else { "" };
    let mut text = format!(
        "# Collectives on {}\n\nMeasured by `tern-bench scale` of Tern {version}, commit {commit}, on {date}.{quick}\n\n\
         Medians of {rounds}, in which the lines took turns, ± half the interquartile range. The slowest rank counts. Each rank has a core of its own, \
         and neighbours stand side by side, unless there are more ranks than cores. Bold: the best. Ratio: the best peer's time by Tern's, above 1 Tern \
         is ahead. Even are figures within 5 %, or no further apart than they spread. n: values behind a figure of the line that has fewest. In \
         parentheses: measured while others had the cores, and compared with nothing. The buffers of all ranks have at most 1/{MEMORY_SHARE} of the memory.\n",
        results.said("processor")
    );
    text += "\n| machine | |\n|---|---|\n";
    for (name, words) in &results.about {
        let _ = writeln!(text, "| {name} | {words} |");
    }
    text += "\n| line | settings |\n|---|---|\n";
    for LineOf { label, settings, .. } in &results.lines {
        let settings = if settings.is_empty() { "as it comes" } else { settings };
        let _ = writeln!(text, "| {label} | {settings} |");
    }
    text
}

fn missing(results: &Results) -> String {
    let mut text = String::new();
    for problem in &results.problems {
        let _ = writeln!(text, "- {}, {}: {}", problem.library, problem.what, problem.reason);
    }
    text
}

/// The whole report. `plots` stand beside it.
pub fn markdown(results: &Results, plots: &[Plot]) -> String {
    let cells = cells(results);
    let mut text = head(results);
    if !cells.is_empty() {
        let _ = write!(text, "\n## Where Tern loses\n\n{}", lost(&cells));
    }
    let _ = write!(text, "\n## By level\n\n{}", verdict(results, &cells));
    if !cells.is_empty() {
        text += "\nMedian ratios, and how many cells are behind:\n";
        text += &overview(results, &cells);
    }
    if !results.problems.is_empty() {
        let _ = write!(text, "\n## Skipped or failed\n\n{}", missing(results));
    }
    if !plots.is_empty() {
        text += "\n## Plots\n";
        plots.iter().for_each(|plot| text += &format!("\n![{}]({})\n", plot.title, plot.file));
    }
    text += "\n## Figures\n";
    for operation in results.operations() {
        for ranks in results.ranks() {
            text += &table(results, &cells, &operation, ranks);
        }
    }
    text
}

/// The verdict, what Tern loses most, and what is missing, for a terminal.
pub fn summary(results: &Results) -> String {
    let cells = cells(results);
    let mut text = format!("{}, {}\n{}", results.said("processor"), results.date, verdict(results, &cells));
    for Cell { row, name, ratio, .. } in losses(&cells).iter().take(5) {
        let (operation, ranks, bytes) = (&row.benchmark, row.ranks, bytes(row));
        let _ = writeln!(text, "behind: {operation}, {ranks} ranks, {bytes}: {ratio:.2} of {name}");
    }
    let missing = missing(results);
    if !missing.is_empty() {
        let _ = write!(text, "Skipped or failed:\n{missing}");
    }
    text.trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::tests::{add, results};

    #[test]
    fn what_tern_loses_stands_first() {
        let text = markdown(&results(), &[]);
        let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("no `{words}` in\n{text}"));
        let row = place("| bcast | 96 | 1 KiB | 4.00 | 2.00 | openmpi-xhc | 0.50 |");
        assert!(place("## Where Tern loses") < row && row < place("## By level"));
        assert!(place("## By level") < place("## Figures"));
        for words in [
            "- 8 ranks, within a third-level cache: of 2 cells Tern is ahead in 1, even in 1 and behind in 0; half of the ratios are above 1.50.",
            "- 96 ranks, on the whole node: of 3 cells Tern is ahead in 2, even in 0 and behind in 1; half of the ratios are above 1.50.",
            "| bcast | 1.00 | 1.00, 1 behind |",
            "- impi, all: it is missing",
            "| openmpi-xhc | OMPI_MCA_coll_xhc_priority=40 |",
            "| kernel | Linux 6.1 |",
            "**bcast, 96 ranks** (us)",
            "| 1 KiB | 4.00 ±0 | **2.00** ±0 | 0.50 | 3 |",
            "| - | **1.00** ±0.0500 | 2.00 ±0.0250 | 2.00 | 3 |",
        ] {
            place(words);
        }
        assert!(!text.contains("**bcast, 192 ranks**"));
    }

    #[test]
    fn without_peers_nothing_is_claimed() {
        let mut results = results();
        results.lines.truncate(1);
        let text = markdown(&results, &[]);
        assert!(text.contains("No peer was measured beside Tern"), "{text}");
        assert!(!text.contains("Nowhere"), "{text}");
        results.lines.clear();
        assert!(markdown(&results, &[]).contains("Tern as it comes was not measured"));
    }

    #[test]
    fn many_losses_are_counted() {
        let mut results = results();
        for size in 1..=TOLD as u64 + 1 {
            add(&mut results.figures, ("scan", 96, 8 * size), "tern", &[9.0]);
            add(&mut results.figures, ("scan", 96, 8 * size), "openmpi-xhc", &[3.0]);
        }
        let text = markdown(&results, &[]);
        assert!(text.contains("\nThe tables below have 2 more."), "{text}");
        let short = summary(&results);
        assert_eq!(short.matches("behind: ").count(), 5, "{short}");
        assert!(short.contains("behind: scan, 96 ranks, 8 B: 0.33 of openmpi-xhc"), "{short}");
    }
}
