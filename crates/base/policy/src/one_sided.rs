//! How accesses to the memory of a window go (MPI 5.0, chapter 12). The crate `rma` states the facts, and does what is decided.

use crate::maker::{Maker, Why};
use crate::rules;
use tern_settings::Mechanism;

/// How a process reaches memory of a member of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// It is its own, or mapped: by loads and stores.
    Mapped,
    /// By the kernel.
    Kernel,
    /// By the network card.
    Card,
    /// By messages, with the member's help.
    Messages,
}

/// How an access was made, for the user.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// How its memory is reached.
    pub way: Means,
    /// Elements of the origin were combined with those of the target.
    pub combines: bool,
    /// The owner of the memory has made it.
    pub by_owner: bool,
    /// The rule `guard-mode` has chosen a kernel under the guard, not atomic instructions.
    pub guarded: bool,
}

impl Access {
    /// The way.
    pub fn text(&self) -> &'static str {
        match self.way {
            Means::Mapped if self.guarded => "combined where it is mapped, by a kernel under the guard",
            Means::Mapped if self.combines => "combined where it is mapped",
            Means::Mapped => "loads and stores",
            Means::Kernel if self.by_owner => "the owner of the memory makes it",
            Means::Kernel => "the kernel copies",
            Means::Card => "the network card",
            Means::Messages => "messages to the owner of the memory",
        }
    }

    /// Why that is the way. `mechanism`: by which the device copies private memory.
    pub fn why(&self, mechanism: &'static str) -> Why {
        match self.way {
            Means::Mapped if self.guarded => Why::new("rows are quicker so", Maker::Rule(&rules::GUARD_MODE)),
            Means::Mapped => Why::new("the memory is mapped here", Maker::Nearest("mapped")),
            Means::Kernel if self.by_owner => {
                Why::new("it is short, and its owner waits", Maker::Rule(&rules::ASK_OWNER))
            }
            Means::Kernel => Why::new("the memory is private", Maker::Nearest(mechanism)),
            Means::Card => Why::new("the card reaches the memory", Maker::Nearest("network card")),
            Means::Messages => Why::new("nothing else reaches the memory", Maker::Nearest("messages")),
        }
    }
}

/// How much of a member's memory others can map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mappable {
    /// No byte of it.
    Nothing,
    /// Some bytes; the others are reached by the kernel or by messages.
    Part,
    /// All bytes.
    All,
}

/// What is known of a member when the window is made.
#[derive(Clone, Copy, Debug)]
pub struct MemberFacts {
    /// Loads and stores reach all of its memory already: it is this process's own, it lies in the memory that all have mapped, or it
    /// is empty.
    pub near: bool,
    /// A network card serves the window.
    pub card: bool,
    /// How much of its memory can be mapped here.
    pub mappable: Mappable,
}

/// How the memory of a member is reached. `map` maps what can be mapped of it, and says whether that went well. `copies` says whether
/// the kernel copies between this process and the member. Each of them takes time, and is called where it matters only.
pub fn way_to(facts: MemberFacts, map: impl FnOnce() -> bool, copies: impl FnOnce() -> bool) -> Means {
    match facts.mappable {
        _ if facts.near => Means::Mapped,
        _ if facts.card => Means::Card,
        // The kernel reaches the rest, and all of it where nothing could be mapped.
        Mappable::Part => {
            map();
            Means::Kernel
        }
        Mappable::All if map() => Means::Mapped,
        // Its owner has not exposed it to the kernel.
        Mappable::All => Means::Messages,
        Mappable::Nothing if copies() => Means::Kernel,
        Mappable::Nothing => Means::Messages,
    }
}

/// Whether the owner of private memory makes an access quicker than the kernel, if it waits: few bytes, which fit the `room` of a
/// request, or many that need not come back.
#[inline]
pub fn suits_owner(bytes: usize, room: usize, comes_back: bool) -> bool {
    bytes <= room || !comes_back
}

/// The longest put into private memory that is gathered with others, in bytes: a system call takes as long as copying a few KiB.
pub const LONGEST_GATHERED: usize = 1024;
/// Gathered puts that go to the kernel at once: it takes lists of at most 1024.
pub const MOST_GATHERED: usize = 256;

