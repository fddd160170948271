//! What a sitting says of each row, and several sittings of each rule.

use super::sitting::{AGAIN, ON, ON_PRIVATE, Sitting, percent, rounds};
use super::statistics::{Bound, Effect, bound, discoveries, effect, p_values, score, typical};
use super::subjects::{SUBJECTS, Subject, lacks};
use crate::figures::Row;
use std::collections::BTreeMap;

/// The share of false rows among those that are shown, at most, on average; and of controls beyond the bound.
pub const RATE: f64 = 0.05;
/// What a launch counts of a rule by its start and end alone, beside the row that it measures.
const AMBIENT: u64 = 16;

/// The line beside which a rule's own line is held.
pub fn beside(rule: &str) -> &'static str {
    let private = SUBJECTS.iter().any(|subject| subject.rule == rule && subject.private);
    if private { ON_PRIVATE } else { ON }
}

/// What a row is to a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It can act there, and has, as far as it was counted.
    Acts,
    /// It can act there by its description, but did not.
    Idle,
    /// It cannot act there.
    Control,
    /// It should not be able to act there, but did: the description is wrong.
    Wrong,
}

/// A row in which a rule was off, or nothing was.
pub struct Judged<'a> {
    /// The rule, or the line that is the same again.
    pub rule: String,
    pub row: &'a Row,
    pub role: Role,
    pub effect: Effect,
    pub rounds: Vec<f64>,
    /// The rank of its score among the controls'.
    pub p: f64,
    /// It is beyond chance.
    pub shown: bool,
}

impl Judged<'_> {
    /// By how many percent the row is better with the rule than without.
    pub fn percent(&self) -> f64 {
        percent(self.row, self.effect.size)
    }

    pub fn is_better(&self) -> bool {
        self.shown && self.effect.size > 0.0
    }

    pub fn is_worse(&self) -> bool {
        self.shown && self.effect.size < 0.0
    }
}

/// A sitting, judged.
pub struct Analysis<'a> {
    pub sitting: &'a Sitting,
    pub rows: Vec<Judged<'a>>,
    /// On the effects of its controls; `None` without controls.
    pub bound: Option<Bound>,
}

impl Analysis<'_> {
    pub fn count(&self, role: Role) -> usize {
        self.rows.iter().filter(|row| row.role == role).count()
    }

    pub fn of_rule(&self, rule: &str) -> impl Iterator<Item = &Judged<'_>> {
        self.rows.iter().filter(move |row| row.rule == rule)
    }
}

/// What a row is to a rule, by its description and by what was counted.
fn role(sitting: &Sitting, subject: &Subject, row: &Row) -> Option<Role> {
    let line = beside(subject.rule);
    let acted = |benchmark: &str| sitting.acted(line, benchmark, row.size, subject.rule);
    if let Some(benchmark) = subject.acts.iter().find_map(|place| place.benchmark(&row.benchmark, row.size)) {
        return Some(if acted(benchmark) == Some(0) { Role::Idle } else { Role::Acts });
    }
    let benchmark = subject.cannot.iter().find_map(|place| place.benchmark(&row.benchmark, row.size))?;
    // Where a launch has rows of all kinds, its counts say nothing of one.
    let alone = sitting.counted_alone(line, benchmark, row.size);
    Some(if alone && acted(benchmark) > Some(AMBIENT) { Role::Wrong } else { Role::Control })
}

/// The rows of a sitting that a rule, or a line that is the same again, has with enough rounds.
fn found(sitting: &Sitting) -> Vec<Judged<'_>> {
    let mut all = Vec::new();
    for (row, lines) in &sitting.rows {
        let mut add = |rule: &str, off: &str, on: &str, role: Role| {
            let Some((on, off)) = lines.get(on).zip(lines.get(off)) else { return };
            let rounds = rounds(row, on, off);
            if let Some(effect) = effect(&rounds) {
                all.push(Judged { rule: rule.to_string(), row, role, effect, rounds, p: 1.0, shown: false });
            }
        };
        for subject in SUBJECTS {
            if let Some(role) = role(sitting, subject, row) {
                add(subject.rule, subject.rule, beside(subject.rule), role);
            }
        }
        for on in [ON, ON_PRIVATE] {
            let again = format!("{on}{AGAIN}");
            add(&again, &again, on, Role::Control);
        }
    }
    all
}

