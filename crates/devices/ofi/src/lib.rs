//! The ofi device: packets between nodes, and accesses to memory, over any network that libfabric drives.
//!
//! A process has one endpoint of reliable datagrams. A packet is one message: a head that proves that it belongs to the job
//! ([`packet`]), and the payload. libfabric is loaded when the device is opened; what is used of it is declared here.
//!
//! | file | subject |
//! |---|---|
//! | `abi` | what is used of libfabric's binary interface |
//! | `library` | loading it |
//! | `provider` | which provider is taken, and what it can do |
//! | `cards` | cards that need libfabric, by what the kernel says |
//! | `fabric` | an endpoint with its queue: requests and completions |
//! | `packet` | the bytes in front of a payload, and the proof in them |
//! | `address` | where a process is found, as bytes |
//! | `buffers` | memory that is lent to the endpoint |
//! | `keys` | keys of memory that others reach |
//! | `memory` | the program's memory that is registered |
//! | `accesses` | accesses to memory of others, and their order |
//! | `state` | peers, flow control, what is under way |
//! | `ways` | what the kernel knows of the ways to peers |
//! | `service` | the thread that works while the program computes |
//! | `device` | the contract of devices |
//! | `direct` | long messages by accesses to memory |
//! | `remote` | windows by accesses to memory |

pub mod abi;
mod accesses;
mod address;
mod buffers;
mod cards;
mod device;
mod direct;
mod fabric;
mod keys;
mod library;
mod memory;
mod packet;
mod provider;
mod remote;
mod service;
mod state;
mod ways;

use std::time::Duration;

pub use cards::cards;
pub use device::{Endpoint, Ofi};
pub use provider::{Found, TABLE};

/// Which library and provider are taken, and how much goes at once.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The library to load; the system's if there is none.
    pub library: Option<String>,
    /// The provider, by libfabric's name; by [`TABLE`] if there is none.
    pub provider: Option<String>,
    /// The card or interface, by libfabric's name of a domain.
    pub domain: Option<String>,
    /// Payload bytes of a packet.
    pub packet: usize,
    /// Bytes of a message that may go without asking.
    pub eager: usize,
    /// Long messages and windows go by accesses to memory, where the provider has them.
    pub accesses: bool,
    /// How long a peer may give no sign. One that was never reached may refuse for twice that time, 3 seconds at least and a minute at most.
    pub silence: Duration,
    /// Bytes of memory that stay registered for the next transfer.
    pub registered: u64,
    /// For tests: own memory is registered though the provider does not ask for that.
    pub registers: bool,
    /// For tests: bytes of the program's memory that may be registered at once.
    pub locked: Option<u64>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            library: None,
            provider: None,
            domain: None,
            packet: 32 << 10,
            eager: 32 << 10,
            accesses: true,
            silence: Duration::from_secs(30),
            registered: 4 << 30,
            registers: false,
            locked: None,
        }
    }
}

/// What libfabric has on this machine: its version, and what each provider reaches.
///
/// Errors: it cannot be loaded.
pub fn survey(library: Option<&str>) -> Result<((u32, u32), Vec<Found>), String> {
    let library = library::Library::get(library)?;
    let mut found = Vec::new();
    provider::each(library, |one| {
        if !found.contains(&one) {
            found.push(one);
        }
    });
    Ok((library.version(), found))
}
