//! A process that cannot be reached any more, and messages that will not come.

use crate::network::Manners;
use crate::world::{self, World};
use crate::{CONTEXTS, TINY, action, buffer, manners, verdict};
use proptest::prelude::*;
use std::rc::Rc;
use tern_adi::{ANY_TAG, Data, Pattern, SendMode, Tuple, UNKNOWN};

proptest! {
    /// A connection is lost at some time: everything ends all the same, nothing is left, and only what needed
    /// that connection fails.
    #[test]
    fn three_processes_that_lose_a_connection(
        manners in manners(1..64),
        before in prop::collection::vec(action(TINY), 1..80),
        cut in (0..3u32, 0..3u32),
        after in prop::collection::vec(action(TINY), 1..80),
    ) {
        let mut world = World::new(3, manners, TINY);
        before.iter().for_each(|action| world.act(action));
        world.cut(cut.0, cut.1);
        after.iter().for_each(|action| world.act(action));
        world.finish(CONTEXTS, 5 * TINY + 100);
        let pair = |a: u32, b: u32| cut.0 != cut.1 && ([a, b] == [cut.0, cut.1] || [b, a] == [cut.0, cut.1]);
        for message in &world.messages {
            prop_assert!(message.aborted.is_none_or(|peer| peer == message.to && pair(message.from, message.to)));
        }
        for receive in &world.receives {
            let aborted = receive.status.and_then(|status| status.aborted());
            prop_assert!(aborted.is_none_or(|peer| pair(receive.at, peer)));
            let named = receive.pattern.source;
            prop_assert!(aborted.is_none_or(|peer| named < 0 || named as u32 == peer));
        }
        verdict::judge_order(&world);
    }
}

/// A message of a lost process that never comes whole keeps back what follows it in its communicator, and nothing else.
#[test]
fn nothing_overtakes_a_message_that_was_cut_off() {
    let manners = Manners { seed: 1, packet: 64, queue: 100 };
    let (engines, scissors) = world::connected(2, manners, Some(TINY));
    let mut out: Vec<_> = [3, 40, 4, 5, 6].map(|len| buffer::Buffer::holding(&vec![len; len.into()], false)).into();
    for ((context, tag), buffer) in [(0, 1), (0, 1), (0, 1), (0, 2), (1, 1)].into_iter().zip(&mut out) {
        engines[0].isend(1, Tuple { context, source: 0, tag }, buffer.data(), SendMode::Standard);
    }
    (0..1000).for_each(|at| _ = engines[at % 2].progress());
    assert_eq!(engines[1].unexpected().0, out.len());
    scissors.cut(0, 1);
    (0..1000).for_each(|at| _ = engines[at % 2].progress());
    let mut into = buffer::Buffer::new(50, false);
    let mut received = |context, tag| {
        let request = engines[1].irecv(0, Pattern { context, source: 0, tag }, into.data());
        let status = engines[1].take(request);
        status.aborted().map_or(Ok(status.bytes), Err)
    };
    assert_eq!(received(0, 1), Ok(3), "it came before");
    assert_eq!(received(0, 1), Err(0), "it was cut off");
    assert_eq!([received(0, 1), received(0, ANY_TAG), received(0, 2)], [Err(0); 3], "it came behind");
    assert_eq!(received(1, 1), Ok(6), "it is of another communicator");
    assert_eq!(engines[1].unexpected(), (0, 0));
}

/// Calls that wait for a process that is lost, and calls that come later.
#[test]
fn whoever_waits_for_a_lost_process_is_told() {
    let manners = Manners { seed: 11, packet: 64, queue: 4 };
    let mut world = World::new(2, manners, 100);
    world.cut(0, 1);
    let engine = &world.engines()[0];
    let mut into = buffer::Buffer::new(9, false);
    let tuple = Tuple { context: 0, source: 0, tag: 1 };
    let status = engine.recv(1, Pattern { context: 0, source: 1, tag: 1 }, into.data());
    assert_eq!((status.aborted(), status.truncated()), (Some(1), None));
    assert_eq!(engine.why_lost(1).as_deref(), Some("somebody has cut the cable"));
    assert_eq!(engine.lost_for(1, 0), Some(1));
    assert!(!engine.send_fast(1, &tuple, into.data_at(), 9));
    assert_eq!(engine.send(1, tuple, into.data(), SendMode::Standard), Err(1));
    // A receive from anybody fails where the lost one takes part.
    engine.know_members(Rc::new(|context, process| (context, process) == (7, 1)));
    let any = |context| engine.irecv(UNKNOWN, Pattern { context, source: -1, tag: -1 }, Data::none());
    let (here, elsewhere) = (any(7), any(8));
    assert!(engine.is_done(here) && engine.take(here).aborted() == Some(1));
    assert!(!engine.is_done(elsewhere));
}

/// What is said in place of a message takes its turn among the messages, whether its receive is early or late, short or
/// published.
#[test]
fn a_word_in_place_of_a_message() {
    for seed in 0..200u64 {
        let chance =
            |at: usize, of: u64| (seed + 7).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(at as u32 * 5) % of;
        let engines = world::engines(2, Manners { seed, packet: 16, queue: 2 }, if seed % 3 == 0 { 0 } else { 100 });
        let progress = || (0..1000).for_each(|at| _ = engines[at % 2].progress());
        let tuple = Tuple { context: 0, source: 0, tag: 5 };
        let pattern = Pattern { context: 0, source: 0, tag: if seed % 5 == 0 { -2 } else { 5 } };
        let mut into: Vec<_> = (0..8).map(|_| buffer::Buffer::new(60, false)).collect();
        let mut out: Vec<_> =
            (0..8u8).map(|at| buffer::Buffer::holding(&[at; 60][..7 + at as usize * 7], false)).collect();
        let early = chance(0, 9) as usize;
        let receive = |into: &mut buffer::Buffer| engines[1].irecv(0, pattern, into.data());
        let mut receives: Vec<_> = into[..early].iter_mut().map(receive).collect();
        for (at, buffer) in out.iter_mut().enumerate() {
            match chance(at + 1, 3) {
                0 => engines[0].send_missing(1, tuple, at as u32),
                _ => _ = engines[0].isend(1, tuple, buffer.data(), SendMode::Standard),
            }
            (0..chance(at + 3, 4)).for_each(|_| _ = engines[0].progress());
        }
        progress();
        receives.extend(into[early..].iter_mut().map(receive));
        progress();
        for (at, request) in receives.into_iter().enumerate() {
            assert!(engines[1].is_done(request), "receive {at} of seed {seed}");
            let status = engines[1].take(request);
            assert_eq!((status.source, status.tag, status.aborted(), status.truncated()), (0, 5, None, None));
            let missing = chance(at + 1, 3) == 0;
            assert_eq!(status.missing(), missing.then_some(at as u32), "receive {at} of seed {seed}");
            into[at].check(&[at as u8; 60][..if missing { 0 } else { 7 + at * 7 }]);
        }
        assert_eq!(engines[1].unexpected(), (0, 0));
    }
}
