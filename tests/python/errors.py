"""What an exception of mpi4py tells: the call, the value and the range; and of a request among several, which one it was."""
import os
import tempfile
from mpi4py import MPI

comm, own = MPI.COMM_WORLD, MPI.COMM_SELF


def tells(error_class, call, *parts):
    """The call raises an exception of that class, whose text has these parts."""
    try:
        call()
    except MPI.Exception as error:
        text = str(error)
        assert error.Get_error_class() == error_class, text
        for part in parts:
            assert part in text, f'no "{part}" in: {text}'
    else:
        raise AssertionError(f"no exception with {parts}")


data, room = bytearray(20), bytearray(8)
last = comm.size - 1
tells(MPI.ERR_RANK, lambda: comm.Send(data, dest=4242), "MPI_ERR_RANK", "MPI_Send", "dest is 4242", f"0 to {last}")
tells(MPI.ERR_TAG, lambda: comm.Send(data, dest=0, tag=-77), "MPI_Send", "tag is -77", "0 to 2147483647")
tells(MPI.ERR_ROOT, lambda: comm.Bcast(data, root=99), "MPI_Bcast", "root is 99", f"0 to {last}")
tells(MPI.ERR_TYPE, lambda: own.Send([data, 2, MPI.INT.Create_contiguous(2)], dest=0), "MPI_Send", "MPI_Type_commit")
tells(MPI.ERR_OP, lambda: own.Allreduce([bytearray(4), MPI.FLOAT], [room, 1, MPI.FLOAT], MPI.BAND), "MPI_BAND", "MPI_FLOAT")
tells(MPI.ERR_DIMS, lambda: MPI.Compute_dims(7, [2, 0]), "MPI_Dims_create", "7 nodes")

# Both sizes, source and tag.
sent = comm.Isend(data, dest=comm.rank, tag=7)
tells(MPI.ERR_TRUNCATE, lambda: comm.Recv(room, source=comm.rank, tag=7), "MPI_Recv", "20 bytes", f"rank {comm.rank}", "tag 7", "8 bytes")
sent.Wait()
requests = [comm.Irecv(bytearray(4), source=comm.rank, tag=1), comm.Irecv(room, source=comm.rank, tag=2)]
comm.Send(bytearray(4), dest=comm.rank, tag=1)
comm.Send(bytearray(12), dest=comm.rank, tag=2)
statuses = [MPI.Status(), MPI.Status()]
tells(MPI.ERR_IN_STATUS, lambda: MPI.Request.Waitall(requests, statuses), "MPI_Waitall", "index 1", "12 bytes", "8 bytes")
text = MPI.Get_error_string(statuses[1].error)
assert "MPI_ERR_TRUNCATE" in text and "index 1" in text and "tag 2" in text, text

# Files and windows.
missing = os.path.join(tempfile.gettempdir(), "tern-no-such-directory", "file")
tells(MPI.ERR_NO_SUCH_FILE, lambda: MPI.File.Open(own, missing), "MPI_File_open", missing, "No such file or directory")
window = MPI.Win.Create(bytearray(64), 1, comm=own)
window.Set_name("shelf")
window.Fence()
tells(MPI.ERR_RMA_RANGE, lambda: window.Put(room, 0, target=60), "MPI_Put", "shelf", "displacement 60", "64 bytes")
window.Fence()
window.Free()

# What succeeds, and another error, leave nothing of it.
assert MPI.Get_error_string(MPI.ERR_RANK) == "MPI_ERR_RANK: invalid rank"
# In one piece.
os.write(1, f"right {comm.rank} {comm.size}\n".encode())
