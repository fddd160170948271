//! Progress: what devices bring is delivered, what waits is sent, and calls wait until something is done.

use crate::*;
use std::time::{Duration, Instant};
use tern_mcm::{Event, Step, lock, ticks};

/// Work done at each progress.
pub type Hook = Rc<dyn Fn(&Adi) -> Background>;

/// What a hook has to say after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// It has nothing to do until [`Adi::wake_hooks`].
    Idle,
    /// It waits for something.
    Waiting,
    /// It got on.
    Moved,
    /// It is not needed any more, and not called again.
    Over,
}

/// Called after each sleep of a call that waits: how long nothing has moved, and what it waits for.
pub type Observer = Rc<dyn Fn(&Adi, Duration, Awaited)>;

impl Adi {
    /// Makes progress until the request has completed.
    pub fn wait_for(&self, request: Request) {
        let alone = !self.mcm.keeps_waiting();
        if alone {
            self.awaits_send.set(false);
            let mut state = self.state.borrow_mut();
            state.wait();
            if !lock::enabled() {
                state.get_ready_for(request.0);
            }
        }
        let comes = || self.is_done(request) || self.wait_fast(&mut self.state.borrow_mut(), request.0);
        let done = || comes() || self.is_interrupted(request);
        self.wait(done, &|| Awaited::Transfers(vec![request]));
        if alone {
            let mut state = self.state.borrow_mut();
            state.end_ready();
            state.go_on();
        }
    }

