//! The individual file pointer (MPI 5.0 section 14.4.3), in etypes of the view.

use super::File;
use crate::args::Out;
use crate::constants::*;
use crate::error::{Error, Result};
use std::rc::Rc;

impl File {
    /// Where a pointer at `current` goes: an offset in etypes, at least 0.
    pub(super) fn target(&self, current: i64, offset: i64, whence: i32) -> Result<i64> {
        let from = match whence {
            MPI_SEEK_SET => 0,
            MPI_SEEK_CUR => current,
            MPI_SEEK_END => self.view().io.position_of_end(self.engine()?.size()?),
            _ => return err!(MPI_ERR_ARG, "whence is {whence}: it must be MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END"),
        };
        let target = from.checked_add(offset).filter(|&target| target >= 0);
        target.ok_or_else(|| Error::new(MPI_ERR_ARG, format!("the pointer cannot go to {from} and {offset} more: that is before the beginning of the view, or too far")))
    }
}

/// MPI_File_seek
pub fn file_seek(fh: Rc<File>, offset: i64, whence: i32) -> Result<()> {
    fh.check_random()?;
    let target = fh.target(fh.position.get(), offset, whence)?;
    fh.position.set(target);
    Ok(())
}

/// MPI_File_get_position
pub fn file_get_position(fh: Rc<File>, offset: Out<i64>) -> Result<()> {
    fh.check_random()?;
    offset.set(fh.position.get());
    Ok(())
}

/// MPI_File_get_byte_offset: from an offset in etypes of the view to one in bytes of the file.
pub fn file_get_byte_offset(fh: Rc<File>, offset: i64, disp: Out<i64>) -> Result<()> {
    fh.check_random()?;
    let view = fh.view();
    match view.io.offset(view.io.position(offset)?) {
        Some(at) => disp.set(at as i64),
        None => return err!(MPI_ERR_ARG, "the view has no data at offset {offset}"),
    }
    Ok(())
}
