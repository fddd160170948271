//! Composer: long messages. A request to send goes first, and then the bytes by one of several protocols, each in a file of its own.
//!
//! | plan of the policy | who moves the bytes | packets beside `Rts` | file |
//! |---|---|---|---|
//! | `Get` | the receiver, from where the request says that they lie (RGET) | `Ats` | `get` |
//! | `Get`, with help | both, if the sender waits in the library | `Join` | `joint` |
//! | `Kernel` | the kernel for the receiver (CMA) | `Ats` | `kernel` |
//! | `Put` | the sender, to where the receiver says that they belong (RPUT) | `Rtr`, `Fin` | `put` |
//! | `Segments` | the receiver, out of a region of segments of which the request has told the cookie, or out of memory that it sees into irregular blocks | `Ats` | `segments` |
//! | `Packets` | both copy | `Cts`, `Data`... | `packets` |
//!
//! At speculative addresses `Ats` is `AtsUnconfirmed`, and the sender's word `RtsConfirm`. `AtsKept` says that the receiver keeps a copy, since no
//! receive has matched.
//!
//! The receiver tries the plans of [`tern_policy::rendezvous`] in their order, until one is possible.

mod get;
mod joint;
mod kernel;
mod packets;
mod put;
mod segments;

use super::State;
use super::facts::source;
use crate::packet::{Packet, RtsFlags, Synchronous};
use crate::parts::stream::Outgoing;
use crate::parts::unconfirmed::Confirmed;
use crate::parts::unexpected::{Arrival, Body};
use crate::transfer::Stage;
use crate::{Data, Proc, Rendezvous, Tuple};
use tern_counters as counters;
use tern_mcm::{Exposure, Lease, Memory, News, Pull, PullTo, Purpose, Use};
use tern_policy::transfer::ChosenBy;
use tern_policy::{self as policy, RndvFacts, RndvPlan, Way};

/// A message that waits at its sender, as the receiver knows it.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    pub from: Proc,
    pub tuple: Tuple,
    /// In bytes.
    pub size: u64,
    pub sender: Synchronous,
    /// Where it lies.
    pub source: &'a Memory,
    /// See [`RtsFlags`].
    pub cma_get: bool,
}

/// What a receive wants of a message that waits at its sender.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    /// The receive.
    request: u32,
    from: Proc,
    /// The sender's request.
    sender: u32,
    /// Its first bytes, as many as there is room for.
    bytes: u64,
    /// Where they lie.
    source: Memory,
}

/// Whether memory is in few and long blocks, as far as its words tell. A region is, or its sender would not have opened it.
fn is_coarse(memory: &Memory) -> bool {
    memory.is_opaque() || policy::is_coarse(memory.len as usize, memory.len.div_ceil(memory.block))
}

impl State {
    /// Where the data of transfer `request` lies, for `peer`. What has a key stays reachable until the transfer
    /// is over.
    pub(super) fn locate(&mut self, request: u32, peer: Proc, quiet: bool) -> Memory {
        if let Some(memory) = self.rendezvous.located(request) {
            return *memory;
        }
        let own = self.requests.get(request).data.memory();
        let used = Use { purpose: Purpose::Message, bytes: own.len, quiet };
        let memory = self.direct().locate(peer, own, used);
        self.rendezvous.keep_located(request, &memory);
        memory
    }

    /// The transfer is over: nobody reaches for its memory any more.
    #[cold]
    pub(super) fn unlocate(&mut self, request: u32) {
        if let Some(memory) = self.rendezvous.take_located(request) {
            self.direct().release(&memory);
        }
    }

    // ---- the sender

