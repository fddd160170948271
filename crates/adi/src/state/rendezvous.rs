//! Long messages: a request to send goes first, and then the bytes by one of three ways.
//!
//! | way | who moves the bytes | packets beside them |
//! |---|---|---|
//! | RGET | the receiver, from where the request says that they lie | `Rts`, `Cts` for no bytes at the end |
//! | RPUT | the sender, to where the receiver says that they belong | `Rts`, `Put`, `Fin` |
//! | packets | both copy | `Rts`, `Cts`, `Data`... |
//!
//! Each falls back to the next. Inside a node the first is a copy by the receiver, or by both if the sender waits in
//! the library (`Rts`, `Join`, and no packet at the end), and there is no second.

use super::outbox::{Bulk, Outgoing};
use super::{Body, NONE, Side, State, arrive::Arrival};
use crate::packet::{Packet, Synchronous, Terms};
use crate::{Data, Proc, Rendezvous, Tuple};
use tern_counters as counters;
use tern_mcm::{Memory, News, Pull};
use tern_policy::Way;

/// The end of a message that its receiver is to be told of.
#[derive(Clone, Copy, Debug)]
pub struct Fin {
    pub to: Proc,
    pub receiver: u32,
}

/// A message that a receive is fetching.
#[derive(Clone, Copy, Debug)]
pub struct Fetch {
    pub receiver: u32,
    pub from: Proc,
    /// The sender's request.
    pub sender: u32,
}

impl State {
    // ---- memory that the peer can reach

    /// Where the data of transfer `request` lies, for `peer`. What has a key stays reachable until the transfer
    /// is over.
    pub(super) fn locate(&mut self, request: u32, peer: Proc, quiet: bool) -> Memory {
        if let Some(memory) = self.located.get(&request) {
            return *memory;
        }
        let memory = self.direct().locate(peer, self.transfers.get(request).data.memory(), quiet);
        self.keep_located(request, &memory);
        memory
    }

    pub(super) fn keep_located(&mut self, request: u32, memory: &Memory) {
        if memory.key != 0 {
            self.located.insert(request, *memory);
        }
    }

    /// The transfer is over: nobody reaches for its memory any more.
    #[cold]
    pub(super) fn unlocate(&mut self, request: u32) {
        if let Some(memory) = self.located.remove(&request) {
            self.direct().release(&memory);
        }
    }

    // ---- the sender

    /// Asks the receiver to take a message on these terms, which may lie in `memory` that was located for it.
    pub(super) fn request_send(&mut self, to: Proc, tuple: Tuple, data: Data, memory: Memory, terms: Terms) -> u32 {
        let size = data.len() as u64;
        counters::SENT_RENDEZVOUS.add(1);
        counters::SENT_RENDEZVOUS_BYTES.add(size);
        let request = self.new_send(to, tuple, data);
        self.keep_located(request, &memory);
        let sender = Synchronous { request, mark: self.mark };
        let header = Packet::Rts { tuple, size, sender, terms }.encode();
        self.send_or_queue(to, Outgoing::Located(header, memory));
        if !self.is_idle(to) {
            self.flush(to);
        }
        self.mcm.await_news(to, News::Packet);
        if !terms.sure {
            self.make_sure(to, request, memory.place);
        }
        request
    }

    /// The receiver wants `bytes` bytes in packets; with none, it has the message.
    pub(super) fn clear(&mut self, from: Proc, request: u32, receiver: u32, bytes: u64) {
        let mistaken = self.end_misplaced(request);
        if bytes == 0 {
            self.end_trust(from, request, receiver == NONE);
            if !mistaken || receiver != NONE {
                self.advance_send(request, true, true);
            }
            // Else it has copied from the wrong place, and will ask for packets when it hears of that.
            return;
        }
        self.bulk(from, Bulk { request, receiver, sent: 0, end: bytes as usize });
    }

    /// The receiver wants `bytes` bytes at the place that `words` tell, or else in packets.
    pub(super) fn put(&mut self, from: Proc, request: u32, receiver: u32, bytes: u64, words: &[u8]) {
        let pushed = match (self.located.get(&request), Memory::decode(words)) {
            (Some(source), Some(target)) => self.direct().push(from, source, &target, request),
            // The words did not travel whole.
            _ => Pull::No,
        };
        if pushed == Pull::No {
            return self.clear(from, request, receiver, bytes);
        }
        if pushed == Pull::Unordered {
            self.fins.insert(request, Fin { to: from, receiver });
            return;
        }
        self.control(from, Packet::Fin { receiver });
        if pushed == Pull::Done {
            self.advance_send(request, true, true);
        }
    }

    /// The receiver copies the message, and this side may help.
    pub(super) fn join(&mut self, from: Proc, request: u32, number: u64) {
        // Both have the kernel copy from the address: the place does not matter any more.
        self.end_misplaced(request);
        let source = self.transfers.get(request).data.memory();
        if self.direct().join(from, &source, number, request) == Pull::Done {
            self.advance_send(request, true, true);
        }
    }

    /// The data of a send is where it belongs. Who was not told by what came behind the data is told now.
    pub(super) fn end_push(&mut self, request: u32) {
        if !self.fins.is_empty()
            && let Some(Fin { to, receiver }) = self.fins.remove(&request)
        {
            self.control(to, Packet::Fin { receiver });
        }
        self.advance_send(request, true, true);
    }

    // ---- the receiver

