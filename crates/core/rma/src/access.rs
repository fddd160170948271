//! Put and get, and how an access finds its target.

use crate::attached::{Piece, Placed, cover};
use crate::combine::Combination;
use crate::elements::{Side, in_parts, runs, span};
use crate::error::NotMade;
use crate::keys::Key;
use crate::messages::{Kind, PART, Question, RUNS};
use crate::remote::{Found, Means};
use crate::request::ROOM;
use crate::spot::{Instructions, Spot};
use crate::window::Window;
use crate::{Class, Error, Started, Target, Ticket};
use std::ops::Range;
use std::sync::atomic::Ordering;
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_counters as counters;
use tern_layout::Basic;
use tern_mcm::{Direction, Lease, Memory, NotCopied, Run};

impl Window {
    /// Finds the target of an access.
    ///
    /// Errors: it does not lie in the window.
    #[inline]
    pub(crate) fn locate(&self, target: &Target<'_>) -> Result<Spot, Error> {
        let Target { rank, displacement, ty, count } = *target;
        let len = ty.size().wrapping_mul(count);
        if count <= 0 || len == 0 {
            return Ok(Spot::NOTHING);
        }
        let remote = self.remote(rank);
        let Some((low, high)) = span(ty, count) else { return Err(self.out_of_range(target)) };
        let len = len as usize;
        if self.dynamic {
            return self.locate_attached(target, low, high, len);
        }
        let Some(start) = displacement.checked_mul(remote.unit) else { return Err(self.out_of_range(target)) };
        let (Some(first), Some(end)) = (start.checked_add(low), start.checked_add(high)) else {
            return Err(self.out_of_range(target));
        };
        if first < 0 || end > remote.bytes as i64 {
            return Err(self.out_of_range(target));
        }
        let (low, high) = (first as usize, end as usize);
        let within = |range: &Range<usize>| range.start <= low && high <= range.end;
        let instructions = match () {
            () if within(&remote.atomic) => Instructions::Possible,
            () if high <= remote.atomic.start || remote.atomic.end <= low => Instructions::Never,
            () => Instructions::InPart,
        };
        let near = within(&remote.near);
        let middle = |at: usize| at.clamp(low, high) - low;
        Ok(Spot {
            way: if near { Means::Mapped } else { remote.way.get() },
            instructions,
            middle: (middle(remote.near.start), middle(remote.near.end)),
            here: remote.here.wrapping_offset(start as isize),
            address: remote.address.wrapping_add_signed(start),
            len,
            key: self.card.as_ref().and_then(|card| Key::of(card.key(rank))),
        })
    }

    /// Whether a target lies in the window.
    ///
    /// Errors: it does not.
    pub fn reaches(&self, target: &Target<'_>) -> Result<(), Error> {
        self.locate(target).map(drop)
    }

    #[cold]
    fn out_of_range(&self, target: &Target<'_>) -> Error {
        let Target { rank, displacement, ty, count } = *target;
        let (low, high) = span(ty, count).unwrap_or((0, i64::MAX));
        let window = match self.dynamic {
            true => "is not in memory that it has attached".into(),
            false => format!("is not in its {} bytes (displacement unit {})", self.bytes(rank), self.disp_unit(rank)),
        };
        let what = format!("access to bytes {low} to {high} from displacement {displacement} at rank {rank} {window}");
        Error::new(Class::Range, what)
    }

    fn locate_attached(&self, target: &Target<'_>, low: i64, high: i64, len: usize) -> Result<Spot, Error> {
        let rank = target.rank;
        let address = target.displacement as u64;
        let (first, end) = (address.wrapping_add_signed(low), address.wrapping_add_signed(high));
        if self.apart && rank != self.rank() {
            let key = match self.card {
                Some(_) => self.attached_by_card(rank, first, end)?.map(|piece| Key::of(piece.place)),
                None => self.is_attached_apart(rank, [(first, end.wrapping_sub(first))])?.then_some(None),
            };
            let Some(key) = key else { return self.locate_in_pieces(target, len) };
            let way = if key.is_none() { Means::Messages } else { Means::Card };
            return Ok(Spot { way, address, len, key, ..Spot::NOTHING });
        }
        let Some((piece, here)) = self.attached_piece(rank, first, end)? else {
            return self.locate_in_pieces(target, len);
        };
        let way = match here.is_null() {
            false => Means::Mapped,
            true if piece.place == 0 && self.kernel && self.direct().pair(self.peers.procs[rank as usize]).kernel => {
                Means::Kernel
            }
            true => Means::Messages,
        };
        let here = here.wrapping_offset(address.wrapping_sub(piece.start) as isize);
        let key = self.card.as_ref().and_then(|_| Key::of(piece.place));
        let atomic = piece.place != 0 && !self.apart;
        let instructions = if atomic { Instructions::Possible } else { Instructions::Never };
        Ok(Spot { way, instructions, here, address, len, key, ..Spot::NOTHING })
    }

