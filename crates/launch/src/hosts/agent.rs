//! The agent on one host: serves the ranks of that host as a job, and does what the mpiexec of all hosts says.
//!
//! It is started with where that mpiexec listens, and its own number. The secret by which it proves who it is comes in
//! the first line of its standard input; the rest of that is for rank 0.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use tern_pmi::addresses;

use super::part::Part;
use super::wire::{About, Down, Up, prepare};
use super::{starter, told, tree};
use crate::args::{Options, Stdin};
use crate::picture::Told;
use crate::plan::Plan;
use crate::{job, signals};

/// The option that makes an agent of mpiexec.
pub const AGENT: &str = "--agent";
/// How long to try one address.
const CONNECT: Duration = Duration::from_secs(5);

/// The connection of an agent.
pub struct Uplink {
    socket: TcpStream,
    /// This host, as the user calls it.
    pub host: String,
    /// By which address other hosts reach this one.
    pub address: Option<IpAddr>,
    /// What was told last of ranks that wait, and of one that has gone.
    standing: (String, String),
}

impl AsFd for Uplink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Uplink {
    /// Over a connection on which both sides have said who they are.
    pub(super) fn new(socket: TcpStream, host: String) -> Uplink {
        let address = socket.local_addr().ok().map(|address| address.ip().to_canonical());
        Uplink { socket, host, address, standing: Default::default() }
    }

    /// Another one, of the same connection.
    pub fn copy(&self) -> Option<Uplink> {
        Some(Uplink::new(self.socket.try_clone().ok()?, self.host.clone()))
    }

    /// All ranks here have ended.
    pub fn done(&self, code: i32) {
        self.tell(&Up::Done(code));
    }

    /// Waits for what is to be done.
    pub fn receive(&self) -> std::io::Result<Down> {
        Down::receive(&self.socket)
    }

    /// Tells; if nobody hears it, that is seen when the connection is read.
    fn tell(&self, message: &Up) {
        let _ = message.send(&self.socket);
    }

    pub fn failed(&self, code: i32, text: &str) {
        self.tell(&Up::Failed(code, text.to_owned()));
    }

    /// Where the ranks here run.
    pub fn bindings(&self, lines: Vec<String>) {
        self.tell(&Up::Bindings(lines));
    }

    /// What the ranks here wait for; `first` has said so by itself.
    pub fn waits(&self, first: Option<u32>, ranks: &[Told]) {
        self.tell(&Up::Waits { first, ranks: told::encode(ranks) });
    }

    /// The addresses of all ranks of a world here.
    pub fn addresses<'a>(&self, world: u32, all: impl ExactSizeIterator<Item = &'a [u8]>) {
        self.tell(&Up::Addresses(world, addresses::encode(all)));
    }

    /// A rank asks for further processes.
    pub fn spawn(&self, rank: u32, orders: Vec<u8>) {
        self.tell(&Up::Spawn { rank, orders });
    }

    /// The share of a further world is started, or why not.
    pub fn started(&self, world: u32, failed: Option<(u32, String)>) {
        self.tell(&Up::Started { world, failed });
    }

    /// A rank asks about a name.
    pub fn name(&self, rank: u32, what: About, service: &str, port: &str) {
        self.tell(&Up::Name { rank, what, service: service.to_owned(), port: port.to_owned() });
    }

    /// No rank runs here, after so many orders.
    pub fn idle(&self, orders: u32) {
        self.tell(&Up::Idle(orders));
    }

    /// A rank that has initialised MPI, and one that will never do so, if they are others than before.
    pub fn standing(&mut self, waits: String, gone: String) {
        let now = (waits, gone);
        if self.standing != now {
            self.standing = now;
            let (waits, gone) = self.standing.clone();
            self.tell(&Up::Standing { waits, gone });
        }
    }
}

/// Runs an agent; gives its exit code.
pub fn run(args: &[OsString]) -> i32 {
    let text = |at: usize| args.get(at).and_then(|arg| arg.to_str());
    let (Some(callers), Some(number)) =
        (text(0), text(1).and_then(|which| starter::number(which, std::env::var("SLURMD_NODENAME").ok().as_deref())))
    else {
        crate::say("--agent is for Tern's own use");
        return crate::USAGE;
    };
    let Some(secret) = secret() else {
        crate::say("the agent was not told the secret of the job in its standard input");
        return 1;
    };
    let socket = match call(callers) {
        Ok(socket) => socket,
        Err(error) => {
            let host = tern_node::hostname();
            crate::say(&format!(
                "the agent on {host} cannot reach mpiexec at {callers}: {error}; is there a firewall?"
            ));
            return 1;
        }
    };
    let _ = socket.set_nodelay(true);
    let begin = Up::Join { secret, number }.send(&socket).and_then(|()| Down::receive(&socket));
    let Ok(Down::Begin(part)) = begin else { return 1 };
    let Some(part) = Part::decode(&part) else {
        crate::say("the agent and mpiexec are not of the same version of Tern");
        return 1;
    };
    let socket = match part.below.hosts.is_empty() {
        true => socket,
        false => match tree::branch(&part.below, secret, number, socket) {
            Ok(socket) => socket,
            Err(code) => return code,
        },
    };
    let reads = match part.options.streams.stdin {
        Stdin::All => true,
        Stdin::Nobody => false,
        Stdin::Rank(rank) => part.nodes.of(rank) == part.node,
    };
    if !reads {
        close_input();
    }
    serve(part, socket)
}

/// The first line of the standard input, and no byte more.
fn secret() -> Option<u64> {
    let mut line = Vec::new();
    let mut byte = [0u8; 1];
    while line.len() < 32 {
        match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
            Ok(1) if byte[0] == b'\n' => break,
            Ok(1) => line.push(byte[0]),
            Err(rustix::io::Errno::INTR) => {}
            _ => return None,
        }
    }
    u64::from_str_radix(std::str::from_utf8(&line).ok()?, 16).ok()
}

/// Nobody here reads what one command may give to all agents that it has started.
fn close_input() {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    if let Ok(null) = rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty()) {
        let _ = rustix::stdio::dup2_stdin(null);
    }
}

/// Connects to the first of the addresses that answers.
pub(super) fn call(callers: &str) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("no address");
    for address in callers.split(',') {
        let Ok(address) = address.parse::<SocketAddr>() else { continue };
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn serve(part: Part, socket: TcpStream) -> i32 {
    let Part { job_id, host, node, nodes, mut options, counts, below: _ } = part;
    for (name, value) in std::mem::take(&mut options.env) {
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var(name, value) };
    }
    // By the settings of mpiexec, which have come with its variables.
    prepare(&socket);
    let uplink = Uplink::new(socket, host);
    let plan = match plan(&options, &counts) {
        Ok(plan) => Plan { numbers: nodes.members(node), nodes, simulated: false, job_id, ..plan },
        Err((code, text)) => {
            uplink.failed(code, &format!("{text} (host {})", uplink.host));
            uplink.tell(&Up::Done(code));
            return code;
        }
    };
    let mask = signals::block();
    let socket = uplink.socket.try_clone();
    let code = job::run_part(&plan, mask, uplink);
    if let Ok(socket) = socket {
        let _ = Up::Done(code).send(&socket);
    }
    code
}

fn plan(options: &Options, counts: &[u32]) -> Result<Plan, (i32, String)> {
    let mut plan = Plan::new(options).map_err(|unusable| (unusable.code, unusable.text))?;
    for (program, all) in plan.programs.iter_mut().zip(counts) {
        program.count = *all;
    }
    Ok(plan)
}
