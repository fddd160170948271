//! Put and get (MPI 5.0 sections 12.3.1, 12.3.2 and 12.3.5).

// The functions have the parameters of the standard.
#![allow(clippy::too_many_arguments)]

use super::object::Win;
use super::target::{self, Completion, TargetSide, forms};
use crate::advice::SAME_TYPES;
use crate::args::Out;
use crate::buffer;
use crate::check::active::Use;
use crate::check::noted::What;
use crate::constants::*;
use crate::error::Result;
use crate::objects::Datatype;
use crate::win::checked::access;
use std::rc::Rc;
use tern_adi::Data;
use tern_rma::Started;

/// The origin side of an access as the program gives it.
pub struct Memory {
    pub base: *const u8,
    pub count: i64,
    pub datatype: Rc<Datatype>,
}

impl Memory {
    pub fn data(&self) -> Result<Data> {
        buffer::data(self.base, self.count, &self.datatype)
    }
}

/// MPI_ERR_TYPE unless both sides have the same number of bytes: their signatures cannot match
/// otherwise (section 12.3.1).
#[inline]
pub fn check_lengths(origin: &str, bytes: i64, target: i64) -> Result<()> {
    if bytes == target {
        return Ok(());
    }
    err!(
        MPI_ERR_TYPE,
        try SAME_TYPES,
        "count and datatype mean {bytes} bytes at the {origin}, but {target} bytes at the target: both must have \
         the same signature"
    )
}

#[derive(Clone, Copy)]
enum Direction {
    Put,
    Get,
}

#[inline]
fn transfer(direction: Direction, way: Completion, memory: Memory, place: TargetSide, win: &Win) -> Result<Started> {
    let Some(rank) = target::rank(win, place.rank)? else { return Ok(Started::Done) };
    let bytes = place.bytes(win)?;
    let origin = memory.data()?;
    check_lengths("origin", origin.len() as i64, bytes)?;
    target::enter(win, rank, way)?;
    if bytes == 0 {
        return Ok(Started::Done);
    }
    match direction {
        Direction::Put => {
            let uses = [Use::reads("origin_addr", origin)];
            access(win, What::Put, rank, &place, &uses, &Data::none(), |_| {
                target::outcome(win, win.window.put(&uses[0].data, &place.target(rank)))
            })
        }
        Direction::Get => access(win, What::Get, rank, &place, &[], &origin, |into| {
            target::outcome(win, win.window.get(into, &place.target(rank)))
        }),
    }
}

forms! {
    "Put" put rput (
        origin_addr: *const u8,
        origin_count: i64,
        origin_datatype: Rc<Datatype>,
        rank: i32,
        displacement: i64,
        count: i64,
        datatype: Rc<Datatype>
    ) |way, win| {
        let memory = Memory { base: origin_addr, count: origin_count, datatype: origin_datatype };
        transfer(Direction::Put, way, memory, TargetSide { rank, displacement, count, datatype }, &win)
    }

    "Get" get rget (
        origin_addr: *mut u8,
        origin_count: i64,
        origin_datatype: Rc<Datatype>,
        rank: i32,
        displacement: i64,
        count: i64,
        datatype: Rc<Datatype>
    ) |way, win| {
        let memory = Memory { base: origin_addr, count: origin_count, datatype: origin_datatype };
        transfer(Direction::Get, way, memory, TargetSide { rank, displacement, count, datatype }, &win)
    }
}
