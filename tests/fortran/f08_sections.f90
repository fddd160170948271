! ranks: 2
! ways: all
! Sections of arrays travel by their strides, uncopied (MPI 5.0 section 19.1.12).
program f08_sections
  use mpi_f08
  implicit none
  integer, parameter :: n = 12
  integer, target :: b(n, n, 3)
  integer :: a(n, n, 3), flat(n * n * 3), want(n * n * 3)
  integer :: rank, ranks, peer, i, errors, code, class, got
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
  type(MPI_Datatype) :: pair
  integer, pointer :: part(:, :)
  character(len=8) :: names(6), received(6)

  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  peer = ieor(rank, 1)
  if (.not. MPI_SUBARRAYS_SUPPORTED) errors = errors + 1
  if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) errors = errors + 1
  a = reshape([(i, i = 1, n * n * 3)], shape(a))

  ! Both ends strided, in three dimensions; the count ends inside a row.
  b = 0
  call MPI_Isend(a(2:n:3, 1:n:2, 1:3:2), 41, MPI_INTEGER, peer, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Irecv(b(1:n:3, 2:n:2, 1:3:2), 41, MPI_INTEGER, peer, 1, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  flat(1:48) = reshape(b(1:n:3, 2:n:2, 1:3:2), [48])
  want(1:48) = reshape(a(2:n:3, 1:n:2, 1:3:2), [48])
  want(42:48) = 0
  call expect(all(flat(1:48) == want(1:48)), "three dimensions")
  call expect(sum(b) == sum(want(1:48)), "nothing beside the section")

  ! A section that goes backwards, to a contiguous buffer.
  flat = 0
  call MPI_Sendrecv(a(n:1:-1, 4, 2), n, MPI_INTEGER, peer, 2, flat, n, MPI_INTEGER, peer, 2, MPI_COMM_WORLD, status)
  call expect(all(flat(1:n) == a(n:1:-1, 4, 2)), "backwards")
  call MPI_Get_count(status, MPI_INTEGER, got)
  call expect(got == n, "count of a status")

  ! Elements of the datatype larger, and smaller, than those of the array.
  call MPI_Type_contiguous(2, MPI_INTEGER, pair)
  call MPI_Type_commit(pair)
  b = 0
  call MPI_Sendrecv(a(1:8:2, 1:4:3, 1), 4, pair, peer, 3, b(5:12, 1:1, 1), 8, MPI_INTEGER, peer, 3, MPI_COMM_WORLD, status)
  call expect(all(b(5:12, 1, 1) == reshape(a(1:8:2, 1:4:3, 1), [8])), "a datatype of two elements")
  names = ["alpha   ", "beta    ", "gamma   ", "delta   ", "epsilon ", "zeta    "]
  received = " "
  call MPI_Sendrecv(names(1:5:2), 24, MPI_CHARACTER, peer, 4, received(2:6:2), 24, MPI_CHARACTER, peer, 4, &
    MPI_COMM_WORLD, status)
  call expect(all(received(2:6:2) == names(1:5:2)) .and. received(1) == " ", "characters")

  ! Pieces for each rank: one dimension with gaps, and parts of columns with gaps between these.
  b = 0
  call MPI_Gather(a(1:8:2, 2, 1), 4, MPI_INTEGER, b(1:4, 1:2 * ranks:2, 2), 4, MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (rank == 0) then
    call expect(all(b(1:4, 1, 2) == a(1:8:2, 2, 1)), "gather of columns, first")
    call expect(all(b(1:4, 3, 2) == a(1:8:2, 2, 1)), "gather of columns, second")
    call expect(sum(b) == 2 * sum(a(1:8:2, 2, 1)), "gather of columns, nothing else")
  end if
  flat = 0
  call MPI_Alltoall(a(1:4 * ranks:2, 5, 1), 2, MPI_INTEGER, flat(1:8 * ranks:4), 2, MPI_INTEGER, MPI_COMM_WORLD)
  call expect(all(flat(1:5:4) == a(1 + 4 * rank:3 + 4 * rank:2, 5, 1)), "alltoall, first")
  call expect(all(flat(9:13:4) == flat(1:5:4)), "alltoall, second")

  ! A pointer to a section, a broadcast, and sentinels as descriptors.
  part => b(2:5, 3:9:3, 1)
  part = rank
  call MPI_Bcast(part, size(part), MPI_INTEGER, 1, MPI_COMM_WORLD)
  call expect(all(part == 1), "broadcast of a pointer's target")
  got = 1
  call MPI_Allreduce(MPI_IN_PLACE, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call expect(got == ranks, "in place")

  ! Memory that is attached is contiguous.
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call MPI_Buffer_attach(a(1:9:2, 1, 1), 20, code)
  call MPI_Error_class(code, class)
  call expect(class == MPI_ERR_BUFFER, "a buffer that is a section is refused")
  call MPI_Allreduce(a(:, :, 1), b(:, :, 2), n * n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, code)
  call expect(code == MPI_SUCCESS .and. all(b(:, :, 2) == a(:, :, 1)), "a reduction of a contiguous section")
  ! Empty sections are contiguous.
  call MPI_Allreduce(a(5:4, 1, 1), b(5:4, 1, 1), 0, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, code)
  call expect(code == MPI_SUCCESS, "an empty section")

  call MPI_Type_free(pair)
  call MPI_Finalize()
  if (errors == 0) print "(A)", "no errors"
contains
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (.not. good) then
      errors = errors + 1
      print "(A, I0, 2A)", "rank ", rank, ", wrong: ", what
    end if
  end subroutine expect
end program f08_sections
