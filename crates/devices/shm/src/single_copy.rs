//! How this process reaches the memory of its peers: through the node's shared file, or by the
//! kernel.

mod kernel;
mod segments;

use self::kernel::Kernel;
use crate::declared::Declarations;
use crate::memcheck;
use crate::regions::Regions;
use crate::segment::{Node, Segment};
use std::cell::{Cell, RefCell};
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::sync::MutexGuard;
use tern_device::{Lease, Memory, Purpose, SpeculativeAddress, Use};
use tern_policy::costs::{CacheRoom, Placement, Promotion};
use tern_policy::declaration::{self, Declaration};
use tern_policy::transfer::{Chooser, promotions};
use tern_region::cma::Beacon;
use tern_region::module::Module;
use tern_region::promote::Quiesce;
use tern_region::{Heap, Place, Promoter, Views};
use tern_settings::Promote;
use tern_tune::OwnCacheRoom;

/// Own memory that peers may be at.
#[derive(Default)]
struct Exposed {
    /// Private memory of published receives, by sender and slot.
    receives: RefCell<Vec<(u32, u32, Range<usize>)>>,
    /// Private memory that every peer may be at, at any time.
    windows: RefCell<Vec<Range<usize>>>,
    /// No transfer was under way when the last one began.
    quiet: Cell<bool>,
    /// See [`tern_device::SingleCopy::keep_places`].
    places: Cell<u32>,
}

impl Exposed {
    fn is_in_use(&self, range: &Range<usize>) -> bool {
        if *range == (0..usize::MAX) {
            return !self.quiet.get() || self.places.get() > 0;
        }
        let meets = |other: &Range<usize>| other.start < range.end && range.start < other.end;
        self.receives.borrow().iter().any(|(_, _, receive)| meets(receive)) || self.windows.borrow().iter().any(meets)
    }
}

/// The figures as the promoter asks for them.
fn by_warmth(promotion: Promotion) -> tern_region::promote::Costs {
    let (look_up, once) = (promotion.look_up(), promotion.clone());
    let saved = Box::new(move |len, warmth| promotion.saved(len, warmth));
    tern_region::promote::Costs { promote: Box::new(move |len| once.once(len)), saved, look_up }
}

/// The number of such a use, as the promoter knows it.
fn way(placement: Placement, purpose: Purpose) -> usize {
    4 * placement as usize + purpose as usize
}

/// Whether the kernel tells what this process unmaps, so that promoted memory need not be looked up.
fn tells() -> bool {
    // Valgrind knows no userfaultfd.
    tern_settings::WATCH.get() && !memcheck::is_running() && tern_region::promote::tells().is_ok()
}

/// The ways from this process to the others of the node.
pub struct RegionAccess {
    heap: Rc<Heap>,
    views: Views,
    promoter: RefCell<Promoter>,
    exposed: Rc<Exposed>,
    kernel: Vec<Cell<Kernel>>,
    /// By which peers know that they reach this process, and no other one.
    beacon: Box<Beacon>,
    /// Where the kernel module is there.
    declarations: Option<Declarations>,
    /// The last copy by the kernel was the module's.
    by_module: Cell<bool>,
    /// Own memory in pieces, of messages.
    regions: Regions,
    /// What all processes of the node share.
    node: *const Node,
}

impl RegionAccess {
    /// For process `me` of the segment that lies in `file`, which outlives the value. `module`: the kernel module, if it is there. `quiesce` keeps peers away before a fork.
    pub fn new(
        segment: &Segment, file: BorrowedFd<'_>, me: u32, chooser: &Rc<Chooser>, room: Rc<OwnCacheRoom>,
        quiesce: Quiesce, module: Option<Module>,
    ) -> io::Result<RegionAccess> {
        let (base, span) = segment.geometry.heap(me);
        let heap = Rc::new(Heap::new(file.try_clone_to_owned()?, base, span));
        let beacon = Beacon::new();
        let declaration = || Declaration::new(chooser.asked(), chooser.costs().clone());
        let declarations = module.map(|module| Declarations::new(module, declaration()));
        let cookie = declarations.as_ref().map_or(0, |declarations| {
            // As long as this process has a part in the segment.
            declarations.introduce(beacon.address(), size_of::<Beacon>() as u64)
        });
        segment.process(me).introduce(std::process::id(), &beacon, cookie);
        let exposed = Rc::<Exposed>::default();
        let in_use = exposed.clone();
        // What the user wants the module to copy need not be shared.
        let by_module = declarations.as_ref().is_some_and(Declarations::are_asked_for);
        let policy = if by_module { Promote::Off } else { tern_settings::PROMOTE.get() };
        tern_copy::use_vectors(chooser.costs().vectors);
        let told = tells();
        let mut costs = chooser.costs().clone();
        if told {
            Rc::make_mut(&mut costs).lookup = 0.0;
        }
        let mut ways = Placement::ALL
            .into_iter()
            .flat_map(|placement| promotions(&costs, chooser.asked(), placement, told))
            .map(by_warmth);
        let mut promoter = Promoter::new(heap.clone(), policy, ways.next().expect("the first of all"));
        ways.for_each(|costs| promoter.add_costs(costs));
        if told {
            promoter.tell_me();
        }
        promoter.set_in_use(Box::new(move |range| in_use.is_in_use(&range)));
        promoter.set_quiesce(quiesce);
        promoter.set_processes(segment.geometry.processes);
        promoter.set_late(Box::new(move |bytes| CacheRoom::is_passed_by(|| room.get(), bytes)));
        Ok(RegionAccess {
            heap,
            views: Views::new(file.try_clone_to_owned()?),
            promoter: RefCell::new(promoter),
            exposed,
            kernel: vec![Cell::new(Kernel::Untried); segment.geometry.processes as usize],
            beacon,
            declarations,
            by_module: Cell::new(false),
            regions: Regions::default(),
            node: segment.node(),
        })
    }

