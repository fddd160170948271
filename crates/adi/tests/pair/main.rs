//! Two and three engines in one thread over an unkind network: whatever the programs do, each
//! message goes where MPI says, whole, and everything completes.

mod buffer;
mod damaged;
mod direct;
mod habits;
mod network;
mod rdma;
mod verdict;
mod world;

use network::Manners;
use proptest::prelude::*;
use std::rc::Rc;
use tern_adi::{ANY_TAG, Background, Data, Ended, Over, Pattern, SendMode, Sent, Status, Tuple, UNKNOWN};
use world::{Action, Wanted, World};

const CONTEXTS: u32 = 2;

/// Sizes around an eager limit, and some far from it.
fn len(limit: usize) -> impl Strategy<Value = usize> {
    prop_oneof![
        2 => 0..4usize,
        2 => limit.saturating_sub(2)..limit + 3,
        1 => 0..limit + 1,
        1 => limit..4 * limit + 40,
    ]
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let source = prop_oneof![3 => 0..3i32, 2 => Just(-1)];
    let tag = prop_oneof![3 => 0..3i32, 2 => Just(-1)];
    (0..CONTEXTS, source, tag).prop_map(|(context, source, tag)| Wanted { context, source, tag })
}

fn send(limit: usize) -> impl Strategy<Value = Action> {
    let mode = prop_oneof![3 => Just(SendMode::Standard), 2 => Just(SendMode::Synchronous)];
    let gaps = any::<bool>();
    (0..3u32, 0..3u32, 0..CONTEXTS, 0..3i32, len(limit), gaps, mode)
        .prop_map(|(from, to, context, tag, len, gaps, mode)| Action::Send { from, to, context, tag, len, gaps, mode })
}

fn action(limit: usize) -> impl Strategy<Value = Action> {
    let receive = (0..3u32, wanted(), len(limit), any::<bool>());
    let fetch = (0..3u32, len(limit), any::<bool>());
    prop_oneof![
        8 => send(limit),
        8 => receive.prop_map(|(at, wanted, len, gaps)| Action::Receive { at, wanted, len, gaps }),
        2 => (0..3u32, wanted()).prop_map(|(at, wanted)| Action::Probe { at, wanted }),
        2 => (0..3u32, wanted()).prop_map(|(at, wanted)| Action::Claim { at, wanted }),
        2 => fetch.prop_map(|(at, len, gaps)| Action::Fetch { at, len, gaps }),
        2 => (0..100usize).prop_map(Action::CancelSend),
        2 => (0..100usize).prop_map(Action::CancelReceive),
        1 => (0..100usize).prop_map(Action::Release),
        10 => (0..3u32).prop_map(Action::Progress),
        2 => (0..3u32).prop_map(Action::BeginCall),
        1 => (0..3u32).prop_map(Action::EndCall),
    ]
}

fn manners(packet: std::ops::Range<usize>) -> impl Strategy<Value = Manners> {
    (any::<u64>(), packet, 1..5usize).prop_map(|(seed, packet, queue)| Manners { seed, packet, queue })
}

fn run(processes: u32, manners: Manners, eager_limit: usize, actions: &[Action]) {
    let mut world = World::new(processes, manners, eager_limit);
    for action in actions {
        world.act(action);
    }
    world.finish(CONTEXTS, 5 * eager_limit + 100);
    verdict::judge(&world);
}

const TINY: usize = 20;
const LARGE: usize = 5000;
const LONG: usize = 40_000;

proptest! {
#[test]
fn two_processes_with_a_tiny_eager_limit(
    manners in manners(1..64),
    actions in prop::collection::vec(action(TINY), 1..120),
) {
    run(2, manners, TINY, &actions);
}

#[test]
fn three_processes_with_a_tiny_eager_limit(
    manners in manners(1..64),
    actions in prop::collection::vec(action(TINY), 1..120),
) {
    run(3, manners, TINY, &actions);
}

#[test]
fn three_processes_with_a_large_eager_limit(
    manners in manners(100..2000),
    actions in prop::collection::vec(action(LARGE), 1..60),
) {
    run(3, manners, LARGE, &actions);
}

/// Every message but an empty one asks first.
#[test]
fn two_processes_without_eager_messages(
    manners in manners(1..64),
    actions in prop::collection::vec(action(TINY), 1..120),
) {
    run(2, manners, 0, &actions);
}}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Messages that take several packets even of the largest size.
    #[test]
    fn two_processes_with_long_messages(
        manners in manners(20_000..70_000),
        actions in prop::collection::vec(action(LONG), 1..40),
    ) {
        run(2, manners, LONG, &actions);
    }
}

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
    }
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
    assert!(!engine.send(1, tuple, into.data(), SendMode::Standard));
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

