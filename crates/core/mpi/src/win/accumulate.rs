//! Accumulate and its kin (MPI 5.0 sections 12.3.3 to 12.3.5).

// The functions have the parameters of the standard.
#![allow(clippy::too_many_arguments)]

use super::object::Win;
use super::target::{self, Completion, TargetSide, forms};
use super::transfer::{Memory, check_lengths};
use crate::advice::SAME_TYPES;
use crate::args::Out;
use crate::check::active::Use;
use crate::check::noted::What;
use crate::constants::*;
use crate::error::Result;
use crate::objects::{Datatype, Operation, Operator};
use crate::win::checked::access;
use crate::{buffer, datatype, op};
use std::rc::Rc;
use tern_adi::Data;
use tern_coll::ops::{self, Op};
use tern_layout::{Basic, Class};
use tern_rma::Started;

/// The predefined operation, or MPI_ERR_OP: what the program defines is not for accumulates.
fn predefined(op: &Operation) -> Result<Op> {
    match op.operator {
        Operator::Predefined(op) => Ok(op),
        Operator::User(_) => {
            err!(MPI_ERR_OP, try "", "an accumulate takes predefined operations only, not one of MPI_Op_create")
        }
    }
}

/// MPI_ERR_OP unless `op` works on elements of `basic`.
fn check_pair(op: Op, basic: Basic, datatype: &Datatype) -> Result<()> {
    if !ops::allowed(op, basic) {
        return err!(MPI_ERR_OP, "{} is not defined for the elements of {}", op::name(op), datatype.label());
    }
    if ops::kernel(op, basic).is_none() {
        return err!(MPI_ERR_OP, "this machine has no arithmetic for the elements of {}", datatype.label());
    }
    Ok(())
}

/// The basic type that all elements of `datatype` have, or MPI_ERR_TYPE (section 12.3.3).
fn basic(datatype: &Datatype) -> Result<Basic> {
    match datatype.layout.uniform_basic() {
        Some(basic) => Ok(basic),
        None => {
            err!(MPI_ERR_TYPE, "{} is made of several predefined datatypes; an accumulate needs one", datatype.label())
        }
    }
}

/// MPI_ERR_TYPE unless `memory` has the elements that the target has.
fn check_elements(what: &str, memory: &Memory, place: &TargetSide) -> Result<()> {
    basic(&memory.datatype)?;
    let (own, far) = (&memory.datatype.layout, &place.datatype.layout);
    if !own.same_signature(memory.count, far, place.count) {
        return err!(
            MPI_ERR_TYPE,
            try SAME_TYPES,
            "{} elements of {} at the {what} are not what {} elements of {} at the target are",
            memory.count,
            memory.datatype.label(),
            place.count,
            place.datatype.label()
        );
    }
    Ok(())
}

fn add(way: Completion, memory: Memory, place: TargetSide, op: &Operation, win: &Win) -> Result<Started> {
    let op = predefined(op)?;
    if op == Op::NoOp {
        return err!(
            MPI_ERR_OP,
            try "",
            "MPI_NO_OP fetches and changes nothing: it is for MPI_Get_accumulate and MPI_Fetch_and_op"
        );
    }
    let Some(rank) = target::rank(win, place.rank)? else { return Ok(Started::Done) };
    let bytes = place.bytes(win)?;
    let origin = memory.data()?;
    check_lengths("origin", origin.len() as i64, bytes)?;
    if bytes > 0 {
        check_elements("origin", &memory, &place)?;
        check_pair(op, basic(&place.datatype)?, &place.datatype)?;
    }
    target::enter(win, rank, way)?;
    if bytes == 0 {
        return Ok(Started::Done);
    }
    let uses = [Use::reads("origin_addr", origin)];
    access(win, What::Accumulate, rank, &place, &uses, &Data::none(), |_| {
        target::outcome(win, win.window.accumulate(&uses[0].data, &place.target(rank), op))
    })
}

/// The origin of a fetching accumulate. With MPI_NO_OP its arguments mean nothing (section 12.3.4).
fn origin(op: Op, base: *const u8, count: i64, datatype: usize) -> Result<Option<Memory>> {
    if op == Op::NoOp {
        return Ok(None);
    }
    Ok(Some(Memory { base, count, datatype: datatype::lookup(datatype)? }))
}

fn fetch(
    way: Completion, memory: (*const u8, i64, usize), result: Memory, place: TargetSide, op: &Operation, win: &Win,
) -> Result<Started> {
    let op = predefined(op)?;
    let (base, count, handle) = memory;
    let memory = origin(op, base, count, handle)?;
    let Some(rank) = target::rank(win, place.rank)? else { return Ok(Started::Done) };
    let bytes = place.bytes(win)?;
    let given = memory.as_ref().map_or(Ok(Data::none()), Memory::data)?;
    if let Some(memory) = &memory {
        check_lengths("origin", given.len() as i64, bytes)?;
        if bytes > 0 {
            check_elements("origin", memory, &place)?;
        }
    }
    let fetched = result.data()?;
    check_lengths("result", fetched.len() as i64, bytes)?;
    if bytes > 0 {
        check_elements("result", &result, &place)?;
        check_pair(op, basic(&place.datatype)?, &place.datatype)?;
    }
    target::enter(win, rank, way)?;
    if bytes == 0 {
        return Ok(Started::Done);
    }
    let uses = [Use::reads("origin_addr", given)];
    access(win, What::Accumulate, rank, &place, &uses, &fetched, |into| {
        target::outcome(win, win.window.get_accumulate(&uses[0].data, into, &place.target(rank), op))
    })
}

