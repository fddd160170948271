//! The TCP device.

use std::io::{Error, Result};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use tern_pmi::Job;
use tern_tcp::{Endpoint, Settings};

/// Listens for the processes of the other hosts.
pub fn open(job: &Job) -> Result<Endpoint> {
    let default = Settings::default();
    let eager = tern_settings::EAGER_LIMIT.get().map_or(default.eager, |bytes| bytes as usize);
    let silence = tern_settings::PEER_TIMEOUT.get();
    let settings = Settings { addresses: addresses(job)?, ports: ports()?, eager, silence, ..default };
    Endpoint::open(job.rank, job.size, &settings)
}

/// By which addresses the others may reach this process: the one that reached mpiexec first.
fn addresses(job: &Job) -> Result<Vec<IpAddr>> {
    if job.simulated {
        return Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    }
    let name = tern_settings::INTERFACE.get();
    let only = Some(name).filter(|name| *name != "auto");
    let mut all = tern_tcp::interfaces(only);
    if let Some(known) = job.address.filter(|_| only.is_none()) {
        all.retain(|address| *address != known);
        all.insert(0, known);
    }
    match all.is_empty() {
        true => Err(Error::other(format!("no interface with an address is up (TERN_INTERFACE={name})"))),
        false => Ok(all),
    }
}

fn ports() -> Result<Option<RangeInclusive<u16>>> {
    let text = tern_settings::PORT_RANGE.get();
    parse(text).ok_or_else(|| Error::other(format!("TERN_PORT_RANGE={text} is no range of ports, as 20000-20100")))
}

fn parse(text: &str) -> Option<Option<RangeInclusive<u16>>> {
    if text == "auto" {
        return Some(None);
    }
    let (first, last) = text.split_once(['-', ':']).unwrap_or((text, text));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (0 < first && first <= last).then_some(Some(first..=last))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn ranges_of_ports() {
        assert_eq!(parse("auto"), Some(None));
        assert_eq!(parse("20000-20100"), Some(Some(20000..=20100)));
        assert_eq!(parse("20000:20100"), Some(Some(20000..=20100)));
        assert_eq!(parse("80"), Some(Some(80..=80)));
        for wrong in ["", "a-b", "2-1", "0-10", "70000", "1-2-3"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
