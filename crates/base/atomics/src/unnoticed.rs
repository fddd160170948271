//! What the model notices, where there is no model: nothing.

use std::os::fd::BorrowedFd;

/// Joins the run of the model whose file has this name, as process `rank`, bound to `core` of the made-up machine. Without the cfg
/// `tern_model` nothing happens.
///
/// # Errors
/// The library has no model.
pub fn join(_name: &str, _rank: u32, _core: u32) -> std::io::Result<()> {
    Err(std::io::Error::other("this library has no model: tern-bench model runs programs with the one that has"))
}

/// The clock stands still until all processes have come here, and is virtual from then on.
#[inline(always)]
pub fn begin() {}

/// The clock is real again.
#[inline(always)]
pub fn end() {}

/// How many cores the made-up machine has.
#[inline(always)]
pub fn cores() -> Option<u32> {
    None
}

/// Nanoseconds of the virtual clock, while there is one.
#[inline(always)]
pub fn now() -> Option<u64> {
    None
}

/// The clock goes on by so many nanoseconds.
#[inline(always)]
pub fn spend(_nanoseconds: u64) {}

/// All processes come here at once, by their clocks. `level`: what the server is told.
#[inline(always)]
pub fn mark(_level: i32) {}

/// `len` bytes from `at` are those of a file from byte `offset`, which other processes map too.
#[inline(always)]
pub fn mapped(_at: *const u8, _len: usize, _file: BorrowedFd<'_>, _offset: u64) {}

/// They are not any more.
#[inline(always)]
pub fn unmapped(_at: *const u8, _len: usize) {}

/// Plain memory is read.
#[inline(always)]
pub fn read(_at: *const u8, _len: usize) {}

/// Plain memory is written.
#[inline(always)]
pub fn write(_at: *const u8, _len: usize) {}

/// Plain memory is copied.
#[inline(always)]
pub fn copied(_to: *const u8, _from: *const u8, _len: usize) {}

/// The kernel has copied between this process and another one, which has that number in the kernel.
#[inline(always)]
pub fn copied_by_kernel(_process: i32, _len: usize) {}

/// The lines of plain memory come early, to be written if `alone`.
#[inline(always)]
pub fn fetch(_at: *const u8, _len: usize, _alone: bool) {}

/// All looks since the last call were in vain: waits until a line that was looked at changes. False without a model, and nothing has
/// happened.
#[inline(always)]
pub fn pause() -> bool {
    false
}

/// How often to look in a row, where `looks` times are wanted: once in a model, which need not look again.
#[inline(always)]
pub fn looks(looks: u32) -> u32 {
    looks
}
