//! Packets that cannot be right: each is told, and nothing else happens by it.

use crate::buffer::Buffer;
use crate::direct;
use crate::network::{Manners, Scissors};
use crate::world::connected;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use tern_adi::{Adi, Damaged, Pattern, Request, SendMode, Sent, Tuple};
use tern_device::{Header, Memory};

// The kinds, as they are on the wire.
pub const EAGER: u64 = 1;
pub const MORE: u64 = 2;
pub const RTS: u64 = 3;
pub const CTS: u64 = 4;
pub const DATA: u64 = 5;
pub const ACK: u64 = 6;
pub const CANCELLED: u64 = 8;
pub const RTR: u64 = 9;
pub const FIN: u64 = 10;
pub const JOIN: u64 = 11;
pub const ATS: u64 = 16;
pub const ATS_KEPT: u64 = 17;
pub const ATS_UNCONFIRMED: u64 = 18;
const NOTICE: u64 = 19;

/// Bytes of the send that waits to be answered, beyond the eager limit, and of the receive that waits for its message.
const SENT: usize = 40;
const AWAITED: usize = 8;
const EAGER_LIMIT: usize = 20;

/// Two engines. Process 0 has a send to process 1 under way, and a receive from it.
struct Scene {
    engines: Vec<Adi>,
    scissors: Scissors,
    told: Rc<RefCell<Vec<Damaged>>>,
    out: Buffer,
    into: Buffer,
    send: Request,
    receive: Request,
}

pub fn number(request: Request) -> u64 {
    let text = format!("{request:?}");
    text.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("the number of a request")
}

/// The damaged packets that these engines tell of.
pub fn listen(engines: &[Adi]) -> Rc<RefCell<Vec<Damaged>>> {
    let told = Rc::new(RefCell::new(Vec::new()));
    for engine in engines {
        let told = told.clone();
        engine.on_damage(move |damaged| told.borrow_mut().push(*damaged));
    }
    told
}

impl Scene {
    fn new(seed: u64) -> Scene {
        let (engines, scissors) = connected(2, Manners { seed, packet: 64, queue: 100 }, Some(EAGER_LIMIT));
        let told = listen(&engines);
        let (mut out, mut into) = (Buffer::holding(&[7; SENT], false), Buffer::new(AWAITED, false));
        let tuple = Tuple { context: 0, source: 0, tag: 1 };
        let Sent::Pending(send) = engines[0].isend(1, tuple, out.data(), SendMode::Standard) else {
            panic!("nobody has asked for it")
        };
        let receive = engines[0].irecv(1, Pattern { context: 0, source: 1, tag: 1 }, into.data());
        Scene { engines, scissors, told, out, into, send, receive }
    }

    fn progress(&self) {
        (0..100).for_each(|at| _ = self.engines[at % 2].progress());
    }

    /// Process 1 sends what process 0 waits for, and receives.
    fn finish(mut self) {
        let mut out = Buffer::holding(&[9; AWAITED], false);
        let mut into = Buffer::new(SENT, false);
        self.engines[1].isend(0, Tuple { context: 0, source: 1, tag: 1 }, out.data(), SendMode::Standard);
        let receive = self.engines[1].irecv(0, Pattern { context: 0, source: 0, tag: 1 }, into.data());
        (0..20).for_each(|_| self.progress());
        assert_eq!(self.engines[1].take(receive).bytes, SENT as u64);
        assert_eq!(self.engines[0].take(self.receive).bytes, AWAITED as u64);
        assert!(self.engines[0].is_done(self.send));
        into.check(&[7; SENT]);
        self.into.check(&[9; AWAITED]);
        self.out.data();
    }
}

/// A header, and the length of its payload.
type Forged = (Header, Vec<u8>);

