//! The table of rules: every decision that is learned from the program's own messages, or that departs from a plain default.
//!
//! Each rule has a name, by which TERN_POLICY switches it off, a counter of the decisions that differed from the default, a line
//! in TERN_EXPLAIN and an entry in `docs/policy.md`. To add one: a name in `PolicyRule` (`crates/base/settings/src/table.rs`), a counter
//! (`crates/base/counters/src/table.rs`), a line here, an entry on the page. The compiler and the tests of this crate tell what is missing.

use alloc::string::String;
use core::fmt::Write;
use tern_counters::{self as counters, Counter};
use tern_settings::{POLICY, PolicyRule};

/// One rule.
pub struct Rule {
    /// Its switch.
    pub switch: PolicyRule,
    /// Its name in TERN_POLICY, on the page, and with `policy_` in front among the counters.
    pub name: &'static str,
    /// What it does, and why.
    pub what: &'static str,
    /// The paper that it comes from; empty if it comes from none.
    pub source: &'static str,
    /// Where it acts: crate and module.
    pub place: &'static str,
    counter: &'static Counter,
}

impl Rule {
    /// True unless the rule is switched off.
    #[inline]
    pub fn is_on(&self) -> bool {
        !POLICY.get().has(self.switch)
    }

    /// To be asked when the rule would decide otherwise than the plain default: true unless it is switched off. Counts the decision.
    #[inline]
    pub fn applies(&self) -> bool {
        let on = self.is_on();
        if on {
            self.count_one();
        }
        on
    }

    /// Whether the rule decides otherwise than the plain default, by `decide`, which is not asked where the rule is switched off. Counts
    /// that.
    #[inline]
    pub fn departs(&self, decide: impl FnOnce() -> bool) -> bool {
        let departs = self.is_on() && decide();
        if departs {
            self.count_one();
        }
        departs
    }

    /// Counts a decision of a rule that is on.
    #[inline]
    pub fn count_one(&self) {
        self.counter.add(1);
    }

    /// How often the rule has decided otherwise than the default.
    pub fn count(&self) -> u64 {
        self.counter.get()
    }
}

/// `NAME = Switch, "name", COUNTER, "where" [, from "source"]: "what and why";`
macro_rules! rules {
    ($($name:ident = $switch:ident, $text:literal, $counter:ident, $place:literal $(, from $source:literal)?: $what:literal;)+) => {
        $(
            #[doc = $what]
            pub static $name: Rule = Rule {
                switch: PolicyRule::$switch,
                name: $text,
                what: $what,
                source: concat!($($source)?),
                place: $place,
                counter: &counters::$counter,
            };
        )+

        /// Every rule, in the order of the page.
        pub static ALL: &[&Rule] = &[$(&$name),+];
    };
}

