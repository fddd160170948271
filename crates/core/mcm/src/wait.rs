//! Waiting: spin, then yield, then sleep (docs/parts/waiting.md).

use crate::{Carrier, Mcm, lock};
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::time::{Duration, Instant};
use tern_device::Channel;
use tern_device::clock::ticks;

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
    /// The user has set the spins, and they are kept whoever else is on the cores.
    pub spins_are_set: bool,
    /// The user has set the yields, and they are kept likewise.
    pub yields_are_set: bool,
}

impl Patience {
    /// For `ranks` processes that share `cores` cores. With a core for each, spinning costs nobody
    /// anything and answers fastest. With fewer, a spin delays whoever is waited for, unless the
    /// others sleep; and two that are awake may still share a core, so it is short. Yielding passes
    /// the core on for a microsecond or so; a sleep costs ten times that and more to wake from, so
    /// it is for those that wait really long.
    pub fn new(ranks: u32, cores: u32) -> Patience {
        if ranks <= cores {
            Patience { spins: 20_000, yields: 100, cores: u32::MAX, spins_are_set: false, yields_are_set: false }
        } else {
            Patience { spins: 200, yields: 300, cores, spins_are_set: false, yields_are_set: false }
        }
    }

    /// The same where a look takes as long as `look` looks at shared memory ([`tern_device::Abilities::look`]). Its spins
    /// take no longer: other jobs, containers and nodes of the same machine may need the core, and nothing tells of them.
    pub fn with_looks_of(self, look: u32) -> Patience {
        Patience { spins: (self.spins / look.max(1)).max(GLANCES.min(self.spins)), ..self }
    }

    /// As [`Patience::new`] and [`Patience::with_looks_of`], unless the user has set it.
    pub fn as_set(ranks: u32, cores: u32, look: u32) -> Patience {
        let looks = |count: u64| count.min(u32::MAX as u64) as u32;
        let patience = Patience::new(ranks, cores).with_looks_of(look);
        let (spins, yields) = (tern_settings::SPIN.get(), tern_settings::YIELD.get());
        Patience {
            spins: spins.map_or(patience.spins, looks),
            yields: yields.map_or(patience.yields, looks),
            spins_are_set: spins.is_some(),
            yields_are_set: yields.is_some(),
            ..patience
        }
    }
}

/// Looks for one that runs on another core, where processes share cores, before the core is passed on to somebody else, who
/// may be waiting too: they take as long as that costs.
const ELSEWHERE: u32 = 50;

/// Looks of a wait that sleeps at once: as long as a message is under way.
const GLANCES: u32 = 200;

/// How often a wait passes the core on in a row before it looks at anything else than what it waits for.
const PASSES: u32 = 4;

/// Longest sleep; a lost wake-up, which should not be, costs no more than this.
const SLEEP: Duration = Duration::from_millis(50);

/// Sleep of one whom nobody wakes, in the place of a yield. It may last twice as long.
const NAP: Duration = Duration::from_micros(50);

/// Nanoseconds of a call that looks and does not wait, in a model.
const LOOK: u64 = 50;

