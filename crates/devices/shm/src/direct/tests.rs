//! Transfers with a peer that is killed at each of its steps.

use super::deliver::Filled;
use crate::losses::victim::*;
use crate::posted_receives::{PostedReceives, SLOTS, Stage};
use crate::share::{Side, chunk};
use crate::state::Shm;
use rustix::fd::OwnedFd;
use std::ops::Range;
use tern_copy::Target;
use tern_device::{
    AfterFork, Event, Header, Key, Memory, Outgoing, Payload, Recall, RecallReason, SharedMemory, SingleCopy,
    TupleQueue,
};
use tern_policy::transfer::Deliver;

const LEN: usize = 4 << 20;
const KEY: Key = Key { context: 1, source: 1, tag: 3 };

fn start(case: &str, memory: &OwnedFd) -> Victim {
    Victim::start("direct::tests::victim", case, memory)
}

/// Shared memory of this process, full of a byte.
fn filled(shm: &Shm, byte: u8) -> Memory {
    let at = shm.allocate(LEN, AfterFork::Shared).expect("memory");
    // SAFETY: allocated just now.
    unsafe { at.write_bytes(byte, LEN) };
    Memory { place: shm.place(at, LEN).expect("it is shared"), ..Memory::dense(at, LEN) }
}

fn holds(memory: &Memory, byte: u8) -> bool {
    // SAFETY: of `filled`, and nobody stores there any more.
    unsafe { std::slice::from_raw_parts(memory.address as *const u8, LEN) }.iter().all(|&found| found == byte)
}

fn pages(memory: &Memory) -> Range<usize> {
    memory.address as usize..memory.address as usize + LEN
}

/// Chunks of a message that both sides copy through views.
fn chunks() -> u32 {
    (LEN as u64).div_ceil(chunk(LEN as u64, false)) as u32
}

/// Not a test: what the processes do that the tests kill.
#[test]
#[ignore = "the tests start it"]
fn victim() {
    let Some((case, shm)) = role(|memory| join(memory, VICTIM)) else { return };
    let posted = shm.segment.posted(0, VICTIM);
    match case.as_str() {
        "looks" => assert!(posted.find(&KEY, 0).is_some()),
        "takes part" => claim_a_chunk(posted, false),
        "receives" => {
            let target = filled(&shm, 0);
            shm.publish(0, &KEY, &target, 6, 0).expect("room");
            let own = shm.own_posted(0);
            while own.word(0).stage() != Stage::Shared {
                rustix::thread::sched_yield();
            }
            claim_a_chunk(own, true);
        }
        step => fill(&shm, posted, step),
    }
    stay();
}

/// Claims a chunk of the copy in the first slot, and never copies it.
fn claim_a_chunk(posted: &PostedReceives, back: bool) {
    let word = posted.word(0);
    assert!(word.stage() == Stage::Shared && posted.slot(0).claim(word, back, chunks()).is_some());
}

/// Fills the published receive, as far as this step.
fn fill(shm: &Shm, posted: &PostedReceives, step: &str) {
    let source = filled(shm, 5);
    let (slot, word) = posted.find(&KEY, 0).expect("it is published");
    assert!(posted.claim(slot, word));
    match step {
        "claims" => {}
        "shares" => _ = posted.share(slot, word, &source, LEN as u64, Target::Soon, false),
        "shares and begins" => _ = posted.share(slot, word, &source, LEN as u64, Target::Soon, true),
        "fills" => {
            let message = Outgoing { source: &source, sender: 9, way: Deliver::Mapped };
            assert_eq!(shm.fill(0, slot, word, &message), Filled::Whole);
        }
        "begins with packets" => {
            posted.send_packets(slot, word);
            let header: Header = [0; 4];
            assert!(tern_device::Channel::copy_and_send(shm, 0, &header, Payload::Bytes(b"the first")).is_some());
        }
        other => panic!("no such step: {other}"),
    }
}

/// A survivor with a receive that is published for the victim.
fn receiver(memory: &OwnedFd) -> (Shm, Memory, u32) {
    let survivor = join(memory, 0);
    let target = filled(&survivor, 0);
    let slot = survivor.publish(VICTIM, &KEY, &target, 5, 0).expect("room");
    (survivor, target, slot)
}

