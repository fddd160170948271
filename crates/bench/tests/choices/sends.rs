//! How a message goes, for each answer to what its sender asks.

use super::machines;
use super::tree::{Oracle, Trees, explore};
use std::fmt::Write;
use tern_policy::pair::Pair;
use tern_policy::{
    Along, Aside, Caller, Copied, Facts, Likely, Locate, Look, Pattern, Purpose, Readiness, SendPlan, Source, ZeroCopy,
    aside, send,
};
use tern_tune::Placement;

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
    pattern: Pattern,
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

const NEAR: Limits = Limits {
    direct_from: 8 << 10,
    eager: machines::EAGER,
    waiting: 256 << 10,
    zero_copy_from: usize::MAX,
};
const FAR: Limits = Limits { direct_from: 8 << 10, eager: 16 << 10, waiting: 16 << 10, zero_copy_from: 4 << 10 };

impl Case {
    fn facts(&self) -> Facts {
        let Case { size, caller, pattern, standard, full, limits, .. } = *self;
        Facts {
            size,
            direct_from: limits.direct_from,
            eager_limit: limits.eager,
            waiting_limit: limits.waiting,
            zero_copy_from: limits.zero_copy_from,
            caller,
            pattern,
            standard,
            full,
        }
    }

    fn fetches(&self, sure: bool) -> bool {
        self.size <= self.limits.eager && self.pair.fetches(self.size, sure)
    }

    fn packets_below(&self, shared: bool) -> usize {
        self.pair.packets_below(shared, || self.kernel)
    }
}

/// What is found out, by an oracle.
struct World<'a> {
    case: &'a Case,
    oracle: &'a mut Oracle,
    found: Option<Source>,
    speculative: Option<bool>,
}

impl Locate for World<'_> {
    fn speculate(&mut self) -> Option<bool> {
        let fits = matches!(self.case.shape, Shape::Dense) && self.case.fetches(false);
        if fits {
            self.speculative = [None, Some(false), Some(true)][self.oracle.ask("speculate", &["none", "unsure", "sure"])];
        }
        self.speculative
    }

    fn take_speculative(&mut self) -> Source {
        let source = Source::Shared { dense: true, sure: self.speculative.expect("it was there") };
        self.found = Some(source);
        source
    }

    fn locate(&mut self, purpose: Purpose) {
        let dense = match self.case.shape {
            Shape::Irregular(_) => {
                self.found = Some(Source::Opaque);
                return;
            }
            Shape::Dense => true,
            Shape::Blocks => false,
        };
        let question = format!("locate {purpose:?}");
        self.found = Some(if self.case.network {
            match self.oracle.ask(&question, &["private", "registered"]) {
                0 => Source::Private { dense },
                _ => Source::Registered,
            }
        } else {
            match self.oracle.ask(&question, &["private", "shared"]) {
                0 => Source::Private { dense },
                _ => Source::Shared { dense, sure: true },
            }
        });
    }

    fn source(&mut self) -> Source {
        self.found.unwrap_or(match self.case.shape {
            Shape::Dense => Source::Private { dense: true },
            Shape::Blocks => Source::Private { dense: false },
            Shape::Irregular(_) => Source::Opaque,
        })
    }
}

impl Look for World<'_> {
    fn device_copies(&mut self) -> bool {
        self.case.size <= self.case.copies_up_to
    }

    fn suits_one_copy(&mut self) -> bool {
        self.case.size >= self.case.packets_below(true)
    }

    fn finds_receive(&mut self) -> bool {
        self.oracle.is("published")
    }

    fn zero_copy(&mut self) -> ZeroCopy {
        self.found = Some(Source::Opaque);
        [ZeroCopy::No, ZeroCopy::Saves(100), ZeroCopy::Always]
            [self.oracle.ask("zero copy", &["no", "saves", "always"])]
    }

    fn waits_for_zero_copy(&mut self, _: u32) -> bool {
        self.oracle.is("try lend")
    }

    fn readiness(&mut self, predicts: bool) -> Readiness {
        if !self.case.fetches(false) {
            return Readiness::No;
        }
        match predicts {
            true => [Readiness::No, Readiness::Seen, Readiness::Predicted]
                [self.oracle.ask("ready", &["no", "seen", "predicted"])],
            false => [Readiness::No, Readiness::Seen][self.oracle.ask("ready", &["no", "seen"])],
        }
    }

    fn is_ready(&mut self) -> bool {
        self.case.fetches(false) && self.oracle.is("peek ready")
    }

    fn suits_kernel(&mut self) -> Likely {
        self.case.pair.suits_kernel(self.case.size, || self.case.kernel)
    }

    fn suits_both(&mut self) -> bool {
        self.case.pair.suits_both(self.case.size)
    }

    fn tries(&mut self, along: Along, copied: Copied) -> bool {
        self.oracle.ask(&format!("try {along:?} {copied:?}"), &["packets", "one copy"]) == 1
    }

    fn takes_packets(&mut self) -> bool {
        let suits = self.case.size <= self.case.limits.waiting && self.case.size < self.case.packets_below(false);
        suits && self.oracle.is("waiting")
    }

    fn irregular_blocks(&mut self) -> Option<u64> {
        match self.case.shape {
            Shape::Irregular(blocks) => Some(blocks),
            _ => None,
        }
    }

    fn in_segments(&mut self) -> Option<Copied> {
        [None, Some(Copied::InSegments), Some(Copied::InSegmentsByKernel)]
            [self.oracle.ask("segments", &["none", "seen", "by kernel"])]
    }
}

/// The plan; of a delivery also what follows where the receive is gone.
fn plan(case: &Case, oracle: &mut Oracle) -> String {
    let mut world = World { case, oracle, found: None, speculative: None };
    let plan = send(&case.facts(), &mut world);
    let SendPlan::Deliver(mode) = plan else { return format!("{plan:?}") };
    if world.oracle.ask("delivered", &["yes", "no"]) == 0 {
        return format!("Deliver({mode:?})");
    }
    let place: Aside = world.source().into();
    format!("Deliver({mode:?}), then {:?}", aside(&case.facts(), &place, &mut world))
}

fn rows(trees: &mut Trees, text: &mut String, case: Case, callers: &[Caller]) {
    for &caller in callers {
        for pattern in [Pattern::Plain, Pattern::Exchange, Pattern::Left] {
            for (mode, standard, full) in
                [("standard", true, false), ("synchronous", false, false), ("standard, full", true, true)]
            {
                for shape in [Shape::Dense, Shape::Blocks, Shape::Irregular(16)] {
                    let case = Case { caller, pattern, standard, full, shape, ..case };
                    let of = |size| {
                        let case = Case { size, ..case };
                        explore(|oracle| plan(&case, oracle))
                    };
                    _ = writeln!(text, "  {caller:?}, {pattern:?}, {mode}, {shape:?}: {}", trees.by_length(of));
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
        pattern: Pattern::Plain,
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
