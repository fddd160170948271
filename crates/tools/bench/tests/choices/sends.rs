//! How a message goes, for each answer to what its sender asks.

use super::machines;
use super::tree::{Oracle, Trees, explore};
use std::fmt::Write;
use tern_policy::costs::Placement;
use tern_policy::pair::Pair;
use tern_policy::transfer::{Chosen, ChosenBy, Deliver};
use tern_policy::{
    Caller, Copied, CopyMode, Decision, Facts, Habit, Known, PublishedReceive, Readiness, SendPlan, Source, Step, Turn,
    ZeroCopy, send,
};

/// A message and where it goes.
#[derive(Clone, Copy)]
struct Case {
    pair: Pair,
    /// The kernel copies between the two.
    kernel: bool,
    /// Messages of up to so many bytes are copied by the device.
    copies_up_to: usize,
    /// A network reaches memory that is registered.
    network: bool,
    size: usize,
    caller: Caller,
    habit: Habit,
    standard: bool,
    full: bool,
    shape: Shape,
    limits: Limits,
}

#[derive(Clone, Copy)]
struct Limits {
    direct_from: usize,
    eager: usize,
    waiting: usize,
    zero_copy_from: usize,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Dense,
    Blocks,
    /// Of that many blocks.
    Irregular(u64),
}

const NEAR: Limits =
    Limits { direct_from: 8 << 10, eager: machines::EAGER, waiting: 256 << 10, zero_copy_from: usize::MAX };
const FAR: Limits = Limits { direct_from: 8 << 10, eager: 16 << 10, waiting: 16 << 10, zero_copy_from: 4 << 10 };

/// A way for each thing that may be known of a copy when its way is chosen.
const WAYS: [(Deliver, CopyMode); 3] = [
    (Deliver::Mapped, CopyMode::ByCosts),
    (Deliver::Joint { begins: true }, CopyMode::Single),
    (Deliver::Packets, CopyMode::Packets),
];

impl Case {
    fn facts(&self) -> Facts {
        let Case { size, caller, habit, standard, full, limits, .. } = *self;
        let irregular_blocks = match self.shape {
            Shape::Irregular(blocks) => Some(blocks),
            Shape::Dense | Shape::Blocks => None,
        };
        Facts {
            size,
            pair: Pair { copies_up_to: self.copies_up_to, kernel: self.kernel, ..self.pair },
            irregular_blocks,
            direct_from: limits.direct_from,
            eager_limit: limits.eager,
            waiting_limit: limits.waiting,
            zero_copy_from: limits.zero_copy_from,
            caller,
            habit,
            standard,
            full,
        }
    }

    fn fetches(&self, sure: bool) -> bool {
        self.size <= self.limits.eager && self.pair.fetches(self.size, sure)
    }

    fn source(&self) -> Source {
        match self.shape {
            Shape::Dense => Source::Private { dense: true },
            Shape::Blocks => Source::Private { dense: false },
            Shape::Irregular(_) => Source::Opaque,
        }
    }

    /// Where the message is found to lie.
    fn locate(&self, question: &str, oracle: &mut Oracle) -> Source {
        let dense = match self.shape {
            Shape::Irregular(_) => return Source::Opaque,
            Shape::Dense => true,
            Shape::Blocks => false,
        };
        let (elsewhere, found) = match self.network {
            true => ("registered", Source::Registered),
            false => ("shared", Source::Shared { dense, sure: true }),
        };
        if oracle.ask(question, &["private", elsewhere]) == 1 { found } else { Source::Private { dense } }
    }

