//! The heap on a file of its own.

use super::*;
use rustix::fs::MemfdFlags;

const BASE: u64 = 1 << 20;
const SPAN: u64 = 64 << 20;

fn file() -> OwnedFd {
    fs::memfd_create("tern-test", MemfdFlags::CLOEXEC).expect("memfd_create")
}

fn heap() -> Heap {
    Heap::new(file(), BASE, SPAN)
}

/// What the file holds at `place`.
fn in_file(heap: &Heap, place: Place, len: usize) -> Vec<u8> {
    let mut bytes = vec![0xee; len];
    let got = rustix::io::pread(&heap.file, &mut bytes[..], place.0).expect("pread");
    assert_eq!(got, len);
    bytes
}

/// Bytes of memory that the file takes.
fn taken(heap: &Heap) -> i64 {
    fs::fstat(&heap.file).expect("fstat").st_blocks * 512
}

#[test]
fn memory_is_zeroed_and_seen_through_the_file() {
    let heap = heap();
    let at = heap.allocate(10_000).expect("memory");
    // SAFETY: 10,000 bytes of our own.
    let bytes = unsafe { std::slice::from_raw_parts_mut(at, 10_000) };
    assert!(bytes.iter().all(|byte| *byte == 0));
    bytes[9_999] = 7;
    // SAFETY: inside the allocation.
    let last = unsafe { at.add(9_999) };
    let place = heap.place(last, 1).expect("a place");
    assert!(place.0 >= BASE && place.0 < BASE + SPAN);
    assert_eq!(in_file(&heap, place, 1), [7]);
}

#[test]
fn a_place_is_for_whole_ranges_inside_one_allocation() {
    let heap = heap();
    let page = rustix::param::page_size();
    let all: Vec<*mut u8> = (1..40).map(|pages| heap.allocate(pages * page).expect("memory")).collect();
    for (index, &at) in all.iter().enumerate() {
        let len = (index + 1) * page;
        let place = heap.place(at, len).expect("the whole");
        assert_eq!(heap.place(at.wrapping_add(17), len - 17), Some(Place(place.0 + 17)));
        assert_eq!(heap.place(at.wrapping_add(len - 1), 0), Some(Place(place.0 + len as u64 - 1)));
        // Neighbours in memory are not neighbours in the file.
        assert_eq!(heap.place(at, len + 1), None);
        assert_eq!(heap.place(at.wrapping_add(1), len), None);
        assert_eq!(heap.place(at, usize::MAX), None);
    }
    let private = [0u8; 8];
    assert_eq!(heap.place(private.as_ptr(), 8), None);
    assert_eq!(heap.place(std::ptr::null(), 0), None);
}

#[test]
fn freed_memory_goes_back_and_its_offsets_are_used_again() {
    let heap = heap();
    let len = 3 << 20;
    let at = heap.allocate(len).expect("memory");
    let place = heap.place(at, len).expect("a place");
    // SAFETY: our own bytes.
    unsafe { at.write_bytes(9, len) };
    assert!(taken(&heap) >= len as i64);
    // SAFETY: used no more.
    assert!(unsafe { heap.free(at) });
    // SAFETY: it is not of this heap any more, so nothing happens.
    assert!(!unsafe { heap.free(at) });
    assert_eq!(heap.place(at, 1), None);
    assert_eq!(taken(&heap), 0);
    let again = heap.allocate(len).expect("memory");
    assert_eq!(heap.place(again, len), Some(place));
    // SAFETY: our own bytes.
    assert!(unsafe { std::slice::from_raw_parts(again, len) }.iter().all(|byte| *byte == 0));
}

#[test]
fn a_full_heap_says_so_and_recovers() {
    let heap = heap();
    assert_eq!(heap.allocate(SPAN as usize + 1).unwrap_err().raw_os_error(), Some(libc::ENOMEM));
    assert_eq!(heap.allocate(usize::MAX).unwrap_err().raw_os_error(), Some(libc::ENOMEM));
    let at = heap.allocate(SPAN as usize - 4096).expect("nearly all of it");
    assert!(heap.allocate(8192).is_err());
    // SAFETY: used no more.
    assert!(unsafe { heap.free(at) });
    assert!(heap.allocate(8192).is_ok());
}

