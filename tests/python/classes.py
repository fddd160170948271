"""Every error class that Python can provoke raises an exception whose text names the call and the value; for the others a reason stands here."""
import os
import resource
import tempfile
from mpi4py import MPI

comm, own = MPI.COMM_WORLD, MPI.COMM_SELF
for communicator in comm, own:
    communicator.Set_errhandler(MPI.ERRORS_RETURN)
seen = set()
wrong = []


def tells(name, call, *parts):
    """The call raises an exception of the class called `name`, whose text has the name and these parts."""
    wanted = getattr(MPI, name, None)
    if wanted is None:
        # An older mpi4py does not know it.
        return
    seen.add(name)
    try:
        call()
    except MPI.Exception as error:
        text = str(error)
        # A library's header may lack the class; then another one stands for it, and the text is right all the same.
        if error.Get_error_class() != wanted and not text.startswith("MPI_" + name):
            wrong.append(f"{name}: {text}")
        wrong.extend(f'{name}: no "{part}" in: {text}' for part in ("MPI_" + name + ": ", *parts) if part not in text)
    else:
        wrong.append(f"no exception of the class {name}")


x = bytearray(8)
last = comm.size - 1


def arguments():
    one = [x, 1, MPI.INT]
    info = MPI.Info.Create()
    tells("ERR_BUFFER", lambda: own.Allreduce(one, one), "MPI_Allreduce", "both buffers are at 0x")
    tells("ERR_COUNT", lambda: MPI.INT.Create_contiguous(-7), "MPI_Type_contiguous", "count is -7")
    tells("ERR_TYPE", lambda: own.Send([x, 1, MPI.INT.Create_vector(1, 2, 3)], dest=0), "MPI_Send", "MPI_Type_commit")
    tells("ERR_TAG", lambda: comm.Send(one, dest=0, tag=-77), "MPI_Send", "tag is -77", "0 to 2147483647")
    tells("ERR_COMM", lambda: MPI.COMM_NULL.Barrier(), "MPI_Barrier", "MPI_COMM_NULL")
    tells("ERR_RANK", lambda: comm.Send(one, dest=4242), "MPI_Send", "dest is 4242", f"0 to {last}")
    tells("ERR_REQUEST", lambda: MPI.REQUEST_NULL.Free(), "MPI_Request_free", "MPI_REQUEST_NULL")
    tells("ERR_ROOT", lambda: comm.Bcast(one, root=99), "MPI_Bcast", "root is 99", f"0 to {last}")
    tells("ERR_GROUP", lambda: MPI.GROUP_NULL.Get_size(), "MPI_Group_size", "MPI_GROUP_NULL")
    tells("ERR_OP", lambda: own.Allreduce([x, 1, MPI.FLOAT], [bytearray(4), 1, MPI.FLOAT], MPI.BAND), "MPI_Allreduce", "MPI_BAND", "MPI_FLOAT")
    tells("ERR_DIMS", lambda: MPI.Compute_dims(7, [2, 0]), "MPI_Dims_create", "7 nodes", "[2, 0]")
    tells("ERR_ARG", lambda: own.Split(color=-5), "MPI_Comm_split", "color -5")
    tells("ERR_OTHER", lambda: MPI.Init(), "MPI_Init", "initialised already")
    tells("ERR_KEYVAL", lambda: comm.Get_attr(987654), "MPI_Comm_get_attr", "987654")
    tells("ERR_INFO", lambda: MPI.INFO_NULL.Get_nkeys(), "MPI_Info_get_nkeys", "MPI_INFO_NULL")
    tells("ERR_INFO_KEY", lambda: info.Set("k" * 400, "v"), "MPI_Info_set", "400")
    tells("ERR_INFO_VALUE", lambda: info.Set("k", "v" * 69999), "MPI_Info_set", "69999")
    tells("ERR_INFO_NOKEY", lambda: info.Delete("colour"), "MPI_Info_delete", "colour")
    tells("ERR_NO_MEM", lambda: MPI.Alloc_mem(1 << 62), "MPI_Alloc_mem", "4611686018427387904 bytes")
    tells("ERR_VALUE_TOO_LARGE", lambda: MPI.DOUBLE.Create_contiguous(1 << 62), "MPI_Type_contiguous_c", "4611686018427387904", "MPI_DOUBLE")
    tells("ERR_SESSION", lambda: MPI.SESSION_NULL.Finalize(), "MPI_Session_finalize", "MPI_SESSION_NULL")
    tells("ERR_ERRHANDLER", lambda: own.Set_errhandler(MPI.ERRHANDLER_NULL), "MPI_Comm_set_errhandler", "MPI_ERRHANDLER_NULL")
    info.Free()


