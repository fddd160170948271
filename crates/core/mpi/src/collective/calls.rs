//! The collective calls (MPI 5.0 chapter 6): blocking, nonblocking and persistent.

use crate::args::{Counts, Handles, Out};
use crate::collective::forms::forms;
use crate::collective::plan;
use crate::error::Result;
use crate::objects::{Comm, Datatype, Info, Operation};
use std::rc::Rc;

forms! {
    "Barrier" "6.3" barrier ibarrier barrier_init () |comm| plan::barrier();

    "Bcast" "6.4" bcast ibcast bcast_init (
        buffer: *mut u8, count: i64, datatype: Rc<Datatype>, root: i32
    ) |comm| plan::bcast(buffer, count, &datatype, root, &comm)?;

    "Gather" "6.5" gather igather gather_init (
        sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
        recvtype: Rc<Datatype>, root: i32
    ) |comm| plan::gather(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, root, &comm)?;

    "Gatherv" "6.5" gatherv igatherv gatherv_init (
        sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts,
        displs: Counts, recvtype: Rc<Datatype>, root: i32
    ) |comm| plan::gatherv(sendbuf, sendcount, &sendtype, recvbuf, recvcounts, displs, &recvtype, root, &comm)?;

    "Scatter" "6.6" scatter iscatter scatter_init (
        sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
        recvtype: Rc<Datatype>, root: i32
    ) |comm| plan::scatter(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, root, &comm)?;

    "Scatterv" "6.6" scatterv iscatterv scatterv_init (
        sendbuf: *const u8, sendcounts: Counts, displs: Counts, sendtype: Rc<Datatype>, recvbuf: *mut u8,
        recvcount: i64, recvtype: Rc<Datatype>, root: i32
    ) |comm| plan::scatterv(sendbuf, sendcounts, displs, &sendtype, recvbuf, recvcount, &recvtype, root, &comm)?;

    "Allgather" "6.7" allgather iallgather allgather_init (
        sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
        recvtype: Rc<Datatype>
    ) |comm| plan::allgather(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype, &comm)?;

    "Allgatherv" "6.7" allgatherv iallgatherv allgatherv_init (
        sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts,
        displs: Counts, recvtype: Rc<Datatype>
    ) |comm| plan::allgatherv(sendbuf, sendcount, &sendtype, recvbuf, recvcounts, displs, &recvtype, &comm)?;

    "Alltoall" "6.8" alltoall ialltoall alltoall_init (
        sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
        recvtype: Rc<Datatype>
    ) |comm| plan::alltoall(sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype)?;

    "Alltoallv" "6.8" alltoallv ialltoallv alltoallv_init (
        sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtype: Rc<Datatype>, recvbuf: *mut u8,
        recvcounts: Counts, rdispls: Counts, recvtype: Rc<Datatype>
    ) |comm| plan::alltoallv(sendbuf, sendcounts, sdispls, &sendtype, recvbuf, recvcounts, rdispls, &recvtype, &comm)?;

    "Alltoallw" "6.8" alltoallw ialltoallw alltoallw_init (
        sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtypes: Handles, recvbuf: *mut u8,
        recvcounts: Counts, rdispls: Counts, recvtypes: Handles
    ) |comm| plan::alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, &comm)?;

    "Reduce" "6.9.1" reduce ireduce reduce_init (
        sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>, root: i32
    ) |comm| plan::reduce(sendbuf, recvbuf, count, &datatype, &op, root, &comm)?;

    "Allreduce" "6.9.6" allreduce iallreduce allreduce_init (
        sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>
    ) |comm| plan::allreduce(sendbuf, recvbuf, count, &datatype, &op)?;

    "Reduce_scatter_block" "6.10.1" reduce_scatter_block ireduce_scatter_block reduce_scatter_block_init (
        sendbuf: *const u8, recvbuf: *mut u8, recvcount: i64, datatype: Rc<Datatype>, op: Rc<Operation>
    ) |comm| plan::reduce_scatter_block(sendbuf, recvbuf, recvcount, &datatype, &op, &comm)?;

    "Reduce_scatter" "6.10.2" reduce_scatter ireduce_scatter reduce_scatter_init (
        sendbuf: *const u8, recvbuf: *mut u8, recvcounts: Counts, datatype: Rc<Datatype>, op: Rc<Operation>
    ) |comm| plan::reduce_scatter(sendbuf, recvbuf, recvcounts, &datatype, &op, &comm)?;

    "Scan" "6.11.1" scan iscan scan_init (
        sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>
    ) |comm| plan::scan(sendbuf, recvbuf, count, &datatype, &op, &comm)?;

    "Exscan" "6.11.2" exscan iexscan exscan_init (
        sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>
    ) |comm| plan::exscan(sendbuf, recvbuf, count, &datatype, &op, &comm)?;
}
