! MPI_Finalize in a final procedure, which an exit handler of the C library brings about after STOP: a rank waits there for the other
! one, asleep. A child of fork does so before. F08, MODULE and MPIF say which interface of Tern is used; MPICH and OPENMPI, whose numbers the program has.
#if defined(F08)
#define INTERFACE use mpi_f08
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#if defined(MODULE)
#define INTERFACE use mpi
#else
#define INTERFACE
#endif
#endif
module ends
  use, intrinsic :: iso_c_binding, only: c_int, c_funptr, c_funloc
  INTERFACE
  implicit none
#if defined(MPIF)
  include 'mpif.h'
#elif defined(OPENMPI)
  integer, parameter :: MPI_COMM_WORLD = 0, MPI_INTEGER = 7, MPI_SUM = 3, MPI_INFO_NULL = 0, MPI_LOCK_EXCLUSIVE = 1
  integer, parameter :: MPI_STATUS_SIZE = 6, MPI_ADDRESS_KIND = 8
#elif defined(MPICH)
  integer, parameter :: MPI_COMM_WORLD = 1140850688, MPI_INTEGER = 1275069467, MPI_SUM = 1476395011, MPI_INFO_NULL = 469762048
  integer, parameter :: MPI_LOCK_EXCLUSIVE = 234, MPI_STATUS_SIZE = 5, MPI_ADDRESS_KIND = 8
#endif
  type held
    integer :: one = 1
  contains
    final :: meet_and_finalize
  end type held
  type(held), allocatable, save :: last
  integer, save :: rank, ranks
  integer(MPI_ADDRESS_KIND), parameter :: place = 0, size_of_integer = 4
  interface
    integer(c_int) function atexit(handler) bind(C)
      import :: c_int, c_funptr
      type(c_funptr), value :: handler
    end function atexit
    integer(c_int) function usleep(microseconds) bind(C)
      import :: c_int
      integer(c_int), value :: microseconds
    end function usleep
    integer(c_int) function fork() bind(C)
      import :: c_int
    end function fork
    integer(c_int) function waitpid(process, status, options) bind(C)
      import :: c_int
      integer(c_int), value :: process, options
      integer(c_int), intent(out) :: status
    end function waitpid
    subroutine exit_by_c(code) bind(C, name="exit")
      import :: c_int
      integer(c_int), value :: code
    end subroutine exit_by_c
  end interface

contains

  subroutine leave() bind(C)
    deallocate(last)
  end subroutine leave

  ! A child of fork that sends, if it shall, and ends by exit: with this code.
  subroutine child_ends(sends, code)
    logical, intent(in) :: sends
    integer(c_int), intent(in) :: code
    integer(c_int) :: child, status
    integer :: ierr
    child = fork()
    if (child == 0) then
      if (sends) call MPI_Send(rank, 1, MPI_INTEGER, 1 - rank, 0, MPI_COMM_WORLD, ierr)
      call exit_by_c(9_c_int)
    end if
    if (waitpid(child, status, 0_c_int) /= child .or. status /= 256 * code) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  end subroutine child_ends

  ! The other one waits for a message of `from`, which comes late.
  subroutine late(from)
    integer, intent(in) :: from
    integer :: value, ierr
#if defined(F08)
    type(MPI_Status) :: status
#else
    integer :: status(MPI_STATUS_SIZE)
#endif
    value = 7
    if (rank == from) then
      ierr = usleep(200000_c_int)
      call MPI_Send(value, 1, MPI_INTEGER, 1 - from, 0, MPI_COMM_WORLD, ierr)
    else
      value = 0
      call MPI_Recv(value, 1, MPI_INTEGER, from, 0, MPI_COMM_WORLD, status, ierr)
      if (value /= 7) call MPI_Abort(MPI_COMM_WORLD, 4, ierr)
    end if
  end subroutine late

  subroutine meet_and_finalize(object)
    type(held), intent(inout) :: object
    integer, target, save :: memory
    HANDLE(MPI_Win) :: win
    integer :: total, ierr
    logical :: ended
    call MPI_Finalized(ended, ierr)
    if (ended) return
    call late(0)
    call late(1)
    if (rank == 0) ierr = usleep(200000_c_int)
    call MPI_Allreduce(object%one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call MPI_Win_create(memory, size_of_integer, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win, ierr)
    call MPI_Put(object%one, 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, win, ierr)
    call MPI_Win_unlock(0, win, ierr)
    call MPI_Win_free(win, ierr)
    if (rank == 0) ierr = usleep(200000_c_int)
    call MPI_Finalize(ierr)
    call MPI_Finalized(ended, ierr)
    write (*, '(a, i0, a, i0, a, i0)') "rank ", rank, " ends, sum ", total, ", ", merge(1, 0, ended)
    flush (6)
  end subroutine meet_and_finalize
end module ends

program finals
  use ends
  INTERFACE
  implicit none
  integer :: ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  allocate(last)
  if (ranks /= 2 .or. atexit(c_funloc(leave)) /= 0) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  call child_ends(.false., 9_c_int)
  ! MPI_ERR_OTHER of the standard ABI: the child has no right to MPI.
  call child_ends(.true., 16_c_int)
  call late(0)
  stop
end program finals