/// What cannot be right in that scene; `send` and `receive` are the numbers of the requests.
fn impossible(send: u64, receive: u64) -> Vec<Forged> {
    let nobody = 77;
    let who = 1 | 1 << 32;
    let memory = |len: usize| Memory::dense(&0u8, len).encode().to_vec();
    let beyond = Memory { address: u64::MAX, ..Memory::dense(&0u8, SENT) }.encode().to_vec();
    let mut all: Vec<Forged> = vec![
        ([EAGER, who, 3, 0], vec![0; 4]),
        ([EAGER, who, u64::MAX, 0], vec![0; 4]),
        ([MORE, 0, 0, 0], vec![0; 4]),
        ([RTS, who, u64::MAX, 5], vec![]),
        ([RTS, who, 30, 5], memory(31)),
        ([RTS, who, SENT as u64, 5], beyond.clone()),
        ([RTS, who, 30, 5], vec![0; Memory::WORDS + 1]),
        ([CTS, 0, SENT as u64 + 1, send], vec![]),
        ([RTR, 0, SENT as u64 + 1, send], memory(SENT + 1)),
        ([RTR, 0, SENT as u64, send], memory(SENT - 1)),
        ([RTR, 0, SENT as u64, send], beyond),
        // It has matched nothing.
        ([DATA, 0, 4, receive], vec![0; 4]),
        ([FIN, 0, 0, receive], vec![]),
        ([NOTICE, 0, 3, 0], vec![0; 4]),
        ([NOTICE, 0, 0, 0], vec![]),
    ];
    all.extend([0, 20, 255].map(|kind| ([kind, who, 4, 0], vec![0; 4])));
    for kind in [DATA, FIN] {
        all.extend([0, send, nobody, u64::from(u32::MAX)].map(|request| ([kind, 0, 4, request], vec![0; 4])));
    }
    for kind in [CTS, RTR, JOIN, ATS, ATS_KEPT, ATS_UNCONFIRMED, ACK, CANCELLED] {
        all.extend([0, receive, nobody, u64::from(u32::MAX)].map(|request| ([kind, 0, 4, request], vec![])));
    }
    all
}

#[test]
fn what_cannot_be_right_is_told_and_ignored() {
    let scene = Scene::new(0);
    let all = impossible(number(scene.send), number(scene.receive));
    for (at, (header, payload)) in all.into_iter().enumerate() {
        for seed in 0..6 {
            let scene = Scene::new(seed);
            scene.scissors.forge(1, 0, header, &payload);
            scene.progress();
            let told = scene.told.borrow().clone();
            let [Damaged { from, kind, len, .. }] = told[..] else { panic!("packet {at}, {header:x?}: {told:?}") };
            assert_eq!((from, u64::from(kind), len), (1, header[0] & 0xff, payload.len()), "{told:?}");
            scene.finish();
        }
    }
}

/// No copy by both sides has begun where no device makes one: the send is not over by that.
#[test]
fn a_copy_that_no_device_makes_is_told() {
    direct::ABSENT.set(true);
    let scene = Scene::new(0);
    scene.scissors.forge(1, 0, [JOIN, 0, 3, number(scene.send)], &[]);
    scene.progress();
    assert_eq!(scene.told.borrow().len(), 1, "{:?}", scene.told);
    assert!(!scene.engines[0].is_done(scene.send));
    scene.finish();
    direct::ABSENT.set(false);
}

/// A request to send tells of more memory than there is, and that it counts on being kept: it waits.
#[test]
fn a_request_that_is_too_long_to_be_kept_waits() {
    const MAY_BUFFER: u64 = 1 << 10;
    const SIZE: u64 = 1 << 62;
    let scene = Scene::new(0);
    let memory = Memory { address: 8, len: SIZE, block: SIZE, stride: 0, place: 0, key: 0, cookie: 0 };
    scene.scissors.forge(1, 0, [RTS | MAY_BUFFER, 1 | 7 << 32, SIZE, 5], &memory.encode());
    scene.progress();
    assert_eq!(scene.engines[0].unexpected(), (1, 0));
    assert!(scene.told.borrow().is_empty(), "nothing is wrong with it as far as is known: {:?}", scene.told);
}

#[test]
fn a_damaged_packet_is_described() {
    let damaged = Damaged { from: 3, what: None, kind: 77, len: 32, why: "its kind is unknown" };
    assert_eq!(damaged.to_string(), "a damaged packet (kind 77, 32 bytes of payload): its kind is unknown");
    let known = Damaged { kind: 4, len: 0, ..damaged };
    assert_eq!(known.to_string(), "a damaged Cts packet (kind 4, 0 bytes of payload): its kind is unknown");
}

proptest! {
    /// Whatever a header says, no process dies of it.
    #[test]
    fn any_packet_is_survived(
        seed in any::<u64>(),
        kind in 0..24u64,
        flags in any::<u8>(),
        words in [prop_oneof![0..4u64, any::<u64>()], prop_oneof![0..50u64, any::<u64>()], prop_oneof![0..4u64, any::<u64>()]],
        len in 0..50usize,
    ) {
        let scene = Scene::new(seed);
        // Memory that a packet tells of is the device's to look at.
        let payload = vec![0; if kind == RTS || kind == RTR { len.min(Memory::WORDS - 1) } else { len }];
        scene.scissors.forge(1, 0, [kind | u64::from(flags) << 8, words[0], words[1], words[2]], &payload);
        scene.progress();
    }
}