forms! {
    "Accumulate" accumulate raccumulate (
        origin_addr: *const u8,
        origin_count: i64,
        origin_datatype: Rc<Datatype>,
        rank: i32,
        displacement: i64,
        count: i64,
        datatype: Rc<Datatype>,
        op: Rc<Operation>
    ) |way, win| {
        let memory = Memory { base: origin_addr, count: origin_count, datatype: origin_datatype };
        add(way, memory, TargetSide { rank, displacement, count, datatype }, &op, &win)
    }

    "Get_accumulate" get_accumulate rget_accumulate (
        origin_addr: *const u8,
        origin_count: i64,
        origin_datatype: usize,
        result_addr: *mut u8,
        result_count: i64,
        result_datatype: Rc<Datatype>,
        rank: i32,
        displacement: i64,
        count: i64,
        datatype: Rc<Datatype>,
        op: Rc<Operation>
    ) |way, win| {
        let memory = (origin_addr, origin_count, origin_datatype);
        let result = Memory { base: result_addr, count: result_count, datatype: result_datatype };
        fetch(way, memory, result, TargetSide { rank, displacement, count, datatype }, &op, &win)
    }
}

/// The predefined type of a call on one element, or MPI_ERR_TYPE.
fn one(datatype: &Datatype) -> Result<Basic> {
    match datatype.layout.named() {
        Some(basic) => Ok(basic),
        None => err!(MPI_ERR_TYPE, "{} is not a predefined datatype, as this call needs", datatype.label()),
    }
}

/// The memory of an element as `place` has it.
fn one_of(base: *const u8, place: &TargetSide) -> Data {
    Data::new(base, 1, &place.datatype.layout)
}

/// Where the dense memory begins.
fn start_of(data: &Data) -> *mut u8 {
    match data {
        Data::Bytes(base, _) | Data::Typed { base, .. } => *base,
    }
}

/// MPI_Fetch_and_op
pub fn fetch_and_op(
    origin_addr: *const u8, result_addr: *mut u8, datatype: Rc<Datatype>, rank: i32, displacement: i64,
    op: Rc<Operation>, win: Rc<Win>,
) -> Result<()> {
    let op = predefined(&op)?;
    check_pair(op, one(&datatype)?, &datatype)?;
    let place = TargetSide { rank, displacement, count: 1, datatype };
    let Some(rank) = target::rank(&win, rank)? else { return Ok(()) };
    place.bytes(&win)?;
    if op != Op::NoOp {
        buffer::check(origin_addr, 1, &place.datatype)?;
    }
    buffer::check(result_addr, 1, &place.datatype)?;
    target::enter(&win, rank, Completion::Epoch)?;
    let origin = if op == Op::NoOp { Data::none() } else { one_of(origin_addr, &place) };
    let uses = [Use::reads("origin_addr", origin)];
    let started = access(&win, What::Accumulate, rank, &place, &uses, &one_of(result_addr, &place), |into| {
        // What is checked is fetched into other memory, without the gaps of pairs.
        target::outcome(&win, win.window.get_accumulate(&uses[0].data, into, &place.target(rank), op))
    });
    started.map(drop)
}

/// Elements that may be compared and swapped (section 12.3.4). Characters are an extension that other MPI libraries
/// have too.
#[inline]
pub fn is_swapped(basic: Basic) -> bool {
    use Class::*;
    matches!(basic.class(), CInteger | FortranInteger | MultiLanguage | Logical | Byte)
        || matches!(basic, Basic::Char | Basic::WChar)
}

/// MPI_Compare_and_swap
pub fn compare_and_swap(
    origin_addr: *const u8, compare_addr: *const u8, result_addr: *mut u8, datatype: Rc<Datatype>, rank: i32,
    displacement: i64, win: Rc<Win>,
) -> Result<()> {
    if !is_swapped(one(&datatype)?) {
        return err!(
            MPI_ERR_TYPE,
            "{} cannot be compared and swapped: the type must be an integer, a logical, a character or MPI_BYTE",
            datatype.label()
        );
    }
    let place = TargetSide { rank, displacement, count: 1, datatype };
    let Some(rank) = target::rank(&win, rank)? else { return Ok(()) };
    place.bytes(&win)?;
    for address in [origin_addr, compare_addr, result_addr.cast_const()] {
        buffer::check(address, 1, &place.datatype)?;
    }
    target::enter(&win, rank, Completion::Epoch)?;
    let uses = [
        Use::reads("origin_addr", one_of(origin_addr, &place)),
        Use::reads("compare_addr", one_of(compare_addr, &place)),
    ];
    let started = access(&win, What::Accumulate, rank, &place, &uses, &one_of(result_addr, &place), |into| {
        let swapped = win.window.compare_and_swap(origin_addr, compare_addr, start_of(into), &place.target(rank));
        target::outcome(&win, swapped)
    });
    started.map(drop)
}
