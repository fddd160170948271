//! The maker that uses libibverbs, where there is a card: two queue pairs of this process, connected to each other.
//! What every maker must do is in the conformance suite; this is about what differs in cards.

use std::time::{Duration, Instant};
use tern_hca::*;

fn open() -> Hca {
    Hca::open(&Options {
        maker: Maker::RdmaCore,
        ..Options::default()
    })
    .unwrap()
}

fn wait(queue: &CompletionQueue) -> Completion {
    let until = Instant::now() + Duration::from_secs(20);
    let mut one = [Completion::default()];
    while queue.poll(&mut one).unwrap() == 0 {
        assert!(Instant::now() < until, "nothing completes");
    }
    one[0]
}

fn post(queue_pair: &QueuePair, operation: Operation, data: Data<'_>) {
    let request = SendRequest {
        id: 1,
        operation,
        data,
        flags: SendFlags::SIGNALED,
        receive_queue: 0,
    };
    queue_pair.post_send(&request).unwrap();
}

struct Pair {
    queue: CompletionQueue,
    domain: ProtectionDomain,
    one: QueuePair,
    other: QueuePair,
}

fn pair(hca: &Hca) -> Pair {
    let queue = hca.completion_queue(64, None).unwrap();
    let domain = hca.protection_domain().unwrap();
    let options = QueuePairOptions {
        send_completions: &queue,
        receive_completions: &queue,
        shared_receive_queue: None,
        send: Limits {
            depth: 16,
            gather: 4,
            inline: 64,
        },
        receive: ReceiveLimits {
            depth: 16,
            scatter: 2,
        },
    };
    let (one, other) = (
        domain.queue_pair(&options).unwrap(),
        domain.queue_pair(&options).unwrap(),
    );
    one.connect(&other.address(), &Connection::default())
        .unwrap();
    other
        .connect(&one.address(), &Connection::default())
        .unwrap();
    Pair {
        queue,
        domain,
        one,
        other,
    }
}

#[test]
#[ignore = "needs a card: tests/virtual-test.sh has one"]
fn a_card_moves_data_every_way() {
    let hca = open();
    println!("{:?}", hca.capabilities());
    let Pair {
        queue,
        domain,
        one,
        other,
    } = pair(&hca);
    let mut from: Vec<u64> = (0..512).collect();
    let mut to = vec![0_u64; 512];
    // SAFETY: both outlive their regions, and are looked at between requests.
    let source = unsafe { domain.register(from.as_mut_ptr().cast(), 4096, Access::LOCAL) }.unwrap();
    // SAFETY: as above.
    let target = unsafe { domain.register(to.as_mut_ptr().cast(), 4096, Access::ALL) }.unwrap();
    other
        .post_receive(7, &[target.segment(0, 16), target.segment(64, 4080 - 64)])
        .unwrap();
    post(
        &one,
        Operation::SendWithImmediate(0x01020304),
        Data::Segments(&[source.segment(8, 8), source.segment(32, 16)]),
    );
    let mut done = [wait(&queue), wait(&queue)];
    done.sort_by_key(|completion| completion.id);
    assert_eq!(
        (done[0].status, done[0].opcode),
        (Status::Success, Opcode::Send)
    );
    assert_eq!(
        (done[1].id, done[1].opcode, done[1].len),
        (7, Opcode::Receive, 24)
    );
    assert_eq!(done[1].immediate, Some(0x01020304));
    assert_eq!((to[0], to[1], to[8]), (1, 4, 5));

    let remote = Remote {
        address: target.address() + 1024,
        key: target.remote_key(),
    };
    post(
        &one,
        Operation::Write(remote),
        Data::Inline(&[&9_u64.to_ne_bytes(), &10_u64.to_ne_bytes()]),
    );
    assert_eq!(
        (wait(&queue).opcode, to[128], to[129]),
        (Opcode::Write, 9, 10)
    );
    post(
        &one,
        Operation::FetchAdd(remote, 5),
        Data::Segments(&[source.segment(0, 8)]),
    );
    assert_eq!(
        (wait(&queue).opcode, from[0], to[128]),
        (Opcode::FetchAdd, 9, 14)
    );
    post(
        &one,
        Operation::CompareSwap {
            remote,
            compare: 14,
            swap: 3,
        },
        Data::Segments(&[source.segment(0, 8)]),
    );
    assert_eq!(
        (wait(&queue).opcode, from[0], to[128]),
        (Opcode::CompareSwap, 14, 3)
    );
    post(
        &one,
        Operation::Read(remote),
        Data::Segments(&[source.segment(0, 16)]),
    );
    let read = wait(&queue);
    assert_eq!(
        (read.opcode, read.len, from[0], from[1]),
        (Opcode::Read, 16, 3, 10)
    );
    assert_eq!(one.state(), State::Ready);
}

