//! Processes of other jobs on other machines: a bridge over several hosts has a TCP device of its own, in which each
//! process is known by its place in the bridge's roster.
//!
//! Beside packets, words of this layer go there: how far a process is. MPI_Finalize is collective over all processes that are
//! connected (MPI 5.0, section 11.10.4), and waits until each of them says that it has come to its end, or is lost.

use std::cell::{Cell, RefCell};
use std::io::Result;
use std::ops::Range;
use std::rc::Rc;
use tern_device::{Channel, Header, Payload, Place, Sink};
use tern_pmi::Job;
use tern_tcp::Tcp;

/// The first word of a header that is for this layer: packets of the layer above have another one.
const STAGE: u64 = u64::from_le_bytes(*b"\xfftern-st");

/// How far a process is, as it says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing has come from it yet.
    Unknown = 0,
    /// It takes part.
    Here = 1,
    /// It has come to its end, and waits for the others.
    Ending = 2,
    /// It has left, or is lost: nobody waits for it.
    Gone = 3,
}

impl Stage {
    fn header(self) -> Header {
        [STAGE, self as u64, 0, 0]
    }

    /// What a header says, if it is for this layer.
    fn of(header: &Header) -> Option<Stage> {
        let word = (header[0] == STAGE).then_some(header[1])?;
        Some(match word {
            0 => Stage::Unknown,
            1 => Stage::Here,
            2 => Stage::Ending,
            _ => Stage::Gone,
        })
    }
}

/// A process that can be found by those of other jobs, and does not know them yet.
pub struct Endpoint {
    endpoint: tern_tcp::Endpoint,
    me: u32,
}

impl Endpoint {
    /// Listens, as the process in place `me` of `processes`.
    ///
    /// Errors: a setting cannot be read; no port is free, or there are no sockets.
    pub fn open(job: &Job, me: u32, processes: u32) -> Result<Endpoint> {
        Ok(Endpoint { endpoint: crate::network::between_jobs(job, me, processes)?, me })
    }

    /// What the others have to know.
    pub fn address(&self) -> Vec<u8> {
        self.endpoint.address()
    }
}

/// A process on the other side.
struct Peer {
    place: u32,
    stage: Cell<Stage>,
    /// What it is to be told and was not yet.
    due: Cell<Option<Stage>>,
}

/// The processes of other jobs that are reached over one device.
pub struct Far {
    device: Tcp,
    /// The place of this process.
    me: u32,
    /// The numbers that this process has given to them, in the order of `peers`.
    pub numbers: Range<u32>,
    peers: Vec<Peer>,
}

/// A sink that is told the numbers of this process.
struct Translated<'a, S: Sink + ?Sized> {
    sink: &'a mut S,
    far: &'a Far,
}

impl<S: Sink + ?Sized> Sink for Translated<'_, S> {
    fn packet(&mut self, from: u32, header: &Header, payload: &[u8]) {
        let Some(at) = self.far.at(from) else { return };
        match Stage::of(header) {
            Some(stage) => self.far.heard(at, stage),
            None => self.sink.packet(self.far.numbers.start + at as u32, header, payload),
        }
    }

    fn place(&mut self, from: u32, header: &Header, len: usize) -> Option<Place> {
        // Words of this layer have no payload.
        let at = self.far.at(from).filter(|_| Stage::of(header).is_none())?;
        self.sink.place(self.far.numbers.start + at as u32, header, len)
    }

    fn placed(&mut self, token: u32, len: usize) {
        self.sink.placed(token, len);
    }

    fn has_enough(&mut self) -> bool {
        self.sink.has_enough()
    }

    fn sent(&mut self, sender: u32) {
        self.sink.sent(sender);
    }

    fn undeliverable(&mut self, peer: u32) {
        // As below: it is missed by nobody.
        let missed = |at: &usize| self.far.peers[*at].stage.get() != Stage::Gone;
        if let Some(at) = self.far.at(peer).filter(missed) {
            self.sink.undeliverable(self.far.numbers.start + at as u32);
        }
    }

    fn lost(&mut self, peer: u32, why: &str) {
        let Some(at) = self.far.at(peer) else { return };
        // Who has left, or comes to its end as this process does, is missed by nobody.
        if self.far.gone(at) != Stage::Gone {
            self.sink.lost(self.far.numbers.start + at as u32, why);
        }
    }
}

impl Far {
    /// The device of an endpoint, with the addresses of all, by place. Those in `newcomers` get numbers from `first` on; this
    /// process calls those that come behind it.
    ///
    /// Errors: an address is something else; no thread can be started.
    pub fn new(endpoint: Endpoint, addresses: &[Vec<u8>], newcomers: &[u32], first: u32) -> Result<Far> {
        let device = endpoint.endpoint.join(addresses)?;
        let peer = |&place: &u32| {
            let due = (place > endpoint.me).then_some(Stage::Here);
            Peer { place, stage: Cell::new(Stage::Unknown), due: Cell::new(due) }
        };
        let peers: Vec<Peer> = newcomers.iter().map(peer).collect();
        let far = Far { device, me: endpoint.me, numbers: first..first + peers.len() as u32, peers };
        far.tell_due();
        Ok(far)
    }

