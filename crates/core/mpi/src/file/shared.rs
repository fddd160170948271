//! The shared file pointer, used by one process at a time (MPI 5.0 section 14.4.4). To take a part
//! of the file is one atomic addition to the pointer; the access follows.

use super::access::{Access, report};
use super::agree::{first_says, same};
use super::{AccessKind, File, checked};
use crate::args::{Out, StatusOut};
use crate::constants::*;
use crate::error::Result;
use crate::objects::Datatype;
use crate::task;
use std::rc::Rc;

impl File {
    /// A checked access at the shared pointer, which has moved on.
    pub(super) fn access_shared(
        &self, way: AccessKind, base: *const u8, count: i64, datatype: &Rc<Datatype>,
    ) -> Result<Access> {
        let transfer = self.transfer(way, base, count, datatype)?;
        let from = self.shared.fetch_add(transfer.etypes())?;
        self.placed(transfer, from)
    }
}

/// MPI_File_read_shared
pub fn file_read_shared(
    fh: Rc<File>, buf: *mut u8, count: i64, datatype: Rc<Datatype>, status: StatusOut,
) -> Result<()> {
    let access = fh.access_shared(AccessKind::Read, buf, count, &datatype)?;
    report(access.perform(&fh), status)
}

/// MPI_File_write_shared
pub fn file_write_shared(
    fh: Rc<File>, buf: *const u8, count: i64, datatype: Rc<Datatype>, status: StatusOut,
) -> Result<()> {
    let access = fh.access_shared(AccessKind::Write, buf, count, &datatype)?;
    report(access.perform(&fh), status)
}

/// MPI_File_seek_shared: collective. Nobody uses the pointer between the moment when all have come
/// and the one when it is set.
pub fn file_seek_shared(fh: Rc<File>, offset: i64, whence: i32) -> Result<()> {
    checked::meet(&fh)?;
    let circle = fh.comm.circle();
    task::run(async move {
        let own = match whence {
            MPI_SEEK_SET | MPI_SEEK_CUR | MPI_SEEK_END => fh.check_random(),
            _ => fh.target(0, 0, whence).map(|_| ()),
        };
        let arguments = [offset.to_ne_bytes(), (whence as i64).to_ne_bytes()].concat();
        same(&circle, own.map(|()| arguments), "offset or whence").await?;
        let moved = match circle.me {
            0 => fh.shared.get().and_then(|at| fh.target(at, offset, whence)).and_then(|to| fh.shared.set(to)),
            _ => Ok(()),
        };
        first_says(&circle, moved.map(|()| Vec::new())).await.map(|_| ())
    })
}

/// MPI_File_get_position_shared
pub fn file_get_position_shared(fh: Rc<File>, offset: Out<i64>) -> Result<()> {
    fh.check_random()?;
    offset.set(fh.shared.get()?);
    Ok(())
}