    /// Finds a target that is not in one piece of attached memory, but may be in several. It is reached by addresses of its
    /// own process, for the pieces need not lie side by side anywhere else.
    #[cold]
    fn locate_in_pieces(&self, target: &Target<'_>, len: usize) -> Result<Spot, Error> {
        let (rank, address) = (target.rank, target.displacement as u64);
        let (mut runs, mut noted) = (Vec::new(), Ok(()));
        let theirs = Side::new(address as *mut u8, target.count, target.ty);
        theirs.runs(0, len, |at, bytes| {
            if noted.is_ok() {
                noted = tern_memory::push(&mut runs, (at, bytes as u64));
            }
        });
        noted?;
        let own = rank == self.rank();
        let placed = match &self.card {
            None if self.apart && !own => self.is_attached_apart(rank, runs)?.then_some(Placed::None),
            Some(_) if !own => cover(&self.remote(rank).found.borrow().far, runs),
            _ => cover(&self.pieces(rank)?, runs),
        };
        let Some(placed) = placed else { return Err(self.out_of_range(target)) };
        let way = match () {
            () if own => Means::Mapped,
            () if self.card.is_some() && placed == Placed::All => Means::Card,
            () if !self.apart && self.kernel && self.direct().pair(self.peers.procs[rank as usize]).kernel => {
                Means::Kernel
            }
            () => Means::Messages,
        };
        let here = if own { address as *mut u8 } else { std::ptr::null_mut() };
        let (instructions, key) = match placed {
            Placed::None => (Instructions::Never, None),
            _ if self.card.is_some() => (Instructions::Never, Some(Key::Each)),
            _ => (Instructions::InPart, None),
        };
        Ok(Spot { way, instructions, here, address, len, key, ..Spot::NOTHING })
    }

    /// All that `rank` has attached.
    ///
    /// Errors: as of [`Window::await_table`].
    pub(crate) fn pieces(&self, rank: u32) -> Result<Vec<Piece>, Error> {
        self.await_table(rank, |table| table.all())
    }

    /// All that this process has attached.
    pub(crate) fn own_pieces(&self) -> Vec<Piece> {
        self.pieces(self.rank()).expect("this process is not lost")
    }

    /// What `rank` has attached that holds these addresses, and where it begins here (null: nowhere).
    ///
    /// Errors: as of [`Window::await_table`].
    fn attached_piece(&self, rank: u32, first: u64, end: u64) -> Result<Option<(Piece, *mut u8)>, Error> {
        if end < first {
            return Ok(None);
        }
        let remote = self.remote(rank);
        let known = |found: &Found| match found.last {
            Some((piece, _)) if piece.holds(first, end) && found.version == self.shared.table(rank).version() => {
                found.last
            }
            _ => None,
        };
        if let Some(known) = known(&remote.found.borrow()) {
            return Ok(Some(known));
        }
        let (piece, version) = self.await_table(rank, |table| table.find(|piece| piece.holds(first, end)))?;
        let Some(piece) = piece else { return Ok(None) };
        let mut found = remote.found.borrow_mut();
        if found.version != version {
            // What was detached may lie elsewhere now.
            for (piece, here) in found.mapped.drain(..) {
                // SAFETY: mapped below; accesses by it are over when they return.
                unsafe { tern_mcm::unmap(here, piece.len as usize) };
            }
        }
        let known = found.mapped.iter().find(|(mapped, _)| *mapped == piece).map(|(_, here)| *here);
        let here = if rank == self.rank() {
            piece.start as *mut u8
        } else if piece.place == 0 {
            std::ptr::null_mut()
        } else if let Some(here) = known {
            here
        } else {
            let memory = Memory::at_place(piece.place, piece.len as usize);
            let here = self.direct().map(&memory, Lease::Lasting).unwrap_or(std::ptr::null_mut());
            if !here.is_null() {
                found.mapped.push((piece, here));
            }
            here
        };
        (found.version, found.last) = (version, Some((piece, here)));
        Ok(found.last)
    }

