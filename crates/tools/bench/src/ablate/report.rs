//! The report of `ablate`: the sittings side by side, the verdict on each rule, and its rows.

use super::judge::{Analysis, Judged, RATE, Repeated, Role, Verdict, verdict};
use super::sitting::percent;
use super::subjects::{ELSEWHERE, SUBJECTS, Subject};
use crate::figures::Row;
use crate::report;
use std::fmt::Write;

/// Processors in the order of their first sitting, each with its sittings.
type Machines<'a> = Vec<(&'a str, Vec<&'a Analysis<'a>>)>;

fn machines<'a>(all: &'a [Analysis<'a>]) -> Machines<'a> {
    let mut machines: Machines<'a> = Vec::new();
    for one in all {
        match machines.iter_mut().find(|(processor, _)| *processor == one.sitting.processor) {
            Some((_, sittings)) => sittings.push(one),
            None => machines.push((&one.sitting.processor, vec![one])),
        }
    }
    machines
}

/// The whole report of sittings, each with the name of its file.
pub fn text(names: &[String], all: &[Analysis<'_>]) -> String {
    let mut text = format!(
        "What each rule of the policy is worth. Percent: how much better a row is with the rule than without; in times of overlap the difference, of the \
         larger time. A rule is judged by the rows in which it can act and did. Controls are rows in which nothing can have an effect: those where \
         the rule cannot act, and a line that ran twice. A row is shown if its score (effect over noise) ranks so high among the controls' \
         scores that of all rows that are shown {:.0} % are false at most, on average (Benjamini and Hochberg).\n",
        100.0 * RATE
    );
    text += &sittings(names, all);
    let machines = machines(all);
    text += &verdicts(&machines);
    for subject in SUBJECTS {
        text += &rows(subject, all);
    }
    text
}

fn sittings(names: &[String], all: &[Analysis<'_>]) -> String {
    let mut text = String::from(
        "\n| sitting | file | processor | rounds | rows | controls | 95 % of the controls moved by less than | rows shown |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (place, (name, one)) in names.iter().zip(all).enumerate() {
        let ratio = |effect: f64| 100.0 * effect.exp_m1();
        let bound = one.bound.map_or("no controls".to_string(), |bound| {
            let [low, high] = bound.limits.map(ratio);
            format!("{:.1} % ({low:.1} to {high:.1})", ratio(bound.value))
        });
        let shown = one.rows.iter().filter(|row| row.shown).count();
        let _ = writeln!(
            text,
            "| {} | {name} | {}, cores {:?} | {} | {} | {} | {bound} | {shown} |",
            place + 1,
            one.sitting.processor,
            one.sitting.cores,
            one.sitting.rounds(),
            one.count(Role::Acts),
            one.count(Role::Control),
        );
    }
    for one in all {
        for row in one.rows.iter().filter(|row| row.role == Role::Wrong) {
            let _ = writeln!(
                text,
                "\nWrong: {} should not act in {}, but did on {}.",
                row.rule,
                of(row.row),
                one.sitting.processor
            );
        }
    }
    text
}

fn of(row: &Row) -> String {
    format!("{} {}", row.benchmark, report::size(row))
}

/// What a machine's sittings say of a rule.
pub fn cell(verdict: &Verdict) -> String {
    let (sittings, shown, harms) = match verdict {
        Verdict::CannotAct(lack) => return format!("cannot act on this machine: {lack}"),
        Verdict::NotMeasured => return "not measured".to_string(),
        Verdict::DidNotAct => return "did not act on this machine".to_string(),
        Verdict::Judged { sittings, shown, harms } => (sittings, shown, harms),
    };
    let told = |word: &str, often: usize, row: &Repeated| {
        let Repeated { benchmark, size, unit, percent, .. } = row.clone();
        let row = Row { title: String::new(), benchmark, size, unit, ranks: 2 };
        format!("**{word}** in {often} of {sittings}: {} {percent:+.1} %", of(&row))
    };
    let shown = shown.as_ref().map(|row| told("shown", row.better, row));
    let harms = harms.as_ref().map(|row| told("harms", row.worse, row));
    match (shown, harms) {
        (None, None) => format!("not shown in {sittings}"),
        (shown, harms) => [shown, harms].into_iter().flatten().collect::<Vec<_>>().join("; "),
    }
}

fn verdicts(machines: &Machines<'_>) -> String {
    let names: Vec<&str> = machines.iter().map(|(processor, _)| *processor).collect();
    let mut text = format!("\n| rule | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for rule in tern_policy::rules::ALL {
        let subject = SUBJECTS.iter().find(|subject| subject.rule == rule.name);
        let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == rule.name).map(|(_, why)| why.to_string());
        let on = |sittings: &[&Analysis<'_>]| subject.map(|subject| cell(&verdict(subject, sittings)));
        let cells = machines.iter().map(|(_, sittings)| on(sittings).or_else(|| elsewhere.clone()).unwrap_or_default());
        let _ = writeln!(text, "| {} | {} |", rule.name, cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

/// A row in one sitting.
fn in_sitting(row: Option<&Judged<'_>>) -> String {
    let Some(row) = row else { return String::new() };
    let noise = percent(row.row, row.effect.noise);
    let effect = format!("{:+.1} ±{noise:.1} %", row.percent());
    match row.role {
        Role::Acts if row.shown => format!("**{effect}** p {:.3}", row.p),
        Role::Acts => format!("{effect} p {:.3}", row.p),
        Role::Idle => format!("({effect}) did not act"),
        Role::Control => effect,
        Role::Wrong => format!("({effect}) acted"),
    }
}

/// The rows of a rule, and beneath them its controls.
fn rows(subject: &Subject, all: &[Analysis<'_>]) -> String {
    let mut known: Vec<(&Row, bool)> = Vec::new();
    for row in all.iter().flat_map(|one| one.of_rule(subject.rule)) {
        let control = matches!(row.role, Role::Control | Role::Wrong);
        if !known.contains(&(row.row, control)) {
            known.push((row.row, control));
        }
    }
    if known.is_empty() {
        return String::new();
    }
    known.sort_by_key(|(_, control)| *control);
    let numbers: Vec<String> = (1..=all.len()).map(|number| format!("sitting {number}")).collect();
    let mut text = format!(
        "\n**{}**. Its controls: {}.\n\n| | size | unit | | {} |\n|---|---|---|---|{}\n",
        subject.rule,
        subject.why,
        numbers.join(" | "),
        "---|".repeat(all.len())
    );
    for (row, control) in known {
        let kind = if control { "control" } else { "" };
        let cells = all.iter().map(|one| in_sitting(one.of_rule(subject.rule).find(|judged| judged.row == row)));
        let cells = cells.collect::<Vec<_>>().join(" | ");
        let _ = writeln!(text, "| {} | {} | {} | {kind} | {cells} |", row.benchmark, report::size(row), row.unit);
    }
    text
}
