//! The connection of an agent to the mpiexec of all hosts, and what both tell each other there.

mod call;
mod join;
mod line;
mod order;
pub mod told;
mod wire;

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use tern_pmi::addresses;

use crate::mpir::Process;
use crate::picture::Told;
pub use call::{CALLS_AGAIN, call, callers};
pub use line::Line;
#[cfg(test)]
pub use line::pair;
pub use order::Order;
pub use wire::{About, Down, Up};

/// The connection of an agent.
pub struct Uplink {
    line: Arc<Line>,
    /// This host, as the user calls it.
    pub host: String,
    /// By which address other hosts reach this one.
    pub address: Option<IpAddr>,
    /// What was told last of ranks that wait, and of one that has gone.
    standing: (String, String),
}

impl AsFd for Uplink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}

impl Uplink {
    /// Over a connection on which the other side has said what is to be done.
    pub fn new(line: Line, host: String) -> Uplink {
        let address = line.local();
        Uplink { line: Arc::new(line), host, address, standing: Default::default() }
    }

    /// Another one, of the same connection.
    pub fn copy(&self) -> Uplink {
        let Uplink { line, host, address, .. } = self;
        Uplink { line: line.clone(), host: host.clone(), address: *address, standing: Default::default() }
    }

    /// All ranks here have ended.
    pub fn done(&self, code: i32) {
        self.tell(&Up::Done(code));
    }

    /// Waits for what is to be done.
    pub fn receive(&self) -> std::io::Result<Down> {
        Down::receive(&self.line)
    }

    /// Tells; if nobody hears it, that is seen when the connection is read.
    fn tell(&self, message: &Up) {
        let _ = message.send(&self.line);
    }

    pub fn failed(&self, code: i32, text: &str) {
        self.tell(&Up::Failed(code, text.to_owned()));
    }

    /// A rank here is lost, and the job goes on: the code that it would have given the job, and what to tell the user.
    pub fn lost(&self, world: u32, rank: u32, code: i32, text: &str) {
        self.tell(&Up::Lost { world, rank, code, text: text.to_owned() });
    }

    /// A rank here has ended before those that spawned it could meet it, and the job goes on without its world.
    pub fn world_lost(&self, world: u32, code: i32, text: &str) {
        self.tell(&Up::WorldLost { world, code, text: text.to_owned() });
    }

    /// The first rank here has ended MPI.
    pub fn finalized(&self) {
        self.tell(&Up::Finalized);
    }

    /// A lost rank had published that name.
    pub fn withdraw(&self, rank: u32, service: &str, port: &str) {
        self.name(rank, About::Unpublish, service, port);
    }

    /// Where the ranks here run.
    pub fn bindings(&self, lines: Vec<String>) {
        self.tell(&Up::Bindings(lines));
    }

    /// The ranks that were started here.
    pub fn processes(&self, processes: &[Process]) {
        self.tell(&Up::Processes(processes.to_vec()));
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
