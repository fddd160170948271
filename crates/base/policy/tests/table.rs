//! Rules, switches, counters and the page agree.

use std::collections::HashMap;
use tern_policy::rules::{ALL, Rule, explain};
use tern_settings::{Kind, PolicyRule};

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/policy.md"))
        .expect("docs/policy.md is there")
}

/// The sections of the page: name and text, each run of white space one blank.
fn sections(page: &str) -> Vec<(&str, String)> {
    let parts = page.split("\n## ").skip(1).map(|part| part.split_once('\n').expect("a section has text"));
    parts.map(|(name, text)| (name, text.split_whitespace().collect::<Vec<_>>().join(" "))).collect()
}

/// What the section of a rule lacks.
fn lacks(rule: &Rule, text: &str) -> Vec<String> {
    let mut wanted =
        vec![rule.what.to_owned(), format!("- Where: {}", rule.place), "- Default: ".into(), "- Why: ".into()];
    wanted.push("- Learned by: ".into());
    wanted.push("- Worth: ".into());
    if !rule.source.is_empty() {
        wanted.push(format!("- Source: {}", rule.source));
    }
    wanted.retain(|wanted| !text.contains(wanted));
    wanted
}

#[test]
fn every_switch_has_a_rule_of_its_name() {
    let names: Vec<&str> = ALL.iter().map(|rule| rule.name).collect();
    assert_eq!(names, PolicyRule::words());
    assert!(ALL.len() <= 18, "a rule more: which one does it replace, or is it a part of?");
    assert!(ALL.iter().enumerate().all(|(at, rule)| rule.switch as usize == at));
}

#[test]
fn every_rule_has_a_counter_of_its_own() {
    let before: HashMap<String, u64> = counters();
    for rule in ALL {
        rule.count_one();
        let name = format!("policy_{}", rule.name.replace('-', "_"));
        let counted = counters().get(&name).copied().unwrap_or_else(|| panic!("no counter {name}"));
        assert_eq!(counted, before[&name] + 1, "{name}");
    }
    assert_eq!(before.len(), ALL.len(), "counters of the policy");
}

fn counters() -> HashMap<String, u64> {
    let of_policy = tern_counters::ALL.iter().filter(|entry| entry.category == "policy");
    of_policy.map(|entry| (entry.name.to_owned(), entry.value())).collect()
}

#[test]
fn the_page_has_each_rule_and_no_other() {
    let page = page();
    let sections = sections(&page);
    let names: Vec<&str> = sections.iter().map(|&(name, _)| name).collect();
    assert_eq!(names, ALL.iter().map(|rule| rule.name).collect::<Vec<_>>(), "the sections of docs/policy.md");
    for (rule, (_, text)) in ALL.iter().zip(&sections) {
        let lacks = lacks(rule, text);
        assert!(lacks.is_empty(), "docs/policy.md, {}: {lacks:?}", rule.name);
    }
}

#[test]
fn a_section_that_says_something_else_is_found() {
    let page = page();
    let sections = sections(&page);
    assert!(lacks(ALL[0], &sections[1].1).contains(&ALL[0].what.to_owned()));
}

#[test]
fn the_user_is_told_of_each_rule() {
    let text = explain();
    assert_eq!(text.lines().count(), 1 + ALL.len());
    assert!(ALL.iter().all(|rule| text.contains(&format!("\n{} ", rule.name)) && text.contains(rule.what)), "{text}");
}
