! Shows whether a compiler passes arguments as Tern's library takes them; prints `good` if so. mpifort runs it once
! for each compiler.
program probe
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: C_LOC, C_PTR, C_INT64_T
  implicit none
  interface
    subroutine tern_probe_section(buffer, told) bind(C, name="tern_probe_section")
      import :: C_INT64_T
      type(*), dimension(..), intent(in) :: buffer
      integer(C_INT64_T), intent(out) :: told(5)
    end subroutine tern_probe_section
  end interface
  external :: ternprobetexts
  real, target :: a(10, 6)
  integer(C_INT64_T) :: told(5), address
  integer :: answer, failures
  integer(kind=MPI_ADDRESS_KIND) :: there

  failures = 0
  call tern_probe_section(a(2:10:3, 2:6:2), told)
  address = transfer(C_LOC(a(2, 2)), address)
  call expect(told(1) == address, "the address of a section")
  call expect(told(2) == 4, "the size of an element")
  call expect(told(3) == 2, "the rank of a section")
  call expect(told(4) == 3, "the extent of a section")
  call expect(told(5) == 12, "the stride of a section")
  call ternprobetexts("ab", answer, "cde")
  call expect(answer == 1, "the lengths of CHARACTER arguments")
  call MPI_Sizeof(a, answer)
  call expect(answer == 4, "MPI_Sizeof")
  call MPI_Get_address(MPI_BOTTOM, there)
  call expect(there == 0, "the address of MPI_BOTTOM (a COMMON block that the library shares)")
  call expect(storage_size(answer) == 32, "INTEGER of 4 bytes")
  call expect(storage_size(.true.) == 32, "LOGICAL of 4 bytes")
  if (failures == 0) print "(A)", "good"
contains
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (.not. good) then
      failures = failures + 1
      print "(A)", "not as expected: " // what
    end if
  end subroutine expect
end program probe