#[test]
#[ignore = "needs a card: tests/virtual-test.sh has one"]
fn a_wrong_key_breaks_the_queue_pair_with_a_reason() {
    let hca = open();
    let Pair {
        queue,
        domain,
        one,
        other: _other,
    } = pair(&hca);
    let mut bytes = [0_u8; 64];
    // SAFETY: the bytes outlive the region.
    let region = unsafe { domain.register(bytes.as_mut_ptr(), 64, Access::LOCAL) }.unwrap();
    let request = SendRequest {
        id: 3,
        operation: Operation::Write(Remote {
            address: region.address(),
            key: 0x1234_5678,
        }),
        data: Data::Segments(&[region.segment(0, 8)]),
        flags: SendFlags::NONE,
        receive_queue: 0,
    };
    one.post_send(&request).unwrap();
    assert_eq!(wait(&queue).status, Status::RemoteAccess);
    assert_eq!(one.state(), State::Error);
    assert!(
        one.reason().unwrap().contains("access"),
        "{:?}",
        one.reason()
    );
}

#[test]
#[ignore = "needs a card: tests/virtual-test.sh has one"]
fn a_shared_receive_queue_tells_that_it_is_low() {
    let hca = open();
    let domain = hca.protection_domain().unwrap();
    let queue = hca.completion_queue(64, None).unwrap();
    let shared = domain
        .shared_receive_queue(
            &ReceiveLimits {
                depth: 8,
                scatter: 1,
            },
            77,
        )
        .unwrap();
    let options = QueuePairOptions {
        send_completions: &queue,
        receive_completions: &queue,
        shared_receive_queue: Some(&shared),
        send: Limits {
            depth: 16,
            gather: 1,
            inline: 0,
        },
        receive: ReceiveLimits {
            depth: 0,
            scatter: 0,
        },
    };
    let (one, other) = (
        domain.queue_pair(&options).unwrap(),
        domain.queue_pair(&options).unwrap(),
    );
    one.connect(&other.address(), &Connection::default())
        .unwrap();
    other
        .connect(&one.address(), &Connection::default())
        .unwrap();
    for id in 10..13 {
        shared.post_receive(id, &[]).unwrap();
    }
    shared.arm_limit(2).unwrap();
    for id in 0..3 {
        let request = SendRequest {
            id,
            operation: Operation::Send,
            data: Data::EMPTY,
            flags: SendFlags::NONE,
            receive_queue: 0,
        };
        one.post_send(&request).unwrap();
        assert_eq!(wait(&queue).id, 10 + id);
    }
    assert_eq!(hca.next_event(), Some(Event::ReceiveQueueLow { token: 77 }));
    assert_eq!(hca.next_event(), None);
}

#[test]
#[ignore = "needs a card: tests/virtual-test.sh has one"]
fn datagrams_wake_a_sleeper() {
    let hca = open();
    let channel = hca.completion_channel().unwrap();
    let (told, hears) = std::sync::mpsc::channel();
    channel
        .set_waker(Box::new(move || told.send(()).unwrap()))
        .unwrap();
    let (one, other) = (
        hca.datagrams(None).unwrap(),
        hca.datagrams(Some(&channel)).unwrap(),
    );
    for number in 0..300_u32 {
        let text = number.to_ne_bytes().repeat(256);
        one.send(other.address(), &text).unwrap();
        hears
            .recv_timeout(Duration::from_secs(20))
            .expect("no notice");
        let mut came = Vec::new();
        while !other.receive(&mut came).unwrap() {}
        assert!(came == text);
        channel.drain();
        assert!(!other.receive(&mut Vec::new()).unwrap());
    }
}
