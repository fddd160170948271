//! What has come and waits to be handed on.

use crate::token::Token;
use crate::wire::Kind;
use std::time::Instant;
use tern_device::Header;
use tern_hca::Status;

/// What has come and waits to be handed on, in the order of coming.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A packet of the layer above.
    Packet { from: u32, header: Header, payload: Place },
    /// A message of another part of the device.
    Message { from: u32, kind: Kind, payload: Place },
    /// A request of another part has ended. `status` tells how, `len` how many bytes came.
    Completed { token: Token, status: Status, len: u32 },
    /// A peer is lost. `broken`: since then, by its queue pair, of which it may know nothing.
    Lost { peer: u32, why: String, broken: Option<Instant> },
}

/// Where a payload lies: in a receive buffer or a ring, which the HCA leaves alone until it is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub address: *const u8,
    pub len: u32,
    /// The receive buffer; `None`: the oldest cell of the ring that was not taken.
    pub buffer: Option<u32>,
}

impl Place {
    pub(crate) fn new(bytes: &[u8], buffer: Option<u32>) -> Place {
        Place { address: bytes.as_ptr(), len: bytes.len() as u32, buffer }
    }

    pub(crate) fn in_ring(bytes: &[u8]) -> Place {
        Place::new(bytes, None)
    }
}
