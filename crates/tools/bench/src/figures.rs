//! Figures: reading them from the program's output, and medians over the rounds.

use crate::placement::{Kind, Placement, is_disturbed, near_ns};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a figure is about: one row of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub title: String,
    pub benchmark: String,
    /// Bytes, or ranks for start-up figures and those of lost ranks.
    pub size: u64,
    pub unit: String,
    pub ranks: usize,
}

impl Row {
    /// Rates, bandwidths and shares are better when higher; times and memory when lower.
    pub fn higher_is_better(&self) -> bool {
        self.unit.ends_with("/s") || (self.is_share() && !self.benchmark.ends_with("_waits"))
    }

    /// Whether its size is a number of ranks, and not of bytes.
    pub fn counts_ranks(&self) -> bool {
        let is_of_losses = ["agree", "shrink", "notice"].iter().any(|name| self.benchmark.starts_with(name));
        is_of_losses || matches!(self.unit.as_str(), "ms" | "MiB")
    }

    /// A percentage, which may be zero or below: compared by difference, not by ratio.
    pub fn is_share(&self) -> bool {
        self.unit == "%"
    }
}

/// One line of the program's output.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub benchmark: String,
    pub size: u64,
    pub value: f64,
    pub unit: String,
    /// The shortest and the longest way of a cache line from core to core that was seen meanwhile, nanoseconds.
    pub line_ns: Option<[f64; 2]>,
}

const UNITS: [&str; 10] = ["us", "ms", "KiB", "MiB", "GB/s", "MB/s", "M/s", "%", "pairs", "uses"];

/// By what to multiply a figure of a run in which time went by `slower` times more slowly.
pub fn quickened(unit: &str, slower: f64) -> f64 {
    match unit {
        "us" | "ms" => 1.0 / slower,
        _ if unit.ends_with("/s") => slower,
        _ => 1.0,
    }
}

/// Whether this is the time that an overlapped message costs, which stands beside the share that is
/// kept.
pub fn is_overhead(benchmark: &str) -> bool {
    benchmark.ends_with("_overhead")
}

/// Reads `name size value unit ...`; lines of another form, such as what a library prints by
/// itself, give `None`.
pub fn parse(line: &str) -> Option<Line> {
    let mut words = line.split_whitespace();
    let benchmark = words.next()?.to_string();
    let size = words.next()?.parse().ok()?;
    let value: f64 = words.next()?.parse().ok()?;
    let unit = words.next()?.to_string();
    let line_ns = words.find_map(|word| {
        let (least, most) = word.strip_prefix("line_ns=")?.split_once(',')?;
        Some([least.parse().ok()?, most.parse().ok()?])
    });
    // Shares of time and what is left of it are differences, and noise may bring them below zero.
    let difference = unit == "%" || is_overhead(&benchmark);
    let known = UNITS.contains(&unit.as_str()) && value.is_finite() && (value > 0.0 || difference);
    known.then_some(Line { benchmark, size, value, unit, line_ns })
}

/// Median and half the interquartile range of the values of one row and library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub median: f64,
    pub spread: f64,
    /// Values behind it.
    pub count: usize,
    /// None comes from a good placement: not to be compared with others.
    pub bad: bool,
}

/// Quantile of ascending values, linear between neighbours.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let low = at.floor() as usize;
    let high = at.ceil() as usize;
    sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64)
}

/// `None` without values.
pub fn summarise(values: &[f64]) -> Option<Summary> {
    if values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(Summary {
        median: quantile(&sorted, 0.5),
        spread: (quantile(&sorted, 0.75) - quantile(&sorted, 0.25)) / 2.0,
        count: sorted.len(),
        bad: false,
    })
}

/// One value, and where the cores were meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub value: f64,
    /// `None` where it was not probed.
    pub placement: Option<Placement>,
    /// Share of the cores' time that other programs of this machine had meanwhile, from 0 to 1.
    pub others: f64,
}

/// What was not probed, or where cores were never seen apart, is as good as it can be. What was measured while others computed is not.
fn kind(sample: &Sample, near_ns: Option<f64>) -> Kind {
    match sample.placement.zip(near_ns) {
        _ if is_disturbed(sample.others) => Kind::Bad,
        Some((placement, near)) => placement.kind(near),
        None => Kind::Near,
    }
}

/// Of those samples that come from such a placement.
fn summarise_kind(samples: &[Sample], wanted: Kind, near_ns: Option<f64>) -> Option<Summary> {
    let wanted = samples.iter().filter(|sample| kind(sample, near_ns) == wanted);
    let values: Vec<f64> = wanted.map(|sample| sample.value).collect();
    summarise(&values)
}

