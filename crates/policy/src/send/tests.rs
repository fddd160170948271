//! Plans of sends, by made-up facts and costs.

use super::*;

const EAGER: usize = 64 << 10;

const FACTS: Facts = Facts {
    size: 20_000,
    eager_limit: EAGER,
    caller: Caller::Blocking,
    pattern: Pattern::Plain,
    standard: true,
    source: Source::Private { dense: true },
    hoped: false,
    full: false,
};

const SHARED: Facts = Facts { source: Source::Shared { dense: true, sure: true }, ..FACTS };
const LONG: Facts = Facts { size: EAGER + 1, ..FACTS };

/// A receiver and a machine, and what was asked about them.
#[derive(Clone)]
struct World {
    hope: Hope,
    kernel: Likely,
    both: bool,
    /// One copy is the sooner one.
    once: bool,
    packets: bool,
    waits: bool,
    asked: Vec<String>,
}

/// A receiver that computes, and a machine on which nothing is worth trying.
fn plain() -> World {
    World {
        hope: Hope::No,
        kernel: Likely::No,
        both: false,
        once: true,
        packets: false,
        waits: false,
        asked: Vec::new(),
    }
}

impl World {
    fn note(&mut self, what: impl Into<String>) {
        self.asked.push(what.into());
    }
}

impl Look for World {
    fn hope(&mut self, trusts: bool) -> Hope {
        self.note(format!("hope {trusts}"));
        if self.hope == Hope::Trusted && !trusts { Hope::Seen } else { self.hope }
    }

    fn is_hoped(&mut self) -> bool {
        self.note("is hoped");
        self.hope != Hope::No
    }

    fn suits_kernel(&mut self) -> Likely {
        self.note("kernel");
        self.kernel
    }

    fn suits_both(&mut self) -> bool {
        self.note("both");
        self.both
    }

    fn tries(&mut self, along: Along, copied: Copied) -> bool {
        self.note(format!("try {along:?} {copied:?}"));
        self.once
    }

    fn takes_packets(&mut self) -> bool {
        self.note("packets");
        self.packets
    }

    fn waits_for_sends(&mut self, one: bool) -> bool {
        self.note(format!("waits {one}"));
        self.waits
    }
}

/// The plan, and what was asked for it.
fn ask(facts: &Facts, world: &World) -> (SendPlan, Vec<String>) {
    let mut world = world.clone();
    (send(facts, &mut world), world.asked)
}

fn plan(facts: &Facts, world: &World) -> SendPlan {
    ask(facts, world).0
}

const PACKETS: SendPlan = SendPlan::Eager { chosen: false };
const CHOSEN: SendPlan = SendPlan::Eager { chosen: true };
const GET: SendPlan = SendPlan::RndvGet(Terms { kept: false, trusted: false });
const GET_KEPT: SendPlan = SendPlan::RndvGet(Terms { kept: true, trusted: false });
const KERNEL: SendPlan = SendPlan::RndvKernel(Terms { kept: false, trusted: false });
const TRUSTED: Terms = Terms { kept: true, trusted: true };

#[test]
fn a_short_message_of_unknown_memory_asks_nothing() {
    let facts = Facts { source: Source::Opaque, ..FACTS };
    assert_eq!(ask(&facts, &plain()), (PACKETS, vec![]));
    assert_eq!(plan(&Facts { full: true, ..facts }, &plain()), SendPlan::RndvPackets);
    assert_eq!(plan(&Facts { size: EAGER + 1, ..facts }, &plain()), SendPlan::RndvPackets);
}

#[test]
fn a_long_message_is_fetched_unless_its_receiver_waits_for_packets() {
    assert_eq!(plan(&LONG, &plain()), GET);
    let waits = World { packets: true, ..plain() };
    assert_eq!(plan(&LONG, &waits), PACKETS);
    let later = Facts { caller: Caller::Nonblocking, ..LONG };
    assert_eq!(plan(&later, &waits), GET, "the program may compute meanwhile");
    assert_eq!(plan(&later, &World { waits: true, ..waits.clone() }), PACKETS, "it waits at once as a rule");
    assert_eq!(plan(&Facts { standard: false, ..LONG }, &waits), GET, "it waits for its match anyway");
    assert_eq!(plan(&Facts { source: SHARED.source, ..LONG }, &waits), GET, "one copy is better");
    for source in [Source::Registered, Source::Private { dense: false }] {
        assert_eq!(plan(&Facts { source, ..LONG }, &plain()), GET, "{source:?}");
        assert_eq!(plan(&Facts { source, ..FACTS }, &plain()), PACKETS, "{source:?}");
    }
}

#[test]
fn shared_memory_is_fetched_by_one_that_waits() {
    assert_eq!(plan(&SHARED, &plain()), PACKETS, "it computes");
    assert_eq!(plan(&SHARED, &World { hope: Hope::Seen, ..plain() }), GET);
    let trusted = World { hope: Hope::Trusted, ..plain() };
    assert_eq!(plan(&SHARED, &trusted), SendPlan::RndvGet(TRUSTED));
    let presumed = Facts { source: Source::Shared { dense: true, sure: false }, ..SHARED };
    assert_eq!(plan(&presumed, &trusted), GET, "only what is sure goes unseen");
    assert_eq!(plan(&Facts { standard: false, ..SHARED }, &trusted), GET, "nobody keeps a synchronous message");
    let later = Facts { caller: Caller::Nonblocking, ..SHARED };
    assert_eq!(plan(&later, &trusted), PACKETS, "who does not wait has looked before");
    assert_eq!(plan(&Facts { hoped: true, ..later }, &trusted), GET);
}

