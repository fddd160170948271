//! Processes that die in the midst of everything, and the others, which go on: they tell each other of deaths and of contexts that are revoked.

use super::{Action, Open, World};
use crate::network::Manners;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use tern_adi::{ANY_SOURCE, ANY_TAG, Adi, Data, Pattern, Status, UNKNOWN};

/// What the notices of this world say, in their first byte; the second names the context or the process.
const REVOKED: u8 = 1;
const LOST: u8 = 2;

/// What a process knows beside what its engine does.
#[derive(Default)]
pub struct Knowledge {
    /// The lost that do not matter to its receives from anybody.
    acknowledged: Rc<RefCell<HashSet<u32>>>,
    /// Contexts that are revoked, each with the processes that it has told so.
    pub revoked: Vec<(u32, HashSet<u32>)>,
}

impl World {
    /// A world that goes on without those who die.
    pub fn that_survives(processes: u32, manners: Manners, eager_limit: usize) -> World {
        let mut world = World::new(processes, manners, eager_limit);
        let known: Vec<Knowledge> = (0..processes).map(|_| Knowledge::default()).collect();
        for (engine, knowledge) in world.engines.iter().zip(&known) {
            let acknowledged = knowledge.acknowledged.clone();
            engine.know_members(Rc::new(move |_, process| !acknowledged.borrow().contains(&process)));
            engine.survive();
        }
        world.known = known;
        world
    }

    pub fn is_dead(&self, process: u32) -> bool {
        self.dead[process as usize]
    }

    pub fn living(&self) -> Vec<u32> {
        (0..self.processes).filter(|&process| !self.is_dead(process)).collect()
    }

    /// No process that lives has anything to come.
    pub(super) fn is_quiet(&self) -> bool {
        self.scissors.as_ref().is_none_or(|scissors| scissors.is_quiet(|process| !self.is_dead(process)))
    }

    /// Whether who would do this is dead.
    pub(super) fn is_of_the_dead(&self, action: &Action) -> bool {
        match *action {
            Action::Send { from: at, .. }
            | Action::Receive { at, .. }
            | Action::Probe { at, .. }
            | Action::Claim { at, .. }
            | Action::Fetch { at, .. }
            | Action::Progress(at)
            | Action::BeginCall(at)
            | Action::EndCall(at) => self.is_dead(at % self.processes),
            Action::CancelSend(_) | Action::CancelReceive(_) | Action::Release(_) => false,
        }
    }

    /// That process does nothing any more.
    pub fn kill(&mut self, process: u32) {
        self.dead[process as usize] = true;
        self.scissors.as_ref().expect("a network in memory").kill(process);
        let of_the_dead = self.messages.iter_mut().filter(|message| message.from == process);
        of_the_dead.for_each(|message| message.request = None);
        for receive in self.receives.iter_mut().filter(|receive| receive.at == process) {
            receive.request = None;
            receive.status.get_or_insert(Status::without(process, 0, 0));
        }
    }

    /// Process `at` revokes a context.
    pub fn revoke(&mut self, at: u32, context: u32) {
        let revoked = &mut self.known[at as usize].revoked;
        if !self.dead[at as usize] && revoked.iter().all(|(other, _)| *other != context) {
            revoked.push((context, HashSet::from([at])));
            self.engines[at as usize].end_context(context);
        }
    }

    /// Whether process `at` knows that a context is revoked.
    pub fn knows_revoked(&self, at: u32, context: u32) -> bool {
        self.known.get(at as usize).is_some_and(|known| known.revoked.iter().any(|(other, _)| *other == context))
    }

    /// The lost that process `at` knows of do not matter to it.
    pub fn acknowledge(&mut self, at: u32) {
        self.known[at as usize].acknowledged.borrow_mut().extend(self.engines[at as usize].lost());
    }

