//! What tests of spaces call, in short.

use super::Process;
use tern_region::Run;
use tern_region::space::{Cookie, Direction, Error, Flags, Options, Protection, Space, Spot};

pub const LEN: usize = 300_000;

pub fn run(bytes: &[u8]) -> [Run; 1] {
    [Run::new(bytes.as_ptr(), bytes.len())]
}

pub fn run_mut(bytes: &mut [u8]) -> [Run; 1] {
    [Run::new(bytes.as_mut_ptr(), bytes.len())]
}

/// Declares `bytes`, which the caller keeps until the region is gone.
pub fn declare(space: &Space, bytes: &[u8], protection: Protection, flags: Flags) -> Cookie {
    // SAFETY: the callers keep the bytes, and look at them again only when others have ended.
    unsafe { space.create_region(&run(bytes), protection, flags).expect("a region") }
}

/// `len` bytes of shared memory of a space.
pub fn shared(space: &Space, len: usize) -> &'static mut [u8] {
    let at = space.allocate(len).expect("memory");
    // SAFETY: fresh memory, which stays mapped.
    unsafe { std::slice::from_raw_parts_mut(at, len) }
}

pub fn read(space: &Space, spot: Spot, into: &mut [u8]) -> Result<(), Error> {
    // SAFETY: a buffer of the caller's own.
    unsafe { space.inline_copy(&run_mut(into), spot, into.len() as u64, Direction::Read) }
}

pub fn write(space: &Space, spot: Spot, from: &[u8]) -> Result<(), Error> {
    // SAFETY: as above.
    unsafe { space.inline_copy(&run(from), spot, from.len() as u64, Direction::Write) }
}

pub fn cookie(process: &mut Process, index: usize) -> Cookie {
    Cookie::from_bits(process.await_post(index)).expect("a cookie")
}

pub fn only_pipe() -> Options {
    Options { mapped: false, cma: false, ..Options::default() }
}

pub fn no_cma() -> Options {
    Options { cma: false, ..Options::default() }
}

/// How many lines say that the kernel's copies are refused.
pub fn lines_about_cma(text: &str) -> usize {
    text.lines().filter(|line| line.contains("process_vm_readv")).count()
}