/// Of those samples that come from a good placement, or of all when there is none.
fn summarise_near(samples: &[Sample], near_ns: Option<f64>) -> Option<Summary> {
    summarise_kind(samples, Kind::Near, near_ns).or_else(|| {
        let all: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
        let summary = summarise(&all)?;
        Some(Summary { bad: true, ..summary })
    })
}

const CSV_HEAD: &str = "title,benchmark,size,unit,ranks,library,round,value,line_ns,most_ns,shared,stolen,others";

/// One line of the CSV.
fn sample(line: &str) -> Option<(Row, &str, Sample)> {
    let (title, rest) = line.strip_prefix('"')?.split_once("\",")?;
    let [benchmark, size, unit, ranks, rest] = rest.splitn(5, ',').collect::<Vec<_>>().try_into().ok()?;
    let (library, rest) = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once("\",")?,
        None => rest.split_once(',')?,
    };
    let fields: Vec<&str> = rest.split(',').collect();
    let [_, value, line_ns, most_ns, shared, stolen, others] = fields.try_into().ok()?;
    let placement = match line_ns {
        "" => None,
        _ => Some(Placement {
            least_ns: line_ns.parse().ok()?,
            most_ns: most_ns.parse().ok()?,
            shared: shared.parse().ok()?,
            stolen: stolen.parse().ok()?,
        }),
    };
    let row = Row {
        title: title.to_string(),
        benchmark: benchmark.to_string(),
        size: size.parse().ok()?,
        unit: unit.to_string(),
        ranks: ranks.parse().ok()?,
    };
    let value = value.parse().ok()?;
    Some((row, library, Sample { value, placement, others: others.parse().ok()? }))
}

/// Everything that was measured: rows in the order of their first appearance, and for each the
/// samples of each library (by name), one per round or more.
#[derive(Default)]
pub struct Figures {
    rows: Vec<(Row, BTreeMap<String, Vec<Sample>>)>,
    /// What [`near_ns`] says of all samples, once somebody has asked.
    near: OnceCell<Option<f64>>,
}

impl Figures {
    pub fn add(&mut self, row: Row, library: &str, value: Sample) {
        self.near.take();
        let place = self.rows.iter().position(|(known, _)| *known == row);
        let place = place.unwrap_or_else(|| {
            self.rows.push((row, BTreeMap::new()));
            self.rows.len() - 1
        });
        self.rows[place].1.entry(library.to_string()).or_default().push(value);
    }

    /// The samples as text: a line of names, and one line for each.
    pub fn csv(&self) -> String {
        let mut text = format!("{CSV_HEAD}\n");
        for (row, library, samples) in self.values() {
            let Row { title, benchmark, size, unit, ranks } = row;
            for (round, Sample { value, placement, others }) in samples.iter().enumerate() {
                let place =
                    placement.map(|p| format!("{:.1},{:.1},{},{:.3}", p.least_ns, p.most_ns, p.shared, p.stolen));
                let place = place.as_deref().unwrap_or(",,,");
                // The name of a line may have a comma in it, as the title may.
                let library = if library.contains(',') { format!("\"{library}\"") } else { library.to_string() };
                let _ = writeln!(
                    text,
                    "\"{title}\",{benchmark},{size},{unit},{ranks},{library},{round},{value},{place},{others:.3}"
                );
            }
        }
        text
    }

