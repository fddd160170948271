//! What is refused, and what an error does.

use super::world::*;
use crate::{Access, Connection, Operation, Remote, Segment, State, Status};
use std::time::Duration;

/// The operation fails with that status, and nothing changes at the target.
fn refused(factory: Factory, status: Status, access: Access, make: fn(Remote) -> Operation) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let here = one.buffer(8);
    let there = Buffer::new(&other.domain, 64, access);
    let operation = make(there.remote(0));
    assert_eq!(one.execute(operation, &[here.whole()]).status, status, "{operation:?}");
    assert_eq!(one.pair.state(), State::Error);
    assert!(there.bytes() == [0; 64]);
    Ok(())
}

/// Each kind of access, at the place that `make` says.
fn kinds() -> [fn(Remote) -> Operation; 4] {
    [
        Operation::Write,
        Operation::Read,
        |remote| Operation::FetchAdd(remote, 1),
        |remote| Operation::CompareSwap { remote, compare: 0, swap: 1 },
    ]
}

pub fn bounds_are_checked(factory: Factory) -> Result<(), String> {
    let outside: [fn(Remote) -> Remote; 4] = [
        |it| Remote { address: it.address + 64, ..it },
        |it| Remote { address: it.address - 8, ..it },
        |it| Remote { address: it.address + (1 << 40), ..it },
        |it| Remote { address: u64::MAX - 7, ..it },
    ];
    for place in outside {
        for kind in kinds() {
            let (one, other) = pair(factory)?;
            let (here, there) = (one.buffer(8), other.buffer(64));
            let operation = kind(place(there.remote(0)));
            assert_eq!(one.execute(operation, &[here.whole()]).status, Status::RemoteAccess, "{operation:?}");
        }
    }
    Ok(())
}

pub fn keys_are_checked(factory: Factory) -> Result<(), String> {
    refused(factory, Status::RemoteAccess, Access::ALL, |it| Operation::Write(Remote { key: it.key ^ 0x5500, ..it }))?;
    refused(factory, Status::RemoteAccess, Access::ALL, |it| Operation::Read(Remote { key: it.key ^ 1, ..it }))?;
    refused(factory, Status::RemoteAccess, Access::ALL, |it| Operation::Read(Remote { key: 0, ..it }))
}

pub fn access_is_checked(factory: Factory) -> Result<(), String> {
    let read = Access::REMOTE_READ;
    let write = Access { remote_write: true, ..Access::LOCAL };
    refused(factory, Status::RemoteAccess, read, Operation::Write)?;
    refused(factory, Status::RemoteAccess, read, |it| Operation::FetchAdd(it, 1))?;
    refused(factory, Status::RemoteAccess, write, Operation::Read)?;
    refused(factory, Status::RemoteAccess, Access::LOCAL, Operation::Write)
}

pub fn local_memory_is_checked(factory: Factory) -> Result<(), String> {
    let wrong: [fn(Segment) -> Segment; 3] = [
        |it| Segment { key: it.key ^ 0x5500, ..it },
        |it| Segment { address: it.address + 1, ..it },
        |it| Segment { address: it.address - 1, ..it },
    ];
    for change in wrong {
        let (one, other) = pair(factory)?;
        let (here, there) = (one.buffer(64), other.buffer(64));
        other.receive(1, &[there.whole()]);
        local_refusal(one.execute(Operation::Send, &[change(here.whole())]).status);
        assert_eq!(one.pair.state(), State::Error);

        // A receive into such memory.
        let (one, other) = pair(factory)?;
        let (here, there) = (one.buffer(64), other.buffer(64));
        other.receive(1, &[change(there.whole())]);
        assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::RemoteOperation);
        local_refusal(next(&other.receives).status);
    }
    // An answer to memory that may not be written.
    let (one, other) = pair(factory)?;
    let here = Buffer::new(&one.domain, 64, Access::LOCAL_READ);
    let there = other.buffer(64);
    local_refusal(one.execute(Operation::Read(there.remote(0)), &[here.whole()]).status);
    Ok(())
}

/// Some cards cannot say that it was the memory.
fn local_refusal(status: Status) {
    assert!(matches!(status, Status::LocalProtection | Status::LocalQueuePair), "{status:?}");
}

pub fn the_keys_of_another_domain_are_refused(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let here = one.buffer(8);
    let elsewhere = other.hca.protection_domain().expect("a protection domain");
    let there = Buffer::new(&elsewhere, 8, Access::ALL);
    assert_eq!(one.execute(Operation::Write(there.remote(0)), &[here.whole()]).status, Status::RemoteAccess);
    Ok(())
}

