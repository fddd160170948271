//! The environment variable by which mpiexec tells a process its place in the job.

use std::fmt;
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::str::FromStr;

use crate::{Error, Nodes};

/// The name of the variable. Its value is a [`Ticket`]: `key=value` pairs with blanks between.
pub const TICKET: &str = "TERN_LAUNCH";

/// An inherited descriptor: its number, and the inode of the file that it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The number in the process that is started.
    pub fd: RawFd,
    /// The inode, to tell a descriptor from another that took its number since.
    pub inode: u64,
}

/// The place of one process in a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Rank in MPI_COMM_WORLD.
    pub rank: u32,
    /// Size of MPI_COMM_WORLD.
    pub size: u32,
    /// Random number of the job.
    pub job_id: u64,
    /// The process that serves the job: the parent of all ranks.
    pub launcher: u32,
    /// Which ranks are on which node.
    pub nodes: Nodes,
    /// The nodes are one machine, whose processes believe in several.
    pub simulated: bool,
    /// The address by which the other machines of the job reach this one, if there are others.
    pub address: Option<IpAddr>,
    /// A debugger looks at the processes first. They ask the launcher for their places, which answers when the debugger has seen them.
    pub held: bool,
    /// The memfd of the job on this node.
    pub segment: Descriptor,
    /// The socket to the launcher.
    pub control: Descriptor,
    /// Cores that the job's processes on this machine share.
    pub cores: u32,
    /// Number of the program.
    pub appnum: u32,
    /// Processes that run this program.
    pub app_size: u32,
    /// How many processes the job may grow to.
    pub universe_size: u32,
    /// The memfd that the job shares with the processes that spawned it, if any did.
    pub parents: Option<Descriptor>,
    /// Names of settings that the launcher has already warned of.
    pub warned: Vec<String>,
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rank={} size={} job={:x} launcher={} segment={} control={} cores={} app={} app-size={} universe={}",
            self.rank,
            self.size,
            self.job_id,
            self.launcher,
            self.segment,
            self.control,
            self.cores,
            self.appnum,
            self.app_size,
            self.universe_size,
        )?;
        if self.nodes.count() > 1 {
            write!(f, " nodes={}", self.nodes)?;
        }
        if self.simulated {
            f.write_str(" simulated=1")?;
        }
        if self.held {
            f.write_str(" held=1")?;
        }
        if let Some(address) = self.address {
            write!(f, " address={address}")?;
        }
        if let Some(parents) = self.parents {
            write!(f, " parents={parents}")?;
        }
        if !self.warned.is_empty() {
            write!(f, " warned={}", self.warned.join(","))?;
        }
        Ok(())
    }
}

impl fmt::Display for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.fd, self.inode)
    }
}

impl FromStr for Ticket {
    type Err = Error;

    fn from_str(text: &str) -> Result<Ticket, Error> {
        let wrong = |key: &'static str| Error::Ticket { key, text: text.to_owned() };
        let field = |key: &'static str| {
            let part = text.split(' ').filter_map(|part| part.split_once('='));
            part.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let number = |key: &'static str| -> Result<u32, Error> {
            field(key).and_then(|value| value.parse().ok()).ok_or_else(|| wrong(key))
        };
        let descriptor = |key: &'static str| -> Result<Descriptor, Error> {
            let (fd, inode) = field(key).and_then(|value| value.split_once(':')).ok_or_else(|| wrong(key))?;
            Ok(Descriptor { fd: fd.parse().map_err(|_| wrong(key))?, inode: inode.parse().map_err(|_| wrong(key))? })
        };
        let size = number("size")?;
        let nodes = match field("nodes") {
            Some(text) => text.parse().ok().filter(|nodes: &Nodes| nodes.size() == size),
            None => Some(Nodes::one(size)),
        };
        let ticket = Ticket {
            rank: number("rank")?,
            size,
            nodes: nodes.ok_or_else(|| wrong("nodes"))?,
            simulated: field("simulated").is_some(),
            held: field("held").is_some(),
            address: match field("address") {
                Some(text) => Some(text.parse().map_err(|_| wrong("address"))?),
                None => None,
            },
            job_id: field("job").and_then(|id| u64::from_str_radix(id, 16).ok()).ok_or_else(|| wrong("job"))?,
            launcher: number("launcher")?,
            segment: descriptor("segment")?,
            control: descriptor("control")?,
            cores: number("cores")?,
            appnum: number("app")?,
            app_size: number("app-size")?,
            universe_size: number("universe")?,
            parents: match field("parents") {
                Some(_) => Some(descriptor("parents")?),
                None => None,
            },
            warned: field("warned").map_or(Vec::new(), |names| names.split(',').map(str::to_owned).collect()),
        };
        if ticket.rank < ticket.size { Ok(ticket) } else { Err(wrong("rank")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    fn ticket() -> Ticket {
        Ticket {
            rank: 2,
            size: 4,
            job_id: 0xfedc_ba98_7654_3210,
            launcher: 77,
            nodes: Nodes::even(4, 3),
            simulated: true,
            held: true,
            address: Some("10.0.0.2".parse().unwrap()),
            segment: Descriptor { fd: 40, inode: 12345 },
            control: Descriptor { fd: 41, inode: 54321 },
            cores: 8,
            appnum: 1,
            app_size: 3,
            universe_size: 4,
            parents: Some(Descriptor { fd: 42, inode: 6 }),
            warned: vec!["TERN_A".into(), "TERN_B".into()],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(ticket().to_string().parse::<Ticket>().unwrap(), ticket());
        let plain = Ticket { simulated: false, held: false, address: None, ..ticket() };
        let plain = Ticket { parents: None, warned: vec![], nodes: Nodes::one(4), ..plain };
        assert_eq!(plain.to_string().parse::<Ticket>().unwrap(), plain);
    }

    #[test]
    fn a_spoilt_ticket_is_refused() {
        let text = ticket().to_string();
        for (from, to) in [
            ("rank=2", "rank=4"),
            ("rank=2", "rank=x"),
            ("job=", "jib="),
            ("40:", "40;"),
            ("nodes=2,1x2", "nodes=2,1x3"),
            ("size=4", ""),
        ] {
            assert!(text.contains(from));
            assert!(text.replacen(from, to, 1).parse::<Ticket>().is_err(), "{from} -> {to:?} was taken");
        }
        assert!("".parse::<Ticket>().is_err());
    }

    proptest! {
        #[test]
        fn a_damaged_ticket_is_refused_or_sound(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let text = damage(ticket().to_string().as_bytes(), &changes);
            if let Ok(ticket) = String::from_utf8_lossy(&text).parse::<Ticket>() {
                prop_assert!(ticket.rank < ticket.size && ticket.nodes.size() == ticket.size);
                prop_assert_eq!(ticket.to_string().parse::<Ticket>().expect("what was read"), ticket);
            }
        }
    }
}
