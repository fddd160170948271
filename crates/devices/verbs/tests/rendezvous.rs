//! Long messages by RDMA over the software HCA: every layout arrives, what does not pay is declined, and whoever
//! loses its peer hears of the loss and of nothing else.

use proptest::prelude::*;
use tern_device::{
    Channel, Deliver, Delivery, Direct, Get, Header, Key, Memory, Outgoing, Pull, PullTo, Purpose, PushTo, Sink, Use,
};
use tern_hca::Faults;
use tern_verbs::{Endpoint, Settings, Verbs};

#[derive(Default)]
struct Told {
    packets: usize,
    pulled: Vec<u32>,
    sent: Vec<u32>,
    delivered: Vec<(u32, u64)>,
    lost: Vec<u32>,
}

impl Sink for Told {
    fn packet(&mut self, _from: u32, _header: &Header, _payload: &[u8]) {
        self.packets += 1;
    }
    fn pulled(&mut self, receiver: u32) {
        self.pulled.push(receiver);
    }
    fn sent(&mut self, sender: u32) {
        self.sent.push(sender);
    }
    fn delivered(&mut self, receiver: u32, size: u64) {
        self.delivered.push((receiver, size));
    }
    fn lost(&mut self, peer: u32, _why: &str) {
        self.lost.push(peer);
    }
}

/// Two processes in one, each with an HCA of its own.
struct Two {
    ends: [Verbs; 2],
    told: [Told; 2],
}

impl Two {
    fn new(settings: &Settings) -> Two {
        let ends = [0, 1].map(|me| Endpoint::open(me, 2, settings).expect("a software HCA"));
        let addresses = [ends[0].address(), ends[1].address()];
        Two { ends: ends.map(|end| end.join(&addresses).expect("buffers")), told: Default::default() }
    }

    fn direct(&self, end: usize) -> &dyn Direct {
        self.ends[end].direct().expect("it has RDMA")
    }

    fn locate(&self, end: usize, memory: Memory) -> Memory {
        self.direct(end).locate(
            1 - end as u32,
            memory,
            Use { purpose: Purpose::Message, bytes: memory.len, quiet: false },
        )
    }

    fn poll(&mut self) {
        for (end, told) in self.ends.iter().zip(&mut self.told) {
            end.poll(told);
        }
    }

    fn until(&mut self, what: &str, holds: impl Fn(&[Told; 2]) -> bool) {
        for _ in 0..2_000_000 {
            if holds(&self.told) {
                return;
            }
            self.poll();
        }
        panic!("{what} never came");
    }
}

/// `len` bytes of data in blocks of `block` with gaps between them.
struct Layout {
    bytes: Vec<u8>,
    memory: Memory,
}

const GAP: u8 = 0xee;

impl Layout {
    fn new(len: usize, block: usize, gap: usize) -> Layout {
        let block = block.clamp(1, len);
        let bytes = vec![GAP; len.div_ceil(block) * (block + gap)];
        let (address, stride) = (bytes.as_ptr() as u64, (block + gap) as i64);
        Layout { bytes, memory: Memory { address, len: len as u64, block: block as u64, stride, ..Memory::default() } }
    }

    fn place(&self, byte: usize) -> usize {
        let (block, stride) = (self.memory.block as usize, self.memory.stride as usize);
        byte / block * stride + byte % block
    }

    fn fill(mut self) -> Layout {
        for byte in 0..self.memory.len as usize {
            let place = self.place(byte);
            self.bytes[place] = (byte * 7 + byte / 251) as u8 & 0x7f;
        }
        self
    }

    /// Panics unless the first `len` bytes are those of `fill`, and nothing else was written.
    fn check(&self, len: usize) {
        let mut expected = vec![GAP; self.bytes.len()];
        for byte in 0..len.min(self.memory.len as usize) {
            expected[self.place(byte)] = (byte * 7 + byte / 251) as u8 & 0x7f;
        }
        assert!(self.bytes == expected, "{} bytes in blocks of {}", self.memory.len, self.memory.block);
    }
}

