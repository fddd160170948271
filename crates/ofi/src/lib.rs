//! The ofi device: packets between nodes over any network that libfabric drives.
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
//! | `state` | peers, flow control, what is under way |
//! | `service` | the thread that works while the program computes |
//! | `device` | the contract of devices |

pub mod abi;
mod address;
mod buffers;
mod cards;
mod device;
mod fabric;
mod library;
mod packet;
mod provider;
mod service;
mod state;

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
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { library: None, provider: None, domain: None, packet: 32 << 10, eager: 32 << 10 }
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