/// Whether members of a window may map each other's memory. `apart`: not all of them are on one node. `shared`: the program asks for memory that all share.
pub fn may_map(asked: Mechanism, apart: bool, shared: bool) -> bool {
    !apart && (shared || matches!(asked, Mechanism::Auto | Mechanism::Mapped))
}

/// Whether the kernel may copy between members of a window.
pub fn may_ask_kernel(asked: Mechanism, apart: bool) -> bool {
    !apart && matches!(asked, Mechanism::Auto | Mechanism::Cma | Mechanism::Module)
}

/// Whether owners of private memory may be asked to make accesses, where the kernel may copy.
pub fn may_ask_owners(asked: Mechanism, kernel: bool) -> bool {
    asked == Mechanism::Auto && kernel
}

/// Fewer runs than these are not worth a copy.
const FEWEST: usize = 64;
/// So many runs at least must go together, on average.
const TOGETHER: usize = 4;

/// Whether so many runs of a target may be worth a copy of the data in the order of addresses.
pub fn may_sort(runs: usize) -> bool {
    runs >= FEWEST
}

/// Whether they are: in that order they are `groups` of neighbours, each of which is one request to the network.
pub fn sorts(runs: usize, groups: usize) -> bool {
    may_sort(runs) && groups * TOGETHER <= runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_told_how_an_access_was_made() {
        let plain = Access { way: Means::Mapped, combines: false, by_owner: false, guarded: false };
        let told = |access: Access| format!("{}, since {}", access.text(), access.why("cma"));
        assert_eq!(told(plain), "loads and stores, since the memory is mapped here (nearest way: mapped)");
        let private = Access { way: Means::Kernel, ..plain };
        assert_eq!(told(private), "the kernel copies, since the memory is private (nearest way: cma)");
        assert!(told(Access { by_owner: true, ..private }).ends_with("(rule ask-owner)"));
        assert!(told(Access { guarded: true, combines: true, ..plain }).ends_with("(rule guard-mode)"));
    }

    #[test]
    fn the_nearest_way_to_a_member_is_taken() {
        let facts = |near, card, mappable| MemberFacts { near, card, mappable };
        let never = || -> bool { unreachable!("it does not matter") };
        assert_eq!(way_to(facts(true, true, Mappable::All), never, never), Means::Mapped);
        assert_eq!(way_to(facts(false, true, Mappable::All), never, never), Means::Card);
        assert_eq!(way_to(facts(false, false, Mappable::Nothing), never, || true), Means::Kernel);
        assert_eq!(way_to(facts(false, false, Mappable::Nothing), never, || false), Means::Messages);
        for (mappable, mapped, wanted) in [
            (Mappable::All, true, Means::Mapped),
            (Mappable::All, false, Means::Messages),
            (Mappable::Part, true, Means::Kernel),
            (Mappable::Part, false, Means::Kernel),
        ] {
            assert_eq!(way_to(facts(false, false, mappable), || mapped, never), wanted, "{mappable:?}, {mapped}");
        }
    }

    #[test]
    fn what_a_window_may_use_is_what_the_user_asks_for() {
        let all = [Mechanism::Auto, Mechanism::Mapped, Mechanism::Cma, Mechanism::Module, Mechanism::Pipe];
        let of = |may: fn(Mechanism) -> bool| all.map(may);
        assert_eq!(of(|asked| may_map(asked, false, false)), [true, true, false, false, false]);
        assert_eq!(of(|asked| may_map(asked, false, true)), [true; 5], "the program asks for shared memory");
        assert_eq!(of(|asked| may_map(asked, true, true)), [false; 5]);
        assert_eq!(of(|asked| may_ask_kernel(asked, false)), [true, false, true, true, false]);
        assert_eq!(of(|asked| may_ask_kernel(asked, true)), [false; 5]);
        assert_eq!(of(|asked| may_ask_owners(asked, true)), [true, false, false, false, false]);
    }

    #[test]
    fn an_owner_is_asked_for_what_fits_or_need_not_come_back() {
        assert!(suits_owner(224, 224, true) && !suits_owner(225, 224, true) && suits_owner(1 << 20, 224, false));
    }

    #[test]
    fn runs_are_sorted_where_many_go_together() {
        assert!(sorts(64, 16) && !sorts(64, 17) && !sorts(63, 1));
    }
}
