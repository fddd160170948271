//! The posted receives under loom.

use super::{PostedReceives, Published, SLOTS, Stage};
use loom::sync::Arc;
use loom::thread;
use tern_atomics::{AtomicU32, Ordering};
use tern_copy::Target;
use tern_device::{Key, Memory};

const KEY: Key = Key { context: 1, source: 0, tag: 7 };

fn receive(receiver: u32) -> Published {
    let target = Memory { address: 100 + receiver as u64, ..Memory::opaque(8) };
    Published { key: KEY, receiver, target }
}

#[test]
fn a_receive_is_claimed_or_won_back_but_never_both() {
    loom::model(|| {
        let posted = Arc::new(PostedReceives::default());
        let slot = posted.publish(&receive(1), 0, 0).expect("room");
        let other = posted.clone();
        let sender = thread::spawn(move || {
            let Some((slot, word)) = other.find(&KEY, 0) else { return false };
            let claimed = other.claim(slot, word);
            if claimed {
                other.fill(slot, word, 5);
            }
            claimed
        });
        let back = posted.retract(slot);
        let claimed = sender.join().unwrap();
        assert_ne!(back, claimed);
        let stage = if claimed { Stage::Filled } else { Stage::Free };
        assert_eq!(posted.word(slot).stage(), stage);
        assert!(!claimed || posted.size(slot) == 5);
    });
}

/// The sender sees what it claims whole, and the older receive before the younger one, although
/// the slots are used in any order.
#[test]
fn the_oldest_receive_is_claimed_first() {
    loom::model(|| {
        let posted = Arc::new(PostedReceives::default());
        let first = posted.publish(&receive(1), 0, 0).expect("room");
        let other = posted.clone();
        let sender = thread::spawn(move || {
            let (slot, word) = other.find(&KEY, 0)?;
            other.claim(slot, word).then(|| (other.receiver(slot), other.target(slot).address))
        });
        // The first slot is free again when the third receive is published, in front of the second.
        let back = posted.retract(first);
        if back {
            let second = posted.publish(&receive(2), 1, 0).expect("room");
            let third = posted.publish(&receive(3), 2, 0).expect("room");
            assert_ne!(second, third);
        }
        match sender.join().unwrap() {
            Some((receiver, address)) => {
                assert_eq!(address, 100 + receiver as u64);
                assert_eq!(receiver, if back { 2 } else { 1 });
            }
            // It lost the race for the first one, or saw nothing.
            None => assert!(back),
        }
    });
}

/// The same where the second slot has been used before, so that the sender looks at it from the beginning.
#[test]
fn the_oldest_of_two_that_are_published_during_a_look_is_claimed_first() {
    loom::model(|| {
        let posted = Arc::new(PostedReceives::default());
        let first = posted.publish(&receive(1), 0, 0).expect("room");
        let used = posted.publish(&receive(0), 1, 0).expect("room");
        assert!(posted.retract(used));
        let other = posted.clone();
        let sender = thread::spawn(move || {
            let (slot, word) = other.find(&KEY, 0)?;
            other.claim(slot, word).then(|| other.receiver(slot))
        });
        let back = posted.retract(first);
        if back {
            posted.publish(&receive(2), 2, 0).expect("room");
            posted.publish(&receive(3), 3, 0).expect("room");
        }
        match sender.join().unwrap() {
            Some(receiver) => assert_eq!(receiver, if back { 2 } else { 1 }),
            None => assert!(back),
        }
    });
}

/// As `the_oldest_receive_is_claimed_first`, with the younger one in front.
#[test]
fn a_younger_receive_in_front_is_not_taken_for_the_oldest() {
    loom::model(|| {
        let posted = Arc::new(PostedReceives::default());
        let blocker = posted.publish(&Published { key: Key { tag: 9, ..KEY }, ..receive(0) }, 0, 0);
        let other = posted.clone();
        let sender = thread::spawn(move || {
            let (slot, word) = other.find(&KEY, 0)?;
            other.claim(slot, word).then(|| other.receiver(slot))
        });
        let _older = posted.publish(&receive(1), 1, 0).expect("room");
        assert!(posted.retract(blocker.expect("room")));
        let _younger = posted.publish(&receive(2), 2, 0).expect("room");
        assert!(matches!(sender.join().unwrap(), None | Some(1)));
    });
}

