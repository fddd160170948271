//! What every device must do, as tests that a device's own test program runs:
//!
//! ```text
//! fn group(processes: u32) -> Box<dyn Group> {
//!     Box::new(Endpoints::new(processes, |me| Endpoint::open(me, processes)))
//! }
//! tern_device::conformance_tests!(packets of group);
//! tern_device::conformance_tests!(direct of group);
//! ```
//!
//! Each device has the tests of packets, and those of what else it can do: lines, direct, remote. `direct` stands for the groups of the
//! traits that it is made of: pair_facts, tuple_queue, single_copy, shared_memory. A device that lacks what it is tested for fails.
//!
//! All processes of a group live in one process here, mostly in one thread: that makes each
//! step a deliberate one. A failed check panics and says what was expected.

#![allow(missing_docs, reason = "the name of a test says what it is for")]

mod direct;
mod flow;
mod lent;
mod lines;
mod packets;
mod pattern;
mod placed;
mod remote;
mod sequence;
mod sleep;

pub use direct::*;
pub use flow::*;
pub use lent::*;
pub use lines::*;
pub use packets::*;
pub use placed::*;
pub use remote::*;
pub use sequence::{Action, follow};
pub use sleep::*;

use crate::{Channel, Endpoint, Header, Payload, Sink};
use pattern::{bytes, check};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Processes that can reach each other, before they have joined.
pub trait Group: Sync {
    /// The device of process `me`. Called once for each.
    fn join(&self, me: u32) -> Box<dyn Channel>;
}

/// Processes by their endpoints, which have told each other their addresses: the group of a device that has an [`Endpoint`].
pub struct Endpoints<E> {
    waiting: Mutex<Vec<Option<E>>>,
    addresses: Vec<Vec<u8>>,
}

impl<E: Endpoint> Endpoints<E> {
    /// So many processes; `open` gives the endpoint of each.
    pub fn new<X: Debug>(processes: u32, open: impl Fn(u32) -> Result<E, X>) -> Endpoints<E> {
        let endpoints: Vec<E> = (0..processes).map(|me| open(me).expect("an endpoint")).collect();
        let addresses = endpoints.iter().map(Endpoint::address).collect();
        Endpoints { waiting: Mutex::new(endpoints.into_iter().map(Some).collect()), addresses }
    }
}

impl<E: Endpoint + Send> Group for Endpoints<E> {
    fn join(&self, me: u32) -> Box<dyn Channel> {
        let endpoint = self.waiting.lock().expect("no thread has failed")[me as usize].take().expect("each joins once");
        let addresses: Vec<&[u8]> = self.addresses.iter().map(|address| &address[..]).collect();
        Box::new(endpoint).join(&addresses).expect("a device")
    }
}

/// Makes a group of so many processes, with memory of its own.
pub type Factory = fn(u32) -> Box<dyn Group>;

