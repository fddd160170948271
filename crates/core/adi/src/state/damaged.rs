//! Composer: packets that cannot be right. Their bytes come from another process, by a network from another machine: a number in one is
//! looked at before anything is found by it. A damaged packet is reported, and nothing else happens by it.

use super::State;
use crate::packet::Packet;
use crate::transfer::{Stage, Transfer};
use crate::{Damaged, Proc};
use tern_mcm::{Header, Memory};

/// No memory is longer, in bytes.
const LONGEST: u64 = isize::MAX as u64;

/// The stages of a transfer in which a packet may name it.
fn stages(packet: &Packet) -> &'static [Stage] {
    use Stage::*;
    match packet {
        Packet::Cts { .. } => &[Asked, AskedUnconfirmed, Misplaced],
        Packet::Rtr { .. } | Packet::Join { .. } | Packet::Ats { .. } => &[Asked, AskedUnconfirmed],
        Packet::AtsKept { .. } => &[Asked],
        Packet::AtsUnconfirmed { .. } => &[AskedUnconfirmed],
        Packet::Ack { .. } => &[Matching],
        Packet::Cancelled { .. } => &[Matching, Asked, AskedUnconfirmed],
        Packet::Data { .. } => &[Cleared, Invited],
        Packet::Fin { .. } => &[Invited],
        // The receive is known, and not by a number in the packet.
        Packet::More => &[Eager],
        // They name no transfer of who gets them, or only by the sender's number.
        Packet::Eager { .. }
        | Packet::Rts { .. }
        | Packet::RtsConfirm { .. }
        | Packet::Cancel { .. }
        | Packet::Missing { .. }
        | Packet::Full
        | Packet::Room
        | Packet::Notice { .. } => &[],
    }
}

impl State {
    /// Reports a packet of process `from`, with `len` bytes of payload; `why`: what is wrong with it.
    #[cold]
    pub(super) fn report_damaged(&self, from: Proc, header: &Header, len: usize, why: &'static str) {
        (self.on_damage)(&Damaged { from, what: None, kind: Packet::kind(header), len, why });
    }

    /// Reports a packet if something is wrong with it.
    #[inline]
    pub(super) fn refuses(&self, from: Proc, header: &Header, packet: &Packet, payload: &[u8]) -> bool {
        // Another process may have told of the loss before the last packets are here. What they answer is over, and what they ask has no end.
        if self.loss.has(from) {
            return true;
        }
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
        const NOT_NOW: &str = "what it says of a send cannot be said now";
        let sends = |request: u32, bytes: u64| {
            let Some(send) = self.requests.sending(from, request, bytes) else { return Some(NO_SEND) };
            let unasked = matches!(packet, Packet::Cancelled { .. }) && !send.asked_back;
            (unasked || !stages(packet).contains(&send.stage)).then_some(NOT_NOW)
        };
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
                    || self.receiving(from, receiver, payload.len(), packet).is_some();
                (!waits).then_some(NO_RECEIVE)
            }
            Packet::Fin { receiver } => {
                let waits = self.receiving(from, receiver, 1, packet).is_some_and(|(_, received)| received == 0);
                (!waits).then_some(NO_RECEIVE)
            }
            Packet::Notice { size } => self.notices.flaw(from, size, payload.len()),
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

    /// [`crate::parts::Requests::receiving`], in a stage in which `packet` may come.
    #[inline]
    pub(super) fn receiving(
        &self, from: Proc, request: u32, len: usize, packet: &Packet,
    ) -> Option<(&Transfer, usize)> {
        let found = self.requests.receiving(from, request, len);
        found.filter(|(receive, _)| stages(packet).contains(&receive.stage))
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
