//! Regions of one process, as its peers find them.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

fn table() -> &'static Table {
    // SAFETY: all fields are atomics, which may be zeros.
    Box::leak(unsafe { Box::<Table>::new_zeroed().assume_init() })
}

/// Segments of a region that no other one has.
fn segments(number: u64, count: u64) -> Vec<Run> {
    (0..count).map(|at| Run { address: number << 20 | at, len: at % 7 + 1 }).collect()
}

fn sum(segments: &[Run]) -> u64 {
    segments.iter().map(|run| run.len).sum()
}

proptest! {
    #[test]
    fn a_cookie_names_its_region_while_that_is_open(
        actions in prop::collection::vec((any::<bool>(), 0..300u64), 1..300),
    ) {
        let (regions, table) = (Regions::default(), table());
        let (mut open, mut closed) = (HashMap::new(), Vec::new());
        for (number, &(opens, count)) in actions.iter().enumerate() {
            if opens {
                let list = segments(number as u64, count);
                match regions.open(&list, || Some(table)) {
                    Some(cookie) => prop_assert!(cookie != 0 && open.insert(cookie, list).is_none()),
                    None => prop_assert_eq!(open.len(), MOST),
                }
            } else if let Some(&cookie) = open.keys().nth(count as usize % open.len().max(1)) {
                regions.close(cookie);
                open.remove(&cookie);
                closed.push((cookie, count));
            }
        }
        prop_assert_eq!(regions.count(), open.len());
        for (&cookie, list) in &open {
            let len = sum(list);
            prop_assert_eq!(&table.read(cookie, len).expect("it is open"), list);
            prop_assert!(table.read(cookie, len + 1).is_none(), "a region of another length");
            prop_assert!(table.read(cookie + MOST as u64, len).is_none() || open.contains_key(&(cookie + MOST as u64)));
        }
        for (cookie, _) in closed {
            prop_assert!((0..2000).all(|len| table.read(cookie, len).is_none()), "a region that was closed");
        }
    }

    #[test]
    fn any_cookie_is_read(cookie in any::<u64>(), len in any::<u64>(), count in any::<u64>(), run in any::<(u64, u64)>()) {
        let table = table();
        prop_assert_eq!(table.read(0, 0), None);
        let entry = table.entry(cookie);
        entry.count.store(count, Ordering::Relaxed);
        entry.segments[0][1].store(run.1, Ordering::Relaxed);
        entry.segments[SEGMENTS - 1][1].store(run.0, Ordering::Relaxed);
        entry.cookie.store(cookie, Ordering::Relaxed);
        let read = table.read(cookie, len);
        prop_assert!(read.is_none_or(|list| list.len() <= SEGMENTS && sum(&list) == len));
    }
}

#[test]
fn what_there_is_no_room_for_is_no_region() {
    let (regions, table) = (Regions::default(), table());
    assert_eq!(regions.open(&segments(1, SEGMENTS as u64 + 1), || Some(table)), None);
    let longest = segments(2, SEGMENTS as u64);
    let cookie = regions.open(&longest, || unreachable!("it is made once")).expect("room");
    assert_eq!(table.read(cookie, sum(&longest)), Some(longest));
    let without = Regions::default();
    assert_eq!(without.open(&segments(1, 1), || None), None);
    assert_eq!(without.open(&segments(1, 1), || Some(table)), None, "it is asked for once");
}
