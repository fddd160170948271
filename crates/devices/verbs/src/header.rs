//! Header caching: a header that resembles the last one of its channel travels as what differs.
//!
//! MVAPICH2's idea (Liu et al., "Design and Implementation of MVAPICH2 over InfiniBand", 2005): both ends
//! keep the last header. What the words mean is not known here, so bytes are compared: the headers of
//! messages of one kind differ in a size, a tag or a request's number, of which mostly a byte or two.
//!
//! A difference is a mask of the words that differ, which has its place in the packet's prefix, and for
//! each of these words a mask of its bytes that differ, and these bytes. [`WHOLE`] as mask means that all
//! four words follow as they are.

use tern_device::Header;

/// The mask of a header that follows whole.
pub const WHOLE: u8 = 0x10;
/// The most bytes that a header takes.
pub const LONGEST: usize = size_of::<Header>();

/// The last header of one direction of a channel. Both ends begin with zeros.
#[derive(Clone, Debug, Default)]
pub struct HeaderCache {
    last: Header,
}

impl HeaderCache {
    /// Writes what differs to `out`, which has [`LONGEST`] bytes; returns the mask and the number of bytes.
    #[inline]
    pub fn encode(&mut self, header: &Header, out: &mut [u8; LONGEST]) -> (u8, usize) {
        if *header == self.last {
            return (0, 0);
        }
        let difference = self.difference(header, out);
        self.last = *header;
        difference
    }

    /// As [`HeaderCache::encode`], for a header that shall travel whole.
    pub fn encode_whole(&mut self, header: &Header, out: &mut [u8; LONGEST]) -> (u8, usize) {
        self.last = *header;
        write_whole(header, out)
    }

    fn difference(&self, header: &Header, out: &mut [u8; LONGEST]) -> (u8, usize) {
        let (mut mask, mut at) = (0, 0);
        for (index, (new, old)) in header.iter().zip(&self.last).enumerate() {
            let differ = (new ^ old).to_le_bytes();
            if differ == [0; 8] {
                continue;
            }
            let needed = 1 + differ.iter().filter(|&&byte| byte != 0).count();
            if at + needed > LONGEST {
                return write_whole(header, out);
            }
            mask |= 1 << index;
            let place = at;
            (out[place], at) = (0, at + 1);
            for (byte, (value, differs)) in new.to_le_bytes().into_iter().zip(differ).enumerate() {
                if differs != 0 {
                    out[place] |= 1 << byte;
                    out[at] = value;
                    at += 1;
                }
            }
        }
        (mask, at)
    }

    /// Reads a header with this mask from the beginning of `bytes`; returns it with the number of bytes
    /// that it took, or `None` when they are not what [`HeaderCache::encode`] writes.
    #[inline]
    pub fn decode(&mut self, mask: u8, bytes: &[u8]) -> Option<(Header, usize)> {
        if mask == 0 {
            return Some((self.last, 0));
        }
        let (header, taken) = if mask == WHOLE { read_whole(bytes)? } else { self.apply(mask, bytes)? };
        self.last = header;
        Some((header, taken))
    }

    fn apply(&self, mask: u8, bytes: &[u8]) -> Option<(Header, usize)> {
        if mask > WHOLE {
            return None;
        }
        let (mut header, mut at) = (self.last, 0);
        for (index, word) in header.iter_mut().enumerate() {
            if mask & 1 << index == 0 {
                continue;
            }
            let which = *bytes.get(at)?;
            at += 1;
            let mut changed = word.to_le_bytes();
            for (bit, byte) in changed.iter_mut().enumerate() {
                if which & 1 << bit != 0 {
                    *byte = *bytes.get(at)?;
                    at += 1;
                }
            }
            *word = u64::from_le_bytes(changed);
        }
        Some((header, at))
    }
}

fn write_whole(header: &Header, out: &mut [u8; LONGEST]) -> (u8, usize) {
    for (to, word) in out.chunks_exact_mut(8).zip(header) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    (WHOLE, LONGEST)
}

fn read_whole(bytes: &[u8]) -> Option<(Header, usize)> {
    let (words, _) = bytes.get(..LONGEST)?.as_chunks::<8>();
    Some((std::array::from_fn(|index| u64::from_le_bytes(words[index])), LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_headers_take_no_byte_and_near_ones_few() {
        let (mut cache, mut out) = (HeaderCache::default(), [0; LONGEST]);
        let lens = [[1, 2 | 7 << 32, 8, 0], [1, 2 | 7 << 32, 8, 0], [1, 2 | 7 << 32, 9, 0], [1, 2 | 300 << 32, 9, 0]]
            .map(|header| cache.encode(&header, &mut out).1);
        assert_eq!(lens, [2 + 3 + 2, 0, 2, 3]);
    }

    #[test]
    fn what_nobody_writes_is_refused() {
        for (mask, bytes) in [(1, &[][..]), (1, &[0xff, 1]), (WHOLE, &[0; 31]), (0x20, &[0; 64]), (0x1f, &[0; 64])] {
            assert_eq!(HeaderCache::default().decode(mask, bytes), None, "mask {mask:#x}");
        }
    }

    /// Headers of a program: few values in each byte.
    fn word() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0), 0..3u64, (0..3u64, 0..3u64).prop_map(|(low, high)| low | high << 32), any::<u64>()]
    }

    proptest! {
        #[test]
        fn any_sequence_of_headers_arrives(headers in prop::collection::vec((prop::array::uniform4(word()), any::<bool>()), 1..40)) {
            let (mut here, mut there) = (HeaderCache::default(), HeaderCache::default());
            for (header, whole) in headers {
                let mut out = [0; LONGEST];
                let (mask, len) =
                    if whole { here.encode_whole(&header, &mut out) } else { here.encode(&header, &mut out) };
                prop_assert_eq!(there.decode(mask, &out[..len]), Some((header, len)));
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let mut cache = HeaderCache::default();
            let mut rest = &bytes[..];
            while let Some((&mask, more)) = rest.split_first() {
                let Some((_, taken)) = cache.decode(mask, more) else { break };
                rest = &more[taken..];
            }
        }
    }
}
