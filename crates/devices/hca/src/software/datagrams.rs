//! Datagrams of the software HCA: UDP. There is a port from the first box on.
//!
//! Each datagram says from which HCA it is, and has a pass: a keyed hash of that by the secret of the HCA that it goes to. So the
//! secret does not cross the wire, and what is seen of one sender is of no use to another.

use super::completion::{Channel, CompletionChannel};
use super::engine::Tag;
use super::shared::{Shared, bound};
use crate::{DATAGRAM, Error, Result};
use rustix::net::{RecvFlags, SendFlags, SocketType, recv, sendto, sockopt};
use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use tern_counters as counters;
use tern_proof::{Token, derive};
use tern_threads::{Mutex, RwLock};

/// In front of each datagram: the sender's name, its pass, and the box's number.
const LABEL: usize = 20;
/// What a box holds; the rest is lost.
const WAITING: usize = 16 << 10;

struct Inbox {
    waiting: Mutex<VecDeque<Vec<u8>>>,
    channel: Option<Arc<Channel>>,
}

/// What lets datagrams of the HCA with that name in at the one with that secret.
fn pass(to: &Token, from: u64) -> [u8; 8] {
    let told = derive(to, b"datagrams to a software HCA", &from.to_le_bytes());
    told[..8].try_into().expect("eight bytes")
}

/// The number of the box that a datagram is for, if its sender knows the secret of this HCA; and its content.
fn read<'a>(own: &Token, bytes: &'a [u8]) -> Option<(u32, &'a [u8])> {
    let (label, content) = bytes.split_at_checked(LABEL)?;
    let from = u64::from_le_bytes(label[..8].try_into().expect("eight bytes"));
    let known = label[8..16] == pass(own, from);
    known.then(|| (u32::from_le_bytes(label[16..].try_into().expect("four bytes")), content))
}

/// The boxes of an HCA.
#[derive(Default)]
pub struct Boxes {
    /// And the port.
    socket: OnceLock<(OwnedFd, u16)>,
    boxes: RwLock<HashMap<u32, Arc<Inbox>>>,
}

impl Boxes {
    /// The port at which datagrams come, from now on if not before.
    fn open(&self, hca: &Shared) -> Result<u16> {
        // One thread at a time.
        let _boxes = self.boxes.write();
        if let Some((_, port)) = self.socket.get() {
            return Ok(*port);
        }
        let (socket, port) = bound(hca.ip, SocketType::DGRAM)?;
        // Everybody may send at once when a job begins; the kernel gives what it allows.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, 4 << 20);
        hca.engine().watch(&socket, Tag::Datagrams(hca.number()))?;
        let _ = self.socket.set((socket, port));
        Ok(port)
    }

    /// Puts what has come into its boxes.
    pub fn sort(&self, hca: &Shared) {
        let Some((socket, _)) = self.socket.get() else { return };
        let mut bytes = [0; LABEL + DATAGRAM];
        while let Ok((len, _)) = recv(socket, &mut bytes, RecvFlags::DONTWAIT) {
            let Some((number, content)) = read(&hca.token, &bytes[..len]) else {
                counters::NETWORK_STRANGERS.add(1);
                continue;
            };
            if let Some(inbox) = self.boxes.read().get(&number) {
                let mut waiting = inbox.waiting.lock();
                if waiting.len() < WAITING {
                    waiting.push_back(content.to_vec());
                }
                drop(waiting);
                if let Some(channel) = &inbox.channel {
                    channel.notify();
                }
            }
        }
    }
}

pub struct Datagrams {
    number: u32,
    address: Vec<u8>,
    inbox: Arc<Inbox>,
    boxes: Arc<Boxes>,
    hca: Arc<Shared>,
}

impl Datagrams {
    pub fn new(hca: &Arc<Shared>, boxes: &Arc<Boxes>, channel: Option<&CompletionChannel>) -> Result<Datagrams> {
        let port = boxes.open(hca)?;
        let number = hca.engine().number();
        let inbox = Arc::new(Inbox { waiting: Mutex::default(), channel: channel.map(|channel| channel.0.clone()) });
        boxes.boxes.write().insert(number, inbox.clone());
        let address = hca.address(port, number).encode();
        Ok(Datagrams { number, address, inbox, boxes: boxes.clone(), hca: hca.clone() })
    }

    pub fn address(&self) -> &[u8] {
        &self.address
    }

    pub fn send(&self, to: &[u8], bytes: &[u8]) -> Result<()> {
        self.hca.alive()?;
        if bytes.len() > DATAGRAM {
            return Err(Error::Invalid(format!("a datagram of {} bytes; at most {DATAGRAM}", bytes.len())));
        }
        let to = self.hca.read_address(to)?;
        let secret = to.token.ok_or_else(|| to.unknown())?;
        let Some((socket, _)) = self.boxes.socket.get() else { return Ok(()) };
        let mut packet = Vec::with_capacity(LABEL + bytes.len());
        packet.extend_from_slice(&self.hca.name.to_le_bytes());
        packet.extend_from_slice(&pass(&secret, self.hca.name));
        packet.extend_from_slice(&to.number.to_le_bytes());
        packet.extend_from_slice(bytes);
        match sendto(socket, &packet, SendFlags::DONTWAIT, &to.socket) {
            // Lost, as datagrams may be.
            Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::CONNREFUSED | rustix::io::Errno::NOBUFS) => {
                Ok(())
            }
            Err(error) => Err(Error::System(format!("no datagram goes to {}: {error}", to.socket))),
        }
    }

    pub fn receive(&self, into: &mut Vec<u8>) -> Result<bool> {
        self.hca.alive()?;
        let take = || self.inbox.waiting.lock().pop_front();
        let Some(bytes) = take().or_else(|| {
            self.hca.engine().progress();
            take()
        }) else {
            return Ok(false);
        };
        *into = bytes;
        Ok(true)
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        if !self.hca.forked() {
            self.boxes.boxes.write().remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(from: u64, pass: [u8; 8]) -> Vec<u8> {
        [&from.to_le_bytes()[..], &pass, &7u32.to_le_bytes(), b"content"].concat()
    }

    #[test]
    fn who_knows_the_secret_is_heard_and_nobody_else() {
        let own = [1; 32];
        let good = datagram(5, pass(&own, 5));
        assert_eq!(read(&own, &good), Some((7, &b"content"[..])));
        // Of another HCA's secret, or seen with another sender.
        assert_eq!(read(&own, &datagram(5, pass(&[2; 32], 5))), None);
        assert_eq!(read(&own, &datagram(6, pass(&own, 5))), None);
        for (at, bits) in (0..16).flat_map(|at| [1, 128].map(|bits| (at, bits))) {
            let mut changed = good.clone();
            changed[at] ^= bits;
            assert_eq!(read(&own, &changed), None, "byte {at}");
        }
        assert!((0..LABEL).all(|end| read(&own, &good[..end]).is_none()));
        assert!(!good.windows(4).any(|window| window == [1; 4]), "the secret is not in it");
    }
}
