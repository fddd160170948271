//! Holds measured figures against what a paper says of its own, and comes to a verdict.

use super::registry::{Claim, Entry, Experiment, How, Over, Paper, Quantity, Repeat};
use crate::figures::{Figures, Row, summarise};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How a value is read.
#[derive(Clone, Copy)]
struct Scale {
    higher_is_better: bool,
    /// Of a rate: bytes of a microsecond that one of its unit stands for.
    bytes: f64,
}

/// The medians of an entry's experiments.
#[derive(Default)]
pub struct Medians {
    /// By title, benchmark, size and line: the median, and the unit's row.
    values: BTreeMap<(String, String, u64, String), (f64, Scale)>,
}

impl Medians {
    /// Adds the medians of figures. Those of disturbed launches alone do not count.
    pub fn add(&mut self, figures: &Figures, lines: &[String]) {
        for (row, summary) in figures.rows() {
            for line in lines {
                if let Some(summary) = summary(line).filter(|summary| !summary.bad) {
                    self.put(row, line, summary.median);
                }
            }
        }
    }

    pub fn put(&mut self, row: &Row, line: &str, median: f64) {
        let key = (row.title.clone(), row.benchmark.clone(), row.size, line.to_string());
        let bytes = if row.unit == "GB/s" { 1e3 } else { 1.0 };
        let scale = Scale { higher_is_better: row.higher_is_better(), bytes };
        self.values.insert(key, (median, scale));
    }

    /// The median of a line in a row.
    pub fn of(&self, title: &str, benchmark: &str, size: u64, line: &str) -> Option<f64> {
        self.get(title, benchmark, size, line).map(|(value, _)| value)
    }

    fn get(&self, title: &str, benchmark: &str, size: u64, line: &str) -> Option<(f64, Scale)> {
        self.values.get(&(title.to_string(), benchmark.to_string(), size, line.to_string())).copied()
    }

    fn sizes(&self, claim: &Claim) -> Vec<u64> {
        let [least, most] = claim.sizes;
        let of_claim = |key: &&(String, String, u64, String)| key.0 == claim.title && key.1 == claim.benchmark;
        let sizes = self.values.keys().filter(of_claim).map(|key| key.2);
        let mut sizes: Vec<u64> = sizes.filter(|size| (least..=most).contains(size)).collect();
        sizes.dedup();
        sizes
    }

    /// The value of the claim's quantity at a size.
    fn at(&self, claim: &Claim, size: u64) -> Option<f64> {
        let own = |line| self.get(claim.title, claim.benchmark, size, line);
        match claim.quantity {
            Quantity::Value { line } => own(line).map(|(value, _)| value),
            Quantity::Saved { line, against } => {
                let ((one, scale), (other, _)) = (own(line)?, own(against)?);
                Some(saved(one, other, scale.higher_is_better))
            }
            Quantity::Ratio { line, of } => {
                let (other, _) = self.get(of, claim.benchmark, size, line)?;
                Some(own(line)?.0 / other)
            }
            Quantity::Kept { line, of, benchmark } => {
                let (time, _) = self.get(of, benchmark, size, line)?;
                let (both, scale) = own(line)?;
                Some(100.0 * (both * scale.bytes / 2.0) / (size as f64 / time))
            }
            Quantity::Faster { line, of, benchmark } => {
                let (time, _) = self.get(of, benchmark, size, line)?;
                let (rate, scale) = own(line)?;
                Some(100.0 * (rate * scale.bytes / (size as f64 / time) - 1.0))
            }
            Quantity::Share { part, of, benchmark, line } => {
                let (whole, _) = self.get(of, benchmark, size, line)?;
                Some(100.0 * own(part)?.0 / whole)
            }
        }
    }
}

/// By how many percent less time `one` stands for than `other`.
pub fn saved(one: f64, other: f64, higher_is_better: bool) -> f64 {
    let ratio = if higher_is_better { other / one } else { one / other };
    100.0 * (1.0 - ratio)
}

/// A claim held against figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub holds: bool,
    /// What was measured, and what the paper would have.
    pub text: String,
    /// The sizes that count.
    pub sizes: Vec<u64>,
}

