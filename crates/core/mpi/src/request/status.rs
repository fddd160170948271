//! What programs read from and write to statuses by function (MPI 5.0 sections 3.2.5 and 13.3).

use crate::args::{Out, RawStatus, StatusOut};
use crate::error::Result;

/// The status, which the entry points have checked to be there.
fn read(status: StatusOut) -> RawStatus {
    status.get().unwrap_or_default()
}

/// MPI_Status_get_source
pub fn status_get_source(status: StatusOut, source: Out<i32>) -> Result<()> {
    source.set(read(status).source);
    Ok(())
}

/// MPI_Status_get_tag
pub fn status_get_tag(status: StatusOut, tag: Out<i32>) -> Result<()> {
    tag.set(read(status).tag);
    Ok(())
}

/// MPI_Status_get_error
pub fn status_get_error(status: StatusOut, error: Out<i32>) -> Result<()> {
    error.set(read(status).error);
    Ok(())
}

/// MPI_Status_set_source
pub fn status_set_source(status: StatusOut, source: i32) -> Result<()> {
    status.set(&RawStatus { source, ..read(status) });
    Ok(())
}

/// MPI_Status_set_tag
pub fn status_set_tag(status: StatusOut, tag: i32) -> Result<()> {
    status.set(&RawStatus { tag, ..read(status) });
    Ok(())
}

/// MPI_Status_set_error
pub fn status_set_error(status: StatusOut, error: i32) -> Result<()> {
    status.set_with_error(&RawStatus { error, ..read(status) });
    Ok(())
}

/// MPI_Status_set_cancelled
pub fn status_set_cancelled(status: StatusOut, flag: i32) -> Result<()> {
    let mut raw = read(status);
    raw.set_cancelled(flag != 0);
    status.set(&raw);
    Ok(())
}