/// Moves one message in both ways, as far as each pays, and checks it; returns which ways were taken.
fn both_ways(two: &mut Two, from: &Layout, into: impl Fn() -> Layout) -> [bool; 2] {
    let source = two.locate(0, from.memory);
    let ways = [true, false].map(|fetch| {
        let to = into();
        let target = two.locate(1, to.memory);
        assert!(source.key != 0 && target.key != 0);
        let moved = match fetch {
            true => two.direct(1).pull(0, &source, PullTo::Receive(&target, 9, Get::Card)),
            false => two.direct(0).push(1, &source, PushTo::Memory(&target), 8),
        };
        if matches!(moved, Pull::Pending | Pull::Unordered) {
            two.until("a message", |told| told[1].pulled == [9] || told[0].sent == [8]);
            two.told = Default::default();
            if !fetch {
                // It is there when a later packet comes.
                assert!(two.ends[0].copy_and_send(1, &[0; 4], tern_device::Payload::Bytes(&[])).is_some());
                two.until("a packet", |told| told[1].packets == 1);
                two.told = Default::default();
            }
            to.check(from.memory.len as usize);
        } else {
            assert_eq!(moved, Pull::No);
            to.check(0);
        }
        two.direct(1).release(&target);
        moved != Pull::No
    });
    two.direct(0).release(&source);
    ways
}

#[test]
fn layouts_meet() {
    let mut two = Two::new(&Settings::default());
    let mut ways = |len: usize, from: (usize, usize), into: (usize, usize)| {
        both_ways(&mut two, &Layout::new(len, from.0, from.1).fill(), || Layout::new(len, into.0, into.1))
    };
    const DENSE: (usize, usize) = (usize::MAX, 0);
    assert_eq!(ways(3_000_000, DENSE, DENSE), [true, true]);
    assert_eq!(ways(100_000, (1000, 24), (1000, 8)), [true, true], "equal blocks");
    assert_eq!(ways(100_000, (1000, 24), (777, 8)), [true, true], "other blocks");
    // A gather list makes one request of many short blocks, on the side whose memory it is of.
    assert_eq!(ways(100_000, (64, 64), DENSE), [false, true], "a column to be written");
    assert_eq!(ways(100_000, DENSE, (64, 64)), [true, false], "a column to be read into");
    assert_eq!(ways(100_000, (8, 56), (8, 56)), [false, false], "rather packed");
}

#[test]
fn a_longer_message_than_the_receive_is_cut() {
    let mut two = Two::new(&Settings::default());
    let from = Layout::new(90_000, 1000, 5).fill();
    both_ways(&mut two, &from, || Layout::new(40_000, 2000, 3));
}

/// More reads than the queue takes, of several messages at once, and packets between them.
#[test]
fn many_reads_take_turns() {
    let mut two = Two::new(&Settings::default());
    let from: Vec<Layout> = (0..6).map(|_| Layout::new(400_000, 600, 40).fill()).collect();
    let into: Vec<Layout> = (0..6).map(|_| Layout::new(400_000, usize::MAX, 0)).collect();
    for (number, (from, into)) in from.iter().zip(&into).enumerate() {
        let (source, target) = (two.locate(0, from.memory), two.locate(1, into.memory));
        assert_eq!(two.direct(1).pull(0, &source, PullTo::Receive(&target, number as u32, Get::Card)), Pull::Pending);
        assert!(two.ends[1].copy_and_send(0, &[0; 4], tern_device::Payload::Bytes(&[1; 100])).is_some());
    }
    two.until("six messages", |told| told[1].pulled.len() == 6 && told[0].packets == 6);
    into.iter().for_each(|into| into.check(400_000));
}

/// Two processes with several ports, which are open.
fn with_ports(ports: u32, faults: Faults) -> Two {
    let mut two = Two::new(&Settings { ports, faults, ..Settings::default() });
    let (from, into) = (Layout::new(300_000, usize::MAX, 0), Layout::new(300_000, usize::MAX, 0));
    let (source, target) = (two.locate(0, from.memory), two.locate(1, into.memory));
    // The first message goes over the first port, and asks for the others.
    assert_eq!(two.direct(1).pull(0, &source, PullTo::Receive(&target, 9, Get::Card)), Pull::Pending);
    two.until("the first message", |told| told[1].pulled == [9]);
    two.told = Default::default();
    for _ in 0..2_000_000 {
        if [0, 1].iter().all(|&end| two.ends[end].open_ports(1 - end as u32) == ports as usize) {
            return two;
        }
        two.poll();
    }
    panic!("the ports were never opened");
}

