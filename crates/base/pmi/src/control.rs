//! The socket between a process and the launcher, and what goes over it.
//!
//! It is a Unix socket that keeps message boundaries (SOCK_SEQPACKET). A message is a kind, a
//! value, and text:
//!
//! | bytes | what |
//! |---|---|
//! | 0 to 3 | kind, little-endian |
//! | 4 to 7 | value, little-endian, signed |
//! | 8 and on | text, UTF-8 |
//!
//! | kind | from | name | value | text |
//! |---|---|---|---|---|
//! | 1 | launcher | welcome: this rank is yours | rank | |
//! | 2 | launcher | refused | process that has the rank, or 0 | why |
//! | 3 | process | join, first on a socket that was connected | rank | job id, hexadecimal |
//! | 4 | process | hello: MPI is initialised | | |
//! | 5 | process | finalized: MPI was finalized | | |
//! | 6 | process | abort | exit code | message |
//! | 7 | launcher | ask: report what you wait for | | |
//! | 8 | process | observed: it can be asked | | address of its [`crate::report::Activity`], hexadecimal |
//! | 9 | process | stalled, or the answer to ask | | the [`crate::report::Report`] |
//! | 22 | launcher | lost: ranks of this world or others have ended without a word, and the job goes on | how many | for each a space, its job id in hexadecimal, a colon, its rank |
//!
//! Requests, each of which has an answer:
//!
//! | kind | name | value | text |
//! |---|---|---|---|
//! | 16 | answer of the launcher | 0 or above: done | what was asked for, or why not |
//! | 17 | spawn; attached: the [`crate::Orders`], and the memory that parents and children share | processes | |
//! | 18 | publish | | port, line end, service |
//! | 19 | unpublish | | port, line end, service |
//! | 20 | look up | | service |
//! | 21 | address; attached: the bytes | | |
//!
//! To spawn is answered by the number of processes, or by -1 less the number of the command that cannot be
//! started; to publish or unpublish by 0, or -1 when the name is taken, or unknown; to look up by 0 and the port,
//! or -1 when this job has not published it; to an address, when all ranks of the world have told theirs, by 0
//! and all of them, attached, in the order of ranks. Attached bytes are a [`crate::parcel`].
//!
//! **Claim.** The launcher puts one welcome into each rank's socket before it starts the process.
//! Whoever reads it has the rank; there is no second one to read. So the claim costs one system
//! call and no wait for the launcher. A process whose inherited descriptors were closed on the way
//! connects to the launcher's abstract address instead, sends join, and gets the welcome, with the
//! memfd of the job attached, or the refusal.

mod message;
mod socket;

pub use message::{MAX_MESSAGE, MOST_LOST, Message, PROC_ABORTED};
pub use socket::{Attached, Received, ask_for_sender, has_room, receive, send, send_at_once, send_with};

use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::{Error, Ticket, addresses};
use message::{ASK, LOST};

/// How long a process waits for the launcher's answer to join.
const ANSWER: Duration = Duration::from_secs(30);

/// How long a process that aborts waits for its keeper to tell the user.
const TOLD: Duration = Duration::from_secs(2);

/// The abstract address where the launcher of a job listens.
pub fn address(job_id: u64) -> SocketAddrUnix {
    let name = format!("tern-{job_id:016x}");
    SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("the name is short")
}

/// The abstract address where the keeper of a node listens ([`crate::foreign`]).
pub fn node_address(job_id: u64, node: u32) -> SocketAddrUnix {
    let name = format!("tern-{job_id:016x}-{node}");
    SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("the name is short")
}

/// A rank that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lost {
    /// The random number of its world.
    pub job_id: u64,
    /// The rank.
    pub rank: u32,
}

/// A process's end of the socket to its launcher.
#[derive(Debug)]
pub struct Control {
    socket: OwnedFd,
    /// What the launcher has said of lost ranks while this process waited for an answer.
    lost: RefCell<Vec<Lost>>,
}

