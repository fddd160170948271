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

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt,
};

use crate::{Error, Ticket, addresses};

/// Longest message in bytes; longer texts are cut.
pub const MAX_MESSAGE: usize = 4096;

/// The kind of [`Message::Ask`].
const ASK: u32 = 7;

/// How long a process waits for the launcher's answer to join.
const ANSWER: Duration = Duration::from_secs(30);

/// One message; see the table above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The rank is yours.
    Welcome {
        /// The rank.
        rank: u32,
    },
    /// The rank is not yours.
    Refused {
        /// The process that has it, or 0.
        by: u32,
    },
    /// Asks for a rank.
    Join {
        /// The rank.
        rank: u32,
        /// The job's random number: who knows it belongs to the job.
        job_id: u64,
    },
    /// MPI is initialised.
    Hello,
    /// MPI was finalized.
    Finalized,
    /// What became of a request.
    Answer {
        /// See the table.
        value: i32,
        /// What was asked for, or why not.
        text: String,
    },
    /// Asks for further processes.
    Spawn {
        /// How many.
        count: u32,
    },
    /// Makes a port known under the name of a service.
    Publish {
        /// The service.
        service: String,
        /// The port.
        port: String,
    },
    /// Ends that.
    Unpublish {
        /// The service.
        service: String,
        /// The port.
        port: String,
    },
    /// Asks for the port of a service of this job.
    Lookup {
        /// The service.
        service: String,
    },
    /// Where the other processes of the world find this one.
    Address,
    /// The job is to end.
    Abort {
        /// Exit code for the job.
        code: i32,
        /// Why, for the user; may be empty.
        text: String,
    },
    /// Asks a rank to report what it waits for.
    Ask,
    /// The rank can be asked, and shows what it does.
    Observed {
        /// Where, in its memory.
        address: u64,
    },
    /// What a rank waits for.
    Stalled {
        /// A report, encoded.
        text: String,
    },
}

impl Message {
    /// The bytes of the message.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, value, text) = match self {
            Message::Welcome { rank } => (1u32, *rank as i32, String::new()),
            Message::Refused { by } => (2, *by as i32, String::new()),
            Message::Join { rank, job_id } => (3, *rank as i32, format!("{job_id:x}")),
            Message::Hello => (4, 0, String::new()),
            Message::Finalized => (5, 0, String::new()),
            Message::Abort { code, text } => (6, *code, text.clone()),
            Message::Ask => (ASK, 0, String::new()),
            Message::Observed { address } => (8, 0, format!("{address:x}")),
            Message::Stalled { text } => (9, 0, text.clone()),
            Message::Answer { value, text } => (16, *value, text.clone()),
            Message::Spawn { count } => (17, *count as i32, String::new()),
            Message::Publish { service, port } => (18, 0, format!("{port}\n{service}")),
            Message::Lookup { service } => (20, 0, service.clone()),
            Message::Unpublish { service, port } => (19, 0, format!("{port}\n{service}")),
            Message::Address => (21, 0, String::new()),
        };
        let mut bytes = Vec::with_capacity(8 + text.len());
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&value.to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes.truncate(MAX_MESSAGE);
        bytes
    }

    /// The message of these bytes; `None` if there is no such message.
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let kind = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        let value = i32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?);
        let text = String::from_utf8_lossy(&bytes[8..]);
        let split = || {
            let (port, service) = text.split_once('\n')?;
            Some((service.to_owned(), port.to_owned()))
        };
        Some(match kind {
            1 => Message::Welcome { rank: value as u32 },
            2 => Message::Refused { by: value as u32 },
            3 => Message::Join {
                rank: value as u32,
                job_id: u64::from_str_radix(&text, 16).ok()?,
            },
            4 => Message::Hello,
            5 => Message::Finalized,
            6 => Message::Abort {
                code: value,
                text: text.into_owned(),
            },
            ASK => Message::Ask,
            8 => Message::Observed { address: u64::from_str_radix(&text, 16).ok()? },
            9 => Message::Stalled { text: text.into_owned() },
            16 => Message::Answer {
                value,
                text: text.into_owned(),
            },
            17 => Message::Spawn {
                count: value as u32,
            },
            18 => {
                let (service, port) = split()?;
                Message::Publish { service, port }
            }
            19 => {
                let (service, port) = split()?;
                Message::Unpublish { service, port }
            }
            20 => Message::Lookup {
                service: text.into_owned(),
            },
            21 => Message::Address,
            _ => return None,
        })
    }
}

