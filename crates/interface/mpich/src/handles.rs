//! Handles of MPICH's ABI and the core's.

use crate::Mpich;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use tern_face::foreign::{UNKNOWN, refuse};
use tern_face::types::{Kind, PREDEFINED};

include!(concat!(env!("OUT_DIR"), "/handles.rs"));

/// MPI_REAL2 of the standard ABI: MPICH has a name of its own for it in C, MPIX_C_FLOAT16.
const REAL2: usize = 0x2ca;

/// The program has used that name: so it gets it for MPI_REAL2, too.
static HAS_C_FLOAT16: AtomicBool = AtomicBool::new(false);

/// Set in handles of objects that the program makes.
const MADE: u32 = 0xc000_0000;

/// From here on they are numbers of [`LARGE`].
const MADE_LARGE: u32 = 0xfc00_0000;

const COMM_WORLD: u32 = 0x4400_0000;

/// Where a predefined handle stands in the table: its lowest bits, and whether it is of the second form.
#[inline(always)]
const fn slot(own: u32) -> usize {
    (own & 0x7f | own >> 24 & 0x80) as usize
}

type Slots = [(u32, u16); 256];

/// The predefined handles of one kind, by slot. The null handle of a kind has none where another handle has it.
const fn slots(first: usize, last: usize) -> Slots {
    let mut table: Slots = [(0, 0); 256];
    let mut at = 0;
    while at < PREDEFINED_HANDLES.len() {
        let (standard, own) = PREDEFINED_HANDLES[at];
        if first <= standard && standard <= last && table[slot(own)].0 == 0 {
            table[slot(own)] = (own, standard as u16);
        }
        at += 1;
    }
    table
}

static DATATYPES: Slots = slots(0x201, 0x2ff);
static OPS: Slots = slots(0x21, 0x3f);

/// MPICH's handle for each predefined one of the standard ABI, or 0.
static OWN: [u32; PREDEFINED] = {
    let mut table = [0; PREDEFINED];
    let mut at = 0;
    while at < PREDEFINED_HANDLES.len() {
        let (standard, own) = PREDEFINED_HANDLES[at];
        if table[standard] == 0 {
            table[standard] = own;
        }
        at += 1;
    }
    table
};

/// The standard handle; what is none of MPICH's is told ([`refuse`]).
#[inline(always)]
pub fn to_standard(kind: Kind, own: u32) -> usize {
    known(kind, own).unwrap_or_else(|| rare(kind, own, true))
}

/// The same for what may be garbage.
#[inline(always)]
pub fn to_standard_quietly(kind: Kind, own: u32) -> usize {
    known(kind, own).unwrap_or_else(|| rare(kind, own, false))
}

#[inline(always)]
fn known(kind: Kind, own: u32) -> Option<usize> {
    if kind == Kind::Comm && own == COMM_WORLD {
        return Some(0x101);
    }
    if own >= MADE {
        return (own < MADE_LARGE).then_some((own & !MADE) as usize);
    }
    let (found, standard) = match kind {
        Kind::Datatype => DATATYPES[slot(own)],
        Kind::Op => OPS[slot(own)],
        _ => return None,
    };
    (found == own).then_some(standard as usize)
}

/// All that is not on the short way.
#[cold]
fn rare(kind: Kind, own: u32, tell: bool) -> usize {
    if own >= MADE_LARGE {
        return LARGE.lock().unwrap().get((own - MADE_LARGE) as usize).unwrap_or(UNKNOWN);
    }
    if kind == Kind::Datatype && own == C_FLOAT16 {
        // Relaxed: a program that uses the name in one thread may get either in another.
        HAS_C_FLOAT16.store(true, Ordering::Relaxed);
        return REAL2;
    }
    let range = match kind {
        Kind::Comm => 0x100..0x108,
        Kind::Group => 0x108..0x110,
        Kind::Datatype => 0x200..0x300,
        Kind::Op => 0x20..0x40,
        Kind::Errhandler => 0x140..0x180,
        Kind::Info => 0x130..0x140,
        Kind::Request => 0x180..0x200,
        Kind::Message => 0x128..0x130,
        Kind::Win => 0x110..0x118,
        Kind::File => 0x118..0x120,
        Kind::Session => 0x120..0x128,
    };
    let found = PREDEFINED_HANDLES.iter().find(|row| row.1 == own && range.contains(&row.0));
    match found {
        Some(row) => row.0,
        None if tell => refuse::<Mpich>(kind, own as usize),
        None => UNKNOWN,
    }
}

/// MPICH's handle for one of the core's. A predefined one that MPICH does not have becomes one of those that the
/// program makes, and is understood again.
#[inline(always)]
pub fn from_standard(kind: Kind, standard: usize) -> u32 {
    if standard < PREDEFINED {
        if kind == Kind::Datatype && standard == REAL2 && HAS_C_FLOAT16.load(Ordering::Relaxed) {
            return C_FLOAT16;
        }
        let own = OWN[standard];
        return if own != 0 { own } else { standard as u32 | MADE };
    }
    if standard < (MADE_LARGE & !MADE) as usize { standard as u32 | MADE } else { large(standard) }
}

/// Handles that do not fit an int: those of the objects beyond a million of a kind. Each keeps its number.
static LARGE: Mutex<Large> = Mutex::new(Large { handles: Vec::new(), numbers: None });

struct Large {
    handles: Vec<usize>,
    numbers: Option<HashMap<usize, u32>>,
}

impl Large {
    fn get(&self, number: usize) -> Option<usize> {
        self.handles.get(number).copied()
    }
}

#[cold]
fn large(standard: usize) -> u32 {
    let mut all = LARGE.lock().unwrap();
    let next = all.handles.len() as u32;
    let number = *all.numbers.get_or_insert_default().entry(standard).or_insert(next);
    if number == next {
        all.handles.push(standard);
    }
    // 64 million of them have a number; beyond that they would name others.
    assert!(number < u32::MAX - MADE_LARGE, "more handles than MPICH's ABI has numbers for");
    number + MADE_LARGE
}