    /// Memory that all processes of the node share.
    pub fn heap(&self) -> &Rc<Heap> {
        &self.heap
    }

    /// Finds out where own memory lies in the shared file, if it does, and counts the use of memory
    /// that does not, by a transfer with a process of that placement.
    pub fn locate(&self, memory: Memory, used: Use, placement: Placement) -> Memory {
        let (low, len) = memory.span();
        let start = memory.address.wrapping_add_signed(low) as *const u8;
        let place = self.heap.place(start, len as usize).or_else(|| {
            self.exposed.quiet.set(used.quiet);
            self.promoter.borrow_mut().used_for(start, len as usize, used.bytes as usize, way(placement, used.purpose))
        });
        Memory { place: place.map_or(0, |Place(at)| at.wrapping_add_signed(-low)), ..memory }
    }

    /// Own memory with the name that the kernel module gives it, where that copies for `peer`, which is there.
    #[inline]
    pub fn named(&self, memory: &Memory, peer: u32, placement: impl FnOnce() -> Placement) -> Memory {
        match &self.declarations {
            Some(declarations) if !memory.is_opaque() => {
                declarations.named(memory, (placement(), self.has_number(peer)))
            }
            _ => *memory,
        }
    }

    /// The same for all peers. `None`: the module has no region of it.
    pub fn named_for_all(&self, memory: &Memory) -> Option<Memory> {
        let declarations = self.declarations.as_ref()?;
        let (start, len) = (memory.address as *const u8, memory.len as usize);
        let is_shared =
            || self.heap.place(start, len).or_else(|| self.promoter.borrow_mut().known(start, len)).is_some();
        let named = (len > 0 && !is_shared()).then(|| declarations.named(memory, self.anybody()))?;
        (named.cookie != 0).then_some(named)
    }

    /// Where others are, and whether the kernel copies for all of them by number.
    fn anybody(&self) -> (Placement, bool) {
        (Placement::L3, (0..self.kernel.len() as u32).all(|peer| self.has_number(peer)))
    }

    /// The place that dense memory had when that was last found out. Counts as a use of it where that is sure.
    pub fn speculative_address(&self, memory: &Memory) -> Option<SpeculativeAddress> {
        let (start, len) = (memory.address as *const u8, memory.len as usize);
        // Nobody has told whether any transfer is under way.
        self.exposed.quiet.set(false);
        let mut promoter = self.promoter.borrow_mut();
        let known = self.heap.place(start, len).or_else(|| promoter.known(start, len));
        let place = known.or_else(|| promoter.speculative_place(start, len))?;
        Some(SpeculativeAddress { place: place.0, sure: known.is_some() })
    }

    /// Whether dense memory is at its speculative address.
    pub fn is_still(&self, memory: &Memory, place: u64) -> bool {
        let (start, len, place) = (memory.address as *const u8, memory.len as usize, Place(place));
        // As in `speculative_address`.
        self.exposed.quiet.set(false);
        self.heap.place(start, len) == Some(place) || self.promoter.borrow_mut().is_still_used(start, len, place)
    }