    /// Asks the receiver to take a message, which may lie in `memory` that was located for it.
    pub(super) fn request_send(&mut self, to: Proc, tuple: Tuple, data: Data, memory: Memory, flags: RtsFlags) -> u32 {
        let size = data.len() as u64;
        counters::SENT_RENDEZVOUS.add(1);
        counters::SENT_RENDEZVOUS_BYTES.add(size);
        let request = self.requests.start_send(to, tuple, data);
        self.requests.get_mut(request).stage = if flags.unconfirmed { Stage::AskedUnconfirmed } else { Stage::Asked };
        self.rendezvous.keep_located(request, &memory);
        let exposed = self.mcm.direct().and_then(|direct| direct.expose(&memory, Exposure::InRequest(to)));
        let memory = exposed.unwrap_or(memory);
        let sender = Synchronous { request, mark: self.call.mark };
        let header = Packet::Rts { tuple, size, sender, flags }.encode();
        self.send_or_queue(to, Outgoing::Located(header, memory));
        if !self.stream.is_idle(to) {
            self.flush(to);
        }
        self.mcm.await_news(to, News::Packet);
        if flags.unconfirmed {
            self.confirm(to, request, memory.place);
        }
        request
    }

    /// `Ats`: the receiver has the message of send `request`.
    pub(super) fn ats(&mut self, from: Proc, request: u32) {
        self.unconfirmed.end_misplaced(request);
        self.ready.judge(from, request, false, self.stream.looks());
        self.advance_send(request, true, true);
    }

    /// `AtsKept`: the receiver keeps a copy of it, since no receive has matched.
    pub(super) fn ats_kept(&mut self, from: Proc, request: u32) {
        self.unconfirmed.end_misplaced(request);
        self.ready.judge(from, request, true, self.stream.looks());
        self.advance_send(request, true, true);
    }

    /// `AtsUnconfirmed`: the receiver has copied it from where it was told.
    pub(super) fn ats_unconfirmed(&mut self, request: u32) {
        if self.unconfirmed.end_misplaced(request) {
            // It has copied from the wrong place, and will ask for packets when it hears of that.
            self.requests.get_mut(request).stage = Stage::Misplaced;
        } else {
            self.advance_send(request, true, true);
        }
    }

    /// Tells the receiver of send `request` whether it was told the right place.
    fn confirm(&mut self, to: Proc, request: u32, place: u64) {
        let right = self.direct().is_still(&self.requests.get(request).data.memory(), place);
        counters::SPECULATIVE.add(1);
        if !right {
            counters::MISPLACED.add(1);
            self.unconfirmed.misplace(request);
        }
        self.control(to, Packet::RtsConfirm { sender: request, right });
    }

    // ---- the receiver

    /// `RtsConfirm`: the sender of a message says whether it is where it has told.
    pub(super) fn rts_confirm(&mut self, from: Proc, sender: u32, right: bool) {
        match self.unconfirmed.confirm(from, sender, right) {
            Confirmed::Nothing => {}
            Confirmed::Complete { receiver } => self.complete(receiver),
            Confirmed::CopyAgain { receiver, bytes } => {
                self.requests.get_mut(receiver).stage = Stage::Cleared;
                self.control(from, Packet::Cts { sender, receiver, bytes });
            }
        }
    }

    /// `Rts`: a message waits at its sender, in the memory that `words` tell.
    pub(super) fn rts(
        &mut self, from: Proc, tuple: Tuple, size: u64, sender: Synchronous, flags: RtsFlags, words: &[u8],
    ) {
        if flags.unconfirmed {
            self.unconfirmed.expect(from, sender.request);
        }
        let source = Memory::decode(words).unwrap_or(Memory::opaque(size as usize));
        let once = flags.cma_get || source.place != 0 || source.is_region();
        if once || source.is_opaque() {
            self.learned.note_way(from, size as usize, if once { Way::Once } else { Way::Packets });
        }
        if let Some(request) = self.match_arrival(from, &tuple) {
            let offer = Offer { from, tuple, size, sender, source: &source, cma_get: flags.cma_get };
            return self.answer(request, &offer);
        }
        let is_kept = flags.may_buffer && !self.loss.has_ended(tuple.context);
        let bytes = if is_kept { self.read(from, &source) } else { None };
        let Some(bytes) = bytes else {
            self.keep(Arrival { tuple, from, size, body: Body::Waiting { sender, source: Box::new(source) } });
            return;
        };
        self.keep(Arrival { tuple, from, size, body: Body::whole(bytes) });
        self.control(from, Packet::AtsKept { sender: sender.request });
    }

