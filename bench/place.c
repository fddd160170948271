/* Where the cores of ranks 0 and 1 are while something is measured: how long a cache line takes from one to the other.
 *
 * In a virtual machine that changes within a second, as the host moves the virtual cores, and every figure of two ranks
 * changes with it. So they look before each batch and after the last: beside a figure stands the shortest and the
 * longest way that was seen meanwhile. When they were not near each other all the time, the ranks wait until they are,
 * as long as there is patience, and measure once more; what they measured elsewhere is told, too.
 *
 * The line lies in a file that both map, so that no library has a part in it. Ranks that were not given one do not look. */
#include "place.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { TRIPS = 50, LOOKS = 3, MOMENT_MS = 5 };

/* As in the runner (placement.rs): above this multiple of the near way cores are far apart, below it they are one. */
static const double FAR = 2, ONE = 0.6;

/* Words in cache lines of their own, and not in ones that are fetched together. */
typedef struct {
    _Alignas(128) atomic_uint ping;
    _Alignas(128) atomic_uint pong;
} flags;

static flags *shared;
static unsigned turn;
static way seen;
static double waited;

static int looking(void)
{
    return opt.place != NULL && world_rank < 2 && world_size >= 2;
}

static void map(void)
{
    int file = open(opt.place, O_RDWR);
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED)
        fail("--place: cannot map %s", opt.place);
    close(file);
    shared = mapped;
}

/* Waits until the other rank has stored the turn, with release. */
static void until(MPI_Comm comm, atomic_uint *flag)
{
    for (long looks = 1; atomic_load_explicit(flag, memory_order_acquire) != turn; looks++)
        if (looks % 10000 == 0) {
            /* The other one may be in the library still, and need this one to look into it. */
            int found;
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
            sched_yield();
        }
}

void place_look(MPI_Comm comm)
{
    if (!looking())
        return;
    if (shared == NULL)
        map();
    double least = 1;
    /* The least counts: a core that is lost for a moment says nothing about where it is. */
    for (int look = 0; look < LOOKS; look++) {
        double start = now();
        for (int trip = 0; trip < TRIPS; trip++) {
            turn++;
            if (world_rank == 0) {
                /* Pairs with the other rank's `until`, as does its store with the one here. */
                atomic_store_explicit(&shared->ping, turn, memory_order_release);
                until(comm, &shared->pong);
            } else {
                until(comm, &shared->ping);
                atomic_store_explicit(&shared->pong, turn, memory_order_release);
            }
        }
        double each = (now() - start) / (2 * TRIPS);
        least = each < least ? each : least;
    }
    double ns = 1e9 * least;
    seen.least = seen.most == 0 || ns < seen.least ? ns : seen.least;
    seen.most = ns > seen.most ? ns : seen.most;
}

void place_begin(void)
{
    seen = (way){0, 0};
}

way place_seen(void)
{
    return seen;
}

void print_way(way w)
{
    if (w.most > 0)
        printf(" line_ns=%.1f,%.1f", w.least, w.most);
}

static int near(void)
{
    double ns = (double)opt.near_ns;
    return seen.least >= ONE * ns && seen.most <= FAR * ns;
}

int place_again(MPI_Comm comm)
{
    enum { WAIT, AGAIN, ENOUGH } verdict = ENOUGH;
    if (!looking() || opt.near_ns == 0)
        return 0;
    double start = now();
    for (int was_near = near();; was_near = 0) {
        if (world_rank == 0)
            verdict = was_near || 1e3 * (waited + now() - start) >= (double)opt.patience_ms ? ENOUGH
                      : near()                                                             ? AGAIN
                                                                                           : WAIT;
        int told = verdict;
        MPI_Bcast(&told, 1, MPI_INT, 0, comm);
        if (told != WAIT) {
            waited += now() - start;
            return told == AGAIN;
        }
        nanosleep(&(struct timespec){.tv_nsec = MOMENT_MS * 1000000L}, NULL);
        place_begin();
        MPI_Barrier(comm);
        place_look(comm);
    }
}
