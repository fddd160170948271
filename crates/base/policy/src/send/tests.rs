//! Plans of sends, by made-up facts and costs.

use super::*;
use crate::copies::Turn;
use crate::pair::Pair;
use crate::step::PublishedReceive;
use tern_settings::Mechanism;

const EAGER: usize = 64 << 10;

/// A message, and where it lies.
#[derive(Clone, Copy, Debug)]
struct Case {
    size: usize,
    caller: Caller,
    habit: Habit,
    standard: bool,
    source: Source,
    offered: bool,
    full: bool,
}

impl Case {
    fn facts(&self) -> Facts {
        let Case { size, caller, habit, standard, full, .. } = *self;
        let (direct_from, eager_limit, waiting_limit, zero_copy_from) = (8 << 10, EAGER, 8 * EAGER, 4096);
        Facts {
            size,
            pair: Pair::default(),
            irregular_blocks: None,
            direct_from,
            eager_limit,
            waiting_limit,
            zero_copy_from,
            caller,
            habit,
            standard,
            full,
        }
    }
}

const FACTS: Case = Case {
    size: 20_000,
    caller: Caller::Blocking,
    habit: Habit::Plain,
    standard: true,
    source: Source::Private { dense: true },
    offered: false,
    full: false,
};

const SHARED: Case = Case { source: Source::Shared { dense: true, sure: true }, ..FACTS };
const LONG: Case = Case { size: EAGER + 1, ..FACTS };

/// A receiver and a machine, and what was asked about them.
#[derive(Clone)]
struct World {
    readiness: Readiness,
    kernel: Likely,
    both: bool,
    /// One copy is the sooner one.
    once: bool,
    packets: bool,
    /// Whether there is a speculative address, and then whether that is sure.
    speculative: Option<bool>,
    /// What it is found out to lie in, and what is known until then.
    located: Source,
    known: Source,
    published: Option<PublishedReceive>,
    /// What takes such a message is left alone.
    streams: bool,
    copies: bool,
    one_copy: bool,
    zero_copy: ZeroCopy,
    /// Blocks of an irregular message, and whether its receiver can copy them out of a region.
    blocks: Option<u64>,
    segments: bool,
    asked: Vec<String>,
}

/// The way into a published receive where that is known of the copy before.
fn chosen(mode: CopyMode) -> Chosen<Deliver> {
    match mode {
        CopyMode::Single => Chosen { way: Deliver::Joint { begins: true }, by: ChosenBy::Plan },
        CopyMode::Packets => Chosen { way: Deliver::Packets, by: ChosenBy::Plan },
        CopyMode::ByCosts => Chosen { way: Deliver::Mapped, by: ChosenBy::Costs },
    }
}

const PUBLISHED: Option<PublishedReceive> = Some(PublishedReceive { is_private: false, waits: true });

/// A receiver that computes, and a machine on which nothing is worth trying.
fn plain() -> World {
    World {
        readiness: Readiness::No,
        kernel: Likely::No,
        both: false,
        once: true,
        packets: false,
        speculative: None,
        located: SHARED.source,
        known: FACTS.source,
        published: None,
        streams: false,
        copies: false,
        one_copy: false,
        zero_copy: ZeroCopy::No,
        blocks: None,
        segments: true,
        asked: Vec::new(),
    }
}

impl World {
    fn note(&mut self, what: impl Into<String>) {
        self.asked.push(what.into());
    }

    /// A pair of which all this is so.
    fn pair(&self) -> Pair {
        let asked = match (self.kernel, self.both) {
            (_, true) => Mechanism::Auto,
            (Likely::Yes, false) => Mechanism::Cma,
            (_, false) => Mechanism::Mapped,
        };
        Pair {
            kernel: true,
            near: true,
            published_from: [usize::MAX, if self.one_copy { 0 } else { usize::MAX }],
            kernel_from: if self.kernel == Likely::No { usize::MAX } else { 0 },
            kernel_from_is_asked: self.kernel == Likely::Yes,
            copies_up_to: if self.copies { usize::MAX } else { 0 },
            asked,
            ..Pair::default()
        }
    }

