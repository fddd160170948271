//! Peers that end, told by what they have left.

use super::victim::*;
use crate::state::Shm;
use crate::vigil::Vigil;
use rustix::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};
use tern_device::{
    AfterFork, Channel, Direction, Exposure, Gather, Lease, Memory, Name, NotCopied, PairFacts, Payload, PeerState,
    Pull, PullTo, Run, SharedMemory, SingleCopy,
};

const LEN: usize = 64 << 10;
/// Bytes of each segment of a region.
const SEGMENT: u64 = 5000;

fn send(shm: &Shm, to: u32, payload: &[u8]) {
    assert_eq!(shm.copy_and_send(to, &[0; 4], Payload::Bytes(payload)), Some(payload.len()));
}

fn start(case: &str, memory: &OwnedFd) -> Victim {
    Victim::start("losses::tests::victim", case, memory)
}

/// A payload in the middle of which its sender stays.
struct Unfinished(usize);

impl Gather for Unfinished {
    fn len(&self) -> usize {
        self.0
    }
    fn write_to(&mut self, out: &mut [u8]) {
        let half = out.len() / 2;
        out[..half].fill(9);
        stay();
    }
}

/// Not a test: what the processes do that the tests kill.
#[test]
#[ignore = "the tests start it"]
fn victim() {
    let Some((case, shm)) = role(|memory| join(memory, VICTIM)) else { return };
    match case.as_str() {
        "between messages" => {
            send(&shm, 0, b"one");
            send(&shm, 0, &[2; 5000]);
            send(&shm, 0, b"three");
            shm.wait_here();
        }
        "in a cell" | "in a block" => {
            send(&shm, 0, b"whole");
            send(&shm, 0, &[7; 5000]);
            let mut rest = Unfinished(if case == "in a cell" { 60 } else { 5000 });
            shm.copy_and_send(0, &[0; 4], Payload::Gather(&mut rest));
        }
        "streams" => (0..u32::MAX).for_each(|number| {
            let payload = numbered(number);
            while shm.copy_and_send(0, &[0; 4], Payload::Bytes(&payload)).is_none() {}
        }),
        "asleep" => _ = shm.prepare_sleep(),
        "properly" => shm.ended(),
        "again" => {
            shm.ended();
            shm.returns();
        }
        "of memory" => own_memory(&shm),
        "a parent" => leave_a_child(),
        other => panic!("no such case: {other}"),
    }
    stay();
}

#[test]
fn all_messages_come_before_the_loss_which_is_told_once() {
    let memory = memory();
    let all = [join(&memory, 0), join(&memory, 2)];
    let victim = start("between messages", &memory);
    // It has not ended yet.
    let packets = [&b"one"[..], &[2; 5000], b"three"].map(|payload| Heard::Packet(VICTIM, payload.to_vec())).to_vec();
    assert_eq!(all_heard(&all[1]), []);
    let core = || all[0].segment.status(VICTIM).core();
    assert!(all[0].awake() == 3 && core().is_some());
    victim.kill();
    assert!(!all[0].peer_is(VICTIM, PeerState::Alive) && all[0].peer_is(2, PeerState::Alive));
    assert_eq!(all_heard(&all[0]), [packets, vec![Heard::Lost(VICTIM)]].concat());
    assert_eq!(all_heard(&all[1]), [Heard::Lost(VICTIM)], "each is told");
    assert!(all.iter().all(|survivor| all_heard(survivor).is_empty()), "once");
    // The survivors go on.
    send(&all[0], 2, b"after");
    assert_eq!(all_heard(&all[1]), [Heard::Packet(0, b"after".to_vec())]);
    assert!(all[0].awake() == 2 && core().is_none(), "the lost one needs no core");
}

#[test]
fn a_packet_that_was_not_finished_never_comes() {
    for case in ["in a cell", "in a block"] {
        let memory = memory();
        let survivor = join(&memory, 0);
        start(case, &memory).kill();
        let packets = [&b"whole"[..], &[7; 5000]].map(|payload| Heard::Packet(VICTIM, payload.to_vec()));
        assert_eq!(all_heard(&survivor), [&packets[..], &[Heard::Lost(VICTIM)]].concat(), "{case}");
    }
}

/// The payload of a packet of the stream: its number, and as many bytes more as follow from that.
fn numbered(number: u32) -> Vec<u8> {
    let mut payload = number.to_le_bytes().to_vec();
    payload.resize(4 + number as usize * 37 % 9000, number as u8);
    payload
}

