//! What goes on beside the program: nonblocking and persistent collectives.

use crate::absent::Absent;
use crate::operation::Operation;
use crate::peers::Peers;
use crate::persistent::{Areas, Repeated, What};
use crate::round::Round;
use std::cell::RefCell;
use std::rc::Rc;
use tern_adi::{Adi, Background};
use tern_policy::collective::Forced;

/// The nonblocking and persistent collectives that are active in this process. One per process.
pub struct Collectives {
    active: RefCell<Vec<Rc<dyn Round>>>,
    /// Those that were refused here.
    absent: RefCell<Vec<Rc<Absent>>>,
    areas: Rc<Areas>,
}

impl Collectives {
    /// Registers with `adi`, so that any progress advances what is active.
    pub fn new(adi: &Adi) -> Rc<Collectives> {
        let this =
            Rc::new(Collectives { active: RefCell::default(), absent: RefCell::default(), areas: Rc::default() });
        let hook = this.clone();
        adi.add_hook(Rc::new(move |adi| hook.advance(adi)));
        this
    }

    /// A persistent collective of `peers` over lines of its own; `messages` is the same without. All members make it at the same time,
    /// and either all get one or none does.
    pub fn repeat(&self, adi: &Adi, peers: &Peers, what: What, messages: &Rc<Operation>) -> Option<Repeated> {
        let by_messages = |collective| matches!(peers.selection.forced(collective), Some(Forced::Schedule(_)));
        if what.label().0.collective().is_some_and(by_messages) {
            return None;
        }
        let lines = peers.lines(adi)?;
        Repeated::new(adi, lines, peers, &self.areas, what, messages)
    }

    /// Starts `operation` and does what can be done at once.
    pub fn start(&self, adi: &Adi, operation: &Rc<dyn Round>) {
        operation.start(adi);
        if !operation.advance(adi) {
            self.active.borrow_mut().push(operation.clone());
            adi.wake_hooks();
        }
    }

    /// Takes part in a collective as one that has refused it.
    pub fn refuse(&self, adi: &Adi, absent: Absent) {
        let absent = Rc::new(absent);
        self.absent.borrow_mut().retain(|other| !other.is_done());
        self.absent.borrow_mut().push(absent.clone());
        let round: Rc<dyn Round> = absent;
        self.start(adi, &round);
    }

    /// The communicator of `peers` is being freed.
    pub fn leave(&self, adi: &Adi, peers: &Rc<Peers>) {
        self.absent.borrow().iter().filter(|absent| absent.is_of(peers)).for_each(|absent| absent.end(adi));
    }

    /// True when nothing is active.
    pub fn is_idle(&self) -> bool {
        self.active.borrow().is_empty()
    }

    /// Advances everything that is active.
    fn advance(&self, adi: &Adi) -> Background {
        let (mut moved, mut completed) = (false, false);
        let mut index = 0;
        // A user function may start or complete others meanwhile, so the list is not borrowed
        // while one advances.
        loop {
            let Some(operation) = self.active.borrow().get(index).cloned() else { break };
            let before = operation.step();
            completed |= operation.advance(adi);
            moved |= operation.step() != before;
            index += 1;
        }
        if completed {
            self.active.borrow_mut().retain(|o| !o.is_done());
        }
        match moved | completed {
            true => Background::Moved,
            false if self.is_idle() => Background::Idle,
            false => Background::Waiting,
        }
    }
}
