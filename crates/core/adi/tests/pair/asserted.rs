//! What programs promise of their contexts: each message goes to a receive that may have it all the same, and what was in the way of a receive
//! or a message is so no more.

use crate::buffer::Buffer;
use crate::network::Manners;
use crate::world::{Action, Wanted, World, engines};
use crate::{CONTEXTS, LARGE, TINY, action, direct, manners, verdict};
use proptest::prelude::*;
use tern_adi::{ANY_SOURCE, ANY_TAG, Assertions, Pattern, SendMode, Sent, Tuple, UNKNOWN};

const NO_WILDCARDS: Assertions =
    Assertions { no_any_source: true, no_any_tag: true, exact_length: false, allow_overtaking: false };
const OVERTAKING: Assertions =
    Assertions { no_any_source: false, no_any_tag: false, exact_length: false, allow_overtaking: true };

/// Programs whose contexts of `promised` promise so.
fn run(
    promised: &[(u32, Assertions)], (processes, manners): (u32, Manners), limit: usize, actions: &[Action],
) -> World {
    direct::TELLS.set(manners.seed.is_multiple_of(2));
    let mut world = World::new(processes, manners, limit);
    for engine in world.engines() {
        promised.iter().for_each(|&(context, assertions)| engine.assert(context, assertions));
    }
    actions.iter().for_each(|action| world.act(action));
    world.finish(CONTEXTS, 5 * limit + 100);
    direct::TELLS.set(false);
    world
}

/// The same action without wildcards in context 0.
fn exact(action: Action) -> Action {
    let named = |wanted: Wanted| match wanted.context {
        0 => Wanted { source: wanted.source.max(0), tag: wanted.tag.max(0), ..wanted },
        _ => wanted,
    };
    match action {
        Action::Receive { at, wanted, len, gaps } => Action::Receive { at, wanted: named(wanted), len, gaps },
        Action::Probe { at, wanted } => Action::Probe { at, wanted: named(wanted) },
        Action::Claim { at, wanted } => Action::Claim { at, wanted: named(wanted) },
        other => other,
    }
}

proptest! {
    /// Wildcards are used in the other context, which promises nothing. Order is what it is without a promise.
    #[test]
    fn without_wildcards_the_order_is_kept(
        manners in manners(1..64),
        processes in 2..4u32,
        actions in prop::collection::vec(action(TINY).prop_map(exact), 1..120),
    ) {
        verdict::judge(&run(&[(0, NO_WILDCARDS)], (processes, manners), TINY, &actions));
    }

    /// A program that breaks its promise has it believed no more: nothing hangs, and the order is kept.
    #[test]
    fn a_promise_that_is_broken_does_no_harm(
        manners in manners(1..64),
        actions in prop::collection::vec(action(TINY), 1..120),
    ) {
        verdict::judge(&run(&[(0, NO_WILDCARDS), (1, NO_WILDCARDS)], (2, manners), TINY, &actions));
    }

    /// One context keeps the order, the other does not.
    #[test]
    fn where_messages_may_overtake_each_goes_where_it_may(
        manners in manners(1..64),
        processes in 2..4u32,
        promised in 0..CONTEXTS,
        actions in prop::collection::vec(action(TINY), 1..120),
    ) {
        let world = run(&[(promised, OVERTAKING)], (processes, manners), TINY, &actions);
        verdict::judge_but(&world, Some(promised));
    }

    #[test]
    fn where_long_messages_may_overtake_each_goes_where_it_may(
        manners in manners(100..2000),
        actions in prop::collection::vec(action(LARGE), 1..60),
    ) {
        let world = run(&[(1, OVERTAKING)], (2, manners), LARGE, &actions);
        verdict::judge_but(&world, Some(1));
    }
}

fn wanted(source: i32, tag: i32) -> Pattern {
    Pattern { context: 0, source, tag }
}

/// Bytes of a message that looks for a published receive, and of one that does not.
const LONG: usize = 300;
const SHORT: usize = 4;

/// How many receives are published where one of `first` and so many bytes is open, which is not.
fn published(assertions: Assertions, first: Pattern, room: usize) -> u32 {
    let engines = engines(2, Manners { seed: 9, packet: 4096, queue: 100 }, TINY);
    let receiver = &engines[1];
    receiver.assert(0, assertions);
    let mut into = [Buffer::new(room, false), Buffer::new(LONG, false)];
    let before = direct::PUBLISHED.get();
    receiver.irecv(UNKNOWN, first, into[0].data());
    receiver.irecv(0, wanted(0, 3), into[1].data());
    direct::PUBLISHED.get() - before
}

#[test]
fn a_receive_is_published_behind_one_that_a_promise_takes_out_of_the_way() {
    let exact = Assertions { exact_length: true, ..Assertions::default() };
    for first in [wanted(ANY_SOURCE, 3), wanted(0, ANY_TAG), wanted(ANY_SOURCE, ANY_TAG)] {
        assert_eq!([SHORT, LONG].map(|room| published(Assertions::default(), first, room)), [0, 0], "{first:?}");
        assert_eq!([SHORT, LONG].map(|room| published(OVERTAKING, first, room)), [1, 1], "{first:?}");
        assert_eq!([SHORT, LONG].map(|room| published(exact, first, room)), [1, 0], "{first:?}");
    }
}

/// A short message goes on the stream, and a long one of its tuple behind it, before the receiver looks. True when the first receive gets the
/// long one. Devices refuse at times, by `seed`.
fn overtakes(assertions: Assertions, seed: u64) -> bool {
    direct::TELLS.set(true);
    let engines = engines(2, Manners { seed, packet: 4096, queue: 100 }, TINY);
    engines.iter().for_each(|engine| engine.assert(0, assertions));
    let mut into = [Buffer::new(LONG, false), Buffer::new(LONG, false)];
    let receives = [0, 1].map(|at| engines[1].irecv(0, wanted(0, 3), into[at].data()));
    let mut out = [SHORT, LONG].map(|len| Buffer::holding(&vec![1; len], false));
    let tuple = Tuple { context: 0, source: 0, tag: 3 };
    let sends = [0, 1].map(|at| engines[0].isend(1, tuple, out[at].data(), SendMode::Standard));
    let is_sent = |sent: &Sent| match sent {
        Sent::Done => true,
        Sent::Pending(request) => engines[0].is_done(*request),
    };
    while !(receives.iter().all(|&receive| engines[1].is_done(receive)) && sends.iter().all(is_sent)) {
        engines.iter().for_each(|engine| _ = engine.progress());
    }
    direct::TELLS.set(false);
    let bytes = receives.map(|receive| engines[1].take(receive).bytes as usize);
    assert!(bytes == [SHORT, LONG] || bytes == [LONG, SHORT], "{bytes:?}");
    bytes[0] == LONG
}

#[test]
fn a_message_goes_into_a_published_receive_past_one_on_the_stream_where_it_may() {
    let seeds = 1..60;
    assert!(seeds.clone().any(|seed| overtakes(OVERTAKING, seed)));
    assert!(!seeds.clone().any(|seed| overtakes(Assertions::default(), seed)));
}
