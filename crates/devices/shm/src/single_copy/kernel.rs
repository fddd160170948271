//! Memory of peers by way of the kernel: its module for what peers have declared, or by process number (CMA).

use super::RegionAccess;
use crate::declared::Declarations;
use crate::segment::{Introduction, Process};
use std::sync::atomic::AtomicU32;
use tern_counters as counters;
use tern_device::{Direction, Memory, Name, NotCopied, Run as Piece};
use tern_region::cma::{self, Failed, Pid, Run, Why};
use tern_region::module::Beside;

/// Shortest block that the kernel is asked to copy: it takes some time for each.
const KERNEL_BLOCK: u64 = 4 << 10;

/// Whether the kernel copies to and from a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    Untried,
    /// By process number.
    Works(Pid),
    /// By the module, which copies what the peer has declared. By process number too, or not: where the user asks for the module that was not
    /// proved, and is tried where a region is missing.
    Module(Reached),
    Fails,
    /// It did, and the peer has ended.
    Gone,
}

/// A process whose memory the kernel copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    pub pid: Pid,
    /// By this number, not by the module alone.
    pub by_number: bool,
}

impl Kernel {
    fn peer(self) -> Option<Reached> {
        match self {
            Kernel::Works(pid) => Some(Reached { pid, by_number: true }),
            Kernel::Module(reached) => Some(reached),
            Kernel::Untried | Kernel::Fails | Kernel::Gone => None,
        }
    }

    /// What it means that a copy has failed. Where the module works with the peer, a refusal by process number says no more than that a
    /// region of the peer's was missing, which has ended meanwhile or was never made.
    fn why(self, failed: &Failed) -> NotCopied {
        match (failed.why, self) {
            (Why::Refused, Kernel::Module(_)) => NotCopied::Missed,
            (Why::Refused, _) => NotCopied::Refused,
            (Why::Gone, _) => NotCopied::Gone,
            _ => NotCopied::NotThere,
        }
    }
}

impl RegionAccess {
    /// True when the kernel can copy between own memory and that of `peer`. The first question
    /// about a peer is answered by a real transfer.
    pub fn kernel_copies(&self, peer: u32, process: &Process, own: &Memory, theirs: &Memory) -> bool {
        let suits = |memory: &Memory| memory.is_dense() || memory.block >= KERNEL_BLOCK;
        suits(own)
            && suits(theirs)
            && match self.kernel[peer as usize].get() {
                Kernel::Works(_) | Kernel::Module(Reached { by_number: true, .. }) => true,
                Kernel::Module(_) => theirs.cookie != 0,
                Kernel::Fails | Kernel::Gone => false,
                Kernel::Untried => self.try_kernel(peer, process),
            }
    }

    /// True when the kernel was seen to copy to and from `peer`, which has joined.
    pub fn kernel_copies_now(&self, peer: u32, process: &Process) -> bool {
        if self.kernel[peer as usize].get() == Kernel::Untried {
            self.try_kernel(peer, process);
        }
        self.kernel[peer as usize].get().peer().is_some()
    }