    /// Takes a step.
    fn take(&mut self, step: Step, known: &mut Known) {
        match step {
            Step::Speculate => known.speculative = Some(self.speculative),
            Step::Locate(purpose) => {
                self.note(format!("locate {purpose:?}"));
                (known.source, known.located) = (self.located, true);
            }
            Step::LocateSegments => {
                self.note("segments");
                known.segments = Some(self.segments.then_some(Copied::InSegments));
            }
            Step::LookPublished => {
                self.note("receive");
                known.published = Some(self.published);
            }
            Step::Choose(mode) => {
                self.note(format!("choose {mode:?}"));
                known.delivery = Some((!self.streams).then(|| chosen(mode)));
            }
            Step::PassBy => *known = Known::aside(known.source, known.turn),
            Step::LookReady { predicts } => {
                self.note(format!("readiness {predicts}"));
                let seen = self.readiness == Readiness::Predicted && !predicts;
                known.readiness = Some(if seen { Readiness::Seen } else { self.readiness });
            }
            Step::PeekReady => {
                self.note("is ready");
                known.ready = Some(self.readiness != Readiness::No);
            }
            Step::LookWaiting => known.waiting = Some(self.packets),
            Step::Try(along, copied) => {
                self.note(format!("try {along:?} {copied:?}"));
                known.turn = Some(Turn::untried(copied, self.once));
            }
            Step::AskZeroCopy => known.zero_copy = Some(self.zero_copy),
            Step::TryLending(saves) => known.lends = Some(saves > 100),
        }
    }

    /// Takes all steps.
    fn decide(&mut self, facts: Facts, mut known: Known, ask: fn(&Facts, &Known) -> Outcome<Decision>) -> Decision {
        let facts = Facts { pair: self.pair(), irregular_blocks: self.blocks, ..facts };
        for _ in 0..8 {
            match ask(&facts, &known) {
                Ok(decision) => return decision,
                Err(step) => self.take(step, &mut known),
            }
        }
        panic!("no plan after eight steps: {known:?}");
    }
}

/// The plan, and what was asked for it.
fn ask(case: &Case, world: &World) -> (SendPlan, Vec<String>) {
    let mut world = world.clone();
    let ask = if case.offered { offered } else { send };
    (world.decide(case.facts(), Known::aside(case.source, None), ask).plan, world.asked)
}

/// A message whose receiver has been seen to wait.
fn offered(facts: &Facts, known: &Known) -> Outcome<Decision> {
    beside(facts, &Aside { source: known.source, offered: true }, known)
}

fn plan(case: &Case, world: &World) -> SendPlan {
    ask(case, world).0
}

const PACKETS: SendPlan = SendPlan::Eager(Packets::Only);
const CHOSEN: SendPlan = SendPlan::Eager(Packets::Preferred);
const GET: SendPlan = SendPlan::RndvGet(Unmatched::Waits);
const GET_KEPT: SendPlan = SendPlan::RndvGet(Unmatched::Kept);
const KERNEL: SendPlan = SendPlan::RndvKernel(Unmatched::Waits);
const PREDICTED: Unmatched = Unmatched::KeptPredicted;

#[test]
fn a_short_message_of_unknown_memory_asks_nothing() {
    let facts = Case { source: Source::Opaque, ..FACTS };
    assert_eq!(ask(&facts, &plain()), (PACKETS, vec![]));
    assert_eq!(plan(&Case { full: true, ..facts }, &plain()), SendPlan::RndvPackets);
    assert_eq!(plan(&Case { size: EAGER + 1, ..facts }, &plain()), SendPlan::RndvPackets);
}

