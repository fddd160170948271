/* What the integer sort of the NAS Parallel Benchmarks calls at its end, in place of its own: the
 * result in the form of tern_mpi_bench. The size is that of the keys of all ranks, in bytes.
 * tern-bench compiles this with IS/is.c of the folder that --npb names. */
#include <stdio.h>
#include <stdlib.h>

void c_print_results(char *name, char class, int n1, int n2, int n3, int niter, int nprocs_compiled,
                     int nprocs_total, double t, double mops, char *optype, int passed_verification,
                     char *npbversion, char *compiletime, char *mpicc, char *clink, char *cmpi_lib,
                     char *cmpi_inc, char *cflags, char *clinkflags)
{
    (void)name, (void)n3, (void)niter, (void)nprocs_compiled, (void)nprocs_total, (void)mops;
    (void)optype, (void)npbversion, (void)compiletime, (void)mpicc, (void)clink, (void)cmpi_lib;
    (void)cmpi_inc, (void)cflags, (void)clinkflags;
    if (!passed_verification) {
        fprintf(stderr, "is: class %c: the keys are not sorted\n", class);
        exit(1);
    }
    printf("is %ld %.1f us\n", 4L * n1 * (n2 ? n2 : 1), t * 1e6);
}
