//! Constants of a face, and their conversion.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

/// Pairs of the standard's value and the face's.
pub type Pairs = &'static [(c_int, c_int)];

/// A number that no constant has: the core refuses it where a constant is asked for.
pub const NONE: c_int = c_int::MIN;

/// Error codes that programs add begin here in the standard ABI.
const ADDED: c_int = 0x4000;

const STANDARD_DISPLACEMENT_CURRENT: i64 = -1;
const STANDARD_UNDEFINED: c_int = -32766;

/// The constants of a face, written by the generator from its facts.
pub trait Values {
    const RANKS: Pairs;
    const TAGS: Pairs;
    const KEYVALS: Pairs;
    const ERRORS: Pairs;
    const THREAD_LEVELS: Pairs;
    const SPLIT_TYPES: Pairs;
    const LOCKS: Pairs;
    const ASSERTS: Pairs;
    const AMODES: Pairs;
    const WHENCES: Pairs;
    const ORDERS: Pairs;
    const TYPECLASSES: Pairs;
    const COMBINERS: Pairs;
    const COMPARISONS: Pairs;
    const TOPOLOGIES: Pairs;
    const DISTRIBUTIONS: Pairs;
    const FLAVORS: Pairs;
    const MODELS: Pairs;
    const SAFETIES: Pairs;
    const SOURCE_ORDERS: Pairs;
    const VERBOSITIES: Pairs;
    const BINDS: Pairs;
    const SCOPES: Pairs;
    const PVAR_CLASSES: Pairs;

    /// The version of the standard that the interface's header has.
    const VERSION: c_int;
    const SUBVERSION: c_int;
    const ANY_SOURCE: c_int;
    const ANY_TAG: c_int;
    const PROC_NULL: c_int;
    const UNDEFINED: c_int;
    const DFLT_DARG: c_int;
    const DISPLACEMENT_CURRENT: i64;
    const ERR_LASTCODE: c_int;
    const ERR_ARG: c_int;
    /// What is added to the codes of errors that programs add.
    const ADDED_CODES: c_int;

    const MAX_DATAREP_STRING: usize;
    const MAX_ERROR_STRING: usize;
    const MAX_INFO_KEY: usize;
    const MAX_LIBRARY_VERSION_STRING: usize;
    const MAX_OBJECT_NAME: usize;
    const MAX_PORT_NAME: usize;
    const MAX_PROCESSOR_NAME: usize;
    const MAX_PSET_NAME_LEN: usize;
}

fn standard(pairs: Pairs, value: c_int) -> Option<c_int> {
    pairs.iter().find(|pair| pair.1 == value).map(|pair| pair.0)
}

fn own(pairs: Pairs, value: c_int) -> Option<c_int> {
    pairs.iter().find(|pair| pair.0 == value).map(|pair| pair.1)
}

/// What the core gets for `value`: a constant, or what is none of them either, so that the error tells the program's own value.
fn standard_or_wrong(pairs: Pairs, value: c_int) -> c_int {
    let wrong = || if own(pairs, value).is_some() { NONE } else { value };
    standard(pairs, value).unwrap_or_else(wrong)
}

/// Ranks with MPI_ANY_SOURCE, MPI_PROC_NULL, MPI_ROOT and MPI_UNDEFINED.
#[inline(always)]
pub fn rank_in<F: Values>(rank: c_int) -> c_int {
    if rank >= 0 { rank } else { special_rank_in::<F>(rank) }
}

#[cold]
fn special_rank_in<F: Values>(rank: c_int) -> c_int {
    standard_or_wrong(F::RANKS, rank)
}

#[inline(always)]
pub fn rank_out<F: Values>(rank: c_int) -> c_int {
    if rank >= 0 { rank } else { own(F::RANKS, rank).unwrap_or(rank) }
}

#[inline(always)]
pub fn tag_in<F: Values>(tag: c_int) -> c_int {
    if tag >= 0 { tag } else { special_tag_in::<F>(tag) }
}

#[cold]
fn special_tag_in<F: Values>(tag: c_int) -> c_int {
    standard_or_wrong(F::TAGS, tag)
}

#[inline(always)]
pub fn tag_out<F: Values>(tag: c_int) -> c_int {
    if tag >= 0 { tag } else { own(F::TAGS, tag).unwrap_or(tag) }
}

/// MPI_T_PVAR_ALL_HANDLES, which may be the address -1: no handle is there.
pub fn pvar_in(handle: *mut c_void) -> *mut c_void {
    const STANDARD_ALL_HANDLES: usize = 1;
    if handle.addr() == usize::MAX { std::ptr::without_provenance_mut(STANDARD_ALL_HANDLES) } else { handle }
}

/// Keys of attributes. Those of the program are the core's own numbers, from 4096 on.
pub fn keyval_in<F: Values>(keyval: c_int) -> c_int {
    match standard(F::KEYVALS, keyval) {
        Some(known) => known,
        None if keyval >= 4096 => keyval,
        None => NONE,
    }
}

pub fn keyval_out<F: Values>(keyval: c_int) -> c_int {
    own(F::KEYVALS, keyval).unwrap_or(keyval)
}