    /// [`Abilities::look`](tern_device::Abilities::look) of its device.
    pub fn look(&self) -> u32 {
        self.device.abilities().look
    }

    /// A peer says how far it is. Its first word is the answer to a call, or a call.
    fn heard(&self, at: usize, stage: Stage) {
        let peer = &self.peers[at];
        if peer.stage.replace(stage) == Stage::Unknown && peer.place < self.me && peer.due.get().is_none() {
            peer.due.set(Some(Stage::Here));
        }
    }

    /// Nobody waits for a peer any more, nor has anything to tell it. How far it was.
    fn gone(&self, at: usize) -> Stage {
        self.peers[at].due.set(None);
        self.peers[at].stage.replace(Stage::Gone)
    }

    /// See [`Channel::forget`].
    pub fn forget(&self, number: u32) {
        self.gone((number - self.numbers.start) as usize);
        self.device.forget(self.place(number));
    }

    /// Whether each of the peers has been met, or is lost.
    pub fn has_met_all(&self) -> bool {
        self.tell_due();
        self.peers.iter().all(|peer| peer.stage.get() != Stage::Unknown && peer.due.get().is_none())
    }

    /// Which of the peers is in a place.
    fn at(&self, place: u32) -> Option<usize> {
        // They come in rising order.
        self.peers.binary_search_by_key(&place, |peer| peer.place).ok()
    }

    /// The place of the process with that number.
    fn place(&self, number: u32) -> u32 {
        self.peers[(number - self.numbers.start) as usize].place
    }

    pub fn device(&self) -> &Tcp {
        &self.device
    }

    /// Runs `with` on the device, with the peer's number there.
    pub fn with<R>(&self, number: u32, with: impl FnOnce(&Tcp, u32) -> R) -> R {
        with(&self.device, self.place(number))
    }

    /// Hands what has arrived to `sink`.
    pub fn poll<S: Sink + ?Sized>(&self, sink: &mut S) -> usize {
        self.tell_due();
        self.device.poll(&mut Translated { sink, far: self })
    }

    fn tell_due(&self) {
        for peer in self.peers.iter().filter(|peer| peer.due.get().is_some()) {
            let stage = peer.due.get().expect("it is due");
            if self.device.copy_and_send(peer.place, &stage.header(), Payload::Bytes(&[])).is_some() {
                peer.due.set(None);
            }
        }
    }

    /// Tells all how far this process is.
    fn tell(&self, stage: Stage) {
        for peer in self.peers.iter().filter(|peer| peer.stage.get() != Stage::Gone) {
            peer.due.set(Some(stage));
        }
        self.tell_due();
    }

    /// This process has come to its end, and waits for the others.
    pub fn end(&self) {
        self.tell(Stage::Ending);
    }

    /// This process needs nothing of the others.
    pub fn leave(&self) {
        self.tell(Stage::Gone);
    }

    /// Those that have not come to their end, and are there.
    pub fn awaited(&self) -> impl Iterator<Item = u32> {
        let here = |(_, peer): &(u32, &Peer)| {
            matches!(peer.stage.get(), Stage::Unknown | Stage::Here) || peer.due.get().is_some()
        };
        (self.numbers.start..).zip(&self.peers).filter(here).map(|(number, _)| number)
    }
}

/// All bridges over several hosts.
#[derive(Default)]
pub struct Fars {
    all: RefCell<Vec<Rc<Far>>>,
    /// Whether there are any.
    any: Cell<bool>,
}

impl Fars {
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.any.get()
    }

    pub fn push(&self, far: Far) {
        self.all.borrow_mut().push(Rc::new(far));
        self.any.set(true);
    }

    /// Whose first number that is, taken out; its end is that of its last use.
    pub fn remove(&self, first: u32) -> Option<Rc<Far>> {
        let mut all = self.all.borrow_mut();
        let at = all.iter().position(|far| far.numbers.start == first)?;
        let far = all.swap_remove(at);
        self.any.set(!all.is_empty());
        Some(far)
    }

    /// All of them, taken out.
    pub fn take_all(&self) -> Vec<Rc<Far>> {
        self.any.set(false);
        self.all.take()
    }

    /// All of them, to be used without a borrow: a sink may come back here.
    pub fn all(&self) -> Vec<Rc<Far>> {
        self.all.borrow().clone()
    }

    /// That of a process, if it is reached so.
    pub fn of(&self, number: u32) -> Option<Rc<Far>> {
        self.all.borrow().iter().find(|far| far.numbers.contains(&number)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_this_layer_are_told_from_packets() {
        for stage in [Stage::Unknown, Stage::Here, Stage::Ending, Stage::Gone] {
            assert_eq!(Stage::of(&stage.header()), Some(stage));
        }
        assert_eq!(Stage::of(&[1, 2, 3, 4]), None);
    }
}