def messages():
    tells("ERR_TRUNCATE", lambda: own.Sendrecv([bytearray(20), MPI.BYTE], 0, 7, [x, MPI.BYTE], 0, 7),
          "MPI_Sendrecv", "20 bytes", "rank 0", "tag 7", "8 bytes")
    requests = [own.Irecv([x, MPI.BYTE], 0, 1), own.Isend([bytearray(12), MPI.BYTE], 0, 1)]
    tells("ERR_IN_STATUS", lambda: MPI.Request.Waitall(requests, [MPI.Status(), MPI.Status()]), "MPI_Waitall", "index 0", "12 bytes")


def windows():
    tells("ERR_WIN", lambda: MPI.WIN_NULL.Fence(), "MPI_Win_fence", "MPI_WIN_NULL")
    tells("ERR_SIZE", lambda: MPI.Win.Allocate(-8, 1, comm=own), "MPI_Win_allocate", "-8")
    tells("ERR_DISP", lambda: MPI.Win.Allocate(8, -4, comm=own), "MPI_Win_allocate", "-4")
    shelf = MPI.Win.Create(bytearray(64), 1, comm=own)
    shelf.Set_errhandler(MPI.ERRORS_RETURN)
    shelf.Set_name("shelf")
    tells("ERR_RMA_SYNC", lambda: shelf.Put(x, 0), "MPI_Put", "shelf", "rank 0")
    tells("ERR_LOCKTYPE", lambda: shelf.Lock(0, lock_type=-7), "MPI_Win_lock", "-7")
    tells("ERR_ASSERT", lambda: shelf.Fence(1 << 30), "MPI_Win_fence", "0x40000000")
    shelf.Fence()
    tells("ERR_RMA_RANGE", lambda: shelf.Put(x, 0, target=60), "MPI_Put", "shelf", "displacement 60", "64 bytes")
    tells("ERR_RMA_FLAVOR", lambda: shelf.Attach(x), "MPI_Win_attach", "shelf")
    shelf.Fence()
    shelf.Free()
    loose = MPI.Win.Create_dynamic(comm=own)
    loose.Set_errhandler(MPI.ERRORS_RETURN)
    tells("ERR_RMA_ATTACH", lambda: loose.Detach(x), "MPI_Win_detach", "no memory is attached")
    loose.Free()