/// Error classes and codes that the program gives.
pub fn code_in<F: Values>(code: c_int) -> c_int {
    if F::ADDED_CODES != 0 && code & F::ADDED_CODES != 0 && code > 0 {
        return code & !F::ADDED_CODES;
    }
    standard(F::ERRORS, code).unwrap_or(code)
}

/// Error classes and codes that the program gets.
#[inline(always)]
pub fn code_out<F: Values>(code: c_int) -> c_int {
    if code == 0 { 0 } else { error_out::<F>(code) }
}

#[cold]
fn error_out<F: Values>(code: c_int) -> c_int {
    if code >= ADDED {
        return code | F::ADDED_CODES;
    }
    let own = own(F::ERRORS, code).unwrap_or(code);
    INSTEAD.set(if code_in::<F>(own) == code { (0, 0) } else { (own, code) });
    own
}

thread_local! {
    /// The class that this thread got last in place of one which the face lacks, and that one; else zeros.
    static INSTEAD: Cell<(c_int, c_int)> = const { Cell::new((0, 0)) };
}

/// A class or code of which the program wants the text: that of the error which it stands for, if this was the thread's last one.
pub fn told_in<F: Values>(code: c_int) -> c_int {
    match INSTEAD.get() {
        (own, meant) if own == code && own != 0 => meant,
        _ => code_in::<F>(code),
    }
}

macro_rules! constants {
    ($($in:ident $out:ident $pairs:ident)*) => { $(
        pub fn $in<F: Values>(value: c_int) -> c_int {
            standard_or_wrong(F::$pairs, value)
        }
        pub fn $out<F: Values>(value: c_int) -> c_int {
            own(F::$pairs, value).unwrap_or(value)
        }
    )* };
}
constants! {
    thread_level_in thread_level_out THREAD_LEVELS
    lock_in lock_out LOCKS
    whence_in whence_out WHENCES
    order_in order_out ORDERS
    typeclass_in typeclass_out TYPECLASSES
    combiner_in combiner_out COMBINERS
    comparison_in comparison_out COMPARISONS
    distribution_in distribution_out DISTRIBUTIONS
    flavor_in flavor_out FLAVORS
    model_in model_out MODELS
    safety_in safety_out SAFETIES
    source_order_in source_order_out SOURCE_ORDERS
    verbosity_in verbosity_out VERBOSITIES
    bind_in bind_out BINDS
    scope_in scope_out SCOPES
    pvar_class_in pvar_class_out PVAR_CLASSES
}

/// MPI_COMM_TYPE_... or MPI_UNDEFINED.
pub fn split_type_in<F: Values>(value: c_int) -> c_int {
    if value == F::UNDEFINED { STANDARD_UNDEFINED } else { standard(F::SPLIT_TYPES, value).unwrap_or(NONE) }
}

/// MPI_CART and so on, or MPI_UNDEFINED.
pub fn topology_out<F: Values>(value: c_int) -> c_int {
    if value == STANDARD_UNDEFINED { F::UNDEFINED } else { own(F::TOPOLOGIES, value).unwrap_or(value) }
}

/// A color, a count or an index that may be MPI_UNDEFINED.
#[inline(always)]
pub fn undefined_in<F: Values>(value: c_int) -> c_int {
    if value == F::UNDEFINED { STANDARD_UNDEFINED } else { value }
}

/// MPI_DISTRIBUTE_DFLT_DARG of the standard ABI.
const STANDARD_DFLT_DARG: c_int = 19;

/// An argument of a distribution, or MPI_DISTRIBUTE_DFLT_DARG.
pub fn darg_in<F: Values>(value: c_int) -> c_int {
    if value == F::DFLT_DARG { STANDARD_DFLT_DARG } else { value }
}

pub fn darg_out<F: Values>(value: c_int) -> c_int {
    if value == STANDARD_DFLT_DARG { F::DFLT_DARG } else { value }
}

/// A position of a file, or MPI_DISPLACEMENT_CURRENT.
pub fn view_disp_in<F: Values>(disp: i64) -> i64 {
    if disp == F::DISPLACEMENT_CURRENT { STANDARD_DISPLACEMENT_CURRENT } else { disp }
}

/// Bits, each with its pair; what is left over becomes a bit that has no meaning.
fn bits(pairs: impl Iterator<Item = (c_int, c_int)>, value: c_int) -> c_int {
    let (mut rest, mut result) = (value, 0);
    for (from, to) in pairs {
        if rest & from != 0 {
            rest &= !from;
            result |= to;
        }
    }
    if rest != 0 { result | 1 << 30 } else { result }
}

pub fn assert_in<F: Values>(value: c_int) -> c_int {
    if value == 0 { 0 } else { bits(F::ASSERTS.iter().map(|pair| (pair.1, pair.0)), value) }
}

pub fn amode_in<F: Values>(value: c_int) -> c_int {
    bits(F::AMODES.iter().map(|pair| (pair.1, pair.0)), value)
}

pub fn amode_out<F: Values>(value: c_int) -> c_int {
    bits(F::AMODES.iter().copied(), value)
}
