//! How a process learns who it is: its rank, how many there are, and the shared memory of the job.
//!
//! A process is started by Tern's `mpiexec`, which leaves a [`Ticket`] in the environment and two
//! inherited descriptors; by another launcher that speaks PMI-1 or PMIx ([`foreign`]); or by nobody in
//! particular, and then it is a world of one. A process that another launcher started as one of several
//! without telling more is refused, for it would be a world of one by mistake (MPI 5.0, section 11.5: how
//! processes are started is up to the implementation).

pub mod addresses;
mod attend;
mod background;
pub mod control;
mod error;
pub mod foreign;
pub mod hints;
mod lineage;
pub mod names;
mod nodes;
mod orders;
pub mod parcel;
pub mod report;
mod secret;
mod segment;
mod ticket;

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::FdFlags;

pub use attend::{ATTEND, attend};
pub use control::Control;
pub use error::Error;
pub use nodes::Nodes;
pub use orders::{Order, Orders};
pub use secret::{Secret, new_secret, secret_of, secret_text};
pub use segment::new_segment;
pub use ticket::{Descriptor, TICKET, Ticket};

/// Who started this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// Nobody that speaks of ranks: a world of one.
    Singleton,
    /// Tern's mpiexec.
    Mpiexec,
    /// Another launcher; see [`foreign`].
    Foreign,
}

/// What a process knows of its job after [`init`].
#[derive(Debug)]
pub struct Job {
    /// Who started this process.
    pub launch: Launch,
    /// Rank in MPI_COMM_WORLD.
    pub rank: u32,
    /// Size of MPI_COMM_WORLD.
    pub size: u32,
    /// Which ranks are on which node.
    pub nodes: Nodes,
    /// The node of this process.
    pub node: u32,
    /// Rank among the processes of this node.
    pub local_rank: u32,
    /// Processes of the job on this node.
    pub local_size: u32,
    /// The nodes are one machine, whose processes believe in several.
    pub simulated: bool,
    /// The address by which the other machines of the job reach this one, if there are others.
    pub address: Option<std::net::IpAddr>,
    /// Processes of the job on this machine: more than on this node where nodes are simulated.
    pub machine_size: u32,
    /// Random number that all processes of the job share, and no other job.
    pub job_id: u64,
    /// The memfd of the job on this node, the same file for all its processes there. The launcher
    /// makes it empty; who uses it sets its size. Close-on-exec.
    pub segment: OwnedFd,
    /// The memfd that the job shares with the processes that spawned it.
    pub parents: Option<OwnedFd>,
    /// The line to the launcher, or to the keeper of the node ([`foreign`]); none for a singleton.
    pub control: Option<Control>,
    /// Cores that all processes of the job on this machine share. The affinity mask of one process
    /// may hold fewer, if the launcher binds.
    pub node_cores: u32,
    /// The file with this machine's costs, where it is not told by the environment.
    pub costs: Option<std::path::PathBuf>,
    /// Number of the program among those that mpiexec was given, separated by `:` (MPI_APPNUM);
    /// none for a singleton.
    pub appnum: Option<u32>,
    /// Processes that run this program (`maxprocs` in MPI_INFO_ENV).
    pub app_size: u32,
    /// How many processes the job may grow to (MPI_UNIVERSE_SIZE); 0: that is not told.
    pub universe_size: u32,
}

impl Job {
    /// The name of this process's node (MPI_Get_processor_name): that of the machine, with the number of a
    /// simulated node behind it.
    pub fn node_name(&self, machine: &str) -> String {
        match self.simulated {
            true => format!("{machine}/node{}", self.node),
            false => machine.to_owned(),
        }
    }

    /// Gives all processes of the world the address of this one, and gets theirs, by rank. Each of them must do this;
    /// it waits for them.
    ///
    /// Errors: no launcher, or it cannot be reached.
    pub fn exchange(&self, address: &[u8]) -> rustix::io::Result<Vec<Vec<u8>>> {
        match &self.control {
            Some(control) => control.exchange(address),
            None => Ok(vec![address.to_vec()]),
        }
    }
}