    /// Process `at` tells another one whom it has lost.
    pub fn gossip(&mut self, at: u32, to: u32) {
        if !self.is_dead(at) && at != to {
            for lost in self.engines[at as usize].lost() {
                self.engines[at as usize].send_notice(to, &[LOST, lost as u8]);
            }
        }
    }

    /// Ends one of the receives from anybody that somebody lost might have answered.
    pub fn end_interrupted(&mut self, number: usize) {
        let open: Vec<(u32, Open)> =
            self.receives.iter().filter_map(|receive| Some((receive.at, receive.request?))).collect();
        if let Some((at, open)) = open.get(number % open.len().max(1)) {
            self.engines[*at as usize].end_interrupted(open.id);
        }
        self.look();
    }

    /// All who live hear what they were told, and tell what they have to.
    pub fn hear(&mut self) -> bool {
        let mut moved = false;
        for at in (0..self.known.len() as u32).filter(|&at| !self.dead[at as usize]).collect::<Vec<_>>() {
            while let Some((_, notice)) = self.engines[at as usize].take_notice() {
                moved = true;
                match *notice {
                    [REVOKED, context] => self.revoke(at, context.into()),
                    [LOST, process] => self.engines[at as usize].declare_lost(process.into(), "another has lost it"),
                    _ => panic!("nobody says {notice:?}"),
                }
            }
            moved |= self.spread(at);
        }
        moved
    }

    /// Tells those at distances 1, 2, 4 and so on in the circle of the living of each revoked context, once.
    fn spread(&mut self, at: u32) -> bool {
        let (engine, mut moved) = (&self.engines[at as usize], false);
        let lost: HashSet<u32> = engine.lost().into_iter().collect();
        let living: Vec<u32> = (0..self.processes).filter(|process| !lost.contains(process)).collect();
        let own = living.iter().position(|&process| process == at).expect("it lives");
        for (context, told) in &mut self.known[at as usize].revoked {
            let distances = std::iter::successors(Some(1), |distance| Some(2 * distance));
            for distance in distances.take_while(|&distance| distance < living.len()) {
                let to = living[(own + distance) % living.len()];
                if told.insert(to) {
                    engine.send_notice(to, &[REVOKED, *context as u8]);
                    moved = true;
                }
            }
        }
        moved
    }

    /// Throws away what comes in contexts that are revoked, as the layer above does.
    pub(super) fn drain(&self, at: u32, context: u32) {
        let engine: &Adi = &self.engines[at as usize];
        while let Some(message) = engine.matched_probe(Pattern { context, source: ANY_SOURCE, tag: ANY_TAG }) {
            let request = engine.imrecv(message, Data::none());
            engine.release(request);
        }
    }

    /// Nothing more will come. Whatever is open needs no dead process: it waits for a message that nobody has sent, or it is interrupted.
    pub(super) fn judge_open(&self) {
        for receive in self.receives.iter().filter(|receive| !self.is_dead(receive.at)) {
            let Some(Open { id, .. }) = receive.request else { continue };
            assert!(!self.knows_revoked(receive.at, receive.pattern.context), "{receive:?} was not revoked");
            let source = receive.pattern.source;
            if source != ANY_SOURCE {
                assert!(!self.is_dead(source as u32), "{receive:?} waits for the dead");
            } else if let Some(known) = self.known.get(receive.at as usize) {
                let engine = &self.engines[receive.at as usize];
                let acknowledged = known.acknowledged.borrow();
                let matters = engine.lost().iter().any(|lost| !acknowledged.contains(lost));
                assert_eq!(engine.is_interrupted(id), matters, "{receive:?}");
                assert_eq!(matters, engine.lost_for(UNKNOWN, receive.pattern.context).is_some());
            }
        }
        let told = |context: u32| self.living().iter().filter(|&&at| self.knows_revoked(at, context)).count();
        assert!((0..8).all(|context| [0, self.living().len()].contains(&told(context))), "some were not told");
    }
}
