// ranks: 2 4
// mpiexec: -x TERN_PROMOTE=always
// A program forks while messages are under way to and from buffers that are used often, and so may be
// shared with peers. Parent and child must not see each other's writes, and every message arrives.
#include "check.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG = 300000, ROUNDS = 8 };

static char *in_data, *out_data, *kept;

static int is_all(const char *data, int value)
{
    for (int at = 0; at < LONG; at++)
        if (data[at] != (char)value)
            return 0;
    return 1;
}

static void exchange(int peer, int value)
{
    memset(out_data, value, LONG);
    MPI_Sendrecv(out_data, LONG, MPI_BYTE, peer, 1, in_data, LONG, MPI_BYTE, peer, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(is_all(in_data, value));
}

/* A child that sees the buffers as they were, and writes to all of them. */
static pid_t child(int value)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        int wrong = kept[0] != (char)value || kept[LONG - 1] != (char)value || out_data[7] != (char)value;
        memset(in_data, 99, LONG);
        memset(out_data, 99, LONG);
        memset(kept, 99, LONG);
        _exit(wrong);
    }
    return pid;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int peer = rank ^ 1;
    in_data = malloc(LONG);
    out_data = malloc(LONG);
    kept = malloc(LONG);
    for (int round = 0; round < ROUNDS; round++) {
        for (int turn = 0; turn < 20; turn++)
            exchange(peer, round + turn);
        /* The peer sends into this receive at some time around the fork, or after it. */
        MPI_Request requests[2];
        int value = 50 + round;
        MPI_Irecv(in_data, LONG, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[0]);
        memset(out_data, value, LONG);
        memset(kept, value, LONG);
        if (round % 2 == rank % 2)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(out_data, LONG, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[1]);
        pid_t pid = child(value);
        if (round % 2 != rank % 2)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(is_all(in_data, value));
        CHECK(is_all(out_data, value));
        CHECK(is_all(kept, value));
    }
    free(in_data);
    free(out_data);
    free(kept);
    return finish();
}
