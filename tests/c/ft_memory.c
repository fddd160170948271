// ranks: 4
// mpiexec: --with-ft
// timeout: 300
// Memory and descriptors do not grow with agreements, revocations and shrinks, before a rank is lost and after.
//
// ft_memory [TIMES]: how often each is done, 500 unless told.
#include "ft.h"
#include <dirent.h>
#include <malloc.h>

static long heap(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 now = mallinfo2();
#else
    struct mallinfo now = mallinfo();
#endif
    return (long)now.uordblks + (long)now.hblkhd;
}

static int descriptors(void)
{
    DIR *open = opendir("/proc/self/fd");
    int n = 0;
    while (open && readdir(open))
        n++;
    if (open)
        closedir(open);
    return n;
}

/* All that each does is over at the others, too. */
static void meet(MPI_Comm comm)
{
    for (int i = 0; i < 10; i++)
        WORKS(MPI_Barrier(comm));
}

static void rounds(MPI_Comm comm, int times)
{
    for (int i = 0; i < times; i++) {
        MPI_Comm made;
        MPI_Request request;
        int flag = 3;
        WORKS(MPIX_Comm_agree(comm, &flag));
        WORKS(MPIX_Comm_iagree(comm, &flag, &request));
        WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
        WORKS(MPI_Comm_dup(comm, &made));
        WORKS(MPIX_Comm_agree(made, &flag));
        CHECK(flag == 3, "%d", flag);
        WORKS(MPI_Comm_free(&made));
        WORKS(MPI_Comm_dup(comm, &made));
        if (rank == i % (size - 1))
            WORKS(MPI_Comm_revoke(made));
        WORKS(MPIX_Comm_agree(made, &flag));
        WORKS(MPI_Comm_free(&made));
        WORKS(MPIX_Comm_shrink(comm, &made));
        WORKS(MPI_Comm_free(&made));
    }
    meet(comm);
}

/* Whatever the first rounds take may stay. Networks have buffers on the way, and the ids of revoked communicators make what members offer for a
 * new id longer, by a bit each. A piece of memory left in each round is more than that. */
static void grows_not(MPI_Comm comm, int times, const char *when)
{
    rounds(comm, times / 5 + 20);
    long bytes = heap();
    int files = descriptors();
    rounds(comm, times);
    long more = heap() - bytes;
    CHECK(more < 100000 + 16L * times, "%s: %ld bytes more after %d rounds", when, more, times);
    CHECK(descriptors() <= files + 2, "%s: %d descriptors, and %d before", when, descriptors(), files);
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 500, acked;
    begin_ft(&argc, &argv);
    grows_not(MPI_COMM_WORLD, times, "all live");
    if (rank == victim())
        die();
    await_loss();
    MPI_Comm small;
    WORKS(MPI_Comm_ack_failed(MPI_COMM_WORLD, 1, &acked));
    WORKS(MPIX_Comm_shrink(MPI_COMM_WORLD, &small));
    grows_not(small, times, "one is lost");
    WORKS(MPI_Comm_free(&small));
    return finish_ft();
}
