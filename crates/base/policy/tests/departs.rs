//! Each rule departs from its default after the events that it learns from, and counts that; switched off, it takes its default and counts nothing. One
//! test, since settings are the process's.

use std::rc::Rc;
use tern_policy::collective::{Collective, InPlace, ReadInPlace};
use tern_policy::costs::Placement;
use tern_policy::declaration::{self, Declaration};
use tern_policy::promote::{BufferUses, Costs, Use};
use tern_policy::rules::{self, Rule};
use tern_policy::{
    Caller, Copied, Copies, CoreBalance, CoreContention, Demotion, Facts, Habit, Known, Learned, Message, PeerLooks,
    ReadyPredictor, Responsiveness, Ring, RingDemand, RndvFacts, RndvPlan, SendPlan, Source, Step, VainLooks, frequent,
    guard_mode, pair::Pair, rendezvous, send, turn_columns,
};
use tern_settings::{Entry, Mechanism, POLICY};

/// A rule, and events after which it decides otherwise than its default. These begin anew each time, and tell whether it has done so.
type Case = (&'static Rule, fn() -> bool);

const CASES: &[Case] = &[
    (&rules::SEGMENTS, sends_segments),
    (&rules::SEGMENTS, receives_in_segments),
    (&rules::EXPECT_READY, predicts_a_peer_that_was_ready),
    (&rules::EXPECT_READY, looks_on_for_a_published_receive),
    (&rules::EXPECT_READY, looks_on_at_one_that_has_waited),
    (&rules::EXPECT_READY, looks_on_at_one_that_may_become_ready),
    (&rules::LEND, lends_what_copies_later),
    (&rules::DEMOTE, demotes_lines),
    (&rules::READ_IN_PLACE, leaves_memory_that_is_slow_to_read),
    (&rules::READ_IN_PLACE, asks_for_no_places),
    (&rules::SPREAD, looks_for_another_core),
    (&rules::STRANGERS, sleeps_beside_strangers),
    (&rules::GIVE_WAY, gives_way_after_looks_in_vain),
    (&rules::ASK_OWNER, leaves_an_owner_alone),
    (&rules::GUARD_MODE, forbids_instructions_for_rows),
    (&rules::PROMOTE, promotes_a_buffer),
    (&rules::PROMOTE, promotes_a_row),
    (&rules::PROMOTE, promotes_what_is_pinned),
    (&rules::DECLARE, declares_a_buffer),
    (&rules::FREQUENT, sends_from_a_buffer),
    (&rules::RINGS, offers_a_ring),
    (&rules::TURN_COLUMNS, begins_columns_at_their_ends),
];

/// Played in `off.rs`.
const ELSEWHERE: &[&Rule] = &[&rules::HABITS, &rules::COPIES, &rules::STORES];

#[test]
fn a_rule_departs_from_its_default_unless_it_is_off() {
    let played =
        |rule: &Rule| CASES.iter().map(|(of, _)| *of).chain(ELSEWHERE.iter().copied()).any(|of| of.name == rule.name);
    assert!(rules::ALL.iter().all(|rule| played(rule)), "every rule has a case");
    for (number, (rule, departs)) in CASES.iter().enumerate() {
        let name = format!("{}, case {number}", rule.name);
        POLICY.set("").expect("all are on");
        let before = rule.count();
        assert!(departs(), "{name}");
        assert!(rule.count() > before, "{name} is counted");

        POLICY.set(&format!("-{}", rule.name)).expect("the name of a rule");
        let before = rule.count();
        assert!(!departs(), "{name} is off");
        assert_eq!(rule.count(), before, "{name} counts nothing while it is off");
    }
}

fn looks_for_another_core() -> bool {
    let balance = CoreBalance::default();
    (0..1000).any(|_| balance.is_due())
}

fn sends_segments() -> bool {
    let facts = Facts {
        size: 1 << 20,
        pair: Pair { kernel: true, near: true, ..Pair::default() },
        irregular_blocks: Some(64),
        direct_from: 8 << 10,
        eager_limit: 64 << 10,
        waiting_limit: 64 << 10,
        zero_copy_from: usize::MAX,
        caller: Caller::Blocking,
        habit: Habit::Plain,
        standard: true,
        full: false,
    };
    let (mut known, mut copies) = (Known::new(Source::Opaque), Copies::default());
    loop {
        match send(&facts, &known) {
            Ok(decision) => return decision.plan == SendPlan::RndvSegments,
            Err(Step::LocateSegments) => known.segments = Some(Some(Copied::InSegments)),
            Err(Step::Try(along, copied)) => {
                let message = Message { len: facts.size, along, copied, long: true, shown: None, peer_tries: false };
                known.turn = Some(copies.turn(&message, || 0));
            }
            // Steps of other ways.
            Err(_) => return false,
        }
    }
}

fn receives_in_segments() -> bool {
    let facts = RndvFacts {
        bytes: 1 << 20,
        source: Source::Shared { dense: true, sure: true },
        target: Source::Opaque,
        coarse: true,
        kernel: false,
        network_gets: false,
        network_puts: false,
        single_copy: true,
    };
    rendezvous(facts).next() == Some(RndvPlan::Segments)
}

fn predicts_a_peer_that_was_ready() -> bool {
    let mut predictor = ReadyPredictor::default();
    (0..16).for_each(|_| predictor.see(true));
    predictor.predicts()
}

fn looks_on_for_a_published_receive() -> bool {
    let looks = PeerLooks::default();
    looks.note_published(true);
    looks.further_for_published(64 << 10, || false) > 0
}

fn looks_on_at_one_that_has_waited() -> bool {
    let looks = PeerLooks::default();
    looks.note_waiting(true);
    looks.for_waiting() > 1
}

fn looks_on_at_one_that_may_become_ready() -> bool {
    PeerLooks::default().for_ready() > 1
}

fn lends_what_copies_later() -> bool {
    let (mut learned, mut now) = (Learned::new(1, &Default::default()), 0);
    let mut call = || {
        let lends = learned.lends(1000, || now);
        learned.lending_saves(100);
        now += if lends { 900 } else { 1000 };
        lends
    };
    (0..2000).filter(|_| call()).count() > 1000
}

fn demotes_lines() -> bool {
    Demotion::new(true, [32, 128]).is_for(8, || 0)
}

fn leaves_memory_that_is_slow_to_read() -> bool {
    let (members, mut now) = (ReadInPlace::default(), 0);
    let mut call = || {
        let in_place = members.begin(Collective::Allgather, 20_000, || now) == InPlace::Ask;
        if in_place {
            members.end(Collective::Allgather, Some([members.measured()].into_iter()));
        }
        now += if in_place { 2000 } else { 1000 };
        !in_place
    };
    (0..1000).filter(|_| call()).count() > 500
}

fn sleeps_beside_strangers() -> bool {
    let contention = CoreContention::default();
    contention.note(CoreContention::LONG, || 1000, || 1);
    !contention.allow_yield()
}

fn gives_way_after_looks_in_vain() -> bool {
    let looks = VainLooks::default();
    (0..16).any(|_| looks.look(false, || true))
}

fn leaves_an_owner_alone() -> bool {
    let owner = Responsiveness::default();
    owner.note(false);
    !owner.would_ask() && !owner.asks()
}

fn forbids_instructions_for_rows() -> bool {
    let mut better = 0;
    let mut row = || {
        guard_mode::by_instructions(100, false, || {
            let after = guard_mode::bears(better, 0, 100);
            better = after.unwrap_or(better);
            after.is_some()
        })
    };
    (0..1000).any(|_| !row())
}

fn asks_for_no_places() -> bool {
    let members = ReadInPlace::default();
    let begin = || members.begin(Collective::Alltoall, 20_000, || 0);
    begin();
    members.end(Collective::Alltoall, None::<std::iter::Empty<_>>);
    begin() == InPlace::Rest
}

/// The uses of buffers, of which one pays for its promotion at the `at`-th.
fn uses(at: u32) -> BufferUses {
    let costs = Costs { promote: Box::new(move |_| f64::from(at) - 1.0), saved: Box::new(|_, _| 2.0), look_up: 1.0 };
    BufferUses::new(false, 4096, costs)
}

const BUFFER: Use = Use { start: 1 << 20, len: 4800, moved: 4800, way: 0 };

fn promotes_a_buffer() -> bool {
    let mut uses = uses(5);
    (0..20).any(|_| uses.used(&BUFFER, |_| false, |_, _| true).is_some())
}

fn promotes_a_row() -> bool {
    let mut uses = uses(20);
    let buffers = (0..4).map(|at| Use { start: BUFFER.start + at * 5000, ..BUFFER });
    let mut used = |buffer| uses.used(&buffer, |_| false, |_, _| true).is_some_and(|due| due.is_row());
    (0..10).any(|_| buffers.clone().any(&mut used))
}

fn promotes_what_is_pinned() -> bool {
    uses(5).pinned(BUFFER.start, BUFFER.len).is_some()
}

fn declares_a_buffer() -> bool {
    let mut declaration = Declaration::new(Mechanism::Auto, Rc::default());
    let of = declaration::Use {
        start: 1 << 20,
        len: 1 << 20,
        placement: Placement::L3,
        by_number: true,
        purpose: declaration::DeclaredFor::Window,
    };
    declaration.is_due(&of)
}

fn sends_from_a_buffer() -> bool {
    let mut uses = frequent::Uses::new();
    (0..20).any(|_| uses.used(1 << 20, 4096, 10))
}

fn offers_a_ring() -> bool {
    let demand = RingDemand::new(64);
    (0..64).any(|_| demand.pass(|| Ring::None { room: true }).is_some())
}

fn begins_columns_at_their_ends() -> bool {
    let side = |address, stride| turn_columns::Side { address, stride };
    let copy = || turn_columns::begins_at_the_end(1000, [side(1 << 20, 8192), side(2 << 20, 8)], || true);
    (0..2).any(|_| copy())
}
