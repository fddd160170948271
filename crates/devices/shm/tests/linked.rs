//! Processes of several jobs, which reach each other over a further segment, against the contract of
//! all devices.
//!
//! Each process is a job of its own. The suite numbers all processes alike; here each has numbers of its own for
//! the others, so an adapter stands between.

use rustix::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tern_device::conformance::{Group, follow};
use tern_device::{Abilities, Channel, Header, Payload, Sink};
use tern_shm::Shm;

fn memory() -> OwnedFd {
    rustix::fs::memfd_create("tern-test", rustix::fs::MemfdFlags::CLOEXEC).expect("a memfd")
}

/// Where the further segment begins in its file.
const OFFSET: u64 = 8192;

struct Jobs {
    between: OwnedFd,
    processes: u32,
}

/// A process under the number that the suite has for it.
struct Renumbered {
    shm: Shm,
    me: u32,
    abilities: Abilities,
}

impl Renumbered {
    /// The process's own number for a peer: it is 0 itself, the others follow.
    fn own(&self, peer: u32) -> u32 {
        match peer.cmp(&self.me) {
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Less => peer + 1,
            std::cmp::Ordering::Greater => peer,
        }
    }
}

/// Gives packets on under the suite's numbers.
struct Outward<'a>(u32, &'a mut dyn Sink);

impl Sink for Outward<'_> {
    fn packet(&mut self, from: u32, header: &Header, payload: &[u8]) {
        let from = if from <= self.0 { from - 1 } else { from };
        self.1.packet(from, header, payload);
    }
}

impl Channel for Renumbered {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }
    fn reaches(&self, peer: u32) -> bool {
        self.shm.reaches(self.own(peer))
    }
    fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        self.shm.copy_and_send(self.own(peer), header, payload)
    }
    fn poll(&self, sink: &mut dyn Sink) -> usize {
        self.shm.poll(&mut Outward(self.me, sink))
    }
    fn take_next(&self, peer: u32, looks: u32, take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> bool {
        self.shm.take_next(self.own(peer), looks, take)
    }
    fn glance(&self, looks: u32) {
        self.shm.glance(looks);
    }
    fn set_waiting(&self, waiting: bool) {
        self.shm.set_waiting(waiting);
    }
    fn prepare_sleep(&self) -> u32 {
        self.shm.prepare_sleep()
    }
    fn sleep(&self, token: u32, timeout: Duration) {
        self.shm.sleep(token, timeout);
    }
    fn awake(&self) -> u32 {
        self.shm.awake()
    }
    fn end_sleep(&self) {
        self.shm.end_sleep();
    }
    fn ring(&self, peer: u32) {
        self.shm.ring(self.own(peer));
    }
}

impl Group for Jobs {
    fn join(&self, me: u32) -> Box<dyn Channel> {
        let shm = Shm::new(memory().as_fd(), 0, 1, 2, None).expect("shared memory");
        let others: Vec<u32> = (0..self.processes).filter(|&place| place != me).collect();
        let first = shm.connect(self.between.as_fd(), OFFSET, me, self.processes, &others);
        assert_eq!(first.expect("shared memory"), 1);
        // Between jobs there are neither lines nor published receives.
        let abilities = Abilities { lines: false, ..shm.abilities().clone() };
        assert!(others.is_empty() || shm.control_slots(1, 0).is_none());
        Box::new(Renumbered { shm, me, abilities })
    }
}

fn jobs(processes: u32) -> Box<dyn Group> {
    Box::new(Jobs { between: memory(), processes })
}

tern_device::conformance_tests!(packets of jobs);

proptest::proptest! {
    #[test]
    fn any_sequence_keeps_order(actions in proptest::collection::vec(action(), 1..300)) {
        follow(jobs, 3, &actions);
    }
}

fn action() -> impl proptest::strategy::Strategy<Value = tern_device::conformance::Action> {
    use proptest::prelude::*;
    use tern_device::conformance::Action;
    let size = prop_oneof![0..200usize, 0..100_000usize];
    prop_oneof![
        3 => (0..3u32, 0..3u32, size).prop_map(|(from, to, size)| Action::Send { from, to, size }),
        1 => (0..3u32).prop_map(|who| Action::Poll { who }),
    ]
}

#[derive(Default)]
struct Inbox(Vec<(u32, Vec<u8>)>);

impl Sink for Inbox {
    fn packet(&mut self, from: u32, _: &Header, payload: &[u8]) {
        self.0.push((from, payload.to_vec()));
    }
}

/// Two jobs of two processes each; `place` is that of this one on the further segment.
fn four() -> Vec<Shm> {
    let (homes, between) = ([memory(), memory()], memory());
    let join = |place: u32| {
        let shm = Shm::new(homes[place as usize / 2].as_fd(), place % 2, 2, 2, None).expect("shared memory");
        let others = if place < 2 { [2, 3] } else { [0, 1] };
        assert_eq!(shm.connect(between.as_fd(), 0, place, 4, &others).expect("shared memory"), 2);
        shm
    };
    (0..4).map(join).collect()
}

