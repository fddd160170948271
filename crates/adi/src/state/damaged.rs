//! Composer: packets that cannot be right. Their bytes come from another process, by a network from another machine: a number in one is
//! looked at before anything is found by it. A damaged packet is reported, and nothing else happens by it.

use super::State;
use crate::packet::Packet;
use crate::{Damaged, Proc};
use tern_mcm::{Header, Memory};

/// No memory is longer, in bytes.
const LONGEST: u64 = isize::MAX as u64;

impl State {
    /// Reports a packet of process `from`, with `len` bytes of payload; `why`: what is wrong with it.
    #[cold]
    pub(super) fn report_damaged(&self, from: Proc, header: &Header, len: usize, why: &'static str) {
        (self.on_damage)(&Damaged { from, what: None, kind: Packet::kind(header), len, why });
    }

    /// Reports a packet if something is wrong with it.
    #[inline]
    pub(super) fn refuses(&self, from: Proc, header: &Header, packet: &Packet, payload: &[u8]) -> bool {
        let flaw = self.flaw(from, packet, payload);
        if let Some(why) = flaw {
            self.report_damaged(from, header, payload.len(), why);
        }
        flaw.is_some()
    }

    /// What is wrong with a packet, but for the two that begin and continue an eager message: those are looked at when they are taken.
    fn flaw(&self, from: Proc, packet: &Packet, payload: &[u8]) -> Option<&'static str> {
        const NO_SEND: &str = "it names no send to its sender that is under way";
        const NO_RECEIVE: &str = "it names no receive that waits for so many bytes from its sender";
        let sends = |request: u32, bytes: u64| (!self.requests.is_sending(from, request, bytes)).then_some(NO_SEND);
        match *packet {
            Packet::Rts { size, .. } if size > LONGEST => Some("no message is that long"),
            Packet::Rts { size, .. } => flaw_of_memory(payload, |memory| memory.len == size),
            Packet::Cts { sender, bytes, .. } => sends(sender, bytes),
            Packet::Rtr { sender, bytes, .. } => {
                sends(sender, bytes).or_else(|| flaw_of_memory(payload, |memory| memory.len >= bytes))
            }
            Packet::Join { sender, .. }
            | Packet::Ats { sender }
            | Packet::AtsKept { sender }
            | Packet::AtsUnconfirmed { sender }
            | Packet::Ack { sender }
            | Packet::Cancelled { sender, success: true } => sends(sender, 0),
            Packet::Data { receiver, .. } => {
                let waits = self.requests.is_published_for(from, receiver)
                    || self.requests.receiving(from, receiver, payload.len()).is_some();
                (!waits).then_some(NO_RECEIVE)
            }
            Packet::Fin { receiver } => self.requests.receiving(from, receiver, 1).is_none().then_some(NO_RECEIVE),
            Packet::Eager { .. }
            | Packet::More
            | Packet::RtsConfirm { .. }
            | Packet::Cancel { .. }
            | Packet::Cancelled { success: false, .. }
            | Packet::Missing { .. }
            | Packet::Full
            | Packet::Room => None,
        }
    }

    /// What is wrong with the first packet of an eager message of `size` bytes that has `len` of them.
    pub(super) fn flaw_of_eager(size: u64, len: usize) -> Option<&'static str> {
        match size {
            LONGEST.. => Some("no message is that long"),
            _ if len as u64 > size => Some("it has more bytes than its message"),
            _ => None,
        }
    }
}

/// What is wrong with the words of memory in a payload. A device may have taken fewer of them: then they say nothing.
fn flaw_of_memory(payload: &[u8], fits: impl Fn(&Memory) -> bool) -> Option<&'static str> {
    const WRONG: Option<&str> = Some("no memory lies like that");
    match payload.len() {
        0..Memory::WORDS => None,
        Memory::WORDS => match Memory::decode(payload) {
            Some(memory) if fits(&memory) => None,
            _ => WRONG,
        },
        _ => WRONG,
    }
}
