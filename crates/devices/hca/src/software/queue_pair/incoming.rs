//! What comes in: frames from the socket, their payloads straight to memory where that pays.

use super::super::address;
use super::super::clock::now;
use super::super::regions::{Fault, Need, Runs, errno, store};
use super::super::wire::{Frame, HEADER, Kind};
use super::near::wake_peer;
use super::target::Sink;
use super::*;
use std::os::fd::AsRawFd;

/// Bytes that are read ahead.
const BUFFER: usize = 16 << 10;
/// With rings nothing is: a header, or a part of what nobody wants.
const NEAR_BUFFER: usize = 1 << 10;
/// A payload of which so much is left is read straight to where it belongs.
const STRAIGHT: usize = 4 << 10;
/// Bytes that a queue pair takes in before others have their turn.
const TURN: usize = 256 << 10;

#[derive(Default)]
pub struct Incoming {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    frame: Option<Receiving>,
}

/// The frame whose payload is coming.
struct Receiving {
    frame: Frame,
    sink: Sink,
    taken: u32,
    operands: [u8; 16],
}

enum Filled {
    Some(usize),
    Nothing,
    Lost(String),
}

impl Pair {
    /// Takes in what has come; true if it stopped with more to do.
    pub fn take_in(&self, inner: &mut Inner) -> bool {
        let mut budget = TURN;
        while inner.socket.is_some() && self.phase() != FAILED {
            if inner.incoming.frame.is_some() {
                let Some(took) = self.take_payload(inner) else {
                    return false;
                };
                budget = budget.saturating_sub(took);
            } else if inner.incoming.end - inner.incoming.start >= HEADER {
                if !self.take_header(inner) {
                    return false;
                }
            } else if !self.fill(inner) {
                return false;
            }
            if budget == 0 {
                return true;
            }
        }
        false
    }

    /// Begins the frame whose header is in the buffer; false if it is not its time yet.
    fn take_header(&self, inner: &mut Inner) -> bool {
        let incoming = &mut inner.incoming;
        let header = &incoming.buffer[incoming.start..incoming.start + HEADER];
        let Some(frame) = Frame::decode(header.try_into().expect("a header's length")) else {
            self.lose(inner, "the peer sent what is no frame");
            return false;
        };
        let slow = self.hca.faults().slow.as_nanos() as u64;
        if frame.due > 0 || slow > 0 {
            let time = now();
            // Written under the lock only.
            let mut hold = self.hold.load(Ordering::Relaxed);
            if hold == 0 {
                let known = inner.peer.is_some_and(|peer| peer.machine == address::machine());
                let due = if known { frame.due } else { 0 };
                hold = due.max(if slow > 0 { time + slow } else { 0 });
                self.hold.store(hold, Ordering::Relaxed);
                if hold > time {
                    self.hca.engine().visit_at(hold, self.number);
                }
            }
            if hold > time {
                return false;
            }
            self.hold.store(0, Ordering::Relaxed);
        }
        inner.incoming.start += HEADER;
        self.peer_has_executed(inner, frame.executed);
        let sink = self.frame_begins(inner, &frame);
        if self.phase() != FAILED && inner.socket.is_some() {
            inner.incoming.frame = Some(Receiving { frame, sink, taken: 0, operands: [0; 16] });
        }
        true
    }

    fn frame_begins(&self, inner: &mut Inner, frame: &Frame) -> Sink {
        match frame.kind {
            Kind::Welcome => inner.attached = true,
            Kind::ReceiverNotReady => self.not_ready(inner, frame),
            Kind::Refused => self.refused(inner, frame),
            Kind::Answer if self.answer_begins(inner, frame) => return Sink::Answer,
            Kind::Answer => self.lose(inner, "the peer answers what it was not asked"),
            kind if kind.is_request() => return self.request_begins(inner, frame),
            _ => {}
        }
        Sink::Discard
    }

    /// Takes a part of the current frame's payload; how much, or `None` if there is none now.
    fn take_payload(&self, inner: &mut Inner) -> Option<usize> {
        let receiving = inner.incoming.frame.as_ref()?;
        let missing = (receiving.frame.len - receiving.taken) as usize;
        let near = self.rings.get().is_some();
        let straight = (near || missing >= STRAIGHT) && !matches!(receiving.sink, Sink::Discard | Sink::Operands);
        if missing == 0 {
            self.frame_ends(inner);
            return Some(0);
        }
        let incoming = &mut inner.incoming;
        let buffered = (incoming.end - incoming.start).min(missing);
        if buffered > 0 {
            let start = incoming.start;
            incoming.start += buffered;
            // Taken out and put back, for it belongs to what the call may change.
            let buffer = std::mem::take(&mut incoming.buffer);
            self.deliver(inner, &buffer[start..start + buffered]);
            inner.incoming.buffer = buffer;
            return Some(buffered);
        }
        if straight {
            return self.take_straight(inner, missing);
        }
        self.fill(inner).then_some(0)
    }

