//! The report: markdown tables for people, CSV and JSON for programs.

use crate::figures::{Row, Summary};
use crate::library::Library;
use crate::placement::Kind;
use crate::session::{Problem, Session};
use crate::suite::Job;
use crate::{cores, kept};
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A median of fewer values is hardly worth its name.
const FEW: usize = 3;

/// What was not there, and why, under a heading: the end of a report.
pub fn problems(session: &Session, heading: &str) -> String {
    let mut text = if session.problems.is_empty() { String::new() } else { format!("\n{heading}\n") };
    for Problem { library, what, reason } in &session.problems {
        let _ = writeln!(text, "- {library}, {what}: {reason}");
    }
    text
}

/// Three significant digits.
pub fn short(value: f64) -> String {
    let magnitude = value.abs();
    let digits = match magnitude {
        m if m == 0.0 || !m.is_finite() => 0,
        m => (2 - m.log10().floor() as i32).clamp(0, 6) as usize,
    };
    format!("{value:.digits$}")
}

/// The size of a row as people write it; start-up rows count ranks instead.
pub fn size(row: &Row) -> String {
    match row.size {
        peers if matches!(row.unit.as_str(), "KiB" | "pairs") => format!("{peers} peers"),
        ranks if row.counts_ranks() => format!("{ranks} ranks"),
        size => bytes(size),
    }
}

/// Bytes as people write them.
pub fn bytes(size: u64) -> String {
    match size {
        bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

/// Whether `a` beats `b` in this row.
fn better(row: &Row, a: f64, b: f64) -> bool {
    if row.higher_is_better() { a > b } else { a < b }
}

/// The place and the median of the best of these; `None` where all are missing or bad.
pub fn best(row: &Row, all: &[Option<Summary>]) -> Option<(usize, f64)> {
    let good = all.iter().enumerate().filter_map(|(place, one)| Some((place, one.filter(|one| !one.bad)?.median)));
    good.reduce(|a, b| if better(row, a.1, b.1) { a } else { b })
}

/// How far Tern is ahead of the best peer: a ratio above 1 when it is better, whatever the unit;
/// for shares the difference in percentage points. Figures from bad placements are not compared.
fn lead(row: &Row, tern: Option<Summary>, peers: &[Option<Summary>]) -> Option<String> {
    let tern = tern.filter(|summary| !summary.bad)?.median;
    let (_, best) = best(row, peers)?;
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
    if summary.bad {
        return format!("({text})");
    }
    let mut near = all.iter().flatten().filter(|other| !other.bad);
    let best = !near.any(|other| better(row, other.median, summary.median));
    let text = if best { format!("**{text}**") } else { text };
    // Of one or two values there is none to speak of.
    if summary.count < FEW { text } else { format!("{text} ±{}", short(summary.spread)) }
}

/// How many values stand behind the figures of a row: of the library with the fewest, and of the one with the most.
fn counts(all: &[Option<Summary>]) -> String {
    let counts = all.iter().flatten().map(|summary| if summary.bad { 0 } else { summary.count });
    match (counts.clone().min(), counts.max()) {
        (Some(least), Some(most)) if least < most => format!("{least}-{most}"),
        (least, _) => least.unwrap_or(0).to_string(),
    }
}

/// What the libraries, by name, have in a row.
type Line<'a, F> = (&'a Row, F);

/// The columns of a title's tables: of those libraries that have a figure there.
struct Columns<'a> {
    libraries: Vec<&'a Library>,
    own: Option<usize>,
}

