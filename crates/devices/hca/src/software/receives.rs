//! Receive queues of the software HCA: a queue pair's own, shared ones, and those that sends name by number.

use super::completion::Queue;
use super::regions::SEGMENTS;
use super::shared::Shared;
use crate::{Error, Event, ReceiveLimits, Result, Segment};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tern_threads::{Mutex, RwLock};

/// A receive that was posted.
#[derive(Default)]
pub struct Receive {
    pub id: u64,
    pub segments: Vec<Segment>,
}

impl Receive {
    pub fn len(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.len)).sum()
    }
}

struct Line {
    receives: VecDeque<Receive>,
    /// Used ones, whose lists are used again.
    spare: Vec<Receive>,
    /// Tell when there are fewer.
    low: u32,
}

pub struct Receives {
    line: Mutex<Line>,
    limits: ReceiveLimits,
    /// Its memory belongs to this protection domain.
    pub domain: u32,
    token: u64,
    /// For XRC: its number, and where its receives complete.
    xrc: Option<(u32, Arc<XrcShared>, Arc<Queue>)>,
    hca: Arc<Shared>,
}

impl Receives {
    pub fn new(hca: &Arc<Shared>, limits: &ReceiveLimits, domain: u32, token: u64) -> Result<Receives> {
        if limits.scatter as usize > SEGMENTS {
            return Err(Error::Invalid(format!(
                "receives of {} segments; the software HCA takes {SEGMENTS}",
                limits.scatter
            )));
        }
        let line = Mutex::new(Line { receives: VecDeque::new(), spare: Vec::new(), low: 0 });
        Ok(Receives { line, limits: *limits, domain, token, xrc: None, hca: hca.clone() })
    }

    pub fn post(&self, id: u64, segments: &[Segment]) -> Result<()> {
        if segments.len() > self.limits.scatter as usize {
            return Err(Error::Invalid(format!(
                "a receive of {} segments in a queue for {}",
                segments.len(),
                self.limits.scatter
            )));
        }
        let line = &mut *self.line.lock();
        if line.receives.len() >= self.limits.depth as usize {
            return Err(Error::QueueFull);
        }
        let mut receive = line.spare.pop().unwrap_or_default();
        receive.id = id;
        receive.segments.clear();
        receive.segments.extend_from_slice(segments);
        line.receives.push_back(receive);
        Ok(())
    }

    pub fn take(&self) -> Option<Receive> {
        let mut line = self.line.lock();
        let receive = line.receives.pop_front();
        self.look_at_limit(&mut line);
        receive
    }

    /// Keeps the list of a receive for the next.
    pub fn recycle(&self, receive: Receive) {
        self.line.lock().spare.push(receive);
    }

    fn look_at_limit(&self, line: &mut Line) {
        if (line.receives.len() as u64) < u64::from(line.low) {
            line.low = 0;
            self.hca.tell(Event::ReceiveQueueLow { token: self.token });
        }
    }

    /// Tells once when there are fewer than `low`.
    pub fn arm_limit(&self, low: u32) {
        let mut line = self.line.lock();
        line.low = low;
        self.look_at_limit(&mut line);
    }

    /// For XRC.
    pub fn number(&self) -> Option<u32> {
        self.xrc.as_ref().map(|&(number, ..)| number)
    }

    pub fn hca(&self) -> &Shared {
        &self.hca
    }

    /// Where its receives complete, if that is its own.
    pub fn completions(&self) -> Option<&Arc<Queue>> {
        self.xrc.as_ref().map(|(_, _, completions)| completions)
    }
}

/// The shared receive queues of an XRC domain by their numbers.
#[derive(Default)]
pub struct XrcShared {
    queues: RwLock<HashMap<u32, std::sync::Weak<Receives>>>,
}

impl XrcShared {
    pub fn find(&self, number: u32) -> Option<Arc<Receives>> {
        self.queues.read().get(&number)?.upgrade()
    }

    /// Adds a queue, whose receives complete in `completions`.
    pub fn add(self: &Arc<XrcShared>, mut receives: Receives, completions: Arc<Queue>) -> Arc<Receives> {
        // One of the process: initiators of others know nothing of domains.
        let number = receives.hca.engine().number();
        receives.xrc = Some((number, self.clone(), completions));
        let receives = Arc::new(receives);
        self.queues.write().insert(number, Arc::downgrade(&receives));
        receives
    }
}

impl Drop for Receives {
    fn drop(&mut self) {
        if let Some((number, domain, _)) = &self.xrc
            && !self.hca.forked()
        {
            domain.queues.write().remove(number);
        }
    }
}
