//! Transfers that are given up before they are over, or taken back.

use crate::network::Manners;
use crate::{buffer, world};
use tern_adi::{Adi, Pattern, SendMode, Sent, Tuple};

/// MPI_Cancel followed by MPI_Request_free: nobody sees what became of it, and nothing is left.
#[test]
fn a_cancelled_transfer_may_be_given_up() {
    let manners = Manners { seed: 7, packet: 16, queue: 2 };
    for (eager_limit, mode) in [(100, SendMode::Synchronous), (0, SendMode::Standard)] {
        let engines = world::engines(2, manners, eager_limit);
        let progress = || {
            for _ in 0..1000 {
                engines[0].progress();
                engines[1].progress();
            }
        };
        let tuple = Tuple { context: 0, source: 0, tag: 5 };
        let pattern = Pattern { context: 0, source: 0, tag: 5 };
        let mut out = buffer::Buffer::holding(&[1; 50], false);
        let Sent::Pending(send) = engines[0].isend(1, tuple, out.data(), mode) else {
            panic!("the send waits for its receive")
        };
        engines[0].cancel(send);
        engines[0].release(send);
        let mut unused = buffer::Buffer::new(50, false);
        let receive = engines[1].irecv(0, pattern, unused.data());
        engines[1].cancel(receive);
        engines[1].release(receive);
        progress();
        assert_eq!(engines[1].unexpected(), (0, 0));
        // The next pair is not disturbed by what the first left behind.
        let mut second = buffer::Buffer::holding(&[2; 50], false);
        let mut into = buffer::Buffer::new(50, false);
        let receive = engines[1].irecv(0, pattern, into.data());
        let sent = engines[0].isend(1, tuple, second.data(), mode);
        progress();
        assert!(engines[1].is_done(receive));
        assert_eq!(engines[1].take(receive).bytes, 50);
        // It is done at once if its receive was published.
        assert!(match sent {
            Sent::Pending(request) => engines[0].is_done(request),
            Sent::Done => true,
        });
        unused.check(&[]);
        into.check(&[2; 50]);
    }
}

fn settle(engines: &[Adi]) {
    (0..1000).for_each(|_| engines.iter().for_each(|engine| _ = engine.progress()));
}

/// MPI_Request_free of a receive and of its send, before the message has come or after: from another process and from the own one.
#[test]
fn what_is_given_up_ends_all_the_same() {
    const LENGTHS: [usize; 3] = [0, 5, 60];
    const MODES: [SendMode; 2] = [SendMode::Standard, SendMode::Synchronous];
    for case in 0..720u64 {
        let choice = |at: u32, of: usize| (case / [1, 2, 4, 12, 24][at as usize]) as usize % of;
        let (early, source, len) = (choice(0, 2) == 0, choice(1, 2), LENGTHS[choice(2, 3)]);
        let (mode, eager_limit) = (MODES[choice(3, 2)], [0, 20, 100][choice(4, 3)]);
        let engines = world::engines(2, Manners { seed: case, packet: 16, queue: 2 }, eager_limit);
        let tuple = Tuple { context: 0, source: source as i32, tag: 5 };
        let pattern = Pattern { context: 0, source: source as i32, tag: 5 };
        let (mut out, mut into) = (buffer::Buffer::holding(&vec![3; len], false), buffer::Buffer::new(len, false));
        let mut receive = || engines[1].release(engines[1].irecv(source as u32, pattern, into.data()));
        let mut send = || {
            if let Sent::Pending(request) = engines[source].isend(1, tuple, out.data(), mode) {
                engines[source].release(request);
            }
        };
        if early {
            receive();
            send();
        } else {
            send();
            settle(&engines);
            receive();
        }
        settle(&engines);
        into.check(&vec![3; len]);
        for engine in &engines {
            assert_eq!((engine.unexpected(), engine.pending().len()), ((0, 0), 0), "case {case}");
        }
    }
}
