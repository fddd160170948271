//! Access by all processes in the order of their ranks, at the shared file pointer (MPI 5.0 section
//! 14.4.4): all learn how much each takes, and with that where its own part lies.

use super::access::{Transfer, report};
use super::agree::first_says;
use super::{AccessKind, File, checked};
use crate::args::StatusOut;
use crate::error::Result;
use crate::exchange::Circle;
use crate::objects::Datatype;
use crate::task;
use std::rc::Rc;

/// Does this process's part; returns its bytes. One that has failed before takes no part of the file.
pub async fn ordered(file: Rc<File>, circle: Circle, transfer: Result<Transfer>) -> Result<u64> {
    checked::agree(&file).await?;
    let own = transfer.as_ref().map_or(0, Transfer::etypes);
    let all = circle.gather(&own.to_ne_bytes()).await?;
    let sizes: Vec<i64> =
        all.iter().map(|part| i64::from_ne_bytes(part[..8].try_into().expect("eight bytes"))).collect();
    let begun = match circle.me {
        0 => file.shared.fetch_add(sizes.iter().sum()).map(|from| from.to_ne_bytes().to_vec()),
        _ => Ok(Vec::new()),
    };
    let from = first_says(&circle, begun).await?;
    let from = i64::from_ne_bytes(from[..8].try_into().expect("eight bytes"));
    file.placed(transfer?, from + sizes[..circle.me].iter().sum::<i64>())?.perform(&file)
}

/// MPI_File_read_ordered: collective.
pub fn file_read_ordered(
    fh: Rc<File>, buf: *mut u8, count: i64, datatype: Rc<Datatype>, status: StatusOut,
) -> Result<()> {
    let (circle, transfer) = (fh.comm.circle(), fh.transfer(AccessKind::Read, buf, count, &datatype));
    report(task::run(ordered(fh, circle, transfer)), status)
}

/// MPI_File_write_ordered: collective.
pub fn file_write_ordered(
    fh: Rc<File>, buf: *const u8, count: i64, datatype: Rc<Datatype>, status: StatusOut,
) -> Result<()> {
    let (circle, transfer) = (fh.comm.circle(), fh.transfer(AccessKind::Write, buf, count, &datatype));
    report(task::run(ordered(fh, circle, transfer)), status)
}
