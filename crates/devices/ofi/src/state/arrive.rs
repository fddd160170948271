//! Completions, and packets that come.

use super::{Arrived, Bytes, State, WINDOW};
use crate::abi::FI_RECV;
use crate::buffers::Place;
use crate::fabric::Completion;
use crate::packet::{HEAD, Head, Kind, pass};
use std::ffi::c_void;
use tern_counters as counters;
use tern_device::Header;

/// A number is past another by less than so much: packets under way are fewer.
const FAR: u32 = 1 << 31;

impl State {
    /// Takes what the endpoint has done.
    pub(super) fn take_completions(&mut self) {
        // No more than there can be, so that a busy peer does not keep the process here.
        for _ in 0..8 {
            let mut batch = [const { None }; 16];
            let mut count = 0;
            self.fabric.completions(|completion| {
                batch[count] = Some(completion);
                count += 1;
            });
            for completion in batch.into_iter().flatten() {
                self.complete(completion);
            }
            if count < 16 {
                return;
            }
        }
    }

    fn complete(&mut self, completion: Completion) {
        match completion {
            Completion::Done(entry) => {
                if let Some(buffer) = self.sends.index(entry.op_context) {
                    self.sent(buffer, 0);
                } else if let Some(request) = self.requests.index(entry.op_context) {
                    self.end_request(request, 0);
                } else if let Ok(Some(place)) = self.ring.arrived(&entry) {
                    debug_assert!(entry.flags & FI_RECV != 0);
                    self.receive(place);
                }
            }
            Completion::Failed(context, error) => self.fail(context, error),
        }
    }

    /// A request has failed.
    fn fail(&mut self, context: *mut c_void, error: isize) {
        if let Some(buffer) = self.sends.index(context) {
            self.sent(buffer, error);
        } else if let Some(request) = self.requests.index(context) {
            // An error of no number is one.
            self.end_request(request, if error == 0 { -1 } else { error });
        } else if !self.ring.failed(context) {
            // A packet was injected and could not be delivered. To whom, nobody tells; who waits for it is told by the launcher.
            counters::OFI_ERRORS.add(1);
        }
    }

    fn sent(&mut self, buffer: u32, error: isize) {
        self.under_way -= 1;
        let peer = self.sends.peer(buffer);
        self.sends.give(buffer);
        let it = &mut self.peers[peer as usize];
        it.posted -= 1;
        // What was injected has gone before it.
        it.short = if it.injected { it.short } else { 0 };
        if error != 0 {
            self.lose_by(peer, error);
        }
        self.news = true;
    }

    pub(super) fn why(&self, error: isize) -> String {
        format!(
            "its process is gone, or the network to it: {} says: {}",
            self.fabric.offer.provider(),
            self.fabric.library.error(error)
        )
    }

    /// A packet has come.
    fn receive(&mut self, place: Place) {
        // SAFETY: the packet is not released before the end of this function.
        let bytes: &[u8] = unsafe { &*self.ring.bytes(place) };
        let Some(head) = Head::decode(bytes).filter(|head| self.is_of_job(head)) else {
            counters::NETWORK_STRANGERS.add(1);
            return self.ring.release(place);
        };
        self.news = true;
        let it = &mut self.peers[head.from as usize];
        it.is_heard = true;
        if head.taken.wrapping_sub(it.acknowledged) < FAR {
            it.acknowledged = head.taken;
        }
        // What a peer sent before its farewell may come after it, where packets overtake each other.
        if it.lost && !it.farewell {
            // Of two that have lost each other nobody answers.
            if head.kind != Kind::Lost {
                self.refuse(head.from);
            }
            return self.ring.release(place);
        }
        match head.kind {
            Kind::Data if head.number == it.came => {
                let payload = if self.ring.is_short() { Bytes::Own(bytes.to_vec()) } else { Bytes::InRing(place) };
                let kept = matches!(payload, Bytes::InRing(_));
                self.accept(head.from, head.header, payload);
                self.accept_early(head.from);
                if kept {
                    return;
                }
            }
            // A packet that has overtaken others waits for them. Nobody has more under way than the window.
            Kind::Data if head.number.wrapping_sub(it.came) < WINDOW && !self.keeps_order => {
                it.early.insert(head.number, bytes.to_vec());
            }
            Kind::Data => counters::NETWORK_STRANGERS.add(1),
            Kind::Credit | Kind::Bell => {}
            Kind::Farewell => {
                it.farewell = true;
                it.owes.goodbye = true;
                self.owed.push(head.from);
                // It takes nothing more.
                self.drop_outbox(head.from);
            }
            Kind::Goodbye => it.goodbye = true,
            Kind::Lost => self.lost_by(head.from),
        }
        self.ring.release(place);
    }

    fn accept(&mut self, peer: u32, header: Header, payload: Bytes) {
        let it = &mut self.peers[peer as usize];
        it.came = it.came.wrapping_add(1);
        self.arrived.push_back(Arrived { peer, header, payload });
    }

    /// Accepts the packets that were too early, as far as they follow now.
    fn accept_early(&mut self, peer: u32) {
        while let Some(bytes) = {
            let it = &mut self.peers[peer as usize];
            it.early.remove(&it.came)
        } {
            if let Some(head) = Head::decode(&bytes) {
                self.accept(peer, head.header, Bytes::Own(bytes));
            }
        }
    }

    /// Whether a packet shows what only processes of this job can.
    fn is_of_job(&mut self, head: &Head) -> bool {
        if head.from == self.me || head.from >= self.world() {
            return false;
        }
        let (_, theirs) = self.passes(head.from);
        theirs == head.pass
    }

    /// What packets to a peer show, and packets from it.
    pub(super) fn passes(&mut self, peer: u32) -> (u64, u64) {
        let (me, tokens) = (self.me, &self.tokens);
        *self.peers[peer as usize].passes.get_or_insert_with(|| (pass(me, peer, tokens), pass(peer, me, tokens)))
    }

    /// The next packet, or that of one peer.
    pub fn take_arrived(&mut self, of: Option<u32>) -> Option<Arrived> {
        let at = match of {
            None => 0,
            Some(peer) => self.arrived.iter().position(|arrived| arrived.peer == peer)?,
        };
        self.arrived.remove(at)
    }

    /// Puts a packet back that was not used.
    pub fn put_back(&mut self, arrived: Arrived) {
        self.arrived.push_front(arrived);
    }

    /// The payload of a packet, until it is released. Nothing that is done to the state meanwhile changes it.
    pub fn payload(&self, arrived: &Arrived) -> *const [u8] {
        let whole = match &arrived.payload {
            Bytes::InRing(place) => self.ring.bytes(*place),
            Bytes::Own(bytes) => &raw const bytes[..],
        };
        std::ptr::slice_from_raw_parts(whole.cast::<u8>().wrapping_add(HEAD), whole.len() - HEAD)
    }

    /// The packet was handed on: its sender may send another.
    pub fn release(&mut self, arrived: &Arrived) {
        if let Bytes::InRing(place) = arrived.payload {
            self.ring.release(place);
        }
        let it = &mut self.peers[arrived.peer as usize];
        it.taken = it.taken.wrapping_add(1);
        if it.taken.wrapping_sub(it.told) >= WINDOW / 2 && !it.lost {
            self.owe_credit(arrived.peer);
        }
    }
}
