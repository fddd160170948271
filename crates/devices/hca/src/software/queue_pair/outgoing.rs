//! What goes out: which frame is next.

mod writing;

use super::super::clock::now;
use super::super::wire::{Frame, HEADER, Kind};
use super::*;
use crate::{Link, Remote};
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes of a frame's payload at most; with a link model less, so that it is smooth.
const FRAME: u32 = 256 << 10;
const MODELLED_FRAME: u32 = 64 << 10;
/// Bytes that a frame has of its own at most: two operands.
const WORD: usize = 16;
/// How late the last message of a port that is cut comes.
const LATE: Duration = Duration::from_millis(30);

#[derive(Default)]
pub struct Outgoing {
    frame: Option<Current>,
    /// Frames with a few bytes, which go before all others.
    words: VecDeque<(Frame, [u8; WORD])>,
    /// Reads of the peer.
    answers: VecDeque<Answer>,
    /// Of the next request's bytes these have been sent.
    offset: u32,
    /// Answers and requests take turns.
    answer_next: bool,
    messages: u64,
}

/// A read of the peer that is being answered.
struct Answer {
    sequence: u64,
    source: Remote,
    total: u32,
    offset: u32,
}

/// The frame that is being written.
struct Current {
    header: [u8; HEADER],
    len: u32,
    /// Of header and payload.
    written: usize,
    payload: Payload,
    /// The last that goes: the port is cut.
    severs: bool,
}

enum Payload {
    /// A few bytes of its own.
    Word([u8; WORD]),
    /// Of the request with that number, from that byte on. `last` if it ends with this frame.
    Request {
        number: u64,
        offset: u32,
        last: bool,
    },
    /// The same of one that is to be repeated from its beginning.
    Abandoned {
        number: u64,
        offset: u32,
    },
    Answer {
        source: Remote,
    },
}

/// What came of an attempt to write.
enum Wrote {
    All,
    /// The socket takes no more now.
    Blocked,
    /// Its memory is gone.
    Fault,
    Lost,
}

impl Outgoing {
    /// Queues a frame with a few bytes.
    pub fn say(&mut self, mut frame: Frame, bytes: &[u8]) {
        let mut word = [0; WORD];
        word[..bytes.len()].copy_from_slice(bytes);
        frame.len = bytes.len() as u32;
        frame.total = frame.len;
        self.words.push_back((frame, word));
    }

    pub fn answer(&mut self, sequence: u64, source: Remote, total: u32) {
        self.answers.push_back(Answer { sequence, source, total, offset: 0 });
    }

    /// Requests are sent again from the beginning of one.
    pub fn rewind(&mut self) {
        self.offset = 0;
        if let Some(Current { payload, .. }) = &mut self.frame
            && let Payload::Request { number, offset, .. } = *payload
        {
            *payload = Payload::Abandoned { number, offset };
        }
    }

    pub fn clear(&mut self) {
        self.frame = None;
        self.words.clear();
        self.answers.clear();
        self.offset = 0;
    }

    /// Drops all but words, and the answer that is being written. False when a request has begun to go out,
    /// which cannot be finished.
    pub fn keep_words(&mut self) -> bool {
        self.answers.clear();
        if let Some(Current { payload: Payload::Request { .. } | Payload::Abandoned { .. }, written, .. }) = self.frame
        {
            self.frame = None;
            return written == 0;
        }
        true
    }

    fn is_empty(&self) -> bool {
        self.frame.is_none() && self.words.is_empty()
    }
}

impl Pair {
    /// Writes as much as the socket, or the ring, takes.
    pub fn push_out(&self, inner: &mut Inner) {
        loop {
            self.push(inner);
            let Some(rings) = self.rings.get() else {
                break;
            };
            let blocked = !inner.writable && inner.socket.is_some();
            rings.block(blocked);
            // The peer may have made room before it could see that this side waits for it.
            if !blocked || !rings.has_room() {
                break;
            }
            inner.writable = true;
        }
        if self.phase() == FAILED && inner.outgoing.is_empty() && inner.socket.is_some() {
            self.part(inner);
        }
    }

    fn push(&self, inner: &mut Inner) {
        while inner.writable && inner.socket.is_some() {
            if inner.outgoing.frame.is_none() && !self.next_frame(inner) {
                break;
            }
            let wrote = match self.rings.get() {
                Some(rings) => self.write_to_ring(inner, rings),
                None => self.write(inner),
            };
            match wrote {
                Wrote::All => self.wrote(inner),
                Wrote::Blocked => inner.writable = false,
                Wrote::Fault => self.memory_is_gone(inner),
                // What the peer said before its end is still to be read; then the end itself is.
                Wrote::Lost => {
                    inner.writable = false;
                    inner.readable = true;
                    inner.ended = true;
                }
            }
        }
    }

