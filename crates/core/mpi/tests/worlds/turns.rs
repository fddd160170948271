//! Processes that take turns on one thread: each runs until it looks at its devices, and there it may die.

use generator::{Gn, LocalGenerator, Scope};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::rc::Rc;

/// Words of a stack.
const STACK: usize = 32 << 10;

type Place = Scope<'static, 'static, (), ()>;

thread_local! {
    /// Whose turn it is.
    static CURRENT: Cell<*const State> = const { Cell::new(std::ptr::null()) };
}

struct State {
    place: Cell<*mut Place>,
    dies: Cell<bool>,
}

/// What unwinds the stack of a process that dies.
struct Died;

/// A process, with a stack of its own.
pub struct Turns {
    state: Rc<State>,
    stack: LocalGenerator<'static, (), ()>,
}

impl Turns {
    /// One that will run `body`.
    pub fn new(body: impl FnOnce() + 'static) -> Turns {
        let state = Rc::new(State { place: Cell::new(null_mut()), dies: Cell::new(false) });
        let own = state.clone();
        let stack = Gn::new_scoped_opt_local(STACK, move |mut place| {
            own.place.set((&raw mut place).cast());
            let Err(why) = catch_unwind(AssertUnwindSafe(body)) else { return };
            if !why.is::<Died>() {
                resume_unwind(why);
            }
        });
        Turns { state, stack }
    }

    /// Its turn; false when it has come to its end.
    pub fn go_on(&mut self) -> bool {
        CURRENT.set(Rc::as_ptr(&self.state));
        self.stack.resume();
        CURRENT.set(std::ptr::null());
        !self.stack.is_done()
    }

    /// It does nothing any more.
    pub fn kill(mut self) {
        self.state.dies.set(true);
        if !self.stack.is_done() && !self.state.place.get().is_null() {
            assert!(!self.go_on(), "the dead go on");
        }
    }
}

/// The end of a turn.
pub fn pass() {
    let current = CURRENT.get();
    if current.is_null() || std::thread::panicking() {
        return;
    }
    // SAFETY: the process whose turn it is has its state and its place on its stack.
    let state = unsafe { &*current };
    // SAFETY: the same.
    unsafe { (*state.place.get()).yield_with(()) };
    if state.dies.get() {
        resume_unwind(Box::new(Died));
    }
}
