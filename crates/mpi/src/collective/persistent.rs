//! Persistent collectives (MPI 5.0 section 6.13): the schedule of the blocking form, started again
//! and again. No hint changes anything.

use crate::args::{Counts, Handles, Out};
use crate::collective::plan;
use crate::collective::request::persistent;
use crate::error::Result;
use crate::objects::{Comm, Datatype, Info, Operation};
use std::rc::Rc;

/// MPI_Barrier_init (section 6.3).
pub fn barrier_init(comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>) -> Result<()> {
    persistent(&comm, plan::barrier(), request)
}

/// MPI_Bcast_init (section 6.4).
pub fn bcast_init(
    buffer: *mut u8, count: i64, datatype: Rc<Datatype>, root: i32, comm: Rc<Comm>, _info: Option<Rc<Info>>,
    request: Out<usize>,
) -> Result<()> {
    persistent(&comm, plan::bcast(buffer, count, &datatype, root, &comm)?, request)
}

/// MPI_Gather_init (section 6.5).
#[allow(clippy::too_many_arguments)]
pub fn gather_init(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, root: i32, comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(&comm, plan::gather(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, root, &comm)?, request)
}

/// MPI_Gatherv_init (section 6.5).
#[allow(clippy::too_many_arguments)]
pub fn gatherv_init(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts, displs: Counts,
    recvtype: Rc<Datatype>, root: i32, comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(
        &comm,
        plan::gatherv(sendbuf, sendcount, &sendtype, recvbuf, recvcounts, displs, &recvtype, root, &comm)?,
        request,
    )
}

/// MPI_Scatter_init (section 6.6).
#[allow(clippy::too_many_arguments)]
pub fn scatter_init(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, root: i32, comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(
        &comm,
        plan::scatter(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, root, &comm)?,
        request,
    )
}

/// MPI_Scatterv_init (section 6.6).
#[allow(clippy::too_many_arguments)]
pub fn scatterv_init(
    sendbuf: *const u8, sendcounts: Counts, displs: Counts, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, root: i32, comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(
        &comm,
        plan::scatterv(sendbuf, sendcounts, displs, &sendtype, recvbuf, recvcount, &recvtype, root, &comm)?,
        request,
    )
}

/// MPI_Allgather_init (section 6.7).
#[allow(clippy::too_many_arguments)]
pub fn allgather_init(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(&comm, plan::allgather(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, &comm)?, request)
}

/// MPI_Allgatherv_init (section 6.7).
#[allow(clippy::too_many_arguments)]
pub fn allgatherv_init(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts, displs: Counts,
    recvtype: Rc<Datatype>, comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(
        &comm,
        plan::allgatherv(sendbuf, sendcount, &sendtype, recvbuf, recvcounts, displs, &recvtype, &comm)?,
        request,
    )
}

/// MPI_Alltoall_init (section 6.8).
#[allow(clippy::too_many_arguments)]
pub fn alltoall_init(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(&comm, plan::alltoall(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype)?, request)
}

/// MPI_Alltoallv_init (section 6.8).
#[allow(clippy::too_many_arguments)]
pub fn alltoallv_init(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtype: Rc<Datatype>, recvbuf: *mut u8,
    recvcounts: Counts, rdispls: Counts, recvtype: Rc<Datatype>, comm: Rc<Comm>, _info: Option<Rc<Info>>,
    request: Out<usize>,
) -> Result<()> {
    persistent(
        &comm,
        plan::alltoallv(sendbuf, sendcounts, sdispls, &sendtype, recvbuf, recvcounts, rdispls, &recvtype, &comm)?,
        request,
    )
}

/// MPI_Alltoallw_init (section 6.8).
#[allow(clippy::too_many_arguments)]
pub fn alltoallw_init(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtypes: Handles, recvbuf: *mut u8, recvcounts: Counts,
    rdispls: Counts, recvtypes: Handles, comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(
        &comm,
        plan::alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, &comm)?,
        request,
    )
}

/// MPI_Reduce_init (section 6.9.1).
#[allow(clippy::too_many_arguments)]
pub fn reduce_init(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>, root: i32,
    comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(&comm, plan::reduce(sendbuf, recvbuf, count, &datatype, &op, root, &comm)?, request)
}

/// MPI_Allreduce_init (section 6.9.6).
#[allow(clippy::too_many_arguments)]
pub fn allreduce_init(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>, comm: Rc<Comm>,
    _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(&comm, plan::allreduce(sendbuf, recvbuf, count, &datatype, &op)?, request)
}

/// MPI_Reduce_scatter_block_init (section 6.10.1).
#[allow(clippy::too_many_arguments)]
pub fn reduce_scatter_block_init(
    sendbuf: *const u8, recvbuf: *mut u8, recvcount: i64, datatype: Rc<Datatype>, op: Rc<Operation>, comm: Rc<Comm>,
    _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(&comm, plan::reduce_scatter_block(sendbuf, recvbuf, recvcount, &datatype, &op, &comm)?, request)
}

/// MPI_Reduce_scatter_init (section 6.10.2).
#[allow(clippy::too_many_arguments)]
pub fn reduce_scatter_init(
    sendbuf: *const u8, recvbuf: *mut u8, recvcounts: Counts, datatype: Rc<Datatype>, op: Rc<Operation>,
    comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(&comm, plan::reduce_scatter(sendbuf, recvbuf, recvcounts, &datatype, &op, &comm)?, request)
}

/// MPI_Scan_init (section 6.11.1).
#[allow(clippy::too_many_arguments)]
pub fn scan_init(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>, comm: Rc<Comm>,
    _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(&comm, plan::scan(sendbuf, recvbuf, count, &datatype, &op, &comm)?, request)
}

/// MPI_Exscan_init (section 6.11.2).
#[allow(clippy::too_many_arguments)]
pub fn exscan_init(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>, comm: Rc<Comm>,
    _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(&comm, plan::exscan(sendbuf, recvbuf, count, &datatype, &op, &comm)?, request)
}
