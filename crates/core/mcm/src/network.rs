//! The network device of this process, as the settings say.

mod ofi;
mod rdma;
mod tcp;

pub use tcp::{between_jobs, door};

use std::io::{Error, Result};
use std::net::{Ipv4Addr, UdpSocket};
use tern_device::{Channel, Endpoint};
use tern_hca::Maker;
use tern_pmi::Job;
use tern_settings::{Entry, INTERFACE, Kind, NETWORK, Network};

/// How a kind of network is opened.
type Open = fn(&Job) -> Result<Box<dyn Endpoint>>;

/// The kinds of network. A new device is one line here, one in the choices of TERN_NETWORK, and one where `tern-info` tells them.
const NETWORKS: &[(Network, Open)] = &[
    (Network::Software, |job| Ok(Box::new(rdma::open(job, Maker::Software)?))),
    (Network::Rdma, |job| Ok(Box::new(rdma::open(job, Maker::RdmaCore)?))),
    (Network::Tcp, |job| Ok(Box::new(tcp::open(job)?))),
    (Network::Ofi, |job| Ok(Box::new(ofi::open(job)?))),
    (Network::Pipes, |job| Ok(Box::new(tern_pipes::Endpoint::open(job.rank, job.size)?))),
];

/// Opens the network, tells all processes of the world where this one is found, and learns where they are.
///
/// Errors: there is no network, a setting cannot be read, the processes do not use the same network, or the launcher
/// cannot be reached.
pub fn open(job: &Job) -> Result<Box<dyn Channel>> {
    if job.simulated && NETWORK.get() != Network::Rdma && INTERFACE.get() == "auto" {
        see_loopback().map_err(Error::other)?;
    }
    let (network, endpoint) = choose(job)?;
    // In front of each address stands what kind of network it is for.
    let own = [&[network as u8], &endpoint.address()[..]].concat();
    let addresses = job.exchange(&own)?;
    if let Some(other) = addresses.iter().position(|address| address.first() != Some(&(network as u8))) {
        return Err(Error::other(format!(
            "rank {} uses the network '{}' and rank {other} another: see which machine lacks its card, or set {} \
             to {} for all",
            job.rank,
            name(network),
            NETWORK.name(),
            name(Network::Tcp),
        )));
    }
    let addresses: Vec<&[u8]> = addresses.iter().map(|address| &address[1..]).collect();
    endpoint.join(&addresses)
}

/// The word of a network in TERN_NETWORK.
fn name(network: Network) -> &'static str {
    Network::words()[network as usize]
}

/// What the settings ask for, or what is there.
fn choose(job: &Job) -> Result<(Network, Box<dyn Endpoint>)> {
    let try_one = |network| open_one(network, job);
    match NETWORK.get() {
        // Cards are for machines.
        Network::Auto if job.simulated => try_one(Network::Software),
        Network::Auto if ofi::has_card() => try_one(Network::Ofi).or_else(|error| {
            if job.rank == 0 {
                tern_settings::warn!(
                    "this machine's network card needs libfabric, and TCP is used without it: {error}"
                );
            }
            try_one(Network::Tcp)
        }),
        Network::Auto => try_one(Network::Rdma).or_else(|_: Error| try_one(Network::Tcp)),
        named => try_one(named),
    }
}

fn open_one(network: Network, job: &Job) -> Result<(Network, Box<dyn Endpoint>)> {
    let entry = NETWORKS.iter().find(|(kind, _)| *kind == network);
    let (_, open) = entry.ok_or_else(|| Error::other(format!("no device for the network '{}'", name(network))))?;
    Ok((network, open(job)?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_has_a_device() {
        for (at, word) in Network::words().iter().enumerate() {
            let network = Network::decode(at as u64, "");
            let entries = NETWORKS.iter().filter(|(kind, _)| *kind == network).count();
            assert_eq!(entries, usize::from(network != Network::Auto), "{word}");
            assert_eq!(name(network), *word);
        }
    }
}
