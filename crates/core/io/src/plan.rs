//! Collective buffering in two phases (Thakur, Gropp, Lusk: Data Sieving and Collective I/O in ROMIO,
//! 1999), without the communication: who accesses which part of the file, in which round.
//!
//! Everybody tells everybody its [`Request`]. All then make the same [`Plan`], or agree that each one
//! accesses the file by itself. In a plan the file between the first and the last byte is divided among
//! a few *aggregators*, and each one's part, its *domain*, into *windows*, one for each round. In a
//! round everybody sends the aggregators what it has for their windows (or gets what it wants from
//! them), and the aggregator accesses its window at once.

use std::ops::Range;

use crate::cost::{self, Shape};
use crate::hints::{AccessKind, Choice};
use crate::view::View;

/// What the others have to know of one process's part in a collective access. Plain numbers, to be
/// sent around.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Offset of the first byte.
    pub first: u64,
    /// Offset after the last byte.
    pub end: u64,
    /// Bytes of data; 0: takes part without data.
    pub bytes: u64,
    /// About how many runs of the file these are.
    pub runs: u64,
    /// 1 if the runs are in the order of the file and do not overlap, as they must for a plan.
    pub ordered: u64,
    /// Nanoseconds that a short call on the file takes there.
    pub call: u64,
}

impl Request {
    /// The request of a process for `len` bytes of the stream of `view` from `position` on. A short call on the file takes `call`
    /// nanoseconds there. The request is without bytes if the view has no data there.
    pub fn of(view: &View, position: u64, len: u64, call: u64) -> Request {
        match (view.offset(position), view.end(position, len)) {
            (Some(first), Some(end)) => {
                let ordered = view.is_ordered(position, len).into();
                Request { first, end, bytes: len, runs: view.runs(len), ordered, call }
            }
            _ => Request::default(),
        }
    }
}

/// What the user wishes of collective accesses. Must be the same in all processes.
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    pub way: AccessKind,
    /// `romio_cb_read` or `romio_cb_write`.
    pub buffering: Choice,
    /// How many processes access the file (`cb_nodes`); None: chosen here.
    pub aggregators: Option<usize>,
    /// Bytes of a window (`cb_buffer_size`); None: chosen here.
    pub buffer: Option<u64>,
    /// Domains begin at multiples of this (`striping_unit`); 0: of a page.
    pub align: u64,
}

impl Default for Wishes {
    fn default() -> Wishes {
        Wishes { way: AccessKind::Read, buffering: Choice::Auto, aggregators: None, buffer: None, align: 0 }
    }
}

/// Who accesses which part of the file in which round. The same in all processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    aggregators: Vec<usize>,
    domains: Vec<Range<u64>>,
    window: u64,
}

/// A run of one process's data that goes to (or comes from) one aggregator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which aggregator: an index into [`Plan::aggregators`].
    pub aggregator: usize,
    /// Where in the file.
    pub offset: u64,
    pub len: u64,
    /// Where in the request: bytes from its beginning, in file representation.
    pub at: u64,
}

/// Aggregators that are chosen here have at least so many bytes each, and there are no more of them.
const ENOUGH: u64 = 1 << 20;
const MOST: usize = 16;
const PAGE: u64 = 4096;
/// A domain is divided into so many windows, so that one is written while the next is collected, unless they would be
/// shorter than what a core's own cache holds, or longer than memory should be taken for them.
const WINDOWS: u64 = 16;
const SHORTEST: u64 = 1 << 20;
pub const LONGEST: u64 = 16 << 20;

