//! Parts of asynchronous copies that a DMA engine does: both sides are mapped here, and the engine uses the same addresses.

use super::Error;
use super::shared::{Engine, Shared, lock};
use super::side::Class;
use super::transfer::{Step, Transfer};
use crate::dma::{Dma, Flight, Outcome};
use crate::view::Views;
use std::sync::{Arc, Mutex};

/// Copies below this are not looked at.
pub const LEAST: u64 = 16 << 10;
/// What one descriptor copies at most: how long giving up a copy may take.
const PART: u64 = 1 << 20;
/// After a missing page the processor copies so much, which brings the page.
const PAGE: u64 = 4096;
/// So many missing pages in a copy, and the processor does the rest.
const PATIENCE: u32 = 16;

/// The engine of a space.
pub struct Arm {
    pub dma: Dma,
    /// Mapped memory of others; held while copies fly.
    views: Mutex<Views>,
}

impl Arm {
    pub fn new(shared: &Shared, dma: Dma) -> Result<Arm, Error> {
        Ok(Arm { dma, views: Mutex::new(Views::new(shared.file.try_clone()?)) })
    }
}

/// A part on its way.
pub struct Flying {
    shared: Arc<Shared>,
    flight: Option<Flight>,
}

impl Drop for Flying {
    fn drop(&mut self) {
        // Waits for the engine. Then the views may go.
        self.flight = None;
        if let Some(arm) = self.shared.arm() {
            lock(&arm.views).let_go();
        }
    }
}

impl Shared {
    /// Whether the engine does an asynchronous copy of `len` bytes. It is looked for at the first copy that is long enough.
    pub fn engine_pays(&self, len: u64) -> bool {
        len >= LEAST && self.find_arm().is_some_and(|arm| arm.dma.cost().pays(len))
    }
}

impl Transfer {
    /// Hands the next part to the engine; `None` when the processor is to do it.
    pub fn launch(&mut self, shared: &Arc<Shared>, engine: &mut Engine) -> Option<Step> {
        let arm = shared.find_arm().filter(|_| self.by_engine && self.rest >= LEAST)?;
        let views = lock(&arm.views);
        views.hold();
        let most = self.rest.min(PART).min(arm.dma.longest() as u64);
        let (from_class, _) = self.from.gather(shared, &views, most, &mut engine.from);
        let (to_class, _) = self.to.gather(shared, &views, most, &mut engine.to);
        let sides = (engine.from.first().copied(), engine.to.first().copied());
        let flight = match sides {
            (Some(from), Some(to)) if from_class == Class::Local && to_class == Class::Local => {
                let len = from.len.min(to.len);
                let apart = (from.at as usize).abs_diff(to.at as usize) >= len;
                // SAFETY: memory for this copy, mapped while it flies, as the callers of `step` and the views say.
                (len as u64 >= PAGE && apart).then(|| unsafe { arm.dma.start(from.at, to.at, len) }).flatten()
            }
            // The module or the kernel reaches it, and not this process's addresses.
            _ => {
                self.by_engine = false;
                None
            }
        };
        if flight.is_none() {
            views.let_go();
            return None;
        }
        self.flying = Some(Flying { shared: shared.clone(), flight });
        Some(Step::Moved)
    }

    /// Looks at the part that flies; `None` when the processor is to go on from here.
    pub fn land(&mut self) -> Option<Step> {
        let flying = self.flying.take()?;
        let (outcome, len) = flying.flight.as_ref().map(|flight| (flight.outcome(), flight.len))?;
        match outcome {
            Outcome::Flying => {
                self.flying = Some(flying);
                return Some(Step::Waiting);
            }
            Outcome::Done => self.advance(len as u64),
            Outcome::Missing(moved) => {
                self.advance(moved as u64);
                self.missing += 1;
                self.by_engine = self.missing < PATIENCE;
                return None;
            }
            Outcome::Refused(_) => {
                self.by_engine = false;
                return None;
            }
        }
        Some(Step::Moved)
    }

    /// What the processor copies before the engine may go on.
    pub fn by_processor(&self, most: u64) -> u64 {
        if self.by_engine && self.missing > 0 { most.min(PAGE) } else { most }
    }
}

#[cfg(test)]
mod tests;
