//! Faults on demand, and memory that vanishes: clear errors, and nothing worse.

use std::time::Duration;
use tern_hca::conformance::{PATIENCE, Side, SideOptions, connect, eventually, next, pair_with};
use tern_hca::{Access, Connection, Error, Event, Hca, Operation, Options, State, Status};

fn open() -> Result<Hca, String> {
    Hca::open(&Options::default()).map_err(|error| error.to_string())
}

fn with(faults: &str) -> Hca {
    let faults = faults.parse().expect("faults");
    Hca::open(&Options { faults, ..Options::default() }).expect("the software HCA is always there")
}

/// Two connected ends; the first has faults.
fn pair(faults: &str, options: &SideOptions) -> (Side, Side) {
    let (one, other) = (Side::new(with(faults), options), Side::new(with(""), options));
    connect(&one.pair, &other.pair, &options.connection);
    (one, other)
}

#[test]
fn a_connection_is_cut() {
    is_cut("cut-after=3");
    is_cut("cut-after=3,tcp");
}

fn is_cut(faults: &str) {
    let (one, other) = pair(faults, &SideOptions::default());
    let (here, there) = (one.buffer(8), other.buffer(8));
    (0..8).for_each(|id| other.receive(id, &[there.whole()]));
    for _ in 0..3 {
        assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::Success);
    }
    assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::RetryExceeded);
    assert_eq!(one.pair.state(), State::Error);
    let reason = one.pair.reason().expect("a reason");
    assert!(reason.contains("cut on demand"), "{reason}");
    // The other end learns of it, and its next request says so.
    (0..3).for_each(|id| assert_eq!(next(&other.receives).id, id));
    let gone = Event::Disconnected { queue_pair: other.pair.number() };
    eventually("the other end is told", || other.hca.next_event() == Some(gone.clone()));
    assert_eq!(other.execute(Operation::Send, &[there.whole()]).status, Status::RetryExceeded);
    for _ in 3..8 {
        assert_eq!(next(&other.receives).status, Status::Flushed);
    }
}

/// What was under way when a port was cut lands, unless its queue pair is taken to error before.
#[test]
fn a_port_is_cut_and_the_peer_hears_nothing() {
    for (faults, fails) in [("cut-port=1/2", false), ("cut-port=1/2,tcp", false), ("cut-port=1/2", true)] {
        let (one, other) =
            (Side::new(with(faults), &SideOptions::default()), Side::new(with(""), &SideOptions::default()));
        one.pair.select_port(1).expect("a second port");
        connect(&one.pair, &other.pair, &Connection::default());
        let (mut here, mut there) = (one.buffer(8), other.buffer(8));
        for _ in 0..2 {
            assert_eq!(one.execute(Operation::Write(there.remote(0)), &[here.whole()]).status, Status::Success);
        }
        here.fill(&[7; 8]);
        assert_eq!(one.execute(Operation::Write(there.remote(0)), &[here.whole()]).status, Status::RetryExceeded);
        assert!(one.pair.reason().expect("a reason").contains("port was cut"));
        assert_eq!(other.pair.state(), State::Ready);
        assert_eq!(other.hca.next_event(), None);
        if fails {
            other.pair.fail().expect("taken to error");
            there.fill(&[1; 8]);
            std::thread::sleep(Duration::from_millis(60));
            assert_eq!(there.bytes(), [1; 8]);
        } else {
            eventually("what was under way", || there.bytes() == [7; 8]);
        }
    }
}

#[test]
fn receivers_are_not_ready_now_and_then() {
    let (one, other) = pair("", &SideOptions::default());
    other.hca.set_faults("rnr=2/3".parse().expect("faults")).expect("set");
    let (here, there) = (one.buffer(8), other.buffer(8));
    for id in 0..30 {
        other.receive(id, &[there.whole()]);
        assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::Success);
        assert_eq!(next(&other.receives).id, id, "none is lost, none comes twice");
    }
}

#[test]
fn a_storm_of_receivers_that_are_not_ready_ends() {
    let connection = Connection { receiver_not_ready_retries: 3, ..Connection::default() };
    let (one, other) = pair("", &SideOptions { connection, ..SideOptions::default() });
    other.hca.set_faults("rnr=1/1".parse().expect("faults")).expect("set");
    let (here, there) = (one.buffer(8), other.buffer(8));
    other.receive(1, &[there.whole()]);
    assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::ReceiverNotReady);
}

#[test]
fn an_access_is_refused() {
    let (one, other) = pair("", &SideOptions::default());
    other.hca.set_faults("access=1/1".parse().expect("faults")).expect("set");
    let (here, there) = (one.buffer(8), other.buffer(8));
    assert_eq!(one.execute(Operation::Write(there.remote(0)), &[here.whole()]).status, Status::RemoteAccess);
    assert!(other.pair.reason().expect("a reason").contains("on demand"));
}

#[test]
fn a_queue_is_full_for_no_reason() {
    let (one, other) = pair("full=1/2", &SideOptions::default());
    let (here, there) = (one.buffer(8), other.buffer(8));
    (0..4).for_each(|id| other.receive(id, &[there.whole()]));
    for _ in 0..4 {
        assert_eq!(one.post(1, Operation::Send, &[here.whole()]), Err(Error::QueueFull));
        assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::Success);
    }
}

