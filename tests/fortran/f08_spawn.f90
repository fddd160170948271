! ranks: 1
! Programs that others start: lists of texts end with a blank one, and lose the blanks at their ends.
program f08_spawn
  use mpi_f08
  implicit none
  type(MPI_Comm) :: parent, children
  character(len=12) :: list(4) = ["  one       ", "two words   ", "-three      ", "            "]
  character(len=12) :: lists(2, 3), commands(2), argument
  character(len=200) :: self
  integer :: good, total, i, codes(2), number
  type(MPI_Info) :: infos(2)

  call MPI_Init()
  call MPI_Comm_get_parent(parent)
  if (parent /= MPI_COMM_NULL) then
    good = 0
    if (command_argument_count() == 3) then
      good = 1
      do i = 1, 3
        call get_command_argument(i, argument)
        if (argument /= adjustl(list(i))) good = 0
      end do
    else if (command_argument_count() == 2) then
      ! The second of several programs has its own list.
      call which_program(number)
      call get_command_argument(2, argument)
      if (argument == merge("first ", "second", number == 0)) good = 1
    end if
    call MPI_Reduce(good, total, 1, MPI_INTEGER, MPI_SUM, 0, parent)
    call MPI_Comm_disconnect(parent)
    call MPI_Finalize()
    stop
  end if
  call get_command_argument(0, self)
  call MPI_Comm_spawn("  " // self, list, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, children, codes)
  good = 0
  call MPI_Reduce(good, total, 1, MPI_INTEGER, MPI_SUM, MPI_ROOT, children)
  call MPI_Comm_disconnect(children)
  if (total /= 2 .or. any(codes /= MPI_SUCCESS)) print "(A, I0)", "wrong: arguments of spawned programs, good: ", total
  commands = "./program"
  lists(1, :) = ["a           ", "first       ", "            "]
  lists(2, :) = ["b           ", "second      ", "            "]
  infos = MPI_INFO_NULL
  call MPI_Comm_spawn_multiple(2, commands, lists, [1, 1], infos, 0, MPI_COMM_SELF, children, MPI_ERRCODES_IGNORE)
  call MPI_Reduce(good, i, 1, MPI_INTEGER, MPI_SUM, MPI_ROOT, children)
  call MPI_Comm_disconnect(children)
  if (i /= 2) print "(A, I0)", "wrong: arguments of several programs, good: ", i
  call MPI_Finalize()
  if (total == 2 .and. i == 2) print "(A)", "no errors"
contains
  ! Which of the programs this is.
  subroutine which_program(number)
    integer, intent(out) :: number
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: found
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, value, found)
    number = merge(int(value), -1, found)
  end subroutine which_program
end program f08_spawn