#[test]
fn a_long_message_is_fetched_unless_its_receiver_waits_for_packets() {
    assert_eq!(plan(&LONG, &plain()), GET);
    let waits = World { packets: true, ..plain() };
    assert_eq!(plan(&LONG, &waits), PACKETS);
    let later = Case { caller: Caller::Nonblocking, ..LONG };
    assert_eq!(plan(&later, &waits), GET, "the program may compute meanwhile");
    assert_eq!(plan(&Case { standard: false, ..LONG }, &waits), GET, "it waits for its match anyway");
    assert_eq!(plan(&Case { source: SHARED.source, ..LONG }, &waits), GET, "one copy is better");
    for source in [Source::Registered, Source::Private { dense: false }] {
        assert_eq!(plan(&Case { source, ..LONG }, &plain()), GET, "{source:?}");
        assert_eq!(plan(&Case { source, ..FACTS }, &plain()), PACKETS, "{source:?}");
    }
}

#[test]
fn shared_memory_is_fetched_by_one_that_waits() {
    assert_eq!(plan(&SHARED, &plain()), PACKETS, "it computes");
    assert_eq!(plan(&SHARED, &World { readiness: Readiness::Seen, ..plain() }), GET);
    let predicted = World { readiness: Readiness::Predicted, ..plain() };
    assert_eq!(plan(&SHARED, &predicted), SendPlan::RndvGet(PREDICTED));
    let speculative = Case { source: Source::Shared { dense: true, sure: false }, ..SHARED };
    assert_eq!(plan(&speculative, &predicted), GET, "only what is sure goes unseen");
    assert_eq!(plan(&Case { standard: false, ..SHARED }, &predicted), GET, "nobody keeps a synchronous message");
    let later = Case { caller: Caller::Nonblocking, ..SHARED };
    assert_eq!(plan(&later, &predicted), PACKETS, "who does not wait has looked before");
    assert_eq!(plan(&Case { offered: true, ..later }, &predicted), GET);
}

#[test]
fn in_an_exchange_the_receiver_copies_out_of_shared_memory() {
    let exchange = Case { caller: Caller::Nonblocking, habit: Habit::Exchange, ..SHARED };
    assert_eq!(plan(&exchange, &plain()), GET_KEPT, "a program may count on it to be buffered");
    assert_eq!(plan(&Case { size: EAGER + 1, ..exchange }, &plain()), GET, "not on a long one");
    assert_eq!(plan(&Case { standard: false, ..exchange }, &plain()), GET);
    let call = Case { caller: Caller::Call, ..exchange };
    assert_eq!(plan(&call, &plain()), GET);
    let left = Case { habit: Habit::Left, ..exchange };
    assert_eq!(plan(&left, &plain()), GET_KEPT);
    let speculative = Source::Shared { dense: true, sure: false };
    assert_eq!(plan(&Case { source: speculative, offered: true, ..left }, &plain()), GET, "only what is sure is kept");
    let column = Source::Shared { dense: false, sure: true };
    assert_eq!(plan(&Case { source: column, ..left }, &plain()), PACKETS, "blocks are copied by the sender");
    assert_eq!(plan(&Case { source: column, ..exchange }, &plain()), GET);
}

#[test]
fn packets_are_chosen_where_they_have_proved_quicker() {
    let world = World { both: true, once: false, readiness: Readiness::Seen, ..plain() };
    for (facts, tried) in [
        (SHARED, "try Alone Dense"),
        (Case { caller: Caller::Call, ..SHARED }, "try Alone Dense"),
        (Case { caller: Caller::Call, habit: Habit::Exchange, ..SHARED }, "try Exchange Dense"),
        (Case { caller: Caller::Nonblocking, habit: Habit::Left, ..SHARED }, "try Left Dense"),
        (Case { source: Source::Shared { dense: false, sure: true }, ..SHARED }, "try Alone InBlocks"),
    ] {
        let (plan, asked) = ask(&facts, &world);
        assert_eq!(plan, CHOSEN, "{facts:?}");
        assert!(asked.iter().any(|asked| asked == tried), "{facts:?}: {asked:?}");
        assert_ne!(self::plan(&facts, &World { once: true, ..world.clone() }), CHOSEN, "{facts:?}");
        assert_eq!(self::plan(&Case { full: true, ..facts }, &world), SendPlan::RndvPackets, "{facts:?}");
    }
}

