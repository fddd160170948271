//! The TCP device.

use std::io::{Error, Result};
use std::net::{IpAddr, Ipv4Addr};
use tern_pmi::Job;
use tern_tcp::{Choice, Endpoint, Settings};

/// Listens for the processes of the other hosts.
pub fn open(job: &Job) -> Result<Endpoint> {
    let default = Settings::default();
    let eager = tern_settings::EAGER_LIMIT.get().map_or(default.eager, |bytes| bytes as usize);
    let silence = tern_settings::PEER_TIMEOUT.get();
    let settings = Settings {
        addresses: addresses(job)?,
        ports: tern_settings::port_range().map_err(Error::other)?,
        eager,
        silence,
        ..default
    };
    Endpoint::open(job.rank, job.size, &settings)
}

/// By which addresses the others may reach this process: the one that reached mpiexec first.
fn addresses(job: &Job) -> Result<Vec<IpAddr>> {
    if job.simulated {
        return Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    }
    let text = tern_settings::INTERFACE.get();
    let choice = match text {
        "auto" => Choice::ALL,
        _ => Choice::parse(text).ok_or_else(|| Error::other(no_list(text)))?,
    };
    let mut all = tern_tcp::interfaces(&choice);
    // The one that reached mpiexec is in front, unless the user has given an order, or left it out.
    if let Some(known) = job.address
        && (choice == Choice::ALL || !choice.is_ordered() && all.contains(&known))
    {
        all.retain(|address| *address != known);
        all.insert(0, known);
    }
    match all.is_empty() {
        true => Err(Error::other(format!("no interface with an address is up and chosen (TERN_INTERFACE={text})"))),
        false => Ok(all),
    }
}

fn no_list(text: &str) -> String {
    format!("TERN_INTERFACE={text} is no list of interfaces, addresses or networks, as eth0,10.1.0.0/16 or ^docker0")
}
