use super::*;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ffi::c_void;

const PAGE: usize = 4096;

/// Memory between two pages that nobody may touch.
struct Guarded {
    map: *mut c_void,
    len: usize,
}

impl Guarded {
    /// At least `len` bytes, in whole pages.
    fn new(len: usize) -> Guarded {
        let len = len.next_multiple_of(PAGE);
        let (all, flags) = (len + 2 * PAGE, MapFlags::PRIVATE);
        // SAFETY: a new mapping at an address of the kernel's choice, made accessible inside.
        unsafe {
            let map = mmap_anonymous(ptr::null_mut(), all, ProtFlags::empty(), flags).unwrap();
            let inner = MprotectFlags::READ | MprotectFlags::WRITE;
            mprotect(map.byte_add(PAGE), len, inner).unwrap();
            Guarded { map, len }
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: accessible, and ours.
        unsafe { std::slice::from_raw_parts_mut(self.map.byte_add(PAGE).cast(), self.len) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { munmap(self.map, self.len + 2 * PAGE).unwrap() };
    }
}

/// Bytes without a short period.
fn noise(i: usize) -> u8 {
    ((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

const UNTOUCHED: u8 = 0xa5;

/// Everything that copies, the public routine with every hint included.
fn routines() -> Vec<Kernel> {
    use Source::{Any, Peer};
    use Target::{Later, Soon};
    let mut all = kernels();
    let mut add = |name, run| all.push(Kernel { name, run });
    add("copy any soon", |to, from, len| {
        use_vectors(false);
        // SAFETY: the caller's contract is the same.
        unsafe { copy(to, from, len, Any, Soon) }
    });
    add("copy by vectors", |to, from, len| {
        use_vectors(true);
        // SAFETY: the same.
        unsafe { copy(to, from, len, Any, Soon) }
    });
    // SAFETY: the same.
    add("copy any later", |to, from, len| unsafe { copy(to, from, len, Any, Later) });
    // SAFETY: the same.
    add("copy peer soon", |to, from, len| unsafe { copy(to, from, len, Peer, Soon) });
    // SAFETY: the same.
    add("copy peer later", |to, from, len| unsafe { copy(to, from, len, Peer, Later) });
    all
}

/// One copy, between these bytes of the two memories; everything else must stay as it is.
fn try_copy(routine: &Kernel, to: &mut [u8], at: usize, from: &[u8], of: usize, len: usize) {
    to.fill(UNTOUCHED);
    // SAFETY: the ranges are within the slices, which are checked.
    unsafe { (routine.run)(to[at..at + len].as_mut_ptr(), from[of..of + len].as_ptr(), len) };
    let what = || format!("{} of {len} bytes from {of} to {at}", routine.name);
    assert!(to[at..at + len] == from[of..of + len], "{}", what());
    let outside = to[..at].iter().chain(&to[at + len..]);
    assert!(outside.copied().all(|byte| byte == UNTOUCHED), "{}: wrote outside", what());
}

fn memories(len: usize) -> (Guarded, Guarded) {
    let (mut to, mut from) = (Guarded::new(len), Guarded::new(len));
    to.bytes().fill(UNTOUCHED);
    from.bytes().iter_mut().enumerate().for_each(|(i, byte)| *byte = noise(i));
    (to, from)
}

#[test]
fn short_copies_at_every_alignment() {
    let (mut to, mut from) = memories(PAGE);
    let (to, from) = (&mut to.bytes()[..512], from.bytes());
    for routine in routines() {
        for len in 0..=300 {
            // All pairs of alignments would take minutes: one varies at a time, then both.
            for skew in 0..64 {
                try_copy(&routine, to, skew, from, 0, len);
                try_copy(&routine, to, 0, from, skew, len);
                try_copy(&routine, to, skew, from, 63 - skew, len);
            }
        }
    }
}

/// By ordinary memory and by few lengths, so that Miri can watch every access.
#[test]
fn what_is_known_of_memory_changes_no_byte() {
    const LEN: usize = 5000;
    let from: Vec<u8> = (0..LEN).map(noise).collect();
    let sources = [Source::Any, Source::Run, Source::LongRun, Source::Fresh, Source::Peer];
    let targets = [Target::Soon, Target::Later, Target::Peer];
    for (source, target) in sources.into_iter().flat_map(|source| targets.map(|target| (source, target))) {
        for (at, len) in [(0, 0), (3, 1), (5, SHORT - 1), (8, SHORT), (1, 2 * SHORT + 7), (0, LEN)] {
            let mut to = vec![UNTOUCHED; LEN];
            // SAFETY: both lie within their memory.
            unsafe { copy(to[at..].as_mut_ptr(), from[at..].as_ptr(), len, source, target) };
            let mut expected = vec![UNTOUCHED; LEN];
            expected[at..at + len].copy_from_slice(&from[at..at + len]);
            assert!(to == expected, "{source:?} {target:?} {len} at {at}");
        }
    }
}

#[test]
fn copies_up_to_the_guard_pages() {
    let (mut to, mut from) = memories(4 * PAGE);
    let all = 4 * PAGE;
    let (to, from) = (to.bytes(), from.bytes());
    for routine in routines() {
        for len in (0..=300).chain([1000, 1024, 1025, 4095, 4096, 4100, 8191, 16000, 16384]) {
            try_copy(&routine, to, 0, from, 0, len);
            try_copy(&routine, to, all - len, from, all - len, len);
            try_copy(&routine, to, 0, from, all - len, len);
            try_copy(&routine, to, all - len, from, 0, len);
        }
    }
}

#[test]
fn long_copies() {
    let (mut to, mut from) = memories(5 << 20);
    let (to, from) = (to.bytes(), from.bytes());
    for routine in routines() {
        for len in [(64 << 10) + 1, (1 << 20) - 17, 4 << 20] {
            for (at, of) in [(0, 0), (16, 0), (0, 48), (33, 31)] {
                try_copy(&routine, to, at, from, of, len);
            }
        }
    }
}

#[test]
fn hints_change_no_memory_and_touch_no_guard() {
    let (mut to, mut from) = memories(PAGE);
    for len in 0..=PAGE {
        expect(to.bytes().as_mut_ptr(), len);
        // SAFETY: mapped.
        unsafe { give_back(from.bytes()[PAGE - len..].as_ptr(), len, Source::Peer) };
    }
    // Beyond the mapping prefetching is harmless.
    expect(to.bytes().as_mut_ptr().wrapping_add(PAGE - 1), PAGE);
    assert!(to.bytes().iter().all(|&byte| byte == UNTOUCHED));
    assert!(from.bytes().iter().enumerate().all(|(i, &byte)| byte == noise(i)));
}

/// What is told of a source and a target reaches another thread in order.
#[test]
fn a_release_publishes_what_was_copied() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    const LEN: usize = 8 << 10;
    const TURNS: usize = if cfg!(miri) { 50 } else { 2000 };
    let mut cell = vec![0u8; LEN];
    let cell = cell.as_mut_ptr() as usize;
    let turn = AtomicUsize::new(0);
    let wait = |value| {
        // Acquire: pairs with the releases below.
        while turn.load(Ordering::Acquire) != value {
            std::thread::yield_now();
        }
    };
    let hints = |i| {
        if i % 2 == 0 { Target::Soon } else { Target::Later }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..TURNS {
                let from = [i as u8; LEN];
                wait(2 * i);
                // SAFETY: the turn says that the cell is ours.
                unsafe { copy(cell as *mut u8, from.as_ptr(), LEN, Source::Any, hints(i)) };
                // Release: pairs with the acquire of `wait`.
                turn.store(2 * i + 1, Ordering::Release);
            }
        });
        for i in 0..TURNS {
            let mut to = [0; LEN];
            wait(2 * i + 1);
            let to_hint = hints(i / 2);
            // SAFETY: as above.
            unsafe { copy(to.as_mut_ptr(), cell as *const u8, LEN, Source::Peer, to_hint) };
            // Release: pairs with the acquire of `wait`.
            turn.store(2 * i + 2, Ordering::Release);
            assert!(to == [i as u8; LEN], "turn {i}");
        }
    });
}
