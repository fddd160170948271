//! A queue pair as it is held: making, posting, failing, and the end.

use super::reach::{Group, Reached, is_reached};
use super::*;
use crate::software::regions::SEGMENTS;

pub struct QueuePair {
    pub(in crate::software) pair: Arc<Pair>,
    pub(super) reached: Reached,
}

impl QueuePair {
    pub fn new(
        hca: &Arc<Shared>, domain: u32, send: Option<Arc<Queue>>, receive: Option<Arc<Queue>>, source: Source,
        limits: &Limits,
    ) -> Result<QueuePair> {
        hca.alive()?;
        let most = hca.capabilities.send;
        if limits.gather as usize > SEGMENTS || limits.inline > most.inline || limits.depth > most.depth {
            return Err(Error::Invalid(format!("{limits:?} for a send queue; the software HCA has {most:?}")));
        }
        let number = hca.engine().number();
        let group = matches!(source, Source::Initiator).then(|| Group::new(number));
        let pair = Arc::new(Pair {
            number,
            hca: hca.clone(),
            domain,
            send,
            receive,
            source,
            limits: *limits,
            used: Arc::default(),
            phase: AtomicU8::new(INITIALIZED),
            group,
            rings: OnceLock::new(),
            far: AtomicBool::new(false),
            open: AtomicBool::new(false),
            hold: AtomicU64::new(0),
            port: AtomicU8::new(0),
            inner: Mutex::default(),
        });
        hca.engine().add_pair(pair.clone());
        if let Some(group) = &pair.group {
            group.add(&pair);
        }
        Ok(QueuePair { pair, reached: Reached::default() })
    }

    pub fn number(&self) -> u32 {
        self.pair.number
    }

    pub fn address(&self) -> Vec<u8> {
        self.pair.hca.pair_address(self.pair.number).encode()
    }

    pub fn open_address(&self) -> Vec<u8> {
        self.pair.hca.pair_address(self.pair.number).named().to_vec()
    }

    pub fn limits(&self) -> Limits {
        self.pair.limits
    }

    pub fn connect(&self, peer: &[u8], connection: &Connection) -> Result<()> {
        self.pair.hca.alive()?;
        self.pair.connect(self.pair.hca.read_address(peer)?, connection)
    }

    pub fn select_port(&self, port: u8) -> Result<()> {
        let ports = self.pair.hca.capabilities.ports;
        if port >= ports {
            return Err(Error::Unsupported(format!("port {port} of a software HCA, which has {ports}")));
        }
        self.pair.port.store(port, Ordering::Relaxed);
        Ok(())
    }

    pub fn state(&self) -> State {
        match self.pair.phase() {
            _ if self.pair.group.as_ref().is_some_and(|group| group.failed()) => State::Error,
            INITIALIZED => State::Initialized,
            READY => State::Ready,
            _ => State::Error,
        }
    }

    pub fn reason(&self) -> Option<String> {
        if self.pair.hca.forked() {
            return Some(Error::Forked.to_string());
        }
        match &self.pair.group {
            Some(group) => group.reason(),
            None => self.pair.inner.lock().reason.clone(),
        }
    }

    pub fn fail(&self) -> Result<()> {
        self.pair.hca.alive()?;
        let inner = &mut *self.pair.inner.lock();
        self.pair.fail(inner, Some(u64::MAX), Status::Flushed, "taken to error on demand", false);
        Ok(())
    }

    pub fn post_receive(&self, id: u64, segments: &[Segment]) -> Result<()> {
        self.pair.hca.alive()?;
        let Source::Own(receives) = &self.pair.source else {
            return Err(Error::Invalid("a queue pair without a receive queue of its own gets a receive".into()));
        };
        receives.post(id, segments)?;
        if self.pair.phase() == FAILED {
            // Under the lock, so that those of several threads are flushed in order.
            let _inner = self.pair.inner.lock();
            while let Some(receive) = receives.take() {
                self.pair.complete_receive(receives, receive, Status::Flushed, 0, None, false);
            }
        }
        Ok(())
    }

