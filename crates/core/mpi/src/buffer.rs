//! Checks of the memory that a program names: address, count, datatype.

use crate::advice::HUGE;
use crate::constants::*;
use crate::error::Result;
use crate::objects::Datatype;
use std::rc::Rc;
use tern_adi::Data;

/// No object of a C program lies in the first page, so data there is a forgotten buffer.
const FIRST_PAGE: i64 = 4096;

/// MPI_ERR_COUNT for a negative count.
pub fn check_count(count: i64) -> Result<()> {
    if count < 0 {
        return err!(MPI_ERR_COUNT, "the count is {count}: it must not be negative");
    }
    Ok(())
}

/// Checks `count` elements of `datatype` at `base`: MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_BUFFER.
/// MPI_BOTTOM is address 0, so what counts is where the first byte of data lies.
pub fn check(base: *const u8, count: i64, datatype: &Datatype) -> Result<()> {
    check_count(count)?;
    datatype.check_committed()?;
    let layout = &datatype.layout;
    if layout.pack_size(count).is_none() {
        return err!(
            MPI_ERR_COUNT,
            try HUGE,
            "{count} elements of {} are more bytes than 63 bits hold",
            datatype.label()
        );
    }
    let first = (base as i64).wrapping_add(layout.true_lb());
    if count > 0 && layout.size() > 0 && (0..FIRST_PAGE).contains(&first) {
        return err!(
            MPI_ERR_BUFFER,
            "the buffer is {}: {count} elements of {} do not lie there",
            describe(base),
            datatype.label()
        );
    }
    Ok(())
}

fn describe(base: *const u8) -> String {
    match base as usize {
        0 => "a null pointer".into(),
        1 => "MPI_IN_PLACE, which has no place in this argument".into(),
        2 => "MPI_BUFFER_AUTOMATIC".into(),
        address => format!("at {address:#x}"),
    }
}

/// A checked buffer as the protocols take it.
pub fn data(base: *const u8, count: i64, datatype: &Rc<Datatype>) -> Result<Data> {
    check(base, count, datatype)?;
    Ok(Data::new(base, count, &datatype.layout))
}
