//! What goes out: which frame is next, and writing it to the socket straight from the program's memory.

use super::super::address::LEN;
use super::super::clock::now;
use super::super::regions::{Fault, Held, Need, Runs, errno};
use super::super::wire::{Frame, HEADER, Kind, Refusal};
use super::near::wake_peer;
use super::*;
use crate::{Link, Remote};
use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Bytes of a frame's payload at most; with a link model less, so that it is smooth.
const FRAME: u32 = 256 << 10;
const MODELLED_FRAME: u32 = 64 << 10;
/// How late the last message of a port that is cut comes.
const LATE: Duration = Duration::from_millis(30);
/// Bytes that go to a ring before the peer may read them.
const PIECE: usize = 32 << 10;

#[derive(Default)]
pub struct Outgoing {
    frame: Option<Current>,
    /// Frames with a few bytes, which go before all others.
    words: VecDeque<(Frame, [u8; LEN])>,
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
    Word([u8; LEN]),
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
        let mut word = [0; LEN];
        word[..bytes.len()].copy_from_slice(bytes);
        frame.len = bytes.len() as u32;
        frame.total = frame.len;
        self.words.push_back((frame, word));
    }

    pub fn answer(&mut self, sequence: u64, source: Remote, total: u32) {
        self.answers.push_back(Answer {
            sequence,
            source,
            total,
            offset: 0,
        });
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
        if let Some(Current {
            payload: Payload::Request { .. } | Payload::Abandoned { .. },
            written,
            ..
        }) = self.frame
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
            inner.outgoing.say(
                Frame {
                    kind: Kind::Acknowledge,
                    ..Frame::default()
                },
                &[],
            );
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
        let source = Remote {
            address: answer.source.address + u64::from(answer.offset),
            key: answer.source.key,
        };
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
        let cut = self
            .hca
            .faults()
            .cut_after
            .is_some_and(|limit| inner.outgoing.messages >= limit);
        if cut && inner.window.sendable().is_some() {
            self.lose(inner, "cut on demand");
            return false;
        }
        let offset = inner.outgoing.offset;
        let Some((number, work)) = inner.window.sendable() else {
            return false;
        };
        let mut frame = Frame {
            sequence: number,
            total: work.total,
            offset,
            ..Frame::default()
        };
        let mut operands = [0; LEN];
        let (kind, remote, immediate) = match work.operation() {
            Operation::Send => (Kind::Send, None, None),
            Operation::SendWithImmediate(immediate) => (Kind::Send, None, Some(immediate)),
            Operation::Write(remote) => (Kind::Write, Some(remote), None),
            Operation::WriteWithImmediate(remote, immediate) => {
                (Kind::Write, Some(remote), Some(immediate))
            }
            Operation::Read(remote) => (Kind::Read, Some(remote), None),
            Operation::FetchAdd(remote, add) => {
                operands[..8].copy_from_slice(&add.to_le_bytes());
                (Kind::FetchAdd, Some(remote), None)
            }
            Operation::CompareSwap {
                remote,
                compare,
                swap,
            } => {
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
                self.begin(
                    inner,
                    frame,
                    Payload::Request {
                        number,
                        offset,
                        last,
                    },
                    fetched,
                );
            }
        }
        true
    }

    fn longest(&self) -> u32 {
        if self.hca.link == Link::NONE {
            FRAME
        } else {
            MODELLED_FRAME
        }
    }

    fn begin(&self, inner: &mut Inner, mut frame: Frame, payload: Payload, fetched: bool) {
        frame.executed = inner.target.told();
        frame.due = self
            .hca
            .carry(self.port(), HEADER as u64 + u64::from(frame.len), fetched);
        let cut = |(port, limit)| port == self.port() && inner.outgoing.messages >= limit;
        let severs = frame.kind.is_request() && self.hca.faults().cut_port.is_some_and(cut);
        if severs {
            frame.due = now() + LATE.as_nanos() as u64;
        }
        let header = frame.encode();
        inner.outgoing.frame = Some(Current {
            header,
            len: frame.len,
            written: 0,
            payload,
            severs,
        });
    }

    /// Writes what is left of the current frame.
    fn write(&self, inner: &mut Inner) -> Wrote {
        let (Some(frame), Some(socket)) = (&mut inner.outgoing.frame, &inner.socket) else {
            return Wrote::Blocked;
        };
        let all = HEADER + frame.len as usize;
        while frame.written < all {
            let held = self.hca.engine().regions.hold();
            let mut runs = Runs::new();
            if frame.written < HEADER {
                let header = &frame.header[frame.written..];
                runs.push(header.as_ptr() as u64, header.len());
            }
            let from = frame.written.saturating_sub(HEADER);
            let left = frame.len as usize - from;
            if left > 0
                && self
                    .payload(&frame.payload, &inner.window, &held, from, left, &mut runs)
                    .is_err()
            {
                return Wrote::Fault;
            }
            // SAFETY: zeros are a valid header; what it points to lives through the call, and of the program's
            // memory the kernel checks what it reads.
            let wrote = unsafe {
                let mut message: libc::msghdr = std::mem::zeroed();
                message.msg_iov = runs.as_slice().as_ptr().cast_mut();
                message.msg_iovlen = runs.as_slice().len() as _;
                libc::sendmsg(
                    socket.as_raw_fd(),
                    &message,
                    libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
                )
            };
            if wrote < 0 {
                match errno() {
                    libc::EAGAIN | libc::ENOTCONN => return Wrote::Blocked,
                    libc::EINTR => continue,
                    libc::EFAULT => return Wrote::Fault,
                    _ => return Wrote::Lost,
                }
            }
            frame.written += wrote as usize;
        }
        Wrote::All
    }

    /// Copies what is left of the current frame to the ring.
    fn write_to_ring(&self, inner: &mut Inner, rings: &Rings) -> Wrote {
        let Some(frame) = &mut inner.outgoing.frame else {
            return Wrote::Blocked;
        };
        let all = HEADER + frame.len as usize;
        while frame.written < all {
            let published = frame.written;
            if frame.written < HEADER {
                frame.written += rings.put(&frame.header[frame.written..]);
            }
            if frame.written >= HEADER && frame.written < all {
                let from = frame.written - HEADER;
                let part = rings.piece().min(all - frame.written).min(PIECE);
                if self
                    .put_payload(rings, &frame.payload, &inner.window, from, part)
                    .is_err()
                {
                    // Nothing of this piece has been seen.
                    rings.retreat();
                    frame.written = published;
                    return Wrote::Fault;
                }
                frame.written += part;
            }
            if frame.written == published {
                return Wrote::Blocked;
            }
            if rings.publish() {
                wake_peer(&inner.socket);
            }
        }
        Wrote::All
    }

    /// Copies `len` bytes of the payload, from byte `from` on, to the ring, which has room for them.
    fn put_payload(
        &self,
        rings: &Rings,
        payload: &Payload,
        window: &Window<Work>,
        from: usize,
        len: usize,
    ) -> std::result::Result<(), Fault> {
        let own = match payload {
            Payload::Word(word) => Some(&word[from..from + len]),
            Payload::Request { number, offset, .. } | Payload::Abandoned { number, offset } => {
                let from = *offset as usize + from;
                let inline = window
                    .request(*number)
                    .and_then(|work| work.inline.as_ref());
                inline.map(|bytes| &bytes[from..from + len])
            }
            Payload::Answer { .. } => None,
        };
        if let Some(bytes) = own {
            rings.put(bytes);
            return Ok(());
        }
        let held = self.hca.engine().regions.hold();
        let mut runs = Runs::new();
        self.payload(payload, window, &held, from, len, &mut runs)?;
        rings.put_program(&runs)
    }

    /// Where the payload lies from byte `from` on.
    fn payload(
        &self,
        payload: &Payload,
        window: &Window<Work>,
        held: &Held<'_>,
        from: usize,
        left: usize,
        runs: &mut Runs,
    ) -> std::result::Result<(), Fault> {
        match *payload {
            Payload::Word(ref word) => runs.push(word[from..].as_ptr() as u64, left),
            Payload::Request { number, offset, .. } | Payload::Abandoned { number, offset } => {
                let work = window.request(number).ok_or(Fault)?;
                let from = offset as usize + from;
                match &work.inline {
                    Some(bytes) => runs.push(bytes[from..].as_ptr() as u64, left),
                    None => runs.extend(&held.runs(
                        &work.segments,
                        self.domain,
                        Need::LocalRead,
                        from as u64,
                        left as u64,
                    )?),
                }
            }
            Payload::Answer { source } => {
                let address = source.address + from as u64;
                held.check(
                    source.key,
                    self.domain,
                    address,
                    left as u64,
                    Need::RemoteRead,
                )?;
                runs.push(address, left);
            }
        }
        Ok(())
    }

    /// The current frame is with the kernel.
    fn wrote(&self, inner: &mut Inner) {
        let Some(frame) = inner.outgoing.frame.take() else {
            return;
        };
        if let Payload::Request { number, last, .. } = frame.payload {
            inner.outgoing.offset += frame.len;
            if last {
                inner.outgoing.offset = 0;
                inner.outgoing.messages += 1;
                inner.window.sent(number);
            }
        }
        if frame.severs {
            self.sever(inner);
        }
    }

    /// Memory of the current frame is not registered any more, or not mapped.
    fn memory_is_gone(&self, inner: &mut Inner) {
        let Some(frame) = &mut inner.outgoing.frame else {
            return;
        };
        match frame.payload {
            Payload::Request { number, .. } | Payload::Abandoned { number, .. } => {
                let why = format!(
                    "memory of request number {number} is not registered for it, or not mapped"
                );
                self.fail(inner, Some(number), Status::LocalProtection, &why, false);
            }
            _ if frame.written == 0 => {
                let sequence = Frame::decode(&frame.header).map_or(0, |frame| frame.sequence);
                inner.outgoing.frame = None;
                self.refuse(
                    inner,
                    sequence,
                    Refusal::Access,
                    "memory that the peer reads is gone",
                );
            }
            // The peer would take whatever came now for what it has asked for.
            _ => self.lose(inner, "memory that the peer reads is gone"),
        }
    }
}
