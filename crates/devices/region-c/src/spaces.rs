//! Spaces and regions.

use crate::named::{self, BASE, Head, Joining};
use crate::{Handle, code, failed, handle, protection, segments};
use rustix::fd::{BorrowedFd, OwnedFd};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use tern_region::space::{Cookie, Flags, Mechanism, Options, Shape, Space, Standing};
use tern_region::{Run, extend};

const NO_MAPPED: u32 = 1;
const NO_CMA: u32 = 2;
const SERVER: u32 = 4;
const USE_MODULE: u32 = 8;

/// Names of the spaces that this process has joined by name, by the address of the space.
static NAMES: Mutex<BTreeMap<usize, CString>> = Mutex::new(BTreeMap::new());

fn options(bits: u32) -> Result<Options, c_int> {
    if bits & !(NO_MAPPED | NO_CMA | SERVER | USE_MODULE) != 0 {
        return Err(-libc::EINVAL);
    }
    let has = |bit| bits & bit != 0;
    Ok(Options { mapped: !has(NO_MAPPED), module: has(USE_MODULE), cma: !has(NO_CMA), server: has(SERVER), dma: true })
}

/// Joins in a file.
fn join(file: OwnedFd, head: Head, me: u32, bits: u32) -> Result<Handle, c_int> {
    let options = options(bits)?;
    if me >= head.members {
        return Err(-libc::EINVAL);
    }
    let system = |error: std::io::Error| -error.raw_os_error().unwrap_or(libc::EIO);
    extend(rustix::fd::AsFd::as_fd(&file), BASE, BASE).map_err(system)?;
    let shape = Shape { members: head.members, span: head.span };
    Space::join(file, BASE, shape, me, options).map(Arc::new).map_err(failed)
}

fn head(members: u32, span: u64) -> Result<Head, c_int> {
    let span = span.checked_next_multiple_of(BASE).ok_or(-libc::EINVAL)?;
    Ok(Head { members, span })
}

/// Gives a space to the program.
///
/// # Safety
/// `out` is null or can be written.
unsafe fn give(out: *mut *const Space, join: impl FnOnce() -> Result<Handle, c_int>) -> c_int {
    if out.is_null() {
        return -libc::EINVAL;
    }
    let result = join().map(Arc::into_raw);
    // SAFETY: contract of this function.
    unsafe { *out = result.unwrap_or(ptr::null()) };
    code(result.map(|_| ()))
}

/// # Safety
/// `name` is null or ends with a 0; `out` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_open(
    name: *const c_char, members: u32, me: u32, span: u64, options: u32, out: *mut *const Space,
) -> c_int {
    let join = || {
        // SAFETY: contract of this function.
        let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }).ok_or(-libc::EINVAL)?;
        let head = head(members, span)?;
        let joining = Joining::begin(name, head)?;
        let space = match join(joining.file()?, head, me, options) {
            Ok(space) => space,
            Err(error) => {
                drop(joining);
                named::leave(name);
                return Err(error);
            }
        };
        joining.end();
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        names.insert(Arc::as_ptr(&space) as usize, name.to_owned());
        Ok(space)
    };
    // SAFETY: contract of this function.
    unsafe { give(out, join) }
}

/// # Safety
/// The descriptor is open, as the C program says; `out` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_open_file(
    descriptor: c_int, members: u32, me: u32, span: u64, options: u32, out: *mut *const Space,
) -> c_int {
    let join = || {
        if descriptor < 0 {
            return Err(-libc::EBADF);
        }
        // SAFETY: contract of this function.
        let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let file = rustix::io::fcntl_dupfd_cloexec(file, 0).map_err(|errno| -errno.raw_os_error())?;
        join(file, head(members, span)?, me, options)
    };
    // SAFETY: contract of this function.
    unsafe { give(out, join) }
}

