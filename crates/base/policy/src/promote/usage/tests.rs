use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

#[test]
fn due_at_the_needed_use_and_not_before() {
    let mut usage = Usage::new();
    let due: Vec<bool> = (0..5).map(|_| usage.used(4096, 100, 100, 5)).collect();
    assert_eq!(due, [false, false, false, false, true]);
}

#[test]
fn lengths_of_one_class_count_together_and_others_apart() {
    let mut usage = Usage::new();
    assert!(!usage.used(4096, 65, 65, 2));
    assert!(!usage.used(4096, 64, 64, 2));
    assert!(usage.used(4096, 128, 128, 2));
}

#[test]
fn an_attempt_in_vain_doubles_the_wait_and_success_ends_that() {
    let mut usage = Usage::new();
    let wait = |usage: &mut Usage| (1..).find(|_| usage.used(4096, 100, 100, 8)).unwrap();
    assert_eq!(wait(&mut usage), 8);
    usage.failed(4096, 100);
    let second = wait(&mut usage);
    assert!((15..=16).contains(&second), "{second}");
    usage.failed(4096, 100);
    let third = wait(&mut usage);
    assert!((31..=32).contains(&third), "{third}");
    usage.paid(4096, 100);
    assert!(wait(&mut usage) <= 8);
}

#[test]
fn what_was_used_long_ago_has_left_the_caches() {
    const LATE: u64 = 8 << 20;
    let mut usage = Usage::new();
    let len = 1 << 20;
    assert_eq!(usage.warmth(4096, len, |_| true), Warmth::Warm, "nothing is known of it");
    usage.used(4096, len, len, 100);
    let others = LATE as usize / len;
    let warmth = |usage: &Usage| usage.warmth(4096, len, |passed| passed >= LATE);
    for other in 1..=others {
        assert_eq!(warmth(&usage), Warmth::Warm, "after {other}");
        usage.used(other << 24, len, len, 100);
    }
    assert_eq!(warmth(&usage), Warmth::Cold);
    usage.used(4096, len, len, 100);
    assert_eq!(warmth(&usage), Warmth::Warm);
}

#[test]
fn patience_has_an_end() {
    let mut usage = Usage::new();
    for _ in 0..100 {
        usage.failed(4096, 100);
    }
    assert!((0..1 << MOST_PATIENCE).any(|_| usage.used(4096, 100, 100, 1)));
}

#[test]
fn a_first_use_is_due_however_full_the_table_is() {
    let mut usage = Usage::new();
    for i in 0..10_000usize {
        assert!(usage.used((i + 1) << 12, 4096, 4096, 1), "buffer {i}");
    }
}

#[test]
fn thousands_of_buffers_used_once_do_not_hide_one_that_is_used_often() {
    let mut usage = Usage::new();
    let mut due = 0;
    for i in 0..100_000usize {
        assert!(!usage.used((i + 10) << 12, 4096, 4096, 4));
        // One use in five: more than its share of any set.
        if i % 4 == 0 && usage.used(4096, 4096, 4096, 100) {
            due += 1;
        }
    }
    assert!(due > 0);
    let places = usage.sets.iter().flatten().count();
    assert_eq!(places, WAYS * SETS);
}

#[test]
fn neighbours_count_together() {
    let mut usage = Usage::new();
    let all = 0x10_0000..0x10_0000 + 4 * 5000;
    let other = 0x20_0000;
    for _ in 0..GLANCE {
        for address in all.clone().step_by(5000) {
            assert!(!usage.used(address, 4800, 4800, 100));
        }
        // Further away, of another class, and used too seldom.
        usage.used(other, 4800, 4800, 100);
        usage.used(all.end, 400, 400, 100);
    }
    usage.used(all.end + 400, 4800, 4800, 100);
    let row = usage.row(all.start + 5000, 4800, 4096);
    let (start, len) = (all.start, 3 * 5000 + 4800);
    assert_eq!(row, Some(Row { start, len, uses: u64::from(4 * GLANCE), patience: 1 }));
    assert_eq!(usage.row(other, 4800, 4096), None, "it stands alone");
    usage.used(all.start, 4800, 4800, 100);
    assert_eq!(usage.row(all.start, 4800, 4096), None, "neighbours are looked at now and then only");

    usage.restart(&row.unwrap());
    usage.failed(start, len);
    for _ in 1..GLANCE {
        all.clone().step_by(5000).for_each(|address| _ = usage.used(address, 4800, 4800, 100));
    }
    let again = usage.row(all.start, 4800, 4096).unwrap();
    assert_eq!((again.uses, again.patience), (u64::from(4 * GLANCE), 2), "it was in vain");
}

#[test]
fn a_large_matrix_is_not_promoted_for_its_columns() {
    assert!(is_short(LONGEST, 1));
    assert!(!is_short(LONGEST + 1, LONGEST / 4 - 1));
    assert!(is_short(1 << 40, 1 << 38), "mostly data");
}

/// What a column leaves in the caches is not the matrix.
#[test]
fn a_column_is_used_soon_again() {
    const MATRIX: usize = 8 << 20;
    let mut usage = Usage::new();
    let warmth = |usage: &Usage| usage.warmth(4096, MATRIX, |passed| passed >= MATRIX as u64);
    usage.used(4096, MATRIX, MATRIX / 1024, 100);
    usage.used(4096, MATRIX, MATRIX / 1024, 100);
    assert_eq!(warmth(&usage), Warmth::Warm);
    usage.used(1 << 30, MATRIX, MATRIX, 100);
    assert_eq!(warmth(&usage), Warmth::Cold);
}

proptest! {
    /// Nothing is due that was not used as often as it takes.
    #[test]
    fn never_due_too_early(uses in prop::collection::vec((0usize..40, 1u32..6), 1..2000)) {
        let mut usage = Usage::new();
        let mut counts: HashMap<usize, u32> = HashMap::new();
        for (buffer, needed) in uses {
            let count = counts.entry(buffer).or_default();
            *count += 1;
            if usage.used(buffer << 16, 5000, 5000, needed) {
                prop_assert!(*count >= needed, "{} of {}", count, needed);
                // The use that was due counts towards the next time.
                *count = 1;
            }
        }
    }

    /// A buffer with more than its share of the uses is due in the end, whatever else is used.
    #[test]
    fn the_frequent_are_found(others in prop::collection::vec(1usize..5000, 600..1200)) {
        let mut usage = Usage::new();
        let mut due = false;
        for other in others {
            usage.used(other << 12, 4096, 4096, u32::MAX);
            due |= usage.used(0x7000_0000_0000, 4096, 4096, 300);
        }
        prop_assert!(due);
    }
}