pub fn a_message_too_long_fails_at_both_ends(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (here, there) = (one.buffer(100), other.buffer(100));
    other.receive(3, &[there.part(0, 50)]);
    other.receive(4, &[there.whole()]);
    let refused = one.execute(Operation::Send, &[here.part(0, 51)]).status;
    assert!(matches!(refused, Status::RemoteInvalidRequest | Status::RemoteOperation), "{refused:?}");
    let came = next(&other.receives);
    assert!(came.id == 3 && matches!(came.status, Status::LocalLength | Status::LocalQueuePair), "{came:?}");
    let flushed = next(&other.receives);
    assert_eq!((flushed.id, flushed.status), (4, Status::Flushed));
    assert_eq!((one.pair.state(), other.pair.state()), (State::Error, State::Error));
    Ok(())
}

pub fn a_queue_pair_in_error_flushes(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let here = one.buffer(8);
    (0..3).for_each(|id| one.receive(id, &[here.whole()]));
    // The peer has no receive: these wait.
    (0..5).for_each(|id| one.post(id, Operation::Send, &[here.whole()]).expect("posted"));
    one.pair.fail().expect("taken to error");
    assert_eq!(one.pair.state(), State::Error);
    for id in 0..5 {
        let flushed = next(&one.sends);
        assert_eq!((flushed.id, flushed.status), (id, Status::Flushed));
    }
    for id in 0..3 {
        let flushed = next(&one.receives);
        assert_eq!((flushed.id, flushed.status), (id, Status::Flushed));
    }
    // What is posted later is flushed too.
    one.receive(8, &[here.whole()]);
    assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::Flushed);
    assert_eq!((next(&one.receives).id, one.pair.state()), (8, State::Error));
    drop(other);
    Ok(())
}

pub fn a_receiver_that_is_late_is_waited_for(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (mut here, there) = (one.buffer(300_000), other.buffer(300_000));
    here.fill(&pattern(1, 300_000));
    // Behind the first, which waits, come others of all kinds.
    let word = one.buffer(8);
    let counter = other.buffer(8);
    one.post(0, Operation::Send, &[here.whole()]).expect("posted");
    one.post(1, Operation::FetchAdd(counter.remote(0), 1), &[word.whole()]).expect("posted");
    one.post(2, Operation::Read(there.remote(0)), &[here.part(0, 1)]).expect("posted");
    one.post(3, Operation::Send, &[here.part(0, 10)]).expect("posted");
    for _ in 0..2000 {
        none(&one.sends);
        none(&other.receives);
        std::thread::yield_now();
    }
    assert_eq!(counter.word(0), 0, "nothing passes the first");
    other.receive(7, &[there.whole()]);
    assert_eq!(next(&other.receives).len, 300_000);
    assert!(there.bytes() == pattern(1, 300_000));
    other.receive(8, &[there.whole()]);
    assert_eq!(next(&other.receives).len, 10);
    for id in 0..4 {
        let done = next(&one.sends);
        assert_eq!((done.id, done.status), (id, Status::Success));
    }
    assert_eq!(counter.word(0), 1, "executed once, however often it was sent");
    Ok(())
}

pub fn a_receiver_that_never_is_ready_is_given_up(factory: Factory) -> Result<(), String> {
    let connection = Connection {
        receiver_not_ready_retries: 2,
        receiver_not_ready_delay: Duration::from_micros(100),
        ..Connection::default()
    };
    let (one, other) = pair_with(factory, &SideOptions { connection, ..SideOptions::default() })?;
    let here = one.buffer(8);
    one.post(0, Operation::Send, &[here.whole()]).expect("posted");
    one.post(1, Operation::Send, &[here.whole()]).expect("posted");
    let (first, second) = (next(&one.sends), next(&one.sends));
    assert_eq!((first.id, first.status), (0, Status::ReceiverNotReady));
    assert_eq!((second.id, second.status), (1, Status::Flushed));
    assert_eq!(one.pair.state(), State::Error);
    drop(other);
    Ok(())
}

pub fn a_peer_that_is_gone_is_noticed(factory: Factory) -> Result<(), String> {
    let connection = Connection { timeout: Duration::from_millis(500), retries: 2, ..Connection::default() };
    let (one, other) = pair_with(factory, &SideOptions { connection, ..SideOptions::default() })?;
    let (here, there) = (one.buffer(8), other.buffer(8));
    other.receive(1, &[there.whole()]);
    assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::Success);
    next(&other.receives);
    drop(other.pair);
    assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::RetryExceeded);
    assert_eq!(one.pair.state(), State::Error);
    assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::Flushed);
    Ok(())
}
