//! Part of the engine: notices from one process to another, for the layer above. They match nothing, and come in the order in which a process
//! has sent them.

use crate::Proc;
use std::collections::{HashMap, VecDeque};

/// No notice has more bytes.
const LONGEST: u64 = 1 << 24;

/// What has come.
#[derive(Debug, Default)]
pub struct Notices {
    /// By sender, what has come of one, and how many bytes it has.
    coming: HashMap<Proc, (Vec<u8>, usize)>,
    whole: VecDeque<(Proc, Box<[u8]>)>,
}

impl Notices {
    /// What is wrong with the next `len` bytes of a notice of `size` bytes. A device may take a packet without any of them.
    pub fn flaw(&self, from: Proc, size: u64, len: usize) -> Option<&'static str> {
        let (has, all) = self.coming.get(&from).map_or((0, size), |(bytes, all)| (bytes.len() as u64, *all as u64));
        match () {
            () if size == 0 || size > LONGEST => Some("no notice has so many bytes"),
            () if size != all => Some("another notice is not whole yet"),
            () if has + len as u64 > size => Some("its notice does not wait for so many bytes"),
            () => None,
        }
    }

    /// The next bytes have come, in which there is no [flaw](Notices::flaw). True when the notice is whole.
    pub fn take_in(&mut self, from: Proc, size: u64, payload: &[u8]) -> bool {
        if payload.len() as u64 == size {
            // What came of it before was a packet without a byte (see `flaw`).
            if !self.coming.is_empty() {
                self.coming.remove(&from);
            }
            self.whole.push_back((from, payload.into()));
            return true;
        }
        let (bytes, all) = self.coming.entry(from).or_insert_with(|| (Vec::new(), size as usize));
        bytes.extend_from_slice(payload);
        let is_whole = bytes.len() == *all;
        if is_whole && let Some((bytes, _)) = self.coming.remove(&from) {
            self.whole.push_back((from, bytes.into()));
        }
        is_whole
    }

    /// The oldest whole notice.
    pub fn take(&mut self) -> Option<(Proc, Box<[u8]>)> {
        self.whole.pop_front()
    }

    /// Nothing more comes from `from`; what is whole stays.
    pub fn forget(&mut self, from: Proc) {
        self.coming.remove(&from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_whole_with_its_last_byte() {
        let mut notices = Notices::default();
        assert!(!notices.take_in(3, 5, b"ab") && !notices.take_in(4, 2, b"x"));
        assert!(notices.take().is_none());
        assert!(notices.take_in(3, 5, b"cde") && notices.take_in(3, 1, b"f"));
        assert_eq!(notices.take(), Some((3, Box::from(*b"abcde"))));
        assert_eq!(notices.take(), Some((3, Box::from(*b"f"))));
        notices.forget(4);
        assert!(notices.take_in(4, 1, b"z"));
    }

    #[test]
    fn a_packet_without_a_byte_begins_nothing_that_stays() {
        let mut notices = Notices::default();
        assert!(!notices.take_in(3, 5, b"") && notices.take_in(3, 5, b"abcde"));
        assert!(notices.flaw(3, 2, 2).is_none(), "the next notice begins");
        assert!(notices.take_in(3, 2, b"fg"));
        assert_eq!(notices.take(), Some((3, Box::from(*b"abcde"))));
        assert_eq!(notices.take(), Some((3, Box::from(*b"fg"))));
    }

    #[test]
    fn what_does_not_fit_is_flawed() {
        let mut notices = Notices::default();
        assert!(notices.flaw(3, 0, 0).is_some() && notices.flaw(3, LONGEST + 1, 1).is_some());
        assert!(notices.flaw(3, 5, 6).is_some());
        assert!(notices.flaw(3, 5, 0).is_none() && notices.flaw(3, 5, 5).is_none());
        notices.take_in(3, 5, b"ab");
        assert!(notices.flaw(3, 5, 4).is_some() && notices.flaw(3, 4, 1).is_some());
        assert!(notices.flaw(3, 5, 3).is_none() && notices.flaw(4, 9, 9).is_none());
    }
}