/// Judges a sitting: the rows in which rules act by the ranks of their scores among all controls of the sitting. What is no such row is never
/// shown, and does not count among the many.
pub fn judge(sitting: &Sitting) -> Analysis<'_> {
    let mut rows = found(sitting);
    let typical = typical(&rows.iter().map(|row| row.effect).collect::<Vec<_>>());
    let of = |role: Role| -> Vec<usize> { (0..rows.len()).filter(|place| rows[*place].role == role).collect() };
    let scores = |places: &[usize]| -> Vec<f64> { places.iter().map(|&at| score(rows[at].effect, typical)).collect() };
    let (acts, controls) = (of(Role::Acts), of(Role::Control));
    let p = p_values(&scores(&acts), &scores(&controls));
    let shown = discoveries(&p, RATE);
    let moved: Vec<Vec<f64>> = controls.iter().map(|&place| rows[place].rounds.clone()).collect();
    for ((place, p), shown) in acts.into_iter().zip(p).zip(shown) {
        (rows[place].p, rows[place].shown) = (p, shown);
    }
    Analysis { sitting, rows, bound: bound(&moved, RATE) }
}

/// A row of a rule over the sittings of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    pub benchmark: String,
    pub size: u64,
    pub unit: String,
    /// In how many sittings it was better, and worse.
    pub better: usize,
    pub worse: usize,
    /// The median of its effects, in percent.
    pub percent: f64,
}

/// What the sittings of a machine say of a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The machine lacks something.
    CannotAct(&'static str),
    /// No sitting has its rows, with rounds enough.
    NotMeasured,
    /// In no row of any sitting.
    DidNotAct,
    Judged {
        sittings: usize,
        /// The row that was better in most sittings, if it was so in more than half of them.
        shown: Option<Repeated>,
        /// And worse.
        harms: Option<Repeated>,
    },
}

/// The verdict on a rule by the sittings of one machine. A row counts if it moved in the same direction in more than half of the sittings.
pub fn verdict(subject: &Subject, sittings: &[&Analysis<'_>]) -> Verdict {
    if let Some(lack) = sittings.iter().find_map(|one| lacks(subject.needs, one.sitting.can_demote)) {
        return Verdict::CannotAct(lack);
    }
    let has = |role: Role| sittings.iter().filter(|one| one.of_rule(subject.rule).any(|row| row.role == role)).count();
    let count = has(Role::Acts);
    if count == 0 {
        return if has(Role::Idle) > 0 { Verdict::DidNotAct } else { Verdict::NotMeasured };
    }
    let mut rows: BTreeMap<(&str, u64, &str), Vec<&Judged<'_>>> = BTreeMap::new();
    for row in sittings.iter().flat_map(|one| one.of_rule(subject.rule)).filter(|row| row.role == Role::Acts) {
        rows.entry((&row.row.benchmark, row.row.size, &row.row.unit)).or_default().push(row);
    }
    let repeated = rows.into_iter().map(|((benchmark, size, unit), seen)| {
        let effects: Vec<f64> = seen.iter().map(|row| row.percent()).collect();
        Repeated {
            benchmark: benchmark.to_string(),
            size,
            unit: unit.to_string(),
            better: seen.iter().filter(|row| row.is_better()).count(),
            worse: seen.iter().filter(|row| row.is_worse()).count(),
            percent: super::statistics::median(&effects),
        }
    });
    let repeated: Vec<Repeated> = repeated.collect();
    let most = |of: fn(&Repeated) -> usize| {
        let often = repeated.iter().filter(|row| 2 * of(row) > count);
        often.max_by(|a, b| (of(a), a.percent.abs()).partial_cmp(&(of(b), b.percent.abs())).expect("numbers")).cloned()
    };
    Verdict::Judged { sittings: count, shown: most(|row| row.better), harms: most(|row| row.worse) }
}

#[cfg(test)]
mod tests;
