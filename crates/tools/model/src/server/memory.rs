//! The file through which the processes of a run ask.

use crate::machine::Machine;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::futex;
use std::sync::atomic::Ordering;
use tern_atomics::wire::{Act, Header, LOOKED, Range, Slot, length};

/// The mapped file.
#[derive(Debug)]
pub struct Memory {
    file: OwnedFd,
    at: *mut u8,
    processes: usize,
}

/// How long the server sleeps before it looks whether it is to stop.
const LOOK: futex::Timespec = futex::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

impl Memory {
    /// For so many processes.
    ///
    /// # Errors
    /// Of memfd_create, ftruncate and mmap.
    pub fn new(processes: usize) -> std::io::Result<Memory> {
        let file = rustix::fs::memfd_create("tern-model", rustix::fs::MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&file, length(processes) as u64)?;
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping.
        let at = unsafe { mmap(std::ptr::null_mut(), length(processes), rights, MapFlags::SHARED, &file, 0)? };
        Ok(Memory { file, at: at.cast(), processes })
    }

    /// What processes of the job open, while this process has it.
    pub fn name(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    pub fn processes(&self) -> usize {
        self.processes
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: mapped while self lives; it begins as zeros, and is touched as atomics alone.
        unsafe { &*self.at.cast() }
    }

    pub(super) fn slot(&self, rank: usize) -> &Slot {
        assert!(rank < self.processes, "a slot for each process");
        // SAFETY: as above; the slots follow the header.
        unsafe { &*self.at.add(size_of::<Header>()).cast::<Slot>().add(rank) }
    }

    /// Tells the processes of the machine.
    pub(super) fn describe(&self, machine: &Machine) {
        self.header().cores.store(machine.size() as u32, Ordering::Relaxed);
        self.header().near.store((1e6 / machine.own(1_000_000)).to_bits(), Ordering::Relaxed);
        self.header().step.store(machine.step.to_bits(), Ordering::Relaxed);
    }

    /// Waits until `rank` asks: what it does, with which ranges, and its clock. `None`: `stop` was true before.
    pub(super) fn hear(&self, rank: usize, stop: impl Fn() -> bool) -> Option<(Act, Range, Range, f64)> {
        let slot = self.slot(rank);
        loop {
            let bell = self.header().bell.load(Ordering::Acquire);
            // Acquire: pairs with the release of the process that asks.
            if slot.asks.load(Ordering::Acquire) == 1 {
                let act = Act::of(slot.act.load(Ordering::Relaxed))?;
                return Some((act, slot.source.load(), slot.target.load(), slot.clock.get()));
            }
            let slept = futex::wait(&self.header().bell, futex::Flags::empty(), bell, Some(&LOOK));
            if slept.is_err() && stop() {
                return None;
            }
        }
    }

    /// The lines that a process names that waits.
    pub(super) fn looked(&self, rank: usize) -> Vec<(u64, u64)> {
        let slot = self.slot(rank);
        let count = slot.looked.load(Ordering::Relaxed) as usize;
        let lines = slot.lines.iter().map(|line| line.each_ref().map(|word| word.load(Ordering::Relaxed)));
        let mut lines: Vec<(u64, u64)> = lines.take(count).map(|[file, line]| (file, line)).collect();
        // One more than there are places: it has looked at more.
        lines.extend((count > LOOKED).then_some((0, 0)));
        lines
    }

    /// `rank` goes on by that clock, and alone until then.
    pub(super) fn answer(&self, rank: usize, clock: f64, until: f64, stale: u64) {
        let slot = self.slot(rank);
        slot.clock.set(clock);
        slot.until.set(until);
        slot.stale.store(stale, Ordering::Relaxed);
        // Release: pairs with the acquire of the process.
        slot.asks.store(0, Ordering::Release);
        let _ = futex::wake(&slot.asks, futex::Flags::empty(), 1);
    }

    /// No process goes on.
    pub(super) fn fail(&self) {
        self.header().failed.store(1, Ordering::Relaxed);
        for rank in 0..self.processes {
            self.answer(rank, 0.0, 0.0, 0);
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and nothing borrows it any more.
        let _ = unsafe { munmap(self.at.cast(), length(self.processes)) };
    }
}
