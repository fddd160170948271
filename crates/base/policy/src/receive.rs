//! Whether a receive is published, so that its sender can fill it.
//!
//! [`receive`] takes what is known when the receive is posted, and says what becomes of it; [`receive_waiting`] is for a call that waits for nothing
//! else. What takes time to find out is a step of its own, as for a send ([`crate::Step`]).

use crate::maker::{Maker, Why};
use crate::offload::goes_beside;
use crate::pair::{Likely, Pair};
use crate::rules;

/// What is known of a receive that is posted, from one process, for a message of some length.
#[derive(Clone, Copy, Debug)]
pub struct RecvFacts {
    /// In bytes.
    pub size: usize,
    /// What the two processes can do for each other.
    pub pair: Pair,
    /// The longest message from that process that goes without asking, in bytes.
    pub eager_limit: usize,
    /// The same if its receiver waits in the library.
    pub waiting_limit: usize,
    /// Its sender is on this node.
    pub near: bool,
    /// Its message can be fetched: one tag is asked for, and the memory is one run of bytes.
    pub fetchable: bool,
    /// The call that is under way waits for all that it starts.
    pub call_waits: bool,
    /// And exchanges messages of this length with that process.
    pub call_exchanges: bool,
    /// The program most likely waits at once for what it posts, as the last times.
    pub at_once: bool,
    /// The program most likely waits for one receive at a time, and nothing else is under way.
    pub alone: bool,
    /// The program most likely exchanges such messages with that process.
    pub exchanges: bool,
    /// It most likely exchanges messages of any length and waits at once for them.
    pub exchanges_at_once: bool,
}

/// What is to be done next for a receive. Its outcome goes to [`RecvKnown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvStep {
    /// Looks whether its memory has a speculative address, without a question to the kernel.
    Speculate,
    /// Finds out whether its memory is shared: the kernel may have to be asked.
    Locate,
}

/// What the steps of a receive have shown so far. `None`: nobody has asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecvKnown {
    /// Whether its memory has a speculative address, and then whether that is sure.
    pub speculative: Option<Option<bool>>,
    /// Whether its memory is shared.
    pub shared: Option<bool>,
}

/// What becomes of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvPlan {
    /// It is published, if the rules of tuple queues allow it.
    Publish,
    /// It stays unpublished: its message comes in packets, or is fetched while the program waits.
    Await,
    /// It stays unpublished. The process waits for it alone, says so (ready to receive), and fetches the message.
    Fetch,
    /// It stays unpublished, whatever comes: each side of the call copies its own.
    Packets,
}

impl RecvPlan {
    /// For the user: the way.
    pub fn text(self) -> &'static str {
        match self {
            RecvPlan::Publish => "published",
            RecvPlan::Await | RecvPlan::Packets => "left unpublished",
            RecvPlan::Fetch => "left unpublished, to be fetched",
        }
    }

    /// For the user: why a receive of which this is known goes so.
    pub fn why(self, facts: &RecvFacts) -> Why {
        let packets = Maker::Costs("packets");
        match self {
            RecvPlan::Publish => Why::new("its sender can fill it while the program computes", Maker::Default),
            RecvPlan::Await if facts.is_short() && facts.exchanges => {
                Why::new("both processes send and then wait", Maker::Rule(&rules::HABITS))
            }
            RecvPlan::Await if facts.at_once => {
                Why::new("the program waits for it at once", Maker::Rule(&rules::HABITS))
            }
            RecvPlan::Await => Why::new("its call waits for it, and packets are as soon there", packets),
            RecvPlan::Fetch => Why::new("its call waits for nothing else", Maker::Costs("one copy by the receiver")),
            RecvPlan::Packets if facts.call_exchanges => {
                Why::new("each side of its call copies its own", Maker::Default)
            }
            RecvPlan::Packets => Why::new("its call waits, and packets are as soon there", packets),
        }
    }
}

/// Whether a receive of `size` bytes that is published had better be taken back now that its owner waits, since packets are sooner there. `private`: its
/// memory is not shared. `between`: what the two processes can do for each other, and the longest message that goes without asking while both wait.
#[inline]
pub fn is_better_taken_back(size: usize, private: bool, between: impl FnOnce() -> (Pair, usize)) -> bool {
    private && {
        let (pair, waiting_limit) = between();
        pair.near && size <= waiting_limit && size < pair.packets_below(false)
    }
}