#[test]
fn a_reserved_range_has_room_that_nobody_gets() {
    let heap = heap();
    let page = rustix::param::page_size();
    let offset = heap.reserve(5000, 1 << 20).expect("a range");
    let next = heap.reserve(1, 0).expect("a range");
    let end = offset + 2 * page as u64 + (1 << 20);
    assert!(next >= end || next + page as u64 <= offset);
    // The file reaches beyond the room, so that growing a mapping finds zeros.
    assert!(fs::fstat(&heap.file).expect("fstat").st_size as u64 >= end);
    assert!(in_file(&heap, Place(offset), 1 << 20).iter().all(|byte| *byte == 0));
    assert_eq!(rustix::io::pwrite(&heap.file, b"x", offset + (1 << 20)), Ok(1));
    heap.release(offset);
    assert_eq!(in_file(&heap, Place(offset + (1 << 20)), 1), [0]);
    assert_eq!(heap.reserve(5000, 1 << 20), Some(offset));
    assert_eq!(heap.reserve(SPAN as usize, 0), None);
    assert_eq!(heap.reserve(1, u64::MAX), None);
}

#[test]
fn a_longer_file_stays_long() {
    let file = file();
    fs::ftruncate(&file, BASE + 2 * SPAN).expect("ftruncate");
    let heap = Heap::new(file, BASE, SPAN);
    heap.allocate(1).expect("memory");
    assert_eq!(fs::fstat(&heap.file).expect("fstat").st_size as u64, BASE + 2 * SPAN);
}

/// What `child` returns, run in a process of its own, for it changes limits of the process.
fn in_child(child: impl FnOnce() -> bool) -> Option<i32> {
    // SAFETY: the child only runs the closure, which makes system calls and allocates; glibc's
    // allocator is usable after a fork.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let code = i32::from(!child());
        // SAFETY: ends the child without the test harness's exit handlers.
        unsafe { libc::_exit(code) };
    }
    let pid = rustix::process::Pid::from_raw(pid).expect("fork");
    let status = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    status.ok().flatten().and_then(|(_, status)| status.exit_status())
}

#[test]
fn a_limit_on_file_size_is_an_error_and_no_signal() {
    let code = in_child(|| {
        let heap = heap();
        let limit = BASE + (1 << 20);
        let limits = rustix::process::Rlimit { current: Some(limit), maximum: Some(limit) };
        rustix::process::setrlimit(rustix::process::Resource::Fsize, limits).is_ok()
            && heap.allocate(512 << 10).is_ok()
            && heap.allocate(1 << 20).unwrap_err().raw_os_error() == Some(libc::EFBIG)
            && heap.reserve(4096, 1 << 20).is_none()
            // What fits the limit is still to be had.
            && heap.allocate(256 << 10).is_ok()
    });
    assert_eq!(code, Some(0), "it failed, or died by SIGXFSZ");
}

#[test]
fn a_limit_on_address_space_is_an_error() {
    let code = in_child(|| {
        let heap = Heap::new(file(), BASE, 1 << 40);
        let limits = rustix::process::Rlimit { current: Some(1 << 30), maximum: Some(1 << 30) };
        rustix::process::setrlimit(rustix::process::Resource::As, limits).is_ok()
            && heap.allocate(4 << 30).unwrap_err().raw_os_error() == Some(libc::ENOMEM)
            && heap.allocate(1 << 20).is_ok()
    });
    assert_eq!(code, Some(0));
}

#[test]
fn under_strict_overcommit_pages_are_taken_at_once() {
    let heap = heap();
    assert!(heap.strict.set(true).is_ok());
    heap.allocate(1 << 20).expect("memory");
    assert_eq!(taken(&heap), 1 << 20);
    // Without, nothing is taken before it is used.
    let heap = self::heap();
    assert!(heap.strict.set(false).is_ok());
    heap.allocate(1 << 20).expect("memory");
    assert_eq!(taken(&heap), 0);
}
