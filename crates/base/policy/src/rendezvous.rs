//! How the bytes of a message move that waits at its sender, once a receive has matched it.
//!
//! The receiver has the request to send, and tries the plans of [`rendezvous`] in their order: a device may find that one of them is not possible, or
//! not worth it. The last one always is.

use crate::facts::Source;
use crate::maker::{Maker, Why};
use crate::pair::{Likely, Pair};
use crate::rules;
use crate::transfer::ChosenBy;

/// Who moves the bytes, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RndvPlan {
    /// There are none to move.
    Empty,
    /// The receiver has the kernel copy them, alone (CMA).
    Kernel,
    /// The receiver gets them from where they lie: a copy, or a read by its network card (RGET). A device may let the sender copy too.
    Get,
    /// The sender puts them where the receiver says that they belong (RPUT).
    Put,
    /// The receiver copies them from segment to segment: out of a region, or out of memory that it sees.
    Segments,
    /// Both copy: the sender into packets, the receiver out of them.
    Packets,
}

impl RndvPlan {
    /// For the user: the way.
    pub fn text(self) -> &'static str {
        match self {
            RndvPlan::Empty => "nothing to move",
            RndvPlan::Kernel => "the kernel copies for the receiver",
            RndvPlan::Get => "the receiver gets it",
            RndvPlan::Put => "the sender puts it",
            RndvPlan::Segments => "the receiver copies segments",
            RndvPlan::Packets => "packets",
        }
    }

    /// For the user: why it is the way of a message of which this is known, from a peer of that pair. `by`: who has chosen how the receiver gets it, or that
    /// packets are better than that. `mechanism`: by which the device has moved it.
    pub fn why(self, facts: &RndvFacts, pair: &Pair, by: ChosenBy, mechanism: &'static str) -> Why {
        match self {
            RndvPlan::Empty => Why::new("the receive has room for nothing", Maker::Default),
            RndvPlan::Kernel if pair.suits_kernel(facts.bytes) == Likely::Yes => {
                Why::new("its sender asked for that", Maker::Setting("TERN_MECHANISM or TERN_SINGLE_COPY_FROM"))
            }
            RndvPlan::Kernel => Why::new("its sender asked for that", Maker::Rule(&rules::COPIES)),
            RndvPlan::Get if facts.source == Source::Registered => {
                Why::new("the network card reaches the memory of the sender", Maker::Default)
            }
            RndvPlan::Get => by.why("it reaches the memory of the sender", mechanism),
            RndvPlan::Put => Why::new("the network does not let the receiver get it", Maker::Default),
            RndvPlan::Segments => Why::new("their blocks are long and few", Maker::Rule(&rules::SEGMENTS)),
            RndvPlan::Packets if facts.source == Source::Opaque => {
                Why::new("its sender told no place that one copy reaches", Maker::Default)
            }
            RndvPlan::Packets => by.why("one copy was not possible, or is no sooner", "packets"),
        }
    }

    /// In the order in which they are tried.
    const TRIED: [RndvPlan; 5] =
        [RndvPlan::Kernel, RndvPlan::Get, RndvPlan::Put, RndvPlan::Segments, RndvPlan::Packets];
}

/// What is known of a message that waits at its sender.
#[derive(Clone, Copy, Debug)]
pub struct RndvFacts {
    /// Bytes that the receive has room for.
    pub bytes: usize,
    /// Where they lie.
    pub source: Source,
    /// Where they belong, before anybody has asked whether it is shared or registered.
    pub target: Source,
    /// They lie in few and long blocks, as far as that is known, and belong into such ([`is_coarse`](crate::is_coarse)).
    pub coarse: bool,
    /// The sender wants the kernel to copy.
    pub kernel: bool,
    /// By a network, the receiver may get the bytes.
    pub network_gets: bool,
    /// By a network, the receiver may have the sender put the bytes.
    pub network_puts: bool,
    /// There is a device for single copies.
    pub single_copy: bool,
}

impl RndvFacts {
    fn allows(&self, plan: RndvPlan) -> bool {
        let segments = self.source == Source::Segments;
        let reaches = self.single_copy && self.source != Source::Opaque;
        let registered = self.source == Source::Registered;
        match plan {
            RndvPlan::Empty => self.bytes == 0,
            RndvPlan::Packets => self.bytes > 0,
            _ if self.bytes == 0 || !reaches => false,
            RndvPlan::Segments => self.coarse && (segments || self.is_seen_by_irregular_receive()),
            _ if segments => false,
            RndvPlan::Kernel => self.kernel && matches!(self.target, Source::Private { dense: true }),
            RndvPlan::Get => self.target != Source::Opaque && (self.network_gets || !registered),
            RndvPlan::Put => registered && self.network_puts,
        }
    }