#[test]
fn several_ports_carry_a_message() {
    for ports in [2, 8] {
        let mut two = with_ports(ports, Faults::default());
        let before = tern_counters::NETWORK_STRIPES.get();
        let mut ways = |len: usize, from: (usize, usize), into: (usize, usize)| {
            both_ways(&mut two, &Layout::new(len, from.0, from.1).fill(), || Layout::new(len, into.0, into.1))
        };
        const DENSE: (usize, usize) = (usize::MAX, 0);
        assert_eq!(ways(3_000_001, DENSE, DENSE), [true, true]);
        assert_eq!(ways(200_000, (1000, 24), (777, 8)), [true, true]);
        assert_eq!(ways(200_000, (64, 64), DENSE), [false, true]);
        assert!(tern_counters::NETWORK_STRIPES.get() > before);
        // Nothing of them is counted as load any more.
        assert_eq!(two.ends[0].carried() + two.ends[1].carried(), 0);
    }
}

/// A port fails: the message goes on over the others.
#[test]
fn a_port_that_fails_is_given_up() {
    for fetch in [true, false] {
        let mut two = with_ports(3, Faults::default());
        let from = Layout::new(6_000_000, usize::MAX, 0).fill();
        let into = Layout::new(6_000_000, usize::MAX, 0);
        let (source, target) = (two.locate(0, from.memory), two.locate(1, into.memory));
        let mover = fetch as usize;
        // It does not know yet.
        two.ends[mover].fail_port(1 - mover as u32, 2);
        let moved = match fetch {
            true => two.direct(1).pull(0, &source, PullTo::Receive(&target, 9, Get::Card)),
            false => two.direct(0).push(1, &source, PushTo::Memory(&target), 8),
        };
        assert!(matches!(moved, Pull::Pending | Pull::Unordered));
        two.until("the message", |told| told[1].pulled == [9] || told[0].sent == [8]);
        into.check(6_000_000);
        assert_eq!(two.ends[mover].open_ports(1 - mover as u32), 2);
        assert!(two.told.iter().all(|told| told.lost.is_empty()));
        two.told = Default::default();
        assert_eq!(both_ways(&mut two, &from, || Layout::new(6_000_000, usize::MAX, 0)), [true, true]);
    }
}

/// Published receives: the end of a message in stripes does not hold up those behind it, nor do they end it.
#[test]
fn several_ports_fill_what_is_published() {
    for cut in [None, Some((1, 6))] {
        let mut two = with_ports(2, Faults { cut_port: cut, ..Faults::default() });
        let before = tern_counters::NETWORK_STRIPES.get();
        let key = Key { context: 3, source: 0, tag: 5 };
        let lens = [2_000_000, 10_000, 700_000, 40_000, 3_000_000];
        let from = lens.map(|len| Layout::new(len, usize::MAX, 0).fill());
        let into = lens.map(|len| Layout::new(len, usize::MAX, 0));
        for (receiver, into) in into.iter().enumerate() {
            let target = two.locate(1, into.memory);
            assert!(two.direct(1).publish(0, &key, &target, receiver as u32, 0).is_some());
        }
        for (sender, from) in from.iter().enumerate() {
            let source = two.locate(0, from.memory);
            let message = Outgoing { source: &source, sender: sender as u32, way: Deliver::Card };
            let mut delivery = Delivery::Stream;
            for _ in 0..2_000_000 {
                let found = two.direct(0).find_published(1, &key, 0, source.len);
                delivery = found.map_or(Delivery::Stream, |found| two.direct(0).deliver(1, &found, &message));
                if delivery != Delivery::Stream {
                    break;
                }
                two.poll();
            }
            assert!(matches!(delivery, Delivery::Pending | Delivery::Done), "{delivery:?}");
        }
        two.until("five messages", |told| told[1].delivered.len() == 5);
        let mut delivered = two.told[1].delivered.clone();
        delivered.sort_unstable();
        assert_eq!(delivered, [0, 1, 2, 3, 4].map(|at| (at as u32, lens[at] as u64)));
        into.iter().zip(lens).for_each(|(into, len)| into.check(len));
        two.until("their ends", |told| [0, 2, 4].iter().all(|at| told[0].sent.contains(at)));
        assert!(tern_counters::NETWORK_STRIPES.get() > before);
        assert_eq!(two.ends[0].open_ports(1), if cut.is_some() { 1 } else { 2 });
        assert_eq!(two.ends[0].carried(), 0);
    }
}

