// ranks: 2
// An io_uring that shows neither as a descriptor nor as a mapping has memory pinned: what it reads is in the buffer, whatever messages
// the buffer was used for. In the first case the ring is registered with its thread (IORING_SETUP_REGISTERED_FD_ONLY), in the second its
// descriptor is with a child alone. System calls are in assembly, as liburing has them.
#define _GNU_SOURCE
#include "check.h"
#include <fcntl.h>
#include <stdint.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef IORING_SETUP_NO_MMAP
#define IORING_SETUP_NO_MMAP (1U << 14)
#endif
#ifndef IORING_SETUP_REGISTERED_FD_ONLY
#define IORING_SETUP_REGISTERED_FD_ONLY (1U << 15)
#endif
#define REGISTERED (1U << 31)

enum { BYTES = 1 << 20 };
static struct io_uring_params params;
static char *rings;
static struct io_uring_sqe *entries;
static int ring, file, registered;

static long call(long number, long a, long b, long c, long d)
{
#ifdef __x86_64__
    long result;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = 0, r9 __asm__("r9") = 0;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return result;
#elif defined __aarch64__
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d,
                  x4 __asm__("x4") = 0, x5 __asm__("x5") = 0;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
    return -38;
#endif
}

static void *area(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}

/* A ring that has the buffer registered; false if this kernel has none. */
static int begin_ring(char *buffer, int hidden)
{
    rings = area();
    entries = area();
    memset(&params, 0, sizeof params);
    registered = hidden;
    params.flags = IORING_SETUP_NO_MMAP | (hidden ? IORING_SETUP_REGISTERED_FD_ONLY : 0);
    /* The last words of the offsets: where the rings and the entries are to be. */
    ((uint64_t *)&params.cq_off)[4] = (uintptr_t)rings;
    ((uint64_t *)&params.sq_off)[4] = (uintptr_t)entries;
    ring = (int)call(425, 8, (long)&params, 0, 0);
    struct {
        void *base;
        size_t length;
    } run = {buffer, BYTES};
    return ring >= 0 && call(427, ring, IORING_REGISTER_BUFFERS | (hidden ? REGISTERED : 0), (long)&run, 1) == 0;
}

/* Reads the file into the registered buffer; the bytes. */
static int read_fixed(char *buffer)
{
    unsigned *tail = (unsigned *)(rings + params.sq_off.tail), *array = (unsigned *)(rings + params.sq_off.array);
    struct io_uring_sqe entry = {.opcode = IORING_OP_READ_FIXED, .fd = file, .addr = (uintptr_t)buffer, .len = BYTES};
    entries[0] = entry;
    array[0] = 0;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    long entered = call(426, ring, 1, 1, IORING_ENTER_GETEVENTS | (registered ? 1U << 4 : 0));
    return entered == 1 ? ((struct io_uring_cqe *)(rings + params.cq_off.cqes))->res : (int)entered;
}

/* As often as it takes until memory is promoted. */
static void exchange(char *to, char *from)
{
    for (int turn = 0; turn < 400; turn++)
        for (int half = 0; half < 2; half++) {
            if (half == rank)
                MPI_Send(from, BYTES, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(to, BYTES, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    char name[] = "/tmp/tern-ring-XXXXXX", *want = malloc(BYTES), *other = malloc(BYTES);
    file = mkstemp(name);
    unlink(name);
    memset(want, 7, BYTES);
    memset(other, 1, BYTES);
    CHECK(write(file, want, BYTES) == BYTES);
    /* A ring of the descriptor's child first: the other one stays registered with this thread. */
    for (int hidden = 0; hidden <= 1; hidden++) {
        char *buffer = malloc(BYTES);
        memset(buffer, 2, BYTES);
        int there = begin_ring(buffer, hidden), all, go[2], done[2];
        MPI_Allreduce(&there, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (!all) {
            if (rank == 0)
                printf("skipped: this kernel has no io_uring without a mapping, or refuses it\n");
            MPI_Finalize();
            return 0;
        }
        CHECK(pipe(go) == 0 && pipe(done) == 0);
        pid_t child = hidden ? 0 : fork();
        if (!hidden && child == 0) {
            char turn;
            int result = read(go[0], &turn, 1) == 1 ? read_fixed(buffer) : -1;
            _exit(write(done[1], &result, sizeof result) != sizeof result);
        }
        if (!hidden)
            close(ring);
        exchange(buffer, other);
        memset(buffer, 0, BYTES);
        int result = -1;
        if (hidden)
            result = read_fixed(buffer);
        else
            CHECK(write(go[1], "x", 1) == 1 && read(done[0], &result, sizeof result) == sizeof result && waitpid(child, NULL, 0) == child);
        CHECK(result == BYTES, "%d bytes", result);
        CHECK(memcmp(buffer, want, BYTES) == 0, "hidden %d: what was read is not in the buffer", hidden);
    }
    return finish();
}
