//! The TCP device: packets between nodes over plain sockets, for machines without a network card that Tern can use.
//!
//! Two processes have one connection, made when one of them first sends to the other. A packet is one frame on it
//! ([`frame`]). The process writes frames from the program's memory with one system call, and reads as much as
//! has come with one. A long payload is copied by the kernel alone, at both ends: it is lent by its sender until the socket
//! has taken all of it, and read to where it belongs, if that is known when its head comes.
//!
//! A thread ([`service`]) makes the connections: it accepts, calls, and lets each side prove that it belongs to the
//! job ([`tern_proof`]) before anything else is read. It also writes what is left of a frame that a socket took in part, so
//! that a packet which was taken arrives though its sender computes.
//!
//! | file | subject |
//! |---|---|
//! | `address` | where a process is found, as bytes |
//! | `interfaces` | the interfaces of this machine, and which of them serve |
//! | `frame` | the bytes in front of a payload |
//! | `connection` | an open connection: both ends, and whether it goes on |
//! | `spread` | payloads that leave over several connections |
//! | `pieces` | the same at the reading end |
//! | `further` | calls for further connections to a peer, by other interfaces |
//! | `outlet` | the writing end: what a socket did not take yet, payloads that are lent |
//! | `inlet` | the reading end: frames, payloads that go straight to their place |
//! | `service` | the thread |
//! | `shared` | what the process and its thread share |
//! | `listen` | the port at which peers call |
//! | `call` | a peer that is being called |
//! | `vigil` | peers that give no sign |
//! | `door` | where processes call that have nothing but a secret in common |
//! | `device` | the contract of devices |

mod address;
mod call;
mod connection;
mod device;
mod door;
mod fault;
mod frame;
mod further;
mod inlet;
mod interfaces;
mod listen;
mod outlet;
mod pieces;
mod service;
mod shared;
mod spread;
mod vigil;

pub use device::{Endpoint, Tcp};
pub use door::open_door;
pub use interfaces::{Choice, interfaces};

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

/// What a process is to be found by, and how much it takes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// By which addresses peers may reach this process, the most likely one first. Which of them works, a peer finds out.
    pub addresses: Vec<IpAddr>,
    /// Ports to listen on; any, if there are none.
    pub ports: Option<RangeInclusive<u16>>,
    /// Payload bytes of a packet.
    pub packet: usize,
    /// The same of one that is sent from where it lies.
    pub piece: usize,
    /// Bytes of a message that may go without asking.
    pub eager: usize,
    /// Whether long messages go over all of the peer's addresses that interfaces of their own lead to.
    pub together: bool,
    /// How long a peer may leave questions of the kernel unanswered before it is lost.
    pub silence: Duration,
}

impl Default for Settings {
    /// For processes of one machine.
    fn default() -> Settings {
        Settings {
            addresses: vec![IpAddr::V4(std::net::Ipv4Addr::LOCALHOST)],
            ports: None,
            packet: 64 << 10,
            piece: 256 << 10,
            eager: 1 << 20,
            together: false,
            silence: Duration::from_secs(30),
        }
    }
}
