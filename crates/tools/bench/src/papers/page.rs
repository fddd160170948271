//! What is told of an entry, on the terminal and in a page for each paper.

use super::claims::{Medians, findings, lines};
use super::entries::PAPERS;
use super::experiments::node::KERNEL;
use super::registry::{Experiment, How, Paper};
use super::{Report, plots, repeat};
use crate::figures::{Row, Summary};
use crate::kept::Kept;
use crate::report::{cell, size};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// What the kernel takes for its copies, as a reason.
pub fn kernel_costs(medians: &Medians) -> Option<String> {
    let at = |benchmark, line| medians.of(KERNEL, benchmark, 1 << 20, line);
    let all = |benchmark| {
        let [mapped, cma, pages] = ["mapped copy", "CMA", "CMA, a byte of each page"].map(|line| at(benchmark, line));
        Some((mapped?, cma?, pages?))
    };
    let ((mapped, cma, pages), (mapped_off, cma_off, pages_off)) = (all("copy")?, all("copy_off")?);
    let empty = at("copy", "empty call")?;
    Some(format!(
        "By one process alone, an empty call takes {empty:.2} us here. Of 1 MiB by CMA, {cma:.0} us in cache, the work on its 256 pages is \
         {pages:.0} us, and a mapped copy takes {mapped:.0} us. Off cache these are {cma_off:.0}, {pages_off:.0} and {mapped_off:.0} us"
    ))
}

/// Least and greatest, as people write them.
fn sizes(rows: &[Row]) -> Option<String> {
    let mut known: Vec<&Row> = rows.iter().filter(|row| row.size > 0).collect();
    known.sort_by_key(|row| row.size);
    match known.as_slice() {
        [] => None,
        [only] => Some(size_of(only)),
        [first, .., last] if first.size == last.size => Some(size_of(first)),
        [first, .., last] => Some(format!("{} to {}", size_of(first), size_of(last))),
    }
}

fn size_of(row: &Row) -> String {
    match (row.size, row.benchmark.as_str()) {
        (0, _) => "-".to_string(),
        (count, "search") => format!("{count} buffers"),
        _ => size(row),
    }
}

/// Ranks and sizes of the rows that are shown, and where and when they were measured.
fn run_of(kept: &Kept, rows: &[Row]) -> String {
    let mut ranks: Vec<usize> = rows.iter().map(|row| row.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
    let few = if kept.quick { ", a quick look" } else { "" };
    let sizes = sizes(rows).map_or(String::new(), |sizes| format!("{sizes}, "));
    let (rounds, commit, date) = (kept.rounds, &kept.commit, &kept.date);
    let many = |count: usize| if count == 1 { "" } else { "s" };
    let last = ranks.last().map_or(0, |last| last.parse().unwrap_or(0));
    let (s, r) = (many(last), many(rounds));
    let ranks = match ranks.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        all => all.join(""),
    };
    format!("{sizes}{ranks} rank{s}, {rounds} round{r}{few}, commit {commit}, {date}")
}

/// The rows of an experiment that an entry shows.
fn rows_of(report: &Report, kept: &Kept) -> Vec<Row> {
    let titles = repeat(report.entry).map_or(&[][..], |repeat| repeat.titles);
    let shown = |row: &&Row| titles.is_empty() || titles.contains(&row.title.as_str()) || row.title == KERNEL;
    kept.figures.rows().map(|(row, _)| row).filter(shown).cloned().collect()
}

/// The tables of an experiment, one for each title.
fn tables(experiment: &Experiment, kept: &Kept, rows: &[Row], peers: &[String]) -> String {
    let mut titles: BTreeMap<usize, &str> = BTreeMap::new();
    for (place, row) in rows.iter().enumerate() {
        if !titles.values().any(|title| *title == row.title) {
            titles.insert(place, &row.title);
        }
    }
    let mut text = String::new();
    for title in titles.values() {
        let of_title = |row: &Row| row.title == **title && rows.contains(row);
        let has_figure =
            |line: &String| kept.figures.rows().any(|(row, summary)| of_title(row) && summary(line).is_some());
        let names: Vec<String> = lines(experiment, peers).into_iter().filter(has_figure).collect();
        let label = |name: &String| kept.labels.get(name).unwrap_or(name).clone();
        let labels: Vec<String> = names.iter().map(label).collect();
        let _ = writeln!(text, "\n**{title}**\n\n| operation | size | unit | {} | n |", labels.join(" | "));
        let _ = writeln!(text, "|{}", "---|".repeat(names.len() + 4));
        for (row, summary) in kept.figures.rows().filter(|(row, _)| of_title(row)) {
            let all: Vec<Option<Summary>> = names.iter().map(|name| summary(name)).collect();
            let cells: Vec<String> = all.iter().map(|one| cell(row, *one, &all)).collect();
            let fewest = all.iter().flatten().map(|one| one.count).min().unwrap_or(0);
            let (name, size, unit) = (&row.benchmark, size_of(row), &row.unit);
            let _ = writeln!(text, "| {name} | {size} | {unit} | {} | {fewest} |", cells.join(" | "));
        }
    }
    text
}

