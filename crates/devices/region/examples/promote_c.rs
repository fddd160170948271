//! Promotion for C programs: what tests/promote/*.c are linked with. A shared object of its own, as
//! the library is in a real program.

use std::ffi::{CString, c_char, c_int};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;
use tern_region::heap::Heap;
use tern_region::promote::{Costs, Policy, Promoter};
use tern_region::{Place, promote};

/// What a program under test holds.
pub struct Fixture {
    promoter: Option<Promoter>,
    file: File,
    why: CString,
}

/// Starts promotion over a node's file of its own: `policy` is 0 for off, 1 for auto, 2 for always.
/// Under auto, a buffer is promoted at its `uses`-th use. With PROMOTE_TOLD in the environment the kernel tells of what is unmapped.
#[unsafe(no_mangle)]
pub extern "C" fn promote_start(policy: c_int, uses: c_int) -> *mut Fixture {
    let policy = [Policy::Off, Policy::Auto, Policy::Always][policy as usize];
    let file = rustix::fs::memfd_create("tern", rustix::fs::MemfdFlags::CLOEXEC).expect("memfd_create");
    let heap = Rc::new(Heap::new(file.try_clone().expect("dup"), 1 << 21, 1 << 52));
    let costs = Costs { promote: Box::new(move |_| f64::from(uses) - 1.0), saved: Box::new(|_, _| 2.0), look_up: 1.0 };
    let mut promoter = Promoter::new(heap, policy, costs);
    if std::env::var_os("PROMOTE_TOLD").is_some() {
        promoter.tell_me();
    }
    Box::into_raw(Box::new(Fixture { promoter: Some(promoter), file: File::from(file), why: CString::default() }))
}

/// The promoter, until `promote_end`.
///
/// # Safety
/// `fixture` is of `promote_start`, and the only reference to it is the one returned.
unsafe fn promoter<'a>(fixture: *mut Fixture) -> Option<&'a mut Promoter> {
    // SAFETY: the caller's promise.
    unsafe { (*fixture).promoter.as_mut() }
}

/// A place as programs get it.
fn offset(place: Option<Place>) -> i64 {
    place.map_or(-1, |place| place.0 as i64)
}

/// Counts a use: the offset in the file where the bytes are shared, or -1.
///
/// # Safety
/// `fixture` is of `promote_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_used(fixture: *mut Fixture, address: *const u8, len: usize) -> i64 {
    // SAFETY: the caller's promise.
    let place = unsafe { promoter(fixture) }.and_then(|promoter| promoter.used(address, len));
    offset(place)
}

/// The speculative offset, or -1.
///
/// # Safety
/// `fixture` is of `promote_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_speculative(fixture: *mut Fixture, address: *const u8, len: usize) -> i64 {
    // SAFETY: the caller's promise.
    let place = unsafe { promoter(fixture) }.and_then(|promoter| promoter.speculative_place(address, len));
    offset(place)
}

/// Whether the bytes are at that offset, as the kernel says.
///
/// # Safety
/// `fixture` is of `promote_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_verify(fixture: *mut Fixture, address: *const u8, len: usize, offset: i64) -> bool {
    // SAFETY: the caller's promise.
    unsafe { promoter(fixture) }.is_some_and(|promoter| promoter.verify(address, len, Place(offset as u64)))
}

/// Pins: the offset in the file, or -1; which bytes are pinned goes to `start` and `length`.
///
/// # Safety
/// `fixture` is of `promote_start`; `start` and `length` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_pin(
    fixture: *mut Fixture, address: *const u8, len: usize, start: *mut usize, length: *mut usize,
) -> i64 {
    // SAFETY: the caller's promise.
    let pinned = unsafe { promoter(fixture) }.and_then(|promoter| promoter.pin(address, len));
    if let Some((range, _)) = &pinned {
        // SAFETY: the caller's promise.
        unsafe {
            start.write(range.start - address.addr());
            length.write(range.len());
        }
    }
    offset(pinned.map(|(_, place)| place))
}

/// From now on peers may be at those bytes by the kernel.
///
/// # Safety
/// `fixture` is of `promote_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_settle(fixture: *mut Fixture, address: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    if let Some(promoter) = unsafe { promoter(fixture) } {
        promoter.settle(address, len);
    }
}

/// Ends what `promote_pin` began at those bytes.
///
/// # Safety
/// `fixture` is of `promote_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_unpin(fixture: *mut Fixture, address: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    if let Some(promoter) = unsafe { promoter(fixture) } {
        promoter.unpin(&(address.addr()..address.addr() + len));
    }
}

/// Ends promotion, as the library does when MPI ends.
///
/// # Safety
/// `fixture` is of `promote_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_end(fixture: *mut Fixture) {
    // SAFETY: the caller's promise.
    unsafe { (*fixture).promoter = None };
}

/// From now on peers are said to use all pages (true), or none.
///
/// # Safety
/// `fixture` is of `promote_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_in_use(fixture: *mut Fixture, busy: bool) {
    // SAFETY: the caller's promise.
    if let Some(promoter) = unsafe { promoter(fixture) } {
        promoter.set_in_use(Box::new(move |_| busy));
    }
}

/// Has a function called before memory is frozen; before the first use.
///
/// # Safety
/// `fixture` is of `promote_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_quiesce(fixture: *mut Fixture, quiesce: extern "C" fn()) {
    static QUIESCE: std::sync::OnceLock<extern "C" fn()> = std::sync::OnceLock::new();
    QUIESCE.get_or_init(|| quiesce);
    // SAFETY: the caller's promise.
    if let Some(promoter) = unsafe { promoter(fixture) } {
        promoter.set_quiesce(|_| {
            if let Some(quiesce) = QUIESCE.get() {
                quiesce();
            }
            Box::new(|| ())
        });
    }
}

/// Why the last attempt was refused; the text lives until the next call.
///
/// # Safety
/// `fixture` is of `promote_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_why(fixture: *mut Fixture) -> *const c_char {
    // SAFETY: the caller's promise.
    let fixture = unsafe { &mut *fixture };
    let refusal = fixture.promoter.as_ref().and_then(Promoter::refusal).map(promote::Refusal::to_string);
    fixture.why = CString::new(refusal.unwrap_or_default()).unwrap_or_default();
    fixture.why.as_ptr()
}

/// Promotions (0), bytes promoted now (1), refusals (2), pieces gone (3).
///
/// # Safety
/// `fixture` is of `promote_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_count(fixture: *mut Fixture, which: c_int) -> u64 {
    // SAFETY: the caller's promise.
    let counts = unsafe { (*fixture).promoter.as_ref() }.map(Promoter::counts).unwrap_or_default();
    [counts.promoted, counts.bytes, counts.refused, counts.gone][which as usize]
}

/// The number of the node's file.
///
/// # Safety
/// `fixture` is of `promote_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_file(fixture: *mut Fixture) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { (*fixture).file.as_raw_fd() }
}

/// Bytes of memory that the node's file takes.
///
/// # Safety
/// `fixture` is of `promote_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_file_bytes(fixture: *mut Fixture) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { (*fixture).file.metadata().map_or(0, |data| data.blocks() * 512) }
}
