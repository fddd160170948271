c     What the Fortran programs of the NAS Parallel Benchmarks call at
c     their end, in place of their own: the result in the form of
c     tern_mpi_bench. tern-bench compiles this with the programs of the
c     folder that --npb names.
      subroutine print_results(name, class, n1, n2, n3, niter,
     >               nprocs_compiled, nprocs_total,
     >               t, mops, optype, verified, npbversion,
     >               compiletime, cs1, cs2, cs3, cs4, cs5, cs6, cs7)
      implicit none
      character*(*) name
      character*1 class
      integer n1, n2, n3, niter, nprocs_compiled, nprocs_total, i
      double precision t, mops
      character*(*) optype, npbversion, compiletime
      character*(*) cs1, cs2, cs3, cs4, cs5, cs6, cs7
      logical verified
      character*2 lower

      if (.not. verified) then
         write (0, '(a, a)') name, ': the result is wrong'
         stop 1
      endif
      lower = name(1:2)
      do i = 1, 2
         lower(i:i) = char(ior(ichar(lower(i:i)), 32))
      end do
      write (*, '(a, a, f16.1, a)') lower, ' 0 ', t * 1d6, ' us'
      end
