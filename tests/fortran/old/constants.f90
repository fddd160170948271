! Handles that are constants, given to procedures that may change them. Made by
! `cargo run -q -p tern-fortran --example constant-calls > tests/fortran/old/constants.f90`.
! The numbers are those of the library that MPICH or OPENMPI names, else those of this one. With MODULE they come from the module mpi, which
! declares what is called; without it nothing is declared, as by mpif.h.
#if defined(OPENMPI) || defined(MPICH)
#ifdef MODULE
module mpi
#else
program constants
#endif
  implicit none
#if defined(OPENMPI)
  integer, parameter :: MPI_COMM_NULL = 2 ! MPI_Comm
  integer, parameter :: MPI_COMM_WORLD = 0 ! MPI_Comm
  integer, parameter :: MPI_COMM_SELF = 1 ! MPI_Comm
  integer, parameter :: MPI_DATATYPE_NULL = 0 ! MPI_Datatype
  integer, parameter :: MPI_INTEGER = 7 ! MPI_Datatype
  integer, parameter :: MPI_ERRHANDLER_NULL = 0 ! MPI_Errhandler
  integer, parameter :: MPI_FILE_NULL = 0 ! MPI_File
  integer, parameter :: MPI_GROUP_NULL = 0 ! MPI_Group
  integer, parameter :: MPI_INFO_NULL = 0 ! MPI_Info
  integer, parameter :: MPI_INFO_ENV = 1 ! MPI_Info
  integer, parameter :: MPI_MESSAGE_NULL = 0 ! MPI_Message
  integer, parameter :: MPI_OP_NULL = 0 ! MPI_Op
  integer, parameter :: MPI_SUM = 3 ! MPI_Op
  integer, parameter :: MPI_REQUEST_NULL = 0 ! MPI_Request
  integer, parameter :: MPI_WIN_NULL = 0 ! MPI_Win
  integer, parameter :: MPI_ERRORS_RETURN = 2
#else
  integer, parameter :: MPI_COMM_NULL = 67108864 ! MPI_Comm
  integer, parameter :: MPI_COMM_WORLD = 1140850688 ! MPI_Comm
  integer, parameter :: MPI_COMM_SELF = 1140850689 ! MPI_Comm
  integer, parameter :: MPI_DATATYPE_NULL = 201326592 ! MPI_Datatype
  integer, parameter :: MPI_INTEGER = 1275069467 ! MPI_Datatype
  integer, parameter :: MPI_ERRHANDLER_NULL = 335544320 ! MPI_Errhandler
  integer, parameter :: MPI_FILE_NULL = 0 ! MPI_File
  integer, parameter :: MPI_GROUP_NULL = 134217728 ! MPI_Group
  integer, parameter :: MPI_INFO_NULL = 469762048 ! MPI_Info
  integer, parameter :: MPI_INFO_ENV = 1543503873 ! MPI_Info
  integer, parameter :: MPI_MESSAGE_NULL = 738197504 ! MPI_Message
  integer, parameter :: MPI_OP_NULL = 402653184 ! MPI_Op
  integer, parameter :: MPI_SUM = 1476395011 ! MPI_Op
  integer, parameter :: MPI_REQUEST_NULL = 738197504 ! MPI_Request
  integer, parameter :: MPI_WIN_NULL = 536870912 ! MPI_Win
  integer, parameter :: MPI_SESSION_NULL = 939524096 ! MPI_Session
  integer, parameter :: MPI_ERRORS_RETURN = 1409286145
