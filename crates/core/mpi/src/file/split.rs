//! Split collectives (MPI 5.0 section 14.4.5): begun by one call, ended by another; one at a time
//! for each file.

use super::access::{Access, report};
use super::collective::{circles, transfer};
use super::ordered::ordered;
use super::{AccessKind, File};
use crate::args::StatusOut;
use crate::constants::*;
use crate::error::Result;
use crate::objects::Datatype;
use crate::runtime::adi;
use crate::task::{self, Task};
use std::rc::Rc;

/// Which split collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    All,
    AtAll,
    Ordered,
}

/// One that has begun.
pub struct Split {
    way: AccessKind,
    kind: Kind,
    buffer: *const u8,
    task: Rc<Task<u64>>,
}

impl Split {
    /// The name of its beginning.
    pub fn name(&self) -> String {
        name(self.way, self.kind, "begin")
    }
}

fn name(way: AccessKind, kind: Kind, part: &str) -> String {
    let way = if way == AccessKind::Read { "read" } else { "write" };
    let kind = match kind {
        Kind::All => "all",
        Kind::AtAll => "at_all",
        Kind::Ordered => "ordered",
    };
    format!("MPI_File_{way}_{kind}_{part}")
}

impl File {
    fn check_no_split(&self) -> Result<()> {
        match &*self.split.borrow() {
            None => Ok(()),
            Some(split) => err!(MPI_ERR_IO, "{} is under way: a file has one split collective at a time", split.name()),
        }
    }

    fn begin(&self, way: AccessKind, kind: Kind, buffer: *const u8, task: Rc<Task<u64>>) -> Result<()> {
        *self.split.borrow_mut() = Some(Split { way, kind, buffer, task });
        Ok(())
    }

    /// Waits for the end of what `begin` has begun.
    fn end(&self, way: AccessKind, kind: Kind, buffer: *const u8, status: StatusOut) -> Result<()> {
        let task = match &*self.split.borrow() {
            Some(split) if (split.way, split.kind) != (way, kind) => {
                return err!(
                    MPI_ERR_IO,
                    "{} is under way, which {} does not end",
                    split.name(),
                    name(way, kind, "end")
                );
            }
            Some(split) if split.buffer != buffer => {
                return err!(
                    MPI_ERR_BUFFER,
                    try "end a split access with the buffer that it was begun with",
                    "the buffer is at {buffer:p}, but at {:p} in {}",
                    split.buffer,
                    split.name()
                );
            }
            Some(split) => split.task.clone(),
            None => return err!(MPI_ERR_IO, "{} has not been called", name(way, kind, "begin")),
        };
        if !task.is_done() {
            adi().wait_until(&mut || task.is_done());
        }
        *self.split.borrow_mut() = None;
        report(task.take().unwrap_or(Ok(0)), status)
    }
}

/// Begins a collective access. When a wrong argument has kept this process from having a part, it
/// takes part without data, and the call fails.
fn begin_access(file: Rc<File>, way: AccessKind, kind: Kind, buffer: *const u8, access: Result<Access>) -> Result<()> {
    let failed = access.as_ref().err().cloned();
    let task = task::start(transfer(file.clone(), circles(&file), way, access));
    match failed {
        None => file.begin(way, kind, buffer, task),
        Some(error) => Err(error),
    }
}

fn begin_all(file: Rc<File>, way: AccessKind, buffer: *const u8, count: i64, datatype: &Rc<Datatype>) -> Result<()> {
    file.check_no_split()?;
    let access = file.access_next(way, buffer, count, datatype);
    begin_access(file, way, Kind::All, buffer, access)
}

fn begin_at_all(
    file: Rc<File>, way: AccessKind, offset: i64, buffer: *const u8, count: i64, datatype: &Rc<Datatype>,
) -> Result<()> {
    file.check_no_split()?;
    let access = file.access_at(way, offset, buffer, count, datatype);
    begin_access(file, way, Kind::AtAll, buffer, access)
}

fn begin_ordered(
    file: Rc<File>, way: AccessKind, buffer: *const u8, count: i64, datatype: &Rc<Datatype>,
) -> Result<()> {
    file.check_no_split()?;
    let part = file.transfer(way, buffer, count, datatype);
    let failed = part.as_ref().err().cloned();
    let task = task::start(ordered(file.clone(), file.comm.circle(), part));
    match failed {
        None => file.begin(way, Kind::Ordered, buffer, task),
        Some(error) => Err(error),
    }
}

/// MPI_File_read_all_begin
pub fn file_read_all_begin(fh: Rc<File>, buf: *mut u8, count: i64, datatype: Rc<Datatype>) -> Result<()> {
    begin_all(fh, AccessKind::Read, buf, count, &datatype)
}

/// MPI_File_read_all_end
pub fn file_read_all_end(fh: Rc<File>, buf: *mut u8, status: StatusOut) -> Result<()> {
    fh.end(AccessKind::Read, Kind::All, buf, status)
}

/// MPI_File_write_all_begin
pub fn file_write_all_begin(fh: Rc<File>, buf: *const u8, count: i64, datatype: Rc<Datatype>) -> Result<()> {
    begin_all(fh, AccessKind::Write, buf, count, &datatype)
}

/// MPI_File_write_all_end
pub fn file_write_all_end(fh: Rc<File>, buf: *const u8, status: StatusOut) -> Result<()> {
    fh.end(AccessKind::Write, Kind::All, buf, status)
}

/// MPI_File_read_at_all_begin
pub fn file_read_at_all_begin(
    fh: Rc<File>, offset: i64, buf: *mut u8, count: i64, datatype: Rc<Datatype>,
) -> Result<()> {
    begin_at_all(fh, AccessKind::Read, offset, buf, count, &datatype)
}

/// MPI_File_read_at_all_end
pub fn file_read_at_all_end(fh: Rc<File>, buf: *mut u8, status: StatusOut) -> Result<()> {
    fh.end(AccessKind::Read, Kind::AtAll, buf, status)
}

/// MPI_File_write_at_all_begin
pub fn file_write_at_all_begin(
    fh: Rc<File>, offset: i64, buf: *const u8, count: i64, datatype: Rc<Datatype>,
) -> Result<()> {
    begin_at_all(fh, AccessKind::Write, offset, buf, count, &datatype)
}

/// MPI_File_write_at_all_end
pub fn file_write_at_all_end(fh: Rc<File>, buf: *const u8, status: StatusOut) -> Result<()> {
    fh.end(AccessKind::Write, Kind::AtAll, buf, status)
}

/// MPI_File_read_ordered_begin
pub fn file_read_ordered_begin(fh: Rc<File>, buf: *mut u8, count: i64, datatype: Rc<Datatype>) -> Result<()> {
    begin_ordered(fh, AccessKind::Read, buf, count, &datatype)
}

/// MPI_File_read_ordered_end
pub fn file_read_ordered_end(fh: Rc<File>, buf: *mut u8, status: StatusOut) -> Result<()> {
    fh.end(AccessKind::Read, Kind::Ordered, buf, status)
}

/// MPI_File_write_ordered_begin
pub fn file_write_ordered_begin(fh: Rc<File>, buf: *const u8, count: i64, datatype: Rc<Datatype>) -> Result<()> {
    begin_ordered(fh, AccessKind::Write, buf, count, &datatype)
}

/// MPI_File_write_ordered_end
pub fn file_write_ordered_end(fh: Rc<File>, buf: *const u8, status: StatusOut) -> Result<()> {
    fh.end(AccessKind::Write, Kind::Ordered, buf, status)
}
