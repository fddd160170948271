//! The steps in which a window takes its memory. All members make each of them, since they tell each other what came of it.

use super::terms::Terms;
use super::together::{Common, Unfinished, allocate, tell};
use crate::card::{self, Card};
use crate::memory::{private, shared_in_place};
use crate::remote::{Found, Held, Means, Remote};
use crate::shared::Shared;
use crate::window::Exposure;
use crate::{Class, Error};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use tern_adi::Adi;
use tern_coll::Peers;
use tern_mcm::{Direct, Lease, Memory};
use tern_policy::Responsiveness;
use tern_policy::one_sided::{self, Mappable, MemberFacts};

/// A window that is being made.
pub(super) struct Making<'a> {
    pub adi: &'static Adi,
    pub peers: &'a Rc<Peers>,
    pub direct: &'a dyn Direct,
    pub terms: &'a Terms,
    pub unfinished: Unfinished<'a>,
}

/// Where this process's memory of the window is.
pub(super) struct Own {
    pub words: *mut u8,
    /// Null: it has none, or could not get it.
    pub base: *mut u8,
    /// The memory of all lies behind the words.
    in_common: bool,
}

/// Where the memory of each member is, as it has told.
pub(super) struct Places {
    /// Address, place in what all share, whether it lacks memory, begin and end of what has that place, whether both can be mixed.
    told: Vec<[u64; 6]>,
    /// A part may be mapped where the kernel copies the rest.
    mixes: bool,
}

impl Places {
    /// A member could not get its memory.
    pub fn lacks(&self) -> bool {
        self.told.iter().any(|[_, _, lacks, ..]| *lacks == 1)
    }

    /// Which of a member's `bytes` all can map.
    pub fn within(&self, member: usize, bytes: usize) -> Range<usize> {
        let [_, place, _, start, end, _] = self.told[member];
        let range = start as usize..end as usize;
        if place != 0 && (self.mixes || range == (0..bytes)) { range } else { 0..0 }
    }
}

/// What the members have found out about each other when all is taken.
pub(super) struct Outcome {
    /// Some member needs messages.
    pub serves: bool,
    /// All can fence all others.
    pub fences: bool,
}