#[test]
fn in_an_exchange_the_receiver_copies_out_of_shared_memory() {
    let exchange = Facts { caller: Caller::Nonblocking, pattern: Pattern::Exchange, ..SHARED };
    assert_eq!(plan(&exchange, &plain()), GET_KEPT, "a program may count on it to be buffered");
    assert_eq!(plan(&Facts { size: EAGER + 1, ..exchange }, &plain()), GET, "not on a long one");
    assert_eq!(plan(&Facts { standard: false, ..exchange }, &plain()), GET);
    let call = Facts { caller: Caller::Call, ..exchange };
    assert_eq!(plan(&call, &plain()), GET);
    let left = Facts { pattern: Pattern::Left, ..exchange };
    assert_eq!(plan(&left, &plain()), GET_KEPT);
    let column = Source::Shared { dense: false, sure: true };
    assert_eq!(plan(&Facts { source: column, ..left }, &plain()), PACKETS, "blocks are copied by the sender");
    assert_eq!(plan(&Facts { source: column, ..exchange }, &plain()), GET);
}

#[test]
fn packets_are_chosen_where_they_have_proved_quicker() {
    let world = World { both: true, once: false, hope: Hope::Seen, ..plain() };
    for (facts, tried) in [
        (SHARED, "try Alone Dense"),
        (Facts { caller: Caller::Call, ..SHARED }, "try Alone Dense"),
        (Facts { caller: Caller::Call, pattern: Pattern::Exchange, ..SHARED }, "try Exchange Dense"),
        (Facts { caller: Caller::Nonblocking, pattern: Pattern::Left, ..SHARED }, "try Left Dense"),
        (Facts { caller: Caller::Nonblocking, ..SHARED }, "try Window Dense"),
        (Facts { source: Source::Shared { dense: false, sure: true }, ..SHARED }, "try Alone InBlocks"),
    ] {
        let (plan, asked) = ask(&facts, &world);
        assert_eq!(plan, CHOSEN, "{facts:?}");
        assert!(asked.iter().any(|asked| asked == tried), "{facts:?}: {asked:?}");
        assert_ne!(self::plan(&facts, &World { once: true, ..world.clone() }), CHOSEN, "{facts:?}");
        assert_eq!(self::plan(&Facts { full: true, ..facts }, &world), SendPlan::RndvPackets, "{facts:?}");
    }
    let window = Facts { caller: Caller::Nonblocking, size: EAGER + 1, ..SHARED };
    let (_, asked) = ask(&window, &world);
    assert!(!asked.contains(&"both".into()), "long windows are in no cache: {asked:?}");
    let one = World { waits: true, ..world };
    assert!(ask(&window, &one).1.contains(&"try Alone Dense".into()), "one at a time is");
}

#[test]
fn private_memory_is_copied_by_the_kernel_for_one_that_waits() {
    let likely = World { kernel: Likely::Yes, hope: Hope::Seen, ..plain() };
    assert_eq!(plan(&FACTS, &likely), KERNEL);
    assert_eq!(plan(&FACTS, &World { hope: Hope::No, ..likely.clone() }), PACKETS, "nobody waits");
    assert_eq!(plan(&FACTS, &World { hope: Hope::Trusted, ..likely.clone() }), SendPlan::RndvKernel(TRUSTED));
    assert_eq!(plan(&Facts { caller: Caller::Nonblocking, ..FACTS }, &likely), KERNEL);
    assert_eq!(plan(&Facts { standard: false, ..FACTS }, &likely), PACKETS);
    assert_eq!(plan(&LONG, &likely), GET, "by both");
    let exchange = Facts { caller: Caller::Nonblocking, pattern: Pattern::Exchange, ..FACTS };
    let kept = Terms { kept: true, trusted: false };
    assert_eq!(plan(&exchange, &likely), SendPlan::RndvKernel(kept));
    assert_eq!(plan(&Facts { size: EAGER + 1, ..exchange }, &likely), KERNEL);
}

#[test]
fn whether_the_kernel_copies_is_tried_where_it_is_close() {
    let close = World { kernel: Likely::Perhaps, hope: Hope::Seen, ..plain() };
    assert_eq!(plan(&FACTS, &close), KERNEL);
    let packets = World { once: false, ..close };
    assert_eq!(plan(&FACTS, &packets), PACKETS, "private memory leaves no choice that the receiver is told of");
    let (_, asked) = ask(&Facts { caller: Caller::Call, ..FACTS }, &packets);
    assert_eq!(asked, ["kernel", "try Call ByKernel"]);
    let exchange = Facts { pattern: Pattern::Exchange, ..LONG };
    assert_eq!(plan(&exchange, &packets), SendPlan::RndvPackets, "what is tried is not left to the receiver");
}
