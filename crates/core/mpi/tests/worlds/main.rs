//! Whole small programs in a world of one thread: point-to-point messages, collectives, windows and agreement over the engine and a network in
//! memory, while processes die. Those that live agree, shrink, go on, and come to the end with the right sum. All of it follows from a seed, and a
//! limit on the turns says that nothing hangs.
//!
//! The library above the engine has its state once in a process. What is here in its place is small: numbers of communicators, revocation, and the
//! mail of the agreements, whose state machine and bytes are the real ones.

mod collectives;
#[allow(dead_code, reason = "tests of the engine use the rest")]
#[path = "../../../adi/tests/pair/direct.rs"]
mod direct;
mod messages;
#[allow(dead_code, reason = "tests of the engine use the rest")]
#[path = "../../../adi/tests/pair/network.rs"]
mod network;
mod process;
mod program;
mod shared;
mod turns;
mod windows;
mod world;

use tern_settings::Entry;

/// Worlds, where TERN_TEST_KILLS names no number, and where they begin.
const SEEDS: u64 = 1000;

/// Names the world that was wrong.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the world of TERN_TEST_KILLS=1@{}", self.0);
        }
    }
}

#[test]
fn programs_go_on_without_those_that_die() {
    tern_settings::FT.set("on").expect("a switch");
    let text = std::env::var("TERN_TEST_KILLS").unwrap_or_default();
    let (count, first) = text.split_once('@').unwrap_or((&text, "0"));
    let (count, first) = (count.parse().unwrap_or(SEEDS), first.parse().unwrap_or(0));
    let mut all = world::Told::default();
    for seed in first..first + count {
        let _named = Named(seed);
        let told = world::run(seed);
        all.deaths += told.deaths;
        all.turns += told.turns;
        all.agreements += told.agreements;
        all.windows += told.windows;
    }
    println!("{} deaths, {} turns, {} agreements, {} windows", all.deaths, all.turns, all.agreements, all.windows);
    assert!(
        count < 100
            || (10 * all.deaths as u64 >= 9 * count
                && all.agreements as u64 >= 2 * count
                && all.windows as u64 >= count)
    );
}
