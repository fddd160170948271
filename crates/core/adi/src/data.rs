//! Moving bytes between user memory and packets.

use crate::{Data, Status};
use tern_copy::{SHORT, Source, Target};
use tern_layout::Blocks;
use tern_mcm::{Gather, Memory, Payload, copy_short};

/// Bytes at the start of user memory that a receive fetches ahead. Where they are in no cache, a message of 4 KiB takes two thirds of the time. With
/// more, several receives that are open get in each other's way.
const FIRST: usize = 4 << 10;

/// Bytes of a cache line.
const LINE: u64 = 64;

/// Messages from so many bytes on may go otherwise than in packets, and who copies them then has no use for lines that are here.
const LONG: usize = 16 << 10;

impl Data {
    /// What another process can be told of where the data lies.
    pub fn memory(&self) -> Memory {
        match self {
            Data::Bytes(base, len) => Memory::dense(*base, *len),
            Data::Typed { base, count, ty } => match ty.blocks(*count) {
                None => Memory::opaque(self.len()),
                Some((at, Blocks { len, block, stride })) => {
                    let address = base.wrapping_offset(at as isize) as u64;
                    Memory { address, len, block, stride, ..Memory::default() }
                }
            },
        }
    }

    /// Bytes of each block of data that lies in blocks at a stride, each of which begins in a cache line of its own.
    #[inline]
    pub(crate) fn block_per_line(&self) -> Option<usize> {
        let Data::Typed { count, ty, .. } = self else { return None };
        let (_, Blocks { block, stride, .. }) = ty.blocks(*count)?;
        (stride.unsigned_abs() >= LINE).then_some(block as usize)
    }

    /// Fetches the first lines of user memory, which will be written when a message comes.
    #[inline]
    pub(crate) fn expect(&self) {
        if let Data::Bytes(base, len) = self {
            tern_copy::expect(*base, (*len).min(FIRST));
        }
    }

    /// The same by a call that waits for the message and nothing else: all lines, if they are not too many.
    #[inline]
    pub(crate) fn expect_alone(&self) {
        if let Data::Bytes(base, len) = self {
            tern_copy::expect(*base, if *len < LONG { *len } else { FIRST });
        }
    }

    /// Copies into user memory what belongs at byte `from` of the message's data. Bytes beyond
    /// the end are dropped (the message was too long; its status tells). `source` is what the bytes
    /// are, `target` what user memory is.
    #[inline]
    pub(crate) fn scatter(&self, from: usize, bytes: &[u8], source: Source, target: Target) {
        let room = self.len().saturating_sub(from);
        let bytes = &bytes[..bytes.len().min(room)];
        match self {
            // SAFETY: the caller of the receive keeps the buffer valid and unshared (see `Data`),
            // and the bytes lie inside it; packets never overlap user memory.
            Data::Bytes(base, _) if (1..SHORT).contains(&bytes.len()) => unsafe {
                copy_short(bytes, std::slice::from_raw_parts_mut(base.add(from), bytes.len()));
            },
            _ => self.scatter_long(from, bytes, source, target),
        }
    }

    /// [`Data::scatter`] of bytes that it has room for, not a few to one place.
    #[inline(never)]
    fn scatter_long(&self, from: usize, bytes: &[u8], source: Source, target: Target) {
        if bytes.is_empty() {
            return;
        }
        match self {
            // SAFETY: as in `scatter`.
            Data::Bytes(base, _) => unsafe {
                let to = base.add(from);
                tern_copy::copy(to, bytes.as_ptr(), bytes.len(), source, target);
            },
            Data::Typed { base, count, ty } => {
                // SAFETY: as above, for the bytes that the layout describes.
                unsafe { ty.unpack(*base, *count, from as u64, bytes) };
                // SAFETY: `bytes` is mapped.
                unsafe { tern_copy::give_back(bytes.as_ptr(), bytes.len(), source) };
            }
        }
    }

    /// Copies a whole message in; returns the status of its receive.
    #[inline]
    pub(crate) fn fill(&self, source: i32, tag: i32, payload: &[u8], lies: Source) -> Status {
        self.scatter(0, payload, lies, Target::Soon);
        self.received(source, tag, payload.len() as u64)
    }

    /// The status of a receive of a message of `size` bytes.
    #[inline]
    pub(crate) fn received(&self, source: i32, tag: i32, size: u64) -> Status {
        let room = self.len() as u64;
        let bytes = size.min(room);
        Status { source, tag, bytes, lost: size - bytes, cancelled: false, mark: 0 }
    }

    /// Copies out the bytes from byte `from` on.
    pub(crate) fn gather(&self, from: usize, out: &mut [u8]) {
        if out.is_empty() {
            return;
        }
        match self {
            // SAFETY: as in `scatter`; the caller asks for no more than `len()`.
            Data::Bytes(base, _) => unsafe {
                std::ptr::copy_nonoverlapping(base.add(from), out.as_mut_ptr(), out.len());
            },
            Data::Typed { base, count, ty } => {
                // SAFETY: as above.
                unsafe { ty.pack(*base, *count, from as u64, out) };
            }
        }
    }

    /// Runs `send` with the payload of at most `len` bytes from byte `from` on.
    #[inline]
    pub(crate) fn with_payload<R>(&self, from: usize, len: usize, send: impl FnOnce(Payload<'_>) -> R) -> R {
        match self {
            Data::Bytes(..) if len == 0 => send(Payload::Bytes(&[])),
            Data::Bytes(base, all) => {
                // SAFETY: as in `gather`.
                let rest = unsafe { std::slice::from_raw_parts(base.add(from), all - from) };
                send(if len < rest.len() { Payload::Part(rest, len) } else { Payload::Bytes(rest) })
            }
            Data::Typed { .. } => send(Payload::Gather(&mut Part { data: self, from, len })),
        }
    }
}

/// Part of the data of a message whose layout is not dense.
struct Part<'a> {
    data: &'a Data,
    from: usize,
    len: usize,
}

impl Gather for Part<'_> {
    fn len(&self) -> usize {
        self.len
    }
    fn write_to(&mut self, out: &mut [u8]) {
        self.data.gather(self.from, out);
    }
}

/// Copies a message within the process; returns the bytes copied.
pub(crate) fn copy(from: &Data, to: &Data) -> usize {
    let len = from.len().min(to.len());
    match (from, to) {
        // SAFETY: both are user memory that their callers keep valid (see `Data`); a program may
        // pass overlapping buffers by mistake, which `copy` bears.
        (Data::Bytes(source, _), Data::Bytes(target, _)) if len > 0 => unsafe {
            std::ptr::copy(*source, *target, len);
        },
        _ => {
            let mut chunk = [0u8; 16384];
            let mut at = 0;
            while at < len {
                let part = &mut chunk[..(len - at).min(16384)];
                from.gather(at, part);
                to.scatter(at, part, Source::Any, Target::Soon);
                at += part.len();
            }
        }
    }
    len
}