#[test]
fn home_and_foreign_peers_are_kept_apart() {
    let all = four();
    for (from, shm) in all.iter().enumerate() {
        for peer in (0..4).filter(|&peer| peer != from as u32 % 2) {
            let sent = shm.copy_and_send(peer, &[0; 4], Payload::Bytes(&[from as u8]));
            assert_eq!(sent, Some(1));
        }
    }
    for (to, shm) in all.iter().enumerate() {
        let mut inbox = Inbox::default();
        while shm.poll(&mut inbox) > 0 {}
        inbox.0.sort();
        let (fellow, strangers) = (to ^ 1, if to < 2 { [2, 3] } else { [0, 1] });
        let mut expected = vec![(fellow as u32 % 2, vec![fellow as u8])];
        expected.extend((2..).zip(strangers).map(|(number, from)| (number, vec![from])));
        assert_eq!(inbox.0, expected, "process {to}");
    }
}

#[test]
fn a_process_sleeps_for_peers_of_all_segments() {
    for sender in [1, 2] {
        let all = four();
        let token = all[0].prepare_sleep();
        // Sent after the flags were raised and before the sleep: so it must not begin.
        let number = if sender == 1 { 0 } else { 2 };
        all[sender].copy_and_send(number, &[0; 4], Payload::Bytes(b"wake")).expect("room");
        let start = std::time::Instant::now();
        all[0].sleep(token, Duration::from_secs(60));
        let slept = start.elapsed();
        all[0].end_sleep();
        assert!(slept < Duration::from_secs(30), "it slept on though process {sender} had sent");
        let mut inbox = Inbox::default();
        assert_eq!(all[0].poll(&mut inbox), 1);
    }
}

#[test]
fn numbers_are_not_used_again() {
    let shm = Shm::new(memory().as_fd(), 0, 1, 2, None).expect("shared memory");
    let before = shm.known();
    for round in 0..100 {
        let between = memory();
        let first = shm.connect(between.as_fd(), 0, 1, 3, &[0, 2]).expect("shared memory");
        assert_eq!(first, 1 + 2 * round);
        shm.copy_and_send(first, &[0; 4], Payload::Bytes(b"to nobody")).expect("room");
        assert_eq!(shm.known(), before + 2);
        shm.disconnect(first);
        assert_eq!(shm.known(), before);
    }
    assert_eq!(shm.poll(&mut Inbox::default()), 0);
}

/// Sends the packets of a long message, as far as there is room; returns the bytes that went.
fn send_long(shm: &Shm, peer: u32, message: &[u8]) -> usize {
    let mut sent = 0;
    while sent < message.len() {
        let len = (message.len() - sent).min(8 << 10);
        let Some(taken) = shm.copy_and_send(peer, &[0; 4], Payload::Part(&message[sent..], len)) else { break };
        sent += taken;
    }
    sent
}

#[test]
fn a_sender_that_waits_leaves_a_long_message_as_it_is() {
    let all = four();
    let message: Vec<u8> = (0..100_000u32).map(|at| (at % 251) as u8).collect();
    for _ in 0..10 {
        assert_eq!(send_long(&all[0], 2, &message), message.len());
        let mut inbox = Inbox::default();
        while inbox.0.iter().map(|(_, payload)| payload.len()).sum::<usize>() < message.len() {
            // It may pass lines on while the receiver takes packets.
            assert_eq!(all[0].poll(&mut Inbox::default()), 0);
            assert!(all[2].poll(&mut inbox) > 0);
        }
        let came: Vec<u8> = inbox.0.into_iter().flat_map(|(_, payload)| payload).collect();
        assert!(came == message);
    }
}

#[test]
fn a_long_message_that_is_not_read_keeps_nobody() {
    let all = four();
    assert!(send_long(&all[0], 2, &[7; 100_000]) > 0);
    assert_eq!(all[0].poll(&mut Inbox::default()), 0);
    all[0].disconnect(2);
    for _ in 0..100 {
        assert_eq!(all[0].poll(&mut Inbox::default()), 0);
    }
}

/// What a process has heard, in order: from whom, and the packet, or none when it is lost.
#[derive(Default)]
struct Heard(Vec<(u32, Option<Vec<u8>>)>);

impl Sink for Heard {
    fn packet(&mut self, from: u32, _: &Header, payload: &[u8]) {
        self.0.push((from, Some(payload.to_vec())));
    }
    fn lost(&mut self, peer: u32, _: &str) {
        self.0.push((peer, None));
    }
}

#[test]
fn who_goes_without_a_word_is_lost_and_who_leaves_is_not() {
    let mut all = four();
    let (fourth, third) = (all.pop().unwrap(), all.pop().unwrap());
    third.copy_and_send(2, &[0; 4], Payload::Bytes(b"last words")).expect("room");
    fourth.disconnect(2);
    drop(fourth);
    drop(third);
    let mut heard = Heard::default();
    let start = std::time::Instant::now();
    while heard.0.len() < 2 && start.elapsed() < Duration::from_secs(60) {
        all[0].poll(&mut heard);
    }
    assert_eq!(heard.0, [(2, Some(b"last words".to_vec())), (2, None)]);
    // It is told once; and nobody waits for those who are not there.
    std::thread::sleep(Duration::from_millis(120));
    all[0].poll(&mut heard);
    assert_eq!(heard.0.len(), 2);
    all[0].end();
    assert_eq!(all[0].awaited(), []);
}

#[test]
fn processes_of_several_jobs_end_together() {
    let all = four();
    assert_eq!(all[0].awaited(), []);
    all[0].end();
    assert_eq!(all[0].awaited(), [2, 3]);
    all[2].end();
    assert_eq!((all[0].awaited(), all[2].awaited()), (vec![3], vec![3]));
    all[3].part(2);
    assert_eq!(all[0].awaited(), []);
    all[1].ended();
    assert_eq!(all[2].awaited(), []);
}
