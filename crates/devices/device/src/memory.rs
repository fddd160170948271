//! Where the bytes of a message lie, and what it is matched by.

use tern_policy::Purpose;

/// What a message is matched by between two given processes: context, source, tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The communicator, and what sends in it.
    pub context: u32,
    /// The sender's rank in the communicator.
    pub source: i32,
    /// As the program gives it.
    pub tag: i32,
}

/// Where the bytes of one side of a transfer lie, as the peer can reach them: blocks at a stride,
/// or one run, which is one block; or a region of segments, of which nothing but its name is told. All lengths are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memory {
    /// Of the first byte, in its own process; of a region of segments, of its lowest byte.
    pub address: u64,
    /// Bytes of data in all.
    pub len: u64,
    /// Bytes of one block; 0: the shape is too irregular for single copies.
    pub block: u64,
    /// From one block to the next.
    pub stride: i64,
    /// Where `address` lies in the memory that all processes of the node share; 0: it is private.
    pub place: u64,
    /// What a peer on another node shows to reach it (an rkey), or the cookie of a region of segments, for a peer on this node; 0: it is neither
    /// registered nor a region.
    pub key: u64,
    /// The kernel module's name for a region, for a peer on this node; 0: it has none. The region begins where this memory does
    /// ([`Memory::span`]) and has all of it, or it has the same segments.
    pub cookie: u64,
}

impl Memory {
    /// One run of bytes.
    pub fn dense(address: *const u8, len: usize) -> Memory {
        Memory { address: address as u64, len: len as u64, block: len as u64, stride: 0, ..Memory::default() }
    }

    /// One run of shared memory, of which only the place counts.
    pub fn at_place(place: u64, len: usize) -> Memory {
        Memory { place, ..Memory::dense(std::ptr::null(), len) }
    }

    /// Memory that only its owner can make sense of.
    pub fn opaque(len: usize) -> Memory {
        Memory { len: len as u64, ..Memory::default() }
    }

    /// Whether only its owner can make sense of it by these words.
    pub fn is_opaque(&self) -> bool {
        self.block == 0
    }

    /// Whether it is a region of segments ([`Exposure::Segments`]). Such memory is opaque too.
    pub fn is_region(&self) -> bool {
        self.block == 0 && self.key != 0
    }

    /// Whether it is one run.
    pub fn is_dense(&self) -> bool {
        self.block == self.len
    }

    /// Where byte `from` of the data lies, and how many bytes follow it in one run. Not for opaque memory.
    pub fn run_at(&self, from: u64) -> Run {
        let (block, within) = (from / self.block, from % self.block);
        let address = self.address.wrapping_add_signed(block as i64 * self.stride) + within;
        Run { address, len: self.block - within }
    }

    /// Where its first `len` bytes lie, no more than it has: block by block. Not for opaque memory.
    pub fn runs(&self, len: u64) -> impl Iterator<Item = Run> + '_ {
        (0..len.div_ceil(self.block)).map(move |block| {
            let from = block * self.block;
            let run = self.run_at(from);
            Run { len: run.len.min(len - from), ..run }
        })
    }

    /// By what the kernel module knows it.
    pub fn name(&self) -> Name {
        Name { cookie: self.cookie, start: self.address.wrapping_add_signed(self.span().0) }
    }

    /// The bytes from the lowest to the highest address: where they begin, relative to `address`,
    /// and how many.
    pub fn span(&self) -> (i64, u64) {
        let blocks = self.len.div_ceil(self.block.max(1)).max(1);
        let reach = (blocks - 1) as i64 * self.stride;
        (reach.min(0), reach.unsigned_abs() + self.block)
    }

    /// Bytes of [`Memory::encode`].
    pub const WORDS: usize = 56;

    /// As seven words, for a packet.
    pub fn encode(&self) -> [u8; Memory::WORDS] {
        let mut bytes = [0; Memory::WORDS];
        let words = [self.address, self.len, self.block, self.stride as u64, self.place, self.key, self.cookie];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The reverse; `None` when there are not seven words, or no memory can lie as they say.
    pub fn decode(bytes: &[u8]) -> Option<Memory> {
        let bytes: &[u8; Memory::WORDS] = bytes.try_into().ok()?;
        let word = |at: usize| crate::word::<8>(bytes, at * 8);
        let words = [0, 1, 2, 3, 4, 5, 6].map(|at| u64::from_le_bytes(word(at)));
        let [address, len, block, stride, place, key, cookie] = words;
        let memory = Memory { address, len, block, stride: stride as i64, place, key, cookie };
        memory.can_be().then_some(memory)
    }

    /// Whether all of it lies between the first and the last address that there is. Opaque memory has no stride.
    fn can_be(&self) -> bool {
        if self.is_opaque() {
            return self.stride == 0;
        }
        let steps = i64::try_from(self.len.div_ceil(self.block).saturating_sub(1)).ok();
        let Some(reach) = steps.and_then(|steps| steps.checked_mul(self.stride)) else { return false };
        let fits = |first: u64| {
            let last = first.checked_add_signed(reach);
            last.is_some_and(|last| first.max(last).checked_add(self.block).is_some())
        };
        fits(self.address) && (self.place == 0 || fits(self.place))
    }
}