/// A receive that is held for a moment is neither used by the sender nor passed over for a younger one.
#[test]
fn a_held_receive_keeps_its_turn() {
    loom::model(|| {
        let posted = Arc::new(PostedReceives::default());
        let older = posted.publish(&receive(1), 0, 0).expect("room");
        posted.publish(&receive(2), 1, 0).expect("room");
        let other = posted.clone();
        let sender = thread::spawn(move || {
            let (slot, word) = other.find(&KEY, 0)?;
            other.claim(slot, word).then(|| other.receiver(slot))
        });
        if posted.hold(older) {
            assert_eq!(posted.word(older).stage(), Stage::Held);
            posted.reopen(older);
        }
        assert!(matches!(sender.join().unwrap(), None | Some(1)));
    });
}

/// A receive that is held for a moment is won back by another thread of its process.
#[test]
fn a_held_receive_is_won_back() {
    loom::model(|| {
        let posted = Arc::new(PostedReceives::default());
        let slot = posted.publish(&receive(1), 0, 0).expect("room");
        let other = posted.clone();
        let forks = thread::spawn(move || {
            if other.hold(slot) {
                other.reopen(slot);
            }
        });
        assert!(posted.retract(slot), "nobody has claimed it");
        forks.join().unwrap();
        assert_eq!(posted.word(slot).stage(), Stage::Free);
    });
}

/// Rule 2: after a stream message has taken a receive, the sender does not use it, nor a younger
/// one before the receiver has said that it has taken the message.
#[test]
fn a_number_on_the_stream_holds_the_sender_back() {
    loom::model(|| {
        let posted = Arc::new(PostedReceives::default());
        let first = posted.publish(&receive(1), 0, 0).expect("room");
        let second = posted.publish(&receive(2), 1, 0).expect("room");
        let stream = Arc::new(AtomicU32::new(0));
        let (other, put) = (posted.clone(), stream.clone());
        let sender = thread::spawn(move || {
            // Release: pairs with the acquire below; it stands for the ring.
            put.store(1, Ordering::Release);
            let (slot, word) = other.find(&KEY, 1)?;
            other.claim(slot, word).then(|| other.receiver(slot))
        });
        if stream.load(Ordering::Acquire) == 1 {
            assert!(posted.retract(first));
            posted.raise(1);
        }
        let claimed = sender.join().unwrap();
        assert!(matches!(claimed, None | Some(2)), "claimed {claimed:?}");
        assert_eq!(posted.word(second).stage() == Stage::Claimed, claimed.is_some());
    });
}

/// Both sides claim chunks; each is copied once, and one of them finishes: also where the sender has begun with the first chunk.
#[test]
fn shared_chunks_are_copied_once() {
    for begun in [false, true] {
        loom::model(move || {
            let posted = Arc::new(PostedReceives::default());
            let slot = posted.publish(&receive(1), 0, 0).expect("room");
            let (slot, word) = posted.find(&KEY, 0).filter(|&(found, _)| found == slot).expect("open");
            assert!(posted.claim(slot, word));
            let source = Memory { address: 5, ..Memory::opaque(3) };
            let word = posted.share(slot, word, &source, 3, Target::Later, begun);
            assert_eq!(posted.word(slot).target(), Target::Later);
            let copies = Arc::new([AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)]);
            let work = move |back: bool, posted: &PostedReceives, copies: &[AtomicU32; 3]| {
                assert_eq!(posted.source(slot, word).address, 5);
                let at = posted.slot(slot);
                let mut first = (begun && !back).then_some(0);
                let mut finished = false;
                while let Some(chunk) = first.take().or_else(|| at.claim(word, back, 3)) {
                    copies[chunk as usize].fetch_add(1, Ordering::Relaxed);
                    if at.copied(3) {
                        posted.finish(slot);
                        finished = true;
                    }
                }
                finished
            };
            let (other, counts) = (posted.clone(), copies.clone());
            let sender = thread::spawn(move || work(false, &other, &counts));
            let mine = work(true, &posted, &copies);
            let theirs = sender.join().unwrap();
            assert_ne!(mine, theirs);
            assert!(!posted.is_shared(slot, word));
            for count in copies.iter() {
                assert_eq!(count.load(Ordering::Relaxed), 1);
            }
        });
    }
}