impl<'a> Columns<'a> {
    fn of<F: Fn(&str) -> Option<Summary>>(session: &'a Session, table: &[Line<'_, F>]) -> Self {
        let has_figure = |library: &&Library| table.iter().any(|(_, f)| f(&library.name).is_some());
        let libraries: Vec<&Library> = session.libraries.iter().filter(has_figure).collect();
        let own = libraries.iter().position(|library| library.is_plain_tern());
        Self { libraries, own }
    }

    fn head(&self, title: &str) -> String {
        let labels: Vec<&str> = self.libraries.iter().map(|l| l.label.as_str()).collect();
        let lead = if self.own.is_some() { " Tern's lead |" } else { "" };
        let columns = 4 + labels.len() + usize::from(self.own.is_some());
        let labels = labels.join(" | ");
        format!("\n**{title}**\n\n| operation | size | unit | {labels} |{lead} n |\n|{}\n", "---|".repeat(columns))
    }

    fn summaries(&self, summary: &impl Fn(&str) -> Option<Summary>) -> Vec<Option<Summary>> {
        self.libraries.iter().map(|library| summary(&library.name)).collect()
    }

    fn row(&self, row: &Row, all: &[Option<Summary>]) -> String {
        let cells: Vec<String> = all.iter().map(|one| cell(row, *one, all)).collect();
        let mut text = format!("| {} | {} | {} | {} |", row.benchmark, size(row), row.unit, cells.join(" | "));
        if let Some(own) = self.own {
            let is_peer = |place: &usize| !self.libraries[*place].is_tern();
            let peers: Vec<_> = (0..all.len()).filter(is_peer).map(|place| all[place]).collect();
            let lead = lead(row, all[own], &peers).unwrap_or_else(|| "-".to_string());
            let _ = write!(text, " {lead} |");
        }
        let _ = writeln!(text, " {} |", counts(all));
        text
    }
}

/// The lines that are wanted, title by title. Titles stand in the order in which they came first.
fn by_title<'a, F>(lines: impl Iterator<Item = Line<'a, F>>, wanted: impl Fn(&Row) -> bool) -> Vec<Vec<Line<'a, F>>> {
    let mut tables: Vec<Vec<Line<'a, F>>> = Vec::new();
    for (row, summary) in lines.filter(|(row, _)| wanted(row)) {
        match tables.iter_mut().find(|table| table[0].0.title == row.title) {
            Some(table) => table.push((row, summary)),
            None => tables.push(vec![(row, summary)]),
        }
    }
    tables
}

/// The tables of the rows that are wanted: one for each title, and a further one of what was measured while the cores
/// were far apart, where that is of more than one library in at least half of the rows.
pub fn tables(session: &Session, wanted: impl Fn(&Row) -> bool) -> String {
    let mut text = String::new();
    let far = by_title(session.figures.far_rows(), &wanted);
    for (table, far) in by_title(session.figures.rows(), &wanted).iter().zip(&far) {
        let columns = Columns::of(session, table);
        let title = &table[0].0.title;
        text += &columns.head(title);
        for (row, summary) in table {
            text += &columns.row(row, &columns.summaries(summary));
        }
        let enough = columns.libraries.len().min(2);
        let far = far.iter().map(|(row, summary)| (row, columns.summaries(summary)));
        let far: Vec<_> = far.filter(|(_, all)| all.iter().flatten().count() >= enough).collect();
        if 2 * far.len() >= table.len() {
            text += &columns.head(&format!("{title}; cores far apart"));
            far.iter().for_each(|(row, all)| text += &columns.row(row, all));
        }
    }
    text
}

/// The whole report for people.
pub fn markdown(session: &Session) -> String {
    let mut text = format!(
        "{}, cores {:?}, Linux {}. Medians of {}, libraries in turn, ± half the interquartile \
         range. Bold: the best. Tern's lead: how many times better Tern is than the best of the \
         others, below 1 worse. n: from how many values a figure is, from the library with fewest to the one with \
         most; of fewer than 3 it is hardly worth its name.\n",
        cores::model(),
        session.cores,
        cores::kernel(),
        if session.added { "one round or more".to_string() } else { format!("{} rounds", session.rounds) },
    );
    text += &places(session);
    text += &tables(session, |_| true);
    text + &problems(session, "Skipped or failed:")
}

