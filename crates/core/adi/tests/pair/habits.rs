//! Which receives are published, by what the program has done before.

use crate::buffer::Buffer;
use crate::network::Manners;
use crate::{direct, world};
use tern_adi::{Adi, Pattern, SendMode, Sent, Tuple};

const EAGER: usize = 100;

/// Nanoseconds of the program's own work, more than what counts as such.
const WORK: u64 = 2000;

/// Both post a receive of `len` bytes, send if `sends` says so of them, compute for `work` nanoseconds, and wait.
fn round(engines: &[Adi], len: usize, sends: [bool; 2], work: u64) {
    let mut into = [Buffer::new(len, false), Buffer::new(len, false)];
    let mut out = [1, 2].map(|byte| Buffer::holding(&vec![byte; len], false));
    let mut receives = Vec::new();
    for me in 0..2 {
        let pattern = Pattern { context: 0, source: 1 - me as i32, tag: 1 };
        receives.push(sends[1 - me].then(|| engines[me].irecv(1 - me as u32, pattern, into[me].data())));
    }
    let sent: Vec<_> = (0..2)
        .map(|me| {
            let tuple = Tuple { context: 0, source: me as i32, tag: 1 };
            sends[me].then(|| engines[me].isend(1 - me as u32, tuple, out[me].data(), SendMode::Standard))
        })
        .collect();
    world::pass(work);
    let requests: Vec<Vec<_>> = (0..2)
        .map(|me| {
            let sent = match sent[me] {
                Some(Sent::Pending(request)) => Some(request),
                _ => None,
            };
            receives[me].into_iter().chain(sent).collect()
        })
        .collect();
    let waits = [engines[0].keep_waiting(), engines[1].keep_waiting()];
    while !(0..2).all(|me| requests[me].iter().all(|&request| engines[me].is_done(request))) {
        engines.iter().for_each(|engine| _ = engine.progress());
    }
    drop(waits);
    for me in 0..2 {
        requests[me].iter().for_each(|&request| _ = engines[me].take(request));
        if sends[1 - me] {
            into[me].check(&vec![2 - me as u8; len]);
        }
    }
}

/// How many receives are published in rounds that follow ten like them.
fn published(len: usize, sends: [bool; 2], work: u64) -> u32 {
    let engines = world::engines(2, Manners { seed: 9, packet: 4096, queue: 100 }, EAGER);
    (0..10).for_each(|_| round(&engines, len, sends, work));
    let before = direct::PUBLISHED.get();
    (0..10).for_each(|_| round(&engines, len, sends, work));
    direct::PUBLISHED.get() - before
}

/// Receives of messages that may go without asking are not published by who exchanges, although it computes before it waits: one copy by the
/// sender would write to what the receiver has in its cache.
#[test]
fn who_exchanges_and_computes_publishes_long_receives_only() {
    assert_eq!(published(EAGER, [true, true], WORK), 0);
    assert!(published(EAGER + 1, [true, true], WORK) >= 20);
}

/// Who computes and sends nothing has its receives filled meanwhile.
#[test]
fn who_only_receives_and_computes_publishes() {
    assert!(published(EAGER, [true, false], WORK) >= 10);
}

/// Who waits at once has nothing from that: its messages come in packets while it waits.
#[test]
fn who_only_receives_and_waits_at_once_does_not_publish_where_packets_are_better() {
    assert_eq!(published(EAGER, [true, false], 0), 0);
}
