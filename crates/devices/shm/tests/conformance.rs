//! The shared-memory device against the contract of all devices.

use proptest::prelude::*;
use rustix::fd::{AsFd, OwnedFd};
use tern_device::conformance::{Action, Group, follow};
use tern_device::{Channel, Header, Key, Payload, PeerState, Sink};
use tern_shm::Shm;

/// Processes over one memfd. They live in one process here, with a mapping each.
struct Segment {
    memory: OwnedFd,
    processes: u32,
    ring_data: Option<usize>,
}

impl Segment {
    fn new(processes: u32, ring_data: Option<usize>) -> Segment {
        let memory = rustix::fs::memfd_create("tern-test", rustix::fs::MemfdFlags::CLOEXEC);
        Segment { memory: memory.expect("a memfd"), processes, ring_data }
    }
}

impl Group for Segment {
    fn join(&self, me: u32) -> Box<dyn Channel> {
        let device = Shm::new(self.memory.as_fd(), me, self.processes, 2, self.ring_data);
        Box::new(device.expect("shared memory"))
    }
}

fn usual(processes: u32) -> Box<dyn Group> {
    Box::new(Segment::new(processes, None))
}

/// As little data area as there can be: it wraps with every few packets.
fn narrow(processes: u32) -> Box<dyn Group> {
    Box::new(Segment::new(processes, Some(1)))
}

mod with_usual_rings {
    tern_device::conformance_tests!(packets of super::usual);
    tern_device::conformance_tests!(lines of super::usual);
    tern_device::conformance_tests!(direct of super::usual);
}

mod with_narrow_rings {
    tern_device::conformance_tests!(packets of super::narrow);
    tern_device::conformance_tests!(lines of super::narrow);
    tern_device::conformance_tests!(direct of super::narrow);
}

fn action() -> impl Strategy<Value = Action> {
    let size = prop_oneof![0..200usize, 0..3000usize, 0..100_000usize];
    prop_oneof![
        3 => (0..3u32, 0..3u32, size).prop_map(|(from, to, size)| Action::Send { from, to, size }),
        1 => (0..3u32).prop_map(|who| Action::Poll { who }),
        1 => (0..3u32, 0..3u32, any::<bool>())
            .prop_map(|(who, from, used)| Action::Take { who, from, used }),
    ]
}

proptest! {
    #[test]
    fn any_sequence_keeps_order(actions in prop::collection::vec(action(), 1..300)) {
        follow(narrow, 3, &actions);
    }

    #[test]
    fn any_sequence_keeps_order_in_usual_rings(actions in prop::collection::vec(action(), 1..300)) {
        follow(usual, 3, &actions);
    }
}

#[derive(Default)]
struct Inbox(Vec<(u32, Vec<u8>)>);

impl Sink for Inbox {
    fn packet(&mut self, from: u32, _: &Header, payload: &[u8]) {
        self.0.push((from, payload.to_vec()));
    }
}

/// Shared memory needs no set-up, so a process may be sent to before it has started.
#[test]
fn a_packet_waits_for_a_process_that_starts_late() {
    let group = Segment::new(2, None);
    let early = group.join(0);
    early.copy_and_send(1, &[0; 4], Payload::Bytes(b"early")).expect("room");
    let mut inbox = Inbox::default();
    assert_eq!(group.join(1).poll(&mut inbox), 1);
    assert_eq!(inbox.0, [(0, b"early".to_vec())]);
}

/// Has enough after each packet.
#[derive(Default)]
struct Modest(Inbox);

impl Sink for Modest {
    fn packet(&mut self, from: u32, header: &Header, payload: &[u8]) {
        self.0.packet(from, header, payload);
    }
    fn has_enough(&mut self) -> bool {
        true
    }
}

/// What a sink does not want yet stays in the ring until the next poll.
#[test]
fn a_sink_that_has_enough_gets_no_more() {
    let group = Segment::new(2, None);
    let (me, peer) = (group.join(0), group.join(1));
    for word in [b"one", b"two"] {
        peer.copy_and_send(0, &[0; 4], Payload::Bytes(word)).expect("room");
    }
    let mut sink = Modest::default();
    for had in 1..=2 {
        assert_eq!(me.poll(&mut sink), 1);
        assert_eq!(sink.0.0.len(), had);
    }
    assert_eq!(me.poll(&mut sink), 0);
}

/// One who waits for a peer gets its next packet alone, and only what it says it has used.
#[test]
fn the_next_packet_of_a_peer_is_taken_by_itself() {
    let group = Segment::new(3, None);
    let (me, one, two) = (group.join(0), group.join(1), group.join(2));
    let never = &mut |_: &Header, _: &[u8]| panic!("nothing was sent");
    assert!(!me.take_next(1, 3, never));
    for (sender, word) in [(&two, b"two"), (&one, b"one"), (&one, b"and")] {
        sender.copy_and_send(0, &[0; 4], Payload::Bytes(word)).expect("room");
    }
    assert!(!me.take_next(1, 3, &mut |_, payload| payload != b"one"));
    assert!(me.take_next(1, 3, &mut |_, payload| payload == b"one"));
    let mut inbox = Inbox::default();
    while me.poll(&mut inbox) > 0 {}
    inbox.0.sort();
    assert_eq!(inbox.0, [(1, b"and".to_vec()), (2, b"two".to_vec())]);
}

/// What a receiver hopes for, it alone says, of one message, until it is over.
#[test]
fn a_hope_is_for_one_message_of_one_peer() {
    let group = Segment::new(3, None);
    let devices: Vec<_> = (0..3).map(|me| group.join(me)).collect();
    let direct = |at: usize| devices[at].direct().expect("it publishes");
    let key = Key { context: 3, source: 1, tag: 7 };
    let is_ready = |at, key: &Key, sent| direct(at).peer_is(0, PeerState::Ready { key, sent });
    assert!(!is_ready(1, &key, 5));
    direct(0).tell_ready(1, Some((&key, 5)));
    assert!(is_ready(1, &key, 5));
    assert!(!is_ready(1, &key, 6), "another message has gone before this one");
    for other in [Key { tag: 8, ..key }, Key { context: 4, ..key }, Key { source: 0, ..key }] {
        assert!(!is_ready(1, &other, 5), "{other:?}");
    }
    assert!(!is_ready(2, &key, 5), "another peer");
    direct(0).tell_ready(1, None);
    assert!(!is_ready(1, &key, 5));
}

/// The last process finds all its structures inside the mapping.
#[test]
fn the_last_of_many_processes_is_reached() {
    let group = Segment::new(512, None);
    let (first, last) = (group.join(0), group.join(511));
    let payload = vec![7; first.abilities().packet];
    let taken = first.copy_and_send(511, &[0; 4], Payload::Bytes(&payload));
    assert_eq!(taken, Some(payload.len()));
    last.copy_and_send(0, &[0; 4], Payload::Bytes(b"back")).expect("room");
    let mut inbox = Inbox::default();
    assert_eq!(last.poll(&mut inbox) + first.poll(&mut inbox), 2);
    assert_eq!(inbox.0, [(0, payload), (511, b"back".to_vec())]);
}

#[test]
fn too_many_processes_are_refused_with_the_limit() {
    let group = Segment::new(5000, None);
    let refused = Shm::new(group.memory.as_fd(), 0, 5000, 2, None);
    let message = refused.err().expect("an error").to_string();
    assert!(message.contains("5000") && message.contains("4096"), "{message}");
}
