//! Queues: full, shared, low.

use super::world::*;
use crate::{Completion, Data, Error, Event, Operation, QueuePairOptions, SendFlags, SendRequest, Status};
use std::time::Duration;

pub fn full_queues_say_so(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (here, there) = (one.buffer(8), other.buffer(8));
    let posted = (0..).take_while(|&id| other.pair.post_receive(id, &[there.whole()]).is_ok()).count();
    assert!((64..4096).contains(&posted), "{posted}");
    assert_eq!(other.pair.post_receive(0, &[]), Err(Error::QueueFull));

    // More than there are receives for: some cards free a slot when its request is done, others when its
    // completion was polled, and give more slots than they say.
    let sent = (0..).take_while(|&id| one.post(id, Operation::Send, &[here.whole()]).is_ok()).count();
    assert!((64..8192).contains(&sent), "{sent}");
    assert_eq!(one.post(0, Operation::Send, &[]), Err(Error::QueueFull));
    // One completion, one slot, at the latest when the peer has receives again.
    assert_eq!(next(&one.sends).id, 0);
    eventually("a slot is free", || {
        let _ = other.pair.post_receive(0, &[there.whole()]);
        one.post(9999, Operation::Send, &[here.whole()]).is_ok()
    });
    (1..sent).for_each(|id| {
        let _ = other.pair.post_receive(0, &[there.whole()]);
        assert_eq!(next(&one.sends).id, id as u64);
    });
    Ok(())
}

/// Those of cards by an event; who never looks for events waits for what was lost.
pub fn a_completion_queue_that_overflows_says_so(factory: Factory) -> Result<(), String> {
    let options = SideOptions::default();
    let (one, other) = (Side::new(factory()?, &options), Side::new(factory()?, &options));
    let few = one.hca.completion_queue(16, Some(&one.channel)).expect("a completion queue");
    let sends = QueuePairOptions { send_completions: &few, ..one.pair_options(&options) };
    let pair = one.domain.queue_pair(&sends).expect("a queue pair");
    connect(&pair, &other.pair, &options.connection);
    let (here, there) = (one.buffer(8), other.buffer(8));
    let (data, operation) = (&[here.whole()], Operation::Write(there.remote(0)));
    let request =
        SendRequest { id: 0, operation, data: Data::Segments(data), flags: SendFlags::SIGNALED, receive_queue: 0 };
    let mut pause = Duration::ZERO;
    eventually("what was lost is told", || {
        // Far more than there is room for, and nobody polls until they have ended.
        (0..options.depth).for_each(|_| _ = pair.post_send(&request));
        std::thread::sleep(pause);
        pause += Duration::from_millis(1);
        while one.hca.next_event().is_some() {}
        // A maker may tell it behind the completions that there are.
        (0..=options.depth).any(|_| few.poll(&mut [Completion::default()]) == Err(Error::Overrun))
    });
    Ok(())
}

pub fn a_shared_queue_serves_many(factory: Factory) -> Result<(), String> {
    let options = SideOptions { shared: true, ..SideOptions::default() };
    let target = Side::new(factory()?, &options);
    let memory = target.buffer(64 * 100);
    (0..64).for_each(|id| target.receive(id, &[memory.part(id as usize * 100, 100)]));
    let mut peers = Vec::new();
    for _ in 0..4 {
        let (peer, end) = (Side::new(factory()?, &SideOptions::default()), target.pair_like(&options));
        connect(&peer.pair, &end, &options.connection);
        peers.push((peer, end));
    }
    for round in 0..16 {
        for (number, (peer, _)) in peers.iter().enumerate() {
            let bytes = pattern(round * 4 + number, 60);
            let data = Data::Inline(&[&bytes]);
            let flags = SendFlags::SIGNALED;
            let request = SendRequest { id: 0, operation: Operation::Send, data, flags, receive_queue: 0 };
            peer.pair.post_send(&request).expect("posted");
        }
    }
    let mut rounds = [0; 4];
    let mut receives = [false; 64];
    for _ in 0..64 {
        let came = next(&target.receives);
        assert_eq!((came.status, came.len), (Status::Success, 60));
        let number = peers.iter().position(|(_, end)| end.number() == came.queue_pair).expect("a peer");
        let at = came.id as usize * 100;
        assert_eq!(memory.bytes()[at..at + 60], pattern(rounds[number] * 4 + number, 60), "peer {number}");
        rounds[number] += 1;
        assert!(!std::mem::replace(&mut receives[came.id as usize], true), "each receive is used once");
    }
    Ok(())
}

pub fn a_shared_queue_tells_when_it_is_low(factory: Factory) -> Result<(), String> {
    let options = SideOptions { shared: true, ..SideOptions::default() };
    let (one, other) = pair_with(factory, &options)?;
    let (here, there) = (one.buffer(8), other.buffer(8));
    let shared = other.shared.as_ref().expect("a shared receive queue");
    (0..8).for_each(|id| other.receive(id, &[there.whole()]));
    shared.arm_limit(6).expect("armed");
    for sent in 1..=2 {
        assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::Success);
        assert_eq!(next(&other.receives).id, sent - 1);
        assert_eq!(other.hca.next_event(), None, "{} are left", 8 - sent);
    }
    assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::Success);
    let mut event = None;
    eventually("an event, for 5 are left", || {
        event = other.hca.next_event();
        event.is_some()
    });
    assert_eq!(event, Some(Event::ReceiveQueueLow { token: 7 }));
    assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::Success);
    assert_eq!(other.hca.next_event(), None, "told once");
    Ok(())
}

impl Side {
    /// A further queue pair of this side's domain, queues and shared receive queue.
    pub fn pair_like(&self, options: &SideOptions) -> crate::QueuePair {
        self.domain.queue_pair(&self.pair_options(options)).expect("a queue pair")
    }

    fn pair_options(&self, options: &SideOptions) -> QueuePairOptions<'_> {
        QueuePairOptions {
            send_completions: &self.sends,
            receive_completions: &self.receives,
            shared_receive_queue: self.shared.as_ref(),
            send: crate::Limits { depth: options.depth, gather: 4, inline: 64 },
            receive: crate::ReceiveLimits { depth: options.depth, scatter: 4 },
        }
    }
}
