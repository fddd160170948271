//! A communicator as collectives see it: its group, and the ways that blocking collectives have beside schedules.

use crate::choose::{Collective, Selection};
use crate::group::{Group, Member};
use crate::hierarchical::Levels;
use crate::lines::{Farewell, Lines};
use std::cell::OnceCell;
use std::ops::Deref;
use std::rc::Rc;
use tern_adi::{Adi, Proc};

/// The processes of one communicator, with its control lines or levels. One per communicator.
#[derive(Debug)]
pub struct Peers {
    group: Rc<Group>,
    /// The control lines, looked for at first use.
    lines: OnceCell<Option<Lines>>,
    /// The two levels of a communicator that has no lines, looked for at first use.
    levels: OnceCell<Option<Box<Levels>>>,
}

impl Deref for Peers {
    type Target = Group;

    fn deref(&self) -> &Group {
        &self.group
    }
}

impl Member for Peers {
    fn group(self: &Rc<Self>) -> &Rc<Group> {
        &self.group
    }
}

impl Peers {
    /// A communicator on which no collective has run, with the algorithms that TERN_COLL asks
    /// for. The context must be one that only collectives use; both sides of an
    /// intercommunicator must have the same one.
    pub fn new(context: u32, rank: u32, procs: Rc<[Proc]>, remote: Option<Rc<[Proc]>>, epoch: u32) -> Peers {
        let group = Rc::new(Group::new(context, rank, procs, remote, epoch));
        Peers { group, lines: OnceCell::new(), levels: OnceCell::new() }
    }

    /// The same with algorithms that are given: before anything has run.
    pub fn with_selection(mut self, selection: Selection) -> Peers {
        Rc::get_mut(&mut self.group).expect("nothing has run").selection = selection;
        self
    }

    /// The two levels of a communicator that spans several nodes, if it has them and they are not switched off.
    pub fn levels(&self, adi: &Adi) -> Option<&Levels> {
        let find = || {
            // Two levels are no case for what is checked by schedules.
            let wanted = tern_settings::COLL_LINES.get() && !tern_settings::CHECK.get();
            wanted.then(|| Levels::new(adi, self).map(Box::new)).flatten()
        };
        self.levels.get_or_init(find).as_deref()
    }

    /// The control lines of this communicator, if it has them and they are not switched off.
    #[inline(always)]
    pub fn lines(&self, adi: &Adi) -> Option<&Lines> {
        let find = || {
            // What is checked by schedules is not checked again on the lines.
            let wanted = tern_settings::COLL_LINES.get() && !tern_settings::CHECK.get();
            wanted.then(|| Lines::new(adi, self, self.epoch)).flatten()
        };
        self.lines.get_or_init(find).as_ref()
    }

    /// The control lines for `collective`: none where TERN_COLL asks for an algorithm of messages.
    pub fn lines_for(&self, adi: &Adi, collective: Collective) -> Option<&Lines> {
        if self.selection.forces_messages(collective) { None } else { self.lines(adi) }
    }

    /// The two levels for `collective`, likewise.
    pub fn levels_for(&self, adi: &Adi, collective: Collective) -> Option<&Levels> {
        if self.selection.forces_messages(collective) { None } else { self.levels(adi) }
    }

    /// Leaves the control lines for good, if there are some: called by all members when the communicator is freed, each
    /// in its own time. Until that is over its id must not be used again.
    pub fn leave(&self, adi: &Adi) -> Option<Farewell> {
        match self.lines(adi) {
            Some(lines) => {
                // Whoever waits for this process in a call that it has refused is told so.
                self.refused.take().iter().for_each(|_| lines.refuse_next(adi));
                Some(lines.leave())
            }
            None => self.levels(adi)?.leave(),
        }
    }
}
