//! How many elements a status stands for (MPI 5.0 sections 3.2.5, 5.1.11 and 13.3).

use crate::args::{OutCount, RawStatus, StatusOut};
use crate::buffer::check_count;
use crate::constants::*;
use crate::error::Result;
use crate::objects::Datatype;
use std::rc::Rc;

fn read(status: StatusOut) -> Result<RawStatus> {
    match status.get() {
        Some(status) => Ok(status),
        None => err!(MPI_ERR_ARG, "the status is MPI_STATUS_IGNORE"),
    }
}

/// MPI_Get_count (section 3.2.5): whole elements received, or MPI_UNDEFINED.
pub fn get_count(status: StatusOut, datatype: Rc<Datatype>, count: OutCount) -> Result<()> {
    let bytes = read(status)?.bytes();
    datatype.check_present()?;
    count.set(datatype.layout.count(bytes).unwrap_or(MPI_UNDEFINED as i64));
    Ok(())
}

/// MPI_Get_elements (section 5.1.11): basic elements received, or MPI_UNDEFINED.
pub fn get_elements(status: StatusOut, datatype: Rc<Datatype>, count: OutCount) -> Result<()> {
    count.set(elements(status, &datatype)?);
    Ok(())
}

fn elements(status: StatusOut, datatype: &Datatype) -> Result<i64> {
    let bytes = read(status)?.bytes();
    datatype.check_present()?;
    Ok(datatype.layout.elements(bytes).unwrap_or(MPI_UNDEFINED as i64))
}

/// MPI_Get_elements_x, the deprecated name of the large-count form.
pub fn get_elements_x(status: StatusOut, datatype: Rc<Datatype>, count: OutCount) -> Result<()> {
    count.set(elements(status, &datatype)?);
    Ok(())
}

/// MPI_Status_set_elements (section 13.3): what MPI_Get_elements shall return.
pub fn status_set_elements(status: StatusOut, datatype: Rc<Datatype>, count: i64) -> Result<()> {
    let mut value = read(status)?;
    check_count(count)?;
    datatype.check_present()?;
    let Some(bytes) = datatype.layout.bytes_of_elements(count) else {
        return err!(
            MPI_ERR_COUNT,
            try "count basic elements as MPI_Get_elements does",
            "{count} basic elements are no amount of {}",
            datatype.label()
        );
    };
    value.set_bytes(bytes);
    status.set_with_error(&value);
    Ok(())
}

/// MPI_Status_set_elements_x, the deprecated name of the large-count form.
pub fn status_set_elements_x(status: StatusOut, datatype: Rc<Datatype>, count: i64) -> Result<()> {
    status_set_elements(status, datatype, count)
}
