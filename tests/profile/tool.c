/* A profiling tool over PMPI (MPI 5.0 section 15.2): calls and bytes of every function, by communicator. It is
 * loaded with LD_PRELOAD, or linked in front of the library. Each rank prints its table at MPI_Finalize;
 * MPI_Pcontrol(0) stops counting, MPI_Pcontrol(1) goes on. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was counted for one function on one communicator. */
struct counts {
    char comm[MPI_MAX_OBJECT_NAME];
    long long calls, bytes;
    struct counts *next;
};

struct function {
    const char *name;
    struct counts *counts;
    struct function *next;
};

static struct function *functions;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_off;

static void report(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (struct function *f = functions; f; f = f->next)
        for (struct counts *c = f->counts; c; c = c->next)
            printf("profile: rank %d: %s%s%s: %lld calls, %lld bytes\n", rank, f->name, *c->comm ? " on " : "",
                   c->comm, c->calls, c->bytes);
    fflush(stdout);
}

static void note_call(struct function *function, MPI_Comm comm, long long bytes)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;
    if (is_off)
        return;
    if (comm != MPI_COMM_NULL) {
        PMPI_Comm_get_name(comm, name, &length);
        if (!*name)
            strcpy(name, "a communicator without a name");
    }
    pthread_mutex_lock(&lock);
    struct counts *at = function->counts;
    if (!at) {
        function->next = functions;
        functions = function;
    }
    while (at && strcmp(at->comm, name) != 0)
        at = at->next;
    if (!at) {
        at = calloc(1, sizeof *at);
        strcpy(at->comm, name);
        at->next = function->counts;
        function->counts = at;
    }
    at->calls++;
    at->bytes += bytes;
    pthread_mutex_unlock(&lock);
    if (strcmp(function->name, "MPI_Finalize") == 0)
        report();
}

static long long size_of(MPI_Count number, MPI_Datatype type)
{
    MPI_Count size = 0;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size_c(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    return number * size;
}

int MPI_Pcontrol(const int level, ...)
{
    is_off = level == 0;
    return PMPI_Pcontrol(level);
}

#include "wrappers.inc"
