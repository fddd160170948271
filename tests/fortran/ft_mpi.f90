! ranks: 1
! The names of fault tolerance in the module mpi, with the module by which programs ask Open MPI for them.
program ft_mpi
  use mpi
  use mpi_ext
  implicit none
  integer :: errors, code, comm, group, made, request, flag, acked
  integer(kind=MPI_ADDRESS_KIND) :: survives
  logical :: answer
  errors = 0
  call MPI_Init(code)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, code)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, code)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, survives, answer, code)
  call expect(answer .and. survives >= 0 .and. survives <= 1, "the attribute")
  call expect(MPIX_ERR_REVOKED == MPI_ERR_REVOKED, "a class")
  comm = MPI_COMM_NULL
  call MPI_Comm_revoke(comm, code)
  call refused(code, "MPI_Comm_revoke")
  call MPIX_Comm_revoke(comm, code)
  call refused(code, "MPIX_Comm_revoke")
  call PMPIX_Comm_revoke(comm, code)
  call refused(code, "PMPIX_Comm_revoke")
  call MPI_Comm_get_failed(comm, group, code)
  call refused(code, "MPI_Comm_get_failed")
  call MPIX_Comm_get_failed(comm, group, code)
  call refused(code, "MPIX_Comm_get_failed")
  call MPI_Comm_ack_failed(comm, 0, acked, code)
  call refused(code, "MPI_Comm_ack_failed")
  call MPIX_Comm_ack_failed(comm, 0, acked, code)
  call refused(code, "MPIX_Comm_ack_failed")
  call MPIX_Comm_is_revoked(comm, answer, code)
  call refused(code, "MPIX_Comm_is_revoked")
  call MPIX_Comm_failure_ack(comm, code)
  call refused(code, "MPIX_Comm_failure_ack")
  call MPIX_Comm_failure_get_acked(comm, group, code)
  call refused(code, "MPIX_Comm_failure_get_acked")
  call MPIX_Comm_agree(comm, flag, code)
  call refused(code, "MPIX_Comm_agree")
  call MPIX_Comm_iagree(comm, flag, request, code)
  call refused(code, "MPIX_Comm_iagree")
  call MPIX_Comm_shrink(comm, made, code)
  call refused(code, "MPIX_Comm_shrink")
  call MPIX_Comm_ishrink(comm, made, request, code)
  call refused(code, "MPIX_Comm_ishrink")
  answer = .true.
  call MPIX_Comm_is_revoked(MPI_COMM_WORLD, answer, code)
  call expect(code == MPI_SUCCESS .and. .not. answer, "not revoked")
  call MPI_Finalize(code)
  if (errors == 0) print "(A)", "no errors"
contains
  subroutine refused(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    integer :: class, ierror
    call MPI_Error_class(code, class, ierror)
    call expect(class == MPI_ERR_COMM, what)
  end subroutine refused
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    errors = errors + 1
    print "(2A)", "wrong: ", what
  end subroutine expect
end program ft_mpi
