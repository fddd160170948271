! ranks: 2
! ways: all
! with: short_c.c
! Where there is no memory for a copy of a section, or for handles in C's form, a procedure fails with MPI_ERR_NO_MEM, and the next
! one goes well.
program f08_memory
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_long
  implicit none
  interface
    subroutine shorten(more) bind(C)
      import :: c_long
      integer(c_long), value :: more
    end subroutine
    subroutine lift() bind(C)
    end subroutine
  end interface
  integer, parameter :: n = 6000000, many = 4000000
  integer(c_long), parameter :: slack = 8000000
  integer, allocatable :: a(:, :), b(:, :)
  type(MPI_Request), allocatable :: requests(:)
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  integer :: rank, ranks, i, errors, code, indx
  logical :: flag

  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  allocate(a(2, n), b(2, n), requests(many))
  a = reshape([(i, i = 1, 2 * n)], [2, n])
  b = 0
  do i = 1, many
    requests(i) = MPI_REQUEST_NULL
  end do

  call shorten(slack)
  call MPI_Allreduce(a(1, :), b(1, :), n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  call lift()
  call refused(code, "a section of a reduction")
  call MPI_Allreduce(a(1, :), b(1, :), n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  call expect(code == MPI_SUCCESS .and. all(b(1, :) == ranks * a(1, :)) .and. all(b(2, :) == 0), "with memory")

  call shorten(slack)
  call MPI_Iallreduce(a(1, :), b(2, :), n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, code)
  call lift()
  call refused(code, "a section of a reduction that goes on")

  call shorten(slack)
  call MPI_Testany(many, requests, indx, flag, status, code)
  call lift()
  call refused(code, "many requests")
  call MPI_Testany(many, requests, indx, flag, status, code)
  call expect(code == MPI_SUCCESS .and. flag .and. indx == MPI_UNDEFINED, "many requests with memory")
  call MPI_Barrier(MPI_COMM_WORLD)

  if (errors == 0) print *, "no errors"
  call MPI_Finalize()

contains
  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (.not. condition) then
      errors = errors + 1
      print *, "rank ", rank, ": ", what
    end if
  end subroutine

  subroutine refused(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    integer :: class, length
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Error_class(code, class)
    call MPI_Error_string(code, text, length)
    call expect(class == MPI_ERR_NO_MEM .and. index(text(1:length), "memory") > 0, what // ": " // text(1:length))
  end subroutine
end program
