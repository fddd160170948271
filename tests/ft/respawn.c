// The pattern of programs that replace what they have lost: shrink, spawn, merge, split with the old ranks. The same program is the lost rank's
// successor, and goes on where the others are.
// mpiexec --with-ft, 3 ranks or more; a rank is lost in the third step: 1, or that of the first argument. With a second argument it takes what has
// started it with it, which is the agent of its host.
#include "repair.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEPS = 6, AT = 2 };

int main(int argc, char **argv)
{
    MPI_Comm world, parent;
    int rank, size, step = 0, sum = 0, n, victim = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_dup(MPI_COMM_WORLD, &world);
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    } else {
        world = repair(MPI_COMM_NULL, argv[0]);
    }
    int fresh = parent != MPI_COMM_NULL;
    do {
        // Those that live tell successors how far they are; whatever was half done is done again.
        MPI_Comm_rank(world, &rank);
        MPI_Comm_size(world, &size);
        int code = MPI_Allreduce(fresh ? &(int){0} : &step, &n, 1, MPI_INT, MPI_MAX, world);
        if (code == MPI_SUCCESS) {
            step = n;
            fresh = 0;
            if (step == AT && rank == victim && parent == MPI_COMM_NULL) {
                if (argc > 2 && kill(getppid(), SIGKILL) == 0)
                    pause();
                raise(SIGKILL);
            }
            code = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world);
        }
        int flag = code == MPI_SUCCESS;
        if (!flag)
            MPIX_Comm_revoke(world);
        if (MPIX_Comm_agree(world, &flag) != MPI_SUCCESS || !flag) {
            MPI_Comm broken = world;
            world = repair(broken, argv[0]);
            MPI_Comm_free(&broken);
            continue;
        }
        if (sum != size * (size - 1) / 2) {
            printf("rank %d: the sum is %d\n", rank, sum);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        step++;
    } while (step < STEPS);
    MPI_Comm_rank(world, &rank);
    printf("rank %d of %d has done %d steps%s\n", rank, size, step, parent == MPI_COMM_NULL ? "" : ", as a successor");
    MPI_Comm_free(&world);
    MPI_Finalize();
    return 0;
}
