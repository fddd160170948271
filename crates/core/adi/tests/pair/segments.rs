//! Long messages in irregular blocks: out of regions of segments, or in packets where that is refused, also in the midst.

use crate::buffer::{LONG, whole};
use crate::network::Manners;
use crate::world::{Action, Wanted, World};
use crate::{CONTEXTS, action, direct, manners, verdict};
use proptest::prelude::*;
use tern_adi::SendMode;

/// Much is longer than the shortest message of that kind.
const LIMIT: usize = 30_000;

/// Sends and receives around that length, and all that may happen meanwhile.
fn long() -> impl Strategy<Value = Action> {
    let len = || prop_oneof![1 => LONG - 3000..LONG, 4 => LONG..2 * LONG];
    let mode = prop_oneof![3 => Just(SendMode::Standard), 1 => Just(SendMode::Synchronous)];
    let (from, gaps) = (0..3u32, any::<bool>());
    let send = (from.clone(), 0..3u32, 0..2i32, len(), prop_oneof![1 => Just(false), 3 => Just(true)], mode);
    let wanted = (-1..3i32, -1..2i32).prop_map(|(source, tag)| Wanted { context: 0, source, tag });
    prop_oneof![
        4 => send.prop_map(|(from, to, tag, len, gaps, mode)| Action::Send { from, to, context: 0, tag, len, gaps, mode }),
        4 => (from, wanted, len(), gaps).prop_map(|(at, wanted, len, gaps)| Action::Receive { at, wanted, len, gaps }),
        5 => action(LIMIT),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn two_processes_with_irregular_messages(
        manners in manners(5_000..70_000),
        actions in prop::collection::vec(long(), 1..40),
    ) {
        direct::SHARES.set(true);
        let mut world = World::new(2, manners, LIMIT);
        actions.iter().for_each(|action| world.act(action));
        world.finish(CONTEXTS, 5 * LIMIT + 100);
        verdict::judge(&world);
    }

    /// No region stays open, whoever is lost.
    #[test]
    fn three_processes_with_irregular_messages_that_lose_a_connection(
        manners in manners(5_000..70_000),
        before in prop::collection::vec(long(), 1..30),
        cut in (0..3u32, 0..3u32),
        after in prop::collection::vec(long(), 1..20),
    ) {
        direct::SHARES.set(true);
        let mut world = World::new(3, manners, LIMIT);
        before.iter().for_each(|action| world.act(action));
        world.cut(cut.0, cut.1);
        after.iter().for_each(|action| world.act(action));
        world.finish(CONTEXTS, 5 * LIMIT + 100);
    }
}

/// A message of that length from 0 to 1, in irregular blocks or not, and a receive for it. Either of them is there first.
fn one_message(seed: u64, (len, gaps): (usize, bool), receive: (usize, bool)) {
    let mut world = World::new(2, Manners { seed, packet: 20_000, queue: 4 }, LIMIT);
    let send = Action::Send { from: 0, to: 1, context: 0, tag: 1, len, gaps, mode: SendMode::Standard };
    let wanted = Wanted { context: 0, source: 0, tag: 1 };
    let receive = Action::Receive { at: 1, wanted, len: receive.0, gaps: receive.1 };
    let [first, second] = if seed % 4 < 2 { [&send, &receive] } else { [&receive, &send] };
    world.act(first);
    (0..20).for_each(|_| world.act(&Action::Progress(1)));
    world.act(second);
    world.finish(CONTEXTS, 5 * LIMIT + 100);
    verdict::judge(&world);
}

/// Both ways are gone, whether the receive or the message is there first, and whichever is longer.
#[test]
fn regions_and_packets_are_both_tried() {
    let (before, rounds) = (direct::COPIED.get(), 60);
    for seed in 0..rounds {
        let len = LONG + 3 * seed as usize;
        let room = [LONG, whole(len, true), 2 * LONG][seed as usize % 3];
        one_message(seed, (len, true), (room, seed % 2 == 0));
    }
    let copied = u64::from(direct::COPIED.get() - before);
    assert!((rounds / 6..rounds - 5).contains(&copied), "{copied} of {rounds} out of regions");
}

#[test]
fn what_is_seen_goes_into_irregular_blocks() {
    direct::SHARES.set(true);
    let before = direct::SEEN.get();
    for seed in 0..200 {
        one_message(seed, (LONG + 3 * seed as usize, false), ([LONG, 2 * LONG][seed as usize % 2], true));
    }
    let copied = direct::SEEN.get() - before;
    assert!(copied >= 10, "{copied} of 200");
}
