! A program as it was compiled with Open MPI's module mpi_f08: interfaces, types and COMMON blocks are those of that module.
module interfaces
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  type, bind(C) :: handle
    integer :: value
  end type handle
  type, bind(C) :: status_type
    integer :: source, tag, error, cancelled, count(2)
  end type status_type
  interface
    subroutine mpi_init_f08(ierror)
      integer, optional, intent(out) :: ierror
    end subroutine mpi_init_f08
    subroutine mpi_finalize_f08(ierror)
      integer, optional, intent(out) :: ierror
    end subroutine mpi_finalize_f08
    subroutine mpi_comm_rank_f08(comm, rank, ierror)
      import
      type(handle), intent(in) :: comm
      integer, intent(out) :: rank
      integer, optional, intent(out) :: ierror
    end subroutine mpi_comm_rank_f08
    subroutine mpi_comm_size_f08(comm, size, ierror)
      import
      type(handle), intent(in) :: comm
      integer, intent(out) :: size
      integer, optional, intent(out) :: ierror
    end subroutine mpi_comm_size_f08
    subroutine mpi_comm_dup_f08(comm, copy, ierror)
      import
      type(handle), intent(in) :: comm
      type(handle), intent(out) :: copy
      integer, optional, intent(out) :: ierror
    end subroutine mpi_comm_dup_f08
    subroutine mpi_comm_test_inter_f08(comm, flag, ierror)
      import
      type(handle), intent(in) :: comm
      logical, intent(out) :: flag
      integer, optional, intent(out) :: ierror
    end subroutine mpi_comm_test_inter_f08
    subroutine mpi_irecv_f08(buf, count, datatype, source, tag, comm, request, ierror)
      import
      type(*), dimension(*) :: buf
      integer, intent(in) :: count, source, tag
      type(handle), intent(in) :: datatype, comm
      type(handle), intent(out) :: request
      integer, optional, intent(out) :: ierror
    end subroutine mpi_irecv_f08
    subroutine mpi_send_f08(buf, count, datatype, dest, tag, comm, ierror)
      import
      type(*), dimension(*), intent(in) :: buf
      integer, intent(in) :: count, dest, tag
      type(handle), intent(in) :: datatype, comm
      integer, optional, intent(out) :: ierror
    end subroutine mpi_send_f08
    subroutine pmpi_wait_f08(request, status, ierror)
      import
      type(handle), intent(inout) :: request
      type(status_type) :: status
      integer, optional, intent(out) :: ierror
    end subroutine pmpi_wait_f08
    subroutine mpi_wait_f08(request, status, ierror)
      import
      type(handle), intent(inout) :: request
      integer :: status(6)
      integer, optional, intent(out) :: ierror
    end subroutine mpi_wait_f08
    subroutine mpi_allreduce_f08(sendbuf, recvbuf, count, datatype, op, comm, ierror)
      import
      type(*), dimension(*) :: sendbuf, recvbuf
      integer, intent(in) :: count
      type(handle), intent(in) :: datatype, op, comm
      integer, optional, intent(out) :: ierror
    end subroutine mpi_allreduce_f08
    subroutine mpi_type_get_name_f08(datatype, name, length, ierror)
      import
      type(handle), intent(in) :: datatype
      character(len=64), intent(out) :: name
      integer, intent(out) :: length
      integer, optional, intent(out) :: ierror
    end subroutine mpi_type_get_name_f08
    subroutine mpi_comm_create_keyval_f08(copy, delete, key, state, ierror)
      external :: copy, delete
      integer, intent(out) :: key
      integer(kind=8), intent(in) :: state
      integer, optional, intent(out) :: ierror
    end subroutine mpi_comm_create_keyval_f08
    subroutine mpi_comm_set_attr_f08(comm, key, value, ierror)
      import
      type(handle), intent(in) :: comm
      integer, intent(in) :: key
      integer(kind=8), intent(in) :: value
      integer, optional, intent(out) :: ierror
    end subroutine mpi_comm_set_attr_f08
    subroutine mpi_comm_get_attr_f08(comm, key, value, flag, ierror)
      import
      type(handle), intent(in) :: comm
      integer, intent(in) :: key
      integer(kind=8), intent(out) :: value
      logical, intent(out) :: flag
      integer, optional, intent(out) :: ierror
    end subroutine mpi_comm_get_attr_f08
    subroutine mpix_comm_is_revoked_f08(comm, flag, ierror)
      import
      type(handle), intent(in) :: comm
      integer, intent(out) :: flag
      integer, optional, intent(out) :: ierror
    end subroutine mpix_comm_is_revoked_f08
    subroutine mpix_comm_agree_f08(comm, flag, ierror)
      import
      type(handle), intent(in) :: comm
      integer, intent(inout) :: flag
      integer, optional, intent(out) :: ierror
    end subroutine mpix_comm_agree_f08
    subroutine pmpix_comm_failure_ack_f08(comm, ierror)
      import
      type(handle), intent(in) :: comm
      integer, optional, intent(out) :: ierror
    end subroutine pmpix_comm_failure_ack_f08
    subroutine mpi_comm_set_errhandler_f08(comm, handler, ierror)
      import
      type(handle), intent(in) :: comm, handler
      integer, optional, intent(out) :: ierror
    end subroutine mpi_comm_set_errhandler_f08
    function equal(a, b) bind(C, name="__mpi_f08_types_MOD_ompi_comm_op_eq")
      import
      type(handle), intent(in) :: a, b
      integer(c_int) :: equal
    end function equal
    function different(a, b) bind(C, name="__mpi_f08_types_MOD_ompi_comm_op_ne")
      import
      type(handle), intent(in) :: a, b
      integer(c_int) :: different
    end function different
    subroutine dup_fn() bind(C, name="__mpi_f08_callbacks_MOD_mpi_comm_dup_fn")
    end subroutine dup_fn
    subroutine null_delete_fn() bind(C, name="__mpi_f08_callbacks_MOD_mpi_comm_null_delete_fn")
    end subroutine null_delete_fn
    subroutine mpi_sizeof_real64_r1(x, size, ierror)
      double precision, dimension(:) :: x
      integer, intent(out) :: size
      integer, optional, intent(out) :: ierror
    end subroutine mpi_sizeof_real64_r1
  end interface
