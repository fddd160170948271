/* refuse WHAT COMMAND...: runs the command with system calls refused, as containers and old kernels
 * do. WHAT:
 *   copying    process_vm_readv, process_vm_writev and ptrace: EPERM
 *   absent     the same: ENOSYS, as kernels that are built without them
 *   container  copying, and pidfd_open, pidfd_getfd, membarrier, userfaultfd, kcmp, io_uring: EPERM
 *   maps       the ioctl that asks about one mapping (PROCMAP_QUERY): ENOTTY, as before Linux 6.11
 *   memfd_create, signalfd4, fallocate   that call alone: EPERM
 * It exits with 125 where filters are not permitted. */
#include "../c/refuse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} alone[] = {{"memfd_create", SYS_memfd_create}, {"signalfd4", SYS_signalfd4}, {"fallocate", SYS_fallocate}};

/* Its number, or 0. */
static unsigned number(const char *name)
{
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++)
        if (strcmp(name, alone[i].name) == 0)
            return alone[i].number;
    return 0;
}

/* Type and number of the request; its size, in the bits above them, may grow. */
enum { PROCMAP_QUERY_LOW = 'f' << 8 | 17 };

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    struct sock_filter program[64], *at = load(program, offsetof(struct seccomp_data, nr));
    if (strcmp(what, "copying") == 0) {
        at = refuse_copying(at, EPERM);
    } else if (strcmp(what, "absent") == 0) {
        at = refuse_copying(at, ENOSYS);
    } else if (strcmp(what, "container") == 0) {
        const unsigned calls[] = {SYS_pidfd_open,  SYS_pidfd_getfd, SYS_membarrier,
                                  SYS_userfaultfd, SYS_kcmp,        SYS_io_uring_setup};
        at = refuse_copying(at, EPERM);
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
            at = refuse(at, calls[i], EPERM);
    } else if (strcmp(what, "maps") == 0) {
        /* Another call than ioctl skips the four instructions that follow. */
        *at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 4);
        at = load(at, offsetof(struct seccomp_data, args[1]));
        *at++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff);
        at = refuse(at, PROCMAP_QUERY_LOW, ENOTTY);
    } else if (number(what)) {
        at = refuse(at, number(what), EPERM);
    } else {
        fprintf(stderr, "usage: %s copying|absent|container|maps|memfd_create|signalfd4|fallocate COMMAND...\n", argv[0]);
        return 2;
    }
    if (put_in_force(program, at) != 0) {
        perror("seccomp");
        return 125;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