    /// Moves `origin` to the target.
    ///
    /// Errors: the target is not in the window, has less room than `origin` has data, or has gone.
    #[inline]
    pub fn put(&self, origin: &Data, target: &Target<'_>) -> Result<Started, Error> {
        let spot = self.locate(target)?;
        let own = Side::of(origin);
        let len = own.len();
        if len > spot.len {
            return Err(truncated("origin", len, "target", spot.len));
        }
        counters::PUT.add(1);
        counters::PUT_BYTES.add(len as u64);
        if len == 0 {
            return Ok(Started::Done);
        }
        if spot.way == Means::Mapped {
            self.stored.set(true);
            // SAFETY: the origin is the program's; the target lies in the window.
            unsafe { self.move_sides(&own, &Side::new(spot.here, target.count, target.ty), Direction::Put) };
            return Ok(Started::Done);
        }
        self.move_far(origin, target, &spot, len, Direction::Put)
    }

    /// Moves the target to `origin`.
    ///
    /// Errors: as for [`Window::put`].
    #[inline]
    pub fn get(&self, origin: &Data, target: &Target<'_>) -> Result<Started, Error> {
        let spot = self.locate(target)?;
        let own = Side::of(origin);
        if spot.len > own.len() {
            return Err(truncated("target", spot.len, "origin", own.len()));
        }
        counters::GET.add(1);
        counters::GET_BYTES.add(spot.len as u64);
        if spot.len == 0 {
            return Ok(Started::Done);
        }
        if spot.way == Means::Mapped {
            // SAFETY: the origin is the program's; the target lies in the window.
            unsafe { self.move_sides(&Side::new(spot.here, target.count, target.ty), &own, Direction::Get) };
            return Ok(Started::Done);
        }
        self.move_far(origin, target, &spot, spot.len, Direction::Get)
    }

    /// Put and get where the target is not mapped.
    #[inline(never)]
    fn move_far(
        &self, origin: &Data, target: &Target<'_>, spot: &Spot, len: usize, way: Direction,
    ) -> Result<Started, Error> {
        let own = Side::of(origin);
        if spot.way == Means::Kernel
            && self.is_done_by_kernel(target.rank, || self.move_by_kernel(&own, target, spot, len, way))?
        {
            return Ok(Started::Done);
        }
        if let (Means::Card, Some(key)) = (spot.way, spot.key) {
            let theirs = Side::new(spot.address as *mut u8, target.count, target.ty);
            let keys = self.keys(target.rank, key);
            if let Some(started) = self.move_neighbours((target.rank, &keys), &own, &theirs, len, way)? {
                return Ok(started);
            }
            let number = self.card_copy((target.rank, &keys), (&own, 0), (&theirs, 0), len, way)?;
            return Ok(self.begun(target.rank, number));
        }
        self.announce_messages(target.rank);
        let kind = if way == Direction::Put { Kind::Put } else { Kind::Get };
        let question = Question { kind, op: Op::Replace, basic: Basic::Byte };
        let ticket = self.messages.begin((way == Direction::Get).then(|| origin.clone()));
        let theirs = Side::new(spot.address as *mut u8, target.count, target.ty);
        let mut parts = Parts::new(self, ticket, target.rank, question, 1, 1);
        // SAFETY: the origin is the program's, which leaves it to the access.
        let gather = |from: usize, out: &mut [u8]| unsafe { own.gather(from, out) };
        theirs.runs(0, len, |at, len| parts.add(at, len, &gather));
        parts.finish(&gather);
        Ok(Started::Pending(ticket))
    }

    /// What the kernel is asked for; false when the same is to be done by messages. Where the kernel has refused, all that follows goes by
    /// messages too: it does so when a process has given up rights since the window was made (setuid).
    ///
    /// Errors: some of the memory is not there, or what `ask` says.
    pub(crate) fn is_done_by_kernel(
        &self, rank: u32, ask: impl FnOnce() -> Result<(), NotMade>,
    ) -> Result<bool, Error> {
        match ask() {
            Ok(()) => Ok(true),
            Err(NotMade::Error(error)) => Err(error),
            Err(NotMade::NotCopied(NotCopied::NotThere)) => Err(unreachable_memory(rank)),
            Err(NotMade::NotCopied(NotCopied::Gone)) => Err(ended(self.peers.procs[rank as usize], rank)),
            Err(NotMade::NotCopied(NotCopied::Missed)) => Ok(false),
            Err(NotMade::NotCopied(NotCopied::Refused)) => {
                let way = &self.remote(rank).way;
                if way.get() == Means::Kernel {
                    way.set(Means::Messages);
                }
                Ok(false)
            }
        }
    }

