//! XRC: one connection, many receive queues.

use super::world::*;
use crate::{
    CompletionQueue, Connection, Data, Hca, Limits, Operation, ProtectionDomain, QueuePair, ReceiveLimits, SendFlags,
    SendRequest, SharedReceiveQueue, State, Status,
};
use std::os::fd::AsFd;

/// An initiator at one side, a target with receive queues at the other.
struct Xrc {
    initiator: QueuePair,
    sends: CompletionQueue,
    from: ProtectionDomain,
    target: QueuePair,
    to: ProtectionDomain,
    queues: Vec<(SharedReceiveQueue, CompletionQueue)>,
    _hcas: (Hca, Hca),
}

impl Xrc {
    fn new(factory: Factory, count: usize) -> Result<Xrc, String> {
        let (one, other) = (factory()?, factory()?);
        if !one.capabilities().xrc {
            return Err(format!("{} has no XRC", one.capabilities().name));
        }
        let (from, to) = (one.protection_domain().expect("a domain"), other.protection_domain().expect("a domain"));
        let sends = one.completion_queue(256, None).expect("a completion queue");
        let initiator = from.xrc_initiator(&sends, &Limits { depth: 64, gather: 4, inline: 64 }).expect("an initiator");
        let domain = other.xrc_domain(None).expect("an XRC domain");
        let target = domain.target().expect("a target");
        let queue = |token| {
            let completions = other.completion_queue(256, None).expect("a completion queue");
            let limits = ReceiveLimits { depth: 16, scatter: 2 };
            let queue = to.xrc_receive_queue(&domain, &completions, &limits, token).expect("a receive queue");
            (queue, completions)
        };
        let queues = (0..count as u64).map(queue).collect();
        connect(&initiator, &target, &Connection::default());
        Ok(Xrc { initiator, sends, from, target, to, queues, _hcas: (one, other) })
    }

    fn send(&self, receive_queue: u32, bytes: &[u8]) {
        let request = SendRequest {
            id: u64::from(receive_queue),
            operation: Operation::Send,
            data: Data::Inline(&[bytes]),
            flags: SendFlags::SIGNALED,
            receive_queue,
        };
        self.initiator.post_send(&request).expect("posted");
    }
}

pub fn an_xrc_send_names_its_queue(factory: Factory) -> Result<(), String> {
    let xrc = Xrc::new(factory, 5)?;
    let memory = Buffer::new(&xrc.to, 5 * 64, crate::Access::ALL);
    let numbers: Vec<u32> =
        xrc.queues.iter().map(|(queue, _)| queue.number().expect("an XRC queue has a number")).collect();
    for round in 0..10 {
        for (at, (queue, _)) in xrc.queues.iter().enumerate() {
            queue.post_receive(round, &[memory.part(at * 64, 64)]).expect("posted");
        }
        // In another order than that of the receives.
        for &at in &[3, 0, 4, 1, 2] {
            xrc.send(numbers[at], &pattern(round as usize * 5 + at, 40));
            assert_eq!(next(&xrc.sends).status, Status::Success);
        }
        for (at, (_, completions)) in xrc.queues.iter().enumerate() {
            let came = next(completions);
            assert_eq!((came.id, came.len, came.status), (round, 40, Status::Success));
            assert_eq!(came.queue_pair, xrc.target.number());
            assert_eq!(memory.bytes()[at * 64..at * 64 + 40], pattern(round as usize * 5 + at, 40));
            none(completions);
        }
    }
    Ok(())
}

pub fn an_xrc_send_to_no_queue_is_refused(factory: Factory) -> Result<(), String> {
    let xrc = Xrc::new(factory, 1)?;
    xrc.send(xrc.queues[0].0.number().expect("a number") + 1000, b"lost");
    let status = next(&xrc.sends).status;
    assert!(matches!(status, Status::RemoteInvalidRequest | Status::RemoteOperation), "{status:?}");
    assert_eq!(xrc.initiator.state(), State::Error);
    Ok(())
}

