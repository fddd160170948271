/*
 * What a copy costs by each mechanism, in instructions of the guest: run where each takes a nanosecond of the machine's clock
 * (QEMU's -icount shift=0). Bytes are moved eight at a time by the kernel, and that is taken off. With the argument `nanoseconds`: in these,
 * where the clock is a clock.
 */
#include "harness.h"
#include <sys/uio.h>

#define MOST (4UL << 20)

/* Instructions, or nanoseconds, until now. */
static double clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static char *shared, *private;
static pid_t owner;
static int fd;
static uint64_t cookie;

static void mapped(char *into, size_t len) { memcpy(into, shared, len); }
static void cma(char *into, size_t len)
{
    struct iovec local = {into, len}, remote = {private, len};
    CHECK(process_vm_readv(owner, &local, 1, &remote, 1, 0) == (ssize_t)len);
}
static void module(char *into, size_t len) { CHECK(read_region(fd, into, cookie, 0, len) == 0); }
static void nothing(char *into, size_t len)
{
    (void)into, (void)len;
    syscall(SYS_getppid);
}
static void declare(char *into, size_t len)
{
    uint64_t made = region(fd, into, len, TERN_READ, 0);
    CHECK(destroy(fd, made) == 0);
}

static double each(void (*copy)(char *, size_t), char *into, size_t len)
{
    int times = len > 1 << 20 ? 100 : 1000;
    for (int i = 0; i < 10; i++) copy(into, len);
    double start = clock_now();
    for (int i = 0; i < times; i++) copy(into, len);
    return (clock_now() - start) / times;
}

int main(int argc, char **argv)
{
    private = memory(MOST);
    fill(private, MOST, 1);
    int named = memfd_create("shared", MFD_CLOEXEC), ends[2];
    CHECK(ftruncate(named, MOST) == 0 && pipe(ends) == 0);
    shared = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_SHARED, named, 0);
    fill(shared, MOST, 1);
    owner = fork();
    CHECK(owner >= 0);
    if (owner == 0) {
        uint64_t made = region(device(), private, MOST, TERN_READ, 0);
        CHECK(write(ends[1], &made, sizeof made) == sizeof made);
        for (;;) pause();
    }
    CHECK(read(ends[0], &cookie, sizeof cookie) == sizeof cookie);
    fd = device();
    char *into = memory(MOST);
    int timed = argc > 1 && strcmp(argv[1], "nanoseconds") == 0;
    printf("a system call that does nothing: %.0f %s\n", each(nothing, into, 0), timed ? "nanoseconds" : "instructions");
    printf("| bytes | mapped | CMA | module | %sto declare and destroy |\n", timed ? "" : "CMA besides moving | module besides moving | ");
    for (size_t len = 4096; len <= MOST; len *= timed || len == MOST / 4 ? 4 : 16) {
        double by_map = each(mapped, into, len), by_cma = each(cma, into, len), by_module = each(module, into, len);
        CHECK(is_filled(into, 0, len, 1));
        double moving = len / 8.0, declared = each(declare, into, len);
        printf("| %zu | %.0f | %.0f | %.0f |", len, by_map, by_cma, by_module);
        if (!timed) printf(" %.0f | %.0f |", by_cma - moving, by_module - moving);
        printf(" %.0f |\n", declared);
    }
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    printf("1 passed, 0 failed, 0 skipped\n");
    return 0;
}
