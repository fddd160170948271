//! The declaration is whole, and the documentation follows it.

use tern_settings::ALL;

#[test]
fn every_entry_is_whole() {
    for (at, entry) in ALL.iter().enumerate() {
        let name = entry.name();
        assert!(name.starts_with("TERN_"), "{name}");
        assert_eq!(entry.check(entry.default()), Ok(()), "{name}: its default is not allowed");
        assert!(entry.meaning().ends_with('.'), "{name}: the meaning is no sentence");
        assert!(ALL[..at].iter().all(|other| other.name() != name), "{name} is declared twice");
    }
}

#[test]
fn the_page_is_the_declaration() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/settings.md");
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        page == tern_settings::markdown(),
        "docs/settings.md is not up to date; run\n  cargo run -q -p tern-settings --example settings-md > docs/settings.md"
    );
}
