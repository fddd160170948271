! ranks: 2
! Callbacks are Fortran procedures and get Fortran's handles: reductions, error handlers, attributes, generalized
! requests, data representations.
module callbacks
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: handled = 0, copied = 0, deleted = 0, freed = 0, queried = 0, cancelled = 0, read = 0
  type(MPI_Comm) :: failing
contains
  ! The larger of two numbers by their distance from 10.
  subroutine farther(invec, inoutvec, len, datatype)
    type(C_PTR), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call C_F_POINTER(invec, a, [len])
    call C_F_POINTER(inoutvec, b, [len])
    if (datatype /= MPI_INTEGER) b = -1
    where (abs(a - 10) > abs(b - 10)) b = a
  end subroutine farther
  subroutine farther_c(invec, inoutvec, len, datatype)
    type(C_PTR), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    call farther(invec, inoutvec, int(len), datatype)
  end subroutine farther_c
  subroutine on_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code, class
    call MPI_Error_class(error_code, class)
    if (comm == failing .and. class == MPI_ERR_RANK) handled = handled + 1
  end subroutine on_error
  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copied = copied + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy
  subroutine delete(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    if (extra_state == 1000) deleted = deleted + int(attribute_val)
    ierror = MPI_SUCCESS
  end subroutine delete
  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    queried = queried + int(extra_state)
    call MPI_Status_set_elements(status, MPI_INTEGER, 6)
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 3
    status%MPI_TAG = 4
    ierror = MPI_SUCCESS
  end subroutine query
  subroutine free_it(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    freed = freed + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine free_it
  subroutine cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (.not. complete) cancelled = cancelled + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine cancel
  subroutine extent_of(datatype, extent, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    extent = 4
    if (datatype /= MPI_INTEGER .or. extra_state /= 5) extent = 1
    ierror = MPI_SUCCESS
  end subroutine extent_of
  subroutine negate(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(C_PTR), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: to(:), from(:)
    read = read + count
    call C_F_POINTER(userbuf, to, [int(position) + count])
    call C_F_POINTER(filebuf, from, [count])
    to(position + 1:position + count) = -from
    ierror = MPI_SUCCESS
  end subroutine negate
end module callbacks

program f08_callbacks
  use callbacks
  implicit none
  type(MPI_Op) :: op
  type(MPI_Errhandler) :: handler
  type(MPI_Comm) :: comm, again
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  type(MPI_File) :: file
  integer :: errors, rank, ranks, i, key, code, numbers(3), result(3)
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: flag

  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)

  numbers = [rank, 30 - rank, 10]
  call MPI_Op_create(farther, .true., op)
  call MPI_Allreduce(numbers, result, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
  call expect(all(result == [0, 30, 10]), "an operation")
  call MPI_Op_commutative(op, flag)
  call expect(flag, "a commutative operation")
  result = 0
  call MPI_Iallreduce(numbers, result, 3, MPI_INTEGER, op, MPI_COMM_WORLD, request)
  call MPI_Op_free(op)
  call MPI_Wait(request, status)
  call expect(all(result == [0, 30, 10]), "an operation that is freed while it works")
  call MPI_Op_create_c(farther_c, .true., op)
  call MPI_Allreduce(numbers, result, 3_MPI_COUNT_KIND, MPI_INTEGER, op, MPI_COMM_WORLD)
  call expect(all(result == [0, 30, 10]), "an operation with large counts")
  call MPI_Op_free(op)

  call MPI_Comm_dup(MPI_COMM_WORLD, failing)
  call MPI_Comm_create_errhandler(on_error, handler)
  call MPI_Comm_set_errhandler(failing, handler)
  call MPI_Errhandler_free(handler)
  call MPI_Send(i, 1, MPI_INTEGER, 99, 0, failing, code)
  call expect(handled == 1 .and. code /= MPI_SUCCESS, "an error handler")
  call MPI_Comm_free(failing)

  call MPI_Comm_dup(MPI_COMM_SELF, comm)
  call MPI_Comm_create_keyval(copy, delete, key, 1000_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, key, 5_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(comm, again)
  call MPI_Comm_get_attr(again, key, value, flag)
  call expect(flag .and. value == 1005 .and. copied == 1, "a copied attribute")
  call MPI_Comm_set_attr(again, key, 7_MPI_ADDRESS_KIND)
  call expect(deleted == 1005, "an attribute that is replaced")
  call MPI_Comm_free(again)
  call MPI_Comm_delete_attr(comm, key)
  call expect(deleted == 1005 + 7 + 5, "deleted attributes")
  call MPI_Comm_free_keyval(key)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, key, -12345678901_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(comm, again)
  call MPI_Comm_set_attr(comm, key, 1_MPI_ADDRESS_KIND)
  call MPI_Comm_get_attr(again, key, value, flag)
  call expect(flag .and. value == -12345678901_MPI_ADDRESS_KIND, "MPI_COMM_DUP_FN")
  call MPI_Comm_free(again)
  call MPI_Comm_free_keyval(key)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, key, 1_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(comm, again)
  call MPI_Comm_get_attr(again, key, value, flag)
  call expect(.not. flag, "MPI_COMM_NULL_COPY_FN")
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
  call expect(flag .and. value >= 32767, "a predefined attribute")

  call MPI_Grequest_start(query, free_it, cancel, 10_MPI_ADDRESS_KIND, request)
  call MPI_Test(request, flag, status)
  call expect(.not. flag, "a generalized request in work")
  call MPI_Cancel(request)
  call MPI_Grequest_complete(request)
  call MPI_Wait(request, status)
  call MPI_Get_count(status, MPI_INTEGER, i)
  call expect(i == 6 .and. status%MPI_SOURCE == 3 .and. status%MPI_TAG == 4, "the status of a generalized request")
  call expect(queried == 10 .and. freed == 10 .and. cancelled == 10, "callbacks of a generalized request")

  call MPI_Register_datarep("negated", negate, MPI_CONVERSION_FN_NULL, extent_of, 5_MPI_ADDRESS_KIND)
  call MPI_File_open(MPI_COMM_SELF, merge("f08_callbacks.0", "f08_callbacks.1", rank == 0), &
    MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
  call MPI_File_write(file, [1, 2, 3], 3, MPI_INTEGER, status)
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, "negated", MPI_INFO_NULL, code)
  if (code == MPI_SUCCESS) then
    call MPI_File_read(file, result, 3, MPI_INTEGER, status)
    call expect(all(result == [-1, -2, -3]) .and. read == 3, "a data representation")
  end if
  call MPI_File_close(file)
  call MPI_Finalize()
  if (errors == 0) print "(A)", "no errors"
contains
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (.not. good) then
      errors = errors + 1
      print "(A, I0, 2A)", "rank ", rank, ", wrong: ", what
    end if
  end subroutine expect
end program f08_callbacks
