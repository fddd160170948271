//! The memory that collectives read and write at this process (TERN_CHECK).

use crate::check::active::{self, Access, Held, Use};
use crate::error::Result;
use std::rc::Rc;
use tern_adi::Data;
use tern_coll::{Buffer, BufferV, BufferW};

/// So many pieces of memory of one call are compared with each other.
const COMPARED: usize = 256;

/// `blocks` blocks of `buffer`, side by side.
pub fn whole(argument: &'static str, access: Access, buffer: Option<&Buffer>, blocks: i64) -> Option<Use> {
    let Buffer { base, count, ty } = buffer?;
    Some(Use { argument, access, data: Data::new(*base, count * blocks, ty) })
}

pub fn each_v(argument: &'static str, access: Access, buffer: Option<&BufferV>) -> Vec<Use> {
    let Some(BufferV { base, counts, displs, ty }) = buffer else { return Vec::new() };
    let block = |(&count, &displ): (&i64, &i64)| {
        let at = base.wrapping_offset(displ.wrapping_mul(ty.extent()) as isize);
        Use { argument, access, data: Data::new(at, count, ty) }
    };
    counts.iter().zip(displs.iter()).map(block).collect()
}

pub fn each_w(argument: &'static str, access: Access, buffer: Option<&BufferW>) -> Vec<Use> {
    let Some(BufferW { base, counts, displs, types }) = buffer else { return Vec::new() };
    let block = |((&count, &displ), ty)| {
        let at = base.wrapping_offset(displ as isize);
        Use { argument, access, data: Data::new(at, count, ty) }
    };
    counts.iter().zip(displs.iter()).zip(types.iter()).map(block).collect()
}

/// Whether a collective may use this memory.
///
/// Errors: an operation that is under way has it, or the call is given the same memory twice (MPI_ERR_BUFFER).
pub fn may(uses: &[Use]) -> Result<()> {
    uses.iter().try_for_each(active::may)?;
    if uses.len() > COMPARED {
        return Ok(());
    }
    let pairs = uses.iter().enumerate().flat_map(|(at, one)| uses[at + 1..].iter().map(move |other| (one, other)));
    pairs.into_iter().try_for_each(|(one, other)| active::apart(one, other))
}

/// Notes that a collective which the current call begins has this memory.
///
/// Errors: as of [`may`].
pub fn hold(uses: Vec<Use>) -> Result<Vec<Rc<Held>>> {
    may(&uses)?;
    uses.into_iter().map(active::hold).collect()
}
