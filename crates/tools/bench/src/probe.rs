//! Looks, before and after a launch, where the two cores are: how long a cache line takes from one to the other, and
//! whether they are two threads of one physical core; and what the host has given to others meanwhile, which the kernel
//! tells. Two ranks with a core each look by themselves, too, all the time (place.c); from here they learn which way is
//! the near one.

use crate::placement::{Kind, OFTEN, Placement, near_ns};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tern_node::Ticks;

const ROUND_TRIPS: u32 = 1000;
const BATCHES: u32 = 7;
const STEPS: u64 = 100_000;
/// How long to look before the first launch.
const SURVEY: Duration = Duration::from_secs(3);

/// Two threads of one core slow each other down; on cores of their own they do not.
const SHARED: f64 = 1.25;
/// A word in a cache line of its own, and not in one that is fetched together with it.
#[repr(align(128))]
struct Flag(AtomicU32);

/// Binds this thread to a core.
pub fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    // Without it the probe is of the cores that the threads happen to run on.
    let _ = sched_setaffinity(None, &set);
}

/// Waits until the flag has the value, which the other thread stores with release.
pub fn until(flag: &AtomicU32, turn: u32) {
    let mut looks = 0;
    while flag.load(Ordering::Acquire) != turn {
        looks += 1;
        // Rarely, for when both threads have but one core.
        if looks % 10_000 == 0 {
            thread::yield_now();
        }
    }
}

/// The least of some batches counts in both probes: a core that is lost for a moment says nothing
/// about where it is.
fn least(mut batch: impl FnMut() -> Duration) -> f64 {
    let best = (0..BATCHES).map(|_| batch()).min();
    best.unwrap_or_default().as_nanos() as f64
}

fn line_ns(cores: [usize; 2]) -> f64 {
    let flags = [Flag(AtomicU32::new(0)), Flag(AtomicU32::new(0))];
    let [ping, pong] = [&flags[0].0, &flags[1].0];
    thread::scope(|scope| {
        scope.spawn(move || {
            pin(cores[1]);
            for turn in 1..=ROUND_TRIPS * BATCHES {
                until(ping, turn);
                // Pairs with the other thread's `until`, as does its store with the one above.
                pong.store(turn, Ordering::Release);
            }
        });
        let timed = scope.spawn(move || {
            pin(cores[0]);
            let mut turn = 0;
            let trips = least(|| {
                let start = Instant::now();
                for _ in 0..ROUND_TRIPS {
                    turn += 1;
                    ping.store(turn, Ordering::Release);
                    until(pong, turn);
                }
                start.elapsed()
            });
            trips / f64::from(2 * ROUND_TRIPS)
        });
        timed.join().unwrap_or(0.0)
    })
}

/// Work that keeps the integer units of a core busy: several independent chains.
fn work() -> Duration {
    let start = Instant::now();
    let mut chains = [1_u64, 2, 3, 4, 5, 6, 7, 8];
    for _ in 0..STEPS {
        for chain in &mut chains {
            *chain = black_box(chain.wrapping_mul(3).wrapping_add(1));
        }
    }
    black_box(chains);
    start.elapsed()
}

/// How many times longer work takes on the first core while the second works, too.
fn slowdown(cores: [usize; 2]) -> f64 {
    let started = AtomicBool::new(false);
    let done = AtomicBool::new(false);
    let (started, done) = (&started, &done);
    thread::scope(|scope| {
        let timed = scope.spawn(move || {
            pin(cores[0]);
            let alone = least(work);
            let other = thread::Builder::new().spawn_scoped(scope, move || {
                pin(cores[1]);
                while !done.load(Ordering::Relaxed) {
                    work();
                    started.store(true, Ordering::Relaxed);
                }
            });
            if other.is_err() {
                return 1.0;
            }
            while !started.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            let together = least(work);
            done.store(true, Ordering::Relaxed);
            together / alone
        });
        timed.join().unwrap_or(1.0)
    })
}

/// Probes of one series of measurements.
pub struct Probe {
    cores: Option<[usize; 2]>,
    /// How long one launch may wait for a good placement.
    patience: Duration,
    seen: Vec<Placement>,
    /// As of the last look before a launch.
    ticks: Ticks,
}

