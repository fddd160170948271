//! How payloads are cut: the packets of a message inside a node, and the parts of a long one that go over several ports or connections of a network.

/// Bytes of a message that go into one packet: the receiver copies one out while the sender copies the next in. Small enough to
/// start early, large enough that the packets themselves do not count: a message of this length goes sooner whole than as two.
pub const PIECE: usize = 8 << 10;

/// The same while so much of the message is left that the last ones can be shorter, if the device takes as much.
const LONG_PIECE: usize = 32 << 10;
const LONG: usize = 128 << 10;

/// The same in an exchange: nobody is idle while the last one is copied, since its sender has others to copy out, and its receiver to copy in.
/// The longer they are, the less often two that copy at the same time wait for each other (a twentieth of the time).
const EXCHANGED_PIECES: [usize; 2] = [64 << 10, 32 << 10];

/// Blocks of a column of a matrix that go into one packet: to copy one out or in takes a cache line, and as long as 64 bytes in one run. To and
/// fro, a column of 1024 doubles takes a fifth less so than as one packet.
const BLOCKS_OF_PIECE: usize = 256;

/// Bytes of a message of which `left` are left that go into its next packet; `most` if the device wants as many in one.
#[inline]
pub fn piece(left: usize, most: Option<usize>, exchanged: bool) -> usize {
    if let Some(most) = most {
        return left.min(most);
    }
    if exchanged && let Some(long) = EXCHANGED_PIECES.into_iter().find(|&long| left >= long) {
        return long;
    }
    if left < LONG { cut(left, PIECE) } else { LONG_PIECE }
}

/// The same for packets of `len` bytes. What is less than two of them is not cut: a short packet behind a long one takes as long as another
/// long one (10 KiB 2.4 us instead of 1.65).
#[inline]
pub fn cut(left: usize, len: usize) -> usize {
    if left < 2 * len { left } else { len }
}

/// Bytes of a packet of an eager message of `len` bytes that lies in blocks, where that is fewer than [`piece`] says. `block_per_line`: the bytes of a
/// block that take as long as a cache line to copy, if it lies in such blocks; asked where it matters.
#[inline]
pub fn scattered_piece(len: usize, block_per_line: impl FnOnce() -> Option<usize>) -> Option<usize> {
    if len < 2 * BLOCKS_OF_PIECE {
        // It is whole in one packet whatever its blocks are.
        return None;
    }
    let piece = BLOCKS_OF_PIECE * block_per_line()?;
    (piece < PIECE).then_some(piece)
}

/// Shortest payload that leaves over all connections of a pair, in bytes.
pub const SPREAD_FROM: usize = 512 << 10;

/// Shortest part of a message that a port of a network card carries by itself: what is shorter than two of them is not cut.
pub const SHORTEST_STRIPE: u64 = 64 << 10;
/// Stripes of a message for each port: with more of them a busy port gets less.
const STRIPES_OF_PORT: u64 = 4;

/// How a message of `len` bytes is cut for so many ports: the bytes of a stripe, or `None` if it is not worth it.
pub fn stripe(len: u64, ports: usize) -> Option<u64> {
    let worth = ports > 1 && len >= 2 * SHORTEST_STRIPE;
    worth.then(|| len.div_ceil(STRIPES_OF_PORT * ports as u64).next_multiple_of(4096).max(SHORTEST_STRIPE))
}

/// The port that has the fewest bytes to carry, by `loads`, among those that are `open`; the first of several. 0 if none is.
pub fn least_loaded(loads: &[u64], open: impl Fn(usize) -> bool) -> usize {
    (0..loads.len()).filter(|&port| open(port)).min_by_key(|&port| loads[port]).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_cut_by_what_is_left() {
        assert_eq!(piece(10 << 10, None, false), 10 << 10, "less than two are not cut");
        assert_eq!(piece(16 << 10, None, false), PIECE);
        assert_eq!(piece(LONG, None, false), LONG_PIECE);
        assert_eq!(piece(100 << 10, None, true), 64 << 10);
        assert_eq!(piece(40 << 10, None, true), 32 << 10);
        assert_eq!(piece(100 << 10, Some(1000), true), 1000, "the device wants no more");
    }

    #[test]
    fn short_blocks_are_cut_by_their_number() {
        let of = |len, block| scattered_piece(len, || block);
        assert_eq!(
            [of(8192, Some(8)), of(8192, Some(16)), of(8192, Some(32)), of(8192, None)],
            [Some(2048), Some(4096), None, None]
        );
        assert_eq!(scattered_piece(511, || unreachable!("it is short")), None);
    }

    #[test]
    fn short_messages_go_over_one_port() {
        assert_eq!(stripe(2 * SHORTEST_STRIPE - 1, 4), None);
        assert_eq!(stripe(1 << 20, 1), None);
        assert_eq!(stripe(2 * SHORTEST_STRIPE, 2), Some(SHORTEST_STRIPE));
        assert_eq!(stripe(8 << 20, 2), Some(1 << 20));
    }

    #[test]
    fn a_full_port_is_passed_over() {
        let loads = [5, 0, 3, 0, 0, 0, 0, 0];
        assert_eq!(least_loaded(&loads, |port| port < 3), 1);
        assert_eq!(least_loaded(&loads, |port| port == 0 || port == 2), 2);
        assert_eq!(least_loaded(&loads, |_| false), 0);
    }
}
