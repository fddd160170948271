//! What is learned from the program's own messages: cold, after some of them, and after a thousand, with either way the quicker one.

use std::fmt::Write;
use tern_policy::{Along, Copied, Learned, LendingTrials, Message, Way};

const ALONG: [Along; 4] = [Along::Alone, Along::Call, Along::Exchange, Along::Left];
const COPIED: [Copied; 5] =
    [Copied::ByKernel, Copied::Dense, Copied::InBlocks, Copied::InSegments, Copied::InSegmentsByKernel];
/// Messages of a sequence.
const MESSAGES: usize = 1000;

/// The decisions of a sequence as lengths of runs: `6 one copy, 6 packets, ...`, up to eight of them, and how many of the last hundred were the first
/// way.
fn runs(decisions: &[bool], names: [&str; 2]) -> String {
    let mut runs: Vec<(usize, bool)> = Vec::new();
    for &decision in decisions {
        match runs.last_mut() {
            Some((count, last)) if *last == decision => *count += 1,
            _ => runs.push((1, decision)),
        }
    }
    let first: Vec<String> =
        runs.iter().take(8).map(|&(count, is)| format!("{count} {}", names[usize::from(is)])).collect();
    let last = decisions[decisions.len() - 100..].iter().filter(|&&is| is).count();
    format!("{}; of the last 100: {last} {}", first.join(", "), names[1])
}

/// Whether one copy is taken, message after message, if they take so long by packets and by one copy.
fn copies(message: &Message, took: [u64; 2]) -> Vec<bool> {
    let (mut learned, mut now) = (Learned::new(2), 0);
    let mut decisions = Vec::new();
    for _ in 0..MESSAGES {
        let once = learned.one_copy(message, || now);
        learned.transfer();
        learned.go_on(false, || now);
        learned.starts(true);
        now += took[usize::from(once)];
        decisions.push(once);
    }
    decisions
}

fn lending(took: [u64; 2]) -> Vec<bool> {
    let (mut trials, mut now) = (LendingTrials::default(), 0);
    let mut decisions = Vec::new();
    for _ in 0..MESSAGES {
        let lends = trials.begin(14, 16 << 10, now);
        trials.saves(100);
        now += took[usize::from(lends)];
        decisions.push(lends);
    }
    decisions
}

pub fn text() -> String {
    let mut text = String::from("# Decisions of a thousand messages in a row, by which way takes longer.\n");
    let speeds = [("packets take longer", [2000, 1000]), ("one copy takes longer", [1000, 2000])];
    for along in ALONG {
        for copied in COPIED {
            for (len, long) in [(20_000, false), (200_000, true)] {
                for (name, took) in speeds {
                    let message = Message { len, along, copied, long, shown: None };
                    let decided = runs(&copies(&message, took), ["packets", "one copy"]);
                    _ = writeln!(text, "{along:?} {copied:?} {len}, {name}: {decided}");
                }
            }
        }
        for shown in [Way::Once, Way::ChosenPackets, Way::Packets] {
            let message = Message { len: 20_000, along, copied: Copied::Dense, long: false, shown: Some(shown) };
            let decided = runs(&copies(&message, [1500, 1500]), ["packets", "one copy"]);
            _ = writeln!(text, "{along:?} Dense 20000, its peer has shown {shown:?}: {decided}");
        }
    }
    for (name, took) in [("a copy takes longer", [2000, 1000]), ("lending takes longer", [1000, 2000])] {
        _ = writeln!(text, "a network, {name}: {}", runs(&lending(took), ["copies", "lends"]));
    }
    text
}