/// `None` where nothing was measured that the claim is about.
pub fn judge(claim: &Claim, medians: &Medians) -> Option<Finding> {
    let of_size = |size: &u64| Some((*size, medians.at(claim, *size)?));
    let values: Vec<(u64, f64)> = medians.sizes(claim).iter().filter_map(of_size).collect();
    let plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let value = match claim.over {
        Over::Median => summarise(&plain)?.median,
        Over::Greatest => plain.iter().copied().reduce(f64::max)?,
        Over::Least => plain.iter().copied().reduce(f64::min)?,
    };
    let [least, most] = claim.range;
    let text = format!("{}: {} (the paper asks for {})", claim.says, shown(value, claim), range(least, most, claim));
    let sizes = values.into_iter().map(|(size, _)| size).collect();
    Some(Finding { holds: (least..=most).contains(&value), text, sizes })
}

fn unit(claim: &Claim) -> &'static str {
    match claim.quantity {
        Quantity::Ratio { .. } => " times",
        Quantity::Value { .. } => "",
        _ => " %",
    }
}

fn shown(value: f64, claim: &Claim) -> String {
    let digits = if value.abs() < 10.0 { 1 } else { 0 };
    format!("{value:.digits$}{}", unit(claim))
}

fn range(least: f64, most: f64, claim: &Claim) -> String {
    let far = super::registry::ANY / 2.0;
    match (least > -far, most < far) {
        (true, true) => format!("{} to {}", shown(least, claim), shown(most, claim)),
        (true, false) => format!("{} or more", shown(least, claim)),
        (false, true) => format!("{} or less", shown(most, claim)),
        (false, false) => "any value".to_string(),
    }
}

/// What came of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Agrees {
        modelled: bool,
    },
    Differs {
        modelled: bool,
        reason: String,
    },
    Drawn(&'static str),
    Impossible(&'static str),
    /// With the command that measures it.
    NotYet(String),
}

impl Verdict {
    /// The kinds, as counts name them.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Agrees { modelled: false } => "agrees",
            Self::Differs { modelled: false, .. } => "differs",
            Self::Agrees { modelled: true } => "agrees, in the model",
            Self::Differs { modelled: true, .. } => "differs, in the model",
            Self::Drawn(_) => "a drawing",
            Self::Impossible(_) => "impossible here",
            Self::NotYet(_) => "not measured yet",
        }
    }

    pub fn text(&self) -> String {
        match self {
            Self::Agrees { .. } => self.kind().to_string(),
            Self::Differs { reason, .. } => format!("{}: {reason}", self.kind()),
            Self::Drawn(place) => format!("{}, nothing is measured; in Tern: {place}", self.kind()),
            Self::Impossible(reason) => format!("{}: {reason}", self.kind()),
            Self::NotYet(command) => format!("{}: run `{command}`", self.kind()),
        }
    }
}

/// The findings of a repetition: in place of a claim without figures there is `None`.
pub fn findings(repeat: &Repeat, medians: &Medians) -> Vec<Option<Finding>> {
    repeat.claims.iter().map(|claim| judge(claim, medians)).collect()
}

/// The verdict of an entry. `costs`: what the kernel takes here, for verdicts that have it among their reasons.
pub fn verdict(paper: &Paper, entry: &Entry, medians: &Medians, costs: Option<&str>) -> Verdict {
    let repeat = match &entry.how {
        How::Drawn(place) => return Verdict::Drawn(place),
        How::Impossible(reason) => return Verdict::Impossible(reason),
        How::Measured(repeat) => repeat,
    };
    let modelled = repeat.modelled;
    let Some(all) = findings(repeat, medians).into_iter().collect::<Option<Vec<Finding>>>() else {
        let (kind, number) = (entry.kind.name(), entry.number);
        return Verdict::NotYet(format!("tern-bench papers --paper {} --{kind} {number}", paper.name));
    };
    let mut reason = String::new();
    for finding in all.iter().filter(|finding| !finding.holds) {
        let _ = write!(reason, "{}{}", if reason.is_empty() { "" } else { "; " }, finding.text);
    }
    if reason.is_empty() {
        return Verdict::Agrees { modelled };
    }
    let more = [Some(repeat.reason).filter(|text| !text.is_empty()), costs.filter(|_| repeat.by_kernel)];
    for text in more.into_iter().flatten() {
        let _ = write!(reason, ". {text}");
    }
    Verdict::Differs { modelled, reason }
}

/// Names of the columns of an experiment: Tern as it comes and the peers, if it has them, and its own lines.
pub fn lines(experiment: &Experiment, peers: &[String]) -> Vec<String> {
    let plain = peers.iter().filter(|_| experiment.plain).cloned();
    plain.chain(experiment.lines.iter().map(|line| line.name.to_string())).collect()
}
