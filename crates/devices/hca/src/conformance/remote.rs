//! Writes and reads.

use super::world::*;
use crate::{Data, Opcode, Operation, SendFlags, SendRequest, Status};

pub fn writes_and_reads(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let most = 3 << 20;
    let (mut here, there) = (one.buffer(most), other.buffer(most));
    for (seed, len) in [1, 8, 4097, 70_000, most].into_iter().enumerate() {
        let bytes = pattern(seed, len);
        here.fill(&bytes);
        let written = one.execute(Operation::Write(there.remote(most - len)), &[here.part(0, len)]);
        assert_eq!((written.status, written.opcode), (Status::Success, Opcode::Write));
        assert!(there.bytes()[most - len..] == bytes);
        here.fill(&vec![0; len]);
        // Back in two pieces, the second first.
        let half = len / 2;
        let segments = [here.part(half, len - half), here.part(0, half)];
        let read = one.execute(Operation::Read(there.remote(most - len)), &segments);
        assert_eq!((read.status, read.opcode, read.len as usize), (Status::Success, Opcode::Read, len));
        assert!(here.bytes()[half..len] == bytes[..len - half] && here.bytes()[..half] == bytes[len - half..]);
    }
    none(&other.receives);
    Ok(())
}

pub fn a_write_with_immediate_consumes_a_receive(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (mut here, there) = (one.buffer(100), other.buffer(100));
    here.fill(&pattern(1, 100));
    other.receive(9, &[]);
    let written = one.execute(Operation::WriteWithImmediate(there.remote(50), 77), &[here.part(0, 50)]);
    assert_eq!(written.status, Status::Success);
    let came = next(&other.receives);
    assert_eq!((came.id, came.opcode, came.immediate, came.len), (9, Opcode::ReceiveWrite, Some(77), 50));
    assert_eq!(there.bytes()[50..], pattern(1, 100)[..50]);
    Ok(())
}

pub fn empty_accesses_need_no_memory(factory: Factory) -> Result<(), String> {
    let (one, _other) = pair(factory)?;
    let nowhere = crate::Remote { address: 0, key: 0 };
    for operation in [Operation::Write(nowhere), Operation::Read(nowhere)] {
        assert_eq!(one.execute(operation, &[]).status, Status::Success, "{operation:?}");
    }
    Ok(())
}

pub fn a_write_is_seen_before_the_send_behind_it(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (mut here, there) = (one.buffer(100_000), other.buffer(100_000));
    for round in 1..50 {
        let bytes = pattern(round, 100_000);
        here.fill(&bytes);
        other.receive(1, &[]);
        one.post(1, Operation::Write(there.remote(0)), &[here.whole()]).expect("posted");
        one.post(2, Operation::Send, &[]).expect("posted");
        next(&other.receives);
        assert!(there.bytes() == bytes, "round {round}");
        assert_eq!((next(&one.sends).id, next(&one.sends).id), (1, 2));
    }
    Ok(())
}

pub fn many_reads_at_once(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (here, mut there) = (one.buffer(64 * 1000), other.buffer(64 * 1000));
    let bytes = pattern(2, 64 * 1000);
    there.fill(&bytes);
    for number in 0..64 {
        let at = number * 1000;
        one.post(number as u64, Operation::Read(there.remote(at)), &[here.part(at, 1000)]).expect("posted");
    }
    for number in 0..64 {
        let read = next(&one.sends);
        assert_eq!((read.id, read.status, read.opcode), (number, Status::Success, Opcode::Read));
    }
    assert!(here.bytes() == bytes);
    Ok(())
}

pub fn a_fence_waits_for_reads(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let len = 1 << 20;
    let (here, mut there) = (one.buffer(len), other.buffer(len));
    for seed in 0..10 {
        let bytes = pattern(seed, len);
        there.fill(&bytes);
        one.post(1, Operation::Read(there.remote(0)), &[here.whole()]).expect("posted");
        // Written behind the fence to what is being read: too early it would show in what was read.
        let zeros = [0; 8];
        let request = SendRequest {
            id: 2,
            operation: Operation::Write(there.remote(len - 8)),
            data: Data::Inline(&[&zeros]),
            flags: SendFlags { signaled: true, fence: true },
            receive_queue: 0,
        };
        one.pair.post_send(&request).expect("posted");
        assert_eq!((next(&one.sends).id, next(&one.sends).id), (1, 2));
        assert!(here.bytes() == bytes);
        assert_eq!(there.bytes()[len - 8..], zeros);
    }
    Ok(())
}
