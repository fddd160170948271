use super::*;
use crate::ablate::sitting::Counted;
use crate::ablate::statistics::Numbers;

const SIZES: [u64; 10] = [8, 256, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20];
const ROUNDS: usize = 9;

/// By how much a rule makes a row better, as a share.
type Truth<'a> = &'a dyn Fn(&str, &str, u64) -> f64;

/// A sitting with all benchmarks of these rules, whose rounds are within some percent of what the truth says.
fn sitting(seed: u64, rules: &[&str], truth: Truth<'_>) -> Sitting {
    let mut numbers = Numbers::new(seed);
    let mut near_one = move || 1.0 + 0.04 * ((numbers.next() % 1000) as f64 / 1000.0 - 0.5);
    let mut line = |time: f64| -> Vec<Option<f64>> { (0..ROUNDS).map(|_| Some(time * near_one())).collect() };
    let subjects: Vec<&Subject> = SUBJECTS.iter().filter(|subject| rules.contains(&subject.rule)).collect();
    let mut benchmarks: Vec<&str> = subjects.iter().flat_map(|subject| subject.benchmarks()).collect();
    benchmarks.sort_unstable();
    benchmarks.dedup();
    let mut rows = Vec::new();
    for (benchmark, size) in benchmarks.iter().flat_map(|benchmark| SIZES.map(|size| (*benchmark, size))) {
        let row = Row { title: "t".into(), benchmark: benchmark.into(), size, unit: "us".into(), ranks: 2 };
        let mut lines = BTreeMap::new();
        for on in [ON, ON_PRIVATE] {
            lines.insert(on.to_string(), line(10.0));
            lines.insert(format!("{on}{AGAIN}"), line(10.0));
        }
        for subject in &subjects {
            lines.insert(subject.rule.to_string(), line(10.0 * (1.0 + truth(subject.rule, benchmark, size))));
        }
        rows.push((row, lines));
    }
    Sitting { processor: "a processor".into(), can_demote: true, rows, ..Sitting::default() }
}

fn subject(rule: &str) -> &'static Subject {
    SUBJECTS.iter().find(|subject| subject.rule == rule).expect("a rule")
}

fn verdict_of(rule: &str, sittings: &[Sitting]) -> Verdict {
    let judged: Vec<Analysis<'_>> = sittings.iter().map(judge).collect();
    verdict(subject(rule), &judged.iter().collect::<Vec<_>>())
}

/// Several sittings of two rules, of which one has an effect.
fn sittings(truth: Truth<'_>) -> Vec<Sitting> {
    (1..=3).map(|seed| sitting(seed, &["copies", "stores"], truth)).collect()
}

#[test]
fn a_rule_with_an_effect_is_shown_and_one_without_is_not() {
    let truth = |rule: &str, row: &str, size| {
        if (rule, row) == ("copies", "stream_written") && size >= 8 << 10 { 0.5 } else { 0.0 }
    };
    let sittings = sittings(&truth);
    let Verdict::Judged { sittings: 3, shown: Some(row), harms: None } = verdict_of("copies", &sittings) else {
        panic!("{:?}", verdict_of("copies", &sittings));
    };
    assert_eq!((row.benchmark.as_str(), row.better, row.worse), ("stream_written", 3, 0));
    assert!((40.0..60.0).contains(&row.percent), "{}", row.percent);
    assert_eq!(verdict_of("stores", &sittings), Verdict::Judged { sittings: 3, shown: None, harms: None });
}

#[test]
fn a_rule_that_makes_rows_worse_harms() {
    let truth = |rule: &str, row: &str, size| {
        if (rule, row, size >= 16 << 10) == ("stores", "sendrecv_off", true) { -0.4 } else { 0.0 }
    };
    let Verdict::Judged { shown: None, harms: Some(row), .. } = verdict_of("stores", &sittings(&truth)) else {
        panic!()
    };
    assert_eq!((row.benchmark.as_str(), row.better, row.worse), ("sendrecv_off", 0, 3));
}

/// A row at a size where a rule cannot act is a control, whatever is measured there.
#[test]
fn a_row_where_the_rule_cannot_act_is_never_shown() {
    let truth =
        |rule: &str, row: &str, size| if (rule, row, size) == ("stores", "sendrecv_off", 8) { 0.9 } else { 0.0 };
    let sittings = sittings(&truth);
    for analysis in sittings.iter().map(judge) {
        let row = analysis
            .of_rule("stores")
            .find(|row| (row.row.benchmark.as_str(), row.row.size) == ("sendrecv_off", 8))
            .unwrap();
        assert_eq!((row.role, row.shown), (Role::Control, false));
        assert!(analysis.rows.iter().all(|row| row.role == Role::Acts || !row.shown));
    }
    assert_eq!(verdict_of("stores", &sittings), Verdict::Judged { sittings: 3, shown: None, harms: None });
}

