//! Nonblocking access by one process (MPI 5.0 sections 14.4.2 to 14.4.4). The kernel's page cache
//! takes and gives data at once, so the access is done when the call returns; how it went, the
//! request tells.

use super::access::{Access, status_of};
use super::{AccessKind, File};
use crate::args::Out;
use crate::check::watch;
use crate::error::Result;
use crate::objects::Datatype;
use crate::request::{About, Outcome, Request, Work};
use crate::scope::Scope;
use crate::task::Task;
use std::cell::RefCell;
use std::rc::Rc;

fn outcome_of(moved: Result<u64>) -> Outcome {
    let status = status_of(*moved.as_ref().unwrap_or(&0));
    Outcome { status, error: moved.err() }
}

/// The request of an access that has ended.
fn complete(file: Rc<File>, moved: Result<u64>) -> Request {
    let ended = RefCell::new(Some(moved));
    Request::Work(Rc::new(Work {
        scope: Scope::of(file),
        done: Box::new(|| true),
        finish: Box::new(move || outcome_of(ended.take().unwrap_or(Ok(0)))),
        ended: RefCell::default(),
        // Too late for that, which is no error (section 3.8.4).
        cancel: Some(Box::new(|| ())),
        about: About::default(),
    }))
}

/// The request of an access that goes on in the background.
pub fn pending(file: Rc<File>, task: Rc<Task<u64>>) -> Request {
    let done = task.clone();
    Request::Work(Rc::new(Work {
        scope: Scope::of(file),
        done: Box::new(move || done.is_done()),
        finish: Box::new(move || outcome_of(task.take().unwrap_or(Ok(0)))),
        ended: RefCell::default(),
        cancel: None,
        about: About::default(),
    }))
}

fn start(file: Rc<File>, access: Result<Access>, request: Out<usize>) -> Result<()> {
    let access = access?;
    let moved = access.perform(&file);
    let ended = complete(file, moved);
    // The data is there already, or with the kernel. The memory is the operation's until the program waits for it all the same.
    request.set(watch::held(|| access.transfer.used(), ended)?.into_handle());
    Ok(())
}

/// MPI_File_iread_at
pub fn file_iread_at(
    fh: Rc<File>, offset: i64, buf: *mut u8, count: i64, datatype: Rc<Datatype>, request: Out<usize>,
) -> Result<()> {
    let access = fh.access_at(AccessKind::Read, offset, buf, count, &datatype);
    start(fh, access, request)
}

/// MPI_File_iwrite_at
pub fn file_iwrite_at(
    fh: Rc<File>, offset: i64, buf: *const u8, count: i64, datatype: Rc<Datatype>, request: Out<usize>,
) -> Result<()> {
    let access = fh.access_at(AccessKind::Write, offset, buf, count, &datatype);
    start(fh, access, request)
}

/// MPI_File_iread
pub fn file_iread(fh: Rc<File>, buf: *mut u8, count: i64, datatype: Rc<Datatype>, request: Out<usize>) -> Result<()> {
    let access = fh.access_next(AccessKind::Read, buf, count, &datatype);
    start(fh, access, request)
}

/// MPI_File_iwrite
pub fn file_iwrite(
    fh: Rc<File>, buf: *const u8, count: i64, datatype: Rc<Datatype>, request: Out<usize>,
) -> Result<()> {
    let access = fh.access_next(AccessKind::Write, buf, count, &datatype);
    start(fh, access, request)
}

/// MPI_File_iread_shared
pub fn file_iread_shared(
    fh: Rc<File>, buf: *mut u8, count: i64, datatype: Rc<Datatype>, request: Out<usize>,
) -> Result<()> {
    let access = fh.access_shared(AccessKind::Read, buf, count, &datatype);
    start(fh, access, request)
}

/// MPI_File_iwrite_shared
pub fn file_iwrite_shared(
    fh: Rc<File>, buf: *const u8, count: i64, datatype: Rc<Datatype>, request: Out<usize>,
) -> Result<()> {
    let access = fh.access_shared(AccessKind::Write, buf, count, &datatype);
    start(fh, access, request)
}
