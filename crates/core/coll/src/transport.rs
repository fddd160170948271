//! What schedules need of the engine below: messages, and memory of one member that another one copies from or to.

use crate::reach::{Reach, Region};
use tern_adi::{Adi, Data, Pattern, Proc, SendMode, Sent, Status, Tuple};
use tern_counters as counters;
use tern_mcm::Direction;

/// Bytes by which a member tells another one of a region.
pub const TOLD: usize = Region::TOLD;

/// A region as it is told; zeros: there is none.
pub type Told = [u8; TOLD];

/// What a schedule needs to move data. [`Adi`] is the real one.
pub trait Transport {
    /// A transfer under way.
    type Request: Copy;
    /// Starts a send; None when it is already complete.
    fn isend(&self, to: Proc, tuple: Tuple, data: Data) -> Option<Self::Request>;
    /// Says to `to`, in place of a message, that it will not come; `word` is what [`Status::missing`] gives there.
    fn send_missing(&self, to: Proc, tuple: Tuple, word: u32);
    /// Starts a receive from process `from`, for which the pattern's source stands.
    fn irecv(&self, from: Proc, pattern: Pattern, data: Data) -> Self::Request;
    /// Makes no progress.
    fn is_done(&self, request: Self::Request) -> bool;
    /// The status of a completed request, which is freed.
    fn take(&self, request: Self::Request) -> Status;
    /// Calls off a transfer, which completes in any case: nothing will come of it.
    fn cancel(&self, _: Self::Request) {}

    /// Declares the memory of `data` as a region for `peer`, which gets or puts what is there. Zeros: it has to go as a message.
    fn declare(&self, _peer: Proc, _data: &Data, _direction: Direction) -> Told {
        [0; TOLD]
    }

    /// Ends what [`Transport::declare`] began.
    fn end_region(&self, _told: &Told, _data: &Data, _direction: Direction) {}

    /// Copies between `data` and the region that `peer` has told, which is as long; false if not all could be reached.
    fn copy(&self, _peer: Proc, _told: &Told, _data: &Data, _direction: Direction) -> bool {
        false
    }
}

impl Transport for Adi {
    type Request = tern_adi::Request;

    fn isend(&self, to: Proc, tuple: Tuple, data: Data) -> Option<Self::Request> {
        match Adi::isend(self, to, tuple, data, SendMode::Standard) {
            Sent::Done => None,
            Sent::Pending(request) => Some(request),
        }
    }

    fn send_missing(&self, to: Proc, tuple: Tuple, word: u32) {
        Adi::send_missing(self, to, tuple, word);
    }

    fn irecv(&self, from: Proc, pattern: Pattern, data: Data) -> Self::Request {
        Adi::irecv(self, from, pattern, data)
    }

    fn is_done(&self, request: Self::Request) -> bool {
        Adi::is_done(self, request)
    }

    fn take(&self, request: Self::Request) -> Status {
        Adi::take(self, request)
    }

    fn cancel(&self, request: Self::Request) {
        Adi::cancel(self, request);
    }

    fn declare(&self, peer: Proc, data: &Data, direction: Direction) -> Told {
        Region::declare(self, peer, data, direction).map_or([0; TOLD], |region| region.encode())
    }

    fn end_region(&self, told: &Told, data: &Data, direction: Direction) {
        if let Some(region) = Region::decode(told) {
            region.end(self, data, direction);
        }
    }

    fn copy(&self, peer: Proc, told: &Told, data: &Data, direction: Direction) -> bool {
        let Some((region, direct)) = Region::decode(told).zip(self.mcm().direct()) else { return false };
        let reach = Reach { direct, peer, direction };
        let copied = region.len() == data.len() && reach.copy(&region, 0, data, 0, data.len()).is_ok();
        counters::REGION_BYTES.add(if copied { data.len() as u64 } else { 0 });
        copied
    }
}