impl Control {
    fn new(socket: OwnedFd) -> Control {
        Control { socket, lost: RefCell::default() }
    }
}

impl Control {
    /// Claims the rank over the inherited socket.
    pub(crate) fn claim(socket: OwnedFd, ticket: &Ticket) -> Result<Control, Error> {
        let reach = |errno| Error::Launcher { pid: ticket.launcher, errno };
        match receive(&socket, false).map_err(reach)? {
            Received::Message(Message::Welcome { rank }, _) if rank == ticket.rank => Ok(Control::new(socket)),
            Received::Nothing => Err(Error::Taken { rank: ticket.rank, by: None }),
            Received::Closed => Err(reach(Errno::CONNRESET)),
            _ => Err(reach(Errno::PROTO)),
        }
    }

    /// Claims the rank over a new connection; gives the job's memfd too, and behind it that which
    /// the job shares with its parents.
    pub(crate) fn connect(ticket: &Ticket) -> Result<(Control, Vec<OwnedFd>), Error> {
        let reach = |errno| Error::Launcher { pid: ticket.launcher, errno };
        let flags = SocketFlags::CLOEXEC;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(reach)?;
        rustix::net::connect(&socket, &address(ticket.job_id)).map_err(reach)?;
        if !crate::parcel::is_own_user(&socket) {
            // The launcher has ended, and somebody else has taken its address.
            return Err(reach(Errno::PERM));
        }
        let timeout = sockopt::Timeout::Recv;
        // A debugger takes the time that its user takes.
        sockopt::set_socket_timeout(&socket, timeout, (!ticket.held).then_some(ANSWER)).map_err(reach)?;
        let join = Message::Join { rank: ticket.rank, job_id: ticket.job_id };
        send(&socket, &join).map_err(reach)?;
        let answer = receive(&socket, true).map_err(reach)?;
        sockopt::set_socket_timeout(&socket, timeout, None).map_err(reach)?;
        match answer {
            Received::Message(Message::Welcome { .. }, Attached { fds, .. }) if !fds.is_empty() => {
                Ok((Control::new(socket), fds))
            }
            Received::Message(Message::Refused { by }, _) => {
                Err(Error::Taken { rank: ticket.rank, by: (by != 0).then_some(by) })
            }
            Received::Nothing => Err(reach(Errno::TIMEDOUT)),
            _ => Err(reach(Errno::PROTO)),
        }
    }

    /// A line to a launcher that this process has started itself.
    pub(crate) fn to(socket: OwnedFd) -> Control {
        Control::new(socket)
    }