    /// Where the next `len` bytes of the current frame's payload go.
    fn runs(&self, inner: &Inner, len: usize) -> std::result::Result<Runs, Fault> {
        let Some(receiving) = &inner.incoming.frame else {
            return Err(Fault);
        };
        let (frame, taken) = (&receiving.frame, receiving.taken);
        let offset = frame.offset + taken;
        match receiving.sink {
            Sink::Receive => self.receive_runs(inner, offset, len as u32).ok_or(Fault),
            Sink::Write => {
                let address = frame.address + u64::from(offset);
                let held = self.hca.engine().regions.hold();
                held.check(frame.key, self.domain, address, len as u64, Need::RemoteWrite)?;
                let mut runs = Runs::new();
                runs.push(address, len);
                Ok(runs)
            }
            Sink::Answer => {
                let work = inner.window.request(frame.sequence).ok_or(Fault)?;
                let held = self.hca.engine().regions.hold();
                held.runs(&work.segments, self.domain, Need::LocalWrite, u64::from(offset), len as u64)
            }
            Sink::Discard | Sink::Operands => Err(Fault),
        }
    }

    /// Puts bytes that were read ahead where they belong.
    fn deliver(&self, inner: &mut Inner, bytes: &[u8]) {
        let Some(receiving) = &mut inner.incoming.frame else {
            return;
        };
        match receiving.sink {
            Sink::Discard => {}
            Sink::Operands => {
                let at = receiving.taken as usize;
                receiving.operands[at..at + bytes.len()].copy_from_slice(bytes);
            }
            _ => {
                // No region goes away between the look at the table and the copy.
                let _held = self.hca.engine().regions.hold();
                let stored = self.runs(inner, bytes.len()).and_then(|runs| store(bytes, &runs));
                drop(_held);
                if stored.is_err() {
                    return self.store_failed(inner);
                }
            }
        }
        if let Some(receiving) = &mut inner.incoming.frame {
            receiving.taken += bytes.len() as u32;
        }
    }

    /// Reads from the socket to memory of the program.
    fn take_straight(&self, inner: &mut Inner, missing: usize) -> Option<usize> {
        if let Some(rings) = self.rings.get() {
            return self.take_from_ring(inner, rings, missing);
        }
        if !inner.readable {
            return None;
        }
        let held = self.hca.engine().regions.hold();
        let Ok(runs) = self.runs(inner, missing.min(TURN)) else {
            drop(held);
            self.store_failed(inner);
            return Some(0);
        };
        let list = runs.as_slice();
        let socket = inner.socket.as_ref()?.as_raw_fd();
        // SAFETY: the kernel checks the program's memory itself.
        let took = unsafe { libc::readv(socket, list.as_ptr(), list.len() as i32) };
        let error = errno();
        drop(held);
        match self.outcome(inner, took, error, runs.len()) {
            Filled::Some(took) => {
                if let Some(receiving) = &mut inner.incoming.frame {
                    receiving.taken += took as u32;
                }
                Some(took)
            }
            Filled::Nothing if error == libc::EFAULT && inner.readable => {
                self.store_failed(inner);
                Some(0)
            }
            Filled::Nothing => None,
            Filled::Lost(why) => {
                self.lose(inner, &why);
                None
            }
        }
    }

    /// Copies from the ring to memory of the program.
    fn take_from_ring(&self, inner: &mut Inner, rings: &Rings, missing: usize) -> Option<usize> {
        let part = rings.there().min(missing);
        if part == 0 {
            self.ring_is_empty(inner);
            return None;
        }
        // No region goes away between the look at the table and the copy.
        let held = self.hca.engine().regions.hold();
        let stored = self.runs(inner, part).and_then(|runs| rings.read_program(&runs));
        drop(held);
        if stored.is_err() {
            self.store_failed(inner);
            return Some(0);
        }
        if let Some(receiving) = &mut inner.incoming.frame {
            receiving.taken += part as u32;
        }
        if rings.consume(part) {
            wake_peer(&inner.socket);
        }
        Some(part)
    }

