//! Collective buffering in two phases (Thakur, Gropp, Lusk: Data Sieving and Collective I/O in ROMIO,
//! 1999), without the communication: who accesses which part of the file, in which round.
//!
//! Everybody tells everybody its [`Request`]. All then make the same [`Plan`], or agree that each one
//! accesses the file by itself. In a plan the file between the first and the last byte is divided among
//! a few *aggregators*, and each one's part, its *domain*, into *windows*, one for each round. In a
//! round everybody sends the aggregators what it has for their windows (or gets what it wants from
//! them), and the aggregator accesses its window at once.

use std::ops::Range;

use crate::{Choice, View};

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
}

/// What the user wishes of collective accesses. Must be the same in all processes.
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    /// `romio_cb_read` or `romio_cb_write`.
    pub buffering: Choice,
    /// How many processes access the file (`cb_nodes`); None: chosen here.
    pub aggregators: Option<usize>,
    /// Bytes of a window (`cb_buffer_size`).
    pub buffer: u64,
    /// Domains begin at multiples of this (`striping_unit`); 0: of a page.
    pub align: u64,
}

impl Default for Wishes {
    fn default() -> Wishes {
        Wishes { buffering: Choice::Auto, aggregators: None, buffer: 16 << 20, align: 0 }
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

impl Plan {
    /// The plan for these requests, one for each process. None: each one accesses the file by itself.
    pub fn new(requests: &[Request], wishes: &Wishes) -> Option<Plan> {
        let _ = (requests, wishes);
        None
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
    pub fn pieces<'a>(&'a self, view: &'a View, position: u64, len: u64, round: u64) -> impl Iterator<Item = Piece> + 'a {
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