#endif
#ifdef MODULE
  interface
    subroutine MPI_Session_finalize(session, ierror)
      integer :: session
      integer :: ierror
    end subroutine MPI_Session_finalize
    subroutine MPI_Errhandler_free(errhandler, ierror)
      integer :: errhandler
      integer :: ierror
    end subroutine MPI_Errhandler_free
    subroutine MPI_Info_free(info, ierror)
      integer :: info
      integer :: ierror
    end subroutine MPI_Info_free
    subroutine MPI_Cancel(request, ierror)
      integer :: request
      integer :: ierror
    end subroutine MPI_Cancel
    subroutine MPI_Request_free(request, ierror)
      integer :: request
      integer :: ierror
    end subroutine MPI_Request_free
    subroutine MPI_Start(request, ierror)
      integer :: request
      integer :: ierror
    end subroutine MPI_Start
    subroutine MPI_Startall(count, array_of_requests, ierror)
      integer :: count
      integer :: array_of_requests(*)
      integer :: ierror
    end subroutine MPI_Startall
    subroutine MPI_Test(request, flag, status, ierror)
      integer :: request
      logical :: flag
      integer :: status(*)
      integer :: ierror
    end subroutine MPI_Test
    subroutine MPI_Testall(count, array_of_requests, flag, array_of_statuses, ierror)
      integer :: count
      integer :: array_of_requests(*)
      logical :: flag
      integer :: array_of_statuses(*)
      integer :: ierror
    end subroutine MPI_Testall
    subroutine MPI_Testany(count, array_of_requests, index, flag, status, ierror)
      integer :: count
      integer :: array_of_requests(*)
      integer :: index
      logical :: flag
      integer :: status(*)
      integer :: ierror
    end subroutine MPI_Testany
    subroutine MPI_Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, ierror)
      integer :: incount
      integer :: array_of_requests(*)
      integer :: outcount
      integer :: array_of_indices(*)
      integer :: array_of_statuses(*)
      integer :: ierror
    end subroutine MPI_Testsome
    subroutine MPI_Wait(request, status, ierror)
      integer :: request
      integer :: status(*)
      integer :: ierror
    end subroutine MPI_Wait
    subroutine MPI_Waitall(count, array_of_requests, array_of_statuses, ierror)
      integer :: count
      integer :: array_of_requests(*)
      integer :: array_of_statuses(*)
      integer :: ierror
    end subroutine MPI_Waitall
    subroutine MPI_Waitany(count, array_of_requests, index, status, ierror)
      integer :: count
      integer :: array_of_requests(*)
      integer :: index
      integer :: status(*)
      integer :: ierror
    end subroutine MPI_Waitany
    subroutine MPI_Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, ierror)
      integer :: incount
      integer :: array_of_requests(*)
      integer :: outcount
      integer :: array_of_indices(*)
      integer :: array_of_statuses(*)
      integer :: ierror
    end subroutine MPI_Waitsome
    subroutine MPI_Type_commit(datatype, ierror)
      integer :: datatype
      integer :: ierror
    end subroutine MPI_Type_commit
    subroutine MPI_Type_free(datatype, ierror)
      integer :: datatype
      integer :: ierror
    end subroutine MPI_Type_free
    subroutine MPI_Op_free(op, ierror)
      integer :: op
      integer :: ierror
    end subroutine MPI_Op_free
    subroutine MPI_Comm_free(comm, ierror)
      integer :: comm
      integer :: ierror
    end subroutine MPI_Comm_free
    subroutine MPI_Group_free(group, ierror)
      integer :: group
      integer :: ierror
    end subroutine MPI_Group_free
    subroutine MPI_Win_free(win, ierror)
      integer :: win
      integer :: ierror
    end subroutine MPI_Win_free
    subroutine MPI_Comm_disconnect(comm, ierror)
      integer :: comm
      integer :: ierror
    end subroutine MPI_Comm_disconnect
    subroutine MPI_File_close(fh, ierror)
      integer :: fh
      integer :: ierror
    end subroutine MPI_File_close
  end interface
end module mpi
program constants
  use mpi
  implicit none
#endif
#else
program constants
#ifdef MODULE
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
#endif
  integer, parameter :: no_requests(2) = MPI_REQUEST_NULL
