//! XRC: one connection, many receive queues.

use super::world::*;
use crate::{
    CompletionQueue, Connection, Data, Hca, Limits, Operation, ProtectionDomain, QueuePair,
    ReceiveLimits, SendFlags, SendRequest, SharedReceiveQueue, State, Status,
};

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
        let (from, to) = (
            one.protection_domain().expect("a domain"),
            other.protection_domain().expect("a domain"),
        );
        let sends = one.completion_queue(256, None).expect("a completion queue");
        let initiator = from
            .xrc_initiator(
                &sends,
                &Limits {
                    depth: 64,
                    gather: 4,
                    inline: 64,
                },
            )
            .expect("an initiator");
        let domain = other.xrc_domain().expect("an XRC domain");
        let target = domain.target().expect("a target");
        let queue = |token| {
            let completions = other
                .completion_queue(256, None)
                .expect("a completion queue");
            let limits = ReceiveLimits {
                depth: 16,
                scatter: 2,
            };
            let queue = to
                .xrc_receive_queue(&domain, &completions, &limits, token)
                .expect("a receive queue");
            (queue, completions)
        };
        let queues = (0..count as u64).map(queue).collect();
        connect(&initiator, &target, &Connection::default());
        Ok(Xrc {
            initiator,
            sends,
            from,
            target,
            to,
            queues,
            _hcas: (one, other),
        })
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
    let numbers: Vec<u32> = xrc
        .queues
        .iter()
        .map(|(queue, _)| queue.number().expect("an XRC queue has a number"))
        .collect();
    for round in 0..10 {
        for (at, (queue, _)) in xrc.queues.iter().enumerate() {
            queue
                .post_receive(round, &[memory.part(at * 64, 64)])
                .expect("posted");
        }
        // In another order than that of the receives.
        for &at in &[3, 0, 4, 1, 2] {
            xrc.send(numbers[at], &pattern(round as usize * 5 + at, 40));
            assert_eq!(next(&xrc.sends).status, Status::Success);
        }
        for (at, (_, completions)) in xrc.queues.iter().enumerate() {
            let came = next(completions);
            assert_eq!(
                (came.id, came.len, came.status),
                (round, 40, Status::Success)
            );
            assert_eq!(came.queue_pair, xrc.target.number());
            assert_eq!(
                memory.bytes()[at * 64..at * 64 + 40],
                pattern(round as usize * 5 + at, 40)
            );
            none(completions);
        }
    }
    Ok(())
}

pub fn an_xrc_send_to_no_queue_is_refused(factory: Factory) -> Result<(), String> {
    let xrc = Xrc::new(factory, 1)?;
    xrc.send(xrc.queues[0].0.number().expect("a number") + 1000, b"lost");
    let status = next(&xrc.sends).status;
    assert!(
        matches!(
            status,
            Status::RemoteInvalidRequest | Status::RemoteOperation
        ),
        "{status:?}"
    );
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
        let request = SendRequest {
            id: 1,
            operation,
            data,
            flags: SendFlags::SIGNALED,
            receive_queue,
        };
        xrc.initiator.post_send(&request).expect("posted");
        assert_eq!(next(&xrc.sends).status, Status::Success);
    };
    post(Operation::Write(there.remote(0)), &[here.whole()]);
    assert_eq!(there.bytes(), pattern(1, 100));
    post(Operation::Read(there.remote(50)), &[here.part(0, 50)]);
    assert_eq!(here.bytes()[..50], pattern(1, 100)[50..]);
    xrc.queues[0].0.post_receive(3, &[]).expect("posted");
    post(
        Operation::WriteWithImmediate(there.remote(0), 5),
        &[here.part(0, 10)],
    );
    let came = next(&xrc.queues[0].1);
    assert_eq!((came.id, came.immediate), (3, Some(5)));
    Ok(())
}