/// Declares one test for each check.
#[macro_export]
macro_rules! conformance_tests {
    ($factory:expr; $($check:ident),* $(,)?) => {
        $(#[test]
        fn $check() {
            $crate::conformance::$check($factory);
        })*
    };
    (packets of $factory:expr) => {
        $crate::conformance_tests!($factory;
            it_reaches_the_peers_that_there_are,
            nothing_has_arrived_at_first,
            packets_of_every_size_arrive_whole,
            packets_of_a_pair_stay_in_order,
            headers_are_not_touched,
            gathered_payloads_arrive_as_bytes_do,
            long_payloads_go_in_parts,
            everybody_sends_to_everybody,
            a_peer_may_begin_late,
            a_sink_may_send,
            a_full_peer_says_so_and_recovers,
            a_full_peer_does_not_stop_others,
            long_payloads_fill_and_drain,
            threads_at_both_ends,
            lent_payloads_arrive_in_order,
            long_payloads_find_their_place,
            a_packet_wakes_a_sleeper,
            room_wakes_a_sleeper,
            a_ring_before_sleeping_counts,
            a_process_wakes_its_own_threads,
            work_before_sleeping_is_seen,
        );
    };
    (lines of $factory:expr) => {
        $crate::conformance_tests!($factory;
            it_has_lines,
            lines_begin_empty,
            lines_show_what_their_owner_publishes,
            lines_run_ahead,
            lines_are_apart,
            lines_between_threads,
        );
    };
    (direct of $factory:expr) => {
        $crate::conformance_tests!(pair_facts of $factory);
        $crate::conformance_tests!(tuple_queue of $factory);
        $crate::conformance_tests!(single_copy of $factory);
        $crate::conformance_tests!(shared_memory of $factory);
    };
    (pair_facts of $factory:expr) => {
        $crate::conformance_tests!($factory;
            it_has_direct,
            lengths_of_a_pair_are_told,
        );
    };
    (tuple_queue of $factory:expr) => {
        $crate::conformance_tests!($factory;
            published_receives_are_filled,
            receives_are_filled_again,
            long_messages_fill_short_receives,
            strided_memory_is_filled_where_it_lies,
            the_rules_of_publication_hold,
            opaque_memory_goes_in_packets,
            receives_are_asked_back,
            what_was_found_may_be_gone,
        );
    };
    (single_copy of $factory:expr) => {
        $crate::conformance_tests!($factory;
            a_late_receiver_fetches,
            private_memory_is_fetched,
        );
    };
    (shared_memory of $factory:expr) => {
        $crate::conformance_tests!($factory;
            mapped_memory_is_the_same_for_both,
            private_memory_is_copied_without_help,
        );
    };
    (remote of $factory:expr) => {
        $crate::conformance_tests!($factory;
            it_has_remote,
            memory_is_reached_without_its_owner,
            words_are_changed_in_one_step,
        );
    };
}

/// Fails for a device that has no control lines.
pub fn it_has_lines(factory: Factory) {
    let device = factory(2).join(0);
    assert!(device.abilities().lines && device.control_slots(0, 0).is_some());
}

/// Fails for a device without tuple queues and single copies.
pub fn it_has_direct(factory: Factory) {
    assert!(factory(2).join(0).direct().is_some());
}

/// Fails for a device that reaches no memory of peers.
pub fn it_has_remote(factory: Factory) {
    assert!(factory(2).join(0).remote().is_some());
}

/// Everybody of a group of `processes`.
fn everybody(factory: Factory, processes: u32) -> Vec<Box<dyn Channel>> {
    let group = factory(processes);
    (0..processes).map(|me| group.join(me)).collect()
}

/// A packet as it came: sender, header, payload.
type Packet = (u32, Header, Vec<u8>);

/// Keeps what comes.
#[derive(Default)]
struct Inbox(VecDeque<Packet>);

impl Sink for Inbox {
    fn packet(&mut self, from: u32, header: &Header, payload: &[u8]) {
        self.0.push_back((from, *header, payload.to_vec()));
    }
}

/// Polls until a packet comes.
fn receive(device: &dyn Channel, inbox: &mut Inbox) -> Packet {
    for _ in patience() {
        if let Some(packet) = inbox.0.pop_front() {
            return packet;
        }
        if device.poll(inbox) == 0 {
            std::thread::yield_now();
        }
    }
    panic!("a packet was sent and never came");
}

/// Waits until the device takes a packet, with nothing under way. Shared memory does at once; over a network the word that
/// there is room takes a while.
fn send(device: &dyn Channel, to: u32, header: &Header, payload: &[u8]) -> usize {
    taken_at_last(device, || device.copy_and_send(to, header, Payload::Bytes(payload)))
}

/// The same for any way to send: `send` gives the bytes that were taken, or `None` while there is no room.
fn taken_at_last(device: &dyn Channel, mut send: impl FnMut() -> Option<usize>) -> usize {
    for _ in patience() {
        if let Some(taken) = send() {
            return taken;
        }
        assert!(!device.abilities().lines, "shared memory has room as soon as it is made");
        std::thread::yield_now();
    }
    panic!("refused with nothing under way");
}

/// Far more polls than any device needs to bring a packet.
const MANY_POLLS: u32 = 100_000_000;

/// Goes on for far longer than any device needs to bring a packet, on a machine that is busy with something else too.
fn patience() -> impl Iterator<Item = ()> {
    let end = Instant::now() + Duration::from_secs(60);
    std::iter::from_fn(move || (Instant::now() < end).then_some(()))
}
