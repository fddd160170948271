//! Neighbourhood collectives (MPI 5.0 section 8.6): blocking, nonblocking and persistent.

use crate::args::{Counts, Handles, Out};
use crate::collective::forms::forms;
use crate::collective::neighbor_plan as plan;
use crate::error::Result;
use crate::objects::{Comm, Datatype, Info};
use std::rc::Rc;

forms! {
    "Neighbor_allgather" "8.6" neighbor_allgather ineighbor_allgather neighbor_allgather_init (
        sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
        recvtype: Rc<Datatype>
    ) |comm| plan::allgather(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, &comm)?;

    "Neighbor_allgatherv" "8.6" neighbor_allgatherv ineighbor_allgatherv neighbor_allgatherv_init (
        sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts,
        displs: Counts, recvtype: Rc<Datatype>
    ) |comm| plan::allgatherv(sendbuf, sendcount, &sendtype, recvbuf, recvcounts, displs, &recvtype, &comm)?;

    "Neighbor_alltoall" "8.6" neighbor_alltoall ineighbor_alltoall neighbor_alltoall_init (
        sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
        recvtype: Rc<Datatype>
    ) |comm| plan::alltoall(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, &comm)?;

    "Neighbor_alltoallv" "8.6" neighbor_alltoallv ineighbor_alltoallv neighbor_alltoallv_init (
        sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtype: Rc<Datatype>, recvbuf: *mut u8,
        recvcounts: Counts, rdispls: Counts, recvtype: Rc<Datatype>
    ) |comm| plan::alltoallv(sendbuf, sendcounts, sdispls, &sendtype, recvbuf, recvcounts, rdispls, &recvtype, &comm)?;

    "Neighbor_alltoallw" "8.6" neighbor_alltoallw ineighbor_alltoallw neighbor_alltoallw_init (
        sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtypes: Handles, recvbuf: *mut u8,
        recvcounts: Counts, rdispls: Counts, recvtypes: Handles
    ) |comm| plan::alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, &comm)?;
}
