/* Children that tell by their end whether all was well. */
#ifndef FORK_H
#define FORK_H

#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

/* The child exits with 0. */
static inline void ends_well(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A child comes and goes: memory that was shared in place is private then. */
static inline void go_apart(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    ends_well(child);
}

#endif