    pub fn post_send(&self, request: &SendRequest<'_>) -> Result<()> {
        let reached;
        let (pair, queue) = match request.receive_queue {
            queue if is_reached(queue) => {
                let Some((found, queue)) = self.reached.find(queue) else {
                    return Err(Error::Invalid(format!("receive queue {queue} is not reached")));
                };
                reached = found;
                (&reached, queue)
            }
            queue => (&self.pair, queue),
        };
        pair.hca.alive()?;
        pair.check(request)?;
        if pair.used.load(Ordering::Relaxed) >= pair.limits.depth {
            return Err(Error::QueueFull);
        }
        if let Data::Inline(parts) = request.data {
            let bytes = parts.iter().map(|part| part.len()).sum();
            pair.hca.occupy(pair.hca.link.inline_of(bytes));
        }
        let mut inner = pair.inner.lock();
        let inner = &mut *inner;
        if pair.phase() == INITIALIZED {
            return Err(Error::State(format!("{} is not connected, and sends", pair.name(inner))));
        }
        pair.used.fetch_add(1, Ordering::Relaxed);
        let mut work = inner.spare.pop().unwrap_or_default();
        work.fill(request);
        work.receive_queue = queue;
        if let Some(group) = &pair.group {
            work.ticket = group.post();
            pair.join_failure(inner);
        }
        if pair.phase() == FAILED {
            pair.complete(inner, work, Status::Flushed);
            return Ok(());
        }
        inner.window.post(work);
        if let Some(why) = inner.lost.take() {
            pair.fail(inner, None, Status::RetryExceeded, &why, false);
            return Ok(());
        }
        pair.start_patience(inner);
        pair.push_out(inner);
        if inner.ended && pair.take_in(inner) && !std::mem::replace(&mut inner.going_on, true) {
            pair.hca.engine().go_on(pair.clone());
        }
        Ok(())
    }
}

impl Pair {
    /// What nobody could make good.
    fn check(&self, request: &SendRequest<'_>) -> Result<()> {
        let invalid = |what: String| Err(Error::Invalid(what));
        let (parts, total) = match request.data {
            Data::Segments(segments) => (segments.len(), segments.iter().map(|segment| u64::from(segment.len)).sum()),
            Data::Inline(parts) => (parts.len(), parts.iter().map(|part| part.len() as u64).sum::<u64>()),
        };
        if parts > self.limits.gather as usize {
            return invalid(format!("{parts} parts in a request; the queue takes {}", self.limits.gather));
        }
        if total > u64::from(MESSAGE) {
            return invalid(format!("a message of {total} bytes; at most {MESSAGE}"));
        }
        let inline = matches!(request.data, Data::Inline(_));
        if inline && total > u64::from(self.limits.inline) {
            return invalid(format!("{total} inline bytes; the queue takes {}", self.limits.inline));
        }
        if request.operation.answers() {
            if inline {
                return invalid("the answer of a read or an atomic has to go to registered memory".into());
            }
            if !matches!(request.operation, Operation::Read(_)) && total != 8 {
                return invalid(format!("an atomic has an answer of 8 bytes, not {total}"));
            }
        }
        if matches!(self.source, Source::Xrc(_)) {
            return invalid("the target of an XRC connection sends".into());
        }
        let count = self.hca.counts.posts.fetch_add(1, Ordering::Relaxed);
        if self.hca.faults().full.meets(count) { Err(Error::QueueFull) } else { Ok(()) }
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        if self.pair.hca.forked() {
            // Their locks may be held by threads that are not here, and their sockets are the parent's.
            std::mem::forget((self.pair.clone(), std::mem::take(&mut self.reached)));
            return;
        }
        for pair in self.reached.pairs().iter().chain([&self.pair]) {
            pair.hca.engine().remove_pair(pair.number);
            let inner = &mut *pair.inner.lock();
            // The peer should not take for lost what has been executed.
            pair.acknowledge(inner);
            pair.phase.store(FAILED, Ordering::Relaxed);
            pair.part(inner);
        }
    }
}
