//! Collective access (MPI 5.0 sections 14.4.2 and 14.4.3), blocking and nonblocking: in two phases
//! where the engine's plan says that it pays, otherwise each process by itself.

use super::access::{Access, report};
use super::nonblocking::pending;
use super::runs::{decode_request, encode_request};
use super::two_phase::TwoPhase;
use super::{AccessKind, File, checked};
use crate::args::{Out, StatusOut};
use crate::error::Result;
use crate::exchange::Circle;
use crate::objects::Datatype;
use crate::task;
use std::rc::Rc;
use tern_counters as counters;
use tern_io::Choice;
use tern_io::plan::{Plan, Request};

/// For what the processes of an access tell each other, and for its data.
pub fn circles(file: &File) -> [Circle; 2] {
    [file.comm.circle(), file.comm.circle()]
}

/// Does this process's part of a collective access; returns the bytes of memory moved. One whose
/// arguments were wrong takes part without data.
pub async fn transfer(file: Rc<File>, circles: [Circle; 2], way: AccessKind, access: Result<Access>) -> Result<u64> {
    let [circle, data] = circles;
    checked::agree(&file).await?;
    let wishes = file.hints.borrow().wishes(way);
    // In atomic mode each access is one piece, which two phases would cut (section 14.6.1).
    if circle.procs.len() == 1 || wishes.buffering == Choice::Never || file.atomic.get() {
        counters::FILE_APART.add(1);
        return access?.perform(&file);
    }
    let own = match &access {
        Ok(Access { transfer, position }) => {
            let call = file.engine().map_or(0, |engine| engine.call_cost(way));
            Request::of(&transfer.view.io, *position, transfer.bytes, call)
        }
        Err(_) => Request::default(),
    };
    let requests: Vec<Request> =
        circle.gather(&encode_request(&own)).await?.iter().map(|part| decode_request(part)).collect();
    match Plan::new(&requests, &wishes) {
        Some(plan) => {
            counters::FILE_TWO_PHASE.add(1);
            TwoPhase { file: &file, lists: &circle, data: &data, plan: &plan, requests: &requests }
                .run(way, access)
                .await
        }
        None => {
            counters::FILE_APART.add(1);
            access?.perform(&file)
        }
    }
}

fn run(file: Rc<File>, way: AccessKind, access: Result<Access>, status: StatusOut) -> Result<()> {
    let circles = circles(&file);
    report(task::run(transfer(file, circles, way, access)), status)
}

fn start(file: Rc<File>, way: AccessKind, access: Result<Access>, request: Out<usize>) -> Result<()> {
    let failed = access.as_ref().err().cloned();
    let task = task::start(transfer(file.clone(), circles(&file), way, access));
    match failed {
        None => request.set(pending(file, task).into_handle()),
        Some(error) => return Err(error),
    }
    Ok(())
}

/// MPI_File_read_all
pub fn file_read_all(fh: Rc<File>, buf: *mut u8, count: i64, datatype: Rc<Datatype>, status: StatusOut) -> Result<()> {
    let access = fh.access_next(AccessKind::Read, buf, count, &datatype);
    run(fh, AccessKind::Read, access, status)
}

/// MPI_File_write_all
pub fn file_write_all(
    fh: Rc<File>, buf: *const u8, count: i64, datatype: Rc<Datatype>, status: StatusOut,
) -> Result<()> {
    let access = fh.access_next(AccessKind::Write, buf, count, &datatype);
    run(fh, AccessKind::Write, access, status)
}

/// MPI_File_read_at_all
pub fn file_read_at_all(
    fh: Rc<File>, offset: i64, buf: *mut u8, count: i64, datatype: Rc<Datatype>, status: StatusOut,
) -> Result<()> {
    let access = fh.access_at(AccessKind::Read, offset, buf, count, &datatype);
    run(fh, AccessKind::Read, access, status)
}

/// MPI_File_write_at_all
pub fn file_write_at_all(
    fh: Rc<File>, offset: i64, buf: *const u8, count: i64, datatype: Rc<Datatype>, status: StatusOut,
) -> Result<()> {
    let access = fh.access_at(AccessKind::Write, offset, buf, count, &datatype);
    run(fh, AccessKind::Write, access, status)
}

/// MPI_File_iread_all
pub fn file_iread_all(
    fh: Rc<File>, buf: *mut u8, count: i64, datatype: Rc<Datatype>, request: Out<usize>,
) -> Result<()> {
    let access = fh.access_next(AccessKind::Read, buf, count, &datatype);
    start(fh, AccessKind::Read, access, request)
}

/// MPI_File_iwrite_all
pub fn file_iwrite_all(
    fh: Rc<File>, buf: *const u8, count: i64, datatype: Rc<Datatype>, request: Out<usize>,
) -> Result<()> {
    let access = fh.access_next(AccessKind::Write, buf, count, &datatype);
    start(fh, AccessKind::Write, access, request)
}

/// MPI_File_iread_at_all
pub fn file_iread_at_all(
    fh: Rc<File>, offset: i64, buf: *mut u8, count: i64, datatype: Rc<Datatype>, request: Out<usize>,
) -> Result<()> {
    let access = fh.access_at(AccessKind::Read, offset, buf, count, &datatype);
    start(fh, AccessKind::Read, access, request)
}

/// MPI_File_iwrite_at_all
pub fn file_iwrite_at_all(
    fh: Rc<File>, offset: i64, buf: *const u8, count: i64, datatype: Rc<Datatype>, request: Out<usize>,
) -> Result<()> {
    let access = fh.access_at(AccessKind::Write, offset, buf, count, &datatype);
    start(fh, AccessKind::Write, access, request)
}