/// Sends a message. Never blocks for long: the other side's queue has room for many.
pub fn send(socket: impl AsFd, message: &Message) -> rustix::io::Result<()> {
    rustix::io::retry_on_intr(|| {
        rustix::net::send(socket.as_fd(), &message.encode(), SendFlags::NOSIGNAL).map(|_| ())
    })
}

/// Sends a message with one or two descriptors attached.
pub fn send_with(
    socket: impl AsFd,
    message: &Message,
    fds: &[BorrowedFd<'_>],
) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(fds));
    let bytes = message.encode();
    rustix::net::sendmsg(
        socket,
        &[IoSlice::new(&bytes)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// What comes with a message.
#[derive(Debug, Default)]
pub struct Attached {
    /// The descriptors that the sender attached.
    pub fds: Vec<OwnedFd>,
    /// The process that sent it, as the receiver would number it, if the receiver called
    /// [`ask_for_sender`] before. It may be in a container, and not know this number itself.
    pub pid: Option<u32>,
}

/// Asks the kernel to say with each message that comes to this socket which process sent it.
pub fn ask_for_sender(socket: impl AsFd) -> rustix::io::Result<()> {
    sockopt::set_socket_passcred(socket, true)
}

/// What [`receive`] found.
#[derive(Debug)]
pub enum Received {
    /// A message, with what the kernel attached to it.
    Message(Message, Attached),
    /// A message that this version does not know.
    Unknown,
    /// Nothing for now.
    Nothing,
    /// The other side has closed.
    Closed,
}

/// Receives a message; `wait` says whether to wait for one.
pub fn receive(socket: impl AsFd, wait: bool) -> rustix::io::Result<Received> {
    let mut bytes = [0u8; MAX_MESSAGE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2), ScmCredentials(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC
        | if wait {
            RecvFlags::empty()
        } else {
            RecvFlags::DONTWAIT
        };
    let length = loop {
        let buffers = &mut [IoSliceMut::new(&mut bytes)];
        match rustix::net::recvmsg(socket.as_fd(), buffers, &mut ancillary, flags) {
            Ok(got) => break got.bytes,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(Received::Nothing),
            Err(Errno::CONNRESET) => return Ok(Received::Closed),
            Err(errno) => return Err(errno),
        }
    };
    if length == 0 {
        return Ok(Received::Closed);
    }
    let mut attached = Attached::default();
    for message in ancillary.drain() {
        match message {
            RecvAncillaryMessage::ScmRights(fds) => attached.fds.extend(fds),
            RecvAncillaryMessage::ScmCredentials(sender) => {
                attached.pid = Some(sender.pid.as_raw_pid() as u32);
            }
            _ => {}
        }
    }
    Ok(match Message::decode(&bytes[..length]) {
        Some(message) => Received::Message(message, attached),
        None => Received::Unknown,
    })
}

/// The abstract address where the launcher of a job listens.
pub fn address(job_id: u64) -> SocketAddrUnix {
    let name = format!("tern-{job_id:016x}");
    SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("the name is short")
}

/// A process's end of the socket to its launcher.
#[derive(Debug)]
pub struct Control {
    socket: OwnedFd,
}

impl Control {
    /// Claims the rank over the inherited socket.
    pub(crate) fn claim(socket: OwnedFd, ticket: &Ticket) -> Result<Control, Error> {
        let reach = |errno| Error::Launcher {
            pid: ticket.launcher,
            errno,
        };
        match receive(&socket, false).map_err(reach)? {
            Received::Message(Message::Welcome { rank }, _) if rank == ticket.rank => {
                Ok(Control { socket })
            }
            Received::Nothing => Err(Error::Taken {
                rank: ticket.rank,
                by: None,
            }),
            Received::Closed => Err(reach(Errno::CONNRESET)),
            _ => Err(reach(Errno::PROTO)),
        }
    }

    /// Claims the rank over a new connection; gives the job's memfd too, and behind it that which
    /// the job shares with its parents.
    pub(crate) fn connect(ticket: &Ticket) -> Result<(Control, Vec<OwnedFd>), Error> {
        let reach = |errno| Error::Launcher {
            pid: ticket.launcher,
            errno,
        };
        let flags = SocketFlags::CLOEXEC;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
                .map_err(reach)?;
        rustix::net::connect(&socket, &address(ticket.job_id)).map_err(reach)?;
        let timeout = sockopt::Timeout::Recv;
        sockopt::set_socket_timeout(&socket, timeout, Some(ANSWER)).map_err(reach)?;
        let join = Message::Join {
            rank: ticket.rank,
            job_id: ticket.job_id,
        };
        send(&socket, &join).map_err(reach)?;
        let answer = receive(&socket, true).map_err(reach)?;
        sockopt::set_socket_timeout(&socket, timeout, None).map_err(reach)?;
        match answer {
            Received::Message(Message::Welcome { .. }, Attached { fds, .. }) if !fds.is_empty() => {
                Ok((Control { socket }, fds))
            }
            Received::Message(Message::Refused { by }, _) => Err(Error::Taken {
                rank: ticket.rank,
                by: (by != 0).then_some(by),
            }),
            Received::Nothing => Err(reach(Errno::TIMEDOUT)),
            _ => Err(reach(Errno::PROTO)),
        }
    }

    /// A line to a launcher that this process has started itself.
    pub(crate) fn to(socket: OwnedFd) -> Control {
        Control { socket }
    }

    /// Sends a request and waits for its answer: value and text.
    ///
    /// Errors: the launcher cannot be reached.
    pub fn ask(
        &self,
        message: &Message,
        fds: &[BorrowedFd<'_>],
    ) -> rustix::io::Result<(i32, String)> {
        let (value, text, _) = self.request(message, fds)?;
        Ok((value, text))
    }

    /// The same, with what is attached to the answer.
    fn request(
        &self,
        message: &Message,
        fds: &[BorrowedFd<'_>],
    ) -> rustix::io::Result<(i32, String, Vec<OwnedFd>)> {
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

    /// Asks for further processes, which share `memory` with those that asked for them. The answer is as in the
    /// table above.
    ///
    /// Errors: no memory, or the launcher cannot be reached.
    pub fn spawn(
        &self,
        orders: &crate::Orders,
        memory: BorrowedFd<'_>,
    ) -> rustix::io::Result<(i32, String)> {
        let count = orders.commands.iter().map(|order| order.count).sum();
        let orders = crate::parcel::pack(&orders.encode())?;
        self.ask(&Message::Spawn { count }, &[orders.as_fd(), memory])
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
        let mut kind = [0u8; 4];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let asked = matches!(rustix::net::recv(&self.socket, &mut kind, flags), Ok((4, _)))
            && u32::from_le_bytes(kind) == ASK;
        asked && matches!(receive(&self.socket, false), Ok(Received::Message(Message::Ask, _)))
    }

    /// Asks the launcher to end the job with this exit code (MPI_Abort). The launcher prints the
    /// rank, a colon and the text; if that is empty, that MPI_Abort was called. The caller should
    /// exit right after.
    pub fn abort(&self, code: i32, text: &str) {
        let _ = send(
            &self.socket,
            &Message::Abort {
                code,
                text: text.to_owned(),
            },
        );
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_wire() {
        for message in [
            Message::Welcome { rank: 7 },
            Message::Refused { by: 1234 },
            Message::Join {
                rank: 3,
                job_id: u64::MAX,
            },
            Message::Hello,
            Message::Finalized,
            Message::Answer {
                value: -1,
                text: "no such name".into(),
            },
            Message::Spawn { count: 3 },
            Message::Publish {
                service: "a\nb".into(),
                port: "tern:1".into(),
            },
            Message::Lookup {
                service: "a b".into(),
            },
            Message::Unpublish {
                service: "".into(),
                port: "".into(),
            },
            Message::Abort {
                code: -5,
                text: "über".into(),
            },
            Message::Ask,
            Message::Address,
            Message::Observed { address: u64::MAX },
            Message::Stalled { text: "in 5 MPI_Recv -".into() },
        ] {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
    }

    #[test]
    fn broken_bytes_are_no_message() {
        assert_eq!(Message::decode(&[]), None);
        assert_eq!(Message::decode(&[1, 0, 0, 0, 1]), None);
        assert_eq!(Message::decode(&[0; 8]), None);
        assert_eq!(Message::decode(&[255; 12]), None);
        let long = Message::Abort {
            code: 1,
            text: "ä".repeat(MAX_MESSAGE),
        };
        assert_eq!(long.encode().len(), MAX_MESSAGE);
        assert!(matches!(
            Message::decode(&long.encode()),
            Some(Message::Abort { code: 1, .. })
        ));
    }
}
