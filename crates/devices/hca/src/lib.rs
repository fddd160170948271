//! Verbs as Rust types: what an RDMA card offers, without a card's names.
//!
//! Two *makers* stand behind the same types, chosen when an [`Hca`] is opened:
//!
//! - [`Maker::RdmaCore`]: cards (and the kernel's soft ones) through libibverbs, which is loaded then;
//! - [`Maker::Software`]: the software HCA, which carries the same semantics through shared memory and over TCP, for
//!   machines without a card: development, tests, study.
//!
//! This crate knows nothing of MPI: no ranks, no messages.
//!
//! # Objects
//!
//! ```text
//! Hca ── ProtectionDomain ── MemoryRegion          memory that the HCA may touch, and its keys
//!  │                    ├─── QueuePair             one end of a connection
//!  │                    └─── SharedReceiveQueue    receives for many queue pairs
//!  ├── CompletionQueue ───── (CompletionChannel)   what has ended; what one sleeps on
//!  ├── XrcDomain ─────────── QueuePair, SharedReceiveQueue that a send names by number
//!  └── Datagrams                                   how queue pairs that are not connected find each other
//! ```
//!
//! Every object keeps those that it is made from, and may be used from any thread.
//!
//! # Rules, as in verbs
//!
//! - Requests of a queue pair are executed in order, and complete in order. A read or an atomic may still be
//!   under way when a later send or write is executed, unless that has [`SendFlags::fence`].
//! - A slot of a send queue is free again when a completion of its request, or of a later one, was polled: so
//!   a user posts unsignalled requests only if it signals one now and then.
//! - Memory of a request belongs to the HCA until the request is complete; not that of [`Data::Inline`].
//! - An error takes the queue pair to [`State::Error`]: the request that failed completes with the reason, all
//!   others, and those posted later, with [`Status::Flushed`].
//! - 64-bit atomics are atomic with each other; with the processor's too only where [`Capabilities::atomics`]
//!   says so.

#![warn(missing_docs)]

mod capabilities;
mod completion;
mod completion_queue;
#[cfg(feature = "conformance")]
pub mod conformance;
mod connection;
mod datagrams;
pub mod descriptors;
mod error;
mod event;
mod faults;
mod hca;
mod limits;
mod link;
mod made;
mod memory;
mod options;
mod queue_pair;
mod rdma_core;
mod request;
mod segment;
mod shared_receive_queue;
mod software;
mod xrc;

pub use capabilities::{Atomics, Capabilities};
pub use completion::{Completion, Opcode, Status};
pub use completion_queue::{CompletionChannel, CompletionQueue};
pub use connection::{CallingEnd, Connection, State};
pub use datagrams::Datagrams;
pub use error::{Error, Result};
pub use event::Event;
pub use faults::{Every, Faults};
pub use hca::Hca;
pub use limits::{DATAGRAM, Limits, ReceiveLimits};
pub use link::Link;
pub use memory::{MemoryRegion, ProtectionDomain};
pub use options::{Maker, Options};
pub use queue_pair::{QueuePair, QueuePairOptions};
pub use request::{Data, Operation, Remote, SendFlags, SendRequest};
pub use segment::{Access, Segment};
pub use shared_receive_queue::SharedReceiveQueue;
pub use xrc::XrcDomain;
