//! The RDMA device: packets and one-sided transfers over the queue pairs of `tern-hca`.
//!
//! Each pair of processes has one queue pair, or each process one to each node ([`transport`]), made when one of them first sends to the other ([`connect`]). All of
//! a process's packets are received through one shared receive queue, and everything ends in one completion
//! queue. Packets go as far as the receiver has granted buffers ([`credits`]), with as much of their header as
//! is new ([`header`]). A busy peer writes its short packets into a ring ([`rings`]). The sender's number travels as immediate data.
//!
//! # For the other parts of the device
//!
//! Rendezvous, tuple queues and one-sided accesses are parts of their own. What they use:
//!
//! - [`Channels::post`](channels::Channels) posts a request (read, write, atomic) on a peer's queue pair, with a [`token::Token`]. A token has
//!   a kind for each part, and a value of the part's own. It connects first if need be. `Busy` means: again
//!   after the next poll. A request that asks for its completion is signalled, others now and then.
//! - The completion comes to the device ([`Verbs`]), which hands it to the part with the sink and its status, in order with what else has
//!   come. If the status is an error, [`tern_device::Sink::lost`] follows.
//! - `Channels::send_message` sends up to a packet of bytes of a part's [`wire::Kind`] to the same part of the peer,
//!   where it comes to the part's function `message`. It uses a credit, as a packet does, and returns false when there is none.
//! - Packets, messages and requests of a peer are executed in the order in which they were posted, and what a write
//!   wrote is there before a later packet or message comes. A read may still be under way then.
//! - `Channels::fabric` has the protection domain, to register memory.

mod accesses;
mod channel;
mod channels;
mod connect;
mod contract;
mod copies;
mod credits;
mod device;
mod direct;
mod fabric;
mod footprint;
mod frequent;
mod handshake;
mod header;
mod incoming;
mod page;
mod pieces;
mod pool;
mod ports;
mod queues;
mod registered;
mod remote;
mod rendezvous;
mod ring;
mod rings;
mod send_queue;
mod settings;
mod token;
mod transport;
mod tuple;
mod tuple_message;
mod wire;

pub use device::{Endpoint, Verbs};
pub use footprint::Footprint;
pub use settings::Settings;
pub use transport::Transport;
