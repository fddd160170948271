! ranks: 1 3
! ways: all
! Sections of arrays in reductions and in collectives with a count for each process, which are copied in and out: the
! blocking, the nonblocking and the persistent forms, unlike layouts on both sides, and MPI_IN_PLACE.
program f08_reductions
  use mpi_f08
  implicit none
  integer, parameter :: n = 6
  integer, asynchronous :: a(n, n), b(3 * n), want(n), big(4, 40)
  integer :: rank, ranks, i, errors, total, round, class
  integer, allocatable :: counts(:), places(:)
  type(MPI_Request) :: request
  type(MPI_Datatype) :: gaps
  type(MPI_Status) :: status
  logical :: flag
  character(len=1) :: packed(8 * n)
  integer :: position

  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  total = ranks * (ranks + 1) / 2
  counts = [(2, i = 1, ranks)]
  places = [(2 * i, i = 0, ranks - 1)]

  ! Blocking.
  call fill()
  call MPI_Allreduce(a(2, :), b(1:2*n:2), n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call expect(all(b(1:2*n:2) == want * total) .and. all(b(2:2*n:2) == -1), "allreduce")
  call MPI_Allreduce(MPI_IN_PLACE, a(2, :), n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call expect(all(a(2, :) == want * total) .and. all(a(3, :) == want * (rank + 1)), "allreduce in place")
  call fill()
  call MPI_Reduce(a(2, :), b(3*n:1:-3), n, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
  if (rank == 0) call expect(all(b(3*n:1:-3) == want * total), "reduce")
  if (rank == 0) call expect(count(b == -1) == 2 * n, "reduce, nothing else")
  if (rank /= 0) call expect(all(b == -1), "reduce, elsewhere")
  call fill()
  if (rank == 0) call MPI_Reduce(MPI_IN_PLACE, a(2, :), n, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD)
  if (rank /= 0) call MPI_Reduce(a(2, :), b(1:1), n, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD)
  if (rank == 0) call expect(all(a(2, :) == want * ranks), "reduce in place")
  call fill()
  call MPI_Scan(a(2, :), b(1:2*n:2), n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call expect(all(b(1:2*n:2) == want * ((rank + 1) * (rank + 2) / 2)), "scan")
  call fill()
  call MPI_Exscan(a(2, :), b(1:2*n:2), n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank > 0) call expect(all(b(1:2*n:2) == want * (rank * (rank + 1) / 2)), "exscan")
  if (rank == 0) call expect(all(b == -1), "exscan at the first rank")
  call fill()
  call MPI_Reduce_scatter_block(big(2, 1:2*ranks), b(1:3:2), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call expect(all(b(1:3:2) == [2 * rank + 1, 2 * rank + 2] * total) .and. b(2) == -1, "reduce_scatter_block")
  call fill()
  call MPI_Reduce_scatter(big(2, 1:2*ranks), b(1:3:2), counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call expect(all(b(1:3:2) == [2 * rank + 1, 2 * rank + 2] * total) .and. b(2) == -1, "reduce_scatter")
  call fill()
  call MPI_Reduce_local(a(2, :), b(1:2*n:2), n, MPI_INTEGER, MPI_SUM)
  call expect(all(b(1:2*n:2) == want * (rank + 1) - 1), "reduce_local")

  ! Counts for each process.
  call fill()
  big(3, :) = -1
  call MPI_Allgatherv(a(1, 1:3:2), 2, MPI_INTEGER, big(3, 1:2*ranks), counts, places, MPI_INTEGER, MPI_COMM_WORLD)
  call expect(all(big(3, 1:2*ranks) == [(mod(i + 1, 2) * 2 + 1, i = 1, 2 * ranks)] * [((i + 1) / 2, i = 1, 2 * ranks)]), &
    "allgatherv")
  call expect(all(big(3, 2*ranks+1:) == -1), "allgatherv, nothing else")
  call fill()
  big(3, :) = -1
  call MPI_Gatherv(a(1, 1:3:2), 2, MPI_INTEGER, big(3, 1:2*ranks), counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (rank == 0) call expect(all(big(3, 2:2*ranks:2) == [(3 * i, i = 1, ranks)]), "gatherv")
  if (rank /= 0) call expect(all(big(3, :) == -1), "gatherv, elsewhere")
  call fill()
  call MPI_Scatterv(big(2, 1:2*ranks), counts, places, MPI_INTEGER, b(1:4:3), 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call expect(all(b(1:4:3) == [2 * rank + 1, 2 * rank + 2]) .and. b(2) == -1, "scatterv")
  call fill()
  big(3, :) = -1
  call MPI_Alltoallv(big(2, 1:2*ranks), counts, places, MPI_INTEGER, big(3, 1:4*ranks:2), counts, places, MPI_INTEGER, &
    MPI_COMM_WORLD)
  call expect(all(big(3, 1:4*ranks:4) == [((2 * rank + 1) * i, i = 1, ranks)]), "alltoallv")
  call expect(all(big(3, 2::2) == -1), "alltoallv, nothing else")

  ! Blocks that do not lie alike in a section, and a datatype with gaps that does not divide its elements.
  call fill()
  big(1::2, :) = -1
  call MPI_Gather(a(1, 1:3), 3, MPI_INTEGER, big(1::2, 1:2*ranks), 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (rank == 0) call expect(all(reshape(big(1::2, 1:2*ranks), [3 * ranks]) == [(block(i), i = 0, 3 * ranks - 1)]), "gather")
  if (rank == 0) call expect(all(big(2, :) == [(i, i = 1, 40)]) .and. count(big(1::2, :) == -1) == 80 - 3 * ranks, &
    "gather, nothing else")
  call fill()
  big(1::2, :) = -1
  call MPI_Iallgather(a(1, 1:3), 3, MPI_INTEGER, big(1::2, 1:2*ranks), 3, MPI_INTEGER, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call expect(all(reshape(big(1::2, 1:2*ranks), [3 * ranks]) == [(block(i), i = 0, 3 * ranks - 1)]), "iallgather")
  call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 12_MPI_ADDRESS_KIND, gaps)
  call MPI_Type_commit(gaps)
  call fill()
  call MPI_Sendrecv(a(2, :), 2, gaps, rank, 1, b(1:2*n:2), 2, gaps, rank, 1, MPI_COMM_WORLD, status)
  call expect(b(1) == rank + 1 .and. b(7) == 4 * (rank + 1) .and. count(b == -1) == 3 * n - 2, "gaps")
  call MPI_Bcast(b(1:2*n:2), 2, gaps, 0, MPI_COMM_WORLD)
  call expect(b(1) == 1 .and. b(7) == 4 .and. count(b == -1) == 3 * n - 2, "gaps in a broadcast")
  call MPI_Type_free(gaps)

  ! Packing into and from every second character.
  call fill()
  position = 0
  packed = "-"
  call MPI_Pack(a(2, :), n, MPI_INTEGER, packed(1::2), 4 * n, position, MPI_COMM_SELF)
  call expect(position == 4 * n .and. all(packed(2::2) == "-"), "pack")
  position = 0
  call MPI_Unpack(packed(1::2), 4 * n, position, b(1:2*n:2), n, MPI_INTEGER, MPI_COMM_SELF)
  call expect(all(b(1:2*n:2) == want * (rank + 1)), "unpack")

  ! Nonblocking, ended in all ways. What lies beside the section is the program's meanwhile.
  do round = 1, 5
    call fill()
    call MPI_Iallreduce(a(2, :), b(1:3*n:3), n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    b(2:3*n:3) = 77
    call finish(round, request)
    call expect(all(b(1:3*n:3) == want * total), "iallreduce")
    call expect(all(b(2:3*n:3) == 77) .and. all(b(3:3*n:3) == -1), "iallreduce, nothing else")
  end do
  call fill()
  call MPI_Igatherv(a(1, 1:3:2), 2, MPI_INTEGER, big(3, 1:2*ranks), counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  if (rank == 0) call expect(all(big(3, 2:2*ranks:2) == [(3 * i, i = 1, ranks)]), "igatherv")
  call fill()
  call MPI_Iscan(MPI_IN_PLACE, a(2, :), n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call expect(all(a(2, :) == want * ((rank + 1) * (rank + 2) / 2)), "iscan in place")

  ! Persistent: each round reads and writes the sections anew.
  call fill()
  call MPI_Allreduce_init(a(2, :), b(1:3*n:3), n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  do round = 1, 4
    a(2, :) = want * (rank + 1) * round
    b = -1
    call MPI_Start(request)
    call finish(round, request)
    call expect(all(b(1:3*n:3) == want * total * round) .and. all(b(2:3*n:3) == -1), "allreduce_init")
  end do
  call expect(request /= MPI_REQUEST_NULL, "a persistent request stays")
  call MPI_Request_free(request)

  ! A request that is active is not freed, and its sections are written when it ends.
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call fill()
  call MPI_Iallreduce(a(2, :), b(1:3*n:3), n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
  call MPI_Request_free(request, i)
  call MPI_Error_class(i, class)
  call expect(class == MPI_ERR_REQUEST .and. request /= MPI_REQUEST_NULL, "an active request is not freed")
  call MPI_Wait(request, status)
  call expect(all(b(1:3*n:3) == want * total) .and. all(b(2:3*n:3) == -1), "a request that was not freed")

  ! A refused call leaves the section alone.
  call fill()
  call MPI_Iallreduce(a(2, :), b(1:3*n:3), -1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, i)
  call expect(i /= MPI_SUCCESS .and. all(b == -1), "a refused call")

  call MPI_Finalize()
  if (errors == 0) print "(A)", "no errors"
contains
  ! Ends a request by one of five ways.
  subroutine finish(way, request)
    integer, intent(in) :: way
    type(MPI_Request), intent(inout) :: request
    type(MPI_Request) :: several(1)
    integer :: index
    several(1) = request
    flag = .false.
    select case (way)
    case (1)
      call MPI_Wait(request, status)
      several(1) = request
    case (2)
      do while (.not. flag)
        call MPI_Test(request, flag, status)
      end do
      several(1) = request
    case (3)
      call MPI_Waitany(1, several, index, status)
    case (4)
      call MPI_Waitall(1, several, MPI_STATUSES_IGNORE)
    case (5)
      do while (.not. flag)
        call MPI_Request_get_status(request, flag, status)
      end do
      call expect(all(b(1:3*n:3) == want * total), "complete by its status")
      call MPI_Wait(several(1), status)
    end select
    request = several(1)
  end subroutine finish
  ! Element `at` of all blocks.
  integer function block(at)
    integer, intent(in) :: at
    block = (mod(at, 3) + 1) * (at / 3 + 1)
  end function block
  subroutine fill()
    want = [(i, i = 1, n)]
    a = spread(want, 1, n) * (rank + 1)
    b = -1
    big = spread([(i, i = 1, 40)], 1, 4) * (rank + 1)
  end subroutine fill
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (.not. good) then
      errors = errors + 1
      print "(A, I0, 2A)", "rank ", rank, ", wrong: ", what
    end if
  end subroutine expect
end program f08_reductions
