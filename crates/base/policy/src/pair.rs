//! Which way is worth taking between two processes, by what their device tells of the pair: the lengths at which its ways cost as much,
//! and what it can do.
//!
//! A device knows what things cost. The rules here are pure: they see a [`Pair`], a length, and how long a
//! collective takes by each way.

use tern_settings::Mechanism;

/// Shortest message that looks for a published receive inside a node: for shorter ones publishing does not pay.
pub const DIRECT_FROM: usize = 8 << 10;
/// Shortest message that a receiver which waits fetches alone out of memory that it sees: shorter ones are as soon there in packets.
pub const FETCHED_FROM: usize = 8 << 10;
/// The longest such message: of longer ones two processes copy so much more than one that they have time to ask the kernel where
/// their memory lies.
pub const FETCHED: usize = 64 << 10;
/// The longest where the kernel need not be asked.
pub const FETCHED_SURELY: usize = 32 << 10;
/// The longest messages that the caches of two cores hold with what else they have.
pub const CACHED: usize = 512 << 10;
/// Longest message that goes without asking to a peer that waits: for longer ones the handshake does not count.
const MOST_AHEAD: usize = 512 << 10;
/// Predicted times of a collective are wrong by this factor at most: costs are those of two processes that have a core each, with nothing
/// else in their caches.
const DOUBT: f64 = 4.0;

/// Whether something holds, by what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likely {
    /// It does not.
    No,
    /// It should be tried.
    Perhaps,
    /// It does.
    Yes,
}

/// What is known of this process and a peer, before a message between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// How far apart the two are, for the user.
    pub class: &'static str,
    /// The kernel reads and writes private memory of the one for the other, without help: as was proven by a copy.
    pub kernel: bool,
    /// Both are of one node, and see the same shared memory: places there mean the same to both, and so do the states of published receives.
    pub near: bool,
    /// The two may have to share a core: more ranks than cores.
    pub crowded: bool,
    /// From so many bytes on a published receive costs less than packets: into private memory, into shared memory.
    pub published_from: [usize; 2],
    /// From so many bytes on the kernel's copy by one side costs about as much as packets, between private memories.
    pub kernel_from: usize,
    /// The shortest message that a receiver which waits may fetch alone, out of memory that it sees.
    pub fetched_from: usize,
    /// The longest such message: where the kernel has to be asked where the memory lies, and where it has not.
    pub fetched_to: [usize; 2],
    /// The device copies messages of up to so many bytes by itself: their memory need not be located.
    pub copies_up_to: usize,
    /// Bytes of one message that may be on their way to the peer while it takes none of them.
    pub window: usize,
    /// A receive that found no room to be published may find some when others have ended.
    pub has_room_later: bool,
    /// A thread of this process copies long messages, while its program goes on ([`crate::offload`]).
    pub copies_beside: bool,
    /// The mechanism that the user asks for.
    pub asked: Mechanism,
    /// `kernel_from` is the user's word, where no mechanism is asked for: no other way is tried.
    pub kernel_from_is_asked: bool,
}

impl Default for Pair {
    /// Of two that can do nothing for each other.
    fn default() -> Pair {
        Pair {
            class: "over a network",
            kernel: false,
            near: false,
            crowded: false,
            published_from: [usize::MAX; 2],
            kernel_from: usize::MAX,
            fetched_from: FETCHED_FROM,
            fetched_to: [FETCHED, FETCHED_SURELY],
            copies_up_to: 0,
            window: 0,
            has_room_later: true,
            copies_beside: false,
            asked: Mechanism::Auto,
            kernel_from_is_asked: false,
        }
    }
}

impl Pair {
    /// Blocking receives below this size are not published: eager packets arrive sooner. `shared`: the receive's memory is shared.
    pub fn packets_below(&self, shared: bool) -> usize {
        if !self.near {
            return usize::MAX;
        }
        // Two that share a core had better not have the kernel copy, and for them one copy is better than two.
        match (self.crowded, shared) {
            (true, true) => 0,
            (true, false) => usize::MAX,
            (false, false) if !self.kernel => usize::MAX,
            _ => self.published_from[usize::from(shared)],
        }
    }

    /// Whether a receiver that waits had better fetch a message of `len` bytes alone, if it lies in memory that both reach, than
    /// publish the receive and copy with the sender. `sure`: for that, the kernel need not be asked where its own memory lies.
    pub fn fetches(&self, len: usize, sure: bool) -> bool {
        (self.fetched_from..=self.fetched_to[usize::from(sure)]).contains(&len)
            && self.near
            && !self.crowded
            && len >= self.packets_below(true)
    }

