//! Calls that wait: for one message, for several, and for who waits too.

use crate::ended::received;
use crate::network::Manners;
use crate::{buffer, direct, world};
use proptest::prelude::*;
use std::cell::Cell;
use std::rc::Rc;
use tern_adi::{ANY_TAG, Background, Ended, Pattern, SendMode, Sent, Tuple, UNKNOWN};

/// A call that only waits: for messages that are there, that come, that come in pieces or must be
/// asked for, and behind a receive that is older.
#[test]
fn a_receive_that_is_waited_for_at_once() {
    let manners = Manners { seed: 3, packet: 16, queue: 2 };
    for (eager_limit, mode) in [(100, SendMode::Standard), (100, SendMode::Synchronous), (0, SendMode::Standard)] {
        let mut engines = world::engines(2, manners, eager_limit).into_iter().map(Rc::new);
        let (sender, receiver) = (engines.next().unwrap(), engines.next().unwrap());
        let pattern = |tag| Pattern { context: 0, source: tag % 2 - 1, tag };
        let mut sent = Vec::new();
        for (tag, len) in [(9, 5), (1, 50), (2, 0), (3, 8), (4, 60), (5, 33)] {
            let mut buffer = buffer::Buffer::holding(&vec![tag as u8; len], false);
            let tuple = Tuple { context: 0, source: 0, tag };
            sender.isend(1, tuple, buffer.data(), mode);
            sent.push(buffer);
        }
        let from = sender.clone();
        receiver.add_hook(Rc::new(move |_| {
            from.progress();
            Background::Waiting
        }));
        // This one is older than the call that waits in front of it, and takes the first message.
        let mut early = buffer::Buffer::new(60, false);
        let any = receiver.irecv(UNKNOWN, Pattern { context: 0, source: -1, tag: -2 }, early.data());
        for (tag, len) in [(1, 50), (2, 0), (4, 60), (3, 8), (5, 33)] {
            let mut into = buffer::Buffer::new(60, false);
            let from = if tag % 2 == 0 { UNKNOWN } else { 0 };
            let status = receiver.recv(from, pattern(tag), into.data());
            assert_eq!((status.source, status.tag, status.bytes), (0, tag, len));
            into.check(&vec![tag as u8; len as usize]);
        }
        assert!(receiver.is_done(any));
        assert_eq!(receiver.take(any).tag, 9);
        early.check(&[9; 5]);
        assert_eq!(receiver.unexpected().0, 0);
    }
}

/// A call that waits for its send does not ask a peer that waits too, up to a length; all others do.
#[test]
fn a_long_message_goes_ahead_to_who_waits() {
    let tuple = Tuple { context: 0, source: 0, tag: 1 };
    let long = direct::AHEAD;
    for (waiting, len, sender_waits, goes) in [
        (true, long, true, true),
        (false, long, true, false),
        (true, long + 1, true, false),
        (true, long, false, false),
    ] {
        direct::WAITING.set(waiting);
        for seed in 0..50 {
            let engines = world::engines_of_devices(2, Manners { seed, packet: 64, queue: 100 });
            let content: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let mut out = buffer::Buffer::holding(&content, seed % 2 == 0);
            if sender_waits {
                engines[0].will_wait();
            }
            let sent = engines[0].isend(1, tuple, out.data(), SendMode::Standard);
            let progress = || (0..1000).for_each(|at| _ = engines[at % 2].progress());
            progress();
            let done = match sent {
                Sent::Done => true,
                Sent::Pending(request) => engines[0].is_done(request),
            };
            assert_eq!(done, goes, "seed {seed}");
            let mut into = buffer::Buffer::new(out.len(), seed % 3 == 0);
            let receive = engines[1].irecv(0, Pattern { context: 0, source: 0, tag: 1 }, into.data());
            progress();
            assert_eq!(engines[1].take(receive).bytes, out.len() as u64);
            into.check(&content);
        }
    }
}

