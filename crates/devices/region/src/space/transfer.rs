//! One copy on its way: a state machine that goes on by steps, so that many can be under way and a
//! thread need not wait inside of one.

use super::Error;
use super::cell::Question;
use super::flight::Flying;
use super::layout::{CELL, Piece};
use super::member;
use super::shared::{Engine, Shared};
use super::side::{Class, Side};
use super::ways::{self, End};
use crate::cma::Run;
use std::sync::Arc;
use tern_atomics::Ordering;

/// What a step has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Bytes were moved, or another way was found; there is more to do.
    Moved,
    /// It is somebody else's turn.
    Waiting,
    Done,
}

/// A copy of `rest` more bytes.
pub struct Transfer {
    /// The part that the engine does now. Dropped first: it waits for the engine, which the regions must outlive.
    pub flying: Option<Flying>,
    pub from: Side,
    pub to: Side,
    pub rest: u64,
    asked: Option<Asked>,
    /// Parts may be handed to the DMA engine.
    pub by_engine: bool,
    /// Pages that the engine has missed.
    pub missing: u32,
}

/// A question that an owner has not answered yet.
struct Asked {
    cell: CellOf,
    len: u64,
    /// The cell's bytes go into the target; otherwise the source's come into the cell.
    write: bool,
    looks: u32,
}

/// A cell of this process, free again when dropped.
struct CellOf {
    shared: Arc<Shared>,
    index: usize,
}

impl CellOf {
    fn take(shared: &Arc<Shared>) -> Option<CellOf> {
        Some(CellOf { index: shared.take_cell()?, shared: shared.clone() })
    }

    fn data(&self, len: u64) -> Run {
        Run::new(self.shared.tables.data(self.shared.me, self.index), len as usize)
    }
}

impl Drop for CellOf {
    fn drop(&mut self) {
        self.shared.free_cell(self.index);
    }
}

impl Transfer {
    pub fn new(from: Side, to: Side, len: u64) -> Transfer {
        Transfer { flying: None, from, to, rest: len, asked: None, by_engine: false, missing: 0 }
    }

    /// Goes on by at most `most` bytes.
    ///
    /// # Safety
    /// Local memory of both sides is there, and is for this copy to read or write.
    pub unsafe fn step(&mut self, shared: &Arc<Shared>, engine: &mut Engine, most: u64) -> Result<Step, Error> {
        if self.asked.is_some() {
            // SAFETY: contract of this function.
            return unsafe { self.go_on(shared, engine) };
        }
        let landed = if self.flying.is_some() { self.land() } else { self.launch(shared, engine) };
        if let Some(step) = landed {
            return Ok(step);
        }
        let most = self.by_processor(most.min(self.rest));
        if most == 0 {
            return Ok(Step::Done);
        }
        engine.views.hold();
        // SAFETY: contract of this function.
        let step = unsafe { self.move_some(shared, engine, most) };
        engine.views.let_go();
        step
    }

    /// # Safety
    /// As for [`Transfer::step`].
    unsafe fn move_some(&mut self, shared: &Arc<Shared>, engine: &mut Engine, most: u64) -> Result<Step, Error> {
        let Engine { views, from, to } = engine;
        let (from_class, from_len) = self.from.gather(shared, views, most, from);
        let (to_class, to_len) = self.to.gather(shared, views, most.min(from_len), to);
        let len = from_len.min(to_len);
        if len == 0 {
            // The lists are shorter than their regions say.
            return Err(Error::Fault { member: if from_len == 0 { self.from.owner } else { self.to.owner } });
        }
        cut(from, len);
        cut(to, len);
        let source = End { class: from_class, runs: from, at: self.from.at };
        let target = End { class: to_class, runs: to, at: self.to.at };
        // SAFETY: both sides are gathered from memory that is there (contract), or the kernel checks.
        match unsafe { ways::copy(shared, &source, &target, len) } {
            // SAFETY: contract of this function.
            None => return unsafe { self.fill(shared, engine, len.min(CELL as u64), from_class) },
            Some(Ok(_)) => {
                self.from.worked(shared, from_class);
                self.to.worked(shared, to_class);
                self.advance(len);
            }
            Some(Err(failed)) => {
                self.advance(failed.moved as u64);
                self.from.failed(shared, from_class, failed)?;
                self.to.failed(shared, to_class, failed)?;
            }
        }
        Ok(Step::Moved)
    }

    pub fn advance(&mut self, len: u64) {
        self.from.advance(len);
        self.to.advance(len);
        self.rest -= len;
    }