/// After the loss: nothing is published or pending, and all slots are free.
fn is_left(survivor: &Shm) {
    survivor.hears_of(Event::Lost(VICTIM));
    assert!(survivor.direct.is_idle());
    let memory = filled(survivor, 0);
    let slots: Vec<u32> = (0..SLOTS as u32)
        .map(|receiver| survivor.publish(VICTIM, &KEY, &memory, receiver, 0).expect("its slot is free"))
        .collect();
    for slot in slots {
        assert_eq!(survivor.recall(VICTIM, slot, RecallReason::Cancel), Recall::Won);
    }
    assert!(survivor.direct.is_idle());
    assert_eq!(all_heard(survivor), []);
}

#[test]
fn a_receive_of_which_the_sender_is_lost_ends() {
    let whole = [Heard::Delivered(5, LEN as u64), Heard::Lost(VICTIM)];
    let packet = [Heard::Packet(VICTIM, b"the first".to_vec()), Heard::Lost(VICTIM)];
    let lost = [Heard::Lost(VICTIM)];
    let cases: [(&str, Recall, &[Heard]); 6] = [
        ("looks", Recall::Won, &lost),
        ("claims", Recall::Claimed, &lost),
        ("shares and begins", Recall::Claimed, &lost),
        ("begins with packets", Recall::Claimed, &packet),
        // The rest of it, and here all, is copied by the receiver.
        ("shares", Recall::Claimed, &whole),
        ("fills", Recall::Claimed, &whole),
    ];
    for (case, recall, heard) in cases {
        let memory = memory();
        let (survivor, target, slot) = receiver(&memory);
        start(case, &memory).kill();
        assert_eq!(survivor.recall(VICTIM, slot, RecallReason::Cancel), recall, "{case}");
        assert_eq!(all_heard(&survivor), heard, "{case}");
        assert!(heard != whole || holds(&target, 5), "{case}");
        is_left(&survivor);
    }
}

/// A fork waits for receives that are being filled, and not for those whose sender has ended.
#[test]
fn a_fork_waits_for_no_lost_sender() {
    for case in ["claims", "shares and begins", "shares"] {
        let memory = memory();
        let (survivor, target, _) = receiver(&memory);
        start(case, &memory).kill();
        assert_eq!(survivor.hold_receives(&[pages(&target)]), [], "{case}");
        assert_eq!(all_heard(&survivor).last(), Some(&Heard::Lost(VICTIM)), "{case}");
        is_left(&survivor);
    }
}

/// The receiver has begun to fetch, by itself or by its thread, and the sender is lost in its part of it.
#[test]
fn a_copy_by_both_ends_without_the_sender() {
    for by_thread in [false, true] {
        let memory = memory();
        let survivor = join(&memory, 0);
        let (source, target) = (filled(&survivor, 5), filled(&survivor, 0));
        survivor.begin(VICTIM, &source, &target, 5, tern_policy::offload::By::View).expect("room");
        let victim = start("takes part", &memory);
        let posted = survivor.own_posted(VICTIM);
        assert!(!by_thread || survivor.hand_over(VICTIM, posted, 0, posted.word(0), Side::Receiver));
        victim.kill();
        assert_eq!(all_heard(&survivor), [Heard::Lost(VICTIM)]);
        is_left(&survivor);
    }
}

/// The receiver is lost in its part of the copy of a message that the survivor has left to it.
#[test]
fn a_message_of_which_the_receiver_is_lost_ends() {
    for by_thread in [false, true] {
        let memory = memory();
        let survivor = join(&memory, 0);
        let source = filled(&survivor, 5);
        let mut victim = Victim::begin("direct::tests::victim", "receives", &memory);
        let posted = survivor.segment.posted(VICTIM, 0);
        let (slot, word) = loop {
            assert!(!victim.has_ended(), "before it was killed");
            match posted.find(&KEY, 0) {
                Some(found) if posted.claim(found.0, found.1) => break found,
                _ => rustix::thread::sched_yield(),
            }
        };
        let message = Outgoing { source: &source, sender: 9, way: Deliver::Joint { begins: false } };
        assert_eq!(survivor.fill(VICTIM, slot, word, &message), Filled::Partly);
        victim.wait();
        assert!(!by_thread || survivor.hand_over(VICTIM, posted, slot, posted.word(slot), Side::Sender));
        victim.kill();
        assert_eq!(all_heard(&survivor), [Heard::Lost(VICTIM)], "the message has not arrived");
        is_left(&survivor);
    }
}
