! ranks: 1
! with: tool_c.c
! A tool in C sees Fortran's calls once, by MPI_ names; one in Fortran replaces the external procedure. PMPI_ calls are
! seen by neither (MPI 5.0 section 15.2).
subroutine MPI_Barrier_f08(comm, ierror)
  use mpi_f08, only: MPI_Comm, PMPI_Barrier
  implicit none
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  integer :: barriers
  common /seen/ barriers
  barriers = barriers + 1
  call PMPI_Barrier(comm)
  if (present(ierror)) ierror = 0
end subroutine MPI_Barrier_f08

program tool
  use mpi_f08
  implicit none
  integer :: sends, ranks, rank, got, errors, barriers
  common /seen/ barriers
  type(MPI_Request) :: request
  external :: counted
  errors = 0
  barriers = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call PMPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Irecv(got, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, request)
  call MPI_Send(rank, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call counted(sends, ranks)
  if (sends /= 1 .or. ranks /= 1) then
    errors = 1
    print "(A, 2I3)", "wrong: seen by C:", sends, ranks
  end if
  call MPI_Barrier(MPI_COMM_WORLD)
  call PMPI_Barrier(MPI_COMM_WORLD)
  if (barriers /= 1) then
    errors = 1
    print "(A, I3)", "wrong: seen by Fortran:", barriers
  end if
  call MPI_Finalize()
  if (errors == 0) print "(A)", "no errors"
end program tool
