//! Nonblocking collectives (MPI 5.0 section 6.12): the schedule of the blocking form, advanced by
//! any progress.

use crate::args::{Counts, Handles, Out};
use crate::collective::plan;
use crate::collective::request::start;
use crate::error::Result;
use crate::objects::{Comm, Datatype, Operation};
use std::rc::Rc;

/// MPI_Ibarrier (section 6.3).
pub fn ibarrier(comm: Rc<Comm>, request: Out<usize>) -> Result<()> {
    start(&comm, plan::barrier(), request)
}

/// MPI_Ibcast (section 6.4).
pub fn ibcast(
    buffer: *mut u8, count: i64, datatype: Rc<Datatype>, root: i32, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::bcast(buffer, count, &datatype, root, &comm)?, request)
}

/// MPI_Igather (section 6.5).
#[allow(clippy::too_many_arguments)]
pub fn igather(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, root: i32, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::gather(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, root, &comm)?, request)
}

/// MPI_Igatherv (section 6.5).
#[allow(clippy::too_many_arguments)]
pub fn igatherv(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts, displs: Counts,
    recvtype: Rc<Datatype>, root: i32, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(
        &comm,
        plan::gatherv(sendbuf, sendcount, &sendtype, recvbuf, recvcounts, displs, &recvtype, root, &comm)?,
        request,
    )
}

/// MPI_Iscatter (section 6.6).
#[allow(clippy::too_many_arguments)]
pub fn iscatter(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, root: i32, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::scatter(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, root, &comm)?, request)
}

/// MPI_Iscatterv (section 6.6).
#[allow(clippy::too_many_arguments)]
pub fn iscatterv(
    sendbuf: *const u8, sendcounts: Counts, displs: Counts, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, root: i32, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(
        &comm,
        plan::scatterv(sendbuf, sendcounts, displs, &sendtype, recvbuf, recvcount, &recvtype, root, &comm)?,
        request,
    )
}

/// MPI_Iallgather (section 6.7).
#[allow(clippy::too_many_arguments)]
pub fn iallgather(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::allgather(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, &comm)?, request)
}

/// MPI_Iallgatherv (section 6.7).
#[allow(clippy::too_many_arguments)]
pub fn iallgatherv(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts, displs: Counts,
    recvtype: Rc<Datatype>, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(
        &comm,
        plan::allgatherv(sendbuf, sendcount, &sendtype, recvbuf, recvcounts, displs, &recvtype, &comm)?,
        request,
    )
}

/// MPI_Ialltoall (section 6.8).
#[allow(clippy::too_many_arguments)]
pub fn ialltoall(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::alltoall(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype)?, request)
}

/// MPI_Ialltoallv (section 6.8).
#[allow(clippy::too_many_arguments)]
pub fn ialltoallv(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtype: Rc<Datatype>, recvbuf: *mut u8,
    recvcounts: Counts, rdispls: Counts, recvtype: Rc<Datatype>, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(
        &comm,
        plan::alltoallv(sendbuf, sendcounts, sdispls, &sendtype, recvbuf, recvcounts, rdispls, &recvtype, &comm)?,
        request,
    )
}

/// MPI_Ialltoallw (section 6.8).
#[allow(clippy::too_many_arguments)]
pub fn ialltoallw(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtypes: Handles, recvbuf: *mut u8, recvcounts: Counts,
    rdispls: Counts, recvtypes: Handles, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(
        &comm,
        plan::alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, &comm)?,
        request,
    )
}

/// MPI_Ireduce (section 6.9.1).
#[allow(clippy::too_many_arguments)]
pub fn ireduce(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>, root: i32,
    comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::reduce(sendbuf, recvbuf, count, &datatype, &op, root, &comm)?, request)
}

/// MPI_Iallreduce (section 6.9.6).
pub fn iallreduce(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>, comm: Rc<Comm>,
    request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::allreduce(sendbuf, recvbuf, count, &datatype, &op)?, request)
}

/// MPI_Ireduce_scatter_block (section 6.10.1).
pub fn ireduce_scatter_block(
    sendbuf: *const u8, recvbuf: *mut u8, recvcount: i64, datatype: Rc<Datatype>, op: Rc<Operation>, comm: Rc<Comm>,
    request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::reduce_scatter_block(sendbuf, recvbuf, recvcount, &datatype, &op, &comm)?, request)
}

/// MPI_Ireduce_scatter (section 6.10.2).
pub fn ireduce_scatter(
    sendbuf: *const u8, recvbuf: *mut u8, recvcounts: Counts, datatype: Rc<Datatype>, op: Rc<Operation>,
    comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::reduce_scatter(sendbuf, recvbuf, recvcounts, &datatype, &op, &comm)?, request)
}

/// MPI_Iscan (section 6.11.1).
pub fn iscan(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>, comm: Rc<Comm>,
    request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::scan(sendbuf, recvbuf, count, &datatype, &op, &comm)?, request)
}

/// MPI_Iexscan (section 6.11.2).
pub fn iexscan(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>, comm: Rc<Comm>,
    request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::exscan(sendbuf, recvbuf, count, &datatype, &op, &comm)?, request)
}