    fn move_by_kernel(
        &self, own: &Side<'_>, target: &Target<'_>, spot: &Spot, len: usize, way: Direction,
    ) -> Result<(), NotMade> {
        if way == Direction::Get && self.get_by_owner(own, target, spot)? {
            return Ok(());
        }
        let theirs = Side::new(spot.address as *mut u8, target.count, target.ty);
        if let (Side::Dense(own, _), Side::Dense(first, _)) = (own, &theirs)
            && spot.middle.0 < spot.middle.1.min(len)
        {
            return self.move_in_part(*own, *first as u64, target.rank, spot, len, way);
        }
        self.kernel_copy(target.rank, (own, 0), (&theirs, 0), len, way)
    }

    /// Tells a member to look for messages, and does so itself, where the window was made without.
    pub(crate) fn announce_messages(&self, rank: u32) {
        if self.apart {
            return;
        }
        // Release: pairs with the acquire in `attend_if_asked`. The message that follows wakes the member.
        self.shared.member(rank).signals.messages.store(1, Ordering::Release);
        self.attend();
    }

    /// Looks for messages from now on, if others have announced some; true when that is new.
    pub(crate) fn attend_if_asked(&self) -> bool {
        // Acquire: pairs with the release in `announce_messages`.
        let asked =
            !self.attends.get() && self.shared.member(self.rank()).signals.messages.load(Ordering::Acquire) != 0;
        if asked {
            self.attend();
        }
        asked
    }

    /// Moves dense bytes, of which the first has the address `first` in its process. Some in the middle are mapped, and the
    /// kernel moves the rest.
    fn move_in_part(
        &self, own: *mut u8, first: u64, rank: u32, spot: &Spot, len: usize, way: Direction,
    ) -> Result<(), NotMade> {
        let (from, to) = (spot.middle.0, spot.middle.1.min(len));
        self.send_puts(rank)?;
        let edges = [(0, from), (to, len)];
        let runs = |start: u64| edges.map(|(from, to)| Run { address: start + from as u64, len: (to - from) as u64 });
        // SAFETY: own memory is the program's; that of the peer lies in the window.
        unsafe { self.ask_kernel(rank, &runs(own as u64), &runs(first), way)? };
        let (own, here) = (own.wrapping_add(from), spot.here_of(first).wrapping_add(from));
        let (source, target) = if way == Direction::Put { (own, here) } else { (here, own) };
        // SAFETY: as above; these bytes are mapped.
        unsafe { self.move_mapped(source, target, to - from, way) };
        self.stored.set(true);
        Ok(())
    }

    /// [`Window::get`] of a few dense bytes by the memory's owner; false when it does not answer.
    fn get_by_owner(&self, own: &Side<'_>, target: &Target<'_>, spot: &Spot) -> Result<bool, Error> {
        let Side::Dense(into, _) = *own else { return Ok(false) };
        if !target.ty.is_contiguous() || spot.len > ROOM || !self.asks_owner(target.rank, spot.way) {
            return Ok(false);
        }
        self.send_puts(target.rank)?;
        let Some(inside) = self.try_enter(target.rank) else { return Ok(false) };
        let fetch = Combination::find(Op::NoOp, Basic::Byte)?;
        // SAFETY: the target lies in the window, and the origin is the program's, with as much room.
        unsafe { self.ask_owner(&inside, fetch, std::ptr::null(), into, spot.address, spot.len) }
    }

    /// Copies `len` bytes between own memory and that of `rank`, from the given bytes of both on.
    pub(crate) fn kernel_copy(
        &self, rank: u32, own: (&Side<'_>, usize), theirs: (&Side<'_>, usize), len: usize, direction: Direction,
    ) -> Result<(), NotMade> {
        self.send_puts(rank)?;
        self.stored.set(true);
        in_parts(own, theirs, len, |own: &[Run], theirs: &[Run]| {
            // SAFETY: own memory is the program's or a buffer; that of the peer lies in the window.
            unsafe { self.ask_kernel(rank, own, theirs, direction) }.map_err(NotMade::NotCopied)
        })
    }

    /// Copies between own memory and that of `rank`, of the same length.
    ///
    /// Errors: as for [`tern_mcm::SharedMemory::copy`].
    ///
    /// # Safety
    /// Own memory can be read, for [`Direction::Get`] written; that of the peer lies in the window.
    pub(crate) unsafe fn ask_kernel(
        &self, rank: u32, own: &[Run], theirs: &[Run], direction: Direction,
    ) -> Result<(), NotCopied> {
        let name = self.remote(rank).name(self.dynamic, theirs);
        // SAFETY: contract of this function.
        unsafe { self.direct().copy(self.peers.procs[rank as usize], own, (theirs, name), direction) }
    }

