/* Calls whose instructions a profiler counts. */
#include "bench.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <stddef.h>
#include <unistd.h>

#define COUNTED __attribute__((noinline)) void

/* The calls that are counted: nothing else may happen in here. */
COUNTED counted_send(const void *buffer, int count, MPI_Comm comm)
{
    MPI_Send(buffer, count, MPI_BYTE, 1, 1, comm);
}

COUNTED counted_receive(void *buffer, int count, MPI_Comm comm)
{
    MPI_Recv(buffer, count, MPI_BYTE, 1, 1, comm, MPI_STATUS_IGNORE);
}

COUNTED counted_persistent_send(MPI_Request *request)
{
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

COUNTED counted_persistent_receive(MPI_Request *request)
{
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

COUNTED counted_gather_give(const void *buffer, int count)
{
    MPI_Gather(buffer, count, MPI_BYTE, NULL, count, MPI_BYTE, 1, MPI_COMM_WORLD);
}

COUNTED counted_gather_take(const void *buffer, void *all, int count)
{
    MPI_Gather(buffer, count, MPI_BYTE, all, count, MPI_BYTE, 0, MPI_COMM_WORLD);
}

COUNTED counted_scatter_give(const void *all, void *buffer, int count)
{
    MPI_Scatter(all, count, MPI_BYTE, buffer, count, MPI_BYTE, 0, MPI_COMM_WORLD);
}

COUNTED counted_scatter_take(void *buffer, int count)
{
    MPI_Scatter(NULL, count, MPI_BYTE, buffer, count, MPI_BYTE, 1, MPI_COMM_WORLD);
}

COUNTED counted_reduce_give(const void *buffer, int count)
{
    MPI_Reduce(buffer, NULL, count / 8, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
}

COUNTED counted_reduce_take(const void *buffer, void *sum, int count)
{
    MPI_Reduce(buffer, sum, count / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

COUNTED counted_put(const long *from, MPI_Win win)
{
    MPI_Put(from, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
}

COUNTED counted_fetch_and_op(const long *from, long *result, MPI_Win win)
{
    MPI_Fetch_and_op(from, result, MPI_LONG, 1, 0, MPI_SUM, win);
}

COUNTED counted_compare_and_swap(const long *from, long *result, MPI_Win win)
{
    MPI_Compare_and_swap(from, from, result, MPI_LONG, 1, 0, win);
}

COUNTED counted_accumulate(const long *from, MPI_Win win)
{
    MPI_Accumulate(from, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win);
}

COUNTED counted_flush(MPI_Win win)
{
    MPI_Win_flush(1, win);
}

COUNTED counted_lock(MPI_Win win)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Win_unlock(1, win);
}

COUNTED counted_lock_nocheck(MPI_Win win)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, MPI_MODE_NOCHECK, win);
    MPI_Win_unlock(1, win);
}

COUNTED counted_locked_put(const long *from, MPI_Win win)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Put(from, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(1, win);
}

COUNTED counted_locked_put_nocheck(const long *from, MPI_Win win)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, MPI_MODE_NOCHECK, win);
    MPI_Put(from, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(1, win);
}

COUNTED counted_start(MPI_Group targets, MPI_Win win)
{
    MPI_Win_start(targets, 0, win);
}

COUNTED counted_start_nocheck(MPI_Group targets, MPI_Win win)
{
    MPI_Win_start(targets, MPI_MODE_NOCHECK, win);
}

COUNTED counted_idle_fence(MPI_Win win)
{
    MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, win);
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
        fail("no socket beside MPI");
    if (world_rank == 0 && bind(socket_of_rank, (struct sockaddr *)&name, size) != 0)
        fail("cannot bind a socket beside MPI");
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 1 && connect(socket_of_rank, (struct sockaddr *)&name, size) != 0)
        fail("cannot connect a socket beside MPI");
    return socket_of_rank;
}

/* A fixed number of ping-pongs, plain and by persistent requests. Rank 0 receives only when the answer
 * has been sent, so that no instruction is spent on waiting. */
