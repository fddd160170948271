//! The decisions how messages and collectives go, and everything that is learned for that. By which mechanism bytes move between two processes of
//! a node is chosen by [`costs`], in [`transfer`].
//!
//! **Facts in, steps out.** [`send`](fn@send) says how a message goes, from what is known before its first byte moves. [`receive`](fn@receive)
//! says whether a receive is published. [`rendezvous`](fn@rendezvous) says who moves the bytes of a message that waits at its sender. They act on
//! nothing: no clock, no system call, no memory of messages, and nothing that calls back. They read which rules are on. The engine states the [`Facts`] and takes the [`Step`] that it is
//! told. What takes time to find out is a step of its own, whose outcome the engine adds to what is [`Known`] before it asks for the next one.
//! [`collective`](fn@collective::collective) gives the plan of a collective.
//!
//! **What is learned** mostly has one of four forms, each a small type that is told what has happened. Some rules keep a count of
//! their own, in a type of theirs. Who acts keeps such a value beside the peer, the owner or the buffer that it is about.
//!
//! | form | what it is | of use for |
//! |---|---|---|
//! | [`Streak`] | so many times in a row | habits of the program, peers that wait |
//! | [`Backoff`] | a pause that doubles after each attempt in vain | what is tried again now and then |
//! | [`Account`] | what was saved, beside what was spent | what pays after some uses |
//! | [`Trial`] | two ways, both tried on the program's own messages | what no calibration knows |
//!
//! One [`Coordinator`] sees to it that no two trials of transfers of one length run at a time, so that none disturbs another.
//!
//! Time is an argument, in nanoseconds of any clock that does not go back. Most of it is asked for only where it matters, since
//! reading a clock takes as long as a part of a short message: such an argument is a function.
//!
//! **Every rule** stands in one table, [`rules`]: its name, what it does, its switch (TERN_POLICY) and its counter. A decision asks
//! [`Rule::applies`](rules::Rule::applies) where what was learned differs from the plain default:
//!
//! ```
//! use tern_policy::{Streak, rules};
//!
//! let mut waits = Streak::of(4);
//! (0..4).for_each(|_| waits.note(true));
//! // The default is to publish.
//! let publishes = !(waits.holds() && rules::HABITS.applies());
//! assert!(!publishes);
//! ```
//!
//! Rules act in every layer from the memory layouts to the collectives, so this crate stands below all of these.

#![warn(missing_docs)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod account;
mod backoff;
pub mod collective;
mod coordinator;
mod copies;
mod core_balance;
mod core_contention;
pub mod costs;
pub mod cuts;
pub mod declaration;
mod demotion;
mod facts;
pub mod frequent;
pub mod guard_mode;
mod habit;
mod learned;
mod lending;
mod maker;
pub mod offload;
pub mod one_sided;
mod order;
pub mod pair;
mod peer_looks;
mod plan;
pub mod promote;
mod ready_predictor;
mod receive;
mod rendezvous;
mod responsiveness;
mod ring_demand;
mod round;
mod rounds;
pub mod rules;
mod segments;
mod send;
mod step;
pub mod stores;
mod streak;
pub mod transfer;
mod trial;
pub mod turn_columns;
mod used;
mod vain_looks;
mod ways;

pub use account::{Account, break_even};
pub use backoff::{Backoff, SharedBackoff};
pub use coordinator::{Cell, Coordinator, SharedCoordinator, TrialId};
pub use copies::{Along, Copied, Copies, GAUGED_AFTER, Message, Turn};
pub use core_balance::{CoreBalance, less_busy};
pub use core_contention::CoreContention;
pub use demotion::Demotion;
pub use facts::{Caller, Facts, Habit, Purpose, Readiness, Source, ZeroCopy};
pub use habit::Habits;
pub use learned::Learned;
pub use lending::LendingTrials;
pub use maker::{Maker, Why};
pub use order::Order;
pub use pair::Likely;
pub use peer_looks::{LOOKS_AT_LEFT, PeerLooks};
pub use plan::{Packets, Reason, SendPlan, Unmatched};
pub use ready_predictor::ReadyPredictor;
pub use receive::{
    RecvFacts, RecvKnown, RecvOutcome, RecvPlan, RecvStep, Unpublished, is_better_taken_back, receive, receive_left,
    receive_located, receive_waiting,
};
pub use rendezvous::{RndvFacts, RndvPlan, locates_target, rendezvous};
pub use responsiveness::Responsiveness;
pub use ring_demand::{Ring, RingDemand, RingStep};
pub use round::Round;
pub use rounds::{Rounds, Ticket};
pub use segments::{MOST as MOST_SEGMENTS, SegmentsBy, is_coarse, segments_by};
pub use send::{LOOK_EVERY, LOOK_EVERY_SHORT, ShortPath, asks_nothing, send};
pub use step::{Address, Decision, Known, Outcome, PublishedReceive, Step};
pub use stores::Gauge;
pub use streak::Streak;
pub use transfer::CopyMode;
pub use trial::Trial;
pub use used::Used;
pub use vain_looks::VainLooks;
pub use ways::{Way, Ways};
