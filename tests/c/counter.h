/* What the library counts, by name, through the tool interface. */
#ifndef COUNTER_H
#define COUNTER_H

#include "check.h"

typedef unsigned long long number;

static MPI_T_pvar_session counters = MPI_T_PVAR_SESSION_NULL;

/* The sum of that name and class, which counts from now on. */
static inline MPI_T_pvar_handle counter_of(const char *name, int class)
{
    MPI_T_pvar_handle handle;
    int index, count, provided;
    if (counters == MPI_T_PVAR_SESSION_NULL) {
        OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
        OK(MPI_T_pvar_session_create(&counters));
    }
    OK(MPI_T_pvar_get_index(name, class, &index));
    OK(MPI_T_pvar_handle_alloc(counters, index, NULL, &handle, &count));
    OK(MPI_T_pvar_start(counters, handle));
    return handle;
}

static inline MPI_T_pvar_handle counter(const char *name)
{
    return counter_of(name, MPI_T_PVAR_CLASS_COUNTER);
}

static inline number counted(MPI_T_pvar_handle handle)
{
    number value = 0;
    OK(MPI_T_pvar_read(counters, handle, &value));
    return value;
}

/* There is no counter any more. */
static inline void end_counting(void)
{
    OK(MPI_T_pvar_session_free(&counters));
    OK(MPI_T_finalize());
}

#endif