#[test]
fn private_memory_is_copied_by_the_kernel_for_one_that_waits() {
    let likely = World { kernel: Likely::Yes, readiness: Readiness::Seen, ..plain() };
    assert_eq!(plan(&FACTS, &likely), KERNEL);
    assert_eq!(plan(&FACTS, &World { readiness: Readiness::No, ..likely.clone() }), PACKETS, "nobody waits");
    assert_eq!(
        plan(&FACTS, &World { readiness: Readiness::Predicted, ..likely.clone() }),
        SendPlan::RndvKernel(PREDICTED)
    );
    assert_eq!(plan(&Case { caller: Caller::Nonblocking, ..FACTS }, &likely), KERNEL);
    assert_eq!(plan(&Case { standard: false, ..FACTS }, &likely), PACKETS);
    assert_eq!(plan(&LONG, &likely), GET, "by both");
    let exchange = Case { caller: Caller::Nonblocking, habit: Habit::Exchange, ..FACTS };
    assert_eq!(plan(&exchange, &likely), SendPlan::RndvKernel(Unmatched::Kept));
    assert_eq!(plan(&Case { size: EAGER + 1, ..exchange }, &likely), KERNEL);
}

#[test]
fn whether_the_kernel_copies_is_tried_where_it_is_close() {
    let close = World { kernel: Likely::Perhaps, readiness: Readiness::Seen, ..plain() };
    assert_eq!(plan(&FACTS, &close), KERNEL);
    let packets = World { once: false, ..close };
    assert_eq!(plan(&FACTS, &packets), PACKETS, "private memory leaves no choice that the receiver is told of");
    let (_, asked) = ask(&Case { caller: Caller::Call, ..FACTS }, &packets);
    assert_eq!(asked, ["try Call ByKernel"]);
    let exchange = Case { habit: Habit::Exchange, ..LONG };
    assert_eq!(plan(&exchange, &packets), SendPlan::RndvPackets, "what is tried is not left to the receiver");
}

/// The plan from the start, and what was asked for it.
fn start(case: &Case, world: &World) -> (SendPlan, Vec<String>) {
    let mut world = world.clone();
    let known = Known::new(world.known);
    (world.decide(case.facts(), known, send).plan, world.asked)
}

#[test]
fn a_message_whose_published_receive_is_gone_keeps_its_turn() {
    let case = Case { caller: Caller::Nonblocking, habit: Habit::Exchange, ..SHARED };
    let world = World { both: true, once: false, ..plain() };
    for one_copy in [false, true] {
        let mut world = world.clone();
        let known = Known::aside(case.source, Some(Turn::untried(Copied::Dense, one_copy)));
        let plan = world.decide(case.facts(), known, send).plan;
        assert_eq!((plan, world.asked), (if one_copy { GET_KEPT } else { CHOSEN }, vec![]), "{one_copy}");
    }
    let (plan, asked) = ask(&case, &world);
    assert_eq!((plan, asked), (CHOSEN, vec!["try Exchange Dense".to_owned()]), "one without a turn takes one");
}

#[test]
fn a_short_message_passes_by_one_comparison() {
    let mut path = ShortPath::new(81);
    assert!(path.takes(80) && !path.takes(81));
    path.set_open(false);
    assert!(!path.takes(0));
    path.set_open(true);
    assert!(path.takes(80));
    let short = Case { size: 4000, ..FACTS };
    assert_eq!(
        start(&short, &plain()),
        (PACKETS, vec![]),
        "below the shortest published receive nothing is asked either"
    );
}

