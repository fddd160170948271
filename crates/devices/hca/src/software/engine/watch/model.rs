//! Sleeping beside rings under loom: whatever the order of the steps, the engine's thread does not sleep over something
//! that it should do.
//!
//! Three take part: the peer, the engine's thread, and a thread of the program that polls now and then. An event of the
//! kernel is a flag that whoever looks at the sockets takes, as events of edges are.

use super::Watch;
use crate::software::rings::{Ends, Words};
use loom::sync::Arc;
use loom::thread;
use tern_atomics::{AtomicBool, AtomicU32, Ordering};

struct World {
    words: [Words; 2],
    watch: Watch,
    /// Bytes have come through the socket.
    event: AtomicBool,
    /// The eventfd of the engine.
    roused: AtomicBool,
    /// Work that a thread of this side has added.
    ready: AtomicU32,
}

impl World {
    fn new() -> Arc<World> {
        Arc::new(World {
            words: [Words::new(), Words::new()],
            watch: Watch::new(),
            event: AtomicBool::new(false),
            roused: AtomicBool::new(false),
            ready: AtomicU32::new(0),
        })
    }

    fn ends(&self) -> Ends<'_> {
        Ends { mine: &self.words[0], other: &self.words[1] }
    }

    fn peers_ends(&self) -> Ends<'_> {
        Ends { mine: &self.words[1], other: &self.words[0] }
    }

    /// The peer rings through the socket. A swap, as wherever the kernel changes something: it has one order.
    fn ring(&self) {
        self.event.swap(true, Ordering::SeqCst);
    }

    fn data(&self) -> bool {
        self.ends().arrived() > self.ends().taken()
    }

    fn take_all(&self) {
        let ends = self.ends();
        ends.consume((ends.arrived() - ends.taken()) as usize);
    }

    /// The engine's thread begins to watch; true if it goes to sleep.
    fn watches(&self, work: impl Fn() -> bool) -> bool {
        self.watch.begin(u64::MAX);
        self.ends().sleep();
        self.watch.settle();
        !work()
    }

    /// The engine's thread has events that wake it.
    fn is_woken(&self) -> bool {
        self.event.swap(false, Ordering::SeqCst) || self.roused.swap(false, Ordering::SeqCst)
    }
}

/// The peer writes twice, and a thread of the program may take the event of the first.
fn two_writes_and_a_look(takes_event: fn(&World)) {
    loom::model(move || {
        let world = World::new();
        let peer = {
            let world = world.clone();
            thread::spawn(move || {
                for bytes in 1..=2 {
                    if world.peers_ends().publish(bytes) {
                        world.ring();
                    }
                }
            })
        };
        let program = {
            let world = world.clone();
            thread::spawn(move || {
                if world.event.swap(false, Ordering::SeqCst) {
                    takes_event(&world);
                    world.take_all();
                }
            })
        };
        let sleeps = world.watches(|| world.data());
        peer.join().unwrap();
        program.join().unwrap();
        assert!(!sleeps || world.is_woken() || !world.data(), "slept over data");
    });
}

#[test]
fn who_takes_the_event_of_a_sleeper_has_the_peer_ring_again() {
    two_writes_and_a_look(|world| world.watch.event_is_taken(|| world.ends().sleep()));
}

/// The model must be able to fail.
#[test]
#[should_panic(expected = "slept over data")]
fn an_event_that_is_only_taken_is_caught() {
    two_writes_and_a_look(|_| ());
}

#[test]
fn a_writer_that_waits_for_room_gets_it() {
    loom::model(|| {
        let world = World::new();
        let peer = {
            let world = world.clone();
            thread::spawn(move || {
                if world.peers_ends().consume(1) {
                    world.ring();
                }
            })
        };
        let program = {
            let world = world.clone();
            thread::spawn(move || {
                // The ring is full. It goes on itself if there is room after all.
                world.ends().block(true);
                if world.ends().released() > 0 {
                    world.ends().block(false);
                }
            })
        };
        let can_write = || world.ends().is_blocked() && world.ends().released() > 0;
        let sleeps = world.watches(can_write);
        peer.join().unwrap();
        program.join().unwrap();
        assert!(!sleeps || world.is_woken() || !can_write(), "slept over room");
    });
}

#[test]
fn work_that_is_added_rouses_who_watches() {
    loom::model(|| {
        let world = World::new();
        let program = {
            let world = world.clone();
            thread::spawn(move || {
                // Release, as where the engine's lists are pushed to.
                world.ready.store(1, Ordering::Release);
                if world.watch.is_longer_than(0) {
                    world.roused.swap(true, Ordering::SeqCst);
                }
            })
        };
        let sleeps = world.watches(|| world.ready.load(Ordering::Acquire) != 0);
        program.join().unwrap();
        assert!(!sleeps || world.is_woken(), "slept over work");
    });
}

/// Another thread takes the work over, and the engine's thread watches again.
#[test]
fn a_watch_that_was_taken_over_can_begin_again() {
    loom::model(|| {
        let world = World::new();
        let program = {
            let world = world.clone();
            thread::spawn(move || {
                if world.watch.take_over() {
                    world.roused.swap(true, Ordering::SeqCst);
                }
            })
        };
        let peer = {
            let world = world.clone();
            thread::spawn(move || {
                if world.peers_ends().publish(1) {
                    world.ring();
                }
            })
        };
        let mut sleeps = world.watches(|| world.data());
        if sleeps && world.roused.swap(false, Ordering::SeqCst) {
            world.watch.end();
            world.ends().awake();
            sleeps = world.watches(|| world.data());
        }
        peer.join().unwrap();
        program.join().unwrap();
        assert!(!sleeps || world.is_woken() || !world.data(), "slept over data");
    });
}
