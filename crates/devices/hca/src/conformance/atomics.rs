//! Atomics.

use super::world::*;
use crate::{Error, Opcode, Operation, Status};

pub fn a_fetch_add_yields_what_was_there(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (here, mut there) = (one.buffer(8), other.buffer(16));
    there.fill(&[[0; 8], 100u64.to_le_bytes()].concat());
    for (add, before) in [(5, 100), (u64::MAX, 105), (0, 104)] {
        let done = one.execute(Operation::FetchAdd(there.remote(8), add), &[here.whole()]);
        assert_eq!((done.status, done.opcode, done.len), (Status::Success, Opcode::FetchAdd, 8));
        assert_eq!(here.word(0), before);
    }
    assert_eq!((there.word(0), there.word(8)), (0, 104));
    Ok(())
}

pub fn a_compare_swap_swaps_if_equal(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (here, there) = (one.buffer(8), other.buffer(8));
    for (compare, swap, before, after) in [(0, 7, 0, 7), (0, 8, 7, 7), (7, u64::MAX, 7, u64::MAX)] {
        let remote = there.remote(0);
        let done = one.execute(Operation::CompareSwap { remote, compare, swap }, &[here.whole()]);
        assert_eq!((done.status, done.opcode), (Status::Success, Opcode::CompareSwap));
        assert_eq!((here.word(0), there.word(0)), (before, after));
    }
    Ok(())
}

pub fn atomics_of_many_peers_add_up(factory: Factory) -> Result<(), String> {
    const PEERS: usize = 6;
    const EACH: u64 = 300;
    let options = SideOptions::default();
    let target = Side::new(factory()?, &options);
    let counter = target.buffer(8);
    let mut ends = Vec::new();
    let mut peers = Vec::new();
    for _ in 0..PEERS {
        let (peer, end) = (Side::new(factory()?, &options), Side::new(target.hca.clone(), &options));
        // Its own protection domain does not reach the counter: one of the target's does.
        let end = Side { pair: target.pair_like(&options), ..end };
        connect(&peer.pair, &end.pair, &options.connection);
        ends.push(end);
        peers.push(peer);
    }
    let remote = counter.remote(0);
    let found = std::thread::scope(|scope| {
        let add = |peer: Side| {
            let here = peer.buffer(8);
            let add = Operation::FetchAdd(remote, 1);
            let found: Vec<u64> = (0..EACH)
                .map(|_| {
                    assert_eq!(peer.execute(add, &[here.whole()]).status, Status::Success);
                    here.word(0)
                })
                .collect();
            assert!(found.is_sorted());
            found
        };
        let threads: Vec<_> = peers.drain(..).map(|peer| scope.spawn(move || add(peer))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a peer")).collect::<Vec<u64>>()
    });
    let mut found = found;
    found.sort_unstable();
    assert_eq!(found, (0..PEERS as u64 * EACH).collect::<Vec<u64>>(), "each value is found once");
    assert_eq!(counter.word(0), PEERS as u64 * EACH);
    Ok(())
}

pub fn a_misaligned_atomic_is_refused(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (here, there) = (one.buffer(8), other.buffer(16));
    // By the card here, or by that of the peer.
    match one.post(1, Operation::FetchAdd(there.remote(4), 1), &[here.whole()]) {
        Err(Error::Invalid(_)) => (),
        posted => {
            posted.expect("posted, or invalid");
            let status = next(&one.sends).status;
            assert!(matches!(status, Status::RemoteInvalidRequest | Status::RemoteAccess), "{status:?}");
        }
    }
    assert_eq!(there.bytes(), [0; 16]);
    Ok(())
}