impl Plan {
    /// The plan for these requests, one for each process. None: each one accesses the file by itself,
    /// because that is cheaper, because nobody has data, or because somebody's request is not ordered.
    pub fn new(requests: &[Request], wishes: &Wishes) -> Option<Plan> {
        let mut active: Vec<&Request> = requests.iter().filter(|request| request.bytes > 0).collect();
        if wishes.buffering == Choice::Never || active.iter().any(|request| request.ordered == 0) {
            return None;
        }
        active.sort_unstable_by_key(|request| request.first);
        let bytes = active.iter().map(|request| request.bytes).sum();
        let runs = active.iter().map(|request| request.runs).sum();
        let span = active.first()?.first..active.iter().map(|request| request.end).max()?;
        let few = usize::try_from(u64::div_ceil(bytes, ENOUGH)).map_or(MOST, |few| few.min(MOST));
        let count = wishes.aggregators.unwrap_or(few).clamp(1, requests.len());
        let plan = Plan::divide(requests.len(), count, span, wishes);
        let pays = || {
            // Requests that do not lie between each other are best left to their own.
            let between = active.windows(2).any(|pair| pair[1].first < pair[0].end);
            between && cost::together(bytes, runs, count as u64, plan.rounds(), wishes.way) < alone(&active, wishes.way)
        };
        (wishes.buffering == Choice::Always || pays()).then_some(plan)
    }

    /// Divides the file from `span.start` to `span.end` among `count` of `processes`.
    fn divide(processes: usize, count: usize, span: Range<u64>, wishes: &Wishes) -> Plan {
        let align = if wishes.align == 0 { PAGE } else { wishes.align };
        let up = |bytes: u64| bytes.div_ceil(align).max(1).saturating_mul(align);
        let begin = span.start - span.start % align;
        let each = up((span.end - begin).div_ceil(count as u64));
        let start = |index: usize| begin.saturating_add(each.saturating_mul(index as u64)).clamp(span.start, span.end);
        Plan {
            aggregators: (0..count).map(|index| index * processes / count).collect(),
            domains: (0..count).map(|index| start(index)..start(index + 1)).collect(),
            window: up(wishes.buffer.unwrap_or((each / WINDOWS).clamp(SHORTEST, LONGEST))),
        }
    }

    /// The processes that access the file, as indices into the requests.
    pub fn aggregators(&self) -> &[usize] {
        &self.aggregators
    }

    /// The index of `process` among the aggregators.
    pub fn aggregator(&self, process: usize) -> Option<usize> {
        self.aggregators.iter().position(|&one| one == process)
    }

    pub fn rounds(&self) -> u64 {
        let longest = self.domains.iter().map(|domain| domain.end - domain.start).max();
        longest.unwrap_or(0).div_ceil(self.window)
    }

    /// The part of the file that an aggregator accesses in a round, which may be empty.
    pub fn window(&self, aggregator: usize, round: u64) -> Range<u64> {
        let domain = &self.domains[aggregator];
        let start = domain.start.saturating_add(round.saturating_mul(self.window)).min(domain.end);
        start..start.saturating_add(self.window).min(domain.end)
    }

    /// The part of a request (`len` bytes of the stream of `view` from `position` on) that lies in the
    /// window of an aggregator, in bytes from the beginning of the request: one run of the stream,
    /// since requests in plans are ordered.
    pub fn share(&self, view: &View, position: u64, len: u64, aggregator: usize, round: u64) -> Range<u64> {
        let window = self.window(aggregator, round);
        let clamp = |offset: u64| view.bytes_before(offset).clamp(position, position + len) - position;
        clamp(window.start)..clamp(window.end)
    }

    /// The runs of a request in a round, by aggregator, and for each in the order of the file.
    pub fn pieces<'a>(
        &'a self, view: &'a View, position: u64, len: u64, round: u64,
    ) -> impl Iterator<Item = Piece> + 'a {
        (0..self.aggregators.len()).flat_map(move |aggregator| {
            let share = self.share(view, position, len, aggregator, round);
            let mut at = share.start;
            view.segments(position + share.start, share.end - share.start).map(move |(offset, len)| {
                let piece = Piece { aggregator, offset, len, at };
                at += len;
                piece
            })
        })
    }
}

/// What the accesses cost if each process does its own, all at the same time.
fn alone(active: &[&Request], way: AccessKind) -> f64 {
    let shape = |request: &&Request| {
        let Request { first, end, bytes, runs, .. } = **request;
        Shape { bytes, runs, span: end - first }
    };
    let call = active.iter().map(|request| request.call).max().unwrap_or(0);
    cost::apart(active.iter().map(shape), SIEVED, way, call as f64)
}

/// Bytes of the windows of those who access the file by themselves.
const SIEVED: usize = 512 << 10;