thread_local! {
    /// When the first sleep of this thread ended since something has moved last, or since its wait began.
    static SLEPT: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// How long this thread has found nothing, after a sleep of the wait that goes on.
fn slept() -> Duration {
    match SLEPT.get() {
        Some(since) => since.elapsed(),
        None => {
            SLEPT.set(Some(Instant::now()));
            Duration::ZERO
        }
    }
}

/// Yields the core; returns for how many ticks it was away.
#[inline]
fn yield_core() -> u64 {
    tern_counters::YIELDS.add(1);
    let before = ticks();
    rustix::thread::sched_yield();
    // Clocks of cores may differ a little.
    ticks().saturating_sub(before)
}

/// Nanoseconds for which this thread has used a core.
fn core_use() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
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
        let Carrier::Shm(shm) = self.carrier() else { return false };
        let cores = self.patience.get().cores;
        if cores == u32::MAX || shm.awake() <= cores {
            return false;
        }
        for _ in 0..PASSES {
            if self.is_core_contended() {
                return false;
            }
            let core = shm.wait_here();
            let mut looks = 0;
            while looks < ELSEWHERE && !is_on(core) {
                std::hint::spin_loop();
                if done() {
                    return true;
                }
                looks += 1;
            }
            shm.balance_now_and_then();
            self.note_yield(yield_core());
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
                    if tern_atomics::pause() {
                        continue;
                    }
                    looks += 1;
                    if looks > self.spins(passed, is_here) {
                        (looks, passed) = (0, passed + 1);
                        if self.yield_or_sleep(passed, &mut step, tell) {
                            break;
                        }
                    } else {
                        std::hint::spin_loop();
                        lock::bump();
                    }
                }
            }
        }
        if !self.keeps_waiting.get() {
            self.device().set_waiting(false);
        }
    }

    /// Looks to spin for, as things are now, when the core was passed on so many times.
    #[inline]
    fn spins(&self, passed: u32, is_here: &dyn Fn(&Mcm) -> bool) -> u32 {
        let Patience { spins, spins_are_set, .. } = self.patience.get();
        match self.is_crowded() {
            false if passed == 0 && self.contention.is_seen() && !spins_are_set => spins.min(GLANCES),
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

    /// True while waits sleep in the place of yields.
    #[inline]
    fn is_core_contended(&self) -> bool {
        self.contention.is_seen() && !self.patience.get().yields_are_set
    }

    /// Notes how many ticks a yield has taken.
    #[inline]
    fn note_yield(&self, took: u64) {
        self.contention.note(took, core_use, || self.device().awake().div_ceil(self.patience.get().cores));
    }

    /// Whether to yield now; else to sleep.
    #[inline]
    fn may_yield(&self) -> bool {
        self.contention.allow_yield() || self.patience.get().yields_are_set
    }

    /// After the look of a nonblocking call (MPI_Test, MPI_Iprobe and the like), which may have
    /// `moved` something: passes the core on where the policy says so.
    #[inline]
    pub fn looked(&self, moved: bool) {
        tern_atomics::spend(LOOK);
        if self.vain.look(moved, || self.is_crowded()) {
            self.give_way();
        }
    }

    /// Lets others on the core, between two looks at what nobody rings for.
    pub fn give_way(&self) {
        if self.may_yield() {
            self.note_yield(lock::outside(yield_core));
        } else {
            lock::outside(|| std::thread::sleep(NAP));
        }
    }

    /// The slower part of waiting, for the time `passed`. Returns true when `step` said `Done`.
    #[cold]
    fn yield_or_sleep(&self, passed: u32, step: &mut dyn FnMut() -> Step, tell: &dyn Fn(Duration)) -> bool {
        if passed == 1 {
            // The sleeps of a wait before this one, or of before something moved, do not count.
            SLEPT.set(None);
        }
        if passed <= self.patience.get().yields && self.may_yield() {
            self.device().balance_cores();
            self.note_yield(lock::outside(yield_core));
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
            tell(slept());
        }
        found == Step::Done
    }

    /// From now on waits tell how long nothing has moved.
    pub fn watch(&self) {
        self.watched.set(true);
    }

    /// Looks of nonblocking calls since something last moved.
    pub fn vain(&self) -> u32 {
        self.vain.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::os::fd::AsFd;

    /// One of three processes, of which none sleeps, that share so many cores. It cares for no others, so that none on this
    /// machine matter.
    fn one_of_three(cores: u32) -> Mcm {
        let file = memfd_create("waiting", MemfdFlags::CLOEXEC).expect("a memfd");
        let shm = tern_shm::Shm::new(file.as_fd(), 0, 3, cores, None).expect("a segment");
        let multi = crate::MultiDevice::new(shm, Box::new(crate::nobody::Nobody), vec![0, 1, 2], 3, 3);
        let patience = Patience { yields_are_set: true, ..Patience::new(3, cores) };
        Mcm::over(crate::Devices::MultiDevice(multi), true, 0, 3, patience)
    }

    #[test]
    fn spins_take_no_longer_where_looks_do() {
        let near = Patience::new(2, 4);
        assert_eq!(near.with_looks_of(1), near);
        assert_eq!(near.with_looks_of(20).spins, near.spins / 20);
        let crowded = Patience::new(4, 2);
        assert_eq!(crowded.with_looks_of(20).spins, crowded.spins, "few already");
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
    fn a_yield_of_milliseconds_is_long() {
        let before = ticks();
        std::thread::sleep(Duration::from_millis(20));
        assert!(ticks() - before > tern_policy::CoreContention::LONG);
    }

    /// Looks in vain until a wait sleeps first, after what `pass_on_alone` does.
    fn looks_awake(mcm: &Mcm) -> u32 {
        mcm.watch();
        let (looks, told) = (Cell::new(0), Cell::new(0));
        let step = || match told.get() {
            0 => {
                looks.set(looks.get() + 1);
                Step::Idle
            }
            _ => Step::Done,
        };
        mcm.wait_telling(step, &|_| _ = told.get() == 0 && told.replace(looks.get()) == 0, &|_| true);
        told.get()
    }

    #[test]
    fn where_strangers_keep_the_core_a_wait_sleeps_at_once() {
        let with_strangers = |mcm: &Mcm, yields_are_set| {
            mcm.patience.set(Patience { yields_are_set, ..mcm.patience.get() });
            mcm.contention.note(u64::MAX, core_use, || 1);
            mcm.contention.note(u64::MAX, core_use, || 1);
        };
        let mcm = one_of_three(2);
        with_strangers(&mcm, false);
        assert_eq!(looks(&mcm, true), 0, "the core is not passed on");
        assert_eq!(looks_awake(&mcm), 2, "one before the flag is raised, and one after it");
        with_strangers(&mcm, true);
        assert!(looks_awake(&mcm) > mcm.patience.get().yields, "the user wants it so");
        let free = one_of_three(4);
        with_strangers(&free, false);
        assert_eq!(looks_awake(&free), GLANCES + 2, "it looks a little");
        let impatient = one_of_three(4);
        impatient.patience.set(Patience { spins: 0, spins_are_set: true, ..impatient.patience.get() });
        with_strangers(&impatient, false);
        assert_eq!(looks_awake(&impatient), 2, "the user's number of spins says nothing of yields");
    }

    /// How long nothing has moved, as a wait says after each of its first two sleeps.
    fn told(mcm: &Mcm) -> [Duration; 2] {
        mcm.watch();
        let said = std::cell::RefCell::new(Vec::new());
        let step = || if said.borrow().len() < 2 { Step::Idle } else { Step::Done };
        mcm.wait_telling(step, &|idle| said.borrow_mut().push(idle), &|_| true);
        let said = said.borrow();
        [said[0], said[1]]
    }

    #[test]
    fn a_wait_does_not_count_the_time_of_one_before_it() {
        // The second one looks more often before it sleeps.
        for cores in [2, 4] {
            let [first, second] = told(&one_of_three(cores));
            assert_eq!(first, Duration::ZERO, "{cores} cores");
            assert!(second > Duration::ZERO, "{cores} cores");
        }
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
