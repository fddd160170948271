//! How a connection behaves, and what state its end is in.

use std::time::Duration;

/// How a connection behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// How long the peer may be silent before a request is tried again. Makers round it up.
    pub timeout: Duration,
    /// How often it is tried again, 0 to 7.
    pub retries: u8,
    /// How often a send is repeated when the peer has no receive, 0 to 6; 7 is for ever.
    pub receiver_not_ready_retries: u8,
    /// How long the peer is left alone when this side has no receive. Makers round it up.
    pub receiver_not_ready_delay: Duration,
    /// Reads and atomics under way at once, as requester and as target; 1 to 16.
    pub reads: u8,
    /// Which end calls the other, where a call makes the connection: only the software HCA has such. A firewall may let calls pass in one
    /// direction alone, and who connects may know which. Both ends say the same.
    pub calling: CallingEnd,
}

impl Connection {
    /// How long a peer may give no answer in all, before a request to it fails.
    pub(crate) fn patience(&self) -> Duration {
        self.timeout * (u32::from(self.retries) + 1)
    }
}

/// Which end of a connection calls the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallingEnd {
    /// The one with the greater address.
    Greater,
    /// This one.
    This,
    /// The other one.
    Other,
}

impl Default for Connection {
    /// Half a second, 7 times; as often as need be after 0.1 ms; 16; the greater end.
    fn default() -> Connection {
        Connection {
            timeout: Duration::from_millis(500),
            retries: 7,
            receiver_not_ready_retries: 7,
            receiver_not_ready_delay: Duration::from_micros(100),
            reads: 16,
            calling: CallingEnd::Greater,
        }
    }
}

/// How far a queue pair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Made: receives can be posted.
    Initialized,
    /// Connected: everything can be posted (RTS).
    Ready,
    /// Broken: all requests are flushed.
    Error,
}
