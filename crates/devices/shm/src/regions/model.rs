//! A region under loom.

use super::Entry;
use crate::sync::AtomicU64;
use loom::sync::Arc;
use loom::thread;
use tern_device::Run;

fn list(number: u64) -> [Run; 2] {
    [Run { address: number, len: number }, Run { address: 2 * number, len: number }]
}

/// A reader that comes late has the whole list or nothing, while the entry becomes another region's.
#[test]
fn a_reader_has_the_list_of_its_cookie_or_nothing() {
    loom::model(|| {
        let word = || AtomicU64::new(0);
        let segments = std::array::from_fn(|_| [word(), word()]);
        let entry = Arc::new(Entry { cookie: word(), count: word(), segments });
        entry.open(1, &list(1));
        let other = entry.clone();
        let reader = thread::spawn(move || (other.read(1), other.read(2)));
        entry.close();
        entry.open(2, &list(2)[..1]);
        let (first, second) = reader.join().unwrap();
        assert!(first.is_none_or(|read| read == list(1)));
        assert!(second.is_none_or(|read| read == list(2)[..1]));
    });
}
