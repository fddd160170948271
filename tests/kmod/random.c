/*
 * Random calls of /dev/tern, by processes that have cookies of each other and change their memory meanwhile.
 * Usage: random CALLS SEED        each of 4 processes makes CALLS / 4 calls
 */
#include "harness.h"

#define PROCESSES 4
#define PAGES 64
#define COOKIES 64

static struct shared {
    _Atomic uint64_t cookies[COOKIES];
    _Atomic long good, bad;
} *shared;

static uint64_t state;
static char *own;

static uint64_t random_word(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint64_t below(uint64_t most)
{
    return random_word() % most;
}

static uint64_t some_address(void)
{
    switch (below(12)) {
    case 0: return 0;
    case 1: return random_word();
    case 2: return UINT64_MAX - below(PAGE);
    case 3: return (1ULL << 47) - below(2 * PAGE);
    default: return (uintptr_t)own + below(PAGES * PAGE);
    }
}

static uint64_t some_len(void)
{
    switch (below(10)) {
    case 0: return 0;
    case 1: return random_word();
    case 2: return UINT64_MAX - below(9);
    case 3: return 1ULL << below(64);
    case 4: return PAGE * below(PAGES);
    default: return below(PAGES * PAGE);
    }
}

static uint64_t some_cookie(void)
{
    uint64_t cookie = shared->cookies[below(COOKIES)];
    switch (below(10)) {
    case 0: return random_word();
    case 1: return cookie ^ 1ULL << below(64);
    default: return cookie;
    }
}

static uint32_t some_bits(void)
{
    return below(20) ? (uint32_t)below(4) : (uint32_t)random_word();
}

static uint64_t some_segments(struct tern_segment *list, uint32_t *count)
{
    *count = below(15) ? (uint32_t)below(9) : (uint32_t)random_word();
    for (int i = 0; i < 8; i++) list[i] = (struct tern_segment){some_address(), below(3) ? below(9 * PAGE) : some_len()};
    return below(20) ? (uintptr_t)list : some_address();
}

static void change_memory(void)
{
    size_t at = below(PAGES) * PAGE, len = (1 + below(8)) * PAGE;
    len = len < PAGES * PAGE - at ? len : PAGES * PAGE - at;
    switch (below(5)) {
    case 0: munmap(own + at, len); break;
    case 1: mprotect(own + at, len, (int)below(4)); break;
    case 2: madvise(own + at, len, MADV_DONTNEED); break;
    default: mmap(own + at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
}

static int some_call(int fd, _Atomic int *status)
{
    struct tern_segment list[8];
    union {
        struct tern_create create;
        struct tern_inline in_line;
        struct tern_copy copy;
        struct tern_attach attach;
        uint64_t words[12];
    } arg;
    memset(&arg, 0, sizeof(arg));
    uint32_t count, flags = below(3) ? 0 : some_bits();
    uint64_t word = flags ? (below(9) ? (uintptr_t)&status[below(512)] : some_address()) : 0;
    switch (below(8)) {
    case 0:
    case 1:
        arg.create.segments = some_segments(list, &count);
        arg.create.count = count;
        arg.create.protection = some_bits();
        arg.create.flags = below(4) ? 0 : some_bits();
        if (ioctl(fd, TERN_IOC_CREATE, &arg) != 0) return -1;
        shared->cookies[below(COOKIES)] = arg.create.cookie;
        return 0;
    case 2: return destroy(fd, some_cookie());
    case 3:
        arg.in_line = (struct tern_inline){some_segments(list, &count), 0, some_bits(), some_cookie(), below(2) ? 0 : some_len(),
                                           below(3) ? below(4 * PAGE) : some_len(), flags, below(50) == 0, word, 0};
        arg.in_line.count = count;
        return ioctl(fd, TERN_IOC_INLINE, &arg);
    case 4:
        arg.copy = (struct tern_copy){some_cookie(), below(2) ? 0 : some_len(), some_cookie(), below(2) ? 0 : some_len(),
                                      below(3) ? below(4 * PAGE) : some_len(), flags, 0, word, 0};
        return ioctl(fd, TERN_IOC_COPY, &arg);
    case 5:
        arg.attach = (struct tern_attach){some_cookie(), below(2) ? 0 : some_len(), below(2) ? PAGE * below(9) : some_len(),
                                          some_bits(), 0, 0};
        if (ioctl(fd, TERN_IOC_ATTACH, &arg) != 0) return -1;
        return munmap((void *)(uintptr_t)arg.attach.address, arg.attach.len / 2 / PAGE * PAGE + PAGE);
    case 6:
        for (int i = 0; i < 12; i++) arg.words[i] = below(2) ? below(5) : some_address();
        /* Any number, and any direction and size. */
        return ioctl(fd, (below(2) ? 0xE500 : random_word() & 0xff00) | below(8) | (random_word() & 0xffff0000),
                     below(3) ? (uintptr_t)&arg : some_address());
    default: change_memory(); return 0;
    }
}

static void one(int me, long calls, uint64_t seed)
{
    state = (seed * 0x9E3779B97F4A7C15ULL + (uint64_t)me * 0xD1B54A32D192ED03ULL) | 1;
    own = memory(PAGES * PAGE);
    /* Words that the calls do not unmap. */
    _Atomic int *status = (void *)memory(PAGE);
    int fd = device();
    for (long i = 0; i < calls; i++) {
        if (some_call(fd, status) == 0) shared->good++;
        else shared->bad++;
        if (below(1000) == 0) {
            close(fd);
            fd = device();
        }
    }
    exit(0);
}

static long calls;
static uint64_t seed;

static void random_calls(void)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[PROCESSES];
    alarm((unsigned)(60 + calls / 100));
    for (int i = 0; i < PROCESSES; i++)
        if ((pids[i] = child()) == 0) one(i, calls / PROCESSES, seed);
    for (int i = 0; i < PROCESSES; i++) ended_well(pids[i]);
    printf("random: %ld calls done, %ld refused, seed %llu\n", shared->good, shared->bad, (unsigned long long)seed);
    /* Both kinds, or the test tests nothing. */
    CHECK(shared->good > calls / 20 && shared->bad > calls / 20);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    calls = argc > 1 ? atol(argv[1]) : 4000;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    run("random_calls", random_calls);
    return sum();
}
