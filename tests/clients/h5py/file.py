"""Each rank writes its rows of a dataset in one file; all read it again."""
import os

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
from mpi4py import MPI
import numpy
import h5py._debian_h5py_mpi as h5py

comm = MPI.COMM_WORLD
with h5py.File("data.h5", "w", driver="mpio", comm=comm) as file:
    data = file.create_dataset("data", (comm.size * 100, 1000), dtype="f8")
    with data.collective:
        data[comm.rank * 100:(comm.rank + 1) * 100] = comm.rank + numpy.arange(1000) / 1000
with h5py.File("data.h5", "r", driver="mpio", comm=comm) as file:
    total = float(file["data"][comm.rank::comm.size].sum())
total = comm.allreduce(total)
if comm.rank == 0:
    print(f"the elements add up to {total:.6f}")
