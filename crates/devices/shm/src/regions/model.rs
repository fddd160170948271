//! A region under loom.

use super::Entry;
use loom::sync::Arc;
use loom::thread;
use tern_atomics::{AtomicU64, Ordering, fence};
use tern_device::Run;

fn list(number: u64) -> [Run; 2] {
    [Run { address: number, len: number }, Run { address: 2 * number, len: number }]
}

fn entry() -> Arc<Entry> {
    let word = || AtomicU64::new(0);
    let segments = std::array::from_fn(|_| [word(), word()]);
    Arc::new(Entry { cookie: word(), count: word(), segments })
}

/// A reader that comes late has the whole list or nothing, while the entry becomes another region's.
#[test]
fn a_reader_has_the_list_of_its_cookie_or_nothing() {
    loom::model(|| {
        let entry = entry();
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

/// So many of the stores by which an owner opens the second region of an entry. `None`: it has ended there.
fn open_until(entry: &Entry, mut steps: u32) -> Option<()> {
    let mut step = || steps.checked_sub(1).map(|left| steps = left);
    entry.close();
    step()?;
    fence(Ordering::Release);
    for (to, run) in entry.segments.iter().zip(&list(2)) {
        to[0].store(run.address, Ordering::Relaxed);
        step()?;
        to[1].store(run.len, Ordering::Relaxed);
        step()?;
    }
    entry.count.store(2, Ordering::Relaxed);
    step()?;
    entry.cookie.store(2, Ordering::Release);
    None
}

/// An owner ends while it opens a region. Readers, who wait for nothing, have the whole list of their cookie or nothing, then and later.
#[test]
fn an_owner_that_ends_at_any_step_leaves_a_whole_list_or_none() {
    for steps in 0..=6 {
        loom::model(move || {
            let entry = entry();
            entry.open(1, &list(1));
            let other = entry.clone();
            let owner = thread::spawn(move || _ = open_until(&other, steps));
            let is_whole = |read: Option<Vec<Run>>, cookie: u64| read.is_none_or(|read| read == list(cookie));
            assert!(is_whole(entry.read(1), 1) && is_whole(entry.read(2), 2));
            owner.join().unwrap();
            assert!(entry.read(1).is_none() && is_whole(entry.read(2), 2));
        });
    }
}
