/*
 * What a copy costs by each mechanism, in instructions of the guest: run where each takes a nanosecond of the machine's clock
 * (QEMU's -icount shift=0). Bytes are moved eight at a time by the kernel, and that is taken off.
 */
#include "harness.h"
#include <sys/uio.h>

#define MOST (1UL << 20)
#define TIMES 1000

/* Instructions until now. */
static double instructions(void)
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
    for (int i = 0; i < 10; i++) copy(into, len);
    double start = instructions();
    for (int i = 0; i < TIMES; i++) copy(into, len);
    return (instructions() - start) / TIMES;
}

int main(void)
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
    printf("a system call that does nothing: %.0f instructions\n", each(nothing, into, 0));
    printf("| bytes | mapped | CMA | module | CMA besides moving | module besides moving | to declare and destroy |\n");
    for (size_t len = 4096; len <= MOST; len *= 16) {
        double by_map = each(mapped, into, len), by_cma = each(cma, into, len), by_module = each(module, into, len);
        CHECK(is_filled(into, 0, len, 1));
        double moving = len / 8.0, declared = each(declare, into, len);
        printf("| %zu | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", len, by_map, by_cma, by_module, by_cma - moving,
               by_module - moving, declared);
    }
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    printf("1 passed, 0 failed, 0 skipped\n");
    return 0;
}
