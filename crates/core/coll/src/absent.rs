//! Members that have refused a collective that goes by messages, for their arguments there.
//!
//! Nobody can see what the others call, as on lines ([`crate::lines::refusal`]). So the member takes its place in the order of calls
//! of this kind: it tells all others at once that its part will not come, and takes what they send it, to nowhere, so that no
//! sender waits. Nothing of it costs anything where no call is refused.

use crate::calls::Call;
use crate::group::{Group, Member};
use crate::operation::REFUSED;
use crate::round::Round;
use crate::tags::{CallKind, tag_among};
use std::cell::{Cell, RefCell};
use std::ptr::null_mut;
use std::rc::Rc;
use tern_adi::{Adi, Data, Pattern, Proc, Request, Tuple};
use tern_layout::{Basic, Type};

/// The part of a member in a collective that it has refused.
pub struct Absent {
    peers: Rc<Group>,
    tag: u32,
    /// What others may send: from whom, as what, and the receive that waits for it.
    awaited: RefCell<Vec<(Proc, Pattern, Request)>>,
    /// The communicator is being freed.
    over: Cell<bool>,
}

impl Absent {
    /// Takes the place of the collective `call` in the order of those.
    pub fn new(peers: &Rc<impl Member>, call: Call, kind: CallKind) -> Absent {
        let peers = peers.group();
        let tag = peers.next_tag(call as u8, kind);
        Absent { peers: peers.clone(), tag, awaited: RefCell::default(), over: Cell::new(false) }
    }

    /// Whether it is of the communicator of these.
    pub(crate) fn is_of(&self, peers: &Rc<impl Member>) -> bool {
        Rc::ptr_eq(&self.peers, peers.group())
    }

    /// Takes nothing more: the communicator is being freed, and its context may serve another one.
    pub(crate) fn end(&self, adi: &Adi) {
        self.over.set(true);
        self.awaited.borrow().iter().for_each(|&(.., request)| adi.cancel(request));
    }

    fn receive(adi: &Adi, from: Proc, pattern: Pattern) -> (Proc, Pattern, Request) {
        let nowhere = Data::new(null_mut(), 0, &Type::basic(Basic::Byte));
        (from, pattern, adi.irecv(from, pattern, nowhere))
    }

    /// All other members: process, rank, and whether it is one of the remote group.
    fn others(&self) -> impl Iterator<Item = (Proc, usize, bool)> {
        let own = self.peers.procs.iter().enumerate().map(|(rank, &proc)| (proc, rank, false));
        let remote = self.peers.remote.iter().flat_map(|group| group.iter().enumerate());
        let me = self.peers.rank as usize;
        own.filter(move |&(_, rank, _)| rank != me).chain(remote.map(|(rank, &proc)| (proc, rank, true)))
    }
}

impl Round for Absent {
    fn start(&self, adi: &Adi) {
        for (proc, rank, remote) in self.others() {
            let tag = tag_among(&self.peers, self.tag, remote);
            let tuple = Tuple { context: self.peers.context, source: self.peers.rank as i32, tag };
            adi.send_missing(proc, tuple, REFUSED | self.peers.rank << 1 | u32::from(remote));
            let pattern = Pattern { context: self.peers.context, source: rank as i32, tag };
            self.awaited.borrow_mut().push(Absent::receive(adi, proc, pattern));
        }
    }

    fn advance(&self, adi: &Adi) -> bool {
        let mut awaited = self.awaited.borrow_mut();
        for (from, pattern, request) in std::mem::take(&mut *awaited) {
            if !adi.is_done(request) {
                awaited.push((from, pattern, request));
                continue;
            }
            let status = adi.take(request);
            // Who has refused it too, or cannot end it, sends nothing more.
            let ends = status.missing().is_some() || status.aborted().is_some() || self.over.get();
            if !ends {
                awaited.push(Absent::receive(adi, from, pattern));
            }
        }
        awaited.is_empty()
    }

    fn is_done(&self) -> bool {
        self.awaited.borrow().is_empty()
    }

    fn step(&self) -> usize {
        self.awaited.borrow().len()
    }
}