/// Why a receive that was to be published is not, or not yet: the rules of tuple queues, or their room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpublished {
    /// It has a wildcard.
    Wild,
    /// An older receive that is not published could take its message.
    Behind,
    /// No slot is free for it.
    Full,
}

impl Unpublished {
    /// For the user: the way. `later`: it is looked at again.
    pub fn text(later: bool) -> &'static str {
        if later { "published later, if it still waits then" } else { RecvPlan::Packets.text() }
    }

    /// For the user: the reason.
    pub fn why(self) -> Why {
        let reason = match self {
            Unpublished::Wild => "it has a wildcard",
            Unpublished::Behind => "an older receive that is not published could take its message",
            Unpublished::Full => "no slot for receives from that process is free",
        };
        Why::new(reason, Maker::Default)
    }
}

/// What was decided, or the step that has to be taken before.
pub type RecvOutcome<T> = Result<T, RecvStep>;

impl RecvFacts {
    fn is_short(&self) -> bool {
        self.size <= self.eager_limit
    }

    /// Whether packets are better for a receiver that waits, into memory that is shared, or not.
    fn suits_packets(&self, shared: bool) -> bool {
        self.size <= self.waiting_limit && self.size < self.pair.packets_below(shared)
    }

    /// Whether a process that waits for such a message alone had better fetch it, by the costs. `sure`: the kernel need not be asked where the
    /// memory of the receive lies.
    fn suits_fetching(&self, sure: bool) -> bool {
        self.fetchable && self.is_short() && self.pair.fetches(self.size, sure)
    }

    /// Whether the kernel may be the one to fetch it, between private memories.
    fn suits_kernel(&self) -> bool {
        self.pair.suits_kernel(self.size) != Likely::No
    }

    fn speculative(&self, known: &RecvKnown) -> RecvOutcome<Option<bool>> {
        known.speculative.ok_or(RecvStep::Speculate)
    }
}

/// What becomes of a receive that is posted.
///
/// Errors: the step that has to be taken before that is known; likewise below.
pub fn receive(facts: &RecvFacts, known: &RecvKnown) -> RecvOutcome<RecvPlan> {
    // A collective that goes on beside its program, whose sender has a thread that copies, gains by being seen.
    if facts.near && facts.call_exchanges && !goes_beside(&facts.pair, facts.size, facts.call_waits) {
        return Ok(RecvPlan::Packets);
    }
    let left = facts.near && !facts.call_waits && is_better_left(facts, known)?;
    Ok(if left { RecvPlan::Await } else { RecvPlan::Publish })
}

/// What becomes of a receive that [`receive`] would publish and that nothing hinders: the sender of one that is waited for would only lose time by
/// looking for it where packets are better.
pub fn receive_located(facts: &RecvFacts, known: &RecvKnown) -> RecvOutcome<RecvPlan> {
    let shared = known.shared.ok_or(RecvStep::Locate)?;
    let packets = facts.call_waits && facts.suits_packets(shared);
    Ok(if packets { RecvPlan::Packets } else { RecvPlan::Publish })
}

/// What becomes of a receive by a call that waits for nothing else.
pub fn receive_waiting(facts: &RecvFacts, known: &RecvKnown) -> RecvOutcome<RecvPlan> {
    if facts.suits_packets(true) {
        return Ok(RecvPlan::Await);
    }
    if fetches(facts, known)? {
        return Ok(RecvPlan::Fetch);
    }
    let sure = facts.speculative(known)? == Some(true);
    let publishes = sure || !facts.suits_packets(false) || known.shared.ok_or(RecvStep::Locate)?;
    Ok(if publishes { RecvPlan::Publish } else { RecvPlan::Await })
}

/// What becomes of a receive that a process waits for alone and that is not published: [`RecvPlan::Fetch`] where it had better fetch its message,
/// if that lies in memory that both reach, else [`RecvPlan::Await`].
pub fn receive_left(facts: &RecvFacts, known: &RecvKnown) -> RecvOutcome<RecvPlan> {
    Ok(if fetches(facts, known)? { RecvPlan::Fetch } else { RecvPlan::Await })
}