impl Probe {
    /// Of the first two of `cores`; with fewer there is nothing to probe.
    pub fn new(cores: &[usize], patience: Duration) -> Self {
        Self { cores: cores.first_chunk().copied(), patience, seen: Vec::new(), ticks: Ticks::default() }
    }

    /// How long one launch may wait for a good placement.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Where the cores are now; `None` where there is only one.
    pub fn look(&mut self) -> Option<Placement> {
        let near = self.near_ns();
        let placement = self.look_once()?;
        // What seems to be nearer than ever counts when it was seen several times.
        if !placement.shared && near.is_some_and(|near| placement.is_one(near)) {
            for _ in 1..OFTEN {
                self.look_once();
            }
        }
        Some(placement)
    }

    fn look_once(&mut self) -> Option<Placement> {
        let cores = self.cores?;
        let placement = Placement::at(line_ns(cores), slowdown(cores) > SHARED);
        self.seen.push(placement);
        Some(placement)
    }

    /// Looks for a while, to know which places there are; not at all without patience.
    pub fn survey(&mut self) {
        let start = Instant::now();
        while start.elapsed() < self.patience.min(SURVEY) && self.look().is_some() {
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What was seen in an earlier sitting.
    pub fn remember(&mut self, seen: impl Iterator<Item = Placement>) {
        self.seen.extend(seen);
    }

    /// What a cache line takes between cores near each other; `None` where they were never seen apart.
    pub fn near_ns(&self) -> Option<f64> {
        near_ns(self.seen.iter().copied())
    }

    /// Whether it is as near as any that was seen. Where cores were never seen apart from each
    /// other, everything is.
    pub fn is_good(&self, placement: Option<Placement>) -> bool {
        let judged = placement.zip(self.near_ns());
        judged.is_none_or(|(placement, near)| placement.kind(near) == Kind::Near)
    }

    /// Waits for a good placement as long as patience allows, and returns the last look.
    pub fn settle(&mut self) -> Option<Placement> {
        let start = Instant::now();
        loop {
            let placement = self.begin();
            if self.is_good(placement) || start.elapsed() >= self.patience {
                return placement;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Looks before a launch that waits by itself.
    pub fn begin(&mut self) -> Option<Placement> {
        let placement = self.look();
        self.ticks = self.ticks_now();
        placement
    }

    fn ticks_now(&self) -> Ticks {
        Ticks::now(self.cores.as_ref().map_or(&[][..], |cores| cores))
    }

    /// Looks again after a launch; both places count, and what the host has taken meanwhile.
    pub fn since(&mut self, before: Option<Placement>) -> Option<Placement> {
        let before = before?;
        let stolen = self.ticks_now().stolen_since(self.ticks);
        let after = self.look();
        Some(before.and(Placement { stolen, ..after? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line_ns: f64, shared: bool) -> Placement {
        Placement::at(line_ns, shared)
    }

    fn probe(seen: &[Placement]) -> Probe {
        let mut probe = Probe::new(&[0], Duration::ZERO);
        probe.seen = seen.to_vec();
        probe
    }

    #[test]
    fn good_is_neither_far_nor_shared() {
        let probe = probe(&[at(160.0, false), at(30.0, false), at(14.0, true)]);
        assert!(probe.is_good(Some(at(33.0, false))));
        assert!(!probe.is_good(Some(at(160.0, false))));
        assert!(!probe.is_good(Some(at(14.0, true))));
        assert!(probe.is_good(None));
    }

    #[test]
    fn cores_that_are_never_apart_are_good_as_they_are() {
        assert!(probe(&[at(14.0, true)]).is_good(Some(at(14.0, true))));
    }

    #[test]
    fn one_core_has_no_distance() {
        assert_eq!(probe(&[]).settle(), None);
        assert_eq!(probe(&[]).since(None), None);
    }

    #[test]
    fn two_threads_pass_a_line() {
        assert!(line_ns([0, 0]) > 0.0);
    }
}
