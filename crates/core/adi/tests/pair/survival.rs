//! Jobs that go on without processes that are lost.

use crate::network::Manners;
use crate::{buffer, world};
use std::cell::Cell;
use std::rc::Rc;
use tern_adi::{ANY_SOURCE, Data, Pattern, REVOKED, SendMode, Sent, Tuple, UNKNOWN};

const WILD: Pattern = Pattern { context: 4, source: ANY_SOURCE, tag: 7 };

#[test]
fn a_receive_with_a_wildcard_is_interrupted_until_the_loss_does_not_matter() {
    let manners = Manners { seed: 1, packet: 64, queue: 100 };
    let (engines, scissors) = world::connected(3, manners, Some(64));
    let (known, heard) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
    let (acknowledged, hears) = (known.clone(), heard.clone());
    engines[0].know_members(Rc::new(move |_, _| !acknowledged.get()));
    engines[0].on_notice(move || hears.set(hears.get() + 1));
    engines[0].survive();
    let mut into = buffer::Buffer::new(50, false);
    let request = engines[0].irecv(UNKNOWN, WILD, into.data());
    assert!(!engines[0].is_interrupted(request));
    scissors.cut(0, 1);
    (0..1000).for_each(|at| _ = engines[at % 3].progress());
    assert_eq!((heard.get(), engines[0].lost()), (1, vec![1]));
    assert!(engines[0].is_interrupted(request) && !engines[0].is_done(request));
    let mut other = buffer::Buffer::new(50, false);
    let later = engines[0].irecv(UNKNOWN, Pattern { tag: 8, ..WILD }, other.data());
    assert!(engines[0].is_interrupted(later), "one that begins after the loss");
    engines[0].end_interrupted(later);
    assert_eq!(engines[0].take(later).aborted(), Some(1));
    // A blocking one ends.
    assert_eq!(engines[0].recv(UNKNOWN, Pattern { tag: 9, ..WILD }, Data::none()).aborted(), Some(1));
    known.set(true);
    assert!(!engines[0].is_interrupted(request) && !engines[0].is_done(request));
    let mut out = buffer::Buffer::holding(b"still", false);
    engines[2].isend(0, Tuple { context: 4, source: 2, tag: 7 }, out.data(), SendMode::Standard);
    (0..1000).for_each(|at| _ = engines[at % 3].progress());
    assert_eq!(engines[0].take(request).bytes, 5);
    assert_eq!(engines[0].take_undeliverable(), None);
}

#[test]
fn the_receives_of_a_context_end() {
    let manners = Manners { seed: 1, packet: 64, queue: 100 };
    let (engines, _scissors) = world::connected(2, manners, Some(64));
    let mut buffers: Vec<_> = (0..3).map(|_| buffer::Buffer::new(50, false)).collect();
    let mut data = buffers.iter_mut();
    let mut post = |from, pattern| engines[0].irecv(from, pattern, data.next().expect("one is left").data());
    let (wild, named) = (post(UNKNOWN, WILD), post(1, Pattern { source: 1, ..WILD }));
    let other = post(1, Pattern { context: 6, source: 1, tag: 7 });
    engines[0].end_context(4);
    assert_eq!([wild, named].map(|request| engines[0].take(request).aborted()), [Some(REVOKED); 2]);
    assert!(!engines[0].is_done(other));
    assert_eq!(engines[0].recv(UNKNOWN, WILD, Data::none()).aborted(), Some(REVOKED), "one that begins later");
    let mut out = buffer::Buffer::holding(b"here", false);
    engines[1].isend(0, Tuple { context: 6, source: 1, tag: 7 }, out.data(), SendMode::Standard);
    (0..1000).for_each(|at| _ = engines[at % 2].progress());
    assert_eq!(engines[0].take(other).bytes, 4);
}

#[test]
fn a_send_in_a_context_that_has_ended_waits_for_nobody() {
    let (engines, _scissors) = world::connected(2, Manners { seed: 1, packet: 64, queue: 100 }, Some(64));
    engines[0].end_context(4);
    let mut out = buffer::Buffer::holding(b"late", false);
    for to in [0, 1] {
        let tuple = Tuple { context: 4, source: 0, tag: 7 };
        let Sent::Pending(send) = engines[0].isend(to, tuple, out.data(), SendMode::Synchronous) else {
            panic!("it has not been received");
        };
        assert!(engines[0].is_done(send), "to {to}");
        assert_eq!(engines[0].take(send).aborted(), Some(REVOKED));
    }
    (0..1000).for_each(|at| _ = engines[at % 2].progress());
    assert_eq!([0, 1].map(|at: usize| engines[at].unexpected().0), [0, 0]);
}

#[test]
fn notices_come_whole_and_in_order_through_any_queue() {
    for (packet, queue) in [(64, 100), (64, 1), (64, 3)] {
        let (engines, _scissors) = world::connected(2, Manners { seed: 1, packet, queue }, Some(64));
        let heard = Rc::new(Cell::new(0));
        let hears = heard.clone();
        engines[1].on_notice(move || hears.set(hears.get() + 1));
        let notices: Vec<Box<[u8]>> = [1usize, 64, 65, 1000, 2].map(|len| vec![len as u8; len].into()).into();
        for notice in &notices {
            engines[0].send_notice(1, notice);
            engines[0].isend(1, Tuple { context: 0, source: 0, tag: 0 }, Data::none(), SendMode::Standard);
        }
        (0..10_000).for_each(|at| _ = engines[at % 2].progress());
        let come: Vec<_> = std::iter::from_fn(|| engines[1].take_notice()).collect();
        assert!(come.iter().all(|(from, _)| *from == 0));
        assert_eq!(come.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>(), notices);
        assert_eq!((heard.get(), engines[1].unexpected().0), (notices.len(), notices.len()));
    }
}
