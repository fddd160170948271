//! What Tern chooses, as text in the repository: how sends, receives and waiting messages go, what the devices take, what trials and collectives
//! decide. A change of any choice is seen in the difference of these files.
//!
//! The keys are facts of a message and of a machine, and the costs of five machines. What takes time to find out has each of its answers in
//! turn. Whoever changes a choice on purpose writes the files anew by `TERN_TEST_WRITE=1 cargo test -p tern-bench --test choices`, and explains the
//! difference in the commit.

mod accesses;
mod buffers;
mod collectives;
mod machines;
mod moves;
mod pairs;
mod patterns;
mod receives;
mod rendezvous;
mod sends;
mod transfers;
mod tree;
mod trials;

use std::path::Path;

/// Compares a text with the file of that name, or writes it.
fn compare(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/choices").join(name);
    if std::env::var_os("TERN_TEST_WRITE").is_some() {
        std::fs::write(&file, text).expect("the file is written");
        return;
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = known.lines().zip(text.lines()).position(|(known, now)| known != now);
    let differs = differs.or((known.lines().count() != text.lines().count()).then(|| known.lines().count()));
    if let Some(line) = differs {
        let of = |text: &str| text.lines().nth(line).unwrap_or("(nothing)").to_owned();
        panic!("{name}, line {}: the choice was\n  {}\nand is\n  {}", line + 1, of(&known), of(text));
    }
}

#[test]
fn sends_go_as_before() {
    compare("sends.txt", &sends::text());
}

#[test]
fn receives_go_as_before() {
    compare("receives.txt", &receives::text());
}

#[test]
fn waiting_messages_go_as_before() {
    compare("rendezvous.txt", &rendezvous::text());
}

#[test]
fn devices_copy_as_before() {
    compare("transfers.txt", &transfers::text());
}

#[test]
fn devices_take_the_steps_that_they_took() {
    compare("moves.txt", &moves::text());
}

#[test]
fn trials_end_as_before() {
    compare("trials.txt", &trials::text());
}

#[test]
fn every_placement_goes_as_before() {
    compare("pairs.txt", &pairs::text());
}

#[test]
fn accesses_go_as_before() {
    compare("accesses.txt", &accesses::text());
}

#[test]
fn buffers_are_used_as_before() {
    compare("buffers.txt", &buffers::text());
}

#[test]
fn patterns_are_learned_as_before() {
    compare("patterns.txt", &patterns::text());
}

#[test]
fn collectives_go_as_before() {
    compare("collectives.txt", &collectives::text());
}
