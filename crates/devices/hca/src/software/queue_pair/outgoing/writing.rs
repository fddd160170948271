//! Writing the current frame to the socket or the ring, straight from the program's memory.

use super::*;
use crate::software::queue_pair::near::wake_peer;
use crate::software::regions::{Fault, Held, Need, Runs, errno};
use crate::software::wire::Refusal;
use std::os::fd::AsRawFd;

/// Bytes that go to a ring before the peer may read them.
const PIECE: usize = 32 << 10;

impl Pair {
    /// Writes what is left of the current frame.
    pub(super) fn write(&self, inner: &mut Inner) -> Wrote {
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
            if left > 0 && self.payload(&frame.payload, &inner.window, &held, from, left, &mut runs).is_err() {
                return Wrote::Fault;
            }
            // SAFETY: zeros are a valid header; what it points to lives through the call, and of the program's
            // memory the kernel checks what it reads.
            let wrote = unsafe {
                let mut message: libc::msghdr = std::mem::zeroed();
                message.msg_iov = runs.as_slice().as_ptr().cast_mut();
                message.msg_iovlen = runs.as_slice().len() as _;
                libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
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
    pub(super) fn write_to_ring(&self, inner: &mut Inner, rings: &Rings) -> Wrote {
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
                if self.put_payload(rings, &frame.payload, &inner.window, from, part).is_err() {
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
        &self, rings: &Rings, payload: &Payload, window: &Window<Work>, from: usize, len: usize,
    ) -> std::result::Result<(), Fault> {
        let own = match payload {
            Payload::Word(word) => Some(&word[from..from + len]),
            Payload::Request { number, offset, .. } | Payload::Abandoned { number, offset } => {
                let from = *offset as usize + from;
                let inline = window.request(*number).and_then(|work| work.inline.as_ref());
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
        &self, payload: &Payload, window: &Window<Work>, held: &Held<'_>, from: usize, left: usize, runs: &mut Runs,
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
                held.check(source.key, self.domain, address, left as u64, Need::RemoteRead)?;
                runs.push(address, left);
            }
        }
        Ok(())
    }

    /// The current frame is with the kernel.
    pub(super) fn wrote(&self, inner: &mut Inner) {
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
    pub(super) fn memory_is_gone(&self, inner: &mut Inner) {
        let Some(frame) = &mut inner.outgoing.frame else {
            return;
        };
        match frame.payload {
            Payload::Request { number, .. } | Payload::Abandoned { number, .. } => {
                let why = format!("memory of request number {number} is not registered for it, or not mapped");
                self.fail(inner, Some(number), Status::LocalProtection, &why, false);
            }
            _ if frame.written == 0 => {
                let sequence = Frame::decode(&frame.header).map_or(0, |frame| frame.sequence);
                inner.outgoing.frame = None;
                self.refuse(inner, sequence, Refusal::Access, "memory that the peer reads is gone");
            }
            // The peer would take whatever came now for what it has asked for.
            _ => self.lose(inner, "memory that the peer reads is gone"),
        }
    }
}
