! ranks: 1 2
! ways: all
! A program that has the names of ISO_C_BINDING from mpi_f08, which the modules of other libraries give on.
program f08_pointers
  use mpi_f08
  implicit none
  type(c_ptr) :: place, given
  integer, pointer :: x(:)
  integer :: bytes
  logical :: good
  call MPI_Init()
  call MPI_Alloc_mem(4000_MPI_ADDRESS_KIND, MPI_INFO_NULL, place)
  call c_f_pointer(place, x, [1000])
  x = 1
  good = sum(x) == 1000
  call MPI_Buffer_attach(x, 4000)
  call MPI_Buffer_detach(given, bytes)
  good = good .and. bytes == 4000 .and. c_associated(given, place)
  call MPI_Free_mem(x)
  call MPI_Finalize()
  if (good) print "(A)", "no errors"
end program f08_pointers
