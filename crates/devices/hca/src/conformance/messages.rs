//! Sends and receives.

use super::world::*;
use crate::{Data, Opcode, Operation, SendFlags, SendRequest, Status};

pub fn a_send_fills_a_receive(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let mut from = one.buffer(100);
    let to = other.buffer(200);
    from.fill(&pattern(1, 100));
    other.receive(5, &[to.whole()]);
    let sent = one.execute(Operation::Send, &[from.whole()]);
    assert_eq!((sent.status, sent.opcode), (Status::Success, Opcode::Send));
    let came = next(&other.receives);
    assert_eq!((came.id, came.status, came.opcode, came.len), (5, Status::Success, Opcode::Receive, 100));
    assert_eq!((came.immediate, came.queue_pair), (None, other.pair.number()));
    assert_eq!(to.bytes()[..100], pattern(1, 100));
    assert_eq!(to.bytes()[100..], [0; 100]);
    Ok(())
}

pub fn messages_of_all_sizes_arrive_whole(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let most = 5 << 20;
    let (mut from, to) = (one.buffer(most), other.buffer(most));
    for (seed, len) in
        [0, 1, 63, 64, 65, 4095, 4096, 16383, 16384, 16385, 65537, 1 << 20, (1 << 20) + 1, most].into_iter().enumerate()
    {
        from.fill(&pattern(seed, len));
        other.receive(seed as u64, &[to.whole()]);
        one.post(1, Operation::Send, &[from.part(0, len)]).expect("posted");
        let came = next(&other.receives);
        assert_eq!((came.id, came.len as usize, came.status), (seed as u64, len, Status::Success));
        assert_eq!(next(&one.sends).status, Status::Success);
        assert!(to.bytes()[..len] == pattern(seed, len), "{len} bytes differ");
    }
    Ok(())
}

pub fn messages_stay_in_order(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    const EACH: usize = 3000;
    let (mut from, to) = (one.buffer(64 * EACH), other.buffer(64 * EACH));
    from.fill(&pattern(3, 64 * EACH));
    for round in 0..4 {
        for number in 0..64 {
            other.receive(number, &[to.part(number as usize * EACH, EACH)]);
        }
        for number in 0..64 {
            let part = from.part(number as usize * EACH, EACH - number as usize);
            one.post(round * 64 + number, Operation::Send, &[part]).expect("posted");
        }
        for number in 0..64 {
            let came = next(&other.receives);
            assert_eq!((came.id, came.len as u64), (number, EACH as u64 - number));
            assert_eq!(next(&one.sends).id, round * 64 + number);
        }
    }
    assert_eq!(to.bytes()[5 * EACH..6 * EACH - 5], pattern(3, 64 * EACH)[5 * EACH..6 * EACH - 5]);
    Ok(())
}

pub fn gathered_and_scattered(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (mut from, to) = (one.buffer(40_000), other.buffer(40_000));
    let bytes = pattern(4, 40_000);
    from.fill(&bytes);
    other.receive(1, &[to.part(30_000, 7), to.part(0, 0), to.part(100, 20_000), to.part(25_000, 10)]);
    let sent = one.execute(Operation::Send, &[from.part(10, 3), from.part(20_000, 15_000), from.part(0, 5)]);
    assert_eq!(sent.status, Status::Success);
    let came = next(&other.receives);
    assert_eq!(came.len, 15_008);
    let all: Vec<u8> = [&bytes[10..13], &bytes[20_000..35_000], &bytes[0..5]].concat();
    let there = to.bytes();
    assert_eq!(there[30_000..30_007], all[..7]);
    assert!(there[100..100 + 15_001] == all[7..]);
    assert_eq!(there[25_000..25_010], [0; 10]);
    Ok(())
}

pub fn inline_bytes_are_taken_at_once(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let to = other.buffer(64);
    let mut bytes = *b"these are gone";
    // No receive is there yet, so that the bytes have to be kept.
    one.pair
        .post_send(&SendRequest {
            id: 1,
            operation: Operation::Send,
            data: Data::Inline(&[&bytes, b" soon"]),
            flags: SendFlags::SIGNALED,
            receive_queue: 0,
        })
        .expect("posted");
    bytes.fill(0);
    other.receive(1, &[to.whole()]);
    assert_eq!(next(&other.receives).len, 19);
    assert_eq!(&to.bytes()[..19], b"these are gone soon");
    assert_eq!(next(&one.sends).status, Status::Success);
    Ok(())
}

pub fn immediates_come_with_receives(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (from, to) = (one.buffer(8), other.buffer(8));
    for (immediate, len) in [(0, 8), (u32::MAX, 0), (0x0102_0304, 3)] {
        other.receive(1, &[to.whole()]);
        one.execute(Operation::SendWithImmediate(immediate), &[from.part(0, len)]);
        let came = next(&other.receives);
        assert_eq!((came.immediate, came.len as usize), (Some(immediate), len));
    }
    Ok(())
}

pub fn both_ways_at_once(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    const EACH: usize = 200_000;
    let sides = [&one, &other];
    let from: Vec<Buffer> = sides.iter().map(|side| side.buffer(EACH)).collect();
    let to: Vec<Buffer> = sides.iter().map(|side| side.buffer(20 * EACH)).collect();
    for (side, to) in sides.iter().zip(&to) {
        (0..20).for_each(|number| side.receive(number as u64, &[to.part(number * EACH, EACH)]));
    }
    for number in 0..20 {
        sides.iter().zip(&from).for_each(|(side, from)| {
            side.post(number, Operation::Send, &[from.whole()]).expect("posted");
        });
    }
    for number in 0..20 {
        for side in sides {
            assert_eq!(next(&side.receives).id, number);
            assert_eq!(next(&side.sends).id, number);
        }
    }
    Ok(())
}

pub fn unsignaled_requests_are_silent(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let to = other.buffer(8);
    // Slots come back with the completion of the last: 10 times a full queue.
    for round in 0..10 {
        for number in 0..64 {
            other.receive(number, &[to.whole()]);
        }
        for number in 0..64 {
            let flags = if number == 63 { SendFlags::SIGNALED } else { SendFlags::NONE };
            let data = Data::Inline(&[b"x"]);
            let request = SendRequest { id: number, operation: Operation::Send, data, flags, receive_queue: 0 };
            one.pair.post_send(&request).unwrap_or_else(|error| panic!("round {round}, {number}: {error}"));
        }
        for number in 0..64 {
            assert_eq!(next(&other.receives).id, number);
        }
        assert_eq!(next(&one.sends).id, 63);
        none(&one.sends);
    }
    Ok(())
}
