//! Part of the engine: all transfers of this process, by number and by name, and which of them is over.

use crate::places::put_data;
use crate::slab::Slab;
use crate::transfer::{EXPECTED, NONE, Side, Transfer};
use crate::{Data, Name, Owner, Places, Proc, Status, Tuple};

/// Of so many looks at one transfer only, one is left out.
const QUICK: u32 = 64;

/// All transfers, [`EXPECTED`] among them.
#[derive(Debug)]
pub struct Requests {
    transfers: Slab<Transfer>,
    /// Something has completed since the device last asked whether more is wanted.
    ended: bool,
    /// Looks at one transfer only.
    quick: u32,
    /// Transfer [`EXPECTED`] is in use, from its start to the end of its call.
    expecting: bool,
    /// A message has matched it.
    expected_begun: bool,
}

impl Requests {
    pub fn new() -> Requests {
        let mut transfers = Slab::new();
        let first = transfers.insert(Transfer { done: true, ..Transfer::new(Data::none(), Side::receive(NONE)) });
        assert_eq!(first, EXPECTED);
        Requests { transfers, ended: false, quick: 0, expecting: false, expected_begun: false }
    }

    // ---- entries

    /// The number that the next transfer gets.
    #[inline]
    pub fn next(&self) -> u32 {
        self.transfers.next()
    }

    // Always: see `Slab::insert`.
    #[inline(always)]
    pub fn insert(&mut self, transfer: Transfer) -> u32 {
        self.transfers.insert(transfer)
    }

    /// A send that begins now, of which nothing has gone.
    pub fn start_send(&mut self, to: Proc, tuple: Tuple, data: Data) -> u32 {
        self.insert(Transfer::new(data, Side::Send { to, tuple, awaits_match: false, unsent: true }))
    }

    #[inline]
    pub fn get(&self, request: u32) -> &Transfer {
        self.transfers.get(request)
    }

    #[inline]
    pub fn get_mut(&mut self, request: u32) -> &mut Transfer {
        self.transfers.get_mut(request)
    }

    /// The transfer, if it was not freed.
    #[inline]
    pub fn find(&self, request: u32) -> Option<&Transfer> {
        self.transfers.find(request)
    }

    /// Frees the transfer.
    #[inline]
    pub fn remove(&mut self, request: u32) {
        self.transfers.remove(request);
    }

    /// Frees the transfer without looking at it again.
    #[inline]
    pub fn free(&mut self, request: u32) {
        self.transfers.free(request);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Transfer> {
        self.transfers.iter()
    }

    /// All transfers, with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &Transfer)> {
        self.transfers.numbered()
    }

    /// True when no transfers are under way but `own` ones of the caller's.
    #[inline]
    pub fn is_quiet(&self, own: usize) -> bool {
        // Transfer [`EXPECTED`] is always there.
        self.transfers.len() == 1 + own && !self.expecting
    }

    /// Where everything is, for a debugger.
    pub fn put_places(&self, places: &mut Places) {
        self.transfers.put_places("transfers", places);
        put_data(places, std::mem::offset_of!(Transfer, data));
        // The receive of a call that only waits for it is under way from the one to the other.
        places.put_address("expecting", &self.expecting);
        places.put_address("expected_begun", &self.expected_begun);
    }

    // ---- what a packet may name

    /// A receive under way that has matched a message of process `from`, and waits for `len` bytes of it, or more; and how many it has.
    pub fn receiving(&self, from: Proc, request: u32, len: usize) -> Option<(&Transfer, usize)> {
        let transfer = self.transfers.find(request).filter(|transfer| !transfer.done)?;
        let Side::Receive { place: None, from: sender, published, received, expected } = transfer.side else {
            return None;
        };
        let waits = sender == from && !published.is_published() && received < expected && len <= expected - received;
        waits.then_some((transfer, received))
    }

    /// Whether that is a receive that process `from` may have claimed.
    pub fn is_published_for(&self, from: Proc, request: u32) -> bool {
        let side = self.transfers.find(request).map(|transfer| &transfer.side);
        matches!(side, Some(Side::Receive { published, .. }) if published.is_published() && published.peer == from)
    }

    /// A send to process `to` that is under way, and has `bytes` bytes or more.
    pub fn sending(&self, to: Proc, request: u32, bytes: u64) -> Option<&Transfer> {
        self.transfers.find(request).filter(|transfer| {
            let fits = !transfer.done && bytes <= transfer.data.len() as u64;
            fits && matches!(transfer.side, Side::Send { to: peer, .. } if peer == to)
        })
    }

    // ---- names

    /// Names a transfer; keeps `owner` until it is freed.
    #[inline]
    pub fn name(&mut self, request: u32, owner: Owner) -> Name {
        self.transfers.get_mut(request).owner = Some(owner);
        self.name_of(request)
    }

    #[inline]
    fn name_of(&self, request: u32) -> Name {
        Name { index: request, generation: self.transfers.generation(request) % Name::GENERATIONS }
    }

    /// The transfer of that name, unless it was freed.
    #[inline]
    pub fn named(&self, name: Name) -> Option<&Transfer> {
        let transfer = self.transfers.find(name.index).filter(|transfer| transfer.owner.is_some())?;
        (self.transfers.generation(name.index) % Name::GENERATIONS == name.generation).then_some(transfer)
    }

    /// The names of all transfers that have one.
    pub fn names(&self) -> Vec<Name> {
        let named = self.transfers.numbered().filter(|(_, transfer)| transfer.owner.is_some() && !transfer.released);
        named.map(|(index, _)| self.name_of(index)).collect()
    }

    // ---- completion