/// MPI_Cancel followed by MPI_Request_free: nobody sees what became of it, and nothing is left.
#[test]
fn a_cancelled_transfer_may_be_given_up() {
    let manners = Manners { seed: 7, packet: 16, queue: 2 };
    for (eager_limit, mode) in [(100, SendMode::Synchronous), (0, SendMode::Standard)] {
        let engines = world::engines(2, manners, eager_limit);
        let progress = || {
            for _ in 0..1000 {
                engines[0].progress();
                engines[1].progress();
            }
        };
        let tuple = Tuple { context: 0, source: 0, tag: 5 };
        let pattern = Pattern { context: 0, source: 0, tag: 5 };
        let mut out = buffer::Buffer::holding(&[1; 50], false);
        let Sent::Pending(send) = engines[0].isend(1, tuple, out.data(), mode) else {
            panic!("the send waits for its receive")
        };
        engines[0].cancel(send);
        engines[0].release(send);
        let mut unused = buffer::Buffer::new(50, false);
        let receive = engines[1].irecv(0, pattern, unused.data());
        engines[1].cancel(receive);
        engines[1].release(receive);
        progress();
        assert_eq!(engines[1].unexpected(), (0, 0));
        // The next pair is not disturbed by what the first left behind.
        let mut second = buffer::Buffer::holding(&[2; 50], false);
        let mut into = buffer::Buffer::new(50, false);
        let receive = engines[1].irecv(0, pattern, into.data());
        let sent = engines[0].isend(1, tuple, second.data(), mode);
        progress();
        assert!(engines[1].is_done(receive));
        assert_eq!(engines[1].take(receive).bytes, 50);
        // It is done at once if its receive was published.
        assert!(match sent {
            Sent::Pending(request) => engines[0].is_done(request),
            Sent::Done => true,
        });
        unused.check(&[]);
        into.check(&[2; 50]);
    }
}

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