    /// Takes a step, with an answer of the oracle's where there is more than one.
    fn take(&self, step: Step, known: &mut Known, oracle: &mut Oracle) {
        match step {
            Step::Speculate => {
                let fits = matches!(self.shape, Shape::Dense) && self.fetches(false);
                let answers = [None, Some(false), Some(true)];
                known.speculative =
                    Some(if fits { answers[oracle.ask("speculate", &["none", "unsure", "sure"])] } else { None });
            }
            Step::Locate(purpose) => {
                known.source = self.locate(&format!("locate {purpose:?}"), oracle);
                known.located = true;
            }
            Step::LocateSegments => {
                let answers = [None, Some(Copied::InSegments), Some(Copied::InSegmentsByKernel)];
                known.segments = Some(answers[oracle.ask("segments", &["none", "seen", "by kernel"])]);
            }
            Step::LookPublished => {
                // One into shared memory. The tests of the policy have the other kind.
                let receive = PublishedReceive { is_private: false, waits: true };
                known.published = Some(oracle.is("published").then_some(receive));
            }
            Step::Choose(mode) => {
                // The way by the costs has a file of its own; a way on the stream is told as a receive that is gone.
                let (way, _) = WAYS.into_iter().find(|(_, of)| *of == mode).expect("each has one");
                known.delivery = Some(Some(Chosen { way, by: ChosenBy::Plan }));
            }
            Step::PassBy => *known = Known::aside(known.source, known.turn),
            Step::LookReady { predicts } => {
                let answers = [Readiness::No, Readiness::Seen, Readiness::Predicted];
                let words = if predicts { &["no", "seen", "predicted"][..] } else { &["no", "seen"] };
                let ready = if self.fetches(false) { answers[oracle.ask("ready", words)] } else { Readiness::No };
                known.readiness = Some(ready);
            }
            Step::PeekReady => known.ready = Some(self.fetches(false) && oracle.is("peek ready")),
            Step::LookWaiting => known.waiting = Some(oracle.is("waiting")),
            Step::Try(along, copied) => {
                let once = oracle.ask(&format!("try {along:?} {copied:?}"), &["packets", "one copy"]) == 1;
                known.turn = Some(Turn::untried(copied, once));
            }
            Step::AskZeroCopy => {
                let answers = [ZeroCopy::No, ZeroCopy::Saves(100), ZeroCopy::Always];
                known.zero_copy = Some(answers[oracle.ask("zero copy", &["no", "saves", "always"])]);
            }
            Step::TryLending(_) => known.lends = Some(oracle.is("try lend")),
        }
    }

    /// Takes all steps. No path has more than eight.
    fn decide(&self, known: &mut Known, oracle: &mut Oracle) -> Decision {
        let facts = self.facts();
        for _ in 0..8 {
            match send(&facts, known) {
                Ok(decision) => return decision,
                Err(step) => self.take(step, known, oracle),
            }
        }
        panic!("no plan after eight steps: {known:?}");
    }
}

/// The plan; of a delivery also what follows where the receive is gone.
fn plan(case: &Case, oracle: &mut Oracle) -> String {
    let mut known = Known::new(case.source());
    let Decision { plan, .. } = case.decide(&mut known, oracle);
    let SendPlan::Deliver(way) = plan else { return format!("{plan:?}") };
    let (_, mode) = WAYS.into_iter().find(|(of, _)| *of == way).expect("one of these was chosen");
    if oracle.ask("delivered", &["yes", "no"]) == 0 {
        return format!("Deliver({mode:?})");
    }
    let mut known = Known::aside(known.source, known.turn);
    format!("Deliver({mode:?}), then {:?}", case.decide(&mut known, oracle).plan)
}

fn rows(trees: &mut Trees, text: &mut String, case: Case, callers: &[Caller]) {
    for &caller in callers {
        for habit in [Habit::Plain, Habit::Exchange, Habit::Left] {
            for (mode, standard, full) in
                [("standard", true, false), ("synchronous", false, false), ("standard, full", true, true)]
            {
                for shape in [Shape::Dense, Shape::Blocks, Shape::Irregular(16)] {
                    let case = Case { caller, habit, standard, full, shape, ..case };
                    let of = |size| {
                        let case = Case { size, ..case };
                        explore(|oracle| plan(&case, oracle))
                    };
                    _ = writeln!(text, "  {caller:?}, {habit:?}, {mode}, {shape:?}: {}", trees.by_length(of));
                }
            }
        }
    }
}

pub fn text() -> String {
    let mut trees = Trees::default();
    let mut text = String::from("# From which length on a message goes by which tree. The trees follow.\n");
    let case = Case {
        pair: Pair::default(),
        kernel: true,
        copies_up_to: 0,
        network: false,
        size: 0,
        caller: Caller::Blocking,
        habit: Habit::Plain,
        standard: true,
        full: false,
        shape: Shape::Dense,
        limits: NEAR,
    };
    let callers = [Caller::Blocking, Caller::Call, Caller::Nonblocking];
    for (name, costs) in machines::all() {
        for (cores, crowded) in [("apart", false), ("crowded", true)] {
            let pair = machines::near(&costs, Placement::L3, crowded);
            _ = writeln!(
                text,
                "\n{name}, {cores}: published from {:?}, kernel from {}",
                pair.published_from, pair.kernel_from
            );
            rows(&mut trees, &mut text, Case { pair, ..case }, &callers);
        }
    }
    text += "\nno kernel copies\n";
    let pair = machines::near(&machines::all()[0].1, Placement::L3, false);
    rows(&mut trees, &mut text, Case { pair, kernel: false, ..case }, &callers);
    text += "\na network without direct access\n";
    let far = Case { kernel: false, network: true, limits: FAR, ..case };
    rows(&mut trees, &mut text, Case { limits: Limits { direct_from: usize::MAX, ..FAR }, ..far }, &callers);
    text += "\na network with published receives, which copies up to 8 KiB\n";
    rows(&mut trees, &mut text, Case { copies_up_to: 8 << 10, ..far }, &callers);
    text + &trees.text()
}