    /// The transfer is done, and freed if nobody will ask for it.
    #[inline]
    pub fn complete(&mut self, request: u32) {
        self.ended = true;
        let transfer = self.transfers.get_mut(request);
        transfer.done = true;
        if let Data::Typed { .. } = transfer.data {
            // The program may free the type, which nobody needs any more.
            transfer.data = Data::none();
        }
        if transfer.released {
            self.transfers.remove(request);
        }
    }

    /// The transfer is over, and nobody asks for it any more.
    #[inline]
    pub fn complete_and_free(&mut self, request: u32) {
        self.ended = true;
        self.transfers.free(request);
    }

    /// Frees the transfer now or once it is done. Its name is stale from now on.
    pub fn release(&mut self, request: u32) {
        let transfer = self.transfers.get_mut(request);
        transfer.released = true;
        if transfer.done {
            self.transfers.remove(request);
        } else {
            self.transfers.outdate(request);
        }
    }

    /// Whether a transfer has ended since the last time that this was asked.
    #[inline]
    pub fn take_ended(&mut self) -> bool {
        std::mem::take(&mut self.ended)
    }

    /// Now and then a look at one transfer alone is left out, so that a program whose messages are always there already does not wait without end
    /// for anything else.
    #[inline]
    pub fn is_passed_over(&mut self) -> bool {
        self.quick = self.quick.wrapping_add(1);
        self.quick.is_multiple_of(QUICK)
    }

    // ---- the transfer that its call only waits for

    /// Begins a receive as transfer [`EXPECTED`]. False when another such call is under way.
    #[inline]
    pub fn expect(&mut self, from: Proc, data: Data) -> bool {
        if self.expecting {
            return false;
        }
        self.expecting = true;
        let transfer = self.transfers.get_mut(EXPECTED);
        transfer.data = data;
        transfer.done = false;
        transfer.side = Side::receive(from);
        self.expected_begun = false;
        true
    }

    /// A message has matched [`EXPECTED`].
    #[inline]
    pub fn is_expected_begun(&self) -> bool {
        self.expected_begun
    }

    /// Notes whether a message has matched [`EXPECTED`].
    #[inline]
    pub fn note_expected(&mut self, begun: bool) {
        self.expected_begun |= begun;
    }

    /// The status of [`EXPECTED`] when that is complete.
    #[inline]
    pub fn expected(&self) -> Option<Status> {
        let transfer = self.transfers.get(EXPECTED);
        transfer.done.then(|| transfer.status.fresh())
    }

    /// The call that waited for [`EXPECTED`] is over.
    #[inline]
    pub fn end_expected(&mut self) {
        self.expecting = false;
        self.expected_begun = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::Published;
    use std::rc::Rc;

    fn receive(requests: &mut Requests) -> u32 {
        requests.insert(Transfer::new(Data::none(), Side::receive(3)))
    }

    #[test]
    fn a_name_is_stale_once_its_transfer_is_freed() {
        let mut requests = Requests::new();
        let request = receive(&mut requests);
        let name = requests.name(request, Rc::new(()));
        assert!(requests.named(name).is_some());
        assert_eq!(requests.names(), [name]);
        requests.free(request);
        assert!(requests.named(name).is_none());
        assert_eq!(receive(&mut requests), request, "the number is used again");
        assert!(requests.named(name).is_none(), "the name is not");
    }

    #[test]
    fn what_is_released_is_freed_when_it_is_done() {
        let mut requests = Requests::new();
        let request = receive(&mut requests);
        let name = requests.name(request, Rc::new(()));
        requests.release(request);
        assert!(requests.named(name).is_none() && requests.find(request).is_some());
        assert!(!requests.take_ended());
        requests.complete(request);
        assert!(requests.find(request).is_none());
        assert!(requests.take_ended() && !requests.take_ended());
    }

    #[test]
    fn packets_name_what_is_under_way_with_their_sender() {
        let mut requests = Requests::new();
        let request = receive(&mut requests);
        requests.get_mut(request).begin(3, 0, 0, 10);
        assert!(requests.receiving(3, request, 10).is_some());
        assert!(requests.receiving(3, request, 11).is_none() && requests.receiving(4, request, 1).is_none());
        assert!(!requests.is_published_for(3, request));
        requests.get_mut(request).set_published(Published::new(3, 1, 0, false));
        assert!(requests.is_published_for(3, request) && !requests.is_published_for(4, request));
        assert!(requests.receiving(3, request, 1).is_none(), "it is published");
        let send = requests.start_send(3, Tuple { context: 0, source: 0, tag: 0 }, Data::none());
        let sends = |requests: &Requests, to, request, bytes| requests.sending(to, request, bytes).is_some();
        assert!(sends(&requests, 3, send, 0) && !sends(&requests, 3, send, 1));
        assert!(!sends(&requests, 4, send, 0) && !sends(&requests, 3, request, 0) && !sends(&requests, 3, 99, 0));
        requests.complete(send);
        assert!(!sends(&requests, 3, send, 0), "it is over");
    }

    #[test]
    fn one_call_at_a_time_waits_for_the_expected_one() {
        let mut requests = Requests::new();
        assert!(requests.is_quiet(0));
        assert!(requests.expect(3, Data::none()));
        assert!(!requests.is_quiet(0) && !requests.expect(4, Data::none()));
        requests.note_expected(true);
        requests.note_expected(false);
        assert!(requests.is_expected_begun() && requests.expected().is_none());
        requests.complete(EXPECTED);
        assert!(requests.expected().is_some());
        requests.end_expected();
        assert!(requests.is_quiet(0) && !requests.is_expected_begun());
    }

    #[test]
    fn one_look_in_many_is_left_out() {
        let mut requests = Requests::new();
        let left = (0..4 * QUICK).filter(|_| requests.is_passed_over()).count();
        assert_eq!(left, 4);
    }
}
