//! Classes of sizes and of blocks, each with a size that stands for all of its class.

use super::Situation;

/// Sizes are told apart in four steps per power of two, from 256 B to 16 MiB.
pub const CLASSES: usize = 64;
const FIRST: u32 = 8;

/// The class of a size.
#[inline]
pub fn class(size: u64) -> usize {
    let log = (size | 1).ilog2();
    if log < FIRST {
        return 0;
    }
    let quarter = (size >> (log - 2)) as usize & 3;
    (((log - FIRST) as usize) << 2 | quarter).min(CLASSES - 1)
}

/// A size that stands for all of its class: its middle.
pub fn middle(class: usize) -> u64 {
    if class == 0 {
        return 1 << FIRST;
    }
    let eighth = 1u64 << (FIRST - 3 + (class as u32 >> 2));
    eighth * (8 + 2 * (class as u64 & 3) + 1)
}

/// The class of a block: contiguous, below 64 bytes, below 1 KiB, larger.
#[inline]
pub fn block_class(block: u64) -> usize {
    match block {
        0 => 0,
        1..64 => 1,
        64..1024 => 2,
        _ => 3,
    }
}

/// The situation with size and block replaced by those that stand for their class.
pub fn rounded(situation: &Situation) -> Situation {
    Situation {
        size: middle(class(situation.size)),
        block: [0, 16, 256, 4096][block_class(situation.block)],
        ..*situation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_sizes() {
        assert_eq!(class(0), 0);
        assert_eq!(class(319), 0);
        assert_eq!(class(320), 1);
        assert_eq!(class(512), 4);
        assert_eq!(class(1 << 20), 48);
        assert_eq!(class(15 << 20), 63);
        assert_eq!(class(u64::MAX), 63);
        let sizes = (0..62).flat_map(|log| [4, 5, 6, 7].map(|quarter| quarter << log));
        let classes: Vec<usize> = sizes.map(class).collect();
        assert!(classes.is_sorted());
        for number in 0..CLASSES {
            assert_eq!(class(middle(number)), number);
        }
    }
}
