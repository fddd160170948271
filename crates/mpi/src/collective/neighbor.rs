//! Neighbourhood collectives (MPI 5.0 section 8.6), blocking, nonblocking and persistent.

use crate::args::{Counts, Handles, Out};
use crate::collective::neighbor_plan as plan;
use crate::collective::request::{persistent, start};
use crate::collective::run;
use crate::error::Result;
use crate::objects::{Comm, Datatype, Info};
use std::rc::Rc;

/// MPI_Neighbor_allgather (section 8.6).
pub fn neighbor_allgather(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, comm: Rc<Comm>,
) -> Result<()> {
    run(&comm, plan::allgather(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, &comm)?)
}

/// MPI_Ineighbor_allgather (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn ineighbor_allgather(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::allgather(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, &comm)?, request)
}

/// MPI_Neighbor_allgather_init (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn neighbor_allgather_init(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(&comm, plan::allgather(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, &comm)?, request)
}

/// MPI_Neighbor_allgatherv (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn neighbor_allgatherv(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts, displs: Counts,
    recvtype: Rc<Datatype>, comm: Rc<Comm>,
) -> Result<()> {
    run(&comm, plan::allgatherv(sendbuf, sendcount, &sendtype, recvbuf, recvcounts, displs, &recvtype, &comm)?)
}

/// MPI_Ineighbor_allgatherv (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn ineighbor_allgatherv(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts, displs: Counts,
    recvtype: Rc<Datatype>, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(
        &comm,
        plan::allgatherv(sendbuf, sendcount, &sendtype, recvbuf, recvcounts, displs, &recvtype, &comm)?,
        request,
    )
}

/// MPI_Neighbor_allgatherv_init (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn neighbor_allgatherv_init(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts, displs: Counts,
    recvtype: Rc<Datatype>, comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(
        &comm,
        plan::allgatherv(sendbuf, sendcount, &sendtype, recvbuf, recvcounts, displs, &recvtype, &comm)?,
        request,
    )
}

/// MPI_Neighbor_alltoall (section 8.6).
pub fn neighbor_alltoall(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, comm: Rc<Comm>,
) -> Result<()> {
    run(&comm, plan::alltoall(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, &comm)?)
}

/// MPI_Ineighbor_alltoall (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn ineighbor_alltoall(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(&comm, plan::alltoall(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, &comm)?, request)
}

/// MPI_Neighbor_alltoall_init (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn neighbor_alltoall_init(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: Rc<Datatype>, comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(&comm, plan::alltoall(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, &comm)?, request)
}

/// MPI_Neighbor_alltoallv (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn neighbor_alltoallv(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtype: Rc<Datatype>, recvbuf: *mut u8,
    recvcounts: Counts, rdispls: Counts, recvtype: Rc<Datatype>, comm: Rc<Comm>,
) -> Result<()> {
    run(
        &comm,
        plan::alltoallv(sendbuf, sendcounts, sdispls, &sendtype, recvbuf, recvcounts, rdispls, &recvtype, &comm)?,
    )
}

/// MPI_Ineighbor_alltoallv (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn ineighbor_alltoallv(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtype: Rc<Datatype>, recvbuf: *mut u8,
    recvcounts: Counts, rdispls: Counts, recvtype: Rc<Datatype>, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(
        &comm,
        plan::alltoallv(sendbuf, sendcounts, sdispls, &sendtype, recvbuf, recvcounts, rdispls, &recvtype, &comm)?,
        request,
    )
}

/// MPI_Neighbor_alltoallv_init (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn neighbor_alltoallv_init(
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

/// MPI_Neighbor_alltoallw (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn neighbor_alltoallw(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtypes: Handles, recvbuf: *mut u8, recvcounts: Counts,
    rdispls: Counts, recvtypes: Handles, comm: Rc<Comm>,
) -> Result<()> {
    run(
        &comm,
        plan::alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, &comm)?,
    )
}

/// MPI_Ineighbor_alltoallw (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn ineighbor_alltoallw(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtypes: Handles, recvbuf: *mut u8, recvcounts: Counts,
    rdispls: Counts, recvtypes: Handles, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    start(
        &comm,
        plan::alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, &comm)?,
        request,
    )
}

/// MPI_Neighbor_alltoallw_init (section 8.6).
#[allow(clippy::too_many_arguments)]
pub fn neighbor_alltoallw_init(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtypes: Handles, recvbuf: *mut u8, recvcounts: Counts,
    rdispls: Counts, recvtypes: Handles, comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    persistent(
        &comm,
        plan::alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, &comm)?,
        request,
    )
}
