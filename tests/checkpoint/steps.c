/* Works in steps until the file of its first argument is there, and says after each step how many there were: long messages that are under way while
 * the rank computes, sums, and a window. At the end all numbers must be those of that many steps, whatever was done to the processes meanwhile.
 * Compiled with -DWITHOUT_WINDOW it has no window, for MANA. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Numbers of a message: more than any message that is copied twice. */
enum { COUNT = 100000 };

static double out[COUNT], in[COUNT];

/* The name of the file. After a restart by MANA the arguments of the program are not there any more. */
static char ends[4096];

int main(int argc, char **argv)
{
    int rank, size, end = 0;
    long steps = 0, wrong = 0, sum;
#ifndef WITHOUT_WINDOW
    long *words, one = 1;
    MPI_Win window;
#endif
    snprintf(ends, sizeof ends, "%s", argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#ifndef WITHOUT_WINDOW
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &words, &window);
    words[0] = 0;
#endif
    MPI_Barrier(MPI_COMM_WORLD);
    while (!end) {
        int left = (rank + size - 1) % size, right = (rank + 1) % size;
        MPI_Request requests[2];
        for (int i = 0; i < COUNT; i++)
            out[i] = (double)steps * size + rank;
        MPI_Irecv(in, COUNT, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, COUNT, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
        usleep(20000);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < COUNT; i++)
            wrong += in[i] != (double)steps * size + left;
        steps++;
#ifndef WITHOUT_WINDOW
        MPI_Win_fence(0, window);
        MPI_Accumulate(&one, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, window);
        MPI_Win_fence(0, window);
        wrong += words[0] != steps;
#endif
        MPI_Allreduce(&steps, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        wrong += sum != steps * size;
        if (rank == 0) {
            printf("step %ld\n", steps);
            fflush(stdout);
            end = access(ends, F_OK) == 0;
        }
        MPI_Bcast(&end, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
#ifndef WITHOUT_WINDOW
    MPI_Win_free(&window);
#endif
    MPI_Allreduce(&wrong, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0)
        printf("done: %ld steps, %ld wrong\n", steps, sum);
    return sum != 0;
}
