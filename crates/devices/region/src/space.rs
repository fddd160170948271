//! A node-wide space of declared memory.
//!
//! A process declares memory as a *region* and gives the region's name, a [`Cookie`], to others by
//! whatever means it has. Whoever has the cookie copies from and into the region without the owner's
//! help, as far as the owner allows. The interface follows KNEM: a Generic and Scalable
//! Kernel-Assisted Intra-node MPI Communication Framework (2013). It needs no kernel module, and uses one where that is wanted.

mod cell;
mod cookie;
mod table;

pub use cookie::{Cookie, Spot};

#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
mod flight;
#[cfg(not(loom))]
mod interface;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod member;
#[cfg(not(loom))]
mod offload;
#[cfg(not(loom))]
mod peers;
#[cfg(not(loom))]
mod regions;
#[cfg(not(loom))]
mod shared;
#[cfg(not(loom))]
mod side;
#[cfg(not(loom))]
mod terms;
#[cfg(not(loom))]
mod transfer;
#[cfg(not(loom))]
mod ways;

#[cfg(not(loom))]
pub use {
    error::Error,
    interface::Space,
    layout::{MAX_MEMBERS, Shape},
    member::Seat,
    offload::{DONE, FAILED, PENDING, Status},
    terms::{Direction, Flags, Mechanism, Offload, Options, Protection, Standing},
};
