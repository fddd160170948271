/* What a program pays that goes on without ranks that it has lost: agreement, and a communicator of those that live, by the functions that begin with
 * MPIX_. Not every library has these, and the program runs on all, so they are looked up. The size of a figure is the number of ranks. */
#define _GNU_SOURCE
#include "bench.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    int (*agree)(MPI_Comm, int *);
    int (*shrink)(MPI_Comm, MPI_Comm *);
    int (*acknowledge)(MPI_Comm);
    /* A rank has died, and some library may say so once more. */
    int lost;
} functions;

static void *function(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (found == NULL)
        fail("the library has no %s", name);
    return found;
}

static functions look_up(void)
{
    return (functions){function("MPIX_Comm_agree"), function("MPIX_Comm_shrink"), function("MPIX_Comm_failure_ack"), 0};
}

static void agree(void *context, long iterations)
{
    functions *f = context;
    for (long i = 0; i < iterations; i++) {
        int flag = 1, code = f->agree(MPI_COMM_WORLD, &flag);
        if (code != MPI_SUCCESS && f->lost)
            f->acknowledge(MPI_COMM_WORLD);
        else if (code != MPI_SUCCESS || flag != 1)
            fail("MPIX_Comm_agree has failed: code %d, flag %d", code, flag);
    }
}

static void shrink(void *context, long iterations)
{
    functions *f = context;
    for (long i = 0; i < iterations; i++) {
        MPI_Comm living;
        if (f->shrink(MPI_COMM_WORLD, &living) != MPI_SUCCESS)
            fail("MPIX_Comm_shrink has failed");
        MPI_Comm_free(&living);
    }
}

static void measured(const char *name, MPI_Comm comm, operation run, functions *f)
{
    figure found = measure(comm, run, f);
    if (world_rank == 0)
        report_us(name, world_size, &found, 1);
}

void run_agree(void)
{
    functions f = look_up();
    measured("agree", MPI_COMM_WORLD, agree, &f);
}

void run_shrink(void)
{
    functions f = look_up();
    measured("shrink", MPI_COMM_WORLD, shrink, &f);
}

/* What was measured once, of the slowest rank that lives: `comm` has those. */
static void report_slowest(const char *name, double mine, MPI_Comm comm)
{
    double slowest = 0;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
    figure once = {.median = slowest, .low = slowest, .high = slowest, .iterations = 1, .batches = 1};
    if (world_rank == 0)
        report_us(name, world_size, &once, 1);
}

/* All ranks wait for a message of the last one, which dies at a time that it has told them; the clock is that of one machine. How long after
 * that the slowest one has the error: one sample of each launch. */
void run_notice(void)
{
    functions f = look_up();
    MPI_Comm living;
    int last = world_size - 1, flag = 1;
    /* In seconds: long enough for all to wait for it. */
    double death = now() + 0.1, mine;
    char byte;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Bcast(&death, 1, MPI_DOUBLE, last, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == last) {
        while (now() < death)
            ;
        raise(SIGKILL);
        pause();
    }
    if (MPI_Recv(&byte, 1, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        fail("a rank that was killed has sent a message");
    mine = now() - death;
    do
        f.acknowledge(MPI_COMM_WORLD);
    while (f.agree(MPI_COMM_WORLD, &flag) != MPI_SUCCESS);
    if (f.shrink(MPI_COMM_WORLD, &living) != MPI_SUCCESS)
        fail("MPIX_Comm_shrink has failed");
    report_slowest("notice", mine, living);
    MPI_Comm_free(&living);
}

/* The last rank dies. The first agreement begins at that moment, and ends when the loss is known: one sample of each launch. Then the same as
 * before the loss, which all living ranks have acknowledged. */
void run_lost(void)
{
    functions f = look_up();
    MPI_Comm living;
    int flag = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    /* What takes longer for the first time is not of the loss. */
    agree(&f, 10);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == world_size - 1) {
        raise(SIGKILL);
        pause();
    }
    f.lost = 1;
    double start = now(), mine;
    f.agree(MPI_COMM_WORLD, &flag);
    mine = now() - start;
    f.acknowledge(MPI_COMM_WORLD);
    /* The loss may have become known behind some rank's agreement. */
    while (f.agree(MPI_COMM_WORLD, &flag) != MPI_SUCCESS)
        f.acknowledge(MPI_COMM_WORLD);
    if (f.shrink(MPI_COMM_WORLD, &living) != MPI_SUCCESS)
        fail("MPIX_Comm_shrink has failed");
    report_slowest("agree_first", mine, living);
    measured("agree_lost", living, agree, &f);
    measured("shrink_lost", living, shrink, &f);
    MPI_Comm_free(&living);
}
