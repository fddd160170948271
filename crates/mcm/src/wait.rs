//! Waiting: spin, then yield, then sleep (design, section 6).

use crate::{Carrier, Mcm, lock};
use std::cell::Cell;
use std::time::{Duration, Instant};
use tern_device::Device;

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
    /// With more processes awake than this, nobody spins who waits for one that needs the same core.
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

/// Looks for one that runs on another core, where processes share cores, before the core is passed on to somebody else, who
/// may be waiting too: they take as long as that costs.
const ELSEWHERE: u32 = 50;

/// How often a wait passes the core on in a row before it looks at anything else than what it waits for.
const PASSES: u32 = 4;

/// Longest sleep; a lost wake-up, which should not be, costs no more than this.
const SLEEP: Duration = Duration::from_millis(50);

/// Looks in vain after which a program that calls MPI_Test or MPI_Iprobe in a loop passes its core on, and again after
/// so many more. It may as well do a little work between two looks; passing on after each then costs more than the work.
const VAIN: u32 = 16;

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
        self.wait_telling(step, &|_| (), &|_| true);
    }

    /// The beginning of a wait for something that comes without this process's help, where processes share cores: passes
    /// the core on until `done`, or a few times. Does as little as it can: whoever gets a core finds that the processor
    /// has forgotten where its pages lie, so each page that is touched costs more than what is done there. `is_on` says whether
    /// somebody may get on with it on this core ([`Mcm::is_on`]).
    #[inline(always)]
    pub fn pass_on(&self, done: impl FnMut() -> bool, is_on: impl Fn(u32) -> bool) -> bool {
        !lock::enabled() && self.pass_on_alone(done, is_on)
    }

    /// The same for a process of one thread.
    #[inline(always)]
    fn pass_on_alone(&self, mut done: impl FnMut() -> bool, is_on: impl Fn(u32) -> bool) -> bool {
        let Carrier::Shm(shm) = &self.device else { return false };
        let cores = self.patience.get().cores;
        if cores == u32::MAX || shm.awake() <= cores {
            return false;
        }
        for _ in 0..PASSES {
            let core = shm.wait_here();
            let mut looks = 0;
            while looks < ELSEWHERE && !is_on(core) {
                std::hint::spin_loop();
                if done() {
                    return true;
                }
                looks += 1;
            }
            tern_counters::YIELDS.add(1);
            shm.spread_now_and_then();
            rustix::thread::sched_yield();
            if done() {
                return true;
            }
        }
        false
    }

    /// As [`Mcm::wait`]. If this process is watched ([`Mcm::watch`]), `tell` is called after each sleep,
    /// with the time for which nothing has moved. `is_here` says whether somebody may get on with it on the
    /// core of this process ([`Mcm::shares_core`]); while it says no, there is little use in passing it on.
    #[inline]
    pub fn wait_telling(
        &self, mut step: impl FnMut() -> Step, tell: &dyn Fn(Duration), is_here: &dyn Fn(&Mcm) -> bool,
    ) {
        // Looks that found nothing, those since the core was passed on, and how often it was.
        let (mut idle, mut looks, mut passed) = (0, 0, 0);
        loop {
            match step() {
                Step::Done => break,
                Step::Moved => (idle, looks, passed) = (0, 0, 0),
                Step::Idle => {
                    idle += 1;
                    if idle == 1 {
                        // Peers may count on our help with what is long.
                        self.device().set_waiting(true);
                    }
                    looks += 1;
                    if looks > self.spins(passed, is_here) {
                        (looks, passed) = (0, passed + 1);
                        if self.yield_or_sleep(passed, idle, &mut step, tell) {
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

    /// Looks to spin for, as things are now, when the core was passed on so many times.
    #[inline]
    fn spins(&self, passed: u32, is_here: &dyn Fn(&Mcm) -> bool) -> u32 {
        let Patience { spins, .. } = self.patience.get();
        match self.is_crowded() {
            false if passed == 0 => spins,
            false => 0,
            // Only at first, so that a long wait comes to its sleep as soon as others.
            true if passed >= PASSES || is_here(self) => 0,
            true => ELSEWHERE.min(spins),
        }
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
        if vain > 0 && vain.is_multiple_of(VAIN) && self.is_crowded() {
            tern_counters::YIELDS.add(1);
            lock::outside(rustix::thread::sched_yield);
        }
    }

    /// The slower part of waiting, for the time `passed`. Returns true when `step` said `Done`.
    #[cold]
    fn yield_or_sleep(&self, passed: u32, idle: u32, step: &mut dyn FnMut() -> Step, tell: &dyn Fn(Duration)) -> bool {
        if passed <= self.patience.get().yields {
            tern_counters::YIELDS.add(1);
            self.device().spread();
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::os::fd::AsFd;

    /// One of three processes, of which none sleeps, that share so many cores.
    fn one_of_three(cores: u32) -> Mcm {
        let file = memfd_create("waiting", MemfdFlags::CLOEXEC).expect("a memfd");
        let shm = tern_shm::Shm::new(file.as_fd(), 0, 3, cores, None).expect("a segment");
        Mcm::over(Carrier::Shm(shm), 0, 3, Patience::new(3, cores))
    }

    /// Looks that `pass_on_alone` makes in vain.
    fn looks(mcm: &Mcm, is_here: bool) -> u32 {
        let mut looks = 0;
        let done = || {
            looks += 1;
            false
        };
        assert!(!mcm.pass_on_alone(done, |_| is_here));
        looks
    }

    #[test]
    fn a_core_is_passed_on_to_those_who_can_use_it() {
        let mcm = one_of_three(2);
        assert_eq!(looks(&mcm, true), PASSES, "somebody here can use it at once");
        assert_eq!(looks(&mcm, false), PASSES * (ELSEWHERE + 1), "nobody here can, so it is kept for a while");
        assert_eq!(looks(&one_of_three(4), true), 0, "there is a core for each");
    }

    #[test]
    fn what_comes_meanwhile_ends_the_wait() {
        let mcm = one_of_three(2);
        for at in 1..=PASSES {
            let mut looks = 0;
            let done = || {
                looks += 1;
                looks == at
            };
            assert!(mcm.pass_on_alone(done, |_| true));
            assert_eq!(looks, at);
        }
    }
}
