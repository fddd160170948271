//! The network device of this process, as the settings say.

mod ofi;
mod rdma;
mod tcp;

pub use tcp::{between_jobs, door};

use std::io::{Error, Result};
use std::net::{Ipv4Addr, UdpSocket};
use tern_device::Device;
use tern_hca::Maker;
use tern_pmi::Job;
use tern_settings::{Entry, INTERFACE, NETWORK, Network};

/// What is open, and does not know its peers yet.
#[allow(clippy::large_enum_variant, reason = "there is one of it")]
enum Opened {
    Rdma(Maker, tern_verbs::Endpoint),
    Tcp(tern_tcp::Endpoint),
    Ofi(tern_ofi::Endpoint),
}

/// Opens the network, tells all processes of the world where this one is found, and learns where they are.
///
/// Errors: there is no network, a setting cannot be read, the processes do not use the same network, or the launcher
/// cannot be reached.
pub fn open(job: &Job) -> Result<Box<dyn Device>> {
    if job.simulated && NETWORK.get() != Network::Rdma && INTERFACE.get() == "auto" {
        see_loopback().map_err(Error::other)?;
    }
    let opened = choose(job)?;
    // In front of each address stands what kind of network it is for.
    let kind = opened.kind();
    let own = [&[kind as u8], &opened.address()[..]].concat();
    let addresses = job.exchange(&own)?;
    if let Some(other) = addresses.iter().position(|address| address.first() != Some(&(kind as u8))) {
        return Err(Error::other(format!(
            "rank {} uses the network '{}' and rank {other} another: see which machine lacks its card, or set {} \
             to {} for all",
            job.rank,
            kind.name(),
            NETWORK.name(),
            Kind::Tcp.name(),
        )));
    }
    let addresses: Vec<&[u8]> = addresses.iter().map(|address| &address[1..]).collect();
    Ok(match opened {
        Opened::Rdma(_, endpoint) => Box::new(endpoint.join(&addresses)?),
        Opened::Tcp(endpoint) => Box::new(endpoint.join(&addresses)?),
        Opened::Ofi(endpoint) => Box::new(endpoint.join(&addresses)?),
    })
}

/// What the settings ask for, or what is there.
fn choose(job: &Job) -> Result<Opened> {
    let rdma = |maker| Ok(Opened::Rdma(maker, rdma::open(job, maker)?));
    match NETWORK.get() {
        Network::Software => rdma(Maker::Software),
        Network::Rdma => rdma(Maker::RdmaCore),
        Network::Tcp => Ok(Opened::Tcp(tcp::open(job)?)),
        Network::Ofi => Ok(Opened::Ofi(ofi::open(job)?)),
        // Cards are for machines.
        Network::Auto if job.simulated => rdma(Maker::Software),
        Network::Auto if ofi::has_card() => ofi::open(job).map(Opened::Ofi).or_else(|error| {
            if job.rank == 0 {
                tern_settings::warn!(
                    "this machine's network card needs libfabric, and TCP is used without it: {error}"
                );
            }
            Ok(Opened::Tcp(tcp::open(job)?))
        }),
        Network::Auto => rdma(Maker::RdmaCore).or_else(|_: Error| Ok(Opened::Tcp(tcp::open(job)?))),
    }
}

/// Simulated nodes reach each other by the loopback interface, which a new network namespace has down. Nothing is sent.
fn see_loopback() -> std::result::Result<(), String> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
    let there = socket.and_then(|socket| socket.connect((Ipv4Addr::LOCALHOST, 9)));
    there.map_err(|error| {
        format!(
            "simulated nodes reach each other by {}, which cannot be reached: {error}; bring the loopback interface up \
             (ip link set lo up)",
            Ipv4Addr::LOCALHOST
        )
    })
}

/// A kind of network, as processes tell each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Software = 0,
    Rdma = 1,
    Tcp = 2,
    Ofi = 3,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Software => "software",
            Kind::Rdma => "rdma",
            Kind::Tcp => "tcp",
            Kind::Ofi => "ofi",
        }
    }
}

impl Opened {
    fn kind(&self) -> Kind {
        match self {
            Opened::Rdma(Maker::Software, _) => Kind::Software,
            Opened::Rdma(Maker::RdmaCore, _) => Kind::Rdma,
            Opened::Tcp(_) => Kind::Tcp,
            Opened::Ofi(_) => Kind::Ofi,
        }
    }

    fn address(&self) -> Vec<u8> {
        match self {
            Opened::Rdma(_, endpoint) => endpoint.address(),
            Opened::Tcp(endpoint) => endpoint.address(),
            Opened::Ofi(endpoint) => endpoint.address(),
        }
    }
}
