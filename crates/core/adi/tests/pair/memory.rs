//! Memory of one process: what it keeps for messages, and what its device may give back.

use crate::network::Manners;
use crate::{buffer, direct, world};
use tern_adi::{Pattern, SendMode, Sent, Tuple};

/// Messages that nobody has asked for wait at their sender past the cap, and the one behind them comes through.
#[test]
fn a_flood_waits_at_its_sender() {
    const FLOOD: usize = 500;
    let engines = world::engines(2, Manners { seed: 9, packet: 64, queue: 4 }, 100);
    engines[1].cap_unexpected(2000);
    let pattern = |tag| Pattern { context: 0, source: 0, tag };
    let mut out: Vec<_> = (0..=FLOOD).map(|at| buffer::Buffer::holding(&[at as u8; 50], false)).collect();
    let mut sends = Vec::new();
    for (at, buffer) in out.iter_mut().enumerate() {
        let tuple = Tuple { context: 0, source: 0, tag: if at < FLOOD { 1 } else { 2 } };
        sends.push(engines[0].isend(1, tuple, buffer.data(), SendMode::Standard));
        // The sender does nothing but send.
        engines[1].progress();
    }
    let mut last = buffer::Buffer::new(50, false);
    let receive = engines[1].irecv(0, pattern(2), last.data());
    while !engines[1].is_done(receive) {
        engines.iter().for_each(|engine| _ = engine.progress());
    }
    last.check(&[FLOOD as u8; 50]);
    let (messages, bytes) = engines[1].unexpected();
    assert_eq!(messages, FLOOD, "all of them are known");
    assert!(bytes <= 4000, "{bytes} of {} bytes are kept", FLOOD * 50);
    for at in 0..FLOOD {
        let mut into = buffer::Buffer::new(50, false);
        let receive = engines[1].irecv(0, pattern(1), into.data());
        while !engines[1].is_done(receive) {
            engines.iter().for_each(|engine| _ = engine.progress());
        }
        engines[1].take(receive);
        into.check(&[at as u8; 50]);
    }
    for _ in 0..100 {
        engines.iter().for_each(|engine| _ = engine.progress());
    }
    for sent in sends {
        assert!(matches!(sent, Sent::Done) || matches!(sent, Sent::Pending(request) if engines[0].is_done(request)));
    }
    // It need not ask any more.
    let mut again = buffer::Buffer::holding(&[7; 50], false);
    engines[0].isend(1, Tuple { context: 0, source: 0, tag: 3 }, again.data(), SendMode::Standard);
    for _ in 0..100 {
        engines.iter().for_each(|engine| _ = engine.progress());
    }
    assert_eq!(engines[1].unexpected(), (1, 50));
}

/// A device may give back what peers could be reading only while its process has nothing under way.
#[test]
fn a_device_is_told_when_nothing_is_under_way() {
    let engines = world::engines(2, Manners { seed: 3, packet: 4096, queue: 8 }, 100);
    let located = || direct::QUIET.take();
    let pattern = |tag| Pattern { context: 0, source: 0, tag };
    let mut buffers: Vec<_> = (0..4).map(|_| buffer::Buffer::new(50, false)).collect();
    located();
    let [a, b, out, more] = &mut buffers[..] else { unreachable!() };
    let first = engines[1].irecv(0, pattern(1), a.data());
    let second = engines[1].irecv(0, pattern(2), b.data());
    assert_eq!(located(), [true, false], "of two receives");
    let sends = [(1, out), (2, more)].map(|(tag, data)| {
        let tuple = Tuple { context: 0, source: 0, tag };
        let sent = engines[0].isend(1, tuple, data.data(), SendMode::Standard);
        assert_eq!(located(), [true], "of a sender that has nothing else under way");
        for _ in 0..1000 {
            engines[0].progress();
            engines[1].progress();
        }
        if let Sent::Pending(request) = sent {
            assert!(engines[0].is_done(request));
            engines[0].take(request);
        }
    });
    assert_eq!(sends.len(), 2);
    for receive in [first, second] {
        assert!(engines[1].is_done(receive));
        engines[1].take(receive);
    }
}
