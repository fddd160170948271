//! The same over the RDMA device and the software HCA: tuple queues by RDMA write, lent buffers, registered memory. What
//! one process does the others see late.

use crate::buffer::Buffer;
use crate::world::{Action, World};
use crate::{CONTEXTS, LARGE, TINY, action, verdict};
use proptest::prelude::*;
use std::rc::Rc;
use tern_adi::{Adi, Pattern, SendMode, Sent, Tuple};
use tern_mcm::{Mcm, Patience};
use tern_verbs::{Endpoint, Settings, Transport};

fn engines(processes: u32, eager_limit: usize, settings: &Settings) -> Vec<Adi> {
    let open = |me| Endpoint::open(me, processes, settings).expect("a software HCA");
    let endpoints: Vec<Endpoint> = (0..processes).map(open).collect();
    let addresses: Vec<Vec<u8>> = endpoints.iter().map(Endpoint::address).collect();
    let engine = |(me, endpoint): (u32, Endpoint)| {
        let device = Box::new(endpoint.join(&addresses).expect("buffers"));
        Adi::new(Rc::new(Mcm::new(device, me, processes, Patience::new(1, 1))), Some(eager_limit))
    };
    (0..).zip(endpoints).map(engine).collect()
}

fn run(processes: u32, eager_limit: usize, settings: &Settings, actions: &[Action]) {
    let mut world = World::over(engines(processes, eager_limit, settings));
    for action in actions {
        world.act(action);
    }
    world.finish(CONTEXTS, 5 * eager_limit + 100);
    verdict::judge(&world);
}

/// Receives are published from a few bytes on, and every buffer is lent.
fn settings(tuple_copy: usize) -> Settings {
    Settings { direct: 12, tuple_copy, frequent_share: 0, ..Settings::default() }
}

/// Each tuple gets a queue of the card, of which there are too few.
fn queues(tuple_copy: usize) -> Settings {
    Settings { transport: Transport::Xrc, queues: 2, queue_after: 1, ..settings(tuple_copy) }
}

/// Cases of a test: a few dozen, or as many as the environment asks for.
fn cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() { usual } else { ProptestConfig { cases: 24, ..usual } }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn two_processes_over_rdma(actions in prop::collection::vec(action(TINY), 1..120), copied in 0..40usize) {
        run(2, TINY, &settings(copied), &actions);
    }

    #[test]
    fn three_processes_over_rdma(actions in prop::collection::vec(action(LARGE), 1..80), copied in 0..8000usize) {
        run(3, LARGE, &settings(copied), &actions);
    }

    #[test]
    fn two_processes_over_queues(actions in prop::collection::vec(action(TINY), 1..120), copied in 0..40usize) {
        run(2, TINY, &queues(copied), &actions);
    }

    #[test]
    fn three_processes_over_queues(actions in prop::collection::vec(action(LARGE), 1..80), copied in 0..8000usize) {
        run(3, LARGE, &queues(copied), &actions);
    }
}

/// A receiver that looks at nothing gets its data, and one that takes a receive back while its sender looks at nothing
/// gets its answer.
#[test]
fn the_other_side_need_not_look() {
    let engines = engines(2, LARGE, &settings(0));
    let pattern = |tag| Pattern { context: 0, source: 0, tag };
    let tuple = |tag| Tuple { context: 0, source: 0, tag };
    let both = || {
        engines[0].progress();
        engines[1].progress();
        std::thread::yield_now();
    };
    let bytes: Vec<u8> = (0..100_000).map(|at| at as u8 & 0x7f).collect();
    let mut out = Buffer::holding(&bytes, false);
    // Until the sender has given its table out, and where it does not know of the receive yet, it asks to send.
    for round in 0.. {
        assert!(round < 1000, "nothing was ever delivered directly");
        let mut into = vec![0xff_u8; bytes.len()];
        // SAFETY: the vector lives longer than the transfer.
        let data = tern_adi::Data::Bytes(into.as_mut_ptr(), into.len());
        let receive = engines[1].irecv(0, pattern(2), data);
        (0..round).for_each(|_| std::thread::sleep(std::time::Duration::from_micros(50)));
        let before = tern_counters::RDMA_DIRECT.get();
        let sent = engines[0].isend(1, tuple(2), out.data(), SendMode::Standard);
        let direct = tern_counters::RDMA_DIRECT.get() > before;
        // The receiver computes.
        while direct && std::hint::black_box(&mut into).last() == Some(&0xff) {
            engines[0].progress();
        }
        assert!(!direct || !engines[1].is_done(receive), "nobody has looked");
        assert!(!direct || into == bytes);
        while !engines[1].is_done(receive) || matches!(sent, Sent::Pending(request) if !engines[0].is_done(request)) {
            both();
        }
        engines[1].take(receive);
        if let Sent::Pending(request) = sent {
            engines[0].take(request);
        }
        assert_eq!(into, bytes);
        if direct {
            break;
        }
    }
    // The sender computes.
    let mut unused = Buffer::new(90, false);
    let receive = engines[1].irecv(0, pattern(3), unused.data());
    engines[1].cancel(receive);
    while !engines[1].is_done(receive) {
        engines[1].progress();
        std::thread::yield_now();
    }
    assert!(engines[1].take(receive).cancelled);
}