#[test]
fn a_published_receive_is_delivered_into() {
    let published = World { published: PUBLISHED, ..plain() };
    let (plan, asked) = start(&FACTS, &published);
    assert_eq!(plan, SendPlan::Deliver(Deliver::Mapped));
    assert_eq!(asked, ["locate Awaited", "receive", "choose ByCosts"], "where it lies is asked first");
    let (plan, asked) = start(&FACTS, &World { speculative: Some(false), ..published.clone() });
    assert_eq!(plan, SendPlan::Deliver(Deliver::Mapped));
    assert_eq!(asked[..2], ["receive", "locate Awaited"], "unless there is a speculative address");
    let later = Case { caller: Caller::Nonblocking, ..FACTS };
    let (_, asked) = start(&later, &published);
    assert_eq!(asked[..2], ["receive", "locate Message"], "packets would do");
    let longest = Case { size: 9 * EAGER, ..FACTS };
    let (plan, asked) = start(&longest, &published);
    assert_eq!(plan, SendPlan::Deliver(Deliver::Mapped));
    assert_eq!(asked, ["locate Message", "receive", "choose ByCosts"], "its memory is of use in any case");
    let (plan, asked) = start(&longest, &plain());
    assert_eq!(
        (plan, &asked[..2]),
        (GET, &["locate Message".to_owned(), "receive".to_owned()][..]),
        "none is published"
    );
}

#[test]
fn a_published_receive_that_is_left_alone_is_forgotten() {
    let streams = World { published: PUBLISHED, streams: true, ..plain() };
    let (plan, asked) = start(&FACTS, &streams);
    assert_eq!(plan, PACKETS, "its receiver computes");
    assert_eq!(asked[..3], ["locate Awaited", "receive", "choose ByCosts"]);
    assert_eq!(asked[3..], ["readiness true"], "what was known of the receiver may have changed");
    assert_eq!(start(&FACTS, &World { readiness: Readiness::Seen, ..streams.clone() }).0, GET);
    let longest = Case { size: 9 * EAGER, ..FACTS };
    assert_eq!(start(&longest, &streams).0, GET);
}

#[test]
fn the_reason_names_who_has_chosen() {
    let world = World { published: PUBLISHED, both: true, ..plain() };
    let facts = Facts { pair: world.pair(), ..FACTS.facts() };
    let known = |turn| Known {
        located: true,
        speculative: Some(None),
        published: Some(PUBLISHED),
        turn: Some(Turn::untried(Copied::Dense, turn)),
        ..Known::new(SHARED.source)
    };
    let told = |turn, by| {
        let way = if turn { Deliver::Mapped } else { Deliver::Packets };
        let known = Known { delivery: Some(Some(Chosen { way, by })), ..known(turn) };
        send(&facts, &known).expect("all is known").reason.why("cma").to_string()
    };
    assert_eq!(told(false, ChosenBy::Plan), "it has proved quicker in this program (rule copies)");
    assert_eq!(told(false, ChosenBy::Trial), "it has proved quicker in this program (rule copies)");
    assert_eq!(told(true, ChosenBy::Costs), "its receive was published (by costs: cma)");
    assert_eq!(told(true, ChosenBy::Offload), "the program computes meanwhile, at no cost of the copy (by costs: cma)");
    assert_eq!(told(true, ChosenBy::Mechanism), "its receive was published (TERN_MECHANISM)");
    assert_eq!(told(true, ChosenBy::Length), "its receive was published (TERN_SINGLE_COPY_FROM)");
}

#[test]
fn who_waits_for_a_message_into_private_memory_gets_packets() {
    let of = |waits| World { published: Some(PublishedReceive { is_private: true, waits }), ..plain() };
    assert_eq!(start(&FACTS, &of(true)).0, PACKETS);
    assert_eq!(start(&FACTS, &of(false)).0, SendPlan::Deliver(Deliver::Mapped), "it computes meanwhile");
}

