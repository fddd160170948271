//! The report: markdown tables for people, CSV and JSON for programs.

use crate::cores;
use crate::figures::{Row, Summary};
use crate::library::Library;
use crate::session::Session;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Three significant digits.
pub fn short(value: f64) -> String {
    let magnitude = value.abs();
    let digits = match magnitude {
        m if m == 0.0 || !m.is_finite() => 0,
        m => (2 - m.log10().floor() as i32).clamp(0, 6) as usize,
    };
    format!("{value:.digits$}")
}

/// Bytes as people write them; start-up rows count ranks instead.
pub fn size(row: &Row) -> String {
    match row.size {
        peers if matches!(row.unit.as_str(), "KiB" | "pairs") => format!("{peers} peers"),
        ranks if matches!(row.unit.as_str(), "ms" | "MiB") => format!("{ranks} ranks"),
        bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

/// Whether `a` beats `b` in this row.
fn better(row: &Row, a: f64, b: f64) -> bool {
    if row.higher_is_better() { a > b } else { a < b }
}

/// How far Tern is ahead of the best peer: a ratio above 1 when it is better, whatever the unit;
/// for shares the difference in percentage points. Figures from bad placements are not compared.
fn lead(row: &Row, tern: Option<Summary>, peers: &[Option<Summary>]) -> Option<String> {
    let tern = tern.filter(|summary| !summary.far)?.median;
    let near = peers.iter().flatten().filter(|summary| !summary.far);
    let best = near.map(|summary| summary.median);
    let best = best.reduce(|a, b| if better(row, a, b) { a } else { b })?;
    Some(if row.is_share() {
        format!("{:+.1} points", tern - best)
    } else if row.higher_is_better() {
        format!("{:.2}", tern / best)
    } else {
        format!("{:.2}", best / tern)
    })
}

pub fn cell(row: &Row, summary: Option<Summary>, all: &[Option<Summary>]) -> String {
    let Some(summary) = summary else {
        return "-".to_string();
    };
    let text = short(summary.median);
    if summary.far {
        return format!("({text})");
    }
    let mut near = all.iter().flatten().filter(|other| !other.far);
    let best = !near.any(|other| better(row, other.median, summary.median));
    let text = if best { format!("**{text}**") } else { text };
    format!("{text} ±{}", short(summary.spread))
}

/// The tables of the rows that are wanted, one for each title. A table has a column for each library that has a figure in it.
pub fn tables(session: &Session, wanted: impl Fn(&Row) -> bool) -> String {
    let mut text = String::new();
    // Rows of a title stand together, titles in the order in which they came first.
    let mut rows: Vec<_> = session.figures.rows().filter(|(row, _)| wanted(row)).collect();
    let titles: Vec<String> = rows.iter().map(|(row, _)| row.title.clone()).collect();
    rows.sort_by_key(|(row, _)| titles.iter().position(|title| *title == row.title));
    for table in rows.chunk_by(|(a, _), (b, _)| a.title == b.title) {
        let has_figure = |library: &&Library| table.iter().any(|(_, f)| f(&library.name).is_some());
        let libraries: Vec<&Library> = session.libraries.iter().filter(has_figure).collect();
        let own = libraries.iter().position(|library| library.is_plain_tern());
        let labels: Vec<&str> = libraries.iter().map(|l| l.label.as_str()).collect();
        let _ = write!(text, "\n**{}**\n\n| operation | size | unit | {} |", table[0].0.title, labels.join(" | "));
        text += if own.is_some() { " Tern's lead |\n" } else { "\n" };
        let columns = 3 + labels.len() + usize::from(own.is_some());
        let _ = writeln!(text, "|{}", "---|".repeat(columns));
        for (row, summary) in table {
            let all: Vec<Option<Summary>> = libraries.iter().map(|l| summary(&l.name)).collect();
            let cells: Vec<String> = all.iter().map(|one| cell(row, *one, &all)).collect();
            let name = &row.benchmark;
            let _ = write!(text, "| {name} | {} | {} | {} |", size(row), row.unit, cells.join(" | "));
            if let Some(own) = own {
                let is_peer = |place: &usize| !libraries[*place].is_tern();
                let peers: Vec<_> = (0..all.len()).filter(is_peer).map(|p| all[p]).collect();
                let lead = lead(row, all[own], &peers).unwrap_or_else(|| "-".to_string());
                let _ = write!(text, " {lead} |");
            }
            text.push('\n');
        }
    }
    text
}

/// The whole report for people.
pub fn markdown(session: &Session) -> String {
    let mut text = format!(
        "{}, cores {:?}, Linux {}. Medians of {}, libraries in turn, ± half the interquartile \
         range. Bold: the best. Tern's lead: how many times better Tern is than the best of the \
         others, below 1 worse.\n",
        cores::model(),
        session.cores,
        cores::kernel(),
        if session.added { "one round or more".to_string() } else { format!("{} rounds", session.rounds) },
    );
    if let Some((median, bad)) = session.figures.placement() {
        let _ = writeln!(
            text,
            "\nA cache line took {median:.0} ns from core to core (median over the launches). {:.0} % of the \
             values come from a placement more than twice as far, or where both cores are threads of \
             one, or from a launch during which the host gave more than 3 % of their time to others; they \
             count only where there are no others, and then stand in parentheses.",
            100.0 * bad
        );
    }
    text += &tables(session, |_| true);
    if !session.problems.is_empty() {
        text += "\nSkipped or failed:\n";
    }
    for problem in &session.problems {
        let _ = writeln!(text, "- {}, {}: {}", problem.library, problem.what, problem.reason);
    }
    text
}

fn document(session: &Session) -> Value {
    let libraries: Vec<Value> =
        session.libraries.iter().map(|library| json!({"name": library.name, "label": library.label})).collect();
    let mut figures = Vec::new();
    for (row, summary) in session.figures.rows() {
        for library in &session.libraries {
            if let Some(Summary { median, spread, rounds, far }) = summary(&library.name) {
                figures.push(json!({
                    "title": row.title, "benchmark": row.benchmark, "size": row.size,
                    "unit": row.unit, "ranks": row.ranks, "library": library.name,
                    "median": median, "spread": spread, "rounds": rounds, "far": far,
                    "higher_is_better": row.higher_is_better(),
                }));
            }
        }
    }
    let problems: Vec<Value> =
        session.problems.iter().map(|p| json!({"library": p.library, "what": p.what, "reason": p.reason})).collect();
    json!({
        "processor": cores::model(), "kernel": cores::kernel(), "cores": session.cores,
        "line_ns": session.figures.placement().map(|(median, _)| median),
        "libraries": libraries, "figures": figures, "problems": problems,
    })
}

/// Writes `report.md`, `figures.csv` and `figures.json` to `output`.
pub fn write(session: &Session, output: &Path) -> Result<(), String> {
    let text = markdown(session);
    let json = serde_json::to_string_pretty(&document(session)).map_err(|e| e.to_string())?;
    for (name, content) in [("report.md", text), ("figures.csv", session.figures.csv()), ("figures.json", json)] {
        let path = output.join(name);
        fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(unit: &str) -> Row {
        Row { title: "t".into(), benchmark: "b".into(), size: 65536, unit: unit.into(), ranks: 2 }
    }

    fn summary(median: f64) -> Option<Summary> {
        Some(Summary { median, spread: 0.0, rounds: 3, far: false })
    }

    #[test]
    fn three_digits_whatever_the_magnitude() {
        let values = [0.1034, 1.2345, 12.345, 123.45, 1234.5, 0.0, 0.0161];
        let shown: Vec<String> = values.iter().map(|value| short(*value)).collect();
        assert_eq!(shown, ["0.103", "1.23", "12.3", "123", "1234", "0", "0.0161"]);
    }

    #[test]
    fn the_lead_is_above_one_when_tern_is_better() {
        let peers = [summary(2.0), None, summary(4.0)];
        let shown = |unit, own| lead(&row(unit), summary(own), &peers).unwrap();
        assert_eq!(shown("us", 1.0), "2.00");
        assert_eq!(shown("us", 4.0), "0.50");
        assert_eq!(shown("GB/s", 8.0), "2.00");
        assert_eq!(shown("%", 95.0), "+91.0 points");
        assert_eq!(lead(&row("us"), None, &peers), None);
        assert_eq!(lead(&row("us"), summary(1.0), &[None]), None);
    }

    #[test]
    fn only_the_best_is_bold() {
        let all = [summary(1.0), summary(2.0), None];
        assert_eq!(cell(&row("us"), all[0], &all), "**1.00** ±0");
        assert_eq!(cell(&row("us"), all[1], &all), "2.00 ±0");
        assert_eq!(cell(&row("GB/s"), all[1], &all), "**2.00** ±0");
        assert_eq!(cell(&row("us"), None, &all), "-");
        let far = |median| {
            let summary = summary(median)?;
            Some(Summary { far: true, ..summary })
        };
        let all = [far(1.0), all[1], None];
        assert_eq!(cell(&row("us"), all[0], &all), "(1.00)");
        assert_eq!(cell(&row("us"), all[1], &all), "**2.00** ±0");
        assert_eq!(lead(&row("us"), all[0], &all[1..]), None);
    }

    #[test]
    fn sizes_are_bytes_or_ranks() {
        assert_eq!(size(&row("us")), "64 KiB");
        assert_eq!(size(&row("ms")), "65536 ranks");
        assert_eq!(size(&Row { size: 1000, ..row("us") }), "1000 B");
    }
}
