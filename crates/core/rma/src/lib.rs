//! One-sided communication (MPI 5.0, chapter 12) below the API.
//!
//! A [`Window`] is memory that the members of a group expose to each other. It knows processes,
//! [`Peers`](tern_coll::Peers) and layouts, and nothing of handles, epochs' rules or error handlers.
//! The caller has checked the arguments. The range of an access is checked here.
//!
//! All calls are made with the library's lock held. Those that wait make progress meanwhile.
//!
//! # Ways to the memory of a member
//!
//! Which way serves a member is found when the window is made, and may change for the worse later:
//!
//! | way | when | who moves the bytes |
//! |---|---|---|
//! | mapped | the member's own memory, or memory that both can map | the origin, by loads and stores |
//! | kernel | private memory on one node | the kernel, at the origin's call; for few bytes the owner, if it waits (`owner`) |
//! | card | members apart, a network card reaches all memory | the card (`by_card`) |
//! | messages | everything else | the member, in its progress (`serve`) |
//!
//! # Layers
//!
//! A module names modules below it only. A test finds circles (`crates/tools/bench/tests/circles/main.rs`).
//!
//! ```text
//!  create                                  makes and ends a window: members tell each other what they bring
//!  at_once  swap  epoch  gathered          short ways; compare and swap; synchronisation; puts that go together
//!  owner  apart  by_card  serve            the other side: an owner that waits, a member apart, a card, messages
//!  accumulate  access  guarded  mapped     put, get, accumulates
//! ──────────────────────────────────────────────────────────────────────────────────────────────
//!  lost                                    what becomes of a window without lost members
//!  used                                    notes how accesses were made
//!  window                                  who is in it, and what is known of each member
//!  spot  remote  card  memory  shared      the parts of a window: target memory, a member, the card's keys, words
//! ──────────────────────────────────────────────────────────────────────────────────────────────
//!  request  guard  words  card_words       words in shared memory, and state machines over them
//!  turns                                   (checked by a model checker or over all interleavings)
//!  inquiries                               who has a lock, as its owner tells it
//!  messages  attached  keys  combine       packets; tables of attached memory; kernels; runs of elements
//!  elements  target  error
//! ```
//!
//! # When an access is over
//!
//! Memory of an origin may be reused after [`Started::Done`], else when the ticket is done or the target
//! was flushed, locally at least.

// The model checker builds the lock words without the windows around them.
#![cfg_attr(loom, allow(dead_code, unused_imports))]
// Addresses are those of the program, which MPI trusts as C does.
#![allow(clippy::not_unsafe_ptr_arg_deref, clippy::too_many_arguments)]

#[cfg(not(loom))]
mod apart;
mod guard;
mod request;
mod words;

#[cfg(not(loom))]
mod access;
#[cfg(not(loom))]
mod accumulate;
#[cfg(not(loom))]
mod at_once;
#[cfg(not(loom))]
mod attached;
#[cfg(not(loom))]
mod by_card;
#[cfg(not(loom))]
mod card;
#[cfg(not(loom))]
mod card_words;
#[cfg(not(loom))]
mod combine;
#[cfg(not(loom))]
mod create;
#[cfg(not(loom))]
mod elements;
#[cfg(not(loom))]
mod epoch;
mod error;
#[cfg(not(loom))]
mod gathered;
#[cfg(not(loom))]
mod guarded;
#[cfg(not(loom))]
mod holders;
#[cfg(not(loom))]
mod inquiries;
#[cfg(not(loom))]
mod keys;
#[cfg(not(loom))]
mod lost;
#[cfg(not(loom))]
mod mapped;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod messages;
#[cfg(not(loom))]
mod owner;
#[cfg(not(loom))]
mod remote;
#[cfg(not(loom))]
mod serve;
#[cfg(not(loom))]
mod shared;
#[cfg(not(loom))]
mod spot;
#[cfg(not(loom))]
mod swap;
#[cfg(not(loom))]
mod target;
#[cfg(not(loom))]
mod turns;
#[cfg(not(loom))]
mod used;
#[cfg(not(loom))]
mod window;

pub use error::{Class, Error};
#[cfg(not(loom))]
pub use target::{Started, Target, Ticket};
#[cfg(not(loom))]
pub use used::Before;
#[cfg(not(loom))]
pub use window::{Exposure, Window};
