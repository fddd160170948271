! ranks: 1
! Every error class that Fortran can provoke is explained by MPI_Error_string, with the call and the value; for the others a reason stands here.
program classes
  use mpi
  implicit none
  integer, parameter :: last = 62
  logical :: seen(last) = .false.
  integer :: code, errors, b(5), c(5), handle, request, requests(2), statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE)
  integer :: i, length
  integer(kind=MPI_ADDRESS_KIND) :: room, address
  integer(kind=MPI_OFFSET_KIND), parameter :: start = 0
  character(len=MPI_MAX_PORT_NAME) :: port
  character(len=MPI_MAX_ERROR_STRING) :: text
  character(len=:), allocatable :: long
  ! What is no code, and defects of the library; all requests of a call are completed; an argument of this program always has an address; a datatype
  ! too large needs counts that only mpi_f08 takes; one rank agrees with itself; races are told by TERN_CHECK; a lost process; several nodes; an
  ! error of a conversion needs one in C; the class of the binary interface is for C; a file that is in use, and a limit, are the system's.
  integer, parameter :: elsewhere(*) = [MPI_ERR_UNKNOWN, MPI_ERR_INTERN, MPI_ERR_PENDING, MPI_ERR_BASE, MPI_ERR_VALUE_TOO_LARGE, &
    MPI_ERR_NOT_SAME, MPI_ERR_RMA_CONFLICT, MPI_ERR_PROC_ABORTED, MPI_ERR_RMA_SHARED, MPI_ERR_CONVERSION, MPI_ERR_ABI, &
    MPI_ERR_FILE_IN_USE, MPI_ERR_QUOTA]
  errors = 0
  b = 0
  c = 0
  call MPI_Init(code)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, code)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, code)
  call arguments()
  call messages()
  call windows()
  call files()
  call processes()
  do i = 1, last
    call MPI_Error_string(i, text, length, code)
    if (.not. seen(i) .and. all(elsewhere /= i)) call wrong("nothing provokes " // text(:length))
  end do
  call MPI_Finalize(code)
  if (errors > 0) stop 1
  print "(A)", "no errors at rank 0"

contains

  subroutine arguments()
    call MPI_Allreduce(b, b, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, code)
    call tells(MPI_ERR_BUFFER, "MPI_Allreduce", "both buffers are at 0x")
    call MPI_Send(b, -3, MPI_INTEGER, 0, 0, MPI_COMM_SELF, code)
    call tells(MPI_ERR_COUNT, "MPI_Send", "count is -3")
    call MPI_Send(b, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_SELF, code)
    call tells(MPI_ERR_TYPE, "MPI_Send", "MPI_DATATYPE_NULL")
    call MPI_Send(b, 1, MPI_INTEGER, 0, -77, MPI_COMM_SELF, code)
    call tells(MPI_ERR_TAG, "MPI_Send", "tag is -77")
    call MPI_Barrier(MPI_COMM_NULL, code)
    call tells(MPI_ERR_COMM, "MPI_Barrier", "MPI_COMM_NULL")
    call MPI_Send(b, 1, MPI_INTEGER, 4242, 0, MPI_COMM_SELF, code)
    call tells(MPI_ERR_RANK, "MPI_Send", "dest is 4242")
    request = MPI_REQUEST_NULL
    call MPI_Start(request, code)
    call tells(MPI_ERR_REQUEST, "MPI_Start", "MPI_REQUEST_NULL is not a persistent request")
    call MPI_Bcast(b, 1, MPI_INTEGER, 99, MPI_COMM_SELF, code)
    call tells(MPI_ERR_ROOT, "MPI_Bcast", "root is 99")
    call MPI_Group_size(MPI_GROUP_NULL, i, code)
    call tells(MPI_ERR_GROUP, "MPI_Group_size", "MPI_GROUP_NULL")
    call MPI_Allreduce(b, c, 1, MPI_REAL, MPI_BAND, MPI_COMM_SELF, code)
    call tells(MPI_ERR_OP, "MPI_BAND", "MPI_REAL")
    call MPI_Cartdim_get(MPI_COMM_SELF, i, code)
    call tells(MPI_ERR_TOPOLOGY, "MPI_Cartdim_get", "MPI_COMM_SELF")
    c(:2) = [2, 0]
    call MPI_Dims_create(7, 2, c, code)
    call tells(MPI_ERR_DIMS, "7 nodes", "[2, 0]")
    call MPI_Comm_split(MPI_COMM_SELF, -5, 0, handle, code)
    call tells(MPI_ERR_ARG, "MPI_Comm_split", "color -5")
    call MPI_Init(code)
    call tells(MPI_ERR_OTHER, "MPI_Init", "initialised already")
    i = MPI_KEYVAL_INVALID
    call MPI_Comm_free_keyval(i, code)
    call tells(MPI_ERR_KEYVAL, "MPI_Comm_free_keyval", "MPI_KEYVAL_INVALID")
    call MPI_Info_get_nkeys(MPI_INFO_NULL, i, code)
    call tells(MPI_ERR_INFO, "MPI_Info_get_nkeys", "MPI_INFO_NULL")
    call MPI_Info_create(handle, code)
    long = repeat("k", 70000)
    call MPI_Info_set(handle, long(:400), "v", code)
    call tells(MPI_ERR_INFO_KEY, "MPI_Info_set", "400")
    call MPI_Info_set(handle, "k", long, code)
    call tells(MPI_ERR_INFO_VALUE, "MPI_Info_set", "70000")
    call MPI_Info_delete(handle, "colour", code)
    call tells(MPI_ERR_INFO_NOKEY, "MPI_Info_delete", "colour")
    call MPI_Info_free(handle, code)
    room = 2_MPI_ADDRESS_KIND**62
    call MPI_Alloc_mem(room, MPI_INFO_NULL, address, code)
    call tells(MPI_ERR_NO_MEM, "MPI_Alloc_mem", "4611686018427387904 bytes")
    handle = MPI_SESSION_NULL
    call MPI_Session_finalize(handle, code)
    call tells(MPI_ERR_SESSION, "MPI_Session_finalize", "MPI_SESSION_NULL")
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRHANDLER_NULL, code)
    call tells(MPI_ERR_ERRHANDLER, "MPI_Comm_set_errhandler", "MPI_ERRHANDLER_NULL")
  end subroutine arguments

  subroutine messages()
    call MPI_Sendrecv(b, 5, MPI_INTEGER, 0, 7, c, 2, MPI_INTEGER, 0, 7, MPI_COMM_SELF, status, code)
    call tells(MPI_ERR_TRUNCATE, "message of 20 bytes", "room for 8 bytes")
    call MPI_Irecv(c, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(1), code)
    call MPI_Isend(b, 3, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(2), code)
    call MPI_Waitall(2, requests, statuses, code)
    call tells(MPI_ERR_IN_STATUS, "MPI_Waitall", "12 bytes")
  end subroutine messages

  subroutine windows()
    integer :: win
    call MPI_Win_fence(0, MPI_WIN_NULL, code)
    call tells(MPI_ERR_WIN, "MPI_Win_fence", "MPI_WIN_NULL")
    room = -8
    call MPI_Win_create(b, room, 1, MPI_INFO_NULL, MPI_COMM_SELF, win, code)
    call tells(MPI_ERR_SIZE, "MPI_Win_create", "-8")
    room = 20
    call MPI_Win_create(b, room, -4, MPI_INFO_NULL, MPI_COMM_SELF, win, code)
    call tells(MPI_ERR_DISP, "MPI_Win_create", "-4")
    call MPI_Win_create(b, room, 4, MPI_INFO_NULL, MPI_COMM_SELF, win, code)
    call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, code)
    call MPI_Win_set_name(win, "shelf", code)
    room = 5
    call MPI_Put(c, 1, MPI_INTEGER, 0, room, 1, MPI_INTEGER, win, code)
    call tells(MPI_ERR_RMA_SYNC, "MPI_Put", "shelf")
    call MPI_Win_lock(-7, 0, 0, win, code)
    call tells(MPI_ERR_LOCKTYPE, "MPI_Win_lock", "-7")
    call MPI_Win_fence(2**30, win, code)
    call tells(MPI_ERR_ASSERT, "MPI_Win_fence", "0x40000000")
    call MPI_Win_fence(0, win, code)
    call MPI_Put(c, 1, MPI_INTEGER, 0, room, 1, MPI_INTEGER, win, code)
    call tells(MPI_ERR_RMA_RANGE, "displacement 5", "20 bytes")
    call MPI_Win_attach(win, c, room, code)
    call tells(MPI_ERR_RMA_FLAVOR, "MPI_Win_attach", "shelf")
    call MPI_Win_fence(0, win, code)
    call MPI_Win_free(win, code)
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, win, code)
    call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, code)
    call MPI_Win_detach(win, c, code)
    call tells(MPI_ERR_RMA_ATTACH, "MPI_Win_detach", "no memory is attached")
    call MPI_Win_free(win, code)
  end subroutine windows

  subroutine files()
    integer, parameter :: create = MPI_MODE_RDWR + MPI_MODE_CREATE
    integer :: file, other
    character(len=*), parameter :: own = "tern-classes.data", missing = "/tern-no-such-directory/file"
    call MPI_File_delete(own, MPI_INFO_NULL, code)
    call MPI_File_open(MPI_COMM_SELF, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
    call tells(MPI_ERR_NO_SUCH_FILE, missing, "No such file")
    call MPI_File_open(MPI_COMM_SELF, "", create, MPI_INFO_NULL, file, code)
    call tells(MPI_ERR_BAD_FILE, "MPI_File_open", "name")
    call MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_RDONLY + MPI_MODE_RDWR, MPI_INFO_NULL, file, code)
    call tells(MPI_ERR_AMODE, "MPI_File_open", "MPI_MODE_RDONLY")
    file = MPI_FILE_NULL
    call MPI_File_close(file, code)
    call tells(MPI_ERR_FILE, "MPI_File_close", "MPI_FILE_NULL")
    call MPI_File_open(MPI_COMM_SELF, own, create, MPI_INFO_NULL, file, code)
    call MPI_File_open(MPI_COMM_SELF, own, create + MPI_MODE_EXCL, MPI_INFO_NULL, other, code)
    call tells(MPI_ERR_FILE_EXISTS, own, "File exists")
    call MPI_File_read_all_end(file, b, status, code)
    call tells(MPI_ERR_IO, "MPI_File_read_all_end", "MPI_File_read_all_begin has not been called")
    call MPI_File_set_view(file, start, MPI_INTEGER, MPI_INTEGER, "martian", MPI_INFO_NULL, code)
    call tells(MPI_ERR_UNSUPPORTED_DATAREP, "MPI_File_set_view", "martian")
    call MPI_Register_datarep("native", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, four, room, code)
    call tells(MPI_ERR_DUP_DATAREP, "MPI_Register_datarep", "native")
    call MPI_File_close(file, code)
    call MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_WRONLY, MPI_INFO_NULL, file, code)
    call MPI_File_read(file, b, 1, MPI_INTEGER, status, code)
    call tells(MPI_ERR_ACCESS, own, "MPI_MODE_WRONLY")
    call MPI_File_close(file, code)
    call MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
    call MPI_File_write(file, b, 1, MPI_INTEGER, status, code)
    call tells(MPI_ERR_READ_ONLY, own, "MPI_MODE_RDONLY")
    call MPI_File_close(file, code)
    call MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_WRONLY + MPI_MODE_SEQUENTIAL + MPI_MODE_DELETE_ON_CLOSE, &
      MPI_INFO_NULL, file, code)
    call MPI_File_seek(file, start, MPI_SEEK_SET, code)
    call tells(MPI_ERR_UNSUPPORTED_OPERATION, own, "MPI_MODE_SEQUENTIAL")
    call MPI_File_close(file, code)
    call MPI_File_open(MPI_COMM_SELF, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, file, code)
    call MPI_File_write(file, b, 1, MPI_INTEGER, status, code)
    call tells(MPI_ERR_NO_SPACE, "/dev/full", "No space left")
    call MPI_File_close(file, code)
  end subroutine files

  subroutine four(datatype, extent, state, ierror)
    integer :: datatype, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extent, state
    extent = 4 + 0 * datatype + 0 * state
    ierror = MPI_SUCCESS
  end subroutine four

  subroutine processes()
    call MPI_Lookup_name("tern-no-service", MPI_INFO_NULL, port, code)
    call tells(MPI_ERR_NAME, "MPI_Lookup_name", "tern-no-service")
    call MPI_Unpublish_name("tern-no-service", MPI_INFO_NULL, "port", code)
    call tells(MPI_ERR_SERVICE, "MPI_Unpublish_name", "tern-no-service")
    call MPI_Comm_connect("harbour", MPI_INFO_NULL, 0, MPI_COMM_SELF, handle, code)
    call tells(MPI_ERR_PORT, "MPI_Comm_connect", "harbour")
    call MPI_Comm_spawn("/dev/null/none", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, handle, MPI_ERRCODES_IGNORE, code)
    call tells(MPI_ERR_SPAWN, "MPI_Comm_spawn", "/dev/null/none")
  end subroutine processes

  ! The last code is of that class, and its text has both parts.
  subroutine tells(wanted, one, other)
    integer, intent(in) :: wanted
    character(len=*), intent(in) :: one, other
    integer :: class, ignored
    seen(wanted) = .true.
    call MPI_Error_class(code, class, ignored)
    call MPI_Error_string(code, text, length, ignored)
    if (class == wanted .and. index(text(:length), one) > 0 .and. index(text(:length), other) > 0) return
    call wrong("no " // one // " and " // other // ": " // text(:length))
  end subroutine tells

  subroutine wrong(what)
    character(len=*), intent(in) :: what
    errors = errors + 1
    print "(A)", what
  end subroutine wrong
end program classes