integer :: ierr, number, buffer(2), indices(2), status(8), statuses(8, 2), errors
  logical :: flag
  errors = 0
  call MPI_Init(ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
#ifndef OPENMPI
  call MPI_Session_finalize(MPI_SESSION_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Session_finalize of MPI_SESSION_NULL')
#endif
  call MPI_Errhandler_free(MPI_ERRHANDLER_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Errhandler_free of MPI_ERRHANDLER_NULL')
  call MPI_Info_free(MPI_INFO_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Info_free of MPI_INFO_NULL')
  call MPI_Info_free(MPI_INFO_ENV, ierr)
  call expect(ierr /= 0, 'MPI_Info_free of MPI_INFO_ENV')
  call MPI_Cancel(MPI_REQUEST_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Cancel of MPI_REQUEST_NULL')
  call MPI_Imrecv(buffer, 2, MPI_INTEGER, MPI_MESSAGE_NULL, number, ierr)
  call expect(ierr /= 0, 'MPI_Imrecv of MPI_MESSAGE_NULL')
  call MPI_Mrecv(buffer, 2, MPI_INTEGER, MPI_MESSAGE_NULL, status, ierr)
  call expect(ierr /= 0, 'MPI_Mrecv of MPI_MESSAGE_NULL')
  call MPI_Request_free(MPI_REQUEST_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Request_free of MPI_REQUEST_NULL')
  call MPI_Start(MPI_REQUEST_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Start of MPI_REQUEST_NULL')
  call MPI_Startall(2, no_requests, ierr)
  call expect(ierr /= 0, 'MPI_Startall of MPI_REQUEST_NULL')
  call MPI_Test(MPI_REQUEST_NULL, flag, status, ierr)
  call expect(ierr == 0, 'MPI_Test of MPI_REQUEST_NULL')
  call MPI_Testall(2, no_requests, flag, statuses, ierr)
  call expect(ierr == 0, 'MPI_Testall of MPI_REQUEST_NULL')
  call MPI_Testany(2, no_requests, number, flag, status, ierr)
  call expect(ierr == 0, 'MPI_Testany of MPI_REQUEST_NULL')
  call MPI_Testsome(2, no_requests, number, indices, statuses, ierr)
  call expect(ierr == 0, 'MPI_Testsome of MPI_REQUEST_NULL')
  call MPI_Wait(MPI_REQUEST_NULL, status, ierr)
  call expect(ierr == 0, 'MPI_Wait of MPI_REQUEST_NULL')
  call MPI_Waitall(2, no_requests, statuses, ierr)
  call expect(ierr == 0, 'MPI_Waitall of MPI_REQUEST_NULL')
  call MPI_Waitany(2, no_requests, number, status, ierr)
  call expect(ierr == 0, 'MPI_Waitany of MPI_REQUEST_NULL')
  call MPI_Waitsome(2, no_requests, number, indices, statuses, ierr)
  call expect(ierr == 0, 'MPI_Waitsome of MPI_REQUEST_NULL')
  call MPI_Type_commit(MPI_DATATYPE_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Type_commit of MPI_DATATYPE_NULL')
  call MPI_Type_commit(MPI_INTEGER, ierr)
  call expect(ierr == 0, 'MPI_Type_commit of MPI_INTEGER')
  call MPI_Type_free(MPI_DATATYPE_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Type_free of MPI_DATATYPE_NULL')
  call MPI_Type_free(MPI_INTEGER, ierr)
  call expect(ierr /= 0, 'MPI_Type_free of MPI_INTEGER')
  call MPI_Op_free(MPI_OP_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Op_free of MPI_OP_NULL')
  call MPI_Op_free(MPI_SUM, ierr)
  call expect(ierr /= 0, 'MPI_Op_free of MPI_SUM')
  call MPI_Comm_free(MPI_COMM_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Comm_free of MPI_COMM_NULL')
  call MPI_Comm_free(MPI_COMM_WORLD, ierr)
  call expect(ierr /= 0, 'MPI_Comm_free of MPI_COMM_WORLD')
  call MPI_Comm_free(MPI_COMM_SELF, ierr)
  call expect(ierr /= 0, 'MPI_Comm_free of MPI_COMM_SELF')
  call MPI_Group_free(MPI_GROUP_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Group_free of MPI_GROUP_NULL')
  call MPI_Win_free(MPI_WIN_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Win_free of MPI_WIN_NULL')
  call MPI_Comm_disconnect(MPI_COMM_NULL, ierr)
  call expect(ierr /= 0, 'MPI_Comm_disconnect of MPI_COMM_NULL')
  call MPI_Comm_disconnect(MPI_COMM_WORLD, ierr)
  call expect(ierr /= 0, 'MPI_Comm_disconnect of MPI_COMM_WORLD')
  call MPI_Comm_disconnect(MPI_COMM_SELF, ierr)
  call expect(ierr /= 0, 'MPI_Comm_disconnect of MPI_COMM_SELF')
  call MPI_File_close(MPI_FILE_NULL, ierr)
  call expect(ierr /= 0, 'MPI_File_close of MPI_FILE_NULL')
if (errors == 0) print '(a)', 'no errors'
  call MPI_Finalize(ierr)
contains
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    errors = errors + 1
    print '(2a)', 'not as expected: ', what
  end subroutine expect
end program constants
