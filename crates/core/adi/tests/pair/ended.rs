//! Transfers that are over: who asks for them finds them, by name too.

use crate::network::Manners;
use crate::{buffer, direct, world};
use std::rc::Rc;
use tern_adi::{Ended, Over, Pattern, SendMode, Sent, Status, Tuple};

/// A name finds its transfer until that is ended or given up, and what it owns lives until it is over.
#[test]
fn names_of_transfers() {
    let engines = world::engines(2, Manners { seed: 1, packet: 64, queue: 4 }, 100);
    let exchange = || {
        let mut out = buffer::Buffer::holding(&[3; 9], false);
        assert_eq!(engines[0].send(1, Tuple { context: 0, source: 0, tag: 1 }, out.data(), SendMode::Standard), Ok(()));
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
pub fn received(over: Over) -> Status {
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
