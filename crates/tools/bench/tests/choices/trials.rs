//! What is learned from the program's own messages: cold, after some of them, and after a thousand, with either way the quicker one.

use super::machines;
use std::fmt::Write;
use std::rc::Rc;
use tern_policy::collective::{Collective, InPlace, ReadInPlace};
use tern_policy::transfer::{Chooser, SingleCopy, Situation, Stage, Transfer};
use tern_policy::{Along, Copied, Demotion, Learned, LendingTrials, Message, SharedCoordinator, Way};
use tern_settings::Mechanism;

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
fn copies(coordinator: &SharedCoordinator, message: &Message, took: [u64; 2]) -> Vec<bool> {
    let (mut learned, mut now) = (Learned::new(2, coordinator), 0);
    let mut decisions = Vec::new();
    for _ in 0..MESSAGES {
        let once = learned.turn(message, || now).one_copy;
        learned.transfer();
        learned.go_on(false, || now);
        learned.starts(true);
        now += took[usize::from(once)];
        decisions.push(once);
    }
    decisions
}

fn lending(coordinator: &SharedCoordinator, took: [u64; 2]) -> Vec<bool> {
    let (mut trials, mut now) = (LendingTrials::new(coordinator), 0);
    let mut decisions = Vec::new();
    for _ in 0..MESSAGES {
        let lends = trials.begin(14, 16 << 10, now);
        trials.saves(100);
        now += took[usize::from(lends)];
        decisions.push(lends);
    }
    decisions
}

/// Whether the kernel copies, message after message, where costs leave open whether it or packets are sooner: the rule `contest`. They take so long.
fn contest(situation: &Situation, took: [u64; 2]) -> Vec<bool> {
    let [(_, zen4), ..] = machines::all();
    let (chooser, mut now) = (Chooser::new(Rc::new(zen4), Mechanism::Auto, SingleCopy::default()), 0);
    let mut decisions = Vec::new();
    for _ in 0..MESSAGES {
        let kernel = matches!(chooser.pick(situation, || now), Transfer::Cma { .. });
        chooser.end_round();
        now += took[usize::from(kernel)];
        decisions.push(kernel);
    }
    decisions
}

/// Whether the lines of packets are passed on: the rule `demote`.
fn demotion(lens: &[usize], took: [u64; 2]) -> Vec<bool> {
    let (demotion, mut now) = (Demotion::new(true, [32, 128]), 0);
    let mut decisions = Vec::new();
    for &len in lens.iter().cycle().take(MESSAGES) {
        let passed = demotion.is_for(len, || now);
        now += took[usize::from(passed)];
        decisions.push(passed);
    }
    decisions
}

/// Whether two members of a collective read in place, which takes each of them so long, or not: the rule `read-in-place`.
fn in_place(coordinator: &SharedCoordinator, took: [[u64; 2]; 2]) -> Vec<bool> {
    let (members, mut now) = ([0, 1].map(|_| ReadInPlace::new(coordinator)), [0; 2]);
    let (what, len) = (Collective::Allgather, 64 << 10);
    let mut decisions = Vec::new();
    for _ in 0..MESSAGES {
        let ways = [0, 1].map(|member| members[member].begin(what, len, || now[member]));
        assert_eq!(ways[0], ways[1], "both go the same way");
        let reads = ways[0] == InPlace::Ask;
        if reads {
            let measured = members.each_ref().map(ReadInPlace::measured);
            members.iter().for_each(|member| member.end(what, Some(measured.into_iter())));
        }
        (0..2).for_each(|member| now[member] += took[member][usize::from(!reads)]);
        decisions.push(reads);
    }
    decisions
}

pub fn text() -> String {
    let coordinator = SharedCoordinator::default();
    let mut text = String::from("# Decisions of a thousand messages in a row, by which way takes longer.\n");
    let speeds = [("packets take longer", [2000, 1000]), ("one copy takes longer", [1000, 2000])];
    for along in ALONG {
        for copied in COPIED {
            for (len, long) in [(20_000, false), (200_000, true)] {
                for (name, took) in speeds {
                    let message = Message { len, along, copied, long, shown: None, peer_tries: false };
                    let decided = runs(&copies(&coordinator, &message, took), ["packets", "one copy"]);
                    _ = writeln!(text, "{along:?} {copied:?} {len}, {name}: {decided}");
                }
            }
        }
        for shown in [Way::Once, Way::ChosenPackets, Way::Packets] {
            let message = Message {
                len: 20_000,
                along,
                copied: Copied::Dense,
                long: false,
                shown: Some(shown),
                peer_tries: true,
            };
            let decided = runs(&copies(&coordinator, &message, [1500, 1500]), ["packets", "one copy"]);
            _ = writeln!(text, "{along:?} Dense 20000, its peer has shown {shown:?}: {decided}");
        }
    }
    for (name, took) in [("a copy takes longer", [2000, 1000]), ("lending takes longer", [1000, 2000])] {
        _ = writeln!(text, "a network, {name}: {}", runs(&lending(&coordinator, took), ["copies", "lends"]));
    }
    let private = Situation { size: 48 << 10, push: true, pull: true, ..Situation::default() };
    for (stage, eager, size) in
        [(Stage::Published, true, 48 << 10), (Stage::Published, false, 256 << 10), (Stage::Requested, false, 256 << 10)]
    {
        for (name, took) in [("packets take longer", [2000, 1000]), ("the kernel takes longer", [1000, 2000])] {
            let situation = Situation { size, stage, eager, ..private };
            let decided = runs(&contest(&situation, took), ["packets", "kernel"]);
            _ = writeln!(text, "contest, {stage:?} {size}, {name}: {decided}");
        }
    }
    for (what, lens) in [
        ("8 bytes", &[8][..]),
        ("8 and 200 bytes in turn", &[8, 200]),
        ("four of 8 and four of 200 bytes", &[8, 8, 8, 8, 200, 200, 200, 200]),
    ] {
        for (name, took) in
            [("lines that stay take longer", [2000, 1000]), ("lines passed on take longer", [1000, 2000])]
        {
            _ = writeln!(text, "demote, {what}, {name}: {}", runs(&demotion(lens, took), ["stay", "passed on"]));
        }
    }
    for (name, took) in [
        ("messages take longer", [[1000, 2000]; 2]),
        ("reading in place takes longer", [[2000, 1000]; 2]),
        ("one member is quicker in place, the other much quicker in messages", [[1000, 1500], [3000, 1000]]),
    ] {
        _ = writeln!(text, "read-in-place, {name}: {}", runs(&in_place(&coordinator, took), ["messages", "in place"]));
    }
    text
}