    /// By which mechanism the kernel has copied last to or from `peer`, for the user.
    pub fn kernel_mechanism(&self, peer: u32) -> &'static str {
        match self.kernel[peer as usize].get() {
            Kernel::Module(_) if self.by_module.get() => "module",
            Kernel::Module(_) | Kernel::Untried | Kernel::Works(_) | Kernel::Fails | Kernel::Gone => "cma",
        }
    }

    /// False when `peer`, whose memory the kernel was seen to copy, has ended: its memory is gone, or another process has
    /// its number.
    pub fn is_there(&self, peer: u32, process: &Process) -> bool {
        let kernel = self.kernel[peer as usize].get();
        let (Some(Reached { pid, .. }), Some(introduced)) = (kernel.peer(), process.introduction()) else {
            return kernel != Kernel::Gone;
        };
        if self.declarations.as_ref().is_some_and(|declarations| declarations.probe(&introduced)) {
            return true;
        }
        // Where the kernel refuses by now, nothing is known.
        cma::probe(pid, introduced.address, introduced.nonce)
            .map_or_else(|failed| failed.why == Why::Refused, |()| true)
    }

    /// Copies between own memory and that of `peer` by the kernel, if it was seen to work ([`RegionAccess::kernel_copies_now`]).
    ///
    /// Errors: see [`NotCopied`]. A kernel that refuses is not asked again.
    ///
    /// # Safety
    /// As for [`cma::read`] or [`cma::write`].
    pub unsafe fn copy(
        &self, peer: u32, own: &[Piece], (theirs, name): (&[Piece], Name), direction: Direction,
    ) -> Result<(), NotCopied> {
        let kernel = self.kernel[peer as usize].get();
        let none = if kernel == Kernel::Gone { NotCopied::Gone } else { NotCopied::Refused };
        let reached = kernel.peer().ok_or(none)?;
        let (own, theirs) = (as_runs(own), as_runs(theirs));
        // SAFETY: contract of this function.
        match unsafe { self.by_kernel(reached, own, (theirs, name), direction) } {
            Ok(moved) if moved == own.iter().map(|run| run.len).sum() => Ok(()),
            Ok(_) => Err(NotCopied::NotThere),
            Err(failed) => {
                let why = kernel.why(&failed);
                match why {
                    // The program may have given up rights meanwhile (setuid).
                    NotCopied::Refused => self.give_up(peer, &failed),
                    NotCopied::Missed => self.leave_numbers(peer),
                    NotCopied::NotThere | NotCopied::Gone => {}
                }
                Err(why)
            }
        }
    }

    /// Copies by the module what the peer has declared to it, and told the name of, unless that takes longer; anything else by process number.
    ///
    /// # Safety
    /// As for [`cma::read`] or [`cma::write`].
    #[inline]
    pub(super) unsafe fn by_kernel(
        &self, Reached { pid, by_number }: Reached, own: &[Run], (theirs, name): (&[Run], Name), direction: Direction,
    ) -> Result<usize, Failed> {
        let len = || own.iter().map(|run| run.len).sum();
        if let Some(declarations) = &self.declarations
            && (name.cookie != 0 || declarations.are_asked_for())
            && declarations.takes(len(), by_number)
            // SAFETY: contract of this function.
            && let Some(moved) = unsafe { declarations.copy(own, (theirs, name), direction) }
        {
            self.by_module.set(true);
            return Ok(moved);
        }
        self.by_module.set(false);
        // SAFETY: contract of this function.
        let copied = unsafe {
            match direction {
                Direction::Put => cma::write(pid, own, theirs),
                Direction::Get => cma::read(pid, own, theirs),
            }
        };
        counted(copied)
    }

    /// True when the kernel copies at all: it does so inside this process.
    pub fn kernel_copies_here(&self) -> bool {
        cma::probe(std::process::id() as Pid, self.beacon.address(), self.beacon.nonce()).is_ok()
    }

    #[cold]
    fn try_kernel(&self, peer: u32, process: &Process) -> bool {
        // A peer that has not introduced itself yet is asked again.
        let Some(introduced) = process.introduction() else { return false };
        let Introduction { pid, address, nonce, .. } = introduced;
        let by_module = |declarations: &&Declarations| declarations.probe(&introduced);
        let module = self.declarations.as_ref().filter(by_module);
        let pid = pid as Pid;
        let by_number = || cma::probe(pid, address, nonce);
        let proved = match module {
            Some(module) if module.are_asked_for() => Ok(Kernel::Module(Reached { pid, by_number: true })),
            Some(_) => Ok(Kernel::Module(Reached { pid, by_number: by_number().is_ok() })),
            None => by_number().map(|()| Kernel::Works(pid)),
        };
        match proved {
            Ok(kernel) => self.kernel[peer as usize].set(kernel),
            // The job survives its end, and tells of that itself.
            Err(Failed { why: Why::Gone, .. }) if process.is_watched() => self.leave(peer),
            Err(failed) => self.give_up(peer, &failed),
        }
        self.kernel[peer as usize].get() != Kernel::Fails
    }

    /// A message could not be copied. Where the module works with the peer, no more is lost than a region of its, which has ended
    /// meanwhile: the message goes through shared memory, and the next one by the module.
    #[cold]
    fn cannot_copy(&self, peer: u32, failed: &Failed) {
        match self.kernel[peer as usize].get().why(failed) {
            NotCopied::Missed => self.leave_numbers(peer),
            NotCopied::Gone => self.has_ended(peer),
            NotCopied::Refused | NotCopied::NotThere => self.give_up(peer, failed),
        }
    }

    /// The kernel has refused to copy memory of `peer` by its number, where the module may. Where the user has not asked for the module, which then
    /// has regions of some memory alone, the number is used no more.
    #[cold]
    fn leave_numbers(&self, peer: u32) {
        let by_costs = self.declarations.as_ref().is_some_and(|declarations| !declarations.are_asked_for());
        if let (Kernel::Module(reached), true) = (self.kernel[peer as usize].get(), by_costs) {
            self.kernel[peer as usize].set(Kernel::Module(Reached { by_number: false, ..reached }));
        }
    }

    /// `peer` has ended, and the kernel is asked for none of its memory any more: another process may get its number.
    pub fn has_ended(&self, peer: u32) {
        self.kernel[peer as usize].set(Kernel::Gone);
    }

    /// Does without the kernel's help with `peer` for good.
    fn leave(&self, peer: u32) {
        self.kernel[peer as usize].set(Kernel::Fails);
        counters::KERNEL_FAILED.add(1);
    }

    /// The same, and says so once.
    #[cold]
    fn give_up(&self, peer: u32, failed: &Failed) {
        self.leave(peer);
        // SAFETY: the segment outlives self.
        if unsafe { &*self.node }.first_to_tell() {
            tern_settings::warn!(
                "single copies by the kernel do not work with process {peer} of this node: {failed}. \
                 Long messages are copied through shared memory instead"
            );
        }
    }

    /// Copies own memory into that of `peer` by the kernel; false when that has failed. If nothing but the peer's region was missing, it is
    /// tried again with the next message, otherwise not.
    pub fn write(&self, peer: u32, own: &Memory, theirs: &Memory) -> bool {
        // SAFETY: own memory is the program's, valid while it sends; the peer has declared its own
        // for this message.
        self.transfer(peer, own, theirs, |reached, own, runs| unsafe {
            self.by_kernel(reached, own, (runs, theirs.name()), Direction::Put)
        })
    }

    /// Copies memory of `peer` into own memory by the kernel, otherwise as [`RegionAccess::write`].
    pub fn read(&self, peer: u32, theirs: &Memory, own: &Memory) -> bool {
        // SAFETY: own memory is the program's, which it leaves to the receive.
        self.transfer(peer, own, theirs, |reached, own, runs| unsafe {
            self.by_kernel(reached, own, (runs, theirs.name()), Direction::Get)
        })
    }

    /// Copies `len` bytes from byte `skip` on, of own memory into that of `peer`, both in one piece, by the kernel; false
    /// when that has failed, otherwise as [`RegionAccess::write`].
    pub fn write_part(&self, peer: u32, own: &Memory, theirs: &Memory, skip: u64, len: u64) -> bool {
        let part = |memory: &Memory| part(memory, skip, len);
        // SAFETY: as for `write`.
        self.move_runs(peer, len, |reached| unsafe {
            self.by_kernel(reached, &part(own), (&part(theirs), theirs.name()), Direction::Put)
        })
    }

    /// Copies a part of the memory of `peer` into own memory, otherwise as [`RegionAccess::write_part`].
    pub fn read_part(&self, peer: u32, theirs: &Memory, own: &Memory, skip: u64, len: u64) -> bool {
        let part = |memory: &Memory| part(memory, skip, len);
        // SAFETY: as for `read`.
        self.move_runs(peer, len, |reached| unsafe {
            self.by_kernel(reached, &part(own), (&part(theirs), theirs.name()), Direction::Get)
        })
    }

    /// As [`RegionAccess::read_part`], from a process that the kernel is known to reach, by a thread that may not be the one inside the
    /// library.
    pub fn read_from(pid: u32, theirs: &Memory, own: &Memory, skip: u64, len: u64) -> bool {
        // SAFETY: as for `read`.
        let moved = unsafe { cma::read(pid as Pid, &part(own, skip, len), &part(theirs, skip, len)) };
        counted(moved).is_ok_and(|moved| moved as u64 == len)
    }

    /// As [`RegionAccess::write_part`], to a process that the kernel is known to reach, otherwise as [`RegionAccess::read_from`].
    pub fn write_to(pid: u32, own: &Memory, theirs: &Memory, skip: u64, len: u64) -> bool {
        // SAFETY: as for `write`.
        let moved = unsafe { cma::write(pid as Pid, &part(own, skip, len), &part(theirs, skip, len)) };
        counted(moved).is_ok_and(|moved| moved as u64 == len)
    }

    /// The process as which the kernel is known to reach `peer` by its number; `None` where the module alone copies, whose file only the
    /// threads of the program have.
    pub fn reached_by_number(&self, peer: u32) -> Option<u32> {
        let asked = self.declarations.as_ref().is_some_and(Declarations::are_asked_for);
        let reached = self.kernel[peer as usize].get().peer().filter(|reached| reached.by_number && !asked);
        reached.map(|reached| reached.pid as u32)
    }

    /// Starts a copy by the module between own memory, in one piece, and memory of a peer's that begins with its region; false: it cannot be started.
    ///
    /// # Safety
    /// Both are of one transfer, which is not over before `status` tells the end; the word stays.
    pub unsafe fn start(
        &self, own: &Memory, theirs: &Memory, len: u64, writes: bool, beside: Beside, status: *const AtomicU32,
    ) -> bool {
        let start = |declarations: &Declarations| {
            // SAFETY: contract of this function.
            unsafe { declarations.start(&part(own, 0, len), theirs.cookie, writes, beside, status) }
        };
        self.declarations.as_ref().is_some_and(start)
    }

    /// Peers that are lost copy to this memory no more when this returns.
    pub fn take_back(&self, memory: &Memory) {
        if let Some(declarations) = self.declarations.as_ref().filter(|_| memory.cookie != 0) {
            declarations.forget(memory.name().start, memory.cookie);
        }
    }

    /// The kernel module is there.
    pub fn declares(&self) -> bool {
        self.declarations.is_some()
    }

    /// Whether the module was seen to copy to and from `peer`.
    pub fn has_module(&self, peer: u32) -> bool {
        matches!(self.kernel[peer as usize].get(), Kernel::Module(_))
    }

    /// Whether the kernel copies to and from `peer` by its number, as far as that is known.
    pub(super) fn has_number(&self, peer: u32) -> bool {
        !matches!(self.kernel[peer as usize].get(), Kernel::Module(Reached { by_number: false, .. }))
    }

    fn transfer(
        &self, peer: u32, own: &Memory, theirs: &Memory,
        copy: impl FnOnce(Reached, &[Run], &[Run]) -> Result<usize, Failed>,
    ) -> bool {
        let len = own.len.min(theirs.len);
        let moved = self.move_runs(peer, len, |reached| match (own.is_dense(), theirs.is_dense()) {
            (true, true) => copy(reached, &part(own, 0, len), &part(theirs, 0, len)),
            _ => copy(reached, as_runs(&blocks(own, len)), as_runs(&blocks(theirs, len))),
        });
        if moved {
            counters::KERNEL.add(1);
            counters::KERNEL_BYTES.add(len);
        }
        moved
    }

    pub(super) fn move_runs(&self, peer: u32, len: u64, copy: impl FnOnce(Reached) -> Result<usize, Failed>) -> bool {
        let Some(reached) = self.kernel[peer as usize].get().peer() else { return false };
        match copy(reached) {
            Ok(moved) if moved as u64 == len => true,
            Ok(moved) => {
                self.give_up(peer, &Failed { why: Why::Other, errno: 0, moved });
                false
            }
            Err(failed) => {
                self.cannot_copy(peer, &failed);
                false
            }
        }
    }
}

/// The same list, as `region` calls it.
pub(super) fn as_runs(pieces: &[Piece]) -> &[Run] {
    const { assert!(size_of::<Piece>() == size_of::<Run>() && align_of::<Piece>() == align_of::<Run>()) };
    // SAFETY: both are an address and a length, of 8 bytes each.
    unsafe { std::slice::from_raw_parts(pieces.as_ptr().cast(), pieces.len()) }
}

/// Counts what the kernel has copied by process number.
pub(super) fn counted(moved: Result<usize, Failed>) -> Result<usize, Failed> {
    moved.inspect(|&moved| counters::CMA_BYTES.add(moved as u64))
}

/// `len` bytes of memory in one piece, from byte `skip` on.
fn part(memory: &Memory, skip: u64, len: u64) -> [Run; 1] {
    [Run::new((memory.address + skip) as *const u8, len as usize)]
}

/// The blocks of memory that hold its first `len` bytes.
fn blocks(memory: &Memory, len: u64) -> Vec<Piece> {
    memory.runs(len).collect()
}