/// By what the kernel module knows memory of another process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// Of the region that has the memory; 0: its owner has told none.
    pub cookie: u64,
    /// The address at which that region begins, in the process of its owner.
    pub start: u64,
}

impl Name {
    /// That of memory without a region.
    pub const NONE: Name = Name { cookie: 0, start: 0 };
}

/// A speculative address: where own memory lay when that was last found out ([`crate::SingleCopy::speculative_address`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpeculativeAddress {
    /// As in [`Memory`].
    pub place: u64,
    /// The kernel has not told that it has moved, and would have.
    pub sure: bool,
}

/// How own memory is used by the transfer that it is located for ([`crate::SingleCopy::locate`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// What for.
    pub purpose: Purpose,
    /// How many of its bytes: fewer than it has where a message lies in segments of it.
    pub bytes: u64,
    /// No other transfer of this process is under way.
    pub quiet: bool,
}

/// How long memory of a peer is mapped ([`SharedMemory::map`](crate::SharedMemory::map)), or own memory is exposed to the kernel's copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// For a few further calls, and longer if only few places are asked for; exposed: for one collective.
    Brief,
    /// Until [`unmap`](crate::unmap); exposed: as long as a window lives.
    Lasting,
}

/// How peers reach own memory that is [exposed](crate::SingleCopy::expose).
#[derive(Clone, Copy, Debug)]
pub enum Exposure<'a> {
    /// At its place: private memory of the program is made shared in place for all processes of the node. What is returned lies where
    /// that could be done, which may be a part of it.
    InPlace,
    /// By the kernel, at any time, until it is released: private memory stays private. A window is exposed for long. What is returned has a cookie for [`Name`], if the kernel
    /// module has a region that begins there and has all of it.
    ByKernel(Lease),
    /// By the kernel, for a short time, whoever is told of the memory. What is returned has a cookie, and need not be released. `None`: the kernel
    /// module has no region of it.
    Named,
    /// By the kernel, for one message of which a request tells this peer. What is returned has a cookie, if the kernel module has a region for it,
    /// and need not be released.
    InRequest(u32),
    /// As a region of these segments, none of which is empty, in the order of the message's bytes; all of them lie in the memory, which was located
    /// for the peer. What is returned has a cookie as its key. `None`: no more regions can be open.
    Segments(u32, &'a [Run]),
}

/// Contiguous bytes of some process; laid out as the kernel's `iovec`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Address of the first byte, in its own process.
    pub address: u64,
    /// Bytes.
    pub len: u64,
}

/// Which way [`crate::SharedMemory::copy`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From own memory to the peer's.
    Put,
    /// From the peer's memory to our own.
    Get,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_survives_a_packet() {
        let memory = Memory { address: 9, len: 6, block: 3, stride: -4, place: 1 << 63, key: 5, cookie: u64::MAX - 1 };
        assert_eq!(Memory::decode(&memory.encode()), Some(memory));
        assert_eq!(Memory::decode(&[0; Memory::WORDS - 1]), None);
        assert_eq!(Memory::decode(&Memory::opaque(7).encode()), Some(Memory::opaque(7)));
    }

    #[test]
    fn memory_beyond_all_addresses_is_refused() {
        let memory = Memory { address: 8, len: 6, block: 3, stride: -4, place: 0, key: 5, cookie: 6 };
        for wrong in [
            Memory { address: 3, ..memory },
            Memory { address: u64::MAX - 2, ..memory },
            Memory { len: u64::MAX, ..memory },
            Memory { stride: i64::MIN, ..memory },
            Memory { place: 1, ..memory },
            Memory { place: u64::MAX, ..memory },
            Memory::dense(std::ptr::dangling(), usize::MAX),
            Memory { block: 0, ..memory },
        ] {
            assert_eq!(Memory::decode(&wrong.encode()), None, "{wrong:?}");
        }
    }

    #[test]
    fn any_words_are_read() {
        const WORDS: [u64; 8] = [0, 1, 2, 1 << 32, 1 << 62, 1 << 63, u64::MAX - 1, u64::MAX];
        for number in 0..WORDS.len().pow(6) {
            let words: Vec<u64> = (0..6).map(|at| WORDS[number >> (3 * at) & 7]).chain([7]).collect();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            if let Some(memory) = Memory::decode(&bytes) {
                memory.span();
            }
        }
    }

    #[test]
    fn a_region_of_segments_is_opaque_and_has_a_cookie() {
        let region = Memory { address: 1, key: 2, place: 3, cookie: 4, ..Memory::opaque(5) };
        assert!(region.is_region() && region.is_opaque());
        assert_eq!(Memory::decode(&region.encode()), Some(region));
        assert!(
            !Memory::opaque(5).is_region() && !Memory { key: 1, ..Memory::dense(std::ptr::dangling(), 5) }.is_region()
        );
    }

    #[test]
    fn spans_reach_from_the_lowest_byte_to_the_highest() {
        let column = Memory { address: 0, len: 24, block: 8, stride: 100, ..Memory::default() };
        assert_eq!(column.span(), (0, 208));
        assert_eq!(Memory { stride: -100, ..column }.span(), (-200, 208));
        assert_eq!(Memory::dense(std::ptr::null(), 7).span(), (0, 7));
    }
}
