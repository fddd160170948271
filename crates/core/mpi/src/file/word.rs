//! The shared file pointer's word: one number that all processes of a file reach (MPI 5.0 section
//! 14.4.4). It lies in the memory that the processes of a job share, in the first process's part.
//! Processes of several nodes or jobs have a file for their words ([`super::kept`]).

use super::kept::{self, Kept};
use crate::constants::*;
use crate::error::Result;
use crate::exchange::Circle;
use crate::runtime::adi;
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};
use tern_adi::Proc;
use tern_mcm::{AfterFork, Lease, Memory};

/// Bytes of a word: a cache line of its own.
const BYTES: usize = 64;

/// A number that all processes of a file share.
pub enum Word {
    /// Of a file that one process has opened.
    Own(Cell<i64>),
    /// In this process's part of the shared memory.
    Mine(*mut u8),
    /// In the first process's part, mapped here.
    Mapped(*mut u8),
    /// In a file that these processes have open.
    Kept(Kept),
    /// There is nothing that all of them reach, and why.
    Missing(String),
}

impl Word {
    /// A word for the processes of `circle`, all of which call this. It begins as 0.
    ///
    /// Errors: one of them is lost.
    pub async fn new(circle: &Circle) -> Result<Word> {
        if circle.procs.len() == 1 {
            return Ok(Word::Own(Cell::new(0)));
        }
        let word = Word::in_memory(circle).await?;
        let missing = circle.any(matches!(word, Word::Missing(_))).await;
        if let Ok(false) = missing {
            return Ok(word);
        }
        word.free();
        missing?;
        Ok(kept::new(circle).await?.map_or_else(Word::Missing, Word::Kept))
    }

    async fn in_memory(circle: &Circle) -> Result<Word> {
        // Processes of other jobs have other memory.
        let shares = |&proc: &Proc| adi().mcm().direct().is_some_and(|direct| direct.pair(proc).near);
        if !circle.procs.iter().all(shares) {
            return Ok(Word::none());
        }
        let mine = if circle.me == 0 { allocate() } else { None };
        let place = mine.map_or(0, |(_, place)| place);
        let told = circle.share(0, place.to_ne_bytes().to_vec()).await;
        let mine = mine.map(|(base, _)| Word::Mine(base));
        let told = told.inspect_err(|_| mine.iter().for_each(Word::free))?;
        let place = u64::from_ne_bytes(told[..8].try_into().expect("eight bytes"));
        Ok(match (mine, place) {
            (Some(mine), _) => mine,
            (None, 0) => Word::none(),
            (None, place) => {
                let mapped =
                    adi().mcm().direct().and_then(|direct| direct.map(&Memory::at_place(place, BYTES), Lease::Lasting));
                mapped.map_or_else(Word::none, Word::Mapped)
            }
        })
    }

    fn none() -> Word {
        Word::Missing("the processes of the file share no memory".to_owned())
    }

    fn shared(&self) -> Result<&AtomicI64> {
        let word = match self {
            Word::Mine(base) | Word::Mapped(base) => *base,
            Word::Own(_) | Word::Kept(_) => {
                return err!(MPI_ERR_INTERN, "the word is not in memory");
            }
            Word::Missing(why) => {
                return err!(
                    MPI_ERR_UNSUPPORTED_OPERATION,
                    "the shared file pointer needs memory or a file in TMPDIR that all processes of the file reach: {why}"
                );
            }
        };
        // SAFETY: the word lives until `free`, is aligned, and is only used as an atomic one.
        Ok(unsafe { AtomicI64::from_ptr(word.cast()) })
    }

    pub fn get(&self) -> Result<i64> {
        match self {
            Word::Own(word) => Ok(word.get()),
            Word::Kept(kept) => kept.exchange(|value| value),
            // Acquire: pairs with the release of `set` and `fetch_add` of other processes.
            _ => Ok(self.shared()?.load(Ordering::Acquire)),
        }
    }

    pub fn set(&self, value: i64) -> Result<()> {
        match self {
            Word::Own(word) => word.set(value),
            Word::Kept(kept) => kept.exchange(|_| value).map(|_| ())?,
            // Release: pairs with the acquire of `get` and `fetch_add`.
            _ => self.shared()?.store(value, Ordering::Release),
        }
        Ok(())
    }

    /// Adds to it; returns what it was.
    pub fn fetch_add(&self, more: i64) -> Result<i64> {
        match self {
            Word::Own(word) => Ok(word.replace(word.get() + more)),
            Word::Kept(kept) => kept.exchange(|value| value + more),
            _ => Ok(self.shared()?.fetch_add(more, Ordering::AcqRel)),
        }
    }

    /// Gives its memory back, when no process uses it any more.
    pub fn free(&self) {
        match self {
            // SAFETY: nobody uses the memory any more.
            Word::Mine(base) => unsafe {
                let freed = adi().mcm().direct().is_some_and(|direct| direct.free(*base));
                debug_assert!(freed, "the word came from there");
            },
            // SAFETY: as above; it was mapped with this length.
            Word::Mapped(base) => unsafe { tern_mcm::unmap(*base, BYTES) },
            Word::Own(_) | Word::Kept(_) | Word::Missing(_) => {}
        }
    }
}

/// Zeroed memory, and where it lies in the memory that the node's processes share.
fn allocate() -> Option<(*mut u8, u64)> {
    let direct = adi().mcm().direct()?;
    let base = direct.allocate(BYTES, AfterFork::Shared)?;
    match direct.place(base, BYTES) {
        Some(place) if place != 0 => Some((base, place)),
        _ => {
            // SAFETY: nobody has used it.
            unsafe { direct.free(base) };
            None
        }
    }
}