/// One of the two fails: each chunk is copied once, and the other finishes.
#[test]
fn a_chunk_that_was_given_back_is_copied_by_the_other() {
    for fails in [false, true] {
        loom::model(move || {
            let posted = Arc::new(PostedReceives::default());
            let source = Memory { address: 5, ..Memory::opaque(2) };
            let slot = posted.begin(&receive(1), &source, 0, Target::Soon, false).expect("room");
            let copies = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
            // Who fails tries once; the other one looks again and again, as long as it is not over.
            let work = move |back: bool, posted: &PostedReceives, copies: &[AtomicU32; 2]| {
                let (at, word) = (posted.slot(slot), posted.word(slot));
                while posted.word(slot).stage() == Stage::Shared {
                    let Some(chunk) = at.claim(word, back, 2) else {
                        if back == fails {
                            return;
                        }
                        thread::yield_now();
                        continue;
                    };
                    if back == fails {
                        return at.give_back(back);
                    }
                    copies[chunk as usize].fetch_add(1, Ordering::Relaxed);
                    if at.copied(2) {
                        posted.finish(slot);
                    }
                }
            };
            let (other, counts) = (posted.clone(), copies.clone());
            let sender = thread::spawn(move || work(false, &other, &counts));
            work(true, &posted, &copies);
            sender.join().unwrap();
            assert_eq!(posted.word(slot).stage(), Stage::Filled);
            assert!(copies.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        });
    }
}

/// A sender that comes to a copy of the receiver's when it is over, and another one, of more chunks, has begun in its
/// slot, copies nothing.
#[test]
fn who_joins_late_copies_nothing_of_the_next_message() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let posted = Arc::new(PostedReceives::default());
        let source = Memory { address: 5, ..Memory::opaque(8) };
        let long = |len: u64| Published { target: Memory { len, ..receive(1).target }, ..receive(1) };
        let slot = posted.begin(&long(1), &source, 0, Target::Soon, false).expect("room");
        let copies = Arc::new(AtomicU32::new(0));
        let (other, counts) = (posted.clone(), copies.clone());
        let sender = thread::spawn(move || {
            let word = other.word(slot);
            if word.stage() != Stage::Shared || word.order() != 0 {
                return;
            }
            let chunks = other.target(slot).len as u32;
            if other.slot(slot).claim(word, false, chunks).is_some() {
                assert_eq!(chunks, 1);
                counts.fetch_add(1, Ordering::Relaxed);
                assert!(other.slot(slot).copied(1));
                other.finish(slot);
            }
        });
        let word = posted.word(slot);
        if posted.slot(slot).claim(word, true, 1).is_some() {
            copies.fetch_add(1, Ordering::Relaxed);
            assert!(posted.slot(slot).copied(1));
            posted.finish(slot);
            posted.free(slot, posted.word(slot));
            assert_eq!(posted.begin(&long(2), &source, 1, Target::Soon, false), Some(slot));
            assert!(posted.slot(slot).claim(posted.word(slot), true, 2).is_some());
        }
        sender.join().unwrap();
        assert_eq!(copies.load(Ordering::Relaxed), 1);
    });
}

/// What a sender does before it ends for ever: so many steps of those by which it fills a receive. `None`: that was the last one.
fn send_until_the_end(posted: &PostedReceives, by: By, mut steps: u32) -> Option<()> {
    let mut step = || steps.checked_sub(1).map(|left| steps = left);
    let (slot, word) = posted.find(&KEY, 0)?;
    step()?;
    if !posted.claim(slot, word) {
        return None;
    }
    step()?;
    match by {
        By::Packets => posted.send_packets(slot, word),
        By::Itself => {
            // The message's length is not that of the receive.
            posted.fill(slot, word, 5);
        }
        By::Chunks => {
            let source = Memory { address: 5, ..Memory::opaque(2) };
            // Words that say nothing before the slot's own.
            posted.slot(slot).share(word, &source, false);
            step()?;
            let word = posted.share(slot, word, &source, 2, Target::Soon, false);
            step()?;
            while posted.slot(slot).claim(word, false, 2).is_some() {
                step()?;
                let last = posted.slot(slot).copied(2);
                step()?;
                if last {
                    posted.slot(slot).end_sharing();
                    step()?;
                    posted.finish(slot);
                }
            }
        }
    }
    None
}

