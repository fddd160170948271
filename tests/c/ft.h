/* Calls of a job that has lost a rank (mpiexec --with-ft): each returns, and says what it may say. One that does not return in LIMIT seconds is told
 * by its name, and ends the rank. */
#ifndef FT_H
#define FT_H

#include "check.h"
#ifndef MPICH_NAME
#include <mpi-ext.h>
#endif
#include <signal.h>
#include <unistd.h>

#ifndef LIMIT
#define LIMIT 25
#endif

static const char *volatile tried;

static void hangs(int sig)
{
    char text[300];
    int length = snprintf(text, sizeof text, "rank %d: does not return: %s\n", rank, tried);
    (void)sig;
    if (write(2, text, length) < 0)
        _exit(4);
    _exit(3);
}

static inline int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

/* The class of what the call returns, which is in time. */
#define TRY(call) (tried = #call, alarm(LIMIT), called((call)))
static inline int called(int code)
{
    alarm(0);
    return class_of(code);
}

/* The lost rank is needed. */
#define NEEDS(call) \
    do { \
        int class_ = TRY(call); \
        CHECK(class_ == MPIX_ERR_PROC_FAILED, "class %d of %s", class_, #call); \
    } while (0)
/* It is not. */
#define WORKS(call) \
    do { \
        int class_ = TRY(call); \
        CHECK(class_ == MPI_SUCCESS, "class %d of %s", class_, #call); \
    } while (0)
/* It may have done its part before. */
#define MAY(call) \
    do { \
        int class_ = TRY(call); \
        CHECK(class_ == MPI_SUCCESS || class_ == MPIX_ERR_PROC_FAILED, "class %d of %s", class_, #call); \
    } while (0)

/* The rank that is lost: the last one. */
static inline int victim(void)
{
    return size - 1;
}

static inline void die(void)
{
    raise(SIGKILL);
}

/* Waits until this process knows of the loss. */
static inline void await_loss(void)
{
    int lost = 0;
    tried = "MPI_Comm_get_failed until it names the lost rank";
    alarm(LIMIT);
    while (lost == 0) {
        MPI_Group group;
        MPI_Comm_get_failed(MPI_COMM_WORLD, &group);
        MPI_Group_size(group, &lost);
        MPI_Group_free(&group);
    }
    alarm(0);
}

/* Starts MPI with errors returned; `living` has all but the one that will be lost. */
static MPI_Comm living = MPI_COMM_NULL;
static inline void begin_ft(int *argc, char ***argv)
{
    begin(argc, argv);
    signal(SIGALRM, hangs);
    MPI_Comm_split(MPI_COMM_WORLD, rank == victim() ? MPI_UNDEFINED : 0, rank, &living);
    if (living != MPI_COMM_NULL)
        MPI_Comm_set_errhandler(living, MPI_ERRORS_RETURN);
}

/* The others end; the loss decides the exit code unless a check has failed. */
static inline int finish_ft(void)
{
    tried = "MPI_Finalize";
    alarm(LIMIT);
    MPI_Finalize();
    alarm(0);
    if (failures == 0)
        printf("rank %d: all calls have returned as they should\n", rank);
    return failures ? 1 : 0;
}

#endif
