//! Packets that name a transfer which has not come to the stage that they belong to, or has left it: each is told, and nothing else happens by it.

use crate::buffer::Buffer;
use crate::damaged::*;
use crate::direct;
use crate::network::{Manners, Scissors};
use crate::world::connected;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use tern_adi::{Adi, Damaged, Pattern, Request, SendMode, Sent, Tuple};

/// How far a message of process 0 to process 1 has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Far {
    /// Its sender has asked, and nobody has answered.
    Asked,
    /// It is short, synchronous, and has no receive.
    Unmatched,
    /// Its receiver has asked for packets, and some have come.
    Cleared,
    /// Some packets of it have come without asking.
    Begun,
}

const ALL: [Far; 4] = [Far::Asked, Far::Unmatched, Far::Cleared, Far::Begun];
const LONG: usize = 2000;
const SHORT: usize = 10;

/// Two engines with that message.
struct Halfway {
    engines: Vec<Adi>,
    scissors: Scissors,
    told: Rc<RefCell<Vec<Damaged>>>,
    out: Buffer,
    into: Buffer,
    send: Request,
    receive: Option<Request>,
}

impl Halfway {
    fn new(far: Far) -> Halfway {
        // Packets and nothing else, of which few are on their way at a time.
        direct::ABSENT.set(true);
        let eager_limit = if far == Far::Begun { 2 * LONG } else { 2 * SHORT };
        let (engines, scissors) = connected(2, Manners { seed: 3, packet: 64, queue: 4 }, Some(eager_limit));
        let told = listen(&engines);
        let (len, mode) = match far {
            Far::Unmatched => (SHORT, SendMode::Synchronous),
            _ => (LONG, SendMode::Standard),
        };
        let (mut out, into) = (Buffer::holding(&vec![7; len], false), Buffer::new(LONG, false));
        let Sent::Pending(send) = engines[0].isend(1, Tuple { context: 0, source: 0, tag: 1 }, out.data(), mode) else {
            panic!("there is no room for all of it")
        };
        let mut halfway = Halfway { engines, scissors, told, out, into, send, receive: None };
        if matches!(far, Far::Cleared | Far::Begun) {
            halfway.receive();
        }
        halfway.progress(1);
        if far == Far::Cleared {
            halfway.progress(0);
            halfway.progress(1);
        }
        halfway
    }

    fn receive(&mut self) {
        let pattern = Pattern { context: 0, source: 0, tag: 1 };
        self.receive.get_or_insert_with(|| self.engines[1].irecv(0, pattern, self.into.data()));
    }

    fn progress(&self, at: usize) {
        (0..100).for_each(|_| _ = self.engines[at].progress());
    }

    /// A packet comes to process `at` that the other has never sent.
    fn forge(&self, at: usize, kind: u64, request: u64, size: u64, payload: &[u8]) {
        self.scissors.forge(1 - at as u32, at as u32, [kind, 0, size, request], payload);
        self.progress(at);
    }

    /// The message comes, whole.
    fn finish(mut self, len: usize) {
        self.receive();
        (0..1000).for_each(|at| self.progress(at % 2));
        let receive = self.receive.expect("it was started");
        assert!(self.engines[0].is_done(self.send) && self.engines[1].is_done(receive));
        assert!(!self.engines[0].take(self.send).cancelled);
        assert_eq!(self.engines[1].take(receive).bytes, len as u64);
        self.into.check(&vec![7; len]);
        self.out.data();
    }
}

/// What cannot come to the sender of such a message, and to its receiver.
fn impossible(far: Far) -> [&'static [u64]; 2] {
    let to_sender: &[u64] = match far {
        Far::Asked => &[ACK, ATS_UNCONFIRMED, CANCELLED],
        Far::Unmatched => &[CTS, RTR, JOIN, ATS, ATS_KEPT, ATS_UNCONFIRMED, CANCELLED],
        Far::Cleared | Far::Begun => &[CTS, RTR, JOIN, ATS, ATS_KEPT, ATS_UNCONFIRMED, ACK, CANCELLED],
    };
    let to_receiver: &[u64] = match far {
        Far::Asked | Far::Unmatched => &[MORE],
        Far::Cleared => &[FIN, MORE],
        Far::Begun => &[DATA, FIN],
    };
    [to_sender, to_receiver]
}

#[test]
fn what_comes_at_the_wrong_stage_is_told_and_ignored() {
    for far in ALL {
        for (at, kinds) in impossible(far).into_iter().enumerate() {
            for &kind in kinds {
                let halfway = Halfway::new(far);
                let request = if at == 0 { number(halfway.send) } else { halfway.receive.map_or(0, number) };
                let payload: &[u8] = if matches!(kind, DATA | MORE) { &[1; 4] } else { &[] };
                halfway.forge(at, kind, request, 4, payload);
                let told = halfway.told.borrow().clone();
                let [Damaged { kind: said, .. }] = told[..] else { panic!("{far:?}, kind {kind} to {at}: {told:?}") };
                assert_eq!(u64::from(said), kind, "{far:?}");
                let len = if far == Far::Unmatched { SHORT } else { LONG };
                halfway.finish(len);
            }
        }
    }
    direct::ABSENT.set(false);
}

proptest! {
    /// Whatever a few packets say of a message that is on its way, no process dies of it.
    #[test]
    fn any_packets_are_survived_at_any_stage(
        far in prop::sample::select(&ALL[..]),
        packets in prop::collection::vec(
            (0..2usize, 1..20u64, prop_oneof![3 => 0..4u64, 1 => any::<u64>()], prop_oneof![0..50u64, any::<u64>()], 0..50usize),
            1..6,
        ),
    ) {
        let mut halfway = Halfway::new(far);
        for (at, kind, request, size, len) in packets {
            // Memory that a packet tells of is the device's to look at.
            let payload = vec![0; if matches!(kind, RTS | RTR) { 0 } else { len }];
            halfway.forge(at, kind, request, size, &payload);
        }
        halfway.receive();
        (0..20).for_each(|at| halfway.progress(at % 2));
        direct::ABSENT.set(false);
    }
}