/// A peer that is killed wherever it is in a stream of packets.
#[test]
fn what_comes_of_a_stream_is_whole_and_in_order() {
    for count in [1, 10, 100, 1000] {
        let memory = memory();
        let survivor = join(&memory, 0);
        let victim = Victim::begin("losses::tests::victim", "streams", &memory);
        let mut ears = Ears::default();
        while ears.0.len() < count {
            survivor.poll(&mut ears);
        }
        victim.kill();
        hear(&survivor, &mut ears);
        assert_eq!(ears.0.pop(), Some(Heard::Lost(VICTIM)));
        let came = (0..).zip(ears.0).find(|(number, heard)| *heard != Heard::Packet(VICTIM, numbered(*number)));
        assert_eq!(came, None, "after {count} packets");
    }
}

/// What was sent to the lost one goes nowhere, and who sends it is not kept.
#[test]
fn a_ring_to_a_lost_process_fills_up() {
    let memory = memory();
    let survivor = join(&memory, 0);
    start("between messages", &memory).kill();
    let sends = || survivor.copy_and_send(VICTIM, &[0; 4], Payload::Part(&[1; 50_000], 8 << 10)).is_some();
    while sends() {}
    assert_eq!(all_heard(&survivor).len(), 4);
    assert!(!sends());
    assert_eq!(all_heard(&survivor), []);
}

#[test]
fn a_sleeper_wakes_for_a_loss_that_nobody_rings_for() {
    let memory = memory();
    let survivor = join(&memory, 0);
    start("asleep", &memory).kill();
    let mut ears = Ears::default();
    let begun = Instant::now();
    while ears.0.is_empty() {
        let token = survivor.prepare_sleep();
        survivor.poll(&mut ears);
        if ears.0.is_empty() {
            survivor.sleep(token, Duration::from_secs(600));
        }
        survivor.end_sleep();
        survivor.poll(&mut ears);
    }
    assert!(begun.elapsed() < Duration::from_secs(300), "it has slept on");
    assert_eq!(ears.0, [Heard::Lost(VICTIM)]);
    assert_eq!(survivor.awake(), 2, "a process that ends in its sleep counts as one that is not awake");
}

/// One whose own look is far away sleeps while another one finds a loss.
#[test]
fn who_finds_a_loss_has_the_others_look_at_once() {
    let memory = memory();
    let all = [join(&memory, 0), join(&memory, 2)];
    let victim = start("between messages", &memory);
    let token = all[1].prepare_sleep();
    victim.kill();
    assert!(all_heard(&all[0]).contains(&Heard::Lost(VICTIM)));
    assert_ne!(all[1].prepare_sleep(), token, "it was rung");
    (0..2).for_each(|_| all[1].end_sleep());
    all[1].vigil.as_deref().inspect(|vigil| Vigil::make_due_in_an_hour(vigil));
    let mut ears = Ears::default();
    all[1].poll(&mut ears);
    assert_eq!(ears.0, [Heard::Lost(VICTIM)]);
}

#[test]
fn who_has_ended_properly_is_not_lost() {
    let memory = memory();
    let survivor = join(&memory, 0);
    start("properly", &memory).kill();
    assert_eq!(all_heard(&survivor), []);
    assert!(survivor.peer_is(2, PeerState::Alive), "one that has not come is not missed");
    drop(join(&memory, 2));
    assert_eq!(all_heard(&survivor), [Heard::Lost(2)]);
}

#[test]
fn who_has_come_back_can_be_lost_again() {
    let memory = memory();
    let survivor = join(&memory, 0);
    start("again", &memory).kill();
    assert_eq!(all_heard(&survivor), [Heard::Lost(VICTIM)]);
}

/// A job that ends with each of its processes has nobody look.
#[test]
fn a_job_that_does_not_survive_is_told_nothing() {
    let memory = memory();
    let looks = |survives| Shm::join(memory.as_fd(), 0, 3, 2, None, survives).expect("shared memory");
    let survivor = looks(false);
    start("asleep", &memory).kill();
    assert_eq!(all_heard(&survivor), []);
    drop(survivor);
    assert_eq!(all_heard(&looks(true)), [Heard::Lost(VICTIM)]);
}

/// Memory of its own, private and shared, whose addresses the victim tells, with the cookie of a region of two segments in the shared one.
fn own_memory(shm: &Shm) {
    let private = Vec::leak(vec![3u8; LEN]);
    let shared = shm.allocate(LEN, AfterFork::Shared).expect("memory");
    // SAFETY: it was allocated just now.
    unsafe { shared.write_bytes(4, LEN) };
    let place = shm.place(shared, LEN).expect("it is shared");
    let memory = Memory { place, ..Memory::dense(shared, LEN) };
    let segments = [0, LEN / 2].map(|at| Run { address: (shared as usize + at) as u64, len: SEGMENT });
    let region = shm.expose(&memory, Exposure::Segments(0, &segments)).expect("room for a region");
    let words = [private.as_ptr() as u64, shared as u64, place, region.key];
    send(shm, 0, &words.map(u64::to_le_bytes).concat());
}

