! ranks: 1 2
! Types, operators, generics for large counts, optional ierror, texts, LOGICALs, and what needs no partner.
program f08_basics
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(MPI_Comm) :: comm, grid, line
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Request) :: requests(3)
  type(MPI_Info) :: info
  type(MPI_Group) :: group
  type(MPI_Datatype) :: datatype, types(4)
  type(MPI_Message) :: message
  type(MPI_File) :: file
  type(MPI_Win) :: window
  integer :: old(MPI_STATUS_SIZE), rank, ranks, errors, code, i, n, provided, class
  integer :: dims(2), coords(2), indices(3), outcount, combiner, whole(10), addresses
  integer(kind=MPI_COUNT_KIND) :: large, many
  integer(kind=MPI_ADDRESS_KIND) :: lb, extent, bytes, place, lengths(8)
  integer(kind=MPI_OFFSET_KIND) :: offset
  logical :: flag, periods(2), inside
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=20) :: value
  type(C_PTR) :: pointer
  real(C_DOUBLE), pointer :: memory(:)
  double precision :: time

  errors = 0
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, code)
  call expect(code == MPI_SUCCESS .and. provided >= MPI_THREAD_FUNNELED, "Init_thread")
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)

  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call expect(comm /= MPI_COMM_WORLD .and. .not. comm == MPI_COMM_WORLD, "operators of handles")
  call expect(MPI_COMM_NULL == MPI_Comm(MPI_COMM_NULL%MPI_VAL), "a handle's value")
  call MPI_Comm_set_name(comm, "a name with blanks   ")
  call MPI_Comm_get_name(comm, name, n)
  call expect(name == "a name with blanks" .and. n == 18, "names lose the blanks at their end")
  call MPI_Comm_test_inter(comm, flag)
  call expect(.not. flag, "LOGICAL results")

  ! Statuses in both forms.
  i = -1
  call MPI_Irecv(i, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7, comm, requests(1))
  call MPI_Isend(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 7, comm, requests(2))
  requests(3) = MPI_REQUEST_NULL
  call MPI_Waitsome(3, requests, outcount, indices, MPI_STATUSES_IGNORE)
  call expect(outcount >= 1 .and. minval(indices(1:outcount)) >= 1 .and. maxval(indices(1:outcount)) <= 2, &
    "indices count from 1")
  call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
  call expect(all([requests(1) == MPI_REQUEST_NULL, requests(2) == MPI_REQUEST_NULL]), "requests become null")
  call MPI_Waitany(3, requests, i, status)
  call expect(i == MPI_UNDEFINED, "no index")
  call MPI_Isend(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 8, comm, requests(1))
  call MPI_Mprobe(MPI_ANY_SOURCE, 8, comm, message, status)
  call expect(status%MPI_TAG == 8 .and. message /= MPI_MESSAGE_NULL, "Mprobe")
  call MPI_Mrecv(i, 1_MPI_COUNT_KIND, MPI_INTEGER, message, status)
  call expect(message == MPI_MESSAGE_NULL .and. i == mod(rank - 1 + ranks, ranks), "Mrecv, large count")
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  call MPI_Status_f082f(status, old)
  call expect(old(MPI_TAG) == 8 .and. old(MPI_SOURCE) == i, "a status as INTEGERs")
  call MPI_Status_f2f08(old, statuses(2))
  call MPI_Get_count(statuses(2), MPI_INTEGER, large)
  call expect(large == 1, "a count of MPI_COUNT_KIND")
  call MPI_Status_set_elements(status, MPI_INTEGER, 5000000000_MPI_COUNT_KIND)
  call MPI_Get_elements(status, MPI_INTEGER, large)
  call expect(large == 5000000000_MPI_COUNT_KIND, "elements beyond INTEGER")
  call MPI_Get_elements(status, MPI_INTEGER, n)
  call expect(n == MPI_UNDEFINED, "an INTEGER cannot say how many")

  ! Datatypes, with both kinds of counts.
  call MPI_Type_vector(3, 2, 5, MPI_REAL, datatype)
  call MPI_Type_get_extent(datatype, lb, extent)
  call expect(lb == 0 .and. extent == 48, "an extent")
  call MPI_Type_get_envelope(datatype, n, addresses, i, combiner)
  call expect(n == 3 .and. addresses == 0 .and. i == 1 .and. combiner == MPI_COMBINER_VECTOR, "an envelope")
  call MPI_Type_get_contents(datatype, 3, 0, 1, whole, lengths, types)
  call expect(all(whole(1:3) == [3, 2, 5]) .and. types(1) == MPI_REAL, "contents")
  call MPI_Type_free(datatype)
  call MPI_Type_contiguous(3000000000_MPI_COUNT_KIND, MPI_BYTE, datatype)
  call MPI_Type_size(datatype, many)
  call expect(many == 3000000000_MPI_COUNT_KIND, "a large datatype")
  call MPI_Type_free(datatype)
  call expect(datatype == MPI_DATATYPE_NULL, "a freed handle")
  call MPI_Type_create_f90_real(15, MPI_UNDEFINED, datatype)
  call MPI_Type_size(datatype, n)
  call expect(n == 8, "REAL by precision")
  call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, datatype)
  call expect(datatype == MPI_INTEGER8, "INTEGER by size")
  call MPI_Sizeof(time, n)
  call expect(n == 8, "MPI_Sizeof of a scalar")
  call MPI_Sizeof(whole, n)
  call expect(n == 4, "MPI_Sizeof of an array")
  call MPI_Sizeof(periods, n)
  call expect(n == 4, "MPI_Sizeof of LOGICALs")
  call PMPI_Sizeof(logical(.true., kind=8), n, ierror=i)
  call expect(n == 8 .and. i == 0, "PMPI_Sizeof of a LOGICAL")
  call MPI_Sizeof(logical(.true., kind=1), n)
  call expect(n == 1, "MPI_Sizeof of a short LOGICAL")
  call MPI_Sizeof(real(1, kind=selected_real_kind(18)), n)
  call expect(n == 16, "MPI_Sizeof of a long REAL")
  call MPI_Sizeof(real(1, kind=selected_real_kind(33)), n)
  call expect(n == 16, "MPI_Sizeof of a REAL of 16 bytes")
  call PMPI_Sizeof(cmplx(1, kind=selected_real_kind(33)), n, i)
  call expect(n == 32 .and. i == 0, "PMPI_Sizeof of a COMPLEX of 32 bytes")
  call MPI_Sizeof([int(1, kind=selected_int_kind(38))], n)
  call expect(n == 16, "MPI_Sizeof of INTEGERs of 16 bytes")

  ! Grids: LOGICAL arrays in both directions, more room than dimensions.
  dims = 0
  call MPI_Dims_create(ranks, 2, dims)
  call MPI_Cart_create(comm, 2, dims, [.true., .false.], .false., grid)
  periods = .false.
  call MPI_Cart_get(grid, 2, dims, periods, coords)
  call expect(periods(1) .and. .not. periods(2), "periods of a grid")
  call MPI_Cart_sub(grid, [.true., .false.], line)
  call MPI_Cartdim_get(line, n)
  call expect(n == 1, "a line of a grid")
  call MPI_Comm_free(line)
  call MPI_Comm_free(grid)

  ! Info: texts whose length the program says.
  call MPI_Info_create(info)
  call MPI_Info_set(info, "  key ", " some value ")
  value = "xxxxxxxxxxxxxxxxxxxx"
  n = len(value)
  call MPI_Info_get_string(info, "key", n, value, flag)
  call expect(flag .and. value == "some value" .and. n == 10, "a value of an info object")
  n = 0
  call MPI_Info_get_string(info, "key", n, value, flag)
  call expect(flag .and. n == 10, "the length alone")
  n = 4
  call MPI_Info_get_string(info, "key", n, value, flag)
  call expect(flag .and. n == 10 .and. value == "some", "a part of the value")
  call MPI_Info_get_string(info, "nothing", n, value, flag)
  call expect(.not. flag, "no value")
  call MPI_Info_free(info)

  call MPI_Comm_group(comm, group)
  call MPI_Group_size(group, n)
  call expect(n == ranks .and. group /= MPI_GROUP_EMPTY, "a group")
  call MPI_Group_free(group)

  ! Memory, windows, buffers.
  call MPI_Alloc_mem(80_MPI_ADDRESS_KIND, MPI_INFO_NULL, pointer)
  call C_F_POINTER(pointer, memory, [10])
  memory = rank
  call MPI_Get_address(memory, place)
  call expect(transfer(pointer, place) == place, "an address")
  call expect(MPI_Aint_diff(MPI_Aint_add(place, 8_MPI_ADDRESS_KIND), place) == 8, "arithmetic of addresses")
  call MPI_Win_create(memory, 80_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, comm, window)
  call MPI_Win_fence(0, window)
  call MPI_Put([1d0 * rank], 1, MPI_DOUBLE_PRECISION, mod(rank + 1, ranks), 3_MPI_ADDRESS_KIND, 1, &
    MPI_DOUBLE_PRECISION, window)
  call MPI_Win_fence(0, window)
  call expect(memory(4) == mod(rank - 1 + ranks, ranks), "a put")
  call MPI_Win_get_attr(window, MPI_WIN_SIZE, bytes, flag)
  call expect(flag .and. bytes == 80, "the size of a window")
  call MPI_Win_get_attr(window, MPI_WIN_BASE, bytes, flag)
  call expect(flag .and. bytes == place, "the base of a window")
  call MPI_Win_free(window)
  call MPI_Free_mem(memory)
  call MPI_Buffer_attach(whole, 40)
  call MPI_Buffer_detach(pointer, n)
  call expect(n == 40 .and. C_ASSOCIATED(pointer, C_LOC_of(whole(1))), "a detached buffer")
  call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0)
  call MPI_Buffer_detach(pointer, n)
  call expect(C_ASSOCIATED(pointer, C_LOC_of(MPI_BUFFER_AUTOMATIC)), "a detached automatic buffer")

  ! A file, with positions beyond INTEGER.
  call MPI_File_open(MPI_COMM_SELF, "f08_basics.data ", MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
    MPI_INFO_NULL, file)
  call MPI_File_seek(file, 6000000000_MPI_OFFSET_KIND, MPI_SEEK_SET)
  call MPI_File_get_position(file, offset)
  call expect(offset == 6000000000_MPI_OFFSET_KIND, "a position in a file")
  call MPI_File_close(file)
  call expect(file == MPI_FILE_NULL, "a closed file")

  ! Errors without ierror go to the handler, with it they come back.
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  call MPI_Send(n, 1, MPI_INTEGER, ranks, 1, comm, code)
  call MPI_Error_class(code, class)
  call expect(class == MPI_ERR_RANK, "an error class")
  call PMPI_Comm_free(comm)
  call expect(comm == MPI_COMM_NULL, "the PMPI form")
  time = MPI_Wtime()
  call expect(MPI_Wtime() >= time .and. MPI_Wtick() > 0, "time")
  call MPI_Finalize()
  call MPI_Finalized(inside)
  call expect(inside, "finalized")
  if (errors == 0) print "(A)", "no errors"
contains
  function C_LOC_of(variable) result(address)
    integer, target, intent(in) :: variable
    type(C_PTR) :: address
    address = C_LOC(variable)
  end function C_LOC_of
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (.not. good) then
      errors = errors + 1
      print "(A, I0, 2A)", "rank ", rank, ", wrong: ", what
    end if
  end subroutine expect
end program f08_basics
