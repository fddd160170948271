! ranks: 1 2
! ways: all
! What procedures of mpif.h and the modules give when a call fails: what C sets, and nothing else. The buffer of
! MPI_Buffer_detach and the count of MPI_Psend_init are as the module mpi has them by the standard. Each rank sends to the next
! one, which is itself where it is alone.
program failures
  use mpi
  implicit none
  integer :: errors, code, rank, ranks, peer, from
  integer :: requests(4), b(4), c(4), i, n, status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 4), indices(4)
  integer(kind=MPI_COUNT_KIND) :: count
  real :: space(4096)
  character(len=8) :: text
  logical :: flag
  errors = 0
  call MPI_Init(code)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, code)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  peer = mod(rank + 1, ranks)
  from = mod(rank + ranks - 1, ranks)
  c = 1
  requests = MPI_REQUEST_NULL

  ! A completion that has failed is one: its flag is true and its request is gone.
  call begin(requests(4))
  flag = .false.
  code = MPI_SUCCESS
  do while (code == MPI_SUCCESS .and. .not. flag)
    call MPI_Test(requests(4), flag, status, code)
  end do
  call expect(code /= MPI_SUCCESS .and. flag .and. requests(4) == MPI_REQUEST_NULL, "test")
  call begin(requests(4))
  flag = .false.
  i = -7
  code = MPI_SUCCESS
  do while (code == MPI_SUCCESS .and. .not. flag)
    call MPI_Testany(4, requests, i, flag, status, code)
  end do
  call expect(code /= MPI_SUCCESS .and. flag .and. i == 4, "testany")
  call begin(requests(1))
  flag = .false.
  code = MPI_SUCCESS
  do while (code == MPI_SUCCESS .and. .not. flag)
    call MPI_Testall(4, requests, flag, statuses, code)
  end do
  call expect(code /= MPI_SUCCESS .and. flag .and. requests(1) == MPI_REQUEST_NULL, "testall")
  call begin(requests(2))
  call MPI_Waitany(4, requests, i, status, code)
  call expect(code /= MPI_SUCCESS .and. i == 2, "waitany")
  call begin(requests(2))
  n = -7
  indices = -7
  call MPI_Waitsome(4, requests, n, indices, statuses, code)
  call expect(code /= MPI_SUCCESS .and. n == 1 .and. indices(1) == 2 .and. all(indices(2:) == -7), "waitsome")

  ! A call that is refused sets nothing.
  n = 500000000
  indices = 3
  call MPI_Waitsome(-1, requests, n, indices, MPI_STATUSES_IGNORE, code)
  call expect(code /= MPI_SUCCESS .and. n == 500000000 .and. all(indices == 3), "a refused waitsome")
  requests(2) = 123456
  call MPI_Testsome(4, requests, n, indices, MPI_STATUSES_IGNORE, code)
  call expect(code /= MPI_SUCCESS .and. n == 500000000 .and. all(indices == 3), "a refused testsome")
  i = 5
  flag = .true.
  call MPI_Testany(4, requests, i, flag, status, code)
  call expect(code /= MPI_SUCCESS .and. i == 5 .and. flag, "a refused testany")
  call MPI_Waitany(4, requests, i, status, code)
  call expect(code /= MPI_SUCCESS .and. i == 5 .and. requests(2) == 123456, "a refused waitany")
  call MPI_Iprobe(0, -5, MPI_COMM_SELF, flag, status, code)
  call expect(code /= MPI_SUCCESS .and. flag, "a refused iprobe")
  text = "as it is"
  call MPI_Comm_get_name(123456, text, n, code)
  call expect(code /= MPI_SUCCESS .and. n == 500000000 .and. text == "as it is", "a refused get_name")

  ! Nothing is active: there are no indices.
  requests = MPI_REQUEST_NULL
  call MPI_Waitsome(4, requests, n, indices, MPI_STATUSES_IGNORE, code)
  call expect(code == MPI_SUCCESS .and. n == MPI_UNDEFINED .and. all(indices == 3), "waitsome of none")
  call MPI_Waitany(4, requests, i, status, code)
  call expect(code == MPI_SUCCESS .and. i == MPI_UNDEFINED, "waitany of none")

  ! Any variable is the address of a detached buffer, which is not given.
  space = 1
  call MPI_Buffer_attach(space, 4 * 4096, code)
  call MPI_Buffer_detach(space, n, code)
  call expect(code == MPI_SUCCESS .and. n == 4 * 4096 .and. all(space(1:8) == 1), "detach")

  count = 4
  call MPI_Precv_init(b, 1, count, MPI_INTEGER, from, 3, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), code)
  call MPI_Psend_init(c, 1, count, MPI_INTEGER, peer, 3, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2), code)
  b = 0
  call MPI_Startall(2, requests, code)
  call MPI_Pready(0, requests(2), code)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
  call expect(code == MPI_SUCCESS .and. all(b == 1), "partitions")
  call MPI_Request_free(requests(1), code)
  call MPI_Request_free(requests(2), code)
  count = 2_MPI_COUNT_KIND**32
  call MPI_Psend_init(c, 1, -count, MPI_INTEGER, 0, 3, MPI_COMM_SELF, MPI_INFO_NULL, requests(2), code)
  call expect(code /= MPI_SUCCESS, "a large negative count")

  call MPI_Finalize(code)
  if (errors == 0) print "(A)", "no errors"
contains
  ! Begins a receive that gets more than it has room for.
  subroutine begin(request)
    integer, intent(out) :: request
    call MPI_Irecv(b, 1, MPI_INTEGER, from, 6, MPI_COMM_WORLD, request, code)
    call MPI_Send(c, 3, MPI_INTEGER, peer, 6, MPI_COMM_WORLD, code)
  end subroutine begin
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (.not. good) then
      errors = errors + 1
      print "(2A)", "wrong: ", what
    end if
  end subroutine expect
end program failures