#[test]
fn memory_of_a_lost_process_can_be_read_where_it_is_shared_and_is_gone_where_not() {
    let memory = memory();
    let survivor = join(&memory, 0);
    let victim = start("of memory", &memory);
    let mut ears = Ears::default();
    survivor.poll_into(&mut ears);
    let [Heard::Packet(VICTIM, words)] = &ears.0[..] else { panic!("{:?}", ears.0) };
    let word = |at: usize| u64::from_le_bytes(words[8 * at..8 * at + 8].try_into().expect("eight bytes"));
    let private = Memory::dense(word(0) as *const u8, LEN);
    let shared = Memory { place: word(2), ..Memory::dense(word(1) as *const u8, LEN) };
    let before = survivor.map(&shared, Lease::Lasting).expect("a mapping");
    let mut own = vec![0u8; LEN];
    let run = Run { address: own.as_mut_ptr() as u64, len: LEN as u64 };
    let theirs = [Run { address: private.address, len: LEN as u64 }];
    let name = Name { cookie: 0, start: private.address };
    // SAFETY: own memory, and the victim's, which nobody uses.
    let copy = || unsafe { survivor.copy(VICTIM, &[run], (&theirs, name), Direction::Get) };
    let kernel = survivor.pair(VICTIM).kernel;
    match kernel {
        true => assert_eq!(copy(), Ok(())),
        false => eprintln!("skipped: memory of other processes cannot be copied here"),
    }
    victim.kill();
    // Before anybody has looked.
    assert!(!kernel || copy() == Err(NotCopied::Gone));
    assert_eq!(all_heard(&survivor), [Heard::Lost(VICTIM)]);
    assert_eq!(copy(), Err(NotCopied::Gone));
    assert!(!survivor.pair(VICTIM).kernel);
    let target = Memory::dense(own.as_ptr(), LEN);
    assert_eq!(survivor.pull(VICTIM, &private, PullTo::ByKernel(&target)), Pull::No);
    // Its table of regions can be read too.
    let region = Memory { key: word(3), len: 2 * SEGMENT, ..shared };
    let runs = [Run { address: own.as_mut_ptr() as u64, len: region.len }];
    assert_eq!(survivor.pull(VICTIM, &region, PullTo::Runs(&runs)), Pull::Done);
    assert!(own[..region.len as usize].iter().all(|&byte| byte == 4));
    let after = survivor.map(&shared, Lease::Brief).expect("a mapping");
    for view in [before, after] {
        // SAFETY: both are mapped for so many bytes, and nobody stores there.
        assert!(unsafe { std::slice::from_raw_parts(view, LEN) }.iter().all(|&byte| byte == 4));
    }
    // SAFETY: mapped above, and used no more.
    unsafe { tern_device::unmap(before, LEN) };
}

#[test]
fn of_who_has_died_before_the_kernel_was_tried_no_line_says_that_the_kernel_does_not_work() {
    let memory = memory();
    let survivor = join(&memory, 0);
    start("of memory", &memory).kill();
    assert!(!survivor.pair(VICTIM).kernel);
    assert!(survivor.segment.node().first_to_tell(), "the user was told of the kernel, and hears of the loss");
    assert!(!survivor.peer_is(VICTIM, PeerState::Alive), "its lock tells that it is not there");
    assert_eq!(all_heard(&survivor).last(), Some(&Heard::Lost(VICTIM)));
}

/// Has a child of fork that starts no program of its own, and outlives this process. The child tells when it is there.
fn leave_a_child() -> ! {
    // SAFETY: the other thread of this program waits for this one, so that it is not in the midst of anything that the child needs.
    if unsafe { libc::fork() } == 0 {
        say(&format!("its child is {}", std::process::id()));
        stay();
    }
    loop {
        // SAFETY: it takes no arguments.
        unsafe { libc::pause() };
    }
}

#[test]
fn a_child_does_not_stand_for_its_parent() {
    let memory = memory();
    let survivor = join(&memory, 0);
    let victim = start("a parent", &memory);
    let child = victim.number("its child is");
    victim.kill();
    let heard = all_heard(&survivor);
    // SAFETY: the victim's child, whose number nobody else has while it lives.
    unsafe { libc::kill(child, libc::SIGKILL) };
    assert_eq!(heard, [Heard::Lost(VICTIM)]);
}
