//! The addresses of all processes of a world, as bytes.
//!
//! Where a world has several nodes, each process tells the launcher by which bytes the devices of the others find it;
//! when all have done so, each gets all of them. Nobody but the device knows what is in them.

use crate::parcel::{Reader, Writer};

/// All addresses, by rank, as bytes.
pub fn encode<'a>(addresses: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Writer::default();
    out.number(addresses.len() as u64);
    for address in addresses {
        out.bytes(address);
    }
    out.0
}

/// The reverse; `None` for bytes that are something else.
pub fn decode(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let input = &mut Reader(bytes);
    (0..input.number()?).map(|_| input.bytes().map(<[u8]>::to_vec)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    #[test]
    fn a_table_survives_the_wire() {
        let table = vec![vec![1, 2, 3], vec![], vec![0; 1000]];
        let bytes = encode(table.iter().map(Vec::as_slice));
        assert_eq!(decode(&bytes), Some(table));
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), None, "{cut}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn a_damaged_table_is_refused_or_survives(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let bytes = damage(&encode([&[1, 2, 3][..], &[], &[0; 20]].into_iter()), &changes);
            if let Some(table) = decode(&bytes) {
                prop_assert_eq!(decode(&encode(table.iter().map(Vec::as_slice))), Some(table));
            }
        }
    }
}
