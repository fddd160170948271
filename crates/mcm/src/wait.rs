//! Waiting: spin, then yield, then sleep (design, section 6).

use crate::{Mcm, lock};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// What one look for work found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// What the caller waits for has come.
    Done,
    /// Something moved: look again at once.
    Moved,
    /// Nothing to do.
    Idle,
}

/// How long to spin and to yield, in looks that found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub spins: u32,
    pub yields: u32,
    /// With more processes awake than this, nobody spins.
    pub cores: u32,
}

impl Patience {
    /// For `ranks` processes that share `cores` cores. With a core for each, spinning costs nobody
    /// anything and answers fastest. With fewer, a spin delays whoever is waited for, unless the
    /// others sleep; and two that are awake may still share a core, so it is short. Yielding passes
    /// the core on for a microsecond or so; a sleep costs ten times that and more to wake from, so
    /// it is for those that wait really long.
    pub fn new(ranks: u32, cores: u32) -> Patience {
        if ranks <= cores {
            Patience { spins: 20_000, yields: 100, cores: u32::MAX }
        } else {
            Patience { spins: 200, yields: 300, cores }
        }
    }

    /// The same, unless the user has set it.
    pub fn as_set(ranks: u32, cores: u32) -> Patience {
        let looks = |count: u64| count.min(u32::MAX as u64) as u32;
        let patience = Patience::new(ranks, cores);
        Patience {
            spins: tern_settings::SPIN.get().map_or(patience.spins, looks),
            yields: tern_settings::YIELD.get().map_or(patience.yields, looks),
            ..patience
        }
    }
}

/// Longest sleep; a lost wake-up, which should not be, costs no more than this.
const SLEEP: Duration = Duration::from_millis(50);

/// Looks in vain after which a program seems to call MPI_Test or MPI_Iprobe in a loop.
const VAIN: u32 = 20;

thread_local! {
    /// The last sleep of this thread: at how many looks in vain, and when such sleeps began.
    static SLEPT: Cell<(u32, Option<Instant>)> = const { Cell::new((0, None)) };
}

/// How long this thread has found nothing, after a sleep at `idle` looks in vain. They count up until
/// something moves.
fn slept(idle: u32) -> Duration {
    let (before, since) = SLEPT.get();
    let since = since.filter(|_| idle > before).unwrap_or_else(Instant::now);
    SLEPT.set((idle, Some(since)));
    since.elapsed()
}

impl Mcm {
    /// Calls `step` until it says `Done`. Between two looks other threads may enter; a process
    /// that waits long sleeps until a peer rings.
    #[inline]
    pub fn wait(&self, step: impl FnMut() -> Step) {
        self.wait_telling(step, &|_| ());
    }

    /// As [`Mcm::wait`]. If this process is watched ([`Mcm::watch`]), `tell` is called after each sleep,
    /// with the time for which nothing has moved.
    #[inline]
    pub fn wait_telling(&self, mut step: impl FnMut() -> Step, tell: &dyn Fn(Duration)) {
        let mut idle = 0;
        loop {
            match step() {
                Step::Done => break,
                Step::Moved => idle = 0,
                Step::Idle => {
                    idle += 1;
                    if idle == 1 {
                        // Peers may count on our help with what is long.
                        self.device().set_waiting(true);
                    }
                    let spins = self.spins();
                    if idle > spins {
                        if self.yield_or_sleep(idle - spins, &mut step, tell) {
                            break;
                        }
                    } else {
                        std::hint::spin_loop();
                        lock::bump();
                    }
                }
            }
        }
        self.device().set_waiting(false);
    }

    /// Looks to spin for, as things are now.
    #[inline]
    fn spins(&self) -> u32 {
        if self.is_crowded() { 0 } else { self.patience.get().spins }
    }

    /// True while more processes are awake than there are cores.
    #[inline]
    fn is_crowded(&self) -> bool {
        let cores = self.patience.get().cores;
        cores != u32::MAX && self.device().awake() > cores
    }

    /// After the look of a nonblocking call (MPI_Test, MPI_Iprobe and the like), which may have
    /// `moved` something. A program that calls these in a loop waits without saying so: where
    /// cores are scarce, it passes its core on.
    #[inline]
    pub fn looked(&self, moved: bool) {
        let vain = if moved { 0 } else { self.vain.get().saturating_add(1) };
        self.vain.set(vain);
        if vain > VAIN && self.is_crowded() {
            tern_counters::YIELDS.add(1);
            lock::outside(rustix::thread::sched_yield);
        }
    }

    /// The slower part of waiting. Returns true when `step` said `Done`.
    #[cold]
    fn yield_or_sleep(&self, idle: u32, step: &mut dyn FnMut() -> Step, tell: &dyn Fn(Duration)) -> bool {
        if idle <= self.patience.get().yields {
            tern_counters::YIELDS.add(1);
            lock::outside(rustix::thread::sched_yield);
            return false;
        }
        let token = self.device().prepare_sleep();
        let found = step();
        if found == Step::Idle {
            tern_counters::SLEEPS.add(1);
            lock::outside(|| self.device().sleep(token, SLEEP));
        }
        self.device().end_sleep();
        if self.watched.get() && found == Step::Idle {
            tell(slept(idle));
        }
        found == Step::Done
    }

    /// From now on waits tell how long nothing has moved.
    pub fn watch(&self) {
        self.watched.set(true);
    }

    /// Looks of nonblocking calls since something last moved.
    pub fn vain(&self) -> u32 {
        self.vain.get()
    }
}
