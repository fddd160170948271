//! Where the two cores are: how long a cache line takes from one to the other, and whether they are
//! two threads of one physical core.
//!
//! In a virtual machine that changes every few seconds, as the host moves the virtual cores: lines
//! then take several times longer, or both ranks share one core's units. Figures from different
//! placements must not stand beside each other, so each launch is probed before and after. Nor are
//! figures worth anything while the host gives the cores to others, which the kernel tells.

use rustix::thread::{CpuSet, sched_setaffinity};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ROUND_TRIPS: u32 = 1000;
const BATCHES: u32 = 7;
const STEPS: u64 = 100_000;

/// Above this multiple of the shortest way that was seen, cores are far apart.
const FAR: f64 = 2.0;
/// Two threads of one core slow each other down; on cores of their own they do not.
const SHARED: f64 = 1.25;
/// Share of the cores' time that the host may give to others.
const STOLEN: f64 = 0.03;

/// What a probe has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Nanoseconds for a cache line from core to core, one way.
    pub line_ns: f64,
    /// Both are threads of one physical core.
    pub shared: bool,
    /// Share of the cores' time that the host has given to others during the launch.
    pub stolen: f64,
}

impl Placement {
    /// Whether figures from here may stand beside those from a placement that takes `near_ns`.
    pub fn is_near(&self, near_ns: f64) -> bool {
        !self.shared && self.line_ns <= FAR * near_ns && self.stolen <= STOLEN
    }

    /// The worse of two: of before and after a launch.
    fn worse(self, other: Self) -> Self {
        Self {
            line_ns: self.line_ns.max(other.line_ns),
            shared: self.shared || other.shared,
            stolen: self.stolen.max(other.stolen),
        }
    }
}

/// The shortest way between cores that are not one; `None` when there was none such.
pub fn near_ns(seen: impl Iterator<Item = Placement>) -> Option<f64> {
    let own = seen.filter(|placement| !placement.shared);
    own.map(|placement| placement.line_ns).reduce(f64::min)
}

/// Time of some cores since the start of the machine, in ticks: what the host has given to others, and all.
#[derive(Clone, Copy, Default)]
struct Ticks {
    stolen: u64,
    all: u64,
}

impl Ticks {
    /// Zeros where the kernel does not tell.
    fn now(cores: &[usize]) -> Ticks {
        Ticks::parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default(), cores)
    }

    /// From the lines of /proc/stat for these cores: user, nice, system, idle, iowait, irq, softirq, steal; what
    /// follows is part of these.
    fn parse(stat: &str, cores: &[usize]) -> Ticks {
        let times = stat.lines().filter_map(|line| {
            let (core, times) = line.strip_prefix("cpu")?.split_once(' ')?;
            cores.contains(&core.parse().ok()?).then_some(times)
        });
        times.fold(Ticks::default(), |sum, times| {
            let times: Vec<u64> = times.split_ascii_whitespace().map_while(|time| time.parse().ok()).take(8).collect();
            Ticks { stolen: sum.stolen + times.get(7).unwrap_or(&0), all: sum.all + times.iter().sum::<u64>() }
        })
    }

    fn stolen_since(self, before: Ticks) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        self.stolen.saturating_sub(before.stolen) as f64 / all as f64
    }
}

/// A word in a cache line of its own, and not in one that is fetched together with it.
#[repr(align(128))]
struct Flag(AtomicU32);

fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    // Without it the probe is of the cores that the threads happen to run on.
    let _ = sched_setaffinity(None, &set);
}

/// Waits until the flag has the value, which the other thread stores with release.
fn until(flag: &AtomicU32, turn: u32) {
    let mut looks = 0;
    while flag.load(Ordering::Acquire) != turn {
        looks += 1;
        // Rarely, for when both threads have but one core.
        if looks % 10_000 == 0 {
            thread::yield_now();
        }
        spin_loop();
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

    /// Where the cores are now; `None` where there is only one.
    pub fn look(&mut self) -> Option<Placement> {
        let cores = self.cores?;
        let placement = Placement { line_ns: line_ns(cores), shared: slowdown(cores) > SHARED, stolen: 0.0 };
        self.seen.push(placement);
        Some(placement)
    }

    /// Whether it is as near as any that was seen. Where cores were never seen apart from each
    /// other, everything is.
    pub fn is_good(&self, placement: Option<Placement>) -> bool {
        let near = near_ns(self.seen.iter().copied());
        let judged = placement.zip(near);
        judged.is_none_or(|(placement, near)| placement.is_near(near))
    }

    /// Waits for a good placement as long as patience allows, and returns the last look.
    pub fn settle(&mut self) -> Option<Placement> {
        let start = Instant::now();
        loop {
            let placement = self.look();
            if self.is_good(placement) || start.elapsed() >= self.patience {
                self.ticks = self.ticks_now();
                return placement;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn ticks_now(&self) -> Ticks {
        Ticks::now(self.cores.as_ref().map_or(&[], |cores| cores))
    }

    /// Looks again after a launch; the worse of both places counts, and what the host has taken meanwhile.
    pub fn since(&mut self, before: Option<Placement>) -> Option<Placement> {
        let stolen = self.ticks_now().stolen_since(self.ticks);
        let after = self.look();
        Some(before?.worse(Placement { stolen, ..after? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line_ns: f64, shared: bool) -> Placement {
        Placement { line_ns, shared, stolen: 0.0 }
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
    fn the_worse_of_before_and_after() {
        assert_eq!(at(30.0, false).worse(at(160.0, false)), at(160.0, false));
        assert_eq!(at(30.0, false).worse(at(14.0, true)), at(30.0, true));
    }

    #[test]
    fn a_host_that_takes_the_cores_is_no_good_place() {
        let probe = probe(&[at(30.0, false)]);
        assert!(probe.is_good(Some(Placement { stolen: 0.01, ..at(30.0, false) })));
        assert!(!probe.is_good(Some(Placement { stolen: 0.2, ..at(30.0, false) })));
    }

    #[test]
    fn only_the_cores_that_are_measured_count() {
        let stat = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 60 0 20 500 5 1 4 10 7 0\ncpu1 9 9 9 9 9 9 9 9 9 9\ncpu10 40 0 30 500 0 0 0 30\nctxt 8\n";
        let (before, now) = (Ticks::parse(stat, &[0, 10]), Ticks { stolen: 90, all: 1400 });
        assert_eq!((before.stolen, before.all), (40, 1200));
        assert_eq!(now.stolen_since(before), 0.25);
        let unknown = Ticks::parse("cpu0 1 2", &[0]);
        assert_eq!(unknown.stolen_since(Ticks::default()), 0.0);
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