def files():
    with tempfile.TemporaryDirectory() as place:
        path, missing = os.path.join(place, "file"), os.path.join(place, "none", "file")
        create = MPI.MODE_RDWR | MPI.MODE_CREATE
        tells("ERR_NO_SUCH_FILE", lambda: MPI.File.Open(own, missing), "MPI_File_open", missing, "No such file or directory")
        tells("ERR_BAD_FILE", lambda: MPI.File.Open(own, "", create), "MPI_File_open")
        tells("ERR_AMODE", lambda: MPI.File.Open(own, path, MPI.MODE_RDONLY | MPI.MODE_RDWR), "MPI_File_open")
        tells("ERR_FILE", lambda: MPI.FILE_NULL.Get_size(), "MPI_File_get_size", "MPI_FILE_NULL")
        file = MPI.File.Open(own, path, create)
        tells("ERR_FILE_EXISTS", lambda: MPI.File.Open(own, path, create | MPI.MODE_EXCL), "MPI_File_open", path, "File exists")
        tells("ERR_IO", lambda: file.Read_all_end(x), "MPI_File_read_all_end")
        tells("ERR_UNSUPPORTED_DATAREP", lambda: file.Set_view(0, MPI.INT, MPI.INT, "martian"), "MPI_File_set_view", "martian")
        tells("ERR_DUP_DATAREP", lambda: MPI.Register_datarep("native", None, None, lambda type: 4), "MPI_Register_datarep", "native")
        file.Close()
        file = MPI.File.Open(own, path, MPI.MODE_WRONLY)
        tells("ERR_ACCESS", lambda: file.Read(x), "MPI_File_read", path, "MPI_MODE_WRONLY")
        file.Close()
        file = MPI.File.Open(own, path, MPI.MODE_RDONLY)
        tells("ERR_READ_ONLY", lambda: file.Write(x), "MPI_File_write", path, "MPI_MODE_RDONLY")
        file.Close()
        file = MPI.File.Open(own, path, MPI.MODE_WRONLY | MPI.MODE_SEQUENTIAL)
        tells("ERR_UNSUPPORTED_OPERATION", lambda: file.Seek(0), "MPI_File_seek", path, "MPI_MODE_SEQUENTIAL")
        file.Close()
        file = MPI.File.Open(own, "/dev/full", MPI.MODE_WRONLY)
        tells("ERR_NO_SPACE", lambda: file.Write(x), "MPI_File_write", "/dev/full", "8 bytes", "No space left")
        file.Close()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        file = MPI.File.Open(own, path, create)
        tells("ERR_QUOTA", lambda: file.Write_at(8000, x), "MPI_File_write_at", path, "4096 bytes")
        file.Close()
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def processes():
    tells("ERR_NAME", lambda: MPI.Lookup_name("tern-no-service"), "MPI_Lookup_name", "tern-no-service")
    tells("ERR_SERVICE", lambda: MPI.Unpublish_name("tern-no-service", "port"), "MPI_Unpublish_name", "tern-no-service")
    tells("ERR_PORT", lambda: own.Connect("harbour"), "MPI_Comm_connect", "harbour")
    tells("ERR_SPAWN", lambda: own.Spawn("/dev/null/none"), "MPI_Comm_spawn", "/dev/null/none")
    if comm.Split_type(MPI.COMM_TYPE_SHARED).size < comm.size:
        del ELSEWHERE["ERR_RMA_SHARED"]
        tells("ERR_RMA_SHARED", lambda: MPI.Win.Allocate_shared(8, comm=comm), "MPI_Win_allocate_shared", "several nodes")


ELSEWHERE = {
    "ERR_UNKNOWN": "the class of what is no code",
    "ERR_INTERN": "a defect of the library",
    "ERR_LASTCODE": "no class",
    "ERR_PENDING": "all requests of a call are completed",
    "ERR_TOPOLOGY": "mpi4py has such calls for communicators with a topology alone",
    "ERR_BASE": "mpi4py gives the address of memory that is there",
    "ERR_CONVERSION": "an exception of a conversion function ends the job, by mpi4py",
    "ERR_NOT_SAME": "needs several ranks; tests/c/errhandler_explained.c",
    "ERR_FILE_IN_USE": "needs a program of its own that runs; tests/c/errhandler_explained.c",
    "ERR_RMA_CONFLICT": "races of accesses are told by TERN_CHECK, which ends the job",
    "ERR_RMA_SHARED": "needs several nodes",
    "ERR_ABI": "mpi4py tells nothing about Fortran",
    "ERR_PROC_ABORTED": "a lost process; tests/ft-test.sh",
    "ERR_PROC_FAILED": "the same",
    "ERR_PROC_FAILED_PENDING": "the same",
    "ERR_REVOKED": "the same",
}

for part in arguments, messages, windows, files, processes:
    part()
known = {name for name in dir(MPI) if name.startswith("ERR_")}
assert not known - seen - ELSEWHERE.keys(), f"nothing provokes {known - seen - ELSEWHERE.keys()}"
assert not seen & ELSEWHERE.keys(), f"no reason needed: {seen & ELSEWHERE.keys()}"
assert not wrong, "\n".join(wrong)
# In one piece.
os.write(1, f"right {comm.rank} {comm.size}\n".encode())