    /// This process counts as one that waits until what is returned is dropped, by a call that waits for several requests.
    pub fn keep_waiting(&self) -> impl Drop + '_ {
        self.awaits_send.set(false);
        struct Keeps<'a>(&'a Adi);
        impl Drop for Keeps<'_> {
            fn drop(&mut self) {
                self.0.mcm.keep_waiting(false);
                self.0.state.borrow_mut().go_on();
            }
        }
        self.mcm.keep_waiting(true);
        self.state.borrow_mut().wait();
        Keeps(self)
    }

    /// Polls the devices once, delivers what came, sends what waits, runs the hooks. Returns true
    /// when anything moved.
    #[inline]
    pub fn progress(&self) -> bool {
        let mut moved = {
            let mut state = self.state.borrow_mut();
            state.stream.look();
            let packets = self.mcm.poll(&mut *state);
            state.flush_all();
            state.publish_deferred();
            std::mem::take(&mut state.moved) | (packets > 0)
        };
        if self.has_hooks.get() {
            moved |= self.run_hooks();
        }
        if moved && lock::enabled() {
            // Another thread may sleep for what has just come.
            self.mcm.ring(self.me());
        }
        if !moved {
            self.idle();
        }
        moved
    }

    /// Nothing has come. Now and then somebody else gets a turn.
    fn idle(&self) {
        const OFTEN: u32 = 16;
        let idle = self.idle.get().wrapping_add(1);
        self.idle.set(idle);
        if idle.is_multiple_of(OFTEN) {
            self.idle_again();
        }
    }

    /// The program is asked what memory it has freed, which goes back: also where none is used for messages any more.
    #[cold]
    fn idle_again(&self) {
        if let Some(direct) = self.mcm.direct() {
            direct.hears_of(Event::Idle { quiet: self.state.borrow().requests.is_quiet(0) });
        }
        // Most of these read a clock, which takes as long as several looks: the processor's own is read first.
        const TICKS: u64 = 1 << 19;
        let now = ticks();
        if now.wrapping_sub(self.idle_at.get()) >= TICKS {
            self.idle_at.set(now);
            // None of them comes back here.
            self.on_idle.borrow().iter().for_each(|call| call());
        }
    }

    /// Progress for a call that looks whether something has come, and returns if not.
    #[inline]
    pub fn look(&self) {
        self.state.borrow_mut().learned.habits.look();
        let moved = self.progress() || self.help();
        self.mcm.looked(moved);
    }

    #[cold]
    fn run_hooks(&self) -> bool {
        self.has_hooks.set(false);
        let mut moved = false;
        let mut at = 0;
        loop {
            // A hook may add further hooks, or run user code that comes back here.
            let Some(hook) = self.hooks.borrow().get(at).cloned() else { return moved };
            match hook(self) {
                Background::Idle => {}
                Background::Waiting => self.has_hooks.set(true),
                Background::Moved => {
                    self.has_hooks.set(true);
                    moved = true;
                }
                Background::Over => {
                    self.hooks.borrow_mut().retain(|other| !Rc::ptr_eq(other, &hook));
                    continue;
                }
            }
            at += 1;
        }
    }

    /// Makes progress until `done` holds; spins, yields and sleeps as `tern_mcm` decides, and
    /// lets other threads in meanwhile (the library's lock is given up while waiting).
    /// `done` is called often and must be cheap.
    #[inline]
    pub fn wait_until(&self, done: &mut dyn FnMut() -> bool) {
        self.wait_until_telling(done, &|| Awaited::Own);
    }

    /// As [`Adi::wait_until`]; `awaited` says what is waited for, if an observer asks.
    #[inline]
    pub fn wait_until_telling(&self, done: &mut dyn FnMut() -> bool, awaited: &dyn Fn() -> Awaited) {
        self.wait(done, awaited);
        self.state.borrow_mut().call.end();
    }

    /// As [`Adi::wait_until_telling`], for one of many waits of a call that has got on with nothing since `begun`.
    pub fn wait_until_telling_since(
        &self, begun: Instant, done: &mut dyn FnMut() -> bool, awaited: &dyn Fn() -> Awaited,
    ) {
        self.wait_with(done, &|_| self.tell(begun.elapsed(), awaited));
        self.state.borrow_mut().call.end();
    }

    /// As [`Adi::wait_until_telling`], inlined.
    #[inline]
    pub(crate) fn wait(&self, done: impl FnMut() -> bool, awaited: &dyn Fn() -> Awaited) {
        self.wait_with(done, &|idle| self.tell(idle, awaited));
    }

    #[inline]
    fn wait_with(&self, mut done: impl FnMut() -> bool, tell: &dyn Fn(Duration)) {
        let look = || {
            if done() {
                return Step::Done;
            }
            match self.progress() {
                true => Step::Moved,
                false if done() => Step::Done,
                false if self.help() => Step::Moved,
                false => Step::Idle,
            }
        };
        self.mcm.wait_telling(look, tell, &|_| true);
    }

    /// Lets `observer` know of every call that waits so long that it sleeps.
    pub fn observe(&self, observer: Observer) {
        self.observer.replace(Some(observer));
        self.mcm.watch();
    }

    /// From now on `call` comes now and then while looks find nothing, whether a call waits or only looks: some times in a millisecond, or after a
    /// few sleeps. It comes while no borrow of `Adi` is held.
    pub fn on_idle(&self, call: fn()) {
        self.on_idle.borrow_mut().push(call);
    }

    /// Tells the observer that the caller has waited for `idle`, by other means than [`Adi::wait_until`].
    #[cold]
    pub fn tell(&self, idle: Duration, awaited: &dyn Fn() -> Awaited) {
        let observer = self.observer.borrow().clone();
        if let Some(observer) = observer {
            observer(self, idle, awaited());
        }
    }

    /// Registers work to be done at each progress (nonblocking collectives). It runs while no
    /// borrow of `Adi` is held and may call any method but `progress` and `wait_until`.
    pub fn add_hook(&self, hook: Hook) {
        self.hooks.borrow_mut().push(hook);
        self.wake_hooks();
    }

    /// Registers what is looked for by calls that wait, when they find nothing else to do. It may call nothing of the
    /// engine, and nobody may need it: a process that sleeps is not woken for it.
    pub fn add_helper(&self, helper: Hook) {
        self.helpers.borrow_mut().push(helper);
        self.has_helpers.set(true);
    }

    /// Calls the helpers; true when one of them got on.
    #[inline]
    pub(crate) fn help(&self) -> bool {
        self.has_helpers.get() && self.run_helpers()
    }

    fn run_helpers(&self) -> bool {
        let mut moved = false;
        let mut helpers = self.helpers.borrow_mut();
        helpers.retain(|helper| {
            let got = helper(self);
            moved |= got == Background::Moved;
            got != Background::Over
        });
        self.has_helpers.set(!helpers.is_empty());
        moved
    }

    /// Calls the hooks from now on, until all of them are idle.
    pub fn wake_hooks(&self) {
        self.has_hooks.set(true);
    }
}