end module interfaces

program openmpi_f08
  use interfaces
  implicit none
  type(handle), parameter :: world = handle(0), null_comm = handle(2), int4 = handle(7), sum = handle(3)
  integer :: in_place(1), status_ignore(6), rank, ranks, got(1), own(1), ierror, n, key
  common /mpi_fortran_in_place/ in_place
  common /mpi_fortran_status_ignore/ status_ignore
  type(handle) :: comm, copy, request
  type(status_type) :: status
  character(len=64) :: name
  integer(kind=8) :: attribute
  double precision :: reals(3)
  logical :: flag
  call mpi_init_f08()
  call mpi_comm_rank_f08(world, rank)
  call mpi_comm_size_f08(world, ranks, ierror)
  own = rank
  if (ierror /= 0) error stop "an error of MPI_Comm_size"
  call mpi_comm_dup_f08(world, comm)
  if (equal(comm, world) /= 0 .or. equal(world, handle(0)) == 0 .or. different(comm, null_comm) == 0) error stop "operators"
  call mpi_comm_test_inter_f08(comm, flag)
  if (flag) error stop "a LOGICAL"
  call mpi_irecv_f08(got, 1, int4, mod(rank + 1, ranks), 5, comm, request)
  call mpi_send_f08(own, 1, int4, mod(rank + ranks - 1, ranks), 5, comm, ierror)
  call pmpi_wait_f08(request, status)
  if (got(1) /= mod(rank + 1, ranks) .or. status%source /= got(1) .or. status%tag /= 5) error stop "a message"
  call mpi_irecv_f08(got, 1, int4, rank, 6, comm, request)
  call mpi_send_f08(own, 1, int4, rank, 6, comm)
  call mpi_wait_f08(request, status_ignore)
  got = rank + 1
  call mpi_allreduce_f08(in_place, got, 1, int4, sum, comm)
  if (got(1) /= ranks * (ranks + 1) / 2) error stop "in place"
  call mpi_type_get_name_f08(int4, name, n)
  if (name /= "MPI_INTEGER" .or. n /= 11) error stop "a name"
  call mpi_comm_create_keyval_f08(dup_fn, null_delete_fn, key, 0_8)
  call mpi_comm_set_attr_f08(comm, key, 12345678901_8)
  call mpi_comm_dup_f08(comm, copy)
  call mpi_comm_get_attr_f08(copy, key, attribute, flag)
  if (.not. flag .or. attribute /= 12345678901_8) error stop "an attribute"
  call mpi_sizeof_real64_r1(reals, n)
  if (n /= 8) error stop "MPI_Sizeof"
  ! Extensions; the flag is an INTEGER in this module.
  call mpix_comm_is_revoked_f08(comm, n, ierror)
  if (ierror /= 0 .or. n /= 0) error stop "MPIX_Comm_is_revoked"
  call mpi_comm_set_errhandler_f08(handle(1), handle(2))
  call mpix_comm_agree_f08(null_comm, n, ierror)
  if (ierror /= 5) error stop "MPIX_Comm_agree of nothing"
  call pmpix_comm_failure_ack_f08(null_comm, ierror)
  if (ierror /= 5) error stop "MPIX_Comm_failure_ack of nothing"
  call mpi_finalize_f08()
  print "(A)", "no errors"
end program openmpi_f08
