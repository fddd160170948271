! ranks: 1
! The names of fault tolerance in mpi_f08, with the module by which programs ask Open MPI for them, in a job without failures.
program ft_f08
  use mpi_f08
  use mpi_f08_ext
  implicit none
  integer :: errors, code, class, flag, later, members, acked
  integer(kind=MPI_ADDRESS_KIND) :: survives
  type(MPI_Comm) :: comm, made
  type(MPI_Group) :: group
  type(MPI_Request) :: request
  logical :: answer

  errors = 0
  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call expect(MPIX_ERR_REVOKED == MPI_ERR_REVOKED .and. MPIX_ERR_PROC_FAILED == MPI_ERR_PROC_FAILED, "classes")
  call MPI_Error_class(MPIX_ERR_PROC_FAILED_PENDING, class)
  call expect(class == MPI_ERR_PROC_FAILED_PENDING, "a class")
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, survives, answer)
  call expect(answer .and. survives >= 0 .and. survives <= 1, "the attribute")

  ! Each passes its communicator on.
  call MPI_Comm_revoke(MPI_COMM_NULL, code)
  call refused(code, "MPI_Comm_revoke")
  call MPIX_Comm_revoke(MPI_COMM_NULL, code)
  call refused(code, "MPIX_Comm_revoke")
  call PMPIX_Comm_revoke(MPI_COMM_NULL, code)
  call refused(code, "PMPIX_Comm_revoke")
  call MPI_Comm_get_failed(MPI_COMM_NULL, group, code)
  call refused(code, "MPI_Comm_get_failed")
  call MPIX_Comm_get_failed(MPI_COMM_NULL, group, code)
  call refused(code, "MPIX_Comm_get_failed")
  call MPI_Comm_ack_failed(MPI_COMM_NULL, 0, acked, code)
  call refused(code, "MPI_Comm_ack_failed")
  call MPIX_Comm_ack_failed(MPI_COMM_NULL, 0, acked, code)
  call refused(code, "MPIX_Comm_ack_failed")
  call MPIX_Comm_is_revoked(MPI_COMM_NULL, answer, code)
  call refused(code, "MPIX_Comm_is_revoked")
  call MPIX_Comm_failure_ack(MPI_COMM_NULL, code)
  call refused(code, "MPIX_Comm_failure_ack")
  call MPIX_Comm_failure_get_acked(MPI_COMM_NULL, group, code)
  call refused(code, "MPIX_Comm_failure_get_acked")
  call MPIX_Comm_agree(MPI_COMM_NULL, flag, code)
  call refused(code, "MPIX_Comm_agree")
  call MPIX_Comm_iagree(MPI_COMM_NULL, flag, request, code)
  call refused(code, "MPIX_Comm_iagree")
  call MPIX_Comm_shrink(MPI_COMM_NULL, made, code)
  call refused(code, "MPIX_Comm_shrink")
  call MPIX_Comm_ishrink(MPI_COMM_NULL, made, request, code)
  call refused(code, "MPIX_Comm_ishrink")

  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  answer = .true.
  call MPIX_Comm_is_revoked(comm, answer)
  call expect(.not. answer, "not revoked")
  flag = 6
  call MPIX_Comm_agree(comm, flag, code)
  call works()
  call MPI_Comm_free(comm)
  call MPI_Finalize()
  if (errors == 0) print "(A)", "no errors"
contains
  subroutine works()
    call expect(code == MPI_SUCCESS .and. flag == 6, "MPIX_Comm_agree")
    later = 5
    call MPIX_Comm_iagree(comm, later, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(later == 5, "MPIX_Comm_iagree")
    call MPI_Comm_get_failed(comm, group)
    call MPI_Group_size(group, members)
    call MPI_Comm_ack_failed(comm, 0, acked)
    call expect(members == 0 .and. acked == 0, "nobody has failed")
    call MPIX_Comm_failure_ack(comm)
    call MPIX_Comm_failure_get_acked(comm, group)
    call MPI_Group_size(group, members)
    call expect(members == 0, "nobody is acknowledged")
    call MPIX_Comm_ishrink(comm, made, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Comm_size(made, members)
    call expect(members == 1, "MPIX_Comm_ishrink")
    call MPI_Comm_free(made)
    call MPI_Comm_revoke(comm)
    call MPIX_Comm_is_revoked(comm, answer)
    call expect(answer, "revoked")
    call MPIX_Comm_shrink(comm, made)
    call MPI_Barrier(made, code)
    call expect(code == MPI_SUCCESS, "MPIX_Comm_shrink")
    call MPI_Comm_free(made)
  end subroutine works
  subroutine refused(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    call MPI_Error_class(code, class)
    call expect(class == MPI_ERR_COMM, what)
  end subroutine refused
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    errors = errors + 1
    print "(2A)", "wrong: ", what
  end subroutine expect
end program ft_f08
