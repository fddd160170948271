//! What a round of the engine looks at: rings of near peers, sockets, timers.

use super::*;

impl Engine {
    /// Moves what can be moved, for a thread that polls.
    pub fn progress(&self) {
        let polls = self.polls.load(Ordering::Relaxed).wrapping_add(1);
        // Lost counts of several threads do no harm: it only has to change.
        self.polls.store(polls, Ordering::Relaxed);
        if polls.wrapping_sub(self.polls_then.load(Ordering::Relaxed)) >= TAKE_OVER
            && self.armed.load(Ordering::Relaxed) == 0
            && self.watch.take_over()
        {
            self.rouse();
        }
        self.round(Some(0), false);
    }

    /// Does what is due, and waits for events until `until`: not at all if that is 0.
    pub(super) fn round(&self, until: Option<u64>, engine: bool) {
        if !self.owing.is_empty() {
            self.owing.take().iter().for_each(|pair| pair.pay());
        }
        if self.next_timer.load(Ordering::Relaxed) != NEVER {
            self.timers_due(engine);
        }
        if !self.ready.is_empty() {
            self.ready.take().into_iter().for_each(|pair| pair.visit(News::default(), engine));
        }
        self.look_near(engine);
        if !engine {
            let time = now();
            let glances = time.saturating_sub(self.looked.load(Ordering::Relaxed)) >= GLANCE;
            if glances {
                self.looked.store(time, Ordering::Relaxed);
            } else if self.far.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
        self.look_at_sockets(until, engine);
    }

    /// Takes what has come through rings.
    fn look_near(&self, engine: bool) {
        let near = self.near.read();
        for pair in near.iter() {
            if let Some(news) = pair.near_news() {
                pair.clone().visit(news, engine);
            }
        }
    }

    fn look_at_sockets(&self, until: Option<u64>, engine: bool) {
        let timeout = until.map(|until| {
            let left = if until == 0 { 0 } else { until.saturating_sub(now()) };
            Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ }
        });
        let mut events = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; EVENTS];
        let count = epoll::wait(&self.epoll, &mut events[..], timeout.as_ref()).unwrap_or(0);
        for event in &events[..count] {
            self.happened(event, engine);
        }
    }

    fn happened(&self, event: &epoll::Event, engine: bool) {
        let flags = event.flags;
        match Tag::from_data(event.data) {
            // Meant for the engine's thread: another leaves it alone.
            Tag::Wake if engine => {
                let mut count = [0; 8];
                let _ = rustix::io::read(&self.wake, &mut count);
            }
            Tag::Wake => {}
            Tag::Pair(number) => {
                if let Some(pair) = self.pair(number) {
                    if !engine {
                        self.watch.event_is_taken(|| pair.sleep());
                    }
                    let ended = flags.intersects(EventFlags::ERR | EventFlags::HUP | EventFlags::RDHUP);
                    let readable = ended || flags.contains(EventFlags::IN);
                    let writable = ended || flags.contains(EventFlags::OUT);
                    pair.visit(News { readable, writable, ended, rung: flags.contains(EventFlags::IN) }, engine);
                }
            }
            Tag::Calling(number) => {
                if let Some(pair) = self.pair(number) {
                    pair.go_on_calling(engine);
                }
            }
            Tag::Listener(number) => {
                if let Some(hca) = self.hca(number) {
                    hca.called(false);
                }
            }
            Tag::NearListener(number) => {
                if let Some(hca) = self.hca(number) {
                    hca.called(true);
                }
            }
            Tag::Stranger(number) => _ = self.hcas().iter().any(|hca| hca.stranger(number)),
            Tag::Datagrams(number) => {
                if let Some(hca) = self.hca(number) {
                    hca.datagrams();
                }
            }
        }
    }

    fn timers_due(&self, engine: bool) {
        let time = now();
        while self.next_timer.load(Ordering::Relaxed) <= time {
            let mut timers = self.timers.lock();
            let due = timers.peek().is_some_and(|&Reverse((at, _))| at <= time);
            let pair = if due { timers.pop().map(|Reverse((_, pair))| pair) } else { None };
            let next = timers.peek().map_or(NEVER, |&Reverse((at, _))| at);
            self.next_timer.store(next, Ordering::SeqCst);
            drop(timers);
            if let Some(pair) = pair.and_then(|number| self.pair(number)) {
                pair.visit(News::default(), engine);
            }
        }
    }
}