/// Who has sent and received computes again, also when it did not have to wait.
#[test]
fn an_exchange_ends() {
    for (seed, len) in (0..40).flat_map(|seed| [(seed, 20), (seed, 300)]) {
        let engines = world::engines(2, Manners { seed, packet: 400, queue: 100 }, 400);
        let tuple = |rank| Tuple { context: 0, source: rank, tag: 1 };
        let mut out = [buffer::Buffer::new(len, false), buffer::Buffer::holding(&vec![7; len], false)];
        let mut into = buffer::Buffer::new(len, false);
        engines[1].isend(0, tuple(1), out[1].data(), SendMode::Standard);
        for _ in 0..100 {
            engines[1].progress();
        }
        let pattern = Pattern { context: 0, source: 1, tag: 1 };
        let (_, status) = engines[0].exchange(1, tuple(0), out[0].data(), 1, pattern, into.data());
        assert_eq!(status.bytes, len as u64);
        into.check(&vec![7; len]);
        assert!(!direct::SAID.get(), "{len} bytes");
    }
}

proptest! {
    /// Receives that are posted before their messages come, and waited for together: each gets the message that is left for it by those before.
    #[test]
    fn receives_that_are_waited_for_together(
        seed in any::<u64>(),
        wanted in prop::collection::vec(prop_oneof![2 => 0..3i32, 1 => Just(ANY_TAG)], 1..12),
        sent in prop::collection::vec(0..3i32, 1..12),
        first in 0..12usize,
    ) {
        let engines = world::engines(2, Manners { seed, packet: 64, queue: 4 }, 100);
        let mut into: Vec<_> = wanted.iter().map(|_| buffer::Buffer::new(1, false)).collect();
        let receive = |(&tag, into): (&i32, &mut buffer::Buffer)| {
            let pattern = Pattern { context: 0, source: 0, tag };
            engines[1].name(engines[1].irecv(0, pattern, into.data()), Rc::new(()))
        };
        let names: Vec<_> = wanted.iter().zip(&mut into).map(receive).collect();
        let mut given = vec![None; wanted.len()];
        for (number, &tag) in sent.iter().enumerate() {
            let suits = |at: &usize| given[*at].is_none() && [tag, ANY_TAG].contains(&wanted[*at]);
            if let Some(at) = (0..wanted.len()).find(suits) {
                given[at] = Some(number);
            }
        }
        let mut outgoing: Vec<_> = (0..sent.len()).map(|number| buffer::Buffer::holding(&[number as u8], false)).collect();
        for (&tag, message) in sent.iter().zip(&mut outgoing) {
            engines[0].isend(1, Tuple { context: 0, source: 0, tag }, message.data(), SendMode::Standard);
        }
        let mut open: Vec<usize> = (0..wanted.len()).filter(|&at| given[at].is_some()).collect();
        let _waits = engines[1].keep_waiting();
        for round in 0..10_000 {
            let Some(&at) = open.get((first + round / 4) % open.len().max(1)) else { break };
            engines[0].progress();
            let mut status = engines[1].end_named_fast(names[at]);
            if status.is_none() && round % 40 == 39 {
                engines[1].progress();
                if let Ended::Over(over) = engines[1].end_named(names[at]) {
                    status = Some(received(over));
                }
            }
            if let Some(status) = status {
                let number = given[at].expect("it is given one");
                assert_eq!((status.tag, status.bytes), (sent[number], 1), "{at}");
                into[at].check(&[number as u8]);
                open.retain(|&other| other != at);
            }
        }
        assert!(open.is_empty(), "{open:?} of {wanted:?} never got theirs of {sent:?}");
    }
}

thread_local! {
    static TURNS: Cell<u32> = const { Cell::new(0) };
}

/// Whether a program waits in a call or looks in a loop: others get a turn while nothing comes.
#[test]
fn a_look_in_vain_gives_a_turn_now_and_then() {
    let manners = Manners { seed: 3, packet: 16, queue: 2 };
    let engines = world::engines(2, manners, 100);
    engines[0].on_idle(|| TURNS.set(TURNS.get() + 1));
    let mut looks = 0;
    while TURNS.get() < 2 {
        engines[0].look();
        looks += 1;
    }
    assert!(looks > 16, "two turns in {looks} looks");
    TURNS.set(0);
    engines[0].wait_until(&mut || TURNS.get() > 0);
}
