/* A process that dies inside MPI_File_open, by SIGSYS. */
#ifndef OPENING_H
#define OPENING_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "refuse.h"
#include <fcntl.h>
#include <string.h>

/* From now on this process dies where it opens a file ("open"), or where it locks a part of one ("lock"), as the library does at the
 * beginning and at the end of MPI_File_open. Returns 0, or -1 with errno. */
static inline int die_opening(const char *where)
{
    struct sock_filter program[16], *at = load(program, offsetof(struct seccomp_data, nr));
    if (strcmp(where, "open") == 0) {
#ifdef SYS_open
        at = kill_at(at, SYS_open);
#endif
        at = kill_at(at, SYS_openat);
    } else {
        *at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 5);
        at = load(at, offsetof(struct seccomp_data, args[1]));
        at = kill_at(at, F_OFD_SETLK);
        at = kill_at(at, F_OFD_SETLKW);
    }
    return put_in_force(program, at);
}

#endif