/// Messages that nobody has asked for wait at their sender past the cap, and the one behind them comes through.
#[test]
fn a_flood_waits_at_its_sender() {
    const FLOOD: usize = 500;
    let engines = world::engines(2, Manners { seed: 9, packet: 64, queue: 4 }, 100);
    engines[1].cap_unexpected(2000);
    let pattern = |tag| Pattern { context: 0, source: 0, tag };
    let mut out: Vec<_> = (0..=FLOOD).map(|at| buffer::Buffer::holding(&[at as u8; 50], false)).collect();
    let mut sends = Vec::new();
    for (at, buffer) in out.iter_mut().enumerate() {
        let tuple = Tuple { context: 0, source: 0, tag: if at < FLOOD { 1 } else { 2 } };
        sends.push(engines[0].isend(1, tuple, buffer.data(), SendMode::Standard));
        // The sender does nothing but send.
        engines[1].progress();
    }
    let mut last = buffer::Buffer::new(50, false);
    let receive = engines[1].irecv(0, pattern(2), last.data());
    while !engines[1].is_done(receive) {
        engines.iter().for_each(|engine| _ = engine.progress());
    }
    last.check(&[FLOOD as u8; 50]);
    let (messages, bytes) = engines[1].unexpected();
    assert_eq!(messages, FLOOD, "all of them are known");
    assert!(bytes <= 4000, "{bytes} of {} bytes are kept", FLOOD * 50);
    for at in 0..FLOOD {
        let mut into = buffer::Buffer::new(50, false);
        let receive = engines[1].irecv(0, pattern(1), into.data());
        while !engines[1].is_done(receive) {
            engines.iter().for_each(|engine| _ = engine.progress());
        }
        engines[1].take(receive);
        into.check(&[at as u8; 50]);
    }
    for _ in 0..100 {
        engines.iter().for_each(|engine| _ = engine.progress());
    }
    for sent in sends {
        assert!(matches!(sent, Sent::Done) || matches!(sent, Sent::Pending(request) if engines[0].is_done(request)));
    }
    // It need not ask any more.
    let mut again = buffer::Buffer::holding(&[7; 50], false);
    engines[0].isend(1, Tuple { context: 0, source: 0, tag: 3 }, again.data(), SendMode::Standard);
    for _ in 0..100 {
        engines.iter().for_each(|engine| _ = engine.progress());
    }
    assert_eq!(engines[1].unexpected(), (1, 50));
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

/// A name finds its transfer until that is ended or given up, and what it owns lives until it is over.
#[test]
fn names_of_transfers() {
    let engines = world::engines(2, Manners { seed: 1, packet: 64, queue: 4 }, 100);
    let exchange = || {
        let mut out = buffer::Buffer::holding(&[3; 9], false);
        assert!(engines[0].send(1, Tuple { context: 0, source: 0, tag: 1 }, out.data(), SendMode::Standard));
        for _ in 0..100 {
            engines[1].progress();
        }
    };
    let pattern = Pattern { context: 0, source: 0, tag: 1 };
    let owner = Rc::new("a communicator");
    let mut into = buffer::Buffer::new(9, false);

    let first = engines[1].irecv(0, pattern, into.data());
    let name = engines[1].name(first, owner.clone());
    assert_eq!(engines[1].named(name), Some((first, true)));
    assert!(matches!(engines[1].end_named(name), Ended::Pending));
    exchange();
    assert!(matches!(engines[1].end_named(name), Ended::Over(Over::Received(status)) if status.bytes == 9));
    assert_eq!(engines[1].named(name), None);
    assert_eq!(Rc::strong_count(&owner), 1);

    // The same number again, under another name, and without one.
    let second = engines[1].irecv(0, pattern, into.data());
    assert_eq!(second, first);
    assert_eq!(engines[1].named(name), None);
    let other = engines[1].name(second, owner.clone());
    assert_ne!(other, name);
    engines[1].release(second);
    assert!(matches!(engines[1].end_named(other), Ended::Stale));
    assert_eq!(Rc::strong_count(&owner), 2);
    exchange();
    assert_eq!(Rc::strong_count(&owner), 1);
    engines[1].irecv(0, pattern, into.data());
    assert_eq!(engines[1].named(other), None);
}

/// Receives that find their messages there already, behind receives that wait for theirs, too short
/// for them, and with other messages in front.
#[test]
fn a_receive_of_what_is_there_already() {
    let engines = world::engines(2, Manners { seed: 5, packet: 64, queue: 8 }, 100);
    let mut sent = Vec::new();
    let mut send = |tag: i32, len: usize| {
        let mut buffer = buffer::Buffer::holding(&vec![tag as u8; len], false);
        let tuple = Tuple { context: 0, source: 0, tag };
        engines[0].isend(1, tuple, buffer.data(), SendMode::Standard);
        sent.push(buffer);
        engines[0].progress();
    };
    let mut into: Vec<_> = (0..6).map(|_| buffer::Buffer::new(9, false)).collect();
    let mut receive = |at: usize, tag: i32| {
        let pattern = Pattern { context: 0, source: 0, tag };
        engines[1].name(engines[1].irecv(0, pattern, into[at].data()), Rc::new(()))
    };
    let mut names = vec![(1, receive(0, 1))];
    for (tag, len) in [(1, 3), (2, 9), (3, 12), (4, 0), (5, 1)] {
        send(tag, len);
    }
    // The last one first: the others are kept meanwhile.
    for (at, tag) in [(1, 2), (2, 3), (3, 5), (4, 4)] {
        names.push((tag, receive(at, tag)));
    }
    for _ in 0..1000 {
        engines[0].progress();
        engines[1].progress();
    }
    for (tag, name) in names {
        let Ended::Over(over) = engines[1].end_named(name) else { panic!("tag {tag}") };
        let status = received(over);
        let len = [3, 9, 12, 0, 1][tag as usize - 1];
        assert_eq!((status.tag, status.bytes), (tag, len.min(9)));
        assert_eq!(status.truncated(), (len > 9).then_some(len));
    }
    for (at, bytes) in [&[1; 3][..], &[2; 9], &[3; 9], &[5; 1], &[]].into_iter().enumerate() {
        into[at].check(bytes);
    }
    assert_eq!(engines[1].unexpected(), (0, 0));
}

/// The status of a receive that is over: it says by itself whether the message was longer than its memory.
fn received(over: Over) -> Status {
    match over {
        Over::Received(status) => {
            assert!(status.is_whole());
            status
        }
        Over::Otherwise { status, receive: true, .. } => {
            assert!(status.truncated().is_some());
            status
        }
        Over::Otherwise { .. } => panic!("not a receive"),
    }
}

/// A receive whose message has been delivered is over as soon as somebody asks for it, without a look at anything else, and so is a send
/// that was left to its receiver.
#[test]
fn what_has_ended_is_over_when_it_is_asked_for() {
    let engines = world::engines(2, Manners { seed: 9, packet: 4096, queue: 8 }, 100);
    let mut at_once = 0;
    for round in 0..200u32 {
        let (tuple, len) = (Tuple { context: 0, source: 0, tag: 1 }, 40 + round as usize % 20);
        let mut into = buffer::Buffer::new(50, false);
        let request = engines[1].irecv(0, Pattern { context: 0, source: 0, tag: 1 }, into.data());
        let name = engines[1].name(request, Rc::new(()));
        let mut out = buffer::Buffer::holding(&vec![round as u8; len], false);
        let sent = engines[0].isend(1, tuple, out.data(), SendMode::Standard);
        let mut looks = 0;
        let status = loop {
            match engines[1].end_named(name) {
                Ended::Over(over) => break received(over),
                Ended::Pending => looks += 1,
                _ => panic!("round {round}"),
            }
            engines.iter().for_each(|engine| _ = engine.progress());
        };
        at_once += u32::from(looks == 0);
        assert_eq!((status.source, status.tag, status.bytes), (0, 1, len.min(50) as u64));
        assert_eq!(status.truncated(), (len > 50).then_some(len as u64));
        into.check(&vec![round as u8; len.min(50)]);
        if let Sent::Pending(request) = sent {
            let name = engines[0].name(request, Rc::new(()));
            loop {
                match engines[0].end_named(name) {
                    Ended::Over(Over::Otherwise { receive: false, .. }) => break,
                    Ended::Pending => engines.iter().for_each(|engine| _ = engine.progress()),
                    _ => panic!("round {round}"),
                }
            }
        }
    }
    assert!(at_once > 10, "{at_once}");
    assert!(direct::TAKEN.get() > 0);
}

/// A device may give back what peers could be reading only while its process has nothing under way.
#[test]
fn a_device_is_told_when_nothing_is_under_way() {
    let engines = world::engines(2, Manners { seed: 3, packet: 4096, queue: 8 }, 100);
    let located = || direct::QUIET.take();
    let pattern = |tag| Pattern { context: 0, source: 0, tag };
    let mut buffers: Vec<_> = (0..4).map(|_| buffer::Buffer::new(50, false)).collect();
    located();
    let [a, b, out, more] = &mut buffers[..] else { unreachable!() };
    let first = engines[1].irecv(0, pattern(1), a.data());
    let second = engines[1].irecv(0, pattern(2), b.data());
    assert_eq!(located(), [true, false], "of two receives");
    let sends = [(1, out), (2, more)].map(|(tag, data)| {
        let tuple = Tuple { context: 0, source: 0, tag };
        let sent = engines[0].isend(1, tuple, data.data(), SendMode::Standard);
        assert_eq!(located(), [true], "of a sender that has nothing else under way");
        for _ in 0..1000 {
            engines[0].progress();
            engines[1].progress();
        }
        if let Sent::Pending(request) = sent {
            assert!(engines[0].is_done(request));
            engines[0].take(request);
        }
    });
    assert_eq!(sends.len(), 2);
    for receive in [first, second] {
        assert!(engines[1].is_done(receive));
        engines[1].take(receive);
    }
}

/// The answer of its receiver ends a send as soon as somebody asks for that, though nobody looks at everything.
#[test]
fn an_answer_is_seen_by_who_asks_for_its_send() {
    let engines = world::engines(2, Manners { seed: 5, packet: 4096, queue: 8 }, 100);
    let (tuple, pattern) = (Tuple { context: 0, source: 0, tag: 1 }, Pattern { context: 0, source: 0, tag: 1 });
    let mut pending = 0;
    for round in 0..200u8 {
        let mut out = buffer::Buffer::holding(&[round; 50], false);
        let Sent::Pending(request) = engines[0].isend(1, tuple, out.data(), SendMode::Synchronous) else {
            panic!("nobody has received it");
        };
        let name = engines[0].name(request, Rc::new(()));
        let mut into = buffer::Buffer::new(50, false);
        let receive = engines[1].irecv(0, pattern, into.data());
        loop {
            (0..20).for_each(|_| _ = engines[1].progress());
            match engines[0].end_named(name) {
                Ended::Over(Over::Otherwise { receive: false, .. }) => break,
                Ended::Pending => pending += 1,
                _ => panic!("round {round}"),
            }
            // The network has refused it, or the look was left out.
            engines[0].progress();
        }
        assert_eq!(engines[1].take(receive).bytes, 50);
        into.check(&[round; 50]);
    }
    assert!(pending < 100, "{pending}");
}
