//! A process takes its place in a job that another launcher has started.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use super::keep::{Begin, Keeper, Role};
use super::line::Line;
use super::{Way, mapping, open};
use crate::control::{self, Attached, Message, Received};
use crate::secret::{Secret, new_secret, secret_of, secret_text};
use crate::{Control, Error, Job, Launch, Nodes, parcel};

/// The key under which rank 0 tells all ranks how to find their keepers.
const KEY: &str = "tern-job";

/// Bytes of its value beside the addresses of the root, and one that launchers keep.
const ROOM: usize = 16 + 1 + 64 + 1 + 1;

/// How long the other ranks of the node may take to come to their keeper.
const COME: Duration = Duration::from_secs(120);

/// The key by which launchers tell which ranks are on which node.
const MAPPING: &str = "PMI_process_mapping";

/// What all ranks of the job know.
struct Common {
    job_id: u64,
    secret: Secret,
    callers: String,
}

impl Common {
    fn parse(text: &str) -> Option<Common> {
        let mut parts = text.split('@');
        let job_id = u64::from_str_radix(parts.next()?, 16).ok()?;
        let secret = secret_of(parts.next()?)?;
        Some(Common { job_id, secret, callers: parts.next()?.to_owned() })
    }
}

/// The place of this process; and the line to the launcher, once that is open.
pub(super) fn take(way: &Way, get: impl Fn(&str) -> Option<String>) -> (Result<Job, Error>, Option<Line>) {
    match open(way) {
        Ok((mut line, told)) => (place(&mut line, told, get), Some(line)),
        Err(error) => (Err(error), None),
    }
}

fn place(line: &mut Line, told: Option<(u32, u32)>, get: impl Fn(&str) -> Option<String>) -> Result<Job, Error> {
    line.begin()?;
    let number = |name: &str| get(name).and_then(|value| value.trim().parse::<u32>().ok());
    let told = told.or_else(|| Some((number("PMI_RANK")?, number("PMI_SIZE")?)));
    let Some((rank, size)) = told.filter(|(rank, size)| rank < size) else {
        return Err(Error::Protocol { text: "PMI_RANK and PMI_SIZE are not set, or do not fit each other".into() });
    };
    let (appnum, universe) = (line.appnum()?, line.universe()?);
    let mut job = match size {
        1 => crate::singleton()?,
        _ => joined(line, rank, size)?,
    };
    job.launch = Launch::Foreign;
    job.appnum = Some(appnum.unwrap_or(0));
    job.universe_size = universe.unwrap_or(0).max(size);
    Ok(job)
}

/// The place of one rank of several.
fn joined(line: &Line, rank: u32, size: u32) -> Result<Job, Error> {
    let nodes = nodes(line, rank, size)?;
    let node = nodes.of(rank);
    let local = nodes.members(node);
    let local_rank = local.partition_point(|other| *other < rank) as u32;
    let leads = local_rank == 0;
    let several = nodes.count() > 1;
    let begin = |role, common: &Common| {
        let Common { job_id, secret, ref callers } = *common;
        Keeper::start(&Begin { role, job_id, secret, callers: callers.clone(), nodes: nodes.clone() })
    };
    // Rank 0 makes what all must know; then the first rank of each node starts the node's keeper, and all others may
    // come to it once that is done.
    let mut root = None;
    if rank == 0 {
        let secret = new_secret().map_err(|error| Error::Keeper { text: format!("random numbers: {error}") })?;
        let mut common = Common { job_id: crate::new_job_id(), secret, callers: String::new() };
        if several {
            let (keeper, callers) = begin(Role::Root, &common)?;
            common.callers = fitting(&callers, line.longest.saturating_sub(ROOM));
            root = Some(keeper);
        }
        line.put(KEY, &format!("{:x}@{}@{}", common.job_id, secret_text(&common.secret), common.callers))?;
        if !several {
            root = Some(begin(Role::Node(0), &common)?.0);
        }
    }
    line.barrier()?;
    let text = line.need(KEY)?;
    let common = Common::parse(&text).ok_or_else(|| Error::Protocol { text: format!("{KEY} is damaged: {text:?}") })?;
    let mut keeper = None;
    if several {
        if leads {
            keeper = Some(begin(Role::Node(node), &common)?.0);
        }
        line.barrier()?;
    }
    let welcome = meet(common.job_id, node, rank)?;
    root.into_iter().chain(keeper).for_each(Keeper::settle);
    welcome.control.hello();
    Ok(Job {
        launch: Launch::Foreign,
        rank,
        size,
        local_rank,
        local_size: local.len() as u32,
        machine_size: local.len() as u32,
        simulated: false,
        address: welcome.address,
        node,
        nodes,
        job_id: common.job_id,
        segment: welcome.segment,
        parents: None,
        control: Some(welcome.control),
        node_cores: welcome.cores,
        costs: welcome.costs,
        appnum: None,
        app_size: size,
        universe_size: 0,
    })
}