/// Finds out who this process is, and claims its rank. To be called once in a process.
///
/// Costs six system calls under mpiexec. Log lines carry the rank from here on.
pub fn init() -> Result<Job, Error> {
    let job = match std::env::var(TICKET) {
        Ok(text) => {
            let ticket = text.parse()?;
            match join(&ticket) {
                Err(Error::Taken { rank, by }) if lineage::descends_from_rank(&ticket, by) => {
                    tern_settings::info!("rank {rank} is the process from which this one comes; it is a world of one");
                    singleton()?
                }
                joined => joined?,
            }
        }
        Err(_) => match foreign::join()? {
            Some(job) => job,
            None => singleton()?,
        },
    };
    if job.launch != Launch::Singleton {
        tern_settings::log::set_rank(job.rank);
    }
    Ok(job)
}

/// The size of MPI_COMM_WORLD as the launcher tells it, before this process takes its place there; 1 without a launcher.
pub fn told_size() -> u32 {
    let ticket = std::env::var(TICKET).ok().and_then(|text| text.parse::<Ticket>().ok());
    ticket.map_or_else(|| foreign::told_size(|name| std::env::var(name).ok()), |ticket| ticket.size)
}

/// A world of one with shared memory of its own.
fn singleton() -> Result<Job, Error> {
    Ok(Job {
        launch: Launch::Singleton,
        rank: 0,
        size: 1,
        nodes: Nodes::one(1),
        node: 0,
        local_rank: 0,
        local_size: 1,
        simulated: false,
        address: None,
        machine_size: 1,
        job_id: new_job_id(),
        segment: new_segment().map_err(|errno| Error::Segment { errno })?,
        parents: None,
        control: None,
        node_cores: rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count().max(1)),
        costs: None,
        appnum: None,
        app_size: 1,
        universe_size: 1,
    })
}

/// Takes the place that the ticket names.
fn join(ticket: &Ticket) -> Result<Job, Error> {
    let files = [Some(ticket.segment), ticket.parents];
    let files: Option<Vec<OwnedFd>> = files.into_iter().flatten().map(take).collect();
    let inherited = take(ticket.control).zip(files);
    let (control, files) = match inherited.filter(|_| !ticket.held) {
        Some((control, files)) => (Control::claim(control, ticket)?, files),
        None => Control::connect(ticket)?,
    };
    let mut files = files.into_iter();
    let segment = files.next().expect("the first file is the job's");
    control.hello();
    let node = ticket.nodes.of(ticket.rank);
    let local = ticket.nodes.members(node);
    Ok(Job {
        launch: Launch::Mpiexec,
        rank: ticket.rank,
        size: ticket.size,
        local_rank: local.partition_point(|rank| *rank < ticket.rank) as u32,
        local_size: local.len() as u32,
        machine_size: if ticket.simulated { ticket.size } else { local.len() as u32 },
        simulated: ticket.simulated,
        address: ticket.address,
        node,
        nodes: ticket.nodes.clone(),
        job_id: ticket.job_id,
        segment,
        parents: files.next(),
        control: Some(control),
        node_cores: ticket.cores,
        costs: None,
        appnum: Some(ticket.appnum),
        app_size: ticket.app_size,
        universe_size: ticket.universe_size,
    })
}

/// Takes over an inherited descriptor and marks it close-on-exec, if it still is the file that the
/// launcher meant: a program in between may have closed it or used its number for something else.
fn take(descriptor: Descriptor) -> Option<OwnedFd> {
    if descriptor.fd < 0 {
        return None;
    }
    // SAFETY: the number may be closed, which fstat answers with EBADF; it is used for nothing
    // else before that.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor.fd) };
    if rustix::fs::fstat(borrowed).ok()?.st_ino != descriptor.inode {
        return None;
    }
    rustix::io::fcntl_setfd(borrowed, FdFlags::CLOEXEC).ok()?;
    // SAFETY: open, and it is the launcher's file, which was inherited for this call to take.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor.fd) })
}

/// A random number that names a job. It is also what a process must know to join the job.
pub fn new_job_id() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: writes at most 8 bytes into the array.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) };
    if got == bytes.len() as isize {
        return u64::from_ne_bytes(bytes);
    }
    // Only before the kernel's generator is ready, early at boot.
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    time.map_or(0, |time| time.as_nanos() as u64) ^ (u64::from(std::process::id()) << 40)
}

impl Descriptor {
    /// The number under which a child of this process will find `fd`, with the identity of its file.
    pub fn of(fd: impl AsFd, number: RawFd) -> rustix::io::Result<Descriptor> {
        Ok(Descriptor { fd: number, inode: rustix::fs::fstat(fd)?.st_ino })
    }
}
