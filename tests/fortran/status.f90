! ranks: 1 2
! ways: all
! with: status_c.c
! Statuses go from Fortran to C and back (MPI 5.0 section 19.3.5), and C knows those that are to be ignored.
program status
  use mpi_f08
  use mpi, only: ignored => MPI_STATUS_IGNORE, many_ignored => MPI_STATUSES_IGNORE, MPI_STATUS_SIZE
  implicit none
  interface
    subroutine c_same(f_status, f08_status, answer) bind(C, name="c_same")
      import
      integer, intent(in) :: f_status(*)
      type(MPI_Status), intent(in) :: f08_status
      integer, intent(out) :: answer
    end subroutine c_same
    subroutine c_is_ignored(f_status, f08_status, many, many_f08, answer) bind(C, name="c_is_ignored")
      import
      integer :: f_status(*), many(*)
      type(MPI_Status) :: f08_status, many_f08(*)
      integer, intent(out) :: answer
    end subroutine c_is_ignored
  end interface
  type(MPI_Status) :: got
  integer :: old(MPI_STATUS_SIZE), rank, ranks, to, from, answer, sent(2), value(3), count
  logical :: good
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  to = mod(rank + 1, ranks)
  from = mod(rank + ranks - 1, ranks)
  sent = 5
  call MPI_Sendrecv(sent, 2, MPI_INTEGER, to, 7, value, 3, MPI_INTEGER, from, 7, MPI_COMM_WORLD, got)
  call MPI_Status_f082f(got, old)
  call c_same(old, got, answer)
  call MPI_Get_count(got, MPI_INTEGER, count)
  good = answer == 1 .and. count == 2 .and. got%MPI_SOURCE == from
  call c_is_ignored(ignored, MPI_STATUS_IGNORE, many_ignored, MPI_STATUSES_IGNORE, answer)
  good = good .and. answer == 1
  call c_is_ignored(old, got, old, [got], answer)
  good = good .and. answer == 0
  call MPI_Finalize()
  if (good) print "(A)", "no errors"
end program status