    /// Nothing has come through the ring; nothing will, if the peer has gone.
    fn ring_is_empty(&self, inner: &mut Inner) {
        inner.readable = false;
        if inner.ended {
            let why = self.why_ended(inner);
            self.lose(inner, &why);
        }
    }

    /// Reads what is wanted now from the ring; false if nothing has come.
    fn fill_from_ring(&self, inner: &mut Inner, rings: &Rings) -> bool {
        let incoming = &mut inner.incoming;
        if incoming.buffer.is_empty() {
            incoming.buffer.resize(NEAR_BUFFER, 0);
        }
        let wanted = match &incoming.frame {
            Some(receiving) => (receiving.frame.len - receiving.taken) as usize,
            None => HEADER,
        };
        incoming.buffer.copy_within(incoming.start..incoming.end, 0);
        incoming.end -= incoming.start;
        incoming.start = 0;
        let until = wanted.min(NEAR_BUFFER);
        let (took, wakes) = rings.take(&mut incoming.buffer[incoming.end..until]);
        incoming.end += took;
        if wakes {
            wake_peer(&inner.socket);
        }
        if took == 0 {
            self.ring_is_empty(inner);
        }
        took > 0
    }

    /// Reads ahead; false if nothing has come.
    fn fill(&self, inner: &mut Inner) -> bool {
        if let Some(rings) = self.rings.get() {
            return self.fill_from_ring(inner, rings);
        }
        if !inner.readable {
            return false;
        }
        let incoming = &mut inner.incoming;
        if incoming.buffer.is_empty() {
            incoming.buffer.resize(BUFFER, 0);
        }
        incoming.buffer.copy_within(incoming.start..incoming.end, 0);
        incoming.end -= incoming.start;
        incoming.start = 0;
        let room = &mut incoming.buffer[incoming.end..];
        let Some(socket) = &inner.socket else {
            return false;
        };
        // SAFETY: `room` is ours.
        let took = unsafe { libc::recv(socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT) };
        let (error, asked) = (errno(), room.len());
        match self.outcome(inner, took, error, asked) {
            Filled::Some(took) => {
                inner.incoming.end += took;
                true
            }
            Filled::Nothing => false,
            Filled::Lost(why) => {
                self.lose(inner, &why);
                false
            }
        }
    }

    fn outcome(&self, inner: &mut Inner, took: isize, error: i32, asked: usize) -> Filled {
        match took {
            0 => Filled::Lost(self.why_ended(inner)),
            1.. => {
                // Less than was asked for is all there was: the next event tells of more.
                inner.readable = inner.ended || took as usize == asked;
                Filled::Some(took as usize)
            }
            _ => match error {
                libc::EINTR | libc::EFAULT => Filled::Nothing,
                // Not connected yet.
                libc::ENOTCONN if !inner.ended => {
                    inner.readable = false;
                    Filled::Nothing
                }
                libc::EAGAIN => {
                    inner.readable = false;
                    Filled::Nothing
                }
                libc::ECONNRESET | libc::EPIPE if !inner.attached => Filled::Lost(self.why_ended(inner)),
                error => {
                    let why = std::io::Error::from_raw_os_error(error);
                    Filled::Lost(format!("the connection is lost: {why}"))
                }
            },
        }
    }

    /// Memory for the current frame is not there.
    fn store_failed(&self, inner: &mut Inner) {
        let Some(receiving) = &mut inner.incoming.frame else {
            return;
        };
        let frame = receiving.frame;
        match std::mem::replace(&mut receiving.sink, Sink::Discard) {
            Sink::Receive => self.receive_failed(inner, &frame),
            Sink::Write => {
                let why = "memory that the peer writes to is gone";
                self.refuse(inner, frame.sequence, super::super::wire::Refusal::Access, why);
            }
            _ => {
                let why = "memory for an answer is not registered for writing, or not mapped";
                self.fail(inner, Some(frame.sequence), Status::LocalProtection, why, false);
            }
        }
    }

    fn frame_ends(&self, inner: &mut Inner) {
        let Some(receiving) = inner.incoming.frame.take() else {
            return;
        };
        let Receiving { frame, sink, operands, .. } = receiving;
        match (frame.kind, sink) {
            (Kind::Answer, Sink::Answer) => self.answer_ends(inner, &frame),
            (_, Sink::Receive | Sink::Write | Sink::Operands) => self.request_ends(inner, &frame, &operands),
            _ => {}
        }
    }
}
