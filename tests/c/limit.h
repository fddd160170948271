/* Limits of address space. Needs _GNU_SOURCE. */
#ifndef LIMIT_H
#define LIMIT_H

#include "check.h"
#include <sys/resource.h>
#include <unistd.h>

/* Bytes of address space that this process has. */
static inline size_t in_use(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld", &pages) == 1);
    if (file)
        fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* From now on it may have as much as now, and `more`. Gives the limit before. */
static inline struct rlimit limit_to(size_t more)
{
    struct rlimit before, limit;
    getrlimit(RLIMIT_AS, &before);
    limit = before;
    limit.rlim_cur = (rlim_t)in_use() + more;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    return before;
}

static inline void lift(struct rlimit before)
{
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
}

#endif
