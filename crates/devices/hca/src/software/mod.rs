//! The software HCA: verbs through shared memory or over TCP, for machines without a card.
//!
//! - [`engine`]: who moves the traffic; one epoll instance and one thread for a process
//! - [`hca`], [`domain`]: the objects; [`shared`]: what they share; [`doors`]: what comes from outside; [`completion`], [`receives`], [`regions`], [`datagrams`] what they hold
//! - [`queue_pair`]: posting; and, each a module, connecting, what goes out and comes in, requests of this side and of the peer
//! - [`window`]: the order of requests, a state machine; [`wire`]: frames; [`address`]: addresses
//! - [`near`]: connections inside a machine, by [`rings`] in shared memory; [`strangers`]: who has called and not proven itself, or
//!   not said why; [`hello`]: how that is said
//! - [`fork`]: what a child may not do
//!
//! A connection of two queue pairs is one TCP connection, or a pair of rings that stands for one, so nothing is lost on
//! the way, and order is kept. What can
//! go wrong is what can go wrong with a card: a peer without a receive (its request and those behind it are dropped
//! there, and sent again from here), a request that is refused, a connection that ends.

mod address;
mod clock;
mod completion;
mod datagrams;
mod domain;
mod doors;
mod engine;
mod fork;
mod hca;
mod hello;
mod near;
mod queue_pair;
mod receives;
mod regions;
mod rings;
mod shared;
mod strangers;
mod window;
mod wire;

pub use completion::{CompletionChannel, CompletionQueue};
pub use datagrams::Datagrams;
pub use domain::{MemoryRegion, ProtectionDomain, SharedReceiveQueue, XrcDomain};
pub use hca::Hca;
pub use queue_pair::QueuePair;