    /// What the receiver sees belongs into blocks that only it can make sense of. (Of private memory the kernel would copy more slowly than packets.)
    fn is_seen_by_irregular_receive(&self) -> bool {
        let seen = matches!(self.source, Source::Shared { .. });
        seen && self.target == Source::Opaque && rules::SEGMENTS.applies()
    }
}

/// The plans that are possible as far as is known, the best one first.
pub fn rendezvous(facts: RndvFacts) -> impl Iterator<Item = RndvPlan> {
    let empty = facts.allows(RndvPlan::Empty).then_some(RndvPlan::Empty);
    empty.into_iter().chain(RndvPlan::TRIED.into_iter().filter(move |&plan| facts.allows(plan)))
}

/// Whether a receiver that [gets](RndvPlan::Get) a message finds out first where its own memory lies, so that its sender may copy too. `shared`: it
/// sees the memory of the sender. `exchanges`: both are in a call in which each copies its own. `fetched`: see [`Pair::is_fetched`].
pub fn locates_target(shared: bool, exchanges: bool, fetched: bool) -> bool {
    !shared || !(exchanges || fetched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use RndvPlan::*;

    const FACTS: RndvFacts = RndvFacts {
        bytes: 100_000,
        source: Source::Private { dense: true },
        target: Source::Private { dense: true },
        coarse: true,
        kernel: false,
        network_gets: true,
        network_puts: true,
        single_copy: true,
    };

    fn plans(facts: RndvFacts) -> Vec<RndvPlan> {
        rendezvous(facts).collect()
    }

    #[test]
    fn packets_are_always_possible() {
        for bytes in [1, 100_000] {
            for source in [Source::Opaque, Source::Registered, Source::Segments, FACTS.source] {
                for target in [Source::Opaque, FACTS.target] {
                    for single_copy in [false, true] {
                        let plans = plans(RndvFacts { bytes, source, target, single_copy, ..FACTS });
                        assert_eq!(plans.last(), Some(&Packets));
                        assert!(single_copy || plans.len() == 1);
                    }
                }
            }
        }
        assert_eq!(plans(RndvFacts { bytes: 0, kernel: true, ..FACTS }), [Empty], "nothing is to be moved");
    }

    #[test]
    fn inside_a_node_the_receiver_copies() {
        assert_eq!(plans(FACTS), [Get, Packets]);
        assert_eq!(plans(RndvFacts { kernel: true, ..FACTS }), [Kernel, Get, Packets]);
        let column = Source::Private { dense: false };
        assert_eq!(plans(RndvFacts { kernel: true, target: column, ..FACTS }), [Get, Packets], "in one piece");
        assert_eq!(plans(RndvFacts { source: Source::Opaque, kernel: true, ..FACTS }), [Packets]);
        let forced = RndvFacts { network_gets: false, network_puts: false, ..FACTS };
        assert_eq!(plans(forced), [Get, Packets], "TERN_RENDEZVOUS is for networks");
    }

    #[test]
    fn out_of_a_region_the_receiver_copies_into_long_blocks() {
        for target in [Source::Opaque, FACTS.target, Source::Private { dense: false }] {
            let region = RndvFacts { source: Source::Segments, kernel: true, target, ..FACTS };
            assert_eq!(plans(region), [Segments, Packets]);
            assert_eq!(plans(RndvFacts { coarse: false, ..region }), [Packets]);
        }
    }

    #[test]
    fn what_the_receiver_sees_it_copies_into_irregular_blocks() {
        for dense in [true, false] {
            let seen = RndvFacts { source: Source::Shared { dense, sure: true }, target: Source::Opaque, ..FACTS };
            assert_eq!(plans(seen), [Segments, Packets]);
            assert_eq!(plans(RndvFacts { coarse: false, ..seen }), [Packets]);
            assert_eq!(plans(RndvFacts { source: Source::Private { dense }, ..seen }), [Packets]);
            assert_eq!(plans(RndvFacts { target: FACTS.target, ..seen }), [Get, Packets]);
        }
    }

    #[test]
    fn who_copies_alone_need_not_know_where_its_memory_lies() {
        for (exchanges, fetched) in [(true, false), (false, true), (true, true)] {
            assert!(!locates_target(true, exchanges, fetched));
            assert!(
                locates_target(false, exchanges, fetched),
                "the kernel is told the place, or its memory becomes shared"
            );
        }
        assert!(locates_target(true, false, false), "both may copy");
    }

    #[test]
    fn between_nodes_the_receiver_gets_or_the_sender_puts() {
        let far = RndvFacts { source: Source::Registered, ..FACTS };
        assert_eq!(plans(far), [Get, Put, Packets]);
        assert_eq!(plans(RndvFacts { network_gets: false, ..far }), [Put, Packets]);
        assert_eq!(plans(RndvFacts { network_puts: false, ..far }), [Get, Packets]);
        assert_eq!(plans(RndvFacts { network_gets: false, network_puts: false, ..far }), [Packets]);
    }
}