rules! {
    HABITS = Habits, "habits", POLICY_HABITS, "policy: habit, order; adi: sends and receives":
        "What the program did between its last receives and its wait for them says whether the next ones are published, and looked for at once.";
    COPIES = Copies, "copies", POLICY_COPIES, "policy: copies, transfer::chooser; adi: sends":
        "Where one copy and packets cost about as much, both are tried on the program's own messages; of two processes that exchange, one tries.";
    SEGMENTS = Segments, "segments", POLICY_SEGMENTS, "policy: segments, rendezvous; adi: sends; rendezvous",
        from "KNEM: a Generic and Scalable Kernel-Assisted Intra-node MPI Communication Framework (2013)":
        "A long message of an irregular datatype with long blocks is a region of segments, which its receiver copies out of, where that has proved quicker.";
    EXPECT_READY = ExpectReady, "expect-ready", POLICY_EXPECT_READY, "policy: peer_looks, ready_predictor; adi: sends; shm: direct":
        "A sender expects of a receiver what that did the last times: it looks a while for one about to be ready, and not at all for one that always is.";
    LEND = Lend, "lend", POLICY_LEND, "policy: learned, lending; adi: sends",
        from "Improving RDMA-based MPI Eager Protocol for Frequently-used Buffers (2009)":
        "A call that waits until its buffer is free lends it to the network where that has proved quicker than a copy.";
    STORES = Stores, "stores", POLICY_STORES, "policy: stores; adi: packets; shm: direct copies; rma: accesses to mapped memory":
        "A long copy is made by streaming stores where these have proved quicker: the memory is in no cache and not used soon.";
    DEMOTE = Demote, "demote", POLICY_DEMOTE, "policy: demotion; shm: rings":
        "The cache lines of a packet are passed on to the cache that its receiver shares (CLDEMOTE) where that has proved quicker.";
    READ_IN_PLACE = ReadInPlace, "read-in-place", POLICY_READ_IN_PLACE, "policy: collective::read_in_place; coll: control lines":
        "Members of a collective read each other's memory where it lies, unless some was not shared lately, or lines or messages have proved quicker.";
    SPREAD = Spread, "spread", POLICY_SPREAD, "policy: core_balance; shm: core_balance":
        "Where there are more ranks than cores, a process that passes its core on looks now and then whether another core has fewer of them, and goes there.";
    STRANGERS = Strangers, "strangers", POLICY_STRANGERS, "policy: core_contention; mcm: waiting":
        "A process whose yields take longer than it has used its core for sleeps instead, since others than ranks use the core.";
    GIVE_WAY = GiveWay, "give-way", POLICY_GIVE_WAY, "policy: vain_looks; mcm: waiting":
        "Where there are more ranks than cores, a program that calls MPI_Test or MPI_Iprobe in a loop passes its core on after 16 looks in vain.";
    ASK_OWNER = AskOwner, "ask-owner", POLICY_ASK_OWNER, "policy: responsiveness; rma: owner":
        "A short access to private memory of another process asks that process to make it, unless it did not answer the last time.";
    GUARD_MODE = GuardMode, "guard-mode", POLICY_GUARD_MODE, "policy: guard_mode; rma: guard":
        "Rows of elements are combined under a guard, by kernels, once combining them by atomic instructions has cost as much as the change.";
    PROMOTE = Promote, "promote", POLICY_PROMOTE, "policy: promote; region: promotion",
        from "Improving RDMA-based MPI Eager Protocol for Frequently-used Buffers (2009)":
        "Private memory that is used often enough is made shared memory in place (TERN_PROMOTE has further forms).";
    DECLARE = Declare, "declare", POLICY_DECLARE, "policy: declaration; shm: declared",
        from "KNEM: a Generic and Scalable Kernel-Assisted Intra-node MPI Communication Framework (2013)":
        "Private memory that is used often enough is declared to the kernel module, where that is there, which then copies it in place of CMA.";
    FREQUENT = Frequent, "frequent", POLICY_FREQUENT, "policy: frequent; verbs: frequent",
        from "Improving RDMA-based MPI Eager Protocol for Frequently-used Buffers (2009)":
        "A buffer that is often sent from is registered with the network card, which then takes messages from there (TERN_FREQUENT).";
    RINGS = Rings, "rings", POLICY_RINGS, "policy: ring_demand; verbs: rings":
        "A process that sends many short packets is offered a ring in the memory of their receiver (TERN_RINGS).";
    TURN_COLUMNS = TurnColumns, "turn-columns", POLICY_TURN_COLUMNS, "policy: turn_columns; layout: kernels":
        "Columns of a matrix are copied from either end by turns, so that a copy begins with what the last one has left in the caches.";
}

/// The lines of TERN_EXPLAIN: each rule with its state.
pub fn explain() -> String {
    let mut text = String::from("Rules of the policy; TERN_POLICY=-name switches one off:\n");
    for rule in ALL {
        let state = if rule.is_on() { "on" } else { "off" };
        let _ = writeln!(text, "{:<16} {state:<4} {}", rule.name, rule.what);
    }
    text
}