pub fn xrc_writes_and_reads(factory: Factory) -> Result<(), String> {
    let xrc = Xrc::new(factory, 1)?;
    let mut here = Buffer::new(&xrc.from, 100, crate::Access::ALL);
    let there = Buffer::new(&xrc.to, 100, crate::Access::ALL);
    here.fill(&pattern(1, 100));
    let post = |operation, data: &[crate::Segment]| {
        let data = Data::Segments(data);
        let receive_queue = xrc.queues[0].0.number().expect("a number");
        let request = SendRequest { id: 1, operation, data, flags: SendFlags::SIGNALED, receive_queue };
        xrc.initiator.post_send(&request).expect("posted");
        assert_eq!(next(&xrc.sends).status, Status::Success);
    };
    post(Operation::Write(there.remote(0)), &[here.whole()]);
    assert_eq!(there.bytes(), pattern(1, 100));
    post(Operation::Read(there.remote(50)), &[here.part(0, 50)]);
    assert_eq!(here.bytes()[..50], pattern(1, 100)[50..]);
    xrc.queues[0].0.post_receive(3, &[]).expect("posted");
    post(Operation::WriteWithImmediate(there.remote(0), 5), &[here.part(0, 10)]);
    let came = next(&xrc.queues[0].1);
    assert_eq!((came.id, came.immediate), (3, Some(5)));
    Ok(())
}

/// An initiator with its target at one HCA, and receive queues at two that share a domain.
struct Reaching {
    initiator: QueuePair,
    sends: CompletionQueue,
    from: ProtectionDomain,
    /// Of each HCA: the queue, the number that the initiator names it by, where it completes, and its memory.
    ends: Vec<(SharedReceiveQueue, u32, CompletionQueue, Buffer)>,
    _rest: (Vec<Hca>, QueuePair),
}

fn reaching(factory: Factory) -> Result<Reaching, String> {
    let hcas = [factory()?, factory()?, factory()?];
    if !hcas[0].capabilities().xrc {
        return Err(format!("{} has no XRC", hcas[0].capabilities().name));
    }
    let file = rustix::fs::memfd_create("xrc", rustix::fs::MemfdFlags::CLOEXEC).expect("a file");
    let from = hcas[0].protection_domain().expect("a domain");
    let sends = hcas[0].completion_queue(256, None).expect("a completion queue");
    let limits = Limits { depth: 64, gather: 4, inline: 64 };
    let initiator = from.xrc_initiator(&sends, &limits).expect("an initiator");
    let (mut target, mut ends) = (None, Vec::new());
    for hca in &hcas[1..] {
        let domain = hca.xrc_domain(Some(file.as_fd())).expect("an XRC domain");
        if target.is_none() {
            let first = target.insert(domain.target().expect("a target"));
            connect(&initiator, first, &Connection::default());
        }
        let completions = hca.completion_queue(256, None).expect("a completion queue");
        let memory = hca.protection_domain().expect("a domain");
        let limits = ReceiveLimits { depth: 16, scatter: 2 };
        let queue = memory.xrc_receive_queue(&domain, &completions, &limits, 0).expect("a receive queue");
        let address = queue.address().expect("an XRC queue has an address");
        let number = initiator.reach(&address).expect("it is reached");
        assert_eq!(initiator.reach(&address).ok(), Some(number));
        ends.push((queue, number, completions, Buffer::new(&memory, 1000, crate::Access::ALL)));
    }
    let rest = (hcas.into(), target.expect("made"));
    Ok(Reaching { initiator, sends, from, ends, _rest: rest })
}

impl Reaching {
    fn post(&self, id: u64, operation: Operation, data: Data<'_>, flags: SendFlags, receive_queue: u32) {
        let request = SendRequest { id, operation, data, flags, receive_queue };
        self.initiator.post_send(&request).expect("posted");
    }
}

pub fn an_xrc_initiator_reaches_all_of_a_domain(factory: Factory) -> Result<(), String> {
    let world = reaching(factory)?;
    for round in 0..20u64 {
        for (queue, _, _, memory) in &world.ends {
            queue.post_receive(round, &[memory.part(0, 100)]).expect("posted");
        }
        for (at, (_, number, ..)) in world.ends.iter().enumerate() {
            let bytes = pattern(round as usize * 2 + at, 40);
            // Every other one is silent.
            let flags = SendFlags { signaled: round % 2 == 0, fence: false };
            world.post(round * 2 + at as u64, Operation::Send, Data::Inline(&[&bytes]), flags, *number);
        }
        if round % 2 == 0 {
            for at in 0..2 {
                let sent = next(&world.sends);
                assert_eq!((sent.id, sent.status), (round * 2 + at, Status::Success), "in the order of posting");
                assert_eq!(sent.queue_pair, world.initiator.number());
            }
        }
        for (at, (_, _, completions, memory)) in world.ends.iter().enumerate() {
            let came = next(completions);
            assert_eq!((came.id, came.len), (round, 40));
            assert_eq!(memory.bytes()[..40], pattern(round as usize * 2 + at, 40));
        }
    }
    Ok(())
}