    /// Brings `len` bytes of the source into a cell; they go on from there.
    ///
    /// # Safety
    /// As for [`Transfer::step`]; the engine's source runs are of class `class`.
    unsafe fn fill(
        &mut self, shared: &Arc<Shared>, engine: &mut Engine, len: u64, class: Class,
    ) -> Result<Step, Error> {
        let Some(cell) = CellOf::take(shared) else { return Ok(Step::Waiting) };
        cut(&mut engine.from, len);
        let source = End { class, runs: &engine.from, at: self.from.at };
        // SAFETY: the cell is ours, and has room; the rest as in `move_some`.
        match unsafe { ways::copy(shared, &source, &End::local(&[cell.data(len)]), len) } {
            None => {
                self.ask(shared, cell, len, false);
                Ok(Step::Waiting)
            }
            Some(Ok(_)) => {
                self.from.worked(shared, class);
                // SAFETY: contract of this function.
                unsafe { self.drain(shared, engine, cell, len) }
            }
            Some(Err(failed)) => {
                self.from.failed(shared, class, failed)?;
                Ok(Step::Moved)
            }
        }
    }

    /// Brings the `len` bytes in the cell to the target.
    ///
    /// # Safety
    /// As for [`Transfer::step`].
    unsafe fn drain(
        &mut self, shared: &Arc<Shared>, engine: &mut Engine, cell: CellOf, len: u64,
    ) -> Result<Step, Error> {
        let (class, len) = self.to.gather(shared, &engine.views, len, &mut engine.to);
        let target = End { class, runs: &engine.to, at: self.to.at };
        // SAFETY: the cell is ours; the rest as in `move_some`.
        match unsafe { ways::copy(shared, &End::local(&[cell.data(len)]), &target, len) } {
            None => {
                self.ask(shared, cell, len, true);
                return Ok(Step::Waiting);
            }
            Some(Ok(_)) => {
                self.to.worked(shared, class);
                self.advance(len);
            }
            // What was moved is moved again by other means.
            Some(Err(failed)) => self.to.failed(shared, class, failed)?,
        }
        Ok(Step::Moved)
    }

    /// Asks the owner of a region to move bytes between it and a cell.
    fn ask(&mut self, shared: &Arc<Shared>, cell: CellOf, len: u64, write: bool) {
        let side = if write { &self.to } else { &self.from };
        // Only regions of others are not local.
        if let Some(cookie) = side.cookie() {
            let question = Question { cookie, offset: side.at, len: len as u32, write };
            shared.member().cells[cell.index].ask(question);
            let owner = shared.tables.member(side.owner);
            // Release: pairs with the acquire in `serve`.
            owner.asked[shared.me as usize / 64].fetch_or(1 << (shared.me % 64), Ordering::Release);
            member::ring(owner);
        }
        self.asked = Some(Asked { cell, len, write, looks: 0 });
    }

    /// # Safety
    /// As for [`Transfer::step`].
    unsafe fn go_on(&mut self, shared: &Arc<Shared>, engine: &mut Engine) -> Result<Step, Error> {
        let Some(mut asked) = self.asked.take() else { return Ok(Step::Moved) };
        let owner = if asked.write { self.to.owner } else { self.from.owner };
        match shared.member().cells[asked.cell.index].answered() {
            None => {
                asked.looks += 1;
                if asked.looks.is_multiple_of(64) && !shared.seat.is_alive(owner) {
                    return Err(Error::PeerGone { member: owner });
                }
                self.asked = Some(asked);
                Ok(Step::Waiting)
            }
            Some(0) if asked.write => {
                self.advance(asked.len);
                Ok(Step::Moved)
            }
            Some(0) => {
                engine.views.hold();
                // SAFETY: contract of this function.
                let step = unsafe { self.drain(shared, engine, asked.cell, asked.len) };
                engine.views.let_go();
                step
            }
            Some(_) => Err(Error::Fault { member: owner }),
        }
    }
}

/// Shortens a list to its first `len` bytes; an empty list (of a class without runs) stays.
fn cut(runs: &mut Vec<Run>, mut len: u64) {
    let mut count = 0;
    for run in runs.iter_mut() {
        if len == 0 {
            break;
        }
        run.len = run.len.min(len as usize);
        len -= run.len as u64;
        count += 1;
    }
    runs.truncate(count);
}

/// The pieces of local memory, as if it were a region.
pub fn local_pieces(runs: &[Run]) -> Option<(Vec<Piece>, u64)> {
    let mut start = 0u64;
    let mut pieces = Vec::with_capacity(runs.len());
    for run in runs.iter().filter(|run| run.len > 0) {
        pieces.push(Piece { start, len: run.len as u64, address: run.at as u64, place: 0 });
        start = start.checked_add(run.len as u64)?;
    }
    Some((pieces, start))
}
