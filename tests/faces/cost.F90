! cost.c in Fortran. F08: the module mpi_f08. MPICH, OPENMPI: as a program that was compiled for that library, with the
! constants of its mpif.h; OPENMPI and F08: with the procedures of its mpi_f08, whose handle types are INTEGERs in memory.
#if defined(OPENMPI) && defined(F08)
#define MPI_Send mpi_send_f08
#define MPI_Recv mpi_recv_f08
#define MPI_Irecv mpi_irecv_f08
#define MPI_Wait mpi_wait_f08
#define MPI_Allreduce mpi_allreduce_f08
#endif
module costs
#if defined(F08) && !defined(OPENMPI)
  use mpi_f08
#endif
  implicit none
#if defined(OPENMPI)
  integer, parameter :: MPI_COMM_WORLD = 0, MPI_BYTE = 1, MPI_DOUBLE_PRECISION = 17, MPI_SUM = 3
  integer :: MPI_STATUS_IGNORE(6)
  common /mpi_fortran_status_ignore/ MPI_STATUS_IGNORE
  double precision, external :: MPI_Wtime
#elif defined(MPICH)
  integer, parameter :: MPI_COMM_WORLD = 1140850688, MPI_BYTE = 1275068685, MPI_DOUBLE_PRECISION = 1275070495
  integer, parameter :: MPI_SUM = 1476395011
  integer :: MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE(5)
  common /mpipriv1/ MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE
  double precision, external :: MPI_Wtime
#elif !defined(F08)
  include "mpif.h"
#endif
  character, save :: out(65536), in(65536)
  double precision, save :: number = 1, total
  integer, save :: rank, ranks
contains
  subroutine step(bytes)
    integer, intent(in) :: bytes
    integer :: ierr
#if defined(F08) && !defined(OPENMPI)
    type(MPI_Request) :: request
#else
    integer :: request
#endif
    if (ranks == 1) then
      call MPI_Irecv(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, request, ierr)
      call MPI_Send(out, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, ierr)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    else if (rank == 0) then
      call MPI_Send(out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, ierr)
      call MPI_Recv(in, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    else if (rank == 1) then
      call MPI_Recv(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call MPI_Send(out, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, ierr)
    end if
  end subroutine step

  function many(kind, n) result(time)
    integer, intent(in) :: kind, n
    double precision :: time
    integer :: i, ierr
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    time = MPI_Wtime()
    do i = 1, n
      if (kind > 0) then
        call step(kind)
      else
        call MPI_Allreduce(number, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
      end if
    end do
    time = (MPI_Wtime() - time) / n * 1d6
  end function many
end module costs

program cost
  use costs
  implicit none
  integer :: n, ierr
  character(len=20) :: text
  double precision :: time, small, large, reduce
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(1, text)
  read (text, *) n
  call get_command_argument(2, text)
  select case (text)
  case ("send8")
    time = many(8, n)
  case ("send64k")
    time = many(65536, n)
  case ("reduce8")
    time = many(0, n)
  case default
    time = many(8, n / 4)
    time = many(65536, n / 64)
    time = many(0, n / 4)
    small = many(8, n) / 2
    large = many(65536, n / 16) / 2
    reduce = many(0, n)
    if (rank == 0) print "(A, 3F12.4)", "cost", small, large, reduce
  end select
  call MPI_Finalize(ierr)
end program cost