#[test]
fn what_one_sitting_of_three_shows_is_not_shown() {
    let large = |rule: &str, row: &str, size| {
        if (rule, row, size >= 16 << 10) == ("stores", "sendrecv_off", true) { 0.5 } else { 0.0 }
    };
    let none = |_: &str, _: &str, _| 0.0;
    let mixed = |truths: [Truth<'_>; 3]| {
        let of = |(truth, seed): (&Truth<'_>, u64)| sitting(seed, &["copies", "stores"], truth);
        truths.iter().zip(1..).map(of).collect::<Vec<_>>()
    };
    let Verdict::Judged { shown: None, .. } = verdict_of("stores", &mixed([&large, &none, &none])) else { panic!() };
    let Verdict::Judged { shown: Some(row), .. } = verdict_of("stores", &mixed([&large, &none, &large])) else {
        panic!()
    };
    assert_eq!(row.better, 2);
}

/// Counts of the rule in all launches that a sitting of it has, as many at each size as `count` says.
fn counted(sitting: &mut Sitting, rule: &str, count: impl Fn(u64) -> u64) {
    let launches = sitting.rows.iter().map(|(row, _)| Counted {
        line: beside(rule).to_string(),
        benchmark: row.benchmark.clone(),
        size: row.size,
        rules: BTreeMap::from([(rule.to_string(), count(row.size))]),
    });
    sitting.counted = launches.collect();
}

#[test]
fn a_row_in_which_the_rule_did_not_act_does_not_count() {
    let mut one = sitting(1, &["stores"], &|_, _, _| 0.5);
    counted(&mut one, "stores", |_| 0);
    assert_eq!(verdict_of("stores", std::slice::from_ref(&one)), Verdict::DidNotAct);
    counted(&mut one, "stores", |size| if size == 64 << 10 { 100 } else { 0 });
    let analysis = judge(&one);
    let acts: Vec<u64> =
        analysis.of_rule("stores").filter(|row| row.role == Role::Acts).map(|row| row.row.size).collect();
    assert!(!acts.is_empty() && acts.iter().all(|size| *size == 64 << 10), "{acts:?}");
}

#[test]
fn a_control_in_which_the_rule_acted_is_told_and_left_out() {
    let mut one = sitting(1, &["stores"], &|_, _, _| 0.0);
    counted(&mut one, "stores", |size| if size == 8 { 500 } else { AMBIENT });
    let analysis = judge(&one);
    let wrong: Vec<u64> =
        analysis.of_rule("stores").filter(|row| row.role == Role::Wrong).map(|row| row.row.size).collect();
    assert!(!wrong.is_empty() && wrong.iter().all(|size| *size == 8), "{wrong:?}");
    assert!(analysis.of_rule("stores").any(|row| row.role == Role::Control), "what is counted anyway is no act");
}

#[test]
fn a_machine_that_lacks_what_a_rule_needs_cannot_show_it() {
    let one = Sitting { can_demote: false, ..sitting(1, &["stores"], &|_, _, _| 0.0) };
    let Verdict::CannotAct(why) = verdict_of("demote", std::slice::from_ref(&one)) else { panic!() };
    assert!(why.contains("CLDEMOTE"));
    let able = Sitting { can_demote: true, ..one };
    assert_eq!(verdict_of("demote", &[able]), Verdict::NotMeasured);
}

#[test]
fn few_rounds_are_not_judged() {
    let mut one = sitting(1, &["stores"], &|_, _, _| 0.5);
    one.rows.iter_mut().flat_map(|(_, lines)| lines.values_mut()).for_each(|rounds| rounds.truncate(3));
    assert_eq!(verdict_of("stores", &[one]), Verdict::NotMeasured);
}

/// Over all rules and benchmarks that there are: where nothing has an effect, a sitting shows no row in 19 of 20.
#[test]
fn a_sitting_of_all_rules_without_effect_shows_nothing() {
    let rules: Vec<&str> = SUBJECTS.iter().map(|subject| subject.rule).collect();
    let shows = |seed: u64| judge(&sitting(seed, &rules, &|_, _, _| 0.0)).rows.iter().any(|row| row.shown);
    let false_ones = (0..40).filter(|seed| shows(*seed)).count();
    assert!(false_ones <= 6, "{false_ones} of 40 sittings");
}