    /// Adds what [`Figures::csv`] has written; an error names the first line that is not of it.
    pub fn add_csv(&mut self, text: &str) -> Result<(), String> {
        let mut lines = text.lines();
        if lines.next() != Some(CSV_HEAD) {
            return Err("not a figures.csv of this version".to_string());
        }
        for line in lines {
            let (row, library, sample) = sample(line).ok_or_else(|| format!("not read: {line}"))?;
            self.add(row, library, sample);
        }
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What a cache line takes between cores near each other; `None` where nothing was probed.
    fn near(&self) -> Option<f64> {
        *self.near.get_or_init(|| near_ns(self.placements()))
    }

    /// Of all samples that were probed.
    pub fn placements(&self) -> impl Iterator<Item = Placement> {
        let samples = self.values().flat_map(|(_, _, samples)| samples);
        samples.filter_map(|sample| sample.placement)
    }

    /// Median nanoseconds for a cache line from core to core in the samples from such a placement, and their share.
    /// `None` where nothing was probed, or nothing is of that kind.
    pub fn placement(&self, wanted: Kind) -> Option<(f64, f64)> {
        let near = self.near();
        let placements =
            self.placements().filter(|placement| near.map_or(Kind::Near, |near| placement.kind(near)) == wanted);
        let ways: Vec<f64> = placements.map(|placement| (placement.least_ns + placement.most_ns) / 2.0).collect();
        Some((summarise(&ways)?.median, ways.len() as f64 / self.placements().count() as f64))
    }

    /// Rows in order, each with the summary of a library by its name.
    pub fn rows(&self) -> impl Iterator<Item = (&Row, impl Fn(&str) -> Option<Summary>)> {
        let near = self.near();
        self.rows.iter().map(move |(row, libraries)| {
            let summary = move |name: &str| summarise_near(libraries.get(name)?, near);
            (row, summary)
        })
    }

    /// The same of what was measured while the cores were far apart.
    pub fn far_rows(&self) -> impl Iterator<Item = (&Row, impl Fn(&str) -> Option<Summary>)> {
        let near = self.near();
        self.rows.iter().map(move |(row, libraries)| {
            let summary = move |name: &str| summarise_kind(libraries.get(name)?, Kind::Far, near);
            (row, summary)
        })
    }

    /// The points of a curve, of rows with this title and benchmark, by ascending size: size and value. Bad figures are not drawn.
    pub fn points(
        &self, (title, benchmark): (&str, &str), value: impl Fn(&Row, &dyn Fn(&str) -> Option<Summary>) -> Option<f64>,
    ) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        for (row, summary) in self.rows() {
            if row.title == title && row.benchmark == benchmark && row.size > 0 {
                let drawn = |name: &str| summary(name).filter(|summary| !summary.bad);
                points.extend(value(row, &drawn).map(|value| (row.size as f64, value)));
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    /// Rows in order, each with the values of its libraries round by round: `None` in place of one from another placement than a good one.
    pub fn near_values(&self) -> impl Iterator<Item = (&Row, BTreeMap<String, Vec<Option<f64>>>)> {
        let near = self.near();
        let good = move |sample: &Sample| (kind(sample, near) == Kind::Near).then_some(sample.value);
        self.rows.iter().map(move |(row, libraries)| {
            let of = |(name, samples): (&String, &Vec<Sample>)| (name.clone(), samples.iter().map(good).collect());
            (row, libraries.iter().map(of).collect())
        })
    }

    /// The samples behind a summary.
    pub fn values(&self) -> impl Iterator<Item = (&Row, &str, &[Sample])> {
        self.rows.iter().flat_map(|(row, libraries)| {
            libraries.iter().map(move |(name, values)| (row, name.as_str(), values.as_slice()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_figures_and_nothing_else() {
        let line = parse("pingpong 8 0.103 us low=0.1 high=0.2 ranks=2").unwrap();
        assert_eq!((line.benchmark.as_str(), line.size, line.value), ("pingpong", 8, 0.103));
        assert_eq!((line.unit.as_str(), line.line_ns), ("us", None));
        let line = parse("pingpong 8 0.103 us low=0.1 ranks=2 line_ns=55.1,160.0").unwrap();
        assert_eq!(line.line_ns, Some([55.1, 160.0]));
        assert_eq!(parse("overlap_recv 8 -3.5 % low=-4").unwrap().value, -3.5);
        assert_eq!(parse("overlap_recv_overhead 8 -0.1 us").unwrap().value, -0.1);
        for other in
            ["", "warning 8 is small", "rank 0 started", "x 8 nan us", "x 8 1.0 parsec", "x -1 1 us", "x 8 -1 us"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn figures_of_a_run_in_slow_motion() {
        assert_eq!(["us", "MB/s", "%", "KiB"].map(|unit| quickened(unit, 4.0)), [0.25, 4.0, 1.0, 1.0]);
    }

    #[test]
    fn median_and_half_interquartile_range() {
        let odd = summarise(&[5.0, 1.0, 3.0, 2.0, 4.0]).unwrap();
        assert_eq!((odd.median, odd.spread, odd.count), (3.0, 1.0, 5));
        let even = summarise(&[1.0, 2.0]).unwrap();
        assert_eq!((even.median, even.spread), (1.5, 0.25));
        assert_eq!(summarise(&[7.0]).unwrap().spread, 0.0);
        assert_eq!(summarise(&[]), None);
    }

    #[test]
    fn one_slow_round_does_not_move_the_median() {
        let summary = summarise(&[1.0, 1.0, 900.0, 1.0, 1.0]).unwrap();
        assert_eq!((summary.median, summary.spread), (1.0, 0.0));
    }

    #[test]
    fn rows_keep_their_order_and_their_values() {
        let row = |size| Row { title: "t".into(), benchmark: "b".into(), size, unit: "us".into(), ranks: 2 };
        let mut figures = Figures::default();
        let sample = |value| Sample { value, placement: None, others: 0.0 };
        figures.add(row(64), "tern", sample(1.0));
        figures.add(row(8), "tern", sample(2.0));
        figures.add(row(64), "mpich", sample(3.0));
        figures.add(row(64), "tern", sample(5.0));
        let sizes: Vec<u64> = figures.rows().map(|(row, _)| row.size).collect();
        assert_eq!(sizes, [64, 8]);
        let (_, summary) = figures.rows().next().unwrap();
        assert_eq!(summary("tern").unwrap().median, 3.0);
        assert_eq!(summary("mpich").unwrap().median, 3.0);
        assert!(summary("impi").is_none());
        drop(summary);
        assert_eq!(figures.values().count(), 3);
    }

    #[test]
    fn samples_from_a_bad_placement_are_set_aside_while_there_are_others() {
        let sample =
            |value, line_ns, shared| Sample { value, placement: Some(Placement::at(line_ns, shared)), others: 0.0 };
        let all =
            [sample(1.0, 50.0, false), sample(9.0, 210.0, false), sample(8.0, 20.0, true), sample(2.0, 90.0, false)];
        let summary = summarise_near(&all, Some(50.0)).unwrap();
        assert_eq!((summary.median, summary.count, summary.bad), (1.5, 2, false));
        let summary = summarise_near(&all[1..3], Some(50.0)).unwrap();
        assert_eq!((summary.median, summary.count, summary.bad), (8.5, 2, true));
        assert_eq!(summarise_kind(&all, Kind::Far, Some(50.0)).unwrap().median, 9.0);
        assert_eq!(summarise_kind(&all[3..], Kind::Far, Some(50.0)), None);
        let unknown = [Sample { value: 3.0, placement: None, others: 0.0 }];
        assert!(!summarise_near(&unknown, None).unwrap().bad);
    }

    #[test]
    fn what_was_measured_while_others_computed_is_set_aside_and_not_drawn() {
        let row = Row { title: "t".into(), benchmark: "b".into(), size: 8, unit: "us".into(), ranks: 4 };
        let mut figures = Figures::default();
        let mut add = |value, others| figures.add(row.clone(), "tern", Sample { value, placement: None, others });
        add(5.0, 0.4);
        add(1.0, 0.01);
        let median = |_: &Row, summary: &dyn Fn(&str) -> Option<Summary>| summary("tern").map(|summary| summary.median);
        assert_eq!(figures.points(("t", "b"), median), [(8.0, 1.0)]);
        let mut alone = Figures::default();
        alone.add(row.clone(), "tern", Sample { value: 5.0, placement: None, others: 0.4 });
        assert!(alone.rows().next().unwrap().1("tern").unwrap().bad);
        assert_eq!(alone.points(("t", "b"), median), []);
    }

    #[test]
    fn a_round_in_a_bad_placement_keeps_its_place() {
        let row = Row { title: "t".into(), benchmark: "b".into(), size: 8, unit: "us".into(), ranks: 2 };
        let mut figures = Figures::default();
        for (value, line_ns) in [(1.0, 50.0), (9.0, 210.0), (2.0, 52.0), (3.0, 51.0)] {
            figures.add(
                row.clone(),
                "tern",
                Sample { value, placement: Some(Placement::at(line_ns, false)), others: 0.0 },
            );
        }
        let (_, lines) = figures.near_values().next().unwrap();
        assert_eq!(lines["tern"], [Some(1.0), None, Some(2.0), Some(3.0)]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let row =
            Row { title: "Sends, of \u{b5}s".into(), benchmark: "b".into(), size: 8, unit: "us".into(), ranks: 2 };
        let place = Placement { least_ns: 30.5, most_ns: 41.0, shared: false, stolen: 0.125 };
        let mut figures = Figures::default();
        for placement in [Some(place), None] {
            let value = 0.25;
            figures.add(row.clone(), "tern", Sample { value, placement, others: 0.125 });
            figures.add(row.clone(), "tree, pipe", Sample { value, placement, others: 0.125 });
        }
        let mut again = Figures::default();
        again.add_csv(&figures.csv()).unwrap();
        assert_eq!(again.rows, figures.rows);
        assert!(again.add_csv("a,b\n").is_err());
        assert!(again.add_csv(&format!("{CSV_HEAD}\nx\n")).is_err());
    }

    #[test]
    fn bandwidth_is_better_when_higher() {
        let row =
            |unit: &str| Row { title: String::new(), benchmark: String::new(), size: 0, unit: unit.into(), ranks: 2 };
        assert!(row("GB/s").higher_is_better() && row("M/s").higher_is_better());
        assert!(row("%").higher_is_better());
        assert!(!row("us").higher_is_better() && !row("MiB").higher_is_better());
    }
}
