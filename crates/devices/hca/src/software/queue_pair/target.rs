//! What the peer asks of this side: executed in order, without the program.

use super::super::regions::{Need, Runs, atomic};
use super::super::wire::{Frame, Kind, Refusal};
use super::*;
use crate::Remote;

/// How far this side has come with the peer's requests.
#[derive(Default)]
pub struct Target {
    /// The number of the next request.
    expected: u64,
    /// What of this the peer has been told.
    told: u64,
    /// A message of which the first frames have come.
    message: Option<Message>,
    refused: bool,
}

struct Message {
    /// Where it goes on.
    offset: u32,
    receive: Option<Taken>,
}

/// A receive that a message has taken.
pub struct Taken {
    pub receive: Receive,
    pub source: Arc<Receives>,
}

impl Target {
    /// The peer waits for word of something.
    pub fn owes(&self) -> bool {
        self.told < self.expected && !self.refused
    }

    /// How many requests were executed; the peer is told this now.
    pub fn told(&mut self) -> u64 {
        self.told = self.expected;
        self.expected
    }

    /// Takes the receive of a message that will not be whole.
    pub fn interrupted(&mut self) -> Option<Taken> {
        self.message.take()?.receive
    }
}

/// Where the payload of a frame goes.
pub enum Sink {
    Discard,
    /// To the receive that the message has taken.
    Receive,
    Write,
    /// To the request of that answer.
    Answer,
    /// A few bytes for the frame itself, or none.
    Operands,
}

impl Pair {
    /// A frame of a request begins: says where its payload goes.
    pub fn request_begins(&self, inner: &mut Inner, frame: &Frame) -> Sink {
        let target = &mut inner.target;
        // Behind one that was refused, or not ready, all that was on its way is dropped.
        if target.refused || frame.sequence != target.expected {
            return Sink::Discard;
        }
        let goes_on = target.message.as_ref().map_or(0, |message| message.offset);
        if frame.offset != goes_on {
            return Sink::Discard;
        }
        if frame.offset == 0 && !self.message_begins(inner, frame) {
            return Sink::Discard;
        }
        match frame.kind {
            Kind::Send => Sink::Receive,
            Kind::Write => Sink::Write,
            _ => Sink::Operands,
        }
    }

    /// Checks a request, and takes a receive for it; false if it is not to be executed.
    fn message_begins(&self, inner: &mut Inner, frame: &Frame) -> bool {
        if !self.access_is_allowed(inner, frame) {
            return false;
        }
        let mut receive = None;
        if frame.kind == Kind::Send || frame.kind == Kind::Write && frame.has_immediate {
            match self.take_receive(inner, frame) {
                Some(taken) => receive = Some(taken),
                None => return false,
            }
        }
        if matches!(frame.kind, Kind::Send | Kind::Write) {
            inner.target.message = Some(Message { offset: 0, receive });
        }
        true
    }

    fn access_is_allowed(&self, inner: &mut Inner, frame: &Frame) -> bool {
        let (need, len) = match frame.kind {
            Kind::Write => (Need::RemoteWrite, frame.total),
            Kind::Read => (Need::RemoteRead, frame.total),
            Kind::FetchAdd | Kind::CompareSwap => (Need::RemoteAtomic, 8),
            _ => return true,
        };
        if need == Need::RemoteAtomic && !frame.address.is_multiple_of(8) {
            self.refuse(inner, frame.sequence, Refusal::InvalidRequest, "an atomic of the peer is not aligned");
            return false;
        }
        if len == 0 {
            return true;
        }
        let domain = match &self.source {
            // The memory is that of the queue's process.
            Source::Xrc(_) => match self.named(inner, frame) {
                Some(queue) => queue.domain,
                None => return false,
            },
            _ => self.domain,
        };
        let count = self.hca.counts.accesses.fetch_add(1, Ordering::Relaxed);
        let on_demand = self.hca.faults().access.meets(count);
        let held = self.hca.engine().regions.hold();
        let allowed = held.check(frame.key, domain, frame.address, u64::from(len), need);
        drop(held);
        if allowed.is_err() || on_demand {
            let why = format!(
                "the peer wants {need:?} of {len} bytes at {:#x} with key {:#x}{}",
                frame.address,
                frame.key,
                if on_demand { ", refused on demand" } else { "" }
            );
            self.refuse(inner, frame.sequence, Refusal::Access, &why);
            return false;
        }
        true
    }

    /// The receive queue that an XRC request names; without it the request is refused.
    fn named(&self, inner: &mut Inner, frame: &Frame) -> Option<Arc<Receives>> {
        let Source::Xrc(domain) = &self.source else { return None };
        let found = domain.find(frame.receive_queue);
        if found.is_none() {
            let why = format!("the peer names receive queue {}, which is not there", frame.receive_queue);
            self.refuse(inner, frame.sequence, Refusal::InvalidRequest, &why);
        }
        found
    }