/// Whether a process that waits for one receive alone had better leave it unpublished and fetch its message, if that lies in memory that both reach:
/// the memory of the receive is shared as well, or would get packets otherwise.
fn fetches(facts: &RecvFacts, known: &RecvKnown) -> RecvOutcome<bool> {
    if !facts.suits_fetching(false) {
        return Ok(false);
    }
    Ok(match facts.speculative(known)? {
        Some(sure) => !sure || facts.suits_fetching(true),
        // Whether its sender asks for that is found out on the messages themselves.
        None => facts.suits_kernel() || facts.suits_packets(false),
    })
}

/// Whether a receive by a call that does not wait had better stay unpublished, by what the program did the last times: waited for such at
/// once, or exchanged.
fn is_better_left(facts: &RecvFacts, known: &RecvKnown) -> RecvOutcome<bool> {
    if facts.is_short() && facts.exchanges {
        return Ok(true);
    }
    Ok(facts.at_once && suits_waiting(facts, known)? && rules::HABITS.applies())
}

/// Whether a receive that the program waits for at once is as well off unpublished.
fn suits_waiting(facts: &RecvFacts, known: &RecvKnown) -> RecvOutcome<bool> {
    if facts.is_short() && (facts.suits_packets(true) || (facts.alone && fetches(facts, known)?)) {
        return Ok(true);
    }
    let shared = known.shared.ok_or(RecvStep::Locate)?;
    // In an exchange its sender would have the kernel copy it, while this process is about to do nothing but wait.
    let exchanged = !facts.is_short() && !shared && facts.exchanges_at_once;
    Ok(exchanged || facts.suits_packets(shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EAGER: usize = 64 << 10;
    /// Two that copy once from some length on, into private and into shared memory, and fetch what is shorter.
    const PAIR: Pair = Pair {
        class: "near",
        kernel: true,
        near: true,
        crowded: false,
        published_from: [0; 2],
        kernel_from: usize::MAX,
        fetched_from: usize::MAX,
        fetched_to: [usize::MAX; 2],
        copies_up_to: 0,
        window: 0,
        has_room_later: true,
        copies_beside: false,
        asked: tern_settings::Mechanism::Auto,
        kernel_from_is_asked: false,
    };
    const FACTS: RecvFacts = RecvFacts {
        size: 20_000,
        pair: PAIR,
        eager_limit: EAGER,
        waiting_limit: 4 * EAGER,
        near: true,
        fetchable: true,
        call_waits: false,
        call_exchanges: false,
        at_once: false,
        alone: false,
        exchanges: false,
        exchanges_at_once: false,
    };
    const LONG: RecvFacts = RecvFacts { size: 100_000, ..FACTS };

    /// What is found out when it is asked for, and a pair that is made for it.
    #[derive(Clone, Copy, Default)]
    struct World {
        /// Packets are better: into private memory, into shared memory.
        packets: [bool; 2],
        fetches: bool,
        kernel: bool,
        speculative: Option<bool>,
        shared: bool,
        copies_beside: bool,
    }

    impl World {
        fn pair(&self) -> Pair {
            let from = |packets| if packets { usize::MAX } else { 0 };
            Pair {
                published_from: self.packets.map(from),
                kernel_from: if self.kernel { 0 } else { usize::MAX },
                fetched_from: if self.fetches { 0 } else { usize::MAX },
                copies_beside: self.copies_beside,
                ..PAIR
            }
        }

        fn plan(&self, facts: RecvFacts, ask: fn(&RecvFacts, &RecvKnown) -> RecvOutcome<RecvPlan>) -> RecvPlan {
            let (facts, mut known) = (RecvFacts { pair: self.pair(), ..facts }, RecvKnown::default());
            loop {
                match ask(&facts, &known) {
                    Err(RecvStep::Speculate) => known.speculative = Some(self.speculative),
                    Err(RecvStep::Locate) => known.shared = Some(self.shared),
                    Ok(plan) => return plan,
                }
            }
        }
    }

    fn plan(facts: RecvFacts, world: World) -> RecvPlan {
        world.plan(facts, receive)
    }

    #[test]
    fn who_computes_publishes() {
        assert_eq!(plan(FACTS, World { packets: [true, true], fetches: true, ..World::default() }), RecvPlan::Publish);
    }

    #[test]
    fn who_waits_at_once_does_not_where_packets_are_better() {
        let facts = RecvFacts { at_once: true, ..FACTS };
        let packets = World { packets: [true, false], ..World::default() };
        assert_eq!(plan(facts, packets), RecvPlan::Await);
        assert_eq!(plan(facts, World { shared: true, ..packets }), RecvPlan::Publish, "one copy into shared memory is");
        assert_eq!(
            plan(RecvFacts { call_waits: true, ..facts }, packets),
            RecvPlan::Publish,
            "its call has looked before"
        );
        assert_eq!(plan(RecvFacts { near: false, ..facts }, packets), RecvPlan::Publish, "a card fills it");
    }

    #[test]
    fn who_waits_for_one_alone_may_fetch_it() {
        let facts = RecvFacts { at_once: true, alone: true, ..FACTS };
        let fetches = World { fetches: true, speculative: Some(true), shared: true, ..World::default() };
        assert_eq!(plan(facts, fetches), RecvPlan::Await);
        assert_eq!(plan(RecvFacts { alone: false, ..facts }, fetches), RecvPlan::Publish);
        assert_eq!(plan(RecvFacts { size: LONG.size, ..facts }, fetches), RecvPlan::Publish, "both copy a long one");
        assert_eq!(plan(RecvFacts { fetchable: false, ..facts }, fetches), RecvPlan::Publish, "it may be any message");
    }

    #[test]
    fn who_exchanges_copies_its_own() {
        let shared = World { shared: true, ..World::default() };
        let exchanges = RecvFacts { exchanges: true, exchanges_at_once: true, ..FACTS };
        assert_eq!(plan(exchanges, shared), RecvPlan::Await);
        let long = RecvFacts { at_once: true, size: LONG.size, ..exchanges };
        assert_eq!(plan(long, shared), RecvPlan::Publish, "both copy it");
        assert_eq!(plan(long, World::default()), RecvPlan::Await, "else the kernel would");
        let nonblocking = RecvFacts { call_exchanges: true, ..LONG };
        assert_eq!(plan(nonblocking, shared), RecvPlan::Packets);
        assert_eq!(plan(nonblocking, World { copies_beside: true, ..shared }), RecvPlan::Publish, "a thread copies it");
        let call = RecvFacts { call_exchanges: true, call_waits: true, ..FACTS };
        assert_eq!(plan(call, World::default()), RecvPlan::Packets);
        assert_eq!(plan(RecvFacts { near: false, ..call }, World::default()), RecvPlan::Publish);
    }

    #[test]
    fn a_call_that_waits_publishes_where_nothing_else_is_better() {
        let plan = |world: World| world.plan(FACTS, receive_waiting);
        assert_eq!(plan(World::default()), RecvPlan::Publish, "its sender helps");
        assert_eq!(plan(World { packets: [false, true], ..World::default() }), RecvPlan::Await);
        let private = World { packets: [true, false], ..World::default() };
        assert_eq!(plan(private), RecvPlan::Await);
        assert_eq!(plan(World { shared: true, ..private }), RecvPlan::Publish);
        assert_eq!(plan(World { speculative: Some(true), ..private }), RecvPlan::Publish, "the kernel is not asked");
        let fetches = World { fetches: true, ..private };
        assert_eq!(plan(fetches), RecvPlan::Fetch);
        assert_eq!(plan(World { fetches: true, kernel: true, ..World::default() }), RecvPlan::Fetch);
    }

    #[test]
    fn what_is_left_is_fetched_or_awaited() {
        let fetches = World { packets: [true, false], fetches: true, ..World::default() };
        assert_eq!(fetches.plan(FACTS, receive_left), RecvPlan::Fetch);
        assert_eq!(World::default().plan(FACTS, receive_left), RecvPlan::Await);
    }

    #[test]
    fn what_is_located_may_turn_out_to_be_private() {
        let facts = RecvFacts { call_waits: true, ..FACTS };
        let world = World { packets: [true, false], ..World::default() };
        assert_eq!(world.plan(facts, receive_located), RecvPlan::Packets);
        assert_eq!(World { shared: true, ..world }.plan(facts, receive_located), RecvPlan::Publish);
        assert_eq!(world.plan(FACTS, receive_located), RecvPlan::Publish, "the program may compute");
    }
}
