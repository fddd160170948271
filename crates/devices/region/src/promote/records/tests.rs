use super::*;
use proptest::prelude::*;

const PAGE: usize = 4096;

fn record(start: usize, pages: usize, offset: u64) -> Record {
    let pages = start * PAGE..(start + pages) * PAGE;
    Record { offset, address: pages.start, len: pages.len(), needed: 3, uses: 0, pages }
}

fn records(all: &[(usize, usize, u64)]) -> Records {
    let mut records = Records::default();
    for &(start, pages, offset) in all {
        records.insert(record(start, pages, offset * PAGE as u64));
    }
    records
}

fn vma(start: usize, pages: usize, offset: u64) -> Vma {
    Vma::made_up(start * PAGE..(start + pages) * PAGE, offset * PAGE as u64)
}

#[test]
fn neighbours_whose_offsets_follow_are_one_place() {
    let records = records(&[(10, 2, 100), (12, 2, 102), (14, 1, 300)]);
    assert_eq!(records.place(10 * PAGE + 5, PAGE), Some(100 * PAGE as u64 + 5));
    assert_eq!(records.place(10 * PAGE, 4 * PAGE), Some(100 * PAGE as u64));
    assert_eq!(records.place(12 * PAGE, 2 * PAGE), Some(102 * PAGE as u64));
    assert_eq!(records.place(13 * PAGE, PAGE + 1), None, "the offsets jump");
    assert_eq!(records.place(14 * PAGE, PAGE + 1), None, "not promoted");
    assert_eq!(records.place(9 * PAGE, 2 * PAGE), None);
    assert_eq!(records.place(10 * PAGE, usize::MAX), None);
}

#[test]
fn what_is_unmapped_in_the_middle_is_gone() {
    let mut records = records(&[(10, 6, 100)]);
    let gone = records.keep(&[vma(10, 2, 100), vma(14, 2, 104)]);
    assert_eq!(
        gone.iter().map(|one| (one.pages.clone(), one.offset)).collect::<Vec<_>>(),
        [(12 * PAGE..14 * PAGE, 102 * PAGE as u64)]
    );
    assert_eq!(records.place(10 * PAGE, 2 * PAGE), Some(100 * PAGE as u64));
    assert_eq!(records.place(14 * PAGE, 2 * PAGE), Some(104 * PAGE as u64));
    assert_eq!(records.place(11 * PAGE, 2 * PAGE), None);
}

#[test]
fn what_has_moved_is_found_at_its_new_address() {
    let mut records = records(&[(10, 2, 100)]);
    let gone = records.keep(&[vma(50, 4, 100)]);
    assert_eq!(gone.len(), 1);
    assert_eq!(records.place(10 * PAGE, PAGE), None);
    assert_eq!(records.place(50 * PAGE, 4 * PAGE), Some(100 * PAGE as u64));
}

#[test]
fn another_file_range_at_the_address_is_not_ours() {
    let mut records = records(&[(10, 2, 100)]);
    assert_eq!(records.keep(&[vma(10, 2, 700)]).len(), 1);
    assert_eq!(records.place(10 * PAGE, PAGE), Some(700 * PAGE as u64));
}

proptest! {
    /// After `keep`, a page has a place if and only if it is mapped, and the one where it is
    /// mapped.
    #[test]
    fn records_agree_with_the_kernel(
        before in prop::collection::vec(any::<bool>(), 40),
        after in prop::collection::vec(prop::option::weighted(0.7, prop::bool::weighted(0.8)), 40),
    ) {
        // Pages at their linear offset (true), elsewhere in the file (false), or not promoted.
        let mut records = Records::default();
        for (page, _) in before.iter().enumerate().filter(|(_, promoted)| **promoted) {
            records.insert(record(page, 1, page as u64 * PAGE as u64));
        }
        let mapped: Vec<Vma> = after.iter().enumerate().filter_map(|(page, state)| {
            state.map(|linear| vma(page, 1, if linear { page as u64 } else { 1000 + 2 * page as u64 }))
        }).collect();
        let gone = records.keep(&mapped);
        for (page, state) in after.iter().enumerate() {
            let expected = mapped.iter().find(|vma| vma.start == page * PAGE).map(|vma| vma.offset);
            prop_assert_eq!(records.place(page * PAGE, PAGE), expected);
            let lost = before[page] && *state != Some(true);
            prop_assert_eq!(gone.iter().any(|one| one.pages.contains(&(page * PAGE))), lost);
        }
        prop_assert!(records.keep(&mapped).is_empty(), "nothing changes the second time");
    }
}

#[test]
fn uses_are_counted_where_the_buffer_begins() {
    let first = Record { uses: 3, ..record(10, 2, 100) };
    assert_eq!(first.has_paid(), Some(true));
    assert_eq!(Record { uses: 2, ..first.clone() }.has_paid(), Some(false));
    let rest = Record { address: first.address, ..record(12, 2, 102) };
    assert_eq!(rest.has_paid(), None, "promoted for the same buffer, of which the first pages were");
}