    /// See [`Promoter::keep_forks_out`].
    #[inline]
    pub fn keep_forks_out(&self) -> Option<MutexGuard<'static, ()>> {
        self.promoter.borrow().keep_forks_out()
    }

    /// See [`Promoter::demotions`].
    pub fn demotions(&self) -> u32 {
        self.promoter.borrow().demotions()
    }

    /// See [`tern_device::SingleCopy::keep_places`].
    pub fn keep_places(&self, more: bool) {
        let places = &self.exposed.places;
        places.set(if more { places.get() + 1 } else { places.get() - 1 });
    }

    /// See [`tern_device::Event::Idle`].
    pub fn give_back(&self, quiet: bool) {
        self.exposed.quiet.set(quiet);
        self.promoter.borrow_mut().give_back();
    }

    /// Own memory that was located just now, where it lies if another thread has forked since.
    pub fn look_again(&self, memory: &Memory) -> Memory {
        let (low, len) = memory.span();
        let start = memory.address.wrapping_add_signed(low) as *const u8;
        let place = memory.place.wrapping_add_signed(low);
        self.exposed.quiet.set(false);
        let stays = memory.place == 0
            || self.heap.place(start, len as usize).is_some()
            || self.promoter.borrow_mut().verify(start, len as usize, Place(place));
        if stays { *memory } else { Memory { place: 0, ..*memory } }
    }

    /// Notes that peers may write to the private memory of a published receive.
    pub fn expose(&self, peer: u32, slot: u32, memory: &Memory) {
        if memory.place == 0 && !memory.is_opaque() {
            let (low, len) = memory.span();
            let start = memory.address.wrapping_add_signed(low) as usize;
            self.exposed.receives.borrow_mut().push((peer, slot, start..start + len as usize));
        }
    }

    /// Ends what [`RegionAccess::expose`] began.
    #[inline]
    pub fn cover(&self, peer: u32, slot: u32) {
        let mut receives = self.exposed.receives.borrow_mut();
        if let Some(at) = receives.iter().position(|&(of, at, _)| (of, at) == (peer, slot)) {
            receives.swap_remove(at);
        }
    }

    /// Notes that all peers may be at memory by the kernel, until [`RegionAccess::cover_for_all`]. What is private of it stays so.
    /// Gives the cookie of the module's region that begins there and has all of it; 0: there is none.
    pub fn expose_for_all(&self, memory: *const u8, len: usize, lease: Lease) -> u64 {
        self.exposed.windows.borrow_mut().push(memory as usize..memory as usize + len);
        self.exposed.quiet.set(false);
        self.promoter.borrow_mut().settle(memory, len);
        let purpose = match lease {
            Lease::Brief => declaration::DeclaredFor::Transfer,
            Lease::Lasting => declaration::DeclaredFor::Window,
        };
        let expose =
            |declarations: &Declarations| declarations.expose(memory as u64, len as u64, self.anybody(), purpose);
        self.declarations.as_ref().map_or(0, expose)
    }

    /// Ends what [`RegionAccess::expose_for_all`] began, with the cookie that it gave.
    pub fn cover_for_all(&self, memory: *const u8, len: usize, cookie: u64) {
        let range = memory as usize..memory as usize + len;
        let mut windows = self.exposed.windows.borrow_mut();
        if let Some(at) = windows.iter().position(|window| *window == range) {
            windows.swap_remove(at);
        }
        if let Some(declarations) = &self.declarations {
            declarations.cover(memory as u64, cookie);
        }
    }

    /// Makes private memory shared in place for all peers, until [`RegionAccess::unpin`]: at which addresses, and where these lie
    /// now.
    pub fn pin(&self, memory: *const u8, len: usize) -> Option<(Range<usize>, u64)> {
        self.exposed.quiet.set(false);
        self.promoter.borrow_mut().pin(memory, len).map(|(range, Place(at))| (range, at))
    }

    /// Ends what [`RegionAccess::pin`] began.
    pub fn unpin(&self, range: &Range<usize>) {
        self.promoter.borrow_mut().unpin(range);
    }

    /// Maps memory of a peer's, if it is shared, for as long as the caller wants it: where its first byte lies in this process.
    pub fn map(&self, memory: &Memory) -> Option<*mut u8> {
        let (low, start, len) = span(memory)?;
        let view = self.views.map_for_good(start, len).ok()?;
        Some(view.wrapping_offset(-low as isize))
    }

    /// Where the first byte of a peer's memory lies in this process, if it is shared and can be
    /// mapped. It stays so while no more than a few others are asked for.
    #[inline]
    pub fn view(&self, memory: &Memory) -> Option<*mut u8> {
        let (low, start, len) = span(memory)?;
        let view = self.views.at(start, len).ok()?;
        Some(view.wrapping_offset(-low as isize))
    }

    /// As [`RegionAccess::view`]; it stays so until [`RegionAccess::let_go`] has counted it.
    pub fn held_view(&self, memory: &Memory) -> Option<*mut u8> {
        let view = self.view(memory)?;
        self.views.hold();
        Some(view)
    }

    /// So many of what [`RegionAccess::held_view`] gave are no longer used.
    pub fn let_go(&self, views: u32) {
        (0..views).for_each(|_| self.views.let_go());
    }

    /// Whether [`RegionAccess::view`] says so, without a look at the memory.
    #[inline]
    pub fn can_view(&self, memory: &Memory) -> bool {
        span(memory).is_some_and(|(_, start, len)| self.views.untouched(start, len).is_ok())
    }
}

/// Where shared memory begins, counted from its first byte; the place of that, and how many bytes it spans. None for private memory.
#[inline]
fn span(memory: &Memory) -> Option<(i64, Place, usize)> {
    let (low, len) = memory.span();
    (memory.place != 0).then(|| (low, Place(memory.place.wrapping_add_signed(low)), len as usize))
}
