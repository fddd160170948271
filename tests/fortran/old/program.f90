! A program as it was compiled for another library: numbers and COMMON blocks are those of that library's mpif.h.
! OPENMPI says which.
program old
  implicit none
#ifdef OPENMPI
  integer, parameter :: world = 0, self = 1, int4 = 7, sum = 3, size_of_status = 6, returns = 2, tag_ub = 0
  integer, parameter :: source_at = 1, tag_at = 2
  integer, parameter :: null_comm = 2, of_comm = 5, revoked = 77
  integer :: bottom, in_place, status_ignore(6)
  common /mpi_fortran_bottom/ bottom
  common /mpi_fortran_in_place/ in_place
  common /mpi_fortran_status_ignore/ status_ignore
#else
  integer, parameter :: world = 1140850688, self = 1140850689, int4 = 1275069467, sum = 1476395011, size_of_status = 5
  integer, parameter :: returns = 1409286145, tag_ub = 1681915906, source_at = 3, tag_at = 4
  integer, parameter :: null_comm = 67108864, of_comm = 5, revoked = 103
  integer :: bottom, in_place, status_ignore(5)
  common /mpipriv1/ bottom, in_place, status_ignore
#endif
  integer :: rank, ranks, ierr, value, got, status(size_of_status), request, comm, op, class, n, handler, errors, key
  integer(kind=8) :: attribute
  integer :: handled, several(2)
  common /seen/ handled
  logical :: flag
  double precision :: before, after
  double precision, external :: MPI_Wtime, MPI_Wtick
  integer, external :: is_ignored
  integer(kind=8), external :: MPI_Aint_add, MPI_Aint_diff
  integer(kind=8) :: place, next
  character(len=40) :: name
  external :: larger, on_error, MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN
  errors = 0
  handled = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(world, rank, ierr)
  call MPI_Comm_size(world, ranks, ierr)
  before = MPI_Wtime()
  do
    after = MPI_Wtime()
    if (after - before >= 1e-4) exit
  end do
  call expect(before > 0 .and. after - before < 60, "MPI_Wtime goes on")
  call expect(MPI_Wtick() > 0 .and. MPI_Wtick() <= 1e-3, "MPI_Wtick")
  call MPI_Get_address(value, place, ierr)
  call MPI_Get_address(got, next, ierr)
  call expect(MPI_Aint_add(place, MPI_Aint_diff(next, place)) == next, "addresses")
  call MPI_Pcontrol(1)
  value = rank + 1
  call MPI_Allreduce(in_place, value, 1, int4, sum, world, ierr)
  call expect(value == ranks * (ranks + 1) / 2, "in place")
  call MPI_Irecv(got, 1, int4, mod(rank + 1, ranks), 5, world, request, ierr)
  call MPI_Send(rank, 1, int4, mod(rank + ranks - 1, ranks), 5, world, ierr)
  call MPI_Wait(request, status, ierr)
  call expect(status(source_at) == mod(rank + 1, ranks) .and. status(tag_at) == 5 .and. got == status(source_at), "a status")
  call MPI_Get_count(status, int4, n, ierr)
  call expect(n == 1, "a count")
  call MPI_Sendrecv(rank, 1, int4, rank, 6, got, 1, int4, rank, 6, world, status_ignore, ierr)
  call expect(is_ignored(status_ignore) == 1 .and. is_ignored(status) == 0, "C knows MPI_STATUS_IGNORE")
  call MPI_Op_create(larger, .true., op, ierr)
  call MPI_Allreduce(rank, got, 1, int4, op, world, ierr)
  call expect(got == ranks - 1, "an operation")
  call MPI_Op_free(op, ierr)
  call MPI_Comm_dup(world, comm, ierr)
  call MPI_Comm_create_errhandler(on_error, handler, ierr)
  call MPI_Comm_set_errhandler(comm, handler, ierr)
  call MPI_Send(rank, 1, int4, ranks, 5, comm, ierr)
  call MPI_Error_class(ierr, class, n)
  call expect(handled == comm .and. class == 6, "an error handler")
  call MPI_Comm_set_errhandler(comm, returns, ierr)
  ! A completion that fails is one; what is refused sets nothing.
  several = int4
  flag = .false.
  n = -7
  call MPI_Irecv(got, 1, int4, rank, 9, comm, request, ierr)
  call MPI_Send(several, 2, int4, rank, 9, comm, ierr)
  call MPI_Testany(1, request, n, flag, status, ierr)
  call expect(ierr /= 0 .and. flag .and. n == 1, "a completion that fails")
  call MPI_Comm_set_errhandler(self, returns, ierr)
  n = 500000000
  call MPI_Waitsome(-1, request, n, several, status, ierr)
  call expect(ierr /= 0 .and. n == 500000000 .and. all(several == int4), "a refused call")
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_8, ierr)
  call MPI_Comm_set_attr(comm, key, 12345678901_8, ierr)
  call MPI_Comm_get_attr(comm, key, attribute, flag, ierr)
  call expect(flag .and. attribute == 12345678901_8, "an attribute")
  call MPI_Comm_get_attr(world, tag_ub, attribute, flag, ierr)
  call expect(flag .and. attribute >= 32767, "a predefined attribute")
  call MPI_Type_get_name(int4, name, n, ierr)
  call expect(name == "MPI_INTEGER" .and. n == 11, "a name")
  ! Extensions.
  flag = .true.
  call MPIX_Comm_is_revoked(comm, flag, ierr)
  call expect(ierr == 0 .and. .not. flag, "MPIX_Comm_is_revoked")
  call MPIX_Comm_failure_ack(null_comm, ierr)
  call MPI_Error_class(ierr, class, n)
  call expect(class == of_comm, "MPIX_Comm_failure_ack of nothing")
  call MPI_Error_class(revoked, class, n)
  call expect(class == revoked, "a class of an extension")
  call MPI_Comm_free(comm, ierr)
  call MPI_Finalize(ierr)
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
end program old

subroutine larger(a, b, n, datatype)
  implicit none
  integer :: n, datatype, a(n), b(n)
#ifdef OPENMPI
  if (datatype == 7) b = max(a, b)
#else
  if (datatype == 1275069467) b = max(a, b)
#endif
end subroutine larger

subroutine on_error(comm, code)
  implicit none
  integer :: comm, code, handled
  common /seen/ handled
  handled = comm
end subroutine on_error