/// The first of the addresses that fit into so many bytes.
fn fitting(callers: &str, room: usize) -> String {
    let end = if callers.len() <= room { callers.len() } else { callers[..room].rfind(',').unwrap_or(0) };
    callers[..end].to_owned()
}

/// Which ranks are on which node: as the launcher tells it, or else as the ranks tell each other.
fn nodes(line: &Line, rank: u32, size: u32) -> Result<Nodes, Error> {
    let told = line.get(MAPPING)?.and_then(|text| mapping::parse(&text, size));
    let node_of = match told {
        Some(node_of) => node_of,
        None => {
            line.put(&format!("tern-host-{rank}"), &machine())?;
            line.barrier()?;
            let names: Result<Vec<String>, Error> =
                (0..size).map(|rank| line.need(&format!("tern-host-{rank}"))).collect();
            mapping::by_name(&names?)
        }
    };
    Nodes::of_numbers(&node_of).ok_or_else(|| Error::Protocol { text: "no rank is on any node".into() })
}

/// What tells this machine from others: its name, and the number of its boot, for names are not always different.
fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{name}/{}", boot.trim()).replace(char::is_whitespace, "_")
}

/// What a keeper gives to a rank.
struct Welcome {
    control: Control,
    segment: OwnedFd,
    /// Cores that all ranks of the node share.
    cores: u32,
    /// By which the other nodes reach this one.
    address: Option<IpAddr>,
    /// The file with this machine's costs.
    costs: Option<PathBuf>,
}

/// Comes to the keeper of this node, and waits for the other ranks of the node.
fn meet(job_id: u64, node: u32, rank: u32) -> Result<Welcome, Error> {
    let cannot = |errno: Errno| Error::Keeper {
        text: match errno {
            Errno::CONNREFUSED => "it does not listen: it has ended, or it runs in another network namespace than \
                                   this rank, as in another container; see docs/launchers.md"
                .into(),
            Errno::AGAIN => format!("not all ranks of this node have come to MPI_Init within {} s", COME.as_secs()),
            errno => format!("the keeper cannot be reached: {errno}"),
        },
    };
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(cannot)?;
    rustix::net::connect(&socket, &control::node_address(job_id, node)).map_err(cannot)?;
    if !parcel::is_own_user(&socket) {
        return Err(cannot(Errno::PERM));
    }
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(COME)).map_err(cannot)?;
    control::send(&socket, &Message::Join { rank, job_id }).map_err(cannot)?;
    let answer = control::receive(&socket, true).map_err(cannot)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, None).map_err(cannot)?;
    let (value, text, fds) = match answer {
        Received::Message(Message::Answer { value, text }, Attached { fds, .. }) => (value, text, fds),
        Received::Message(Message::Refused { by }, _) => {
            return Err(Error::Taken { rank, by: (by != 0).then_some(by) });
        }
        Received::Nothing => return Err(cannot(Errno::AGAIN)),
        _ => return Err(cannot(Errno::CONNRESET)),
    };
    let segment = fds.into_iter().next().ok_or(cannot(Errno::PROTO))?;
    let (address, costs) = text.split_once(' ').unwrap_or((&text, ""));
    Ok(Welcome {
        control: Control::to(socket),
        segment,
        cores: value.max(1) as u32,
        address: address.parse().ok(),
        costs: (!costs.is_empty()).then(|| costs.into()),
    })
}

/// For the keeper: the answer to a rank that has joined, when all of the node have.
pub fn welcome(cores: u32, address: Option<IpAddr>, costs: Option<&str>) -> Message {
    let address = address.map_or("-".into(), |address| address.to_string());
    Message::Answer { value: cores as i32, text: format!("{address} {}", costs.unwrap_or_default()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_cut_where_one_ends() {
        assert_eq!(fitting("10.0.0.1:55,10.0.0.2:55", 100), "10.0.0.1:55,10.0.0.2:55");
        assert_eq!(fitting("10.0.0.1:55,10.0.0.2:55", 15), "10.0.0.1:55");
        assert_eq!(fitting("10.0.0.1:55", 5), "");
    }

    #[test]
    fn what_all_must_know_is_read() {
        let secret = "07".repeat(32);
        let common = Common::parse(&format!("ff@{secret}@10.0.0.1:5")).expect("three parts");
        assert_eq!((common.job_id, common.secret, common.callers.as_str()), (255, [7; 32], "10.0.0.1:5"));
        for text in ["ff@", "ff@1@10.0.0.1:5", &format!("ff@{secret}")] {
            assert!(Common::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_machine_has_a_name_without_blanks() {
        assert!(!machine().contains(char::is_whitespace));
        assert_eq!(machine(), machine());
    }
}