    /// True when the access is over: complete at the origin, or [failed](Window::outcome). Makes no progress.
    pub fn is_done(&self, ticket: Ticket) -> bool {
        match ticket.1 {
            Some(rank) => self.is_over(rank, ticket.0),
            None => self.messages.is_done(ticket) || self.check_member(self.messages.target(ticket)).is_err(),
        }
    }

    /// How an access that is over has ended.
    ///
    /// Errors: a member was lost before.
    pub fn outcome(&self, ticket: Ticket) -> Result<(), Error> {
        match ticket.1 {
            Some(rank) => self.await_card(rank, ticket.0),
            None if self.messages.is_done(ticket) => Ok(()),
            None => self.check_member(self.messages.target(ticket)),
        }
    }

    /// The runs of those elements of a target that are named, for messages. What is gathered begins with the first of them.
    pub(crate) fn ask_for_elements(
        &self, ticket: Ticket, target: &Target<'_>, spot: &Spot, question: Question, elements: Range<usize>,
        gather: impl Fn(usize, &mut [u8]),
    ) {
        let (size, extent) = (question.basic.size() as usize, question.basic.extent() as usize);
        let mut parts = Parts::new(self, ticket, target.rank, question, size, extent);
        let mut before = elements.start;
        let _ = runs(target.ty, target.count, question.basic, elements.end, |at, count| {
            let passed = before.min(count);
            before -= passed;
            let address = spot.address.wrapping_add_signed(at) + (passed * extent) as u64;
            parts.add(address, count - passed, &gather);
            Ok::<(), ()>(())
        });
        parts.finish(&gather);
    }
}

#[cold]
pub(crate) fn truncated(what: &str, len: usize, other: &str, room: usize) -> Error {
    Error::new(Class::Argument, format!("{what} has {len} bytes of data, {other} {room}"))
}

/// The error of an access to memory of a process that has ended.
#[cold]
pub(crate) fn ended(process: u32, rank: u32) -> Error {
    let what = format!("rank {rank} has ended in the middle of an access to its memory");
    Error::new(Class::Lost { process }, what)
}

#[cold]
fn unreachable_memory(rank: u32) -> Error {
    let what = format!("memory of rank {rank} that its window names is not there, or not for this access");
    Error::new(Class::Range, what)
}

/// Cuts an access into parts that fit a message each.
struct Parts<'a> {
    window: &'a Window,
    ticket: Ticket,
    rank: u32,
    question: Question,
    /// Bytes of data in a unit of a run, and from one to the next.
    unit: usize,
    stride: usize,
    runs: Vec<(u64, u64)>,
    /// Bytes of the part so far, and before it.
    bytes: usize,
    from: usize,
}

impl<'a> Parts<'a> {
    fn new(window: &'a Window, ticket: Ticket, rank: u32, question: Question, unit: usize, stride: usize) -> Parts<'a> {
        Parts { window, ticket, rank, question, unit, stride, runs: Vec::new(), bytes: 0, from: 0 }
    }

    fn add(&mut self, mut address: u64, mut units: usize, gather: &impl Fn(usize, &mut [u8])) {
        while units > 0 {
            let count = ((PART - self.bytes) / self.unit).min(units);
            if count == 0 || self.runs.len() == RUNS {
                self.send(gather);
                continue;
            }
            self.runs.push((address, count as u64));
            self.bytes += count * self.unit;
            address += (count * self.stride) as u64;
            units -= count;
        }
    }

    fn send(&mut self, gather: &impl Fn(usize, &mut [u8])) {
        let asks = self.question.kind == Kind::Get || self.question.op == Op::NoOp;
        let data = if asks { 0 } else { self.bytes };
        let from = self.from;
        let fill = |out: &mut [u8]| {
            if !out.is_empty() {
                gather(from, out);
            }
        };
        self.window.messages.ask(self.ticket, self.rank, self.question, from, self.bytes, &self.runs, data, fill);
        self.from += self.bytes;
        self.bytes = 0;
        self.runs.clear();
    }

    fn finish(mut self, gather: &impl Fn(usize, &mut [u8])) {
        if self.bytes > 0 {
            self.send(gather);
        }
        self.window.messages.end(self.ticket);
    }
}
