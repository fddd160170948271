! ranks: 1 2
! Sessions without the world: their attributes, the error handlers that calls get for what they make, and calls that are
! refused.
module handlers
  use mpi_f08
  implicit none
  integer :: handled = 0, session_handled = 0
contains
  subroutine on_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    if (comm == MPI_COMM_NULL .and. error_code /= MPI_SUCCESS) handled = handled + 1
  end subroutine on_error
  subroutine on_session_error(session, error_code)
    type(MPI_Session) :: session
    integer :: error_code
    if (session == MPI_SESSION_NULL .and. error_code /= MPI_SUCCESS) session_handled = session_handled + 1
  end subroutine on_session_error
end module handlers

program f08_sessions
  use handlers
  implicit none
  type(MPI_Session) :: session, none
  type(MPI_Errhandler) :: handler, session_handler
  type(MPI_Group) :: group, some
  type(MPI_Info) :: info, gone
  type(MPI_Comm) :: comm, copy
  type(MPI_Request) :: request
  integer :: errors, code, class, i, keys(4), ranges(3, 1)
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: flag

  errors = 0
  call MPI_Info_create(info)
  gone = info
  call MPI_Info_free(info)
  none = MPI_SESSION_NULL
  call MPI_Session_create_errhandler(on_session_error, session_handler)
  call MPI_Session_init(gone, session_handler, none, code)
  call refused(MPI_ERR_INFO, "a session with an info object that is gone")
  call expect(session_handled == 1, "the error handler of that session")

  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
  call MPI_Group_from_session_pset(session, "mpi://WORLD", group)
  call MPI_Comm_create_errhandler(on_error, handler)
  call MPI_Comm_create_from_group(MPI_GROUP_NULL, "tag", MPI_INFO_NULL, handler, comm, code)
  call refused(MPI_ERR_GROUP, "a communicator of no group")
  call expect(handled == 1, "its error handler")
  call MPI_Comm_create_from_group(MPI_GROUP_NULL, "tag", MPI_INFO_NULL, MPI_ERRORS_RETURN, comm, code)
  call refused(MPI_ERR_GROUP, "a communicator of no group, and errors are returned")
  call MPI_Intercomm_create_from_groups(group, 0, MPI_GROUP_NULL, 0, "tag", MPI_INFO_NULL, handler, comm, code)
  call refused(MPI_ERR_GROUP, "an intercommunicator with no remote group")
  call expect(handled == 2, "its error handler, again")

  call MPI_Comm_create_from_group(group, "org.tern.f08", MPI_INFO_NULL, MPI_ERRORS_RETURN, comm)
  call MPI_Comm_dup(comm, copy)
  keys = [MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_LASTUSEDCODE, MPI_UNIVERSE_SIZE]
  do i = 1, 4
    call MPI_Comm_get_attr(comm, keys(i), value, flag)
    call expect(.not. flag, "an attribute of the world model")
    call MPI_Comm_get_attr(copy, keys(i), value, flag)
    call expect(.not. flag, "an attribute of the world model, of a duplicate")
  end do
  call MPI_Comm_get_attr(copy, MPI_TAG_UB, value, flag)
  call expect(flag .and. value >= 32767, "MPI_TAG_UB")

  call MPI_Ibarrier(comm, request)
  call MPI_Request_free(request, code)
  call refused(MPI_ERR_REQUEST, "a collective that is given up")
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Comm_free(copy)
  call MPI_Comm_free(comm)
  call MPI_Group_free(group)
  call MPI_Errhandler_free(handler)
  call MPI_Errhandler_free(session_handler)
  call MPI_Session_finalize(session)

  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call MPI_Comm_group(MPI_COMM_WORLD, group)
  ranges(:, 1) = [0, 1, -1]
  call MPI_Group_range_incl(group, 1, ranges, some, code)
  call refused(MPI_ERR_ARG, "a range of the wrong sign")
  call MPI_Finalize()
  if (errors == 0) print *, "no errors"
contains
  subroutine expect(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (right) return
    print *, "wrong: ", what
    errors = errors + 1
  end subroutine expect
  subroutine refused(wanted, what)
    integer, intent(in) :: wanted
    character(*), intent(in) :: what
    call MPI_Error_class(code, class)
    if (class /= wanted) print *, "class", class
    call expect(class == wanted, what)
  end subroutine refused
end program f08_sessions
