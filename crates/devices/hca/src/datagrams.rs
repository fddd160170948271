//! Short messages to an HCA that one is not connected to (UD). Queue pairs are connected by what both ends tell each
//! other, and this is how they can, when they first need each other.

use crate::made::{Made, made_by};
use crate::{Result, rdma_core, software};

/// A box for datagrams with an address of its own.
pub struct Datagrams {
    pub(crate) made: Made<software::Datagrams, rdma_core::Datagrams>,
}

impl Datagrams {
    /// Where others send to: a few dozen bytes, which only this crate understands.
    pub fn address(&self) -> &[u8] {
        made_by!(&self.made, it => it.address())
    }

    /// Sends up to [`DATAGRAM`](crate::DATAGRAM) bytes to the box with that address. It may be lost, or come twice, or not in order: who
    /// needs an answer asks again.
    pub fn send(&self, to: &[u8], bytes: &[u8]) -> Result<()> {
        made_by!(&self.made, it => it.send(to, bytes))
    }

    /// Takes the next datagram that has come into the empty vector; false when there is none. Never blocks. The
    /// channel that was given at the making hears of each.
    pub fn receive(&self, into: &mut Vec<u8>) -> Result<bool> {
        made_by!(&self.made, it => it.receive(into))
    }
}
