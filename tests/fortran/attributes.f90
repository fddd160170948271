! ranks: 1
! with: attributes_c.c
! Attributes, handles and statuses seen from both languages.
program attributes
  use mpi
  implicit none
  interface
    subroutine c_set(comm, key, address)
      integer :: comm, key
      integer(kind=8) :: address
    end subroutine c_set
    subroutine c_get(comm, key, value)
      integer :: comm, key
      integer(kind=8) :: value
    end subroutine c_get
  end interface
  external :: c_look, c_reduce, keep
  integer :: comm, again, key, ierror, errors, size, bytes, op, datatype, result
  integer(kind=MPI_ADDRESS_KIND) :: value, address
  logical :: flag
  type(MPI_Comm) :: typed
  type(MPI_Status) :: f08_status
  integer :: status(MPI_STATUS_SIZE)

  errors = 0
  call MPI_Init(ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  ! Fortran sets, C gets.
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_set_attr(comm, key, 5000000000_MPI_ADDRESS_KIND, ierror)
  call c_get(comm, key, value)
  call expect(value == 5000000000_8, "C gets Fortran's attribute")
  ! C sets, Fortran gets the address, also of a copy.
  call c_set(comm, key, address)
  call MPI_Comm_get_attr(comm, key, value, flag, ierror)
  call expect(flag .and. value == address, "Fortran gets C's attribute")
  call MPI_Comm_dup(comm, again, ierror)
  call MPI_Comm_get_attr(again, key, value, flag, ierror)
  call expect(flag .and. value == address, "Fortran gets a copy of C's attribute")
  ! Fortran sets under C's key.
  call MPI_Comm_set_attr(again, key, 77_MPI_ADDRESS_KIND, ierror)
  call c_get(again, key, value)
  call expect(value == 77, "C gets Fortran's attribute under its own key")
  ! Handles.
  call MPI_Type_contiguous(5, MPI_DOUBLE_PRECISION, datatype, ierror)
  call c_look(again, datatype, size, bytes)
  call expect(size == 1 .and. bytes == 40, "handles in C")
  call MPI_Op_create(keep, .true., op, ierror)
  call c_reduce(op, result)
  call expect(result == 3, "an operation in C")
  ! What the module has of mpi_f08.
  typed%MPI_VAL = again
  call expect(typed == MPI_Comm(again) .and. typed /= MPI_Comm(comm), "types in the module mpi")
  status = 0
  status(MPI_TAG) = 9
  call MPI_Status_f2f08(status, f08_status, ierror)
  call expect(f08_status%MPI_TAG == 9, "a status")
  call MPI_Comm_free(again, ierror)
  call MPI_Comm_free(comm, ierror)
  call MPI_Finalize(ierror)
  if (errors == 0) print "(A)", "no errors"
contains
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (.not. good) then
      errors = errors + 1
      print "(2A)", "wrong: ", what
    end if
  end subroutine expect
end program attributes

subroutine keep(a, b, n, datatype)
  integer :: n, datatype, a(n), b(n)
  b = max(a, b)
end subroutine keep