    /// Sends a request and waits for its answer: value and text.
    ///
    /// Errors: the launcher cannot be reached.
    pub fn ask(&self, message: &Message, fds: &[BorrowedFd<'_>]) -> rustix::io::Result<(i32, String)> {
        let (value, text, _) = self.request(message, fds)?;
        Ok((value, text))
    }

    /// The same, with what is attached to the answer.
    fn request(&self, message: &Message, fds: &[BorrowedFd<'_>]) -> rustix::io::Result<(i32, String, Vec<OwnedFd>)> {
        match fds {
            [] => send(&self.socket, message)?,
            _ => send_with(&self.socket, message, fds)?,
        }
        loop {
            match receive(&self.socket, true)? {
                Received::Message(Message::Answer { value, text }, Attached { fds, .. }) => {
                    return Ok((value, text, fds));
                }
                Received::Closed => return Err(Errno::CONNRESET),
                Received::Message(Message::Lost(lost), _) => self.lost.borrow_mut().extend(lost),
                // Only where a time limit is set.
                Received::Nothing => return Err(Errno::TIMEDOUT),
                _ => {}
            }
        }
    }

    /// Tells the address of this process and waits for those of all, by rank.
    pub(crate) fn exchange(&self, address: &[u8]) -> rustix::io::Result<Vec<Vec<u8>>> {
        let parcel = crate::parcel::pack(address)?;
        let (_, _, fds) = self.request(&Message::Address, &[parcel.as_fd()])?;
        let table = fds.into_iter().next().ok_or(Errno::PROTO)?;
        addresses::decode(&crate::parcel::unpack(table)?).ok_or(Errno::PROTO)
    }

    /// Asks for further processes, which share `memory` with those that asked for them, or find those at a port. The answer is as in the
    /// table above.
    ///
    /// Errors: no memory, or the launcher cannot be reached.
    pub fn spawn(&self, orders: &crate::Orders, memory: Option<BorrowedFd<'_>>) -> rustix::io::Result<(i32, String)> {
        let count = orders.commands.iter().map(|order| order.count).sum();
        let orders = crate::parcel::pack(&orders.encode())?;
        let fds: Vec<BorrowedFd<'_>> = [Some(orders.as_fd()), memory].into_iter().flatten().collect();
        self.ask(&Message::Spawn { count }, &fds)
    }

    /// Says that MPI is initialised. Sent by [`crate::init`]; again if a process initialises MPI
    /// anew after it finalized, as sessions may (MPI 5.0, section 11.3).
    ///
    /// Like the two below it cannot fail in a way that matters: with the launcher gone, this
    /// process is about to be killed.
    pub fn hello(&self) {
        let _ = send(&self.socket, &Message::Hello);
    }

    /// Says that MPI was finalized: this process may exit with any code now.
    pub fn finalized(&self) {
        let _ = send(&self.socket, &Message::Finalized);
    }

    /// Says that this process can be asked what it waits for, and shows at `activity` what it does.
    pub fn observed(&self, activity: &'static crate::report::Activity) {
        let address = std::ptr::from_ref(activity) as u64;
        let _ = send(&self.socket, &Message::Observed { address });
    }

    /// Tells what this process waits for.
    pub fn stalled(&self, report: &crate::report::Report) {
        let _ = send(&self.socket, &Message::Stalled { text: report.encode(MAX_MESSAGE - 8) });
    }

    /// Whether the launcher has just asked what this process waits for. Other messages stay where
    /// they are.
    pub fn is_asked(&self) -> bool {
        self.has_next(ASK) && matches!(receive(&self.socket, false), Ok(Received::Message(Message::Ask, _)))
    }

    /// Whether the next message is of that kind. It stays where it is.
    fn has_next(&self, kind: u32) -> bool {
        let mut next = [0u8; 4];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        matches!(rustix::net::recv(&self.socket, &mut next, flags), Ok((4, _))) && u32::from_le_bytes(next) == kind
    }

    /// The ranks, of this process's world and of others, that the launcher has said are lost since this was last asked. Other messages stay
    /// where they are.
    pub fn lost(&self) -> Vec<Lost> {
        let mut lost = self.lost.take();
        while self.has_next(LOST)
            && let Ok(Received::Message(Message::Lost(more), _)) = receive(&self.socket, false)
        {
            lost.extend(more);
        }
        lost
    }

    /// As [`Control::abort`], to the keeper of this node. Waits until the user has been told, but not for long: the
    /// launcher, who is told next, may end all of it in the midst of a line.
    pub fn abort_kept(&self, code: i32, text: &str) {
        let _ = sockopt::set_socket_timeout(&self.socket, sockopt::Timeout::Recv, Some(TOLD));
        let _ = self.ask(&Message::Abort { code, text: text.to_owned() }, &[]);
    }

    /// Asks the launcher to end the job with this exit code (MPI_Abort). The launcher prints the
    /// rank, a colon and the text; if that is empty, that MPI_Abort was called. The caller should
    /// exit right after.
    pub fn abort(&self, code: i32, text: &str) {
        let _ = send(&self.socket, &Message::Abort { code, text: text.to_owned() });
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