    /// The bytes of a message that waits in memory which this process sees as well, or out of which the kernel copies.
    fn read(&self, from: Proc, source: &Memory) -> Option<Vec<u8>> {
        let direct = self.mcm.direct()?;
        if source.is_opaque() {
            // The words did not travel whole.
            return None;
        }
        if source.place == 0 {
            // A damaged request may tell of more than there is memory for.
            let bytes = tern_memory::zeroed(source.len as usize).ok()?;
            return {
                let target = Memory::dense(bytes.as_ptr(), bytes.len());
                (direct.pull(from, source, PullTo::ByKernel(&target)) == Pull::Done).then_some(bytes)
            };
        }
        let view = direct.map(source, Lease::Brief)?;
        let mut bytes = tern_memory::room(source.len as usize).ok()?;
        // SAFETY: dense memory of the sender's, which it leaves alone until it is told; the view is good until the next one.
        bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(view, source.len as usize) });
        Some(bytes)
    }

    /// Receive `request` has matched a message that waits: moves the bytes that it has room for, or asks the sender for them.
    pub(super) fn answer(&mut self, request: u32, offer: &Offer<'_>) {
        let &Offer { from, ref tuple, size, sender, source: told, cma_get } = offer;
        let bytes = size.min(self.requests.get(request).data.len() as u64);
        self.begin(request, from, tuple, size);
        self.note_mark(request, sender.mark);
        let sender = sender.request;
        if size == 0 {
            // It was asked for since much is kept here, and is complete.
            return self.control(from, Packet::Ats { sender });
        }
        let receive = self.requests.get_mut(request);
        receive.expect_bytes(bytes as usize);
        // Until one of the plans tells its number to the sender.
        receive.stage = Stage::Unnamed;
        let wanted = Wanted { request, from, sender, bytes, source: self.unconfirmed.source_of(from, sender, told) };
        let data = &self.requests.get(request).data;
        let facts = RndvFacts {
            bytes: bytes as usize,
            source: source(&wanted.source, true),
            target: source(&data.memory(), true),
            coarse: policy::is_coarse(data.len(), data.block_count()) && is_coarse(&wanted.source),
            kernel: cma_get,
            network_gets: matches!(self.rendezvous.way, Rendezvous::Auto | Rendezvous::Rget),
            network_puts: matches!(self.rendezvous.way, Rendezvous::Auto | Rendezvous::Rput),
            single_copy: self.mcm.direct().is_some(),
        };
        let mut by = ChosenBy::Only;
        let moved = policy::rendezvous(facts).find(|plan| match plan {
            RndvPlan::Empty => self.end_empty(&wanted),
            RndvPlan::Kernel => self.get_by_kernel(&wanted),
            RndvPlan::Get => self.get(&wanted, &mut by),
            RndvPlan::Put => self.invite(&wanted),
            RndvPlan::Segments => self.copy_segments(&wanted),
            RndvPlan::Packets => self.clear_to_send(&wanted),
        });
        self.note_rendezvous(from, &facts, moved.expect("packets are always possible"), by);
    }

    /// There is room for nothing.
    fn end_empty(&mut self, wanted: &Wanted) -> bool {
        self.unconfirmed.forget(wanted.from, wanted.sender);
        self.control(wanted.from, Packet::Ats { sender: wanted.sender });
        self.complete(wanted.request);
        true
    }

    /// The receive has its bytes, and completes unless the sender has yet to say that they are the right ones.
    fn end_copied(&mut self, wanted: &Wanted) {
        let &Wanted { request, from, sender, bytes, .. } = wanted;
        if self.unconfirmed.awaits(from, sender, request, bytes) {
            return self.control(from, Packet::AtsUnconfirmed { sender });
        }
        self.control(from, Packet::Ats { sender });
        self.complete(request);
    }
}