#[test]
fn the_copy_into_a_published_receive_is_the_one_that_proved_quicker() {
    let world = World { published: PUBLISHED, both: true, ..plain() };
    let joint = Deliver::Joint { begins: true };
    for (once, way) in [(true, joint), (false, Deliver::Packets)] {
        assert_eq!(start(&FACTS, &World { once, ..world.clone() }).0, SendPlan::Deliver(way));
    }
    let private = World { located: FACTS.source, once: false, ..world.clone() };
    assert_eq!(start(&FACTS, &private).0, SendPlan::Deliver(Deliver::Mapped), "the costs tell");
    let left = Case { caller: Caller::Nonblocking, habit: Habit::Left, ..FACTS };
    let computes = World { both: false, ..world };
    assert_eq!(start(&left, &computes).0, SendPlan::Deliver(joint), "the program computes meanwhile");
}

#[test]
fn without_a_published_receive_the_message_goes_aside() {
    assert_eq!(start(&FACTS, &plain()).0, PACKETS, "shared memory, and nobody waits");
    let ready = World { readiness: Readiness::Seen, speculative: Some(false), ..plain() };
    let later = Case { caller: Caller::Nonblocking, ..FACTS };
    assert_eq!(start(&later, &ready).0, GET, "the receiver was seen to wait");
    assert_eq!(start(&later, &World { readiness: Readiness::No, ..ready }).0, PACKETS);
    assert_eq!(start(&LONG, &World { located: FACTS.source, ..plain() }).0, GET);
}

#[test]
fn a_network_takes_a_message_from_where_it_lies_if_that_pays() {
    let zero_copy = SendPlan::EagerZeroCopy(Packets::Only);
    let world = |zero_copy| World { zero_copy, ..plain() };
    assert_eq!(plan(&FACTS, &world(ZeroCopy::Always)), zero_copy);
    assert_eq!(plan(&FACTS, &world(ZeroCopy::Saves(50))), PACKETS, "the call would wait longer");
    assert_eq!(plan(&FACTS, &world(ZeroCopy::Saves(200))), zero_copy);
    let later = Case { caller: Caller::Nonblocking, ..FACTS };
    assert_eq!(plan(&later, &world(ZeroCopy::Saves(50))), zero_copy, "the program waits later");
    assert_eq!(plan(&Case { standard: false, ..FACTS }, &world(ZeroCopy::Always)), PACKETS);
    assert_eq!(plan(&Case { size: 4000, ..FACTS }, &world(ZeroCopy::Always)), PACKETS);
    assert_eq!(plan(&LONG, &world(ZeroCopy::Always)), GET);
}

#[test]
fn an_irregular_message_of_long_blocks_is_a_region_of_segments() {
    let irregular = Case { size: 256 << 10, source: Source::Opaque, ..FACTS };
    let world = World { located: Source::Opaque, known: Source::Opaque, blocks: Some(64), ..plain() };
    let region = (SendPlan::RndvSegments, vec!["segments".to_owned(), "try Alone InSegments".to_owned()]);
    assert_eq!(start(&irregular, &world), region);
    assert_eq!(start(&Case { standard: false, ..irregular }, &world), region);
    assert_eq!(
        start(&irregular, &World { published: PUBLISHED, ..world.clone() }),
        region,
        "a published receive is no way"
    );
    let exchange = Case { habit: Habit::Exchange, ..irregular };
    assert_eq!(start(&exchange, &world).1[1], "try Exchange InSegments");
    let others = |case: &Case, world: &World| {
        let (plan, asked) = start(case, world);
        (plan != SendPlan::RndvSegments, asked.contains(&"segments".to_owned()))
    };
    assert_eq!(others(&irregular, &World { once: false, ..world.clone() }), (true, true), "packets are quicker");
    assert_eq!(others(&irregular, &World { segments: false, ..world.clone() }), (true, true), "no copy is possible");
    for blocks in [None, Some(257), Some(5000)] {
        assert_eq!(others(&irregular, &World { blocks, ..world.clone() }), (true, false), "{blocks:?}");
    }
    let longest = Case { size: EAGER, ..irregular };
    assert_eq!(others(&longest, &world), (true, false), "a program may count on it to be buffered");
}