/// What a port had under way when it failed comes when its message has been repeated, and must not land in memory that is
/// in use for something else.
#[test]
fn what_is_late_lands_nowhere() {
    let mut two = with_ports(2, Faults { cut_port: Some((1, 0)), ..Faults::default() });
    let from = Layout::new(1_000_000, usize::MAX, 0).fill();
    let mut into = Layout::new(1_000_000, usize::MAX, 0);
    let (source, target) = (two.locate(0, from.memory), two.locate(1, into.memory));
    assert_eq!(two.direct(0).push(1, &source, PushTo::Memory(&target), 8), Pull::Unordered);
    two.until("the message", |told| told[0].sent == [8]);
    into.check(1_000_000);
    assert_eq!(two.ends[0].open_ports(1), 1, "the port was cut");
    into.bytes.fill(GAP);
    // It would be there after 30 ms.
    for _ in 0..20 {
        two.poll();
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    into.check(0);
    assert!(two.told.iter().all(|told| told.lost.is_empty()));
}

#[test]
fn where_nothing_can_be_registered_packets_remain() {
    let settings = Settings { faults: Faults { locked: Some(3 << 20), ..Faults::default() }, ..Settings::default() };
    let two = Two::new(&settings);
    let long = Layout::new(8 << 20, usize::MAX, 0);
    let refused = two.locate(0, long.memory);
    assert_eq!(refused.key, 0);
    assert_eq!(two.direct(0).pull(1, &refused, PullTo::Receive(&refused, 1, Get::Card)), Pull::No);
    assert_eq!(two.direct(0).push(1, &refused, PushTo::Memory(&refused), 1), Pull::No);
    two.direct(0).release(&refused);
}

/// The sender's memory is gone while the receiver reads: the loss is told, and no end.
#[test]
fn a_peer_that_is_lost_ends_nothing() {
    for fetch in [true, false] {
        let mut two = Two::new(&Settings::default());
        let (from, into) = (Layout::new(300_000, usize::MAX, 0), Layout::new(300_000, usize::MAX, 0));
        let (source, target) = (two.locate(0, from.memory), two.locate(1, into.memory));
        // A key that nobody has given.
        let wrong = |memory: Memory| Memory { key: memory.key ^ 0x5555, ..memory };
        let moved = match fetch {
            true => two.direct(1).pull(0, &wrong(source), PullTo::Receive(&target, 9, Get::Card)),
            false => two.direct(0).push(1, &source, PushTo::Memory(&wrong(target)), 8),
        };
        assert_eq!(moved, Pull::Pending);
        let loser = fetch as usize;
        two.until("the loss", |told| told[loser].lost == [1 - loser as u32]);
        (0..1000).for_each(|_| two.poll());
        assert!(two.told[1].pulled.is_empty() && two.told[0].sent.is_empty());
        assert_eq!(two.told[loser].lost.len(), 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_layout_arrives(
        shapes in prop::collection::vec((1..60_000usize, (1..9000usize, 0..90usize), (1..9000usize, 0..90usize)), 1..12),
    ) {
        let mut two = Two::new(&Settings::default());
        for (len, from, into) in shapes {
            both_ways(&mut two, &Layout::new(len, from.0, from.1).fill(), || Layout::new(len, into.0, into.1));
        }
    }
}
