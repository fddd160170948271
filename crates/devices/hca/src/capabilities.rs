//! What an HCA can do.

/// With what the 64-bit atomics of peers are atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomics {
    /// There are none.
    None,
    /// With those that come through this HCA.
    Hca,
    /// With the processor's too.
    Global,
}

/// What an HCA can do.
#[derive(Clone, Debug)]
pub struct Capabilities {
    /// Its name, as "software" or "mlx5_0".
    pub name: String,
    /// What its atomics are worth.
    pub atomics: Atomics,
    /// Whether it has XRC: [`Hca::xrc_domain`](crate::Hca::xrc_domain).
    pub xrc: bool,
    /// Ports that queue pairs can be put on.
    pub ports: u8,
    /// Whether queue pairs can share receives.
    pub shared_receive_queues: bool,
    /// Whether registered memory is its pages, not its addresses: a registration that outlives its mapping reaches the old pages.
    pub pins: bool,
    /// The largest [`Limits`](crate::Limits) of a send queue, each on its own: not all at once.
    pub send: crate::Limits,
    /// The same for receive queues, own and shared.
    pub receive: crate::ReceiveLimits,
    /// Completions that one queue holds.
    pub completions: u32,
    /// Bytes of one message.
    pub message: u32,
    /// What it costs, as far as the maker can say: nanoseconds for a short message one way.
    pub latency_ns: f64,
    /// Bytes per nanosecond.
    pub bandwidth: f64,
}
