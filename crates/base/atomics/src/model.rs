//! Virtual time: atomics that ask the server of a model, and what plain memory, clocks and waits say to it.
//!
//! Only the thread that has [begun](begin) is noticed. Before that, in other threads, and where no model was joined, the atomics are the
//! machine's.

mod atomic;
mod cache;
mod client;
mod maps;

pub use atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize};
pub use client::{begin, cores, end, join, mark, now, pause, spend};
pub use maps::{mapped, unmapped};
pub use std::sync::atomic::{Ordering, fence};

use crate::wire::Act;

/// Nanoseconds of a system call that copies between processes, and of each of its pages: as measured for CMA on machines of today.
const CALL: u64 = 400;
const PAGE: u64 = 100;

/// Plain memory is read.
#[inline]
pub fn read(at: *const u8, len: usize) {
    client::with(|client| client.touch(Act::Read, at, len));
}

/// Plain memory is written.
#[inline]
pub fn write(at: *const u8, len: usize) {
    client::with(|client| client.touch(Act::Write, at, len));
}

/// Plain memory is copied.
#[inline]
pub fn copied(to: *const u8, from: *const u8, len: usize) {
    client::with(|client| client.copy(to, from, len));
}

/// The kernel has copied between this process and another one, which has that number in the kernel.
pub fn copied_by_kernel(process: i32, len: usize) {
    spend(CALL + PAGE * (len as u64).div_ceil(4096));
    client::with(|client| client.take(process, len));
}

/// The lines of plain memory come early, to be written if `alone`.
#[inline]
pub fn fetch(at: *const u8, len: usize, alone: bool) {
    client::with(|client| client.fetch(at, len, alone));
}

/// How often to look in a row, where `looks` times are wanted: once in a model, which need not look again.
#[inline]
pub fn looks(looks: u32) -> u32 {
    if now().is_some() { looks.min(1) } else { looks }
}

/// A look in vain: waits as [`pause`] does.
#[inline]
pub fn spin_loop() {
    if !pause() {
        std::hint::spin_loop();
    }
}

/// Lets others go on: waits as [`pause`] does.
#[inline]
pub fn yield_now() {
    if !pause() {
        std::thread::yield_now();
    }
}
