//! The TCP device.

use std::io::{Error, Result};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use tern_pmi::Job;
use tern_proof::Door;
use tern_tcp::{Choice, Endpoint, Settings};

/// Listens for the processes of the other hosts.
pub fn open(job: &Job) -> Result<Endpoint> {
    let default = Settings::default();
    let eager = tern_settings::EAGER_LIMIT.get().map_or(default.eager, |bytes| bytes as usize);
    let silence = tern_settings::PEER_TIMEOUT.get();
    let settings = Settings {
        addresses: addresses(job)?,
        together: choice()?.is_ordered(),
        ports: tern_settings::port_range().map_err(Error::other)?,
        eager,
        silence,
        ..default
    };
    Endpoint::open(job.rank, job.size, &settings)
}

/// Listens for processes of other jobs, as process `me` of `processes`: wherever they are, this machine included.
pub fn between_jobs(job: &Job, me: u32, processes: u32) -> Result<Endpoint> {
    Endpoint::open(me, processes, &for_other_jobs(job)?)
}

/// A door at which processes of other jobs knock that know the secret, and its addresses.
///
/// Errors: a setting cannot be read; no port is free, or there are no sockets.
pub fn door(job: &Job, secret: [u8; 32]) -> Result<(Door, Vec<SocketAddr>)> {
    tern_tcp::open_door(&for_other_jobs(job)?, secret)
}

/// By which addresses other jobs may reach this process, on whatever machine they are.
fn for_other_jobs(job: &Job) -> Result<Settings> {
    let near = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut addresses = if job.simulated { vec![near] } else { addresses(job).unwrap_or_default() };
    for address in tern_tcp::interfaces(&choice()?).into_iter().chain([near]) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    let ports = tern_settings::port_range().map_err(Error::other)?;
    Ok(Settings { addresses, ports, silence: tern_settings::PEER_TIMEOUT.get(), ..Settings::default() })
}

/// By which addresses the others may reach this process: the one that reached mpiexec first.
fn addresses(job: &Job) -> Result<Vec<IpAddr>> {
    if job.simulated {
        return Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    }
    let (text, choice) = (tern_settings::INTERFACE.get(), choice()?);
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

/// The interfaces that the user wants.
fn choice() -> Result<Choice> {
    match tern_settings::INTERFACE.get() {
        "auto" => Ok(Choice::ALL),
        text => Choice::parse(text).ok_or_else(|| Error::other(no_list(text))),
    }
}

fn no_list(text: &str) -> String {
    format!("TERN_INTERFACE={text} is no list of interfaces, addresses or networks, as eth0,10.1.0.0/16 or ^docker0")
}
