"""Rank 0 ends by an uncaught exception while the last rank waits for it, or computes (`computes`); or it ends by `sys.exit`, or by what is built in."""
import sys
import time
from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 0 and sys.argv[1:] == ["exits"]:
    sys.exit(3)
if comm.rank == 0 and sys.argv[1:] == ["exits-with-text"]:
    exit("no water")
if comm.rank == 0:
    raise ValueError("the well is dry")
if sys.argv[1:] == ["barrier"]:
    comm.Barrier()
if comm.rank == comm.size - 1:
    if sys.argv[1:] == ["computes"]:
        time.sleep(60)
    comm.recv(source=0)