impl Making<'_> {
    fn rank(&self) -> usize {
        self.peers.rank as usize
    }

    fn no_memory(&self, bytes: usize, what: &str) -> Error {
        let members = self.terms.bytes.len();
        let text = format!("{bytes} bytes {what} a window of {members} processes could not be allocated");
        Error::new(Class::NoMemory, text)
    }

    /// The words by which the members synchronize, and where all share memory that of the window.
    pub fn words(&mut self) -> Result<Common, Error> {
        let (words, memory) = (self.terms.plan.memory(), self.terms.memory);
        if self.terms.wanted.apart {
            return self.private_words(words);
        }
        let common = allocate(self.adi, self.peers, self.direct, words, memory)?;
        let belongings = &mut self.unfinished.belongings;
        match &common {
            Some(common) if common.owned => belongings.allocated = Some(common.start),
            Some(common) => belongings.mapped.get_mut().push((common.start, common.len)),
            None => {}
        }
        let may_lack = matches!(self.terms.wanted.exposure, Exposure::Allocate { .. });
        let common = common.filter(|common| common.holds_memory || may_lack);
        common.ok_or_else(|| self.no_memory(words + memory, "of shared memory for"))
    }

    fn private_words(&mut self, bytes: usize) -> Result<Common, Error> {
        let words = private(bytes);
        self.unfinished.belongings.private[1] = words;
        let told = tell(self.adi, self.peers, [u64::from(words.is_some())])?;
        match words.filter(|_| told.iter().all(|[well]| *well == 1)) {
            Some((start, _)) => Ok(Common { start, holds_memory: false, owned: false, len: 0 }),
            None => Err(self.no_memory(bytes, "for the words of")),
        }
    }

    /// This process's memory of the window.
    pub fn own(&mut self, common: &Common) -> Own {
        let exposure = self.terms.wanted.exposure;
        let in_common = exposure.is_allocated() && self.terms.map && common.holds_memory;
        let base = match exposure {
            Exposure::Existing { base, .. } => base,
            Exposure::Dynamic => std::ptr::null_mut(),
            _ if in_common => common.start.wrapping_add(self.terms.plan.memory() + self.terms.starts[self.rank()]),
            _ => {
                let private = private(exposure.bytes());
                self.unfinished.belongings.private[0] = private;
                private.map_or(std::ptr::null_mut(), |(at, _)| at)
            }
        };
        Own { words: common.start, base, in_common }
    }

    /// Tells where that is.
    pub fn tell_places(&mut self, own: &Own) -> Result<Places, Error> {
        let exposure = self.terms.wanted.exposure;
        let (place, within, pinned) = match exposure {
            Exposure::Existing { base, bytes } if self.terms.map && bytes > 0 => {
                shared_in_place(self.direct, base, bytes)
            }
            _ => (0, 0..0, None),
        };
        self.unfinished.belongings.pinned = pinned;
        let lacks = exposure.is_allocated() && own.base.is_null();
        // Memory that is mapped in part needs the kernel for the rest, and guards that all turn to.
        let mixes = self.kernel_reaches_all() && self.direct.fence_all();
        let base = own.base as u64;
        let mine = [base, place, u64::from(lacks), within.start as u64, within.end as u64, u64::from(mixes)];
        let told = tell(self.adi, self.peers, mine)?;
        Ok(Places { mixes: told.iter().all(|[.., mixes]| *mixes == 1), told })
    }

    /// The kernel copies between this process and all others.
    fn kernel_reaches_all(&self) -> bool {
        let reaches = |rank: u32| rank == self.peers.rank || self.direct.pair(self.peers.procs[rank as usize]).kernel;
        self.terms.kernel && (0..self.peers.size()).all(reaches)
    }

    /// Exposes to the kernel's copies what others cannot map.
    pub fn expose(&mut self, own: &Own, places: &Places) {
        let bytes = self.terms.wanted.exposure.bytes();
        if own.in_common || self.terms.is_dynamic() || own.base.is_null() {
            return;
        }
        // What was put there in vain stays pinned as well: a fork must not replace pages that peers write to by the kernel.
        let mapped = places.within(self.rank(), self.terms.bytes[self.rank()]);
        let private = [0..mapped.start, mapped.end..bytes].into_iter().filter(|range| !range.is_empty());
        let expose = |range: Range<usize>| {
            let part = Memory::dense(own.base.wrapping_add(range.start), range.len());
            self.direct.expose(&part, tern_mcm::Exposure::ByKernel(Lease::Lasting)).unwrap_or(part)
        };
        self.unfinished.belongings.exposed = private.map(expose).collect();
    }

    /// Offers the window to the others' cards, where they lie apart. Not where the job goes on without lost members: what one of them holds
    /// the card's words only count, and the member itself knows who holds it.
    pub fn offer_card(&mut self, shared: &Shared, own: &Own) -> Result<(), Error> {
        if !self.terms.wanted.apart || tern_settings::FT.get() {
            return Ok(());
        }
        let (adi, procs, rank) = (self.adi, &self.peers.procs, self.peers.rank);
        let memory = (own.base, if own.base.is_null() { 0 } else { self.terms.wanted.exposure.bytes() });
        let offer = card::offer(adi, procs, rank, shared, self.terms.plan.memory(), memory);
        let offers = tell(adi, self.peers, offer).inspect_err(|_| card::take_back(adi, &offer))?;
        self.unfinished.card = Card::agree(adi, procs, rank, &offers);
        Ok(())
    }

    /// How this process gets at the memory of `rank`. Maps what of it is to be mapped.
    pub fn remote(&self, rank: u32, own: &Own, places: &Places) -> Remote {
        let (index, terms) = (rank as usize, self.terms);
        let ([address, place, ..], bytes) = (places.told[index], terms.bytes[index]);
        let within = places.within(index, bytes);
        let mut here = match () {
            () if rank == self.peers.rank => own.base,
            () if own.in_common => own.words.wrapping_add(terms.plan.memory() + terms.starts[index]),
            () => std::ptr::null_mut(),
        };
        let member = MemberFacts {
            near: rank == self.peers.rank || own.in_common || bytes == 0,
            card: self.unfinished.card.is_some(),
            mappable: match within == (0..bytes) {
                _ if within.is_empty() => Mappable::Nothing,
                true => Mappable::All,
                false => Mappable::Part,
            },
        };
        let map = || match self.direct.map(&Memory::at_place(place, within.len()), Lease::Lasting) {
            Some(mapped) => {
                self.unfinished.belongings.mapped.borrow_mut().push((mapped, within.len()));
                here = mapped.wrapping_sub(within.start);
                true
            }
            None => false,
        };
        let way = one_sided::way_to(member, map, || terms.kernel && self.direct.pair(self.peers.procs[index]).kernel);
        let near = match way {
            _ if terms.is_dynamic() || here.is_null() => 0..0,
            Means::Mapped => 0..bytes,
            _ => within.clone(),
        };
        Remote {
            way: Cell::new(way),
            atomic: if own.in_common { 0..bytes } else { within },
            here,
            address,
            cookie: 0,
            bytes,
            near,
            unit: terms.units[index],
            held: Cell::new(Held::Not),
            taken: Cell::new(0),
            posted: Cell::new(0),
            found: RefCell::new(Found::default()),
            responsiveness: Responsiveness::default(),
            puts: RefCell::default(),
        }
    }

    /// The last exchange: who needs messages, who can fence, and the cookies of what is exposed.
    pub fn conclude(&self, own: &Own, remotes: &mut [Remote]) -> Result<Outcome, Error> {
        let needs = remotes.iter().any(|remote| remote.way.get() == Means::Messages)
            || (self.terms.is_dynamic() && !self.kernel_reaches_all());
        // Where the module copies, nothing is mapped: there is one part, all of it.
        let whole = self.unfinished.belongings.exposed.first().filter(|part| part.address == own.base as u64);
        let cookie = whole.map_or(0, |part| part.cookie);
        let facts = tell(self.adi, self.peers, [u64::from(needs), u64::from(self.direct.fence_all()), cookie])?;
        for (remote, &[.., cookie]) in remotes.iter_mut().zip(&facts) {
            remote.cookie = cookie;
        }
        Ok(Outcome {
            serves: self.terms.wanted.apart || facts.iter().any(|[needs, ..]| *needs == 1),
            fences: facts.iter().all(|[_, fences, _]| *fences == 1),
        })
    }
}