#[test]
fn a_slow_peer_takes_its_time() {
    let (one, other) = pair("", &SideOptions::default());
    other.hca.set_faults("slow=30ms".parse().expect("faults")).expect("set");
    let (here, there) = (one.buffer(8), other.buffer(8));
    let start = std::time::Instant::now();
    assert_eq!(one.execute(Operation::Write(there.remote(0)), &[here.whole()]).status, Status::Success);
    assert!(start.elapsed().as_millis() >= 30);
}

#[test]
fn registrations_are_refused() {
    let hca = with("no-registration=1/2,locked=8K");
    let domain = hca.protection_domain().expect("a domain");
    let mut memory = vec![0u8; 16 << 10];
    let mut register = |len| {
        // SAFETY: the regions end before the memory, and nobody uses them.
        unsafe { domain.register(memory.as_mut_ptr(), len, Access::ALL) }
    };
    let refused = |outcome: Result<tern_hca::MemoryRegion, Error>| match outcome {
        Err(Error::Registration(why) | Error::Resources(why)) => why,
        _ => panic!("it was registered"),
    };
    assert!(refused(register(10)).contains("on demand"));
    let first = register(5000).expect("the second");
    assert!(refused(register(10)).contains("on demand"));
    assert!(refused(register(5000)).contains("limit"));
    drop(first);
    assert!(refused(register(10)).contains("on demand"));
    register(5000).expect("there is room again");
}

/// Pages of their own, which can be taken away.
struct Pages {
    address: *mut u8,
    len: usize,
}

impl Pages {
    fn new(len: usize) -> Pages {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory.
        let address = unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE) };
        Pages { address: address.expect("pages").cast(), len }
    }

    fn vanish(&self) {
        // SAFETY: nobody has references there. What is left is an address that is not mapped, and stays so: it is
        // replaced by pages that may not be touched, or another thread could get the place.
        unsafe {
            use rustix::mm::{MprotectFlags, mprotect};
            mprotect(self.address.cast(), self.len, MprotectFlags::empty()).expect("protected");
        }
    }
}

#[test]
fn memory_that_vanishes_is_an_error_and_no_crash() {
    vanishes("");
    vanishes("tcp");
}

fn vanishes(faults: &str) {
    let options = SideOptions::default();
    const LEN: usize = 64 << 10;
    for (operation, len) in
        [("write", 8), ("write", LEN), ("read", 8), ("read", LEN), ("add", 8), ("send", 8), ("send", LEN)]
    {
        for there_vanishes in [true, false] {
            let (one, other) = pair(faults, &options);
            let pages = [Pages::new(LEN), Pages::new(LEN)];
            // SAFETY: nobody has references there.
            let region = |side: &Side, pages: &Pages| unsafe {
                side.domain.register(pages.address, LEN, Access::ALL).expect("registered")
            };
            let (here, there) = (region(&one, &pages[0]), region(&other, &pages[1]));
            other.receive(1, &[there.segment(0, LEN as u32)]);
            pages[usize::from(there_vanishes)].vanish();
            let remote = tern_hca::Remote { address: there.address(), key: there.remote_key() };
            let operation_of = match operation {
                "write" => Operation::Write(remote),
                "read" => Operation::Read(remote),
                "add" => Operation::FetchAdd(remote, 1),
                _ => Operation::Send,
            };
            let status = one.execute(operation_of, &[here.segment(0, len as u32)]).status;
            assert_ne!(status, Status::Success, "{operation} of {len}, there: {there_vanishes}");
            assert_eq!(one.pair.state(), State::Error);
        }
    }
}

#[test]
fn a_completion_queue_overflows_aloud() {
    let (one, other) = pair_with(open, &SideOptions::default()).expect("a pair");
    let narrow = one.hca.completion_queue(4, None).expect("a queue");
    let limits = tern_hca::ReceiveLimits { depth: 64, scatter: 1 };
    let pair = one
        .domain
        .queue_pair(&tern_hca::QueuePairOptions {
            send_completions: &narrow,
            receive_completions: &one.receives,
            shared_receive_queue: None,
            send: tern_hca::Limits { depth: 64, gather: 1, inline: 0 },
            receive: limits,
        })
        .expect("a queue pair");
    let end = other.pair_like(&SideOptions::default());
    connect(&pair, &end, &Connection::default());
    let nowhere = tern_hca::Remote { address: 0, key: 0 };
    for _ in 0..10 {
        pair.post_send(&tern_hca::SendRequest {
            id: 1,
            operation: Operation::Write(nowhere),
            data: tern_hca::Data::EMPTY,
            flags: tern_hca::SendFlags::SIGNALED,
            receive_queue: 0,
        })
        .expect("posted");
    }
    let end = std::time::Instant::now() + PATIENCE;
    // The others move the traffic: this queue is not polled before all have completed.
    while std::time::Instant::now() < end {
        let mut completions = [tern_hca::Completion::default(); 16];
        one.receives.poll(&mut completions).expect("another queue");
        match narrow.poll(&mut completions[..0]) {
            Err(Error::Overrun) => return,
            other => assert_eq!(other, Ok(0)),
        }
    }
    panic!("10 completions in a queue for 4");
}