/// # Safety
/// `space` is null or from tern_region_open; the program uses it no more when this returns 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_close(space: *const Space) -> c_int {
    if space.is_null() {
        return -libc::EINVAL;
    }
    // SAFETY: made by `give`.
    let space = unsafe { Arc::from_raw(space) };
    let address = Arc::as_ptr(&space) as usize;
    match Arc::try_unwrap(space) {
        Ok(space) => drop(space),
        Err(space) => {
            // The program still has it.
            let _ = Arc::into_raw(space);
            return -libc::EBUSY;
        }
    }
    let name = NAMES.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
    if let Some(name) = name {
        named::leave(&name);
    }
    0
}

/// # Safety
/// `name` is null or ends with a 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_remove(name: *const c_char) -> c_int {
    if name.is_null() {
        return -libc::EINVAL;
    }
    // SAFETY: contract of this function.
    code(named::remove(unsafe { CStr::from_ptr(name) }))
}

/// # Safety
/// `space` is null or a space of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_allocate(space: *const Space, len: usize) -> *mut c_void {
    // SAFETY: contract of this function.
    let memory = unsafe { handle(space) }.ok().and_then(|space| space.allocate(len).ok());
    memory.map_or(ptr::null_mut(), <*mut u8>::cast)
}

/// # Safety
/// As [`tern_region_allocate`]; nobody uses the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_free(space: *const Space, memory: *mut c_void) -> c_int {
    // SAFETY: contract of this function.
    match unsafe { handle(space) } {
        // SAFETY: contract of this function.
        Ok(space) if unsafe { space.free(memory.cast()) } => 0,
        _ => -libc::EINVAL,
    }
}

/// # Safety
/// `space` is null or a space of the program's; the segments are there; so is their memory, until the region has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_create(
    space: *const Space, first: *const Run, count: usize, bits: u32, flags: u32, cookie: *mut u64,
) -> c_int {
    let create = || {
        if cookie.is_null() {
            return Err(-libc::EINVAL);
        }
        let flags = match flags {
            0 => Flags::NONE,
            1 => Flags::SINGLE_USE,
            _ => return Err(-libc::EINVAL),
        };
        // SAFETY: contract of this function.
        let (space, segments) = unsafe { (handle(space)?, segments(first, count)?) };
        // SAFETY: as above.
        let made = unsafe { space.create_region(segments, protection(bits)?, flags) }.map_err(failed)?;
        // SAFETY: as above.
        unsafe { *cookie = made.to_bits() };
        Ok(())
    };
    code(create())
}

/// # Safety
/// `space` is null or a space of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_destroy(space: *const Space, cookie: u64) -> c_int {
    // SAFETY: contract of this function.
    let space = unsafe { handle(space) };
    code(space.and_then(|space| {
        let cookie = Cookie::from_bits(cookie).ok_or(-libc::ENOENT)?;
        space.destroy_region(cookie).map_err(failed)
    }))
}

/// # Safety
/// `space` is null or a space of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_progress(space: *const Space) -> c_int {
    // SAFETY: contract of this function.
    match unsafe { handle(space) }.and_then(|space| space.progress().map_err(failed)) {
        Ok(moved) => c_int::from(moved),
        Err(error) => error,
    }
}

/// # Safety
/// `space` is null or a space of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_is_alive(space: *const Space, member: u32) -> c_int {
    // SAFETY: contract of this function.
    match unsafe { handle(space) } {
        Ok(space) => c_int::from(space.is_alive(member)),
        Err(error) => error,
    }
}

/// # Safety
/// `space` is null or a space of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_standing(space: *const Space, member: u32, way: u32) -> c_int {
    let ways = [Mechanism::Mapped, Mechanism::KernelModule, Mechanism::Cma, Mechanism::Pipe];
    let Some(way) = ways.get(way as usize) else { return -libc::EINVAL };
    // SAFETY: contract of this function.
    match unsafe { handle(space) }.map(|space| space.standing(member, *way)) {
        Ok(Standing::Unproven) => 0,
        Ok(Standing::Works) => 1,
        Ok(Standing::Left) => 2,
        Ok(Standing::Off) => 3,
        Ok(Standing::Absent) => 4,
        Err(error) => error,
    }
}
