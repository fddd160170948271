//! A communicator as collectives see it: its group, and the ways that blocking collectives have beside schedules.

use crate::group::{Group, Member};
use crate::hierarchical::Levels;
use crate::lines::{Farewell, Lines};
use std::cell::OnceCell;
use std::ops::Deref;
use std::rc::Rc;
use tern_adi::{Adi, Proc};
use tern_policy::collective::{
    Beside, CollPlan, Collective, InPlace, Members, Selection, Shape, Without, collective, explain,
};

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

/// Whether members of a node meet on control lines. Nobody who waits there would learn that another one has died.
fn wants_lines() -> bool {
    tern_settings::COLL_LINES.get() && !tern_settings::CHECK.get() && !tern_settings::FT.get()
}

impl Peers {
    /// A communicator on which no collective has run, with the ways that TERN_COLL asks
    /// for. The context must be one that only collectives use; both sides of an
    /// intercommunicator must have the same one.
    pub fn new(context: u32, rank: u32, procs: Rc<[Proc]>, remote: Option<Rc<[Proc]>>, epoch: u32) -> Peers {
        let group = Rc::new(Group::new(context, rank, procs, remote, epoch));
        Peers { group, lines: OnceCell::new(), levels: OnceCell::new() }
    }

    /// The same with ways that are forced: before anything has run.
    pub fn with_selection(mut self, selection: Selection) -> Peers {
        Rc::get_mut(&mut self.group).expect("nothing has run").selection = selection;
        self
    }

    /// The same, and the members are on one node and more than it has cores, if `crowded`. All must know alike.
    pub fn with_crowd(mut self, crowded: bool) -> Peers {
        Rc::get_mut(&mut self.group).expect("nothing has run").crowded = crowded;
        self
    }

    /// The two levels of a communicator that spans several nodes, if it has them and they are not switched off.
    pub fn levels(&self, adi: &Adi) -> Option<&Levels> {
        let find = || {
            // Two levels are no case for what is checked by schedules.
            wants_lines().then(|| Levels::new(adi, self).map(Box::new)).flatten()
        };
        self.levels.get_or_init(find).as_deref()
    }

    /// The control lines of this communicator, if it has them and they are not switched off.
    #[inline(always)]
    pub fn lines(&self, adi: &Adi) -> Option<&Lines> {
        let find = || {
            // What is checked by schedules is not checked again on the lines.
            wants_lines().then(|| Lines::new(adi, self, self.epoch)).flatten()
        };
        self.lines.get_or_init(find).as_ref()
    }

    /// What a blocking collective does that begins now. All members make such a plan for each call, since some of it is learned by calls.
    pub(crate) fn plan(&self, adi: &Adi, what: Collective, shape: &Shape) -> CollPlan {
        match self.lines(adi) {
            Some(lines) => lines.plan(what, shape),
            None => collective(what, &self.members(adi), shape, &self.selection, InPlace::Ask),
        }
    }

    /// The members, as all of them know each other.
    fn members(&self, adi: &Adi) -> Members {
        if let Some(lines) = self.lines(adi) {
            return lines.members();
        }
        let beside = self.levels(adi).map_or_else(|| Beside::Nothing(self.without()), Levels::beside);
        let (size, crowded) = (self.procs.len(), self.crowded);
        Members { size, beside, crowded, asked: tern_settings::MECHANISM.get() }
    }

    /// Why there are neither lines nor levels.
    fn without(&self) -> Without {
        match () {
            () if self.remote.is_some() => Without::TwoGroups,
            () if self.procs.len() < 2 => Without::Alone,
            () if !tern_settings::COLL_LINES.get() => Without::SwitchedOff,
            () if tern_settings::CHECK.get() => Without::Checked,
            () if tern_settings::FT.get() => Without::Survives,
            () => Without::Apart,
        }
    }

    /// The ways of its blocking collectives, for the user.
    pub fn explain(&self, adi: &Adi) -> String {
        explain(&self.members(adi), &self.selection)
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
