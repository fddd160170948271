//! Whether a receive is published, so that its sender can fill it.
//!
//! [`receive`] takes what is known when the receive is posted, and gives a plan; [`receive_waiting`] is for a call that waits for nothing
//! else. What takes time to find out is asked for where it matters.

/// What is known of a receive that is posted, from one process, for a message of some length.
#[derive(Clone, Copy, Debug)]
pub struct RecvFacts {
    /// In bytes.
    pub size: usize,
    /// The longest message from that process that goes without asking, in bytes.
    pub eager_limit: usize,
    /// Its sender is on this node.
    pub near: bool,
    /// The call that is under way waits for all that it starts.
    pub call_waits: bool,
    /// And exchanges messages of this length with that process.
    pub call_exchanges: bool,
    /// The program most likely waits at once for what it posts, as the last times.
    pub at_once: bool,
    /// The program most likely waits for one receive at a time, and nothing else is under way.
    pub alone: bool,
}

impl RecvFacts {
    fn is_short(&self) -> bool {
        self.size <= self.eager_limit
    }
}

/// What takes time to find out, or is learned.
pub trait RecvLook {
    /// Whether the program most likely exchanges such messages with that process; `at_once`: and waits at once for them, whatever their length.
    fn exchanges(&mut self, at_once: bool) -> bool;
    /// Whether the last such message from that process came in packets that its sender had chosen: the rule `leave-chosen`.
    fn packets_were_chosen(&mut self) -> bool;
    /// Whether packets are better for a receiver that waits, into memory that is shared, or not.
    fn suits_packets(&mut self, shared: bool) -> bool;
    /// Whether a process that waits for such a message alone had better fetch it, by the costs. `sure`: the kernel need not be asked where the memory
    /// of the receive lies.
    fn suits_fetching(&mut self, sure: bool) -> bool;
    /// Whether the kernel may be the one to fetch it, between private memories.
    fn suits_kernel(&mut self) -> bool;
    /// Whether the memory of the receive has a speculative address, and then whether that is sure, without a question to the kernel.
    fn speculative(&mut self) -> Option<bool>;
    /// Whether it is the turn of this receive to be published, since an earlier one was left unpublished in vain: the rule `publish-again`.
    fn publishes_again(&mut self) -> bool;
    /// Whether the memory of the receive is shared: the kernel may have to be asked.
    fn is_shared(&mut self) -> bool;
    /// Whether the rule `at-once` applies.
    fn at_once_applies(&mut self) -> bool;
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

/// What becomes of a receive that is posted.
pub fn receive(facts: &RecvFacts, look: &mut impl RecvLook) -> RecvPlan {
    if facts.near && facts.call_exchanges {
        return RecvPlan::Packets;
    }
    if facts.near && !facts.call_waits && is_better_left(facts, look) { RecvPlan::Await } else { RecvPlan::Publish }
}

/// What becomes of a receive that [`receive`] would publish, once its memory was located, which is `shared` or not: the sender of one that is
/// waited for would only lose time by looking for it where packets are better.
pub fn receive_located(facts: &RecvFacts, shared: bool, look: &mut impl RecvLook) -> RecvPlan {
    if facts.call_waits && look.suits_packets(shared) { RecvPlan::Packets } else { RecvPlan::Publish }
}

/// What becomes of a receive by a call that waits for nothing else.
pub fn receive_waiting(look: &mut impl RecvLook) -> RecvPlan {
    if look.suits_packets(true) {
        return RecvPlan::Await;
    }
    if fetches(look) {
        return RecvPlan::Fetch;
    }
    let publishes = look.speculative() == Some(true) || !look.suits_packets(false) || look.is_shared();
    if publishes { RecvPlan::Publish } else { RecvPlan::Await }
}

/// Whether a process that waits for one receive alone had better leave it unpublished and fetch its message, if that lies in memory that both reach:
/// the memory of the receive is shared as well, or would get packets otherwise.
pub fn fetches(look: &mut impl RecvLook) -> bool {
    if !look.suits_fetching(false) {
        return false;
    }
    let suits = match look.speculative() {
        Some(sure) => !sure || look.suits_fetching(true),
        // Whether its sender asks for that is found out on the messages themselves.
        None if look.suits_kernel() => return true,
        None => look.suits_packets(false),
    };
    suits && !look.publishes_again()
}

/// Whether a receive by a call that does not wait had better stay unpublished, by what the program did the last times: waited for such at
/// once, or exchanged.
fn is_better_left(facts: &RecvFacts, look: &mut impl RecvLook) -> bool {
    // A caller that waits for it alone tells that it is ready, and is told then that packets were chosen.
    if facts.is_short() && (look.exchanges(false) || (!facts.alone && look.packets_were_chosen())) {
        return true;
    }
    facts.at_once && suits_waiting(facts, look) && look.at_once_applies()
}

/// Whether a receive that the program waits for at once is as well off unpublished.
fn suits_waiting(facts: &RecvFacts, look: &mut impl RecvLook) -> bool {
    if facts.is_short() && (look.suits_packets(true) || (facts.alone && fetches(look))) {
        return true;
    }
    let shared = look.is_shared();
    // In an exchange its sender would have the kernel copy it, while this process is about to do nothing but wait.
    let exchanged = !facts.is_short() && !shared && look.exchanges(true);
    exchanged || look.suits_packets(shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: RecvFacts = RecvFacts {
        size: 20_000,
        eager_limit: 64 << 10,
        near: true,
        call_waits: false,
        call_exchanges: false,
        at_once: false,
        alone: false,
    };
    const LONG: RecvFacts = RecvFacts { size: 100_000, ..FACTS };

    /// What is found out when it is asked for.
    #[derive(Clone, Copy, Default)]
    struct World {
        exchanges: bool,
        chosen: bool,
        /// Packets are better: into private memory, into shared memory.
        packets: [bool; 2],
        fetches: bool,
        kernel: bool,
        speculative: Option<bool>,
        again: bool,
        shared: bool,
        off: bool,
    }

    impl RecvLook for World {
        fn exchanges(&mut self, _: bool) -> bool {
            self.exchanges
        }
        fn packets_were_chosen(&mut self) -> bool {
            self.chosen
        }
        fn suits_packets(&mut self, shared: bool) -> bool {
            self.packets[usize::from(shared)]
        }
        fn suits_fetching(&mut self, _: bool) -> bool {
            self.fetches
        }
        fn suits_kernel(&mut self) -> bool {
            self.kernel
        }
        fn speculative(&mut self) -> Option<bool> {
            self.speculative
        }
        fn publishes_again(&mut self) -> bool {
            self.again
        }
        fn is_shared(&mut self) -> bool {
            self.shared
        }
        fn at_once_applies(&mut self) -> bool {
            !self.off
        }
    }

    fn plan(facts: RecvFacts, mut world: World) -> RecvPlan {
        receive(&facts, &mut world)
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
        assert_eq!(plan(facts, World { off: true, ..packets }), RecvPlan::Publish, "the rule is off");
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
    }

    #[test]
    fn who_exchanges_copies_its_own() {
        let exchanges = World { exchanges: true, shared: true, ..World::default() };
        assert_eq!(plan(FACTS, exchanges), RecvPlan::Await);
        let long = RecvFacts { at_once: true, ..LONG };
        assert_eq!(plan(long, exchanges), RecvPlan::Publish, "both copy it");
        assert_eq!(plan(long, World { shared: false, ..exchanges }), RecvPlan::Await, "else the kernel would");
        let call = RecvFacts { call_exchanges: true, call_waits: true, ..FACTS };
        assert_eq!(plan(call, World::default()), RecvPlan::Packets);
        assert_eq!(plan(RecvFacts { near: false, ..call }, World::default()), RecvPlan::Publish);
    }

    #[test]
    fn where_packets_were_chosen_they_come_without_a_claim() {
        let chosen = World { chosen: true, shared: true, ..World::default() };
        assert_eq!(plan(FACTS, chosen), RecvPlan::Await);
        assert_eq!(
            plan(RecvFacts { alone: true, ..FACTS }, chosen),
            RecvPlan::Publish,
            "who waits alone is told otherwise"
        );
        assert_eq!(plan(LONG, chosen), RecvPlan::Publish);
    }

    #[test]
    fn a_call_that_waits_publishes_where_nothing_else_is_better() {
        let plan = |mut world: World| receive_waiting(&mut world);
        assert_eq!(plan(World::default()), RecvPlan::Publish, "its sender helps");
        assert_eq!(plan(World { packets: [false, true], ..World::default() }), RecvPlan::Await);
        let private = World { packets: [true, false], ..World::default() };
        assert_eq!(plan(private), RecvPlan::Await);
        assert_eq!(plan(World { shared: true, ..private }), RecvPlan::Publish);
        assert_eq!(plan(World { speculative: Some(true), ..private }), RecvPlan::Publish, "the kernel is not asked");
        let fetches = World { fetches: true, ..private };
        assert_eq!(plan(fetches), RecvPlan::Fetch);
        assert_eq!(plan(World { again: true, ..fetches }), RecvPlan::Await, "the last one was left in vain");
        assert_eq!(plan(World { fetches: true, kernel: true, ..World::default() }), RecvPlan::Fetch);
    }

    #[test]
    fn what_is_located_may_turn_out_to_be_private() {
        let facts = RecvFacts { call_waits: true, ..FACTS };
        let mut world = World { packets: [true, false], ..World::default() };
        assert_eq!(receive_located(&facts, false, &mut world), RecvPlan::Packets);
        assert_eq!(receive_located(&facts, true, &mut world), RecvPlan::Publish);
        assert_eq!(receive_located(&FACTS, false, &mut world), RecvPlan::Publish, "the program may compute");
    }
}
