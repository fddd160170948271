! ranks: 1 2
! What MPI_Error_string tells in Fortran of an error that was returned: the call, the value, and the range or both sizes.
program explained
  use mpi_f08
  implicit none
  integer :: code, rank, ranks, errors, b(5)
  type(MPI_File) :: file
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2)
  character(len=16) :: own
  errors = 0
  b = 0
  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  write (own, '("rank ", i0)') rank

  call MPI_Send(b, 1, MPI_INTEGER, 4242, 0, MPI_COMM_WORLD, code)
  call tells(code, MPI_ERR_RANK, "MPI_Send", "dest is 4242")
  call MPI_Send(b, 1, MPI_INTEGER, 0, -77, MPI_COMM_WORLD, code)
  call tells(code, MPI_ERR_TAG, "MPI_Send", "tag is -77")
  call MPI_Send(b, -3, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, code)
  call tells(code, MPI_ERR_COUNT, "MPI_Send", "count is -3")
  call MPI_Bcast(b, 1, MPI_INTEGER, 99, MPI_COMM_WORLD, code)
  call tells(code, MPI_ERR_ROOT, "MPI_Bcast", "root is 99")
  call MPI_Group_size(MPI_GROUP_NULL, b(1), code)
  call tells(code, MPI_ERR_GROUP, "MPI_Group_size", "MPI_GROUP_NULL")
  call MPI_File_open(MPI_COMM_SELF, "/tern-no-such-directory/file", MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
  call tells(code, MPI_ERR_NO_SUCH_FILE, "/tern-no-such-directory/file", "No such file")

  call MPI_Sendrecv(b, 5, MPI_INTEGER, rank, 7, b, 2, MPI_INTEGER, rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
  call tells(code, MPI_ERR_TRUNCATE, "message of 20 bytes", "room for 8 bytes")
  call tells(code, MPI_ERR_TRUNCATE, trim(own), "tag 7")
  call MPI_Irecv(b, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Irecv(b, 2, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, requests(2))
  call MPI_Send([0], 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD)
  call MPI_Send([0, 0, 0], 3, MPI_INTEGER, rank, 2, MPI_COMM_WORLD)
  call MPI_Waitall(2, requests, statuses, code)
  call tells(code, MPI_ERR_IN_STATUS, "MPI_Waitall", "12 bytes")
  call tells(statuses(2)%MPI_ERROR, MPI_ERR_TRUNCATE, "MPI_Waitall", "tag 2")

  call MPI_Finalize()
  if (errors > 0) stop 1
  print "(A, I0)", "no errors at rank ", rank

contains

  ! The text of a code of that class has both parts.
  subroutine tells(code, wanted, one, other)
    integer, intent(in) :: code, wanted
    character(len=*), intent(in) :: one, other
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: class, length
    call MPI_Error_class(code, class)
    call MPI_Error_string(code, text, length)
    if (class == wanted .and. index(text(:length), one) > 0 .and. index(text(:length), other) > 0) return
    errors = errors + 1
    print *, "rank ", rank, ", class ", class, ": ", text(:length)
  end subroutine tells
end program explained
