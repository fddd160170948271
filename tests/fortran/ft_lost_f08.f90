! ranks: 3
! mpiexec: --with-ft
! lost: 1
! A rank is lost, and a program over mpi_f08 goes on: errors, an error handler, requests, agreement, revocation and shrinking.
module handler_of
  use mpi_f08
  implicit none
  integer :: calls = 0, seen = 0
  type(MPI_Comm) :: on
contains
  subroutine note(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    calls = calls + 1
    on = comm
    seen = code
  end subroutine note
end module handler_of

program ft_lost_f08
  use mpi_f08
  use mpi_f08_ext
  use handler_of
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function raise(signal) bind(C, name="raise")
      import :: c_int
      integer(c_int), value :: signal
    end function raise
  end interface
  integer :: errors, code, rank, size, lost, numbers(2), flag, members, acked, n
  type(MPI_Comm) :: comm, made
  type(MPI_Group) :: group
  type(MPI_Errhandler) :: handler
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2)
  logical :: answer

  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  lost = size - 1
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_create_errhandler(note, handler)
  call MPI_Comm_set_errhandler(comm, handler)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == lost) code = raise(9)

  call MPI_Recv(n, 1, MPI_INTEGER, lost, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
  call expect(class_of(code) == MPI_ERR_PROC_FAILED, "MPI_Recv")
  call MPI_Recv(n, 1, MPI_INTEGER, lost, 1, comm, MPI_STATUS_IGNORE, code)
  call expect(class_of(code) == MPI_ERR_PROC_FAILED .and. calls == 1 .and. on == comm, "the error handler")
  call expect(class_of(seen) == MPI_ERR_PROC_FAILED, "the code of the error handler")
  call MPI_Irecv(numbers(1), 1, MPI_INTEGER, lost, 2, comm, requests(1))
  call MPI_Irecv(numbers(2), 1, MPI_INTEGER, MPI_ANY_SOURCE, 3, comm, requests(2))
  call MPI_Waitall(2, requests, statuses, code)
  call expect(class_of(code) == MPI_ERR_IN_STATUS, "MPI_Waitall")
  call expect(class_of(statuses(1)%MPI_ERROR) == MPI_ERR_PROC_FAILED, "a status")
  call expect(class_of(statuses(2)%MPI_ERROR) == MPI_ERR_PROC_FAILED_PENDING, "a status of any source")
  call expect(requests(1) == MPI_REQUEST_NULL .and. requests(2) /= MPI_REQUEST_NULL, "requests")
  call MPI_Comm_get_failed(comm, group)
  call MPI_Group_size(group, members)
  call MPI_Comm_ack_failed(comm, 1, acked)
  call expect(members == 1 .and. acked == 1, "who has failed")
  ! Not before the other one has waited in vain.
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, 1 - rank, 5, n, 1, MPI_INTEGER, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Send(rank, 1, MPI_INTEGER, 1 - rank, 3, comm)
  call MPI_Wait(requests(2), MPI_STATUS_IGNORE, code)
  call expect(code == MPI_SUCCESS .and. numbers(2) == 1 - rank, "MPI_Wait after an acknowledgement")
  flag = ibset(4, rank)
  call MPIX_Comm_agree(comm, flag, code)
  call expect(code == MPI_SUCCESS .and. flag == 4, "MPIX_Comm_agree")
  if (rank == 0) call MPI_Comm_revoke(comm)
  call MPI_Recv(n, 1, MPI_INTEGER, 1 - rank, 4, comm, MPI_STATUS_IGNORE, code)
  call expect(class_of(code) == MPI_ERR_REVOKED, "a receive")
  call MPIX_Comm_is_revoked(comm, answer)
  call expect(answer, "MPIX_Comm_is_revoked")
  call MPIX_Comm_shrink(comm, made)
  call MPI_Allreduce(rank, n, 1, MPI_INTEGER, MPI_SUM, made, code)
  call expect(code == MPI_SUCCESS .and. n == 1, "MPIX_Comm_shrink")
  call MPI_Comm_free(made)
  call MPI_Comm_free(comm)
  call MPI_Errhandler_free(handler)
  call MPI_Finalize()
  if (errors == 0) print "(A)", "no errors"
contains
  integer function class_of(code)
    integer, intent(in) :: code
    call MPI_Error_class(code, class_of)
  end function class_of
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    errors = errors + 1
    print "(2A)", "wrong: ", what
  end subroutine expect
end program ft_lost_f08