/// Where the cores were.
fn places(session: &Session) -> String {
    let [near, far] = [Kind::Near, Kind::Far].map(|kind| session.figures.placement(kind));
    let mut text = String::new();
    if let Some((ns, share)) = near {
        let _ = write!(
            text,
            "\nA cache line took {ns:.0} ns from core to core where the cores were as near each other as they \
             were seen, which is {:.0} % of the values",
            100.0 * share
        );
    }
    if let Some((ns, share)) = far {
        let _ = write!(
            text,
            "; for {:.0} % they were more than twice as far apart ({ns:.0} ns), and these have tables of their own \
             where that was often",
            100.0 * share
        );
    }
    if !text.is_empty() {
        text += ". Of others the place changed meanwhile, or both cores were threads of one, or the host gave more than \
             3 % of their time to others during the launch; where a table has nothing else, what there is stands in parentheses.\n";
    }
    text
}

/// The figures of all libraries in rows, for programs.
fn values<'a, F: Fn(&str) -> Option<Summary>>(
    session: &Session, rows: impl Iterator<Item = Line<'a, F>>,
) -> Vec<Value> {
    let mut figures = Vec::new();
    for (row, summary) in rows {
        for library in &session.libraries {
            if let Some(Summary { median, spread, count, bad }) = summary(&library.name) {
                figures.push(json!({
                    "title": row.title, "benchmark": row.benchmark, "size": row.size,
                    "unit": row.unit, "ranks": row.ranks, "library": library.name,
                    "median": median, "spread": spread, "count": count, "bad": bad,
                    "higher_is_better": row.higher_is_better(),
                }));
            }
        }
    }
    figures
}

fn document(session: &Session) -> Value {
    let libraries: Vec<Value> =
        session.libraries.iter().map(|library| json!({"name": library.name, "label": library.label})).collect();
    json!({
        "processor": cores::model(), "kernel": cores::kernel(), "cores": session.cores,
        "line_ns": session.figures.placement(Kind::Near).map(|(median, _)| median),
        "far_line_ns": session.figures.placement(Kind::Far).map(|(median, _)| median),
        "libraries": libraries, "problems": kept::written(&session.problems),
        "figures": values(session, session.figures.rows()),
        "far": values(session, session.figures.far_rows()),
    })
}

/// Runs all jobs, writes the report and prints it.
pub fn measure(session: &mut Session, jobs: &[Job]) -> Result<(), String> {
    session.asked(jobs)?;
    let measured = session.run(jobs, |session| write(session, &session.output));
    println!("{}", markdown(session));
    eprintln!("written: report.md, figures.csv, figures.json in {}", session.output.display());
    measured
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
        Some(Summary { median, spread: 0.0, count: 3, bad: false })
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
            Some(Summary { bad: true, ..summary })
        };
        let all = [far(1.0), all[1], None];
        assert_eq!(cell(&row("us"), all[0], &all), "(1.00)");
        assert_eq!(cell(&row("us"), all[1], &all), "**2.00** ±0");
        assert_eq!(lead(&row("us"), all[0], &all[1..]), None);
    }

    #[test]
    fn few_values_have_no_spread_and_are_counted() {
        let of = |count| summary(1.0).map(|summary| Summary { count, ..summary });
        assert_eq!(cell(&row("us"), of(2), &[of(2)]), "**1.00**");
        assert_eq!(counts(&[of(3), None, of(5)]), "3-5");
        assert_eq!(counts(&[of(4), of(4)]), "4");
        let bad = of(2).map(|summary| Summary { bad: true, ..summary });
        assert_eq!(counts(&[bad, of(4)]), "0-4");
    }

    #[test]
    fn sizes_are_bytes_or_ranks() {
        assert_eq!(size(&row("us")), "64 KiB");
        assert_eq!(size(&row("ms")), "65536 ranks");
        assert_eq!(size(&Row { size: 1000, ..row("us") }), "1000 B");
    }
}
