/* Calls whose instructions a profiler counts. */
#include "bench.h"

#include <stdlib.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <stddef.h>
#include <unistd.h>

/* The two calls that are counted: nothing else may happen in here. */
__attribute__((noinline)) void counted_send(const void *buffer, int count, MPI_Comm comm)
{
    MPI_Send(buffer, count, MPI_BYTE, 1, 1, comm);
}

__attribute__((noinline)) void counted_receive(void *buffer, int count, MPI_Comm comm)
{
    MPI_Recv(buffer, count, MPI_BYTE, 1, 1, comm, MPI_STATUS_IGNORE);
}

/* A socket between the two ranks beside MPI: rank 0 hears on it that a message is there without
 * looking for it, which would count as waiting or take the message off its path. */
static int side_channel(void)
{
    long pid = getpid();
    MPI_Bcast(&pid, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    /* An abstract name: no file. */
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tern-mpi-bench-%ld", pid);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    int socket_of_rank = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_of_rank < 0)
        fail("pingpong_count: no socket");
    if (world_rank == 0 && bind(socket_of_rank, (struct sockaddr *)&name, size) != 0)
        fail("pingpong_count: cannot bind a socket");
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 1 && connect(socket_of_rank, (struct sockaddr *)&name, size) != 0)
        fail("pingpong_count: cannot connect a socket");
    return socket_of_rank;
}

/* A fixed number of ping-pongs. Rank 0 receives only when the answer has been sent, so that no
 * instruction is spent on waiting. */
void run_pingpong_count(void)
{
    if (world_size != 2)
        fail("pingpong_count needs two ranks");
    long size = opt.sizes ? opt.sizes[0] : 8;
    char *buffer = memory((size_t)size), sent = 1;
    int aside = side_channel();
    for (long i = 0; i < opt.iterations; i++) {
        if (world_rank == 0) {
            counted_send(buffer, (int)size, MPI_COMM_WORLD);
            if (recv(aside, &sent, 1, 0) != 1)
                fail("pingpong_count: the socket is closed");
            counted_receive(buffer, (int)size, MPI_COMM_WORLD);
        } else {
            MPI_Recv(buffer, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            if (send(aside, &sent, 1, 0) != 1)
                fail("pingpong_count: cannot tell rank 0");
        }
    }
    close(aside);
    free(buffer);
}
