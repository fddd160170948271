//! Collective calls of files, and writes that meet (TERN_CHECK; MPI 5.0 section 14.6.1).
//!
//! Each process notes where it writes. Where all meet and what was written becomes visible, at MPI_File_sync, when the mode changes
//! and when the file is closed, they compare what they have written since the last time. Writes between which the processes have met
//! are left alone, though by the letter a meeting is not enough without MPI_File_sync on both sides of it.

use super::runs::{Runs, decode, encode};
use super::{AccessKind, File};
use crate::check::active::{Run, common, merged};
use crate::check::call::Call;
use crate::check::{self, function, is_on, race};
use crate::error::Result;
use crate::task;
use std::cell::RefCell;

/// So many writes are noted between two meetings.
const NOTED: usize = 4096;
/// So many pieces of one write are.
const PIECES: usize = 1 << 12;
/// So many conflicts are told at once.
const TOLD: usize = 4;

/// Writes of this process.
#[derive(Default)]
pub struct Ledger(RefCell<Vec<Write>>);

/// One of them.
#[derive(Debug, PartialEq, Eq)]
struct Write {
    function: String,
    /// The phase of the writer ([`race::now`]): in one phase nobody has met.
    phase: u64,
    /// The bytes of the file, in their order.
    runs: Vec<Run>,
}

/// An access begins that was checked: `bytes` bytes at `position` of the stream of the view.
pub fn noted(file: &File, way: AccessKind, view: &tern_io::View, position: u64, bytes: u64) {
    if !is_on() || way == AccessKind::Read || file.atomic.get() || bytes == 0 {
        return;
    }
    // What there is no memory for is not noted.
    let Ok(runs) = Runs::of(view, position, bytes) else { return };
    let runs: Vec<Run> = runs.each().take(PIECES + 1).map(|(at, len)| (at as i64, (at + len) as i64)).collect();
    let mut writes = file.checked.0.borrow_mut();
    if runs.len() <= PIECES && writes.len() < NOTED {
        writes.push(Write { function: function(), phase: race::now().1, runs: merged(runs) });
    }
}

/// The processes of the file make sure that all of them make the current call, if the program is checked.
///
/// Errors: they do not.
pub async fn agree(file: &File) -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    let call = Call { function: function(), ..Call::default() };
    check::compare(file.comm.circle(), file.label(), call).await
}

/// The same, blocking.
pub fn meet(file: &std::rc::Rc<File>) -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    let file = file.clone();
    task::run(async move { agree(&file).await })
}

/// The same, where what was written becomes visible: writes that meet are told.
///
/// Errors: they do not all make this call.
pub fn compare(file: &std::rc::Rc<File>) -> Result<()> {
    meet(file)?;
    if !is_on() {
        return Ok(());
    }
    let own = file.checked.0.take();
    let (circle, me) = (file.comm.circle(), file.comm.rank as usize);
    let told = encoded(&own);
    let all = task::run(async move { circle.gather(&told).await })?;
    let mut count = 0;
    for (rank, bytes) in all.iter().enumerate().skip(me + 1) {
        for text in conflicts((me, &own), (rank, &decoded(bytes))) {
            count += 1;
            if count <= TOLD {
                tern_settings::warn!("{}: {text}", file.label());
            }
        }
    }
    Ok(())
}

/// Writes of two processes that have bytes in common, in words.
fn conflicts(one: (usize, &[Write]), other: (usize, &[Write])) -> Vec<String> {
    let mut found = Vec::new();
    for first in one.1 {
        for second in other.1.iter().filter(|second| second.phase == first.phase) {
            if let Some((low, high)) = common(&first.runs, &second.runs) {
                found.push(format!(
                    "{} at rank {} and {} at rank {} have bytes {low} to {high} of the file in common, and no MPI_File_sync lies \
                     between: what is there then is not defined (section 14.6.1). Set atomic mode, or call MPI_File_sync, a barrier \
                     and MPI_File_sync between them",
                    first.function, one.0, second.function, other.0
                ));
            }
        }
    }
    found
}

fn encoded(writes: &[Write]) -> Vec<u8> {
    let mut out = Vec::new();
    for Write { function, phase, runs } in writes {
        // What there is no memory for is not told.
        let list = Runs::new(runs.iter().map(|run| (run.0 as u64, (run.1 - run.0) as u64)));
        let Ok(list) = list.and_then(|list| encode(&list)) else { continue };
        for part in [function.as_bytes(), &phase.to_ne_bytes(), &list] {
            out.extend_from_slice(&(part.len() as u64).to_ne_bytes());
            out.extend_from_slice(part);
        }
    }
    out
}

fn decoded(mut bytes: &[u8]) -> Vec<Write> {
    let mut part = || {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (part, rest) = rest.split_at_checked(u64::from_ne_bytes(*length) as usize)?;
        bytes = rest;
        Some(part)
    };
    std::iter::from_fn(|| {
        let (function, phase, list) = (part()?, part()?, part()?);
        let runs = decode(list).ok()?.each().map(|(at, len)| (at as i64, (at + len) as i64)).collect();
        let phase = u64::from_ne_bytes(*phase.first_chunk()?);
        Some(Write { function: String::from_utf8_lossy(function).into_owned(), phase, runs })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_survive_their_bytes_and_those_that_meet_are_found() {
        let write =
            |function: &str, phase, runs: &[Run]| Write { function: function.into(), phase, runs: runs.to_vec() };
        let here = [write("MPI_File_write_at", 3, &[(0, 4), (8, 12)]), write("MPI_File_write", 4, &[])];
        assert_eq!(decoded(&encoded(&here)), here);
        assert_eq!(decoded(&encoded(&here)[..20]), []);
        let found = |phase, runs| conflicts((0, &here), (2, &[write("MPI_File_write_all", phase, runs)]));
        assert_eq!(found(3, &[(4, 8), (12, 40)]), [""; 0]);
        assert_eq!(found(4, &[(10, 20)]), [""; 0], "they have met");
        let found = found(3, &[(10, 20)]);
        assert!(found.len() == 1 && found[0].contains("MPI_File_write_at at rank 0"), "{found:?}");
        assert!(found[0].contains("MPI_File_write_all at rank 2 have bytes 10 to 12"), "{found:?}");
    }
}