/// All that is told of an entry, below a heading of this level.
pub fn section(report: &Report, peers: &[String], level: usize) -> String {
    let title = report.entry.title();
    let heading = title[..1].to_uppercase() + &title[1..];
    let mut text = format!("{} {heading}\n\n*Paper:* {}\n", "#".repeat(level), report.entry.found);
    if let Some(repeat) = repeat(report.entry) {
        let _ = writeln!(text, "\n*Here:* {}\n", repeat.here);
        for finding in findings(repeat, &report.medians).into_iter().flatten() {
            let _ = writeln!(text, "- {}: {}.", if finding.holds { "holds" } else { "does not hold" }, finding.text);
        }
        for (experiment, kept) in report.kept.iter().filter(|(_, kept)| kept.rounds > 0) {
            let rows = rows_of(report, kept);
            let settings = experiment.lines.iter().filter(|line| !line.settings.is_empty());
            let settings: Vec<String> = settings.map(|line| format!("{}: `{}`", line.name, line.shown())).collect();
            let _ = writeln!(text, "\n*Measured:* {}; {}, Linux {}.", run_of(kept, &rows), kept.processor, kept.kernel);
            if !settings.is_empty() {
                let _ = writeln!(text, "\n*Settings:* {}.", settings.join("; "));
            }
            text += &tables(experiment, kept, &rows, peers);
            for problem in &kept.problems {
                let _ = writeln!(text, "\nNot there: {}, {}: {}.", problem.library, problem.what, problem.reason);
            }
        }
        if plots::has_figures(report, peers) {
            let _ = writeln!(text, "\n![{heading}](plots/{})", plots::file(report));
        }
    }
    let _ = writeln!(text, "\n**Verdict:** {}.", report.told());
    text
}

/// How many entries came to each verdict.
pub fn counts(reports: &[Report]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for report in reports {
        *counts.entry(report.verdict.kind()).or_default() += 1;
    }
    let all: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    format!("{} figures and tables: {}.", reports.len(), all.join("; "))
}

/// What stands in the table for how an entry is repeated, and for the run.
fn cells(report: &Report) -> [String; 2] {
    match &report.entry.how {
        How::Drawn(_) | How::Impossible(_) => ["-".to_string(), "-".to_string()],
        How::Measured(repeat) => {
            let names: Vec<&str> = repeat.experiments.iter().map(|experiment| experiment.name).collect();
            let shown = |(_, kept): &&(&Experiment, Kept)| kept.rounds > 0;
            let run = report.kept.iter().find(shown).map(|(_, kept)| run_of(kept, &rows_of(report, kept)));
            let anchor = report.entry.title().replace(' ', "-");
            [format!("[{}](#{anchor})", names.join(", ")), run.unwrap_or_else(|| "-".to_string())]
        }
    }
}

/// The page of a paper.
fn page(paper: &'static Paper, peers: &[String], output: &Path) -> (String, Vec<Report>) {
    let reports: Vec<Report> = paper.entries.iter().map(|entry| Report::of((paper, entry), peers, output)).collect();
    let mut text = format!(
        "# {}\n\n{}.\n\n{}\n\nThis page is written by one command, which goes on where an earlier run of it stopped:\n\n\
         \x20   tern-bench papers --paper {} --npb NPB3.3-MPI --markdown docs/papers\n\n{}\n\n\
         | | what the paper found | here | run | verdict |\n|---|---|---|---|---|\n",
        paper.title,
        paper.source,
        paper.about,
        paper.name,
        counts(&reports)
    );
    for report in &reports {
        let [here, run] = cells(report);
        let (title, found, verdict) = (report.entry.title(), report.entry.found, report.told());
        let _ = writeln!(text, "| {title} | {found} | {here} | {run} | {verdict} |");
    }
    text += "\nMedians of the rounds, ± half the interquartile range; the lines took turns. Bold: the best. n: values behind a figure. \
             In parentheses: measured while others computed.\n";
    for report in reports.iter().filter(|report| repeat(report.entry).is_some()) {
        let _ = write!(text, "\n{}", section(report, peers, 2));
    }
    (text, reports)
}

/// Writes the pages of all papers, and their plots, to a folder.
pub fn write(folder: &Path, peers: &[String], output: &Path) -> Result<(), String> {
    let told = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let pictures = folder.join("plots");
    fs::create_dir_all(&pictures).map_err(|error| told(&pictures, error))?;
    for paper in PAPERS {
        let (text, reports) = page(paper, peers, output);
        for report in &reports {
            plots::draw(report, peers, &pictures)?;
        }
        let path = folder.join(paper.name).with_extension("md");
        fs::write(&path, text).map_err(|error| told(&path, error))?;
        eprintln!("written: {}", path.display());
    }
    Ok(())
}