void run_pingpong_count(void)
{
    if (world_size != 2)
        fail("pingpong_count needs two ranks");
    int size = opt.sizes ? (int)opt.sizes[0] : 8;
    char *buffer = memory((size_t)size), told = 1;
    int aside = side_channel();
    MPI_Request sends, receives;
    MPI_Send_init(buffer, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &sends);
    MPI_Recv_init(buffer, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &receives);
    for (long i = 0; i < 2 * opt.iterations; i++) {
        if (world_rank != 0) {
            MPI_Recv(buffer, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            if (send(aside, &told, 1, 0) != 1)
                fail("pingpong_count: cannot tell rank 0");
            continue;
        }
        if (i % 2)
            counted_persistent_send(&sends);
        else
            counted_send(buffer, size, MPI_COMM_WORLD);
        if (recv(aside, &told, 1, 0) != 1)
            fail("pingpong_count: the socket is closed");
        if (i % 2)
            counted_persistent_receive(&receives);
        else
            counted_receive(buffer, size, MPI_COMM_WORLD);
    }
    MPI_Request_free(&sends);
    MPI_Request_free(&receives);
    close(aside);
    free(buffer);
}

/* Collectives with a root, in which rank 0 gives to rank 1 and takes what rank 1 has given before. */
void run_rooted_count(void)
{
    if (world_size != 2)
        fail("rooted_count needs two ranks");
    int size = opt.sizes ? (int)opt.sizes[0] : 8;
    char *buffer = memory((size_t)size), *all = memory(2 * (size_t)size), told = 1;
    int aside = side_channel(), me = world_rank;
    memset(buffer, 0, (size_t)size);
    memset(all, 0, 2 * (size_t)size);
    for (long i = 0; i < opt.iterations; i++) {
        if (me == 0) {
            counted_gather_give(buffer, size);
            counted_scatter_give(all, buffer, size);
            counted_reduce_give(buffer, size);
            if (recv(aside, &told, 1, 0) != 1)
                fail("rooted_count: the socket is closed");
            counted_gather_take(buffer, all, size);
            counted_scatter_take(buffer, size);
            counted_reduce_take(buffer, all, size);
            continue;
        }
        MPI_Gather(buffer, size, MPI_BYTE, all, size, MPI_BYTE, 1, MPI_COMM_WORLD);
        MPI_Scatter(NULL, size, MPI_BYTE, buffer, size, MPI_BYTE, 0, MPI_COMM_WORLD);
        MPI_Reduce(buffer, all, size / 8, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
        MPI_Gather(buffer, size, MPI_BYTE, NULL, size, MPI_BYTE, 0, MPI_COMM_WORLD);
        MPI_Scatter(all, size, MPI_BYTE, buffer, size, MPI_BYTE, 1, MPI_COMM_WORLD);
        MPI_Reduce(buffer, NULL, size / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (send(aside, &told, 1, 0) != 1)
            fail("rooted_count: cannot tell rank 0");
    }
    close(aside);
    free(buffer);
    free(all);
}

/* One-sided calls of rank 0 on a word of rank 1, in an allocated window. */
void run_rma_count(void)
{
    if (world_size != 2)
        fail("rma_count needs two ranks");
    long *base, one = 1, result;
    MPI_Win win;
    MPI_Win_allocate(sizeof one, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    *base = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (long i = 0; world_rank == 0 && i < opt.iterations; i++) {
        counted_lock(win);
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        counted_put(&one, win);
        counted_flush(win);
        counted_fetch_and_op(&one, &result, win);
        counted_compare_and_swap(&one, &result, win);
        counted_accumulate(&one, win);
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 1 && *base != 3)
        fail("rma_count: the word is %ld, not 3", *base);
    MPI_Win_free(&win);
}

/* Calls of rank 0 that begin and end epochs, with and without the assertions that hold. A post was made before it is waited for. */
void run_epoch_count(void)
{
    if (world_size != 2)
        fail("epoch_count needs two ranks");
    long *base, one = 1;
    char told = 1;
    int aside = side_channel(), peer = 1 - world_rank;
    MPI_Win win;
    MPI_Group all, other;
    MPI_Win_allocate(sizeof one, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &peer, &other);
    *base = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (long i = 0; i < 2 * opt.iterations; i++) {
        int assert = i % 2 ? MPI_MODE_NOCHECK : 0;
        if (world_rank == 1) {
            MPI_Win_post(other, assert, win);
            if (send(aside, &told, 1, 0) != 1)
                fail("epoch_count: cannot tell rank 0");
            MPI_Win_wait(win);
            continue;
        }
        if (recv(aside, &told, 1, 0) != 1)
            fail("epoch_count: the socket is closed");
        if (assert)
            counted_start_nocheck(other, win);
        else
            counted_start(other, win);
        MPI_Win_complete(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (long i = 0; world_rank == 0 && i < opt.iterations; i++) {
        counted_lock_nocheck(win);
        counted_locked_put(&one, win);
        counted_locked_put_nocheck(&one, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (long i = 0; i < opt.iterations; i++)
        counted_idle_fence(win);
    if (world_rank == 1 && *base != 1)
        fail("epoch_count: the word is %ld, not 1", *base);
    MPI_Group_free(&all);
    MPI_Group_free(&other);
    MPI_Win_free(&win);
    close(aside);
}
