/* Refuses system calls of this process and its children from now on, with errors, as the seccomp
 * filters of containers do. */
#ifndef REFUSE_H
#define REFUSE_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Filter instructions: each function writes some and returns the place behind them. */
static inline struct sock_filter *load(struct sock_filter *at, size_t place)
{
    *at = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)place);
    return at + 1;
}

/* If the loaded word is this, the answer is this error; otherwise it goes on. */
static inline struct sock_filter *refuse(struct sock_filter *at, unsigned word, unsigned error)
{
    at[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word, 0, 1);
    at[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    return at + 2;
}

/* If the loaded word is this, the process dies; otherwise it goes on. */
static inline struct sock_filter *kill_at(struct sock_filter *at, unsigned word)
{
    at[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word, 0, 1);
    at[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    return at + 2;
}

/* The calls that read or write another process's memory. */
static inline struct sock_filter *refuse_copying(struct sock_filter *at, unsigned error)
{
    at = refuse(at, SYS_process_vm_readv, error);
    at = refuse(at, SYS_process_vm_writev, error);
    return refuse(at, SYS_ptrace, error);
}

/* Ends the program and puts it in force. Returns 0, or -1 with errno. */
static inline int put_in_force(struct sock_filter *program, struct sock_filter *at)
{
    *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {.len = (unsigned short)(at - program), .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

#endif