    /// Says what has been executed, unless something that goes out does.
    pub fn acknowledge(&self, inner: &mut Inner) {
        if inner.target.owes() && inner.socket.is_some() {
            inner.target.told();
            inner.outgoing.say(Frame { kind: Kind::Acknowledge, ..Frame::default() }, &[]);
            self.push_out(inner);
        }
    }

    /// Chooses the next frame; false if there is none.
    fn next_frame(&self, inner: &mut Inner) -> bool {
        if let Some((frame, word)) = inner.outgoing.words.pop_front() {
            self.begin(inner, frame, Payload::Word(word), false);
            return true;
        }
        if self.phase() == FAILED {
            return false;
        }
        inner.outgoing.answer_next = !inner.outgoing.answer_next;
        let answered = inner.outgoing.answer_next && self.next_answer(inner);
        answered || self.next_request(inner) || self.next_answer(inner)
    }

    fn next_answer(&self, inner: &mut Inner) -> bool {
        let Some(answer) = inner.outgoing.answers.front_mut() else {
            return false;
        };
        let len = (answer.total - answer.offset).min(self.longest());
        let frame = Frame {
            kind: Kind::Answer,
            sequence: answer.sequence,
            len,
            total: answer.total,
            offset: answer.offset,
            ..Frame::default()
        };
        let source = Remote { address: answer.source.address + u64::from(answer.offset), key: answer.source.key };
        answer.offset += len;
        if answer.offset == answer.total {
            inner.outgoing.answers.pop_front();
        }
        self.begin(inner, frame, Payload::Answer { source }, true);
        true
    }

    fn next_request(&self, inner: &mut Inner) -> bool {
        if inner.not_ready_until > 0 {
            if now() < inner.not_ready_until {
                return false;
            }
            inner.not_ready_until = 0;
        }
        let cut = self.hca.faults().cut_after.is_some_and(|limit| inner.outgoing.messages >= limit);
        if cut && inner.window.sendable().is_some() {
            self.lose(inner, "cut on demand");
            return false;
        }
        let offset = inner.outgoing.offset;
        let Some((number, work)) = inner.window.sendable() else {
            return false;
        };
        let mut frame = Frame { sequence: number, total: work.total, offset, ..Frame::default() };
        let mut operands = [0; WORD];
        let (kind, remote, immediate) = match work.operation() {
            Operation::Send => (Kind::Send, None, None),
            Operation::SendWithImmediate(immediate) => (Kind::Send, None, Some(immediate)),
            Operation::Write(remote) => (Kind::Write, Some(remote), None),
            Operation::WriteWithImmediate(remote, immediate) => (Kind::Write, Some(remote), Some(immediate)),
            Operation::Read(remote) => (Kind::Read, Some(remote), None),
            Operation::FetchAdd(remote, add) => {
                operands[..8].copy_from_slice(&add.to_le_bytes());
                (Kind::FetchAdd, Some(remote), None)
            }
            Operation::CompareSwap { remote, compare, swap } => {
                operands[..8].copy_from_slice(&compare.to_le_bytes());
                operands[8..16].copy_from_slice(&swap.to_le_bytes());
                (Kind::CompareSwap, Some(remote), None)
            }
        };
        frame.kind = kind;
        frame.receive_queue = work.receive_queue;
        frame.has_immediate = immediate.is_some();
        frame.immediate = immediate.unwrap_or(0);
        if let Some(remote) = remote {
            frame.address = remote.address;
            frame.key = remote.key;
        }
        let fetched = work.inline.is_none();
        match kind {
            Kind::Read | Kind::FetchAdd | Kind::CompareSwap => {
                frame.len = match kind {
                    Kind::Read => 0,
                    Kind::FetchAdd => 8,
                    _ => 16,
                };
                inner.outgoing.messages += 1;
                inner.window.sent(number);
                self.begin(inner, frame, Payload::Word(operands), false);
            }
            _ => {
                frame.len = (work.total - offset).min(self.longest());
                let last = offset + frame.len == frame.total;
                self.begin(inner, frame, Payload::Request { number, offset, last }, fetched);
            }
        }
        true
    }

    fn longest(&self) -> u32 {
        if self.hca.link == Link::NONE { FRAME } else { MODELLED_FRAME }
    }

    fn begin(&self, inner: &mut Inner, mut frame: Frame, payload: Payload, fetched: bool) {
        frame.executed = inner.target.told();
        frame.due = self.hca.carry(self.port(), HEADER as u64 + u64::from(frame.len), fetched);
        let cut = |(port, limit)| port == self.port() && inner.outgoing.messages >= limit;
        let severs = frame.kind.is_request() && self.hca.faults().cut_port.is_some_and(cut);
        if severs {
            frame.due = now() + LATE.as_nanos() as u64;
        }
        let header = frame.encode();
        inner.outgoing.frame = Some(Current { header, len: frame.len, written: 0, payload, severs });
    }
}
