//! The doorbell under loom: no wake-up is lost, in whatever order sleeper and ringer step.

use super::{Asleep, Barrier, Doorbell, Sleepers};
use loom::sync::Arc;
use loom::thread;
use tern_atomics::{AtomicU32, Ordering};

struct Shared {
    doorbell: Doorbell,
    sleepers: Sleepers,
    /// Of two that sleep.
    asleep: [Asleep; 2],
    /// What a sender publishes before it rings.
    work: [AtomicU32; 2],
}

impl Doorbell {
    pub fn new() -> Doorbell {
        Doorbell { sleeping: AtomicU32::new(0), rings: AtomicU32::new(0) }
    }

    /// The futex word has moved on since `token`, so that nobody sleeps on it.
    pub fn rung_since(&self, token: u32) -> bool {
        self.rings.load(Ordering::SeqCst) != token
    }
}

fn shared() -> Arc<Shared> {
    let sleepers = Sleepers(AtomicU32::new(0));
    let asleep = [0, 1].map(|_| Asleep(AtomicU32::new(0)));
    Arc::new(Shared { doorbell: Doorbell::new(), sleepers, asleep, work: [AtomicU32::new(0), AtomicU32::new(0)] })
}

/// One attempt to sleep until `work` is there; returns the token when it would have slept.
fn doze(shared: &Shared, work: usize) -> Option<u32> {
    let token = shared.doorbell.prepare(Barrier::Expedited);
    // Acquire: pairs with the release in `publish`.
    (shared.work[work].load(Ordering::Acquire) == 0).then_some(token)
}

fn publish(shared: &Shared, work: usize) {
    // Release: pairs with the acquire in `doze`.
    shared.work[work].store(1, Ordering::Release);
}

impl Shared {
    /// Nobody sleeps: there was no need to, or the bell has been rung.
    fn rung_since(&self, token: Option<u32>) -> bool {
        token.is_none_or(|token| self.doorbell.rung_since(token))
    }
}

#[test]
fn a_sleeper_sees_the_work_or_is_rung() {
    loom::model(|| {
        let shared = shared();
        let other = shared.clone();
        let sender = thread::spawn(move || {
            publish(&other, 0);
            other.doorbell.ring();
        });
        let token = doze(&shared, 0);
        sender.join().unwrap();
        assert!(shared.rung_since(token));
    });
}

#[test]
fn two_senders_wake_one_sleeper() {
    loom::model(|| {
        let shared = shared();
        let senders = [0, 1].map(|work| {
            let other = shared.clone();
            thread::spawn(move || {
                publish(&other, work);
                other.doorbell.ring();
            })
        });
        // It sleeps until there is work of any kind, then again for the rest.
        let token = shared.doorbell.prepare(Barrier::Expedited);
        let seen = |work: usize| shared.work[work].load(Ordering::Acquire) != 0;
        let token = (!seen(0) && !seen(1)).then_some(token);
        for sender in senders {
            sender.join().unwrap();
        }
        assert!(shared.rung_since(token));
    });
}

#[test]
fn a_second_sleep_is_rung_too() {
    loom::model(|| {
        let shared = shared();
        let other = shared.clone();
        let sender = thread::spawn(move || {
            for work in 0..2 {
                publish(&other, work);
                other.doorbell.ring();
            }
        });
        // Whatever comes of the first, it is awake again afterwards.
        doze(&shared, 0);
        shared.doorbell.lower();
        let token = doze(&shared, 1);
        sender.join().unwrap();
        assert!(shared.rung_since(token));
    });
}

/// One sleeps while another one comes and goes; the sender looks at the flags only if somebody is counted.
fn counted(doze: fn(&Shared) -> Option<u32>) {
    loom::model(move || {
        let shared = shared();
        let senders = [shared.clone(), shared.clone()];
        let [sender, passer] = senders;
        let sender = thread::spawn(move || {
            publish(&sender, 0);
            if sender.sleepers.any() {
                sender.doorbell.ring();
            }
        });
        let passer = thread::spawn(move || {
            passer.sleepers.enter(&passer.asleep[1]);
            passer.sleepers.leave(&passer.asleep[1]);
        });
        let token = doze(&shared);
        sender.join().unwrap();
        passer.join().unwrap();
        assert!(shared.rung_since(token), "rung_since");
    });
}

#[test]
fn a_sleeper_that_is_counted_is_rung() {
    counted(|shared| {
        shared.sleepers.enter(&shared.asleep[0]);
        doze(shared, 0)
    });
}