    fn take_receive(&self, inner: &mut Inner, frame: &Frame) -> Option<Taken> {
        let source = match &self.source {
            Source::Own(receives) | Source::Shared(receives) => receives.clone(),
            Source::Xrc(_) => self.named(inner, frame)?,
            Source::Initiator => {
                self.refuse(inner, frame.sequence, Refusal::InvalidRequest, "the peer sends to an XRC initiator");
                return None;
            }
        };
        let count = self.hca.counts.sends.fetch_add(1, Ordering::Relaxed);
        let on_demand = self.hca.faults().receiver_not_ready.meets(count);
        let Some(receive) = (if on_demand { None } else { source.take() }) else {
            let delay = inner.connection.receiver_not_ready_delay.as_nanos() as u64;
            let not_ready =
                Frame { kind: Kind::ReceiverNotReady, sequence: frame.sequence, address: delay, ..Frame::default() };
            inner.outgoing.say(not_ready, &[]);
            return None;
        };
        if frame.kind == Kind::Send && u64::from(frame.total) > receive.len() {
            let why = format!("a message of {} bytes met a receive of {}", frame.total, receive.len());
            self.complete_receive(&source, receive, Status::LocalLength, 0, None, false);
            self.refuse(inner, frame.sequence, Refusal::InvalidRequest, &why);
            return None;
        }
        Some(Taken { receive, source })
    }

    /// Where the next bytes of a send go.
    pub fn receive_runs(&self, inner: &Inner, offset: u32, len: u32) -> Option<Runs> {
        let taken = inner.target.message.as_ref()?.receive.as_ref()?;
        let held = self.hca.engine().regions.hold();
        let (segments, domain) = (&taken.receive.segments, taken.source.domain);
        held.runs(segments, domain, Need::LocalWrite, u64::from(offset), u64::from(len)).ok()
    }

    /// The memory of the receive is not what it was said to be.
    pub fn receive_failed(&self, inner: &mut Inner, frame: &Frame) {
        if let Some(taken) = inner.target.interrupted() {
            self.complete_receive(&taken.source, taken.receive, Status::LocalProtection, 0, None, false);
        }
        let why = "memory of a receive is not registered for writing, or not mapped";
        self.refuse(inner, frame.sequence, Refusal::Operation, why);
    }

    /// The payload of a request's frame is where it belongs.
    pub fn request_ends(&self, inner: &mut Inner, frame: &Frame, operands: &[u8; 16]) {
        let target = &mut inner.target;
        match frame.kind {
            Kind::Send | Kind::Write => {
                let Some(message) = &mut target.message else {
                    return;
                };
                message.offset += frame.len;
                if message.offset < frame.total {
                    return;
                }
                let receive = target.interrupted();
                target.expected += 1;
                if let Some(Taken { receive, source }) = receive {
                    let immediate = frame.has_immediate.then_some(frame.immediate);
                    let write = frame.kind == Kind::Write;
                    self.complete_receive(&source, receive, Status::Success, frame.total, immediate, write);
                }
            }
            Kind::Read => {
                target.expected += 1;
                let source = Remote { address: frame.address, key: frame.key };
                inner.outgoing.answer(frame.sequence, source, frame.total);
            }
            _ => self.execute_atomic(inner, frame, operands),
        }
    }

    fn execute_atomic(&self, inner: &mut Inner, frame: &Frame, operands: &[u8; 16]) {
        let word = |at: usize| u64::from_le_bytes(operands[at..at + 8].try_into().expect("eight bytes"));
        let held = self.hca.engine().regions.hold();
        let found = held.check(frame.key, self.domain, frame.address, 8, Need::RemoteAtomic).and_then(|()| {
            atomic(frame.address, |cell| match frame.kind {
                Kind::FetchAdd => cell.fetch_add(word(0), Ordering::SeqCst),
                _ => cell
                    .compare_exchange(word(0), word(8), Ordering::SeqCst, Ordering::SeqCst)
                    .unwrap_or_else(|found| found),
            })
        });
        drop(held);
        match found {
            Ok(found) => {
                inner.target.expected += 1;
                let answer = Frame { kind: Kind::Answer, sequence: frame.sequence, ..Frame::default() };
                inner.outgoing.say(answer, &found.to_le_bytes());
            }
            Err(_) => self.refuse(inner, frame.sequence, Refusal::Access, "memory of an atomic is not mapped"),
        }
    }

    /// Tells the peer that its request failed, and goes to error.
    pub fn refuse(&self, inner: &mut Inner, sequence: u64, refusal: Refusal, why: &str) {
        if inner.target.refused {
            return;
        }
        let frame = Frame { kind: Kind::Refused, sequence, code: refusal as u8, ..Frame::default() };
        inner.outgoing.say(frame, &[]);
        inner.target.refused = true;
        self.fail(inner, None, Status::Flushed, why, true);
    }
}