    pub(super) fn request_to_send(
        &mut self, from: Proc, tuple: Tuple, size: u64, sender: Synchronous, words: &[u8], terms: Terms,
    ) {
        let source = Memory::decode(words).unwrap_or(Memory::opaque(size as usize));
        let seen = source.place != 0;
        if terms.alone || seen || source.is_opaque() {
            self.note_way(from, size, if terms.alone || seen { Way::Once } else { Way::Packets });
        }
        if let Some(request) = self.match_arrival(from, &tuple) {
            return self.clear_to_send(request, from, &tuple, size, sender, &source, terms.alone);
        }
        let bytes = if terms.kept { self.read(from, &source) } else { None };
        let Some(bytes) = bytes else {
            self.keep(Arrival { tuple, from, size, body: Body::Waiting { sender, source: Box::new(source) } });
            return;
        };
        self.keep(Arrival { tuple, from, size, body: Body::whole(bytes) });
        self.control(from, Packet::Cts { sender: sender.request, receiver: NONE, bytes: 0 });
    }

    /// The bytes of a message that waits in memory which this process sees as well, or out of which the kernel copies.
    fn read(&self, from: Proc, source: &Memory) -> Option<Vec<u8>> {
        let direct = self.mcm.direct()?;
        if source.is_opaque() {
            // The words did not travel whole.
            return None;
        }
        if source.place == 0 {
            let bytes = vec![0; source.len as usize];
            return direct.fetch(from, source, &Memory::dense(bytes.as_ptr(), bytes.len())).then_some(bytes);
        }
        let view = direct.view(source)?;
        // SAFETY: dense memory of the sender's, which it leaves alone until it is told; the view is good until the next one.
        Some(unsafe { std::slice::from_raw_parts(view, source.len as usize) }.to_vec())
    }

    /// Fetches the bytes that the receive has room for, or asks the sender for them. `alone`: see [`Terms`].
    #[expect(clippy::too_many_arguments, reason = "all of a request to send, and the receive that it is for")]
    pub(super) fn clear_to_send(
        &mut self, request: u32, from: Proc, tuple: &Tuple, size: u64, sender: Synchronous, source: &Memory,
        alone: bool,
    ) {
        let room = self.transfers.get(request).data.len() as u64;
        let mut bytes = size.min(room);
        self.begin(request, from, tuple, size);
        self.note_mark(request, sender.mark);
        if size == 0 {
            // It was asked for since much is kept here, and is complete.
            return self.control(from, Packet::Cts { sender: sender.request, receiver: request, bytes: 0 });
        }
        if let Side::Receive { expected, .. } = &mut self.transfers.get_mut(request).side {
            *expected = bytes as usize;
        }
        let sender = sender.request;
        let source = &self.source_of(from, sender, source);
        let pull = match bytes {
            0 => Pull::No,
            _ if alone && self.fetch(request, from, source) => Pull::Done,
            _ => self.pull(request, from, source),
        };
        let unsure = self.awaits_word(from, sender, request, bytes, pull);
        match pull {
            Pull::No if self.invite(request, from, source, sender, bytes) => return,
            Pull::No => {}
            Pull::Done => bytes = 0,
            Pull::Pending | Pull::Unordered => return self.fetches.push(Fetch { receiver: request, from, sender }),
            Pull::Joint(number) => return self.control(from, Packet::Join { sender, number }),
        }
        // Without a byte to send it tells the sender that all is done.
        let receiver = if unsure { NONE } else { request };
        self.control(from, Packet::Cts { sender, receiver, bytes });
        if bytes == 0 && !unsure {
            self.complete(request);
        }
    }

    /// Fetches the message that waits at its sender in `source`, if that is possible and better than packets.
    fn pull(&mut self, request: u32, from: Proc, source: &Memory) -> Pull {
        self.round.transfer();
        let unwanted = source.key != 0 && !matches!(self.rendezvous, Rendezvous::Auto | Rendezvous::Rget);
        if unwanted || source.is_opaque() || self.mcm.direct().is_none() {
            return Pull::No;
        }
        if self.transfers.get(request).data.memory().is_opaque() {
            return Pull::No;
        }
        let alone =
            self.call_exchanges(from, source.len as usize) || self.suits_fetching(from, source.len as usize, false);
        let target = match alone && source.place != 0 {
            true => self.transfers.get(request).data.memory(),
            false => self.locate(request, from, false),
        };
        self.direct().pull(from, source, &target, request)
    }

    /// Has the kernel copy the message that waits at its sender in `source`, if it can.
    fn fetch(&self, request: u32, from: Proc, source: &Memory) -> bool {
        let target = self.transfers.get(request).data.memory();
        !source.is_opaque() && target.is_dense() && self.direct().fetch(from, source, &target)
    }

    /// Request `receiver` has fetched its message; the sender wants to know, unless it was asked to help.
    pub(super) fn end_pull(&mut self, receiver: u32) {
        if let Some(at) = self.fetches.iter().position(|fetch| fetch.receiver == receiver) {
            let Fetch { from, sender, .. } = self.fetches.swap_remove(at);
            self.control(from, Packet::Cts { sender, receiver, bytes: 0 });
        }
        self.complete(receiver);
    }

    /// Asks the sender to put its message where it belongs, if both ends can be reached; false when not.
    fn invite(&mut self, request: u32, from: Proc, source: &Memory, sender: u32, bytes: u64) -> bool {
        let wanted = matches!(self.rendezvous, Rendezvous::Auto | Rendezvous::Rput);
        if !wanted || bytes == 0 || source.key == 0 || source.is_opaque() || self.mcm.direct().is_none() {
            return false;
        }
        let target = self.locate(request, from, false);
        if target.key == 0 || target.is_opaque() {
            return false;
        }
        let header = Packet::Put { sender, receiver: request, bytes }.encode();
        self.queue(from, Outgoing::Located(header, target));
        self.flush(from);
        true
    }
}