    /// Whether a message of `len` bytes, which goes without asking up to `eager_limit`, is of a length that its receiver would fetch alone, if it
    /// waits for the message and sees its memory.
    pub fn is_fetched(&self, len: usize, eager_limit: usize) -> bool {
        len <= eager_limit && self.fetches(len, false)
    }

    /// Whether a message of `len` bytes out of memory that the peer sees, which it would copy from there, may be there sooner in packets:
    /// both ways should be tried. Not where a mechanism was asked for.
    pub fn suits_both(&self, len: usize) -> bool {
        self.near && len <= CACHED && self.asked == Mechanism::Auto
    }

    /// Whether the receiver of a message of `len` bytes between private memories, which waits for it, had better have the kernel copy
    /// it alone than take it in packets.
    pub fn suits_kernel(&self, len: usize) -> Likely {
        if !self.kernel || !self.near || self.crowded || len < self.kernel_from {
            return Likely::No;
        }
        match self.asked {
            Mechanism::Cma | Mechanism::Module => Likely::Yes,
            Mechanism::Auto if self.kernel_from_is_asked => Likely::Yes,
            _ => Likely::Perhaps,
        }
    }
}

/// The longest message that goes in packets without asking to a peer that waits, of which so many bytes may be on their way while it takes
/// none.
pub fn ahead(window: usize) -> usize {
    window.min(MOST_AHEAD)
}

/// What the members of a collective with a root have to do with a region that the root declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Members but the root.
    pub others: usize,
    /// Bytes that each of them copies.
    pub len: usize,
    /// Each copies bytes of its own; else all read the same ones.
    pub apart: bool,
    /// They write to the region; else they read from it.
    pub writes: bool,
    /// They have the region mapped; else the kernel copies.
    pub shared: bool,
}

/// Nanoseconds until all members of such a collective have done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// In two copies through shared memory.
    pub lines: f64,
    /// By a region of the root's.
    pub region: f64,
    /// The length that decides instead, of private memory.
    pub bound: Option<Bound>,
}

/// A length from which on one copy is made, where costs do not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Bytes.
    pub from: usize,
    /// The user has said so. Else a rule says so, for costs that were not measured.
    pub is_asked: bool,
}

/// Whether a region is sooner than two copies through shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// It is expected to be.
    pub region: bool,
    /// So surely that it holds even if the costs are wrong.
    pub sure: bool,
}

impl Times {
    /// The length that decides for `group` in place of the costs.
    pub(crate) fn bound_of(&self, group: &Group) -> Option<Bound> {
        self.bound.filter(|bound| !group.shared && (bound.is_asked || group.others > 1))
    }

