//! What Tern counts, and the events that it tells tools of.

use crate::print;
use tern_counters::events::Kind;
use tern_counters::{ALL, CATEGORIES};

/// Every counter by category, and every event: name, class, unit, meaning.
pub fn report() -> String {
    let mut text = print::heading("Counters");
    text.push_str("TERN_STATS=1 prints those that are not 0 at the end; tools read them as performance variables.\n");
    for category in CATEGORIES {
        let entries: Vec<_> = ALL.iter().filter(|entry| entry.category == category.name).collect();
        if entries.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{}: {}\n", category.name, category.meaning));
        for entry in entries {
            text.push_str(&format!("{} ({}, {})\n", entry.name, entry.class.name(), entry.unit));
            indent(&mut text, &entry.meaning());
        }
    }
    text.push_str("\nevents\n");
    for kind in Kind::ALL {
        let elements: Vec<&str> = kind.elements().iter().map(|element| element.name).collect();
        text.push_str(&format!("{} ({})\n", kind.name(), elements.join(", ")));
        indent(&mut text, kind.meaning());
    }
    text
}

fn indent(text: &mut String, meaning: &str) {
    for line in print::wrap(meaning, 90) {
        text.push_str(&format!("    {line}\n"));
    }
}