/// How a sender fills a receive.
#[derive(Clone, Copy, Debug)]
enum By {
    Packets,
    Itself,
    Chunks,
}

/// A sender may end at any of its steps. The receiver asks for its receive back, or copies chunks of it, and waits for nothing. When it knows of
/// the end, it frees all slots and uses them again.
#[test]
fn a_sender_that_ends_at_any_step_keeps_nothing() {
    for (by, most) in [(By::Packets, 2), (By::Itself, 2), (By::Chunks, 10)] {
        (0..=most).for_each(|steps| loom::model(move || a_sender_ends(by, steps)));
    }
}

fn a_sender_ends(by: By, steps: u32) {
    let posted = Arc::new(PostedReceives::default());
    let slot = posted.publish(&receive(1), 0, 0).expect("room");
    let other = posted.clone();
    let sender = thread::spawn(move || _ = send_until_the_end(&other, by, steps));
    if !posted.retract(slot) {
        let word = posted.word(slot);
        while word.stage() == Stage::Shared && posted.slot(slot).claim(word, true, 2).is_some() {
            if posted.slot(slot).copied(2) {
                posted.finish(slot);
            }
        }
    }
    // The kernel gives up the lock of a process when it stores nothing any more.
    sender.join().unwrap();
    let word = posted.word(slot);
    match (word.stage(), by) {
        (Stage::Filled, By::Chunks) => {
            assert_eq!(posted.size(slot), 2);
            assert!(posted.slot(slot).claim(word, true, 2).is_none(), "nothing is left of it to copy");
        }
        (Stage::Filled, _) => assert_eq!(posted.size(slot), 5),
        _ => {}
    }
    posted.in_use().for_each(|slot| posted.free(slot, posted.word(slot)));
    assert_eq!(posted.in_use().count(), 0);
    assert!((0..SLOTS as u32).all(|order| posted.publish(&receive(order), 1 + order, 0).is_some()));
    assert!((0..SLOTS as u32).all(|slot| posted.retract(slot)), "nobody claims them");
}

/// A receiver that holds its receive waits for a sender that fills it, and not for one that has ended: either it has the receive, or nothing more
/// comes to the memory of that.
#[test]
fn a_hold_ends_with_a_sender_that_ends_at_any_step() {
    for (by, most) in [(By::Packets, 2), (By::Itself, 2), (By::Chunks, 4)] {
        (0..=most).for_each(|steps| loom::model(move || a_sender_ends_at_a_hold(by, steps)));
    }
}

fn a_sender_ends_at_a_hold(by: By, steps: u32) {
    let (posted, gone) = (Arc::new(PostedReceives::default()), Arc::new(AtomicU32::new(0)));
    let slot = posted.publish(&receive(1), 0, 0).expect("room");
    let (other, lock) = (posted.clone(), gone.clone());
    let sender = thread::spawn(move || {
        _ = send_until_the_end(&other, by, steps);
        // Release: as the kernel's, which gives up the lock of a process when it stores nothing any more.
        lock.store(1, Ordering::Release);
    });
    // As `Shm::hold`.
    let held = loop {
        match posted.word(slot).stage() {
            Stage::Free | Stage::Filled | Stage::Packets => break false,
            Stage::Open if posted.hold(slot) => break true,
            _ => {}
        }
        if gone.load(Ordering::Acquire) == 1 {
            break false;
        }
        tern_atomics::yield_now();
    };
    let before = posted.word(slot);
    sender.join().unwrap();
    if held {
        assert_eq!(posted.word(slot).stage(), Stage::Held);
        posted.reopen(slot);
        assert!(posted.retract(slot), "it is open again");
    } else if matches!(before.stage(), Stage::Claimed | Stage::Shared) {
        assert_eq!(posted.word(slot), before, "the dead one goes on");
        posted.free(slot, before);
    }
}