    /// What is better for `group` by these times or by their bound, if that mechanism is asked for. The user's bound holds for all; a rule
    /// only where there is a root with several others.
    pub fn advise(&self, asked: Mechanism, group: &Group) -> Advice {
        match asked {
            Mechanism::Pipe => return Advice { region: false, sure: true },
            Mechanism::Cma | Mechanism::Module if !group.shared => return Advice { region: true, sure: true },
            Mechanism::Mapped if group.shared => return Advice { region: true, sure: true },
            Mechanism::Auto => {}
            _ => return Advice { region: false, sure: true },
        }
        let Times { lines, region, .. } = *self;
        if let Some(Bound { from, is_asked }) = self.bound_of(group) {
            return Advice { region: group.len >= from, sure: is_asked };
        }
        let (less, more) = if region < lines { (region, lines) } else { (lines, region) };
        Advice { region: region < lines, sure: DOUBT * less < more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: Pair = Pair {
        class: "near",
        kernel: true,
        near: true,
        crowded: false,
        published_from: [64 << 10, 16 << 10],
        kernel_from: 32 << 10,
        fetched_from: FETCHED_FROM,
        fetched_to: [FETCHED, FETCHED_SURELY],
        copies_up_to: 0,
        window: 0,
        has_room_later: true,
        copies_beside: false,
        asked: Mechanism::Auto,
        kernel_from_is_asked: false,
    };

    const GROUP: Group = Group { others: 3, len: 1 << 20, apart: false, writes: false, shared: false };

    #[test]
    fn lengths_of_the_pair_decide() {
        let far = Pair { published_from: [256 << 10, 48 << 10], kernel_from: usize::MAX, ..NEAR };
        let below = |pair: Pair, shared| pair.packets_below(shared);
        assert_eq!([below(NEAR, false), below(NEAR, true)], NEAR.published_from);
        assert_eq!([below(far, false), below(far, true)], far.published_from);
        let refused = Pair { kernel: false, ..NEAR };
        assert_eq!(refused.packets_below(false), usize::MAX, "there is no other way");
        assert_eq!(refused.suits_kernel(1 << 20), Likely::No);
        let len = 32 << 10;
        assert_eq!([NEAR.fetches(len, true), far.fetches(len, true)], [true, false]);
        assert_eq!([NEAR.suits_kernel(len), far.suits_kernel(len)], [Likely::Perhaps, Likely::No]);
    }

    #[test]
    fn two_on_one_core_make_one_copy_without_the_kernel() {
        let crowded = Pair { crowded: true, ..NEAR };
        assert_eq!([true, false].map(|shared| crowded.packets_below(shared)), [0, usize::MAX]);
        assert!(!crowded.fetches(32 << 10, false));
        assert_eq!(crowded.suits_kernel(1 << 20), Likely::No);
    }

    #[test]
    fn nothing_is_worth_it_with_a_peer_of_another_node() {
        let nobody = Pair { near: false, ..NEAR };
        assert_eq!(nobody.packets_below(true), usize::MAX);
        assert!(!nobody.fetches(32 << 10, true) && !nobody.suits_both(1 << 10));
        assert_eq!(nobody.suits_kernel(1 << 20), Likely::No);
        assert_eq!(Pair::default().packets_below(true), usize::MAX);
    }

    #[test]
    fn lengths_that_are_fetched_end_where_two_copy_more() {
        assert!(!NEAR.fetches(8 << 10, true), "packets are sooner");
        assert!(NEAR.fetches(FETCHED_SURELY, true) && !NEAR.fetches(FETCHED_SURELY + 1, true));
        assert!(NEAR.fetches(FETCHED, false) && !NEAR.fetches(FETCHED + 1, false));
    }

    #[test]
    fn what_is_asked_for_is_not_tried_beside_another_way() {
        let asked = |asked| Pair { asked, ..NEAR };
        assert!(NEAR.suits_both(CACHED) && !NEAR.suits_both(CACHED + 1));
        assert!(!asked(Mechanism::Cma).suits_both(1 << 10));
        assert_eq!(asked(Mechanism::Cma).suits_kernel(1 << 20), Likely::Yes);
        assert_eq!((ahead(1 << 10), ahead(1 << 30)), (1 << 10, MOST_AHEAD));
    }

    #[test]
    fn the_cheaper_way_is_advised_and_tried_if_it_is_close() {
        let advice = |region| Times { lines: 100.0, region, bound: None }.advise(Mechanism::Auto, &GROUP);
        assert_eq!(advice(10.0), Advice { region: true, sure: true });
        assert_eq!(advice(70.0), Advice { region: true, sure: false });
        assert_eq!(advice(150.0), Advice { region: false, sure: false });
        assert_eq!(advice(500.0), Advice { region: false, sure: true });
    }

    #[test]
    fn what_is_asked_for_is_advised_where_it_can_be() {
        // What is asked for counts more than a length.
        let bound = Some(Bound { from: 1, is_asked: true });
        let times = Times { lines: 1.0, region: 1.0, bound };
        let advice = |asked, shared| times.advise(asked, &Group { shared, ..GROUP }).region;
        assert!(advice(Mechanism::Cma, false) && !advice(Mechanism::Cma, true));
        assert!(advice(Mechanism::Module, false) && !advice(Mechanism::Module, true));
        assert!(advice(Mechanism::Mapped, true) && !advice(Mechanism::Mapped, false));
        assert!(!advice(Mechanism::Pipe, true) && !advice(Mechanism::Pipe, false));
    }

    #[test]
    fn a_length_is_of_private_memory_and_sure_if_asked_for() {
        let bounded = |is_asked| Times { lines: 1.0, region: 1e9, bound: Some(Bound { from: 64 << 10, is_asked }) };
        let advice = |is_asked, group: Group| bounded(is_asked).advise(Mechanism::Auto, &group);
        let group = Group { len: 64 << 10, ..GROUP };
        assert_eq!(advice(true, group), Advice { region: true, sure: true });
        assert_eq!(advice(true, Group { others: 1, ..group }), Advice { region: true, sure: true });
        assert_eq!(advice(true, Group { len: 60 << 10, ..group }), Advice { region: false, sure: true });
        assert_eq!(advice(false, group), Advice { region: true, sure: false });
        for by_costs in [Group { shared: true, ..group }, Group { others: 1, ..group }] {
            assert_eq!(advice(false, by_costs), Advice { region: false, sure: true });
        }
    }

    #[test]
    fn a_length_of_the_users_leaves_no_doubt_about_the_kernel() {
        let asked = Pair { kernel_from_is_asked: true, ..NEAR };
        assert_eq!(asked.suits_kernel(32 << 10), Likely::Yes);
        assert_eq!(asked.suits_kernel((32 << 10) - 1), Likely::No);
        let other = Pair { asked: Mechanism::Pipe, ..asked };
        assert_eq!(other.suits_kernel(32 << 10), Likely::Perhaps);
    }
}
