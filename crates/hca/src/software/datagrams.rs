//! Datagrams of the software HCA: UDP.

use super::address::Address;
use super::completion::{Channel, CompletionChannel};
use super::hca::Shared;
use crate::{DATAGRAM, Error, Result};
use rustix::net::{RecvFlags, SendFlags, recv, sendto};
use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tern_threads::{Mutex, RwLock};

/// In front of each datagram: the HCA's token and the box's number.
const LABEL: usize = 12;
/// What a box holds; the rest is lost.
const WAITING: usize = 16 << 10;

struct Inbox {
    waiting: Mutex<VecDeque<Vec<u8>>>,
    channel: Option<Arc<Channel>>,
}

/// The boxes of an HCA.
pub struct Boxes {
    pub socket: OwnedFd,
    boxes: RwLock<HashMap<u32, Arc<Inbox>>>,
}

impl Boxes {
    pub fn new(socket: OwnedFd) -> Boxes {
        Boxes { socket, boxes: RwLock::default() }
    }

    /// Puts what has come into its boxes.
    pub fn sort(&self, hca: &Shared) {
        let mut bytes = [0; LABEL + DATAGRAM];
        while let Ok((len, _)) = recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
            let Some((label, content)) = bytes[..len].split_at_checked(LABEL) else {
                continue;
            };
            let token = u64::from_le_bytes(label[..8].try_into().expect("eight bytes"));
            let number = u32::from_le_bytes(label[8..].try_into().expect("four bytes"));
            if token == hca.token
                && let Some(inbox) = self.boxes.read().get(&number)
            {
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
    address: [u8; super::address::LEN],
    inbox: Arc<Inbox>,
    hca: Arc<Shared>,
}

impl Datagrams {
    pub fn new(hca: &Arc<Shared>, channel: Option<&CompletionChannel>) -> Datagrams {
        let number = hca.engine().number();
        let inbox = Arc::new(Inbox { waiting: Mutex::default(), channel: channel.map(|channel| channel.0.clone()) });
        hca.boxes.boxes.write().insert(number, inbox.clone());
        let address = hca.address(hca.datagram_port, number).encode();
        Datagrams { number, address, inbox, hca: hca.clone() }
    }

    pub fn address(&self) -> &[u8] {
        &self.address
    }

    pub fn send(&self, to: &[u8], bytes: &[u8]) -> Result<()> {
        self.hca.alive()?;
        if bytes.len() > DATAGRAM {
            return Err(Error::Invalid(format!("a datagram of {} bytes; at most {DATAGRAM}", bytes.len())));
        }
        let to = Address::decode(to)?;
        let mut packet = Vec::with_capacity(LABEL + bytes.len());
        packet.extend_from_slice(&to.token.to_le_bytes());
        packet.extend_from_slice(&to.number.to_le_bytes());
        packet.extend_from_slice(bytes);
        match sendto(&self.hca.boxes.socket, &packet, SendFlags::DONTWAIT, &to.socket) {
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
            self.hca.boxes.boxes.write().remove(&self.number);
        }
    }
}