#[test]
#[should_panic(expected = "rung_since")]
fn a_sleeper_that_is_counted_too_late_is_caught() {
    counted(|shared| {
        let token = doze(shared, 0);
        shared.sleepers.enter(&shared.asleep[0]);
        token
    });
}

#[test]
fn threads_of_one_process_are_all_woken() {
    loom::model(|| {
        let shared = shared();
        let sleeper = {
            let shared = shared.clone();
            thread::spawn(move || doze(&shared, 0))
        };
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || {
                publish(&shared, 0);
                shared.doorbell.ring();
            })
        };
        let mine = doze(&shared, 0);
        sender.join().unwrap();
        let other = sleeper.join().unwrap();
        assert!(shared.rung_since(mine));
        assert!(shared.rung_since(other));
    });
}

/// The model must be able to fail: without a fence at the sender, the load of the flag may be
/// older than the store of the work.
#[test]
#[should_panic(expected = "rung_since")]
fn a_sender_without_fence_is_caught() {
    loom::model(|| {
        let shared = shared();
        let other = shared.clone();
        let sender = thread::spawn(move || {
            publish(&other, 0);
            if other.doorbell.sleeping.load(Ordering::Relaxed) != 0 {
                other.doorbell.wake();
            }
        });
        let token = doze(&shared, 0);
        sender.join().unwrap();
        assert!(shared.rung_since(token), "rung_since");
    });
}

/// Steps of a ring after which its process may die.
const RING: usize = 3;

impl Doorbell {
    /// Rings, up to that step.
    fn ring_until(&self, step: usize) {
        super::fence_at_the_waker();
        if step == 0 || self.sleeping.load(Ordering::Relaxed) == 0 {
            return;
        }
        if step == 1 || self.sleeping.swap(0, Ordering::SeqCst) == 0 {
            return;
        }
        if step == RING {
            self.rings.fetch_add(1, Ordering::Release);
        }
    }
}

/// A sender that dies in the midst of a ring costs a sleep until its timeout. All that it has given is seen then, and the bell rings as before.
#[test]
fn a_dead_ringer_leaves_a_bell_that_rings() {
    for step in 0..=RING {
        loom::model(move || {
            let shared = shared();
            let [dying, living] = [shared.clone(), shared.clone()];
            let dying = thread::spawn(move || {
                publish(&dying, 0);
                dying.doorbell.ring_until(step);
            });
            let token = doze(&shared, 0);
            dying.join().unwrap();
            assert!(step < RING || shared.rung_since(token));
            // The timeout, if nobody has rung.
            shared.doorbell.lower();
            assert_eq!(doze(&shared, 0), None, "the work of the dead");
            shared.doorbell.lower();
            let living = thread::spawn(move || {
                publish(&living, 1);
                living.doorbell.ring();
            });
            let token = doze(&shared, 1);
            living.join().unwrap();
            assert!(shared.rung_since(token));
        });
    }
}

impl Sleepers {
    /// Comes and goes, up to that step.
    fn pass_until(&self, own: &Asleep, step: usize) {
        let steps: [&dyn Fn(); 4] = [
            &|| _ = self.0.fetch_add(1, Ordering::SeqCst),
            &|| own.0.store(1, Ordering::Relaxed),
            &|| own.0.store(0, Ordering::Relaxed),
            &|| _ = self.0.fetch_sub(1, Ordering::Relaxed),
        ];
        steps[..step].iter().for_each(|step| step());
    }
}

/// One dies at any step of its sleep, and is buried while another one goes to sleep: that one is counted all the same.
#[test]
fn a_dead_sleeper_hides_no_living_one() {
    for step in 0..=4 {
        loom::model(move || {
            let shared = shared();
            let [sender, finder] = [shared.clone(), shared.clone()];
            shared.sleepers.pass_until(&shared.asleep[1], step);
            let finder = thread::spawn(move || finder.sleepers.bury(&finder.asleep[1]));
            let sender = thread::spawn(move || {
                publish(&sender, 0);
                if sender.sleepers.any() {
                    sender.doorbell.ring();
                }
            });
            shared.sleepers.enter(&shared.asleep[0]);
            let token = doze(&shared, 0);
            sender.join().unwrap();
            finder.join().unwrap();
            assert!(shared.rung_since(token), "rung_since");
            shared.sleepers.leave(&shared.asleep[0]);
            // The dead one, which may count twice.
            assert!((1..=2).contains(&shared.sleepers.count()));
        });
    }
}