pub fn xrc_accesses_reach_the_memory_of_the_queue_that_they_name(factory: Factory) -> Result<(), String> {
    let mut world = reaching(factory)?;
    let mut here = Buffer::new(&world.from, 200, crate::Access::ALL);
    for (at, end) in world.ends.iter_mut().enumerate() {
        end.3.fill(&[pattern(at, 600), pattern(7 + at, 400)].concat());
    }
    here.fill(&pattern(50, 200));
    // One is under way to each process at any time; nobody there has posted a receive or polls.
    for round in 0..10usize {
        for (at, (_, number, _, there)) in world.ends.iter().enumerate() {
            let post = |id: usize, operation, from: usize, len: usize, flags| {
                let data = [here.part(from, len)];
                world.post(id as u64, operation, Data::Segments(&data), flags, *number);
            };
            let silent = SendFlags { signaled: false, fence: false };
            post(0, Operation::Write(there.remote(40)), 100, 60, silent);
            post(1 + at, Operation::Read(there.remote(200)), 40 * at, 40, SendFlags::SIGNALED);
            post(3 + at, Operation::FetchAdd(there.remote(800), 5), 80 + 8 * at, 8, SendFlags::SIGNALED);
            let swap =
                Operation::CompareSwap { remote: there.remote(808), compare: there.word(808), swap: round as u64 };
            post(5 + at, swap, 160 + 8 * at, 8, SendFlags::SIGNALED);
        }
        for id in [1, 3, 5, 2, 4, 6] {
            let ended = next(&world.sends);
            assert_eq!((ended.id, ended.status), (id, Status::Success), "in the order of posting");
        }
        for (at, (.., there)) in world.ends.iter().enumerate() {
            assert_eq!(there.bytes()[40..100], here.bytes()[100..160], "written");
            assert_eq!(here.bytes()[40 * at..40 * at + 40], pattern(at, 600)[200..240], "read");
            assert_eq!(there.word(800), here.word(80 + 8 * at) + 5, "added");
            assert_eq!(there.word(808), round as u64, "swapped");
        }
    }
    Ok(())
}

pub fn xrc_accesses_with_the_key_of_another_process_are_refused(factory: Factory) -> Result<(), String> {
    let world = reaching(factory)?;
    let here = Buffer::new(&world.from, 8, crate::Access::ALL);
    let (named, of_other) = (world.ends[1].1, world.ends[0].3.remote(0));
    world.post(1, Operation::FetchAdd(of_other, 1), Data::Segments(&[here.whole()]), SendFlags::SIGNALED, named);
    assert_eq!(next(&world.sends).status, Status::RemoteAccess);
    assert_eq!(world.ends[0].3.word(0), 0);
    Ok(())
}

pub fn an_xrc_initiator_fails_as_a_whole(factory: Factory) -> Result<(), String> {
    let world = reaching(factory)?;
    let [first, second] = [world.ends[0].1, world.ends[1].1];
    // Nobody has a receive for the first; the second is refused.
    world.post(1, Operation::Send, Data::Inline(&[b"waits"]), SendFlags::SIGNALED, first);
    let nowhere = Operation::Write(crate::Remote { address: 8, key: 12345 });
    world.post(2, nowhere, Data::Inline(&[b"lost"]), SendFlags::SIGNALED, second);
    world.post(3, Operation::Send, Data::Inline(&[b"behind"]), SendFlags::SIGNALED, first);
    eventually("the queue pair is in error", || {
        let queue = &world.ends[0].0;
        // A card gets to the second when the first is through.
        let _ = queue.post_receive(1, &[world.ends[0].3.part(0, 100)]);
        let _ = world.sends.poll(&mut []);
        world.initiator.state() == State::Error
    });
    for id in 1..=3 {
        let ended = next(&world.sends);
        assert_eq!(ended.id, id);
        assert!(id == 1 || ended.status != Status::Success, "{ended:?}");
    }
    world.post(4, Operation::Send, Data::Inline(&[b"late"]), SendFlags::SIGNALED, first);
    assert_eq!(next(&world.sends).status, Status::Flushed);
    Ok(())
}
