// What the programs here have in common. Each wait is for the other rank, and so long that a rank sleeps in it.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mpi.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int own_rank, ranks;

#ifdef CATCH
// Stands in front of the C library's: a library that leaves a destructor with a thread calls it with its own handle. C++ objects of the
// program call it too, from the program's own code.
#ifdef __cplusplus
extern "C"
#endif
int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *handle)
{
    Dl_info info;
    if (dladdr((void *)destructor, &info) && (strstr(info.dli_fname, "libmpi") || strstr(info.dli_fname, "libtern"))) {
        fprintf(stderr, "left with a thread by %s\n", info.dli_fname);
        _exit(5);
    }
    int (*next)(void (*)(void *), void *, void *);
    *(void **)&next = dlsym(RTLD_NEXT, "__cxa_thread_atexit_impl");
    return next(destructor, object, handle);
}
#ifdef __cplusplus
extern "C"
#endif
int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    Dl_info info;
    if (destructor && dladdr((void *)destructor, &info) && (strstr(info.dli_fname, "libmpi") || strstr(info.dli_fname, "libtern"))) {
        fprintf(stderr, "left with a key by %s\n", info.dli_fname);
        _exit(5);
    }
    int (*next)(pthread_key_t *, void (*)(void *));
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_key_create");
    return next(key, destructor);
}
#endif

static inline void begin(int *argc, char ***argv, int level)
{
    int provided;
    MPI_Init_thread(argc, argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

// A child of fork that ends by exit: what runs at the end of its parent runs in it, too.
static inline void child_exits(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) exit(9);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 9 << 8) MPI_Abort(MPI_COMM_WORLD, 3);
}

// True in such a child, where nothing is left to finalize.
static inline int is_finalized(void)
{
    int initialized, final;
    MPI_Initialized(&initialized);
    MPI_Finalized(&final);
    return initialized && final;
}

// The others wait for a message of `from`, which comes late.
static inline void late(int from)
{
    int value = 7;
    if (is_finalized()) return;
    if (own_rank == from) {
        usleep(200000);
        for (int to = 0; to < ranks; to++)
            if (to != from) MPI_Send(&value, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    } else {
        value = 0;
        MPI_Recv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (value != 7) MPI_Abort(MPI_COMM_WORLD, 4);
    }
}

// All kinds of things, each with a sleep, and the end.
static inline void meet_and_finalize(void)
{
    int one = 1, sum = 0, *memory;
    MPI_Win win;
    if (is_finalized()) return;
    late(0);
    late(ranks - 1);
    if (own_rank == 0) usleep(200000);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    MPI_Win_free(&win);
    if (own_rank == 0) usleep(200000);
    MPI_Finalize();
    printf("rank %d ends, sum %d, %d\n", own_rank, sum, is_finalized());
    fflush(stdout);
}
