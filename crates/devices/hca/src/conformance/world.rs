//! Two HCAs in one process, connected.

use crate::{
    Access, Completion, CompletionChannel, CompletionQueue, Connection, Data, Error, Hca, Limits, MemoryRegion,
    Operation, ProtectionDomain, QueuePair, QueuePairOptions, ReceiveLimits, Remote, Segment, SendFlags, SendRequest,
    SharedReceiveQueue,
};
use std::time::{Duration, Instant};

/// Opens an HCA, or says why there is none here.
pub type Factory = fn() -> Result<Hca, String>;

/// What has not come after this will never come.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Memory that is registered.
pub struct Buffer {
    pub region: MemoryRegion,
    bytes: Box<[u8]>,
}

impl Buffer {
    pub fn new(domain: &ProtectionDomain, len: usize, access: Access) -> Buffer {
        let mut bytes = vec![0u8; len].into_boxed_slice();
        // SAFETY: the region is dropped before the memory, and the checks look only when nothing is under way.
        let region = unsafe { domain.register(bytes.as_mut_ptr(), len, access) }.expect("memory is registered");
        Buffer { region, bytes }
    }

    /// Reads what the HCA may have written.
    pub fn bytes(&self) -> Vec<u8> {
        // SAFETY: ours; volatile, since others write it.
        (0..self.bytes.len()).map(|at| unsafe { std::ptr::read_volatile(&self.bytes[at]) }).collect()
    }

    pub fn fill(&mut self, bytes: &[u8]) {
        self.bytes[..bytes.len()].copy_from_slice(bytes);
    }

    pub fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes()[at..at + 8].try_into().expect("eight bytes"))
    }

    pub fn whole(&self) -> Segment {
        self.part(0, self.bytes.len())
    }

    pub fn part(&self, offset: usize, len: usize) -> Segment {
        self.region.segment(offset, len as u32)
    }

    pub fn remote(&self, offset: usize) -> Remote {
        Remote { address: self.region.address() + offset as u64, key: self.region.remote_key() }
    }
}

/// One end of a connection, with all that belongs to it.
pub struct Side {
    pub pair: QueuePair,
    pub sends: CompletionQueue,
    pub receives: CompletionQueue,
    pub channel: CompletionChannel,
    pub shared: Option<SharedReceiveQueue>,
    pub domain: ProtectionDomain,
    pub hca: Hca,
}

#[derive(Clone, Copy)]
pub struct SideOptions {
    pub depth: u32,
    pub shared: bool,
    pub connection: Connection,
}

impl Default for SideOptions {
    fn default() -> SideOptions {
        SideOptions { depth: 64, shared: false, connection: Connection::default() }
    }
}

impl Side {
    pub fn new(hca: Hca, options: &SideOptions) -> Side {
        let domain = hca.protection_domain().expect("a protection domain");
        let channel = hca.completion_channel().expect("a channel");
        let queue = || hca.completion_queue(4 * options.depth, Some(&channel)).expect("a completion queue");
        let (sends, receives) = (queue(), queue());
        let limits = ReceiveLimits { depth: options.depth, scatter: 4 };
        let shared = options.shared.then(|| domain.shared_receive_queue(&limits, 7).expect("a shared receive queue"));
        let pair = domain
            .queue_pair(&QueuePairOptions {
                send_completions: &sends,
                receive_completions: &receives,
                shared_receive_queue: shared.as_ref(),
                send: Limits { depth: options.depth, gather: 4, inline: 64 },
                receive: limits,
            })
            .expect("a queue pair");
        Side { pair, sends, receives, channel, shared, domain, hca }
    }

    pub fn buffer(&self, len: usize) -> Buffer {
        Buffer::new(&self.domain, len, Access::ALL)
    }

    pub fn receive(&self, id: u64, segments: &[Segment]) {
        match &self.shared {
            Some(shared) => shared.post_receive(id, segments),
            None => self.pair.post_receive(id, segments),
        }
        .expect("a receive is posted");
    }

    pub fn post(&self, id: u64, operation: Operation, segments: &[Segment]) -> Result<(), Error> {
        self.pair.post_send(&SendRequest {
            id,
            operation,
            data: Data::Segments(segments),
            flags: SendFlags::SIGNALED,
            receive_queue: 0,
        })
    }

    /// Posts a request that completes, and returns its completion.
    pub fn execute(&self, operation: Operation, segments: &[Segment]) -> Completion {
        self.post(4711, operation, segments).expect("a request is posted");
        let completion = next(&self.sends);
        assert_eq!((completion.id, completion.queue_pair), (4711, self.pair.number()));
        completion
    }
}

/// Two connected ends.
pub fn pair(factory: Factory) -> Result<(Side, Side), String> {
    pair_with(factory, &SideOptions::default())
}

pub fn pair_with(factory: Factory, options: &SideOptions) -> Result<(Side, Side), String> {
    let (one, other) = (Side::new(factory()?, options), Side::new(factory()?, options));
    connect(&one.pair, &other.pair, &options.connection);
    Ok((one, other))
}

pub fn connect(one: &QueuePair, other: &QueuePair, connection: &Connection) {
    one.connect(&other.address(), connection).expect("connected");
    other.connect(&one.address(), connection).expect("connected");
}

/// The next completion of a queue.
pub fn next(queue: &CompletionQueue) -> Completion {
    let mut completion = [Completion::default()];
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if queue.poll(&mut completion).expect("a queue that did not overflow") == 1 {
            return completion[0];
        }
        std::thread::yield_now();
    }
    panic!("a completion should have come");
}

/// Nothing waits in the queue.
pub fn none(queue: &CompletionQueue) {
    let mut completion = [Completion::default()];
    assert_eq!(queue.poll(&mut completion).expect("poll"), 0, "{completion:?}");
}

/// Bytes that differ from place to place.
pub fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + (at >> 8) * 13 + seed * 31) as u8).collect()
}

/// A condition that becomes true.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::yield_now();
    }
}
