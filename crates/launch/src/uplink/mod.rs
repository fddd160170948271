//! The connection of an agent to the mpiexec of all hosts, and what both tell each other there.

mod join;
mod order;
pub mod told;
mod wire;

use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use tern_pmi::addresses;

use crate::picture::Told;
pub use order::Order;
pub use wire::{About, Down, Up, prepare};

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
    pub fn new(socket: TcpStream, host: String) -> Uplink {
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
