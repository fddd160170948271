//! The declaration is whole, and the documentation follows it.

use tern_counters::{ALL, CATEGORIES, Class};

#[test]
fn every_entry_is_whole() {
    for (at, entry) in ALL.iter().enumerate() {
        let name = entry.name;
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert!(entry.meaning().ends_with('.'), "{name}: the meaning is no sentence");
        assert!(CATEGORIES.iter().any(|category| category.name == entry.category), "{name}: {}", entry.category);
        assert!(ALL[..at].iter().all(|other| other.name != name), "{name} is declared twice");
        assert_eq!(entry.class == Class::Aggregate, entry.class.is_sum() && entry.unit == "bytes", "{name}");
    }
}

#[test]
fn what_is_added_is_read() {
    let entry = ALL.iter().find(|entry| entry.name == "sent_eager").unwrap();
    let before = entry.value();
    tern_counters::SENT_EAGER.add(5);
    assert_eq!(entry.value(), before + 5);
    let value = |name: &str| ALL.iter().find(|entry| entry.name == name).unwrap().value();
    let before = (value("received"), value("received_bytes"));
    [0, 8, 127, 128, 5000].into_iter().for_each(tern_counters::received);
    assert_eq!((value("received"), value("received_bytes")), (before.0 + 5, before.1 + 5263));
}

#[test]
fn the_page_is_the_declaration() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/counters.md");
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        page == tern_counters::markdown(),
        "docs/counters.md is not up to date; run\n  cargo run -q -p tern-counters --example counters-md > docs/counters.md"
    );
}
