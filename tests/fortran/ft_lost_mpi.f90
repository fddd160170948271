! ranks: 3
! mpiexec: --with-ft
! lost: 1
! A rank is lost, and a program over the module mpi goes on: errors, agreement, revocation and shrinking.
program ft_lost_mpi
  use mpi
  use mpi_ext
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function raise(signal) bind(C, name="raise")
      import :: c_int
      integer(c_int), value :: signal
    end function raise
  end interface
  integer :: errors, code, rank, size, lost, number(1), total(1), flag, members, acked, comm, made, group, request, ierror
  integer :: statuses(MPI_STATUS_SIZE, 1), requests(1)
  logical :: answer

  errors = 0
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, size, code)
  lost = size - 1
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, code)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, code)
  call MPI_Barrier(MPI_COMM_WORLD, code)
  if (rank == lost) code = raise(9)

  call MPI_Recv(number, 1, MPI_INTEGER, lost, 1, comm, MPI_STATUS_IGNORE, code)
  call expect(class_of(code) == MPI_ERR_PROC_FAILED, "MPI_Recv")
  call MPI_Irecv(number, 1, MPI_INTEGER, lost, 2, comm, requests(1), code)
  call MPI_Waitall(1, requests, statuses, code)
  call expect(class_of(code) == MPI_ERR_IN_STATUS, "MPI_Waitall")
  call expect(class_of(statuses(MPI_ERROR, 1)) == MPI_ERR_PROC_FAILED, "a status")
  call MPI_Comm_get_failed(comm, group, code)
  call MPI_Group_size(group, members, code)
  call MPI_Comm_ack_failed(comm, 1, acked, code)
  call expect(members == 1 .and. acked == 1, "who has failed")
  flag = ibset(4, rank)
  call MPIX_Comm_agree(comm, flag, code)
  call expect(code == MPI_SUCCESS .and. flag == 4, "MPIX_Comm_agree")
  flag = 7
  call MPIX_Comm_iagree(comm, flag, request, code)
  call MPI_Wait(request, MPI_STATUS_IGNORE, code)
  call expect(code == MPI_SUCCESS .and. flag == 7, "MPIX_Comm_iagree")
  if (rank == 0) call MPIX_Comm_revoke(comm, code)
  call MPI_Recv(number, 1, MPI_INTEGER, 1 - rank, 4, comm, MPI_STATUS_IGNORE, code)
  call expect(class_of(code) == MPI_ERR_REVOKED, "a receive")
  call MPIX_Comm_is_revoked(comm, answer, code)
  call expect(answer, "MPIX_Comm_is_revoked")
  call MPIX_Comm_shrink(comm, made, code)
  number(1) = rank
  call MPI_Allreduce(number, total, 1, MPI_INTEGER, MPI_SUM, made, code)
  call expect(code == MPI_SUCCESS .and. total(1) == 1, "MPIX_Comm_shrink")
  call MPI_Comm_free(made, code)
  call MPI_Comm_free(comm, code)
  call MPI_Finalize(code)
  if (errors == 0) print "(A)", "no errors"
contains
  integer function class_of(code)
    integer, intent(in) :: code
    call MPI_Error_class(code, class_of, ierror)
  end function class_of
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    errors = errors + 1
    print "(2A)", "wrong: ", what
  end subroutine expect
end program ft_lost_mpi
