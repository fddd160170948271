//! Views of a small file, with small limits.

use super::*;
use crate::Heap;
use proptest::prelude::*;
use rustix::fs::{self, MemfdFlags};

const PAGE: u64 = 4096;

fn file(len: u64) -> OwnedFd {
    let file = fs::memfd_create("tern-test", MemfdFlags::CLOEXEC).expect("memfd_create");
    fs::ftruncate(&file, len).expect("ftruncate");
    file
}

fn small(file: OwnedFd) -> Views {
    Views::with(file, Limits { view: 4 * PAGE, views: 10, bytes: 60 * PAGE, is_real: false })
}

fn mapped(views: &Views) -> u64 {
    views.views.borrow().iter().map(|view| view.end - view.start).sum()
}

#[test]
fn a_view_shows_what_the_owner_has_written_and_the_reverse() {
    let file = file(0);
    let views = Views::new(file.try_clone().expect("dup"));
    let heap = Heap::new(file, PAGE, 1 << 30);
    let own = heap.allocate(100).expect("memory");
    let seen = views.at(heap.place(own, 100).expect("a place"), 100).expect("a view");
    assert_ne!(own, seen);
    // SAFETY: both are the same 100 bytes, at two addresses, hence volatile.
    unsafe {
        own.add(99).write_volatile(5);
        assert_eq!(seen.add(99).read_volatile(), 5);
        seen.write_volatile(6);
        assert_eq!(own.read_volatile(), 6);
    }
    let place = heap.place(own, 100);
    // SAFETY: used no more.
    assert!(unsafe { heap.free(own) });
    // The same offsets, fresh memory: the old view shows that.
    let again = heap.allocate(100).expect("memory");
    assert_eq!(heap.place(again, 100), place);
    // SAFETY: as above.
    unsafe {
        assert_eq!(seen.read_volatile(), 0);
        again.write_volatile(8);
        assert_eq!(seen.read_volatile(), 8);
    }
}

#[test]
fn what_cannot_be_mapped_is_an_error() {
    let views = Views::new(file(PAGE));
    assert_eq!(views.at(Place(u64::MAX - 5), 100).unwrap_err().raw_os_error(), Some(libc::EOVERFLOW));
    assert!(views.at(Place(u64::MAX), usize::MAX).is_err());
    assert_eq!(views.at(Place(0), 1 << 60).unwrap_err().raw_os_error(), Some(libc::ENOMEM));
    // And it still works.
    assert!(views.at(Place(0), 1).is_ok());
}

#[test]
fn dropped_views_are_unmapped() {
    let views = Views::new(file(PAGE));
    let address = views.at(Place(0), 1).expect("a view");
    drop(views);
    // SAFETY: asks about pages, touches none.
    let unmapped = unsafe { mm::msync(address.cast(), 4096, mm::MsyncFlags::ASYNC) };
    assert_eq!(unmapped, Err(Errno::NOMEM));
}

proptest! {
    /// Every address shows its place, for as long as promised, and the limits hold.
    #[test]
    fn addresses_show_their_places(asked in prop::collection::vec((0u64..200 * PAGE, 1usize..6 * 4096), 1..200)) {
        let file = file(210 * PAGE);
        // Each page begins with its number, and so does each 8-byte word in it.
        for word in 0..210 * PAGE / 512 {
            rustix::io::pwrite(&file, &(word * 512).to_ne_bytes(), word * 512).expect("pwrite");
        }
        let views = small(file);
        let mut given: Vec<(u64, *mut u8)> = Vec::new();
        for (start, len) in asked {
            let start = start / 512 * 512;
            given.push((start, views.at(Place(start), len).expect("a view")));
            for (start, address) in given.iter().rev().take(KEPT + 1) {
                // SAFETY: inside the file and still mapped, as `at` promises.
                prop_assert_eq!(unsafe { address.cast::<u64>().read_volatile() }, *start);
            }
            prop_assert!(views.views.borrow().len() <= 10);
            prop_assert!(mapped(&views) <= 60 * PAGE + KEPT as u64 * 8 * PAGE);
        }
    }
}

/// Reads of first touch, not measured in time but in page faults.
#[test]
fn a_first_write_costs_few_faults() {
    const LEN: usize = 4 << 20;
    let file = file(0);
    let views = Views::new(file.try_clone().expect("dup"));
    let heap = Heap::new(file, PAGE, 1 << 30);
    let own = heap.allocate(LEN).expect("memory");
    // SAFETY: our own bytes.
    unsafe { own.write_bytes(1, LEN) };
    let place = heap.place(own, LEN).expect("a place");
    let faults = || {
        // SAFETY: all zeros is a value of this type, which the call overwrites.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: writes into the variable above.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        usage.ru_minflt
    };
    let before = faults();
    let seen = views.at(place, LEN).expect("a view");
    // SAFETY: the same bytes, seen through the view.
    unsafe { seen.write_bytes(2, LEN) };
    let took = faults() - before;
    assert!(took < LEN as i64 / 4096 / 2, "{took} faults for {} pages", LEN / 4096);
}
