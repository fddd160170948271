//! Memory of other processes, reached by the card alone: the part of the contract for one-sided communication
//! (docs/parts/one-sided.md#windows-of-several-nodes). The program of the process that owns the memory has no part in it, and may compute.
//!
//! Accesses of one process to the memory of another end in the order in which they began. So a number tells which have
//! ended: each access has the next one, for each peer. They are made in that order where they concern the same bytes. An
//! atomic is made after all accesses that began before it, and before all that begin after it.

use crate::{Direction, Run};

/// 8 bytes of a process, aligned, that the card reads and changes in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The process that has it in its memory.
    pub peer: u32,
    /// In its own process.
    pub address: u64,
    /// What [`RemoteMemory::reveal`] has given for the memory that it lies in.
    pub key: u64,
}

/// Memory of other processes, and of this one, by the card. Functions that begin an access return its number;
/// [`Lost`]: nothing has happened, or no more will.
///
/// Atomics are atomic with other atomics of this interface alone: a processor's instructions need not be.
pub trait RemoteMemory {
    /// True for processes whose memory can be reached; this one is among them.
    fn reaches(&self, peer: u32) -> bool;

    /// Lets all processes that are told the key read and change own memory of `len` bytes, not 0, until
    /// [`RemoteMemory::conceal`]. `None`: it cannot be registered.
    ///
    /// # Safety
    /// The memory stays mapped until then, and nobody counts on its contents but by what the processes agree on.
    unsafe fn reveal(&self, memory: *mut u8, len: usize) -> Option<u64>;

    /// Ends what [`RemoteMemory::reveal`] began.
    fn conceal(&self, key: u64);

    /// Moves bytes between own memory and that of `peer`, each of which is one sequence of the same length.
    ///
    /// # Safety
    /// Own memory is valid, and left to the access, until it has ended; that of the peer is revealed with this key.
    unsafe fn transfer(&self, peer: u32, own: &[Run], theirs: &[Run], key: u64, way: Direction) -> Result<u64, Lost>;

    /// Adds to a word. What was there is stored at `was`, unless that is null.
    ///
    /// # Safety
    /// `was` stays writable until the access has ended.
    unsafe fn fetch_add(&self, word: Word, add: u64, was: *mut u64) -> Result<u64, Lost>;

    /// Stores `swap` in a word that holds `compare`. What was there is stored at `was`, unless that is null.
    ///
    /// # Safety
    /// As for [`RemoteMemory::fetch_add`].
    unsafe fn compare_swap(&self, word: Word, compare: u64, swap: u64, was: *mut u64) -> Result<u64, Lost>;

    /// The number of the last access to memory of `peer` that has begun; 0 before the first.
    fn begun(&self, peer: u32) -> u64;

    /// The number of the last access that has ended: what it wrote is there, what it read is here. It rises with each poll.
    /// Of a peer that is lost no more ends.
    fn ended(&self, peer: u32) -> u64;

    /// True when accesses to memory of `peer` have failed, and all further ones will.
    fn is_lost(&self, peer: u32) -> bool;
}

/// The peer cannot be reached any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;
