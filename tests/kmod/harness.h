/* What the programs that test /dev/tern have in common: calls, cases in processes of their own, and the counts after each. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../kmod/include/uapi/tern_ioctl.h"

#define PAGE 4096UL
#define PART (64UL << 10) /* between two looks of the module at signals and ends of regions */

static int passed, failed, skipped;

/* Ends the case. */
#define CHECK(condition)                                                                    \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            printf("    %s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);    \
            fflush(stdout);                                                                 \
            _exit(1);                                                                       \
        }                                                                                   \
    } while (0)
/* A call that fails with an errno. */
#define REFUSED(call, error) CHECK((call) == -1 && errno == (error))

static inline int device(void)
{
    int fd = open("/dev/tern", O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static inline char *memory(size_t len)
{
    char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    /* A fork splits huge pages, which ends their regions: see `huge_pages`. */
    madvise(at, len, MADV_NOHUGEPAGE);
    return at;
}

static inline void fill(char *at, size_t len, int seed)
{
    for (size_t i = 0; i < len; i++) at[i] = (char)(i * 7 + (i >> 8) + seed);
}

static inline int is_filled(const char *at, size_t from, size_t len, int seed)
{
    for (size_t i = from; i < from + len; i++)
        if (at[i - from] != (char)(i * 7 + (i >> 8) + seed)) return 0;
    return 1;
}

static inline int create_list(int fd, const struct tern_segment *list, uint32_t count, uint32_t protection, uint32_t flags,
                              struct tern_create *made)
{
    *made = (struct tern_create){.segments = (uintptr_t)list, .count = count, .protection = protection, .flags = flags};
    return ioctl(fd, TERN_IOC_CREATE, made);
}

static inline int create(int fd, const void *at, size_t len, uint32_t protection, uint32_t flags, struct tern_create *made)
{
    struct tern_segment segment = {(uintptr_t)at, len};
    return create_list(fd, &segment, 1, protection, flags, made);
}

static inline uint64_t region(int fd, const void *at, size_t len, uint32_t protection, uint32_t flags)
{
    struct tern_create made;
    CHECK(create(fd, at, len, protection, flags, &made) == 0);
    return made.cookie;
}

static inline int destroy(int fd, uint64_t cookie)
{
    return ioctl(fd, TERN_IOC_DESTROY, &cookie);
}

/* Copies between memory of the caller and a region; `moved` may be NULL. */
static inline int copy(int fd, uint32_t direction, void *at, uint64_t cookie, uint64_t offset, uint64_t len, uint64_t *moved)
{
    struct tern_segment segment = {(uintptr_t)at, len};
    struct tern_inline arg = {.segments = (uintptr_t)&segment, .count = 1, .direction = direction, .cookie = cookie,
                              .offset = offset, .len = len};
    int result = ioctl(fd, TERN_IOC_INLINE, &arg);
    if (moved) *moved = arg.moved;
    return result;
}

static inline int read_region(int fd, void *at, uint64_t cookie, uint64_t offset, uint64_t len)
{
    return copy(fd, TERN_READ, at, cookie, offset, len, NULL);
}

static inline int write_region(int fd, void *at, uint64_t cookie, uint64_t offset, uint64_t len)
{
    return copy(fd, TERN_WRITE, at, cookie, offset, len, NULL);
}

static inline int start(int fd, uint32_t flags, uint32_t direction, void *at, uint64_t cookie, uint64_t len, _Atomic int *status)
{
    struct tern_segment segment = {(uintptr_t)at, len};
    struct tern_inline arg = {.segments = (uintptr_t)&segment, .count = 1, .direction = direction, .cookie = cookie,
                              .len = len, .flags = flags, .status = (uintptr_t)status};
    return ioctl(fd, TERN_IOC_INLINE, &arg);
}

static inline int end_of(_Atomic int *status)
{
    int value;
    while ((value = atomic_load_explicit(status, memory_order_acquire)) == TERN_RUNNING) sched_yield();
    return value;
}

static inline int between(int fd, uint64_t from, uint64_t from_offset, uint64_t to, uint64_t to_offset, uint64_t len)
{
    struct tern_copy arg = {.from = from, .from_offset = from_offset, .to = to, .to_offset = to_offset, .len = len};
    return ioctl(fd, TERN_IOC_COPY, &arg);
}

static inline char *attach(int fd, uint64_t cookie, uint64_t offset, uint64_t len, uint32_t protection)
{
    struct tern_attach arg = {.cookie = cookie, .offset = offset, .len = len, .protection = protection};
    return ioctl(fd, TERN_IOC_ATTACH, &arg) == 0 ? (char *)(uintptr_t)arg.address : MAP_FAILED;
}

static inline const volatile uint32_t *words(int fd)
{
    const volatile uint32_t *at = mmap(NULL, TERN_WORDS * 4, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

/* Two processes that tell each other 8 bytes. */
struct line {
    int to[2];
};

static inline struct line line(void)
{
    struct line made;
    CHECK(pipe(made.to) == 0);
    return made;
}

static inline void tell(struct line line, uint64_t value)
{
    CHECK(write(line.to[1], &value, 8) == 8);
}

static inline uint64_t hear(struct line line)
{
    uint64_t value;
    CHECK(read(line.to[0], &value, 8) == 8);
    return value;
}

static inline pid_t child(void)
{
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    return pid;
}

/* Waits for a child, which must have ended well. */
static inline void ended_well(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static inline void killed_by(pid_t pid, int signal)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signal);
}

/* A page of `at` that a reader or writer waits for, until `resolve`. Returns the descriptor. */
static inline int hold_page(char *at)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {(uintptr_t)at, PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    CHECK(fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0);
    CHECK(ioctl(fd, UFFDIO_REGISTER, &range) == 0);
    return fd;
}

/* Somebody waits for the page now. */
static inline void somebody_waits(int fd)
{
    struct uffd_msg message;
    CHECK(read(fd, &message, sizeof(message)) == sizeof(message));
    CHECK(message.event == UFFD_EVENT_PAGEFAULT);
}

static inline void resolve(int fd, char *at)
{
    struct uffdio_zeropage range = {.range = {(uintptr_t)at, PAGE}};
    CHECK(ioctl(fd, UFFDIO_ZEROPAGE, &range) == 0);
}

static inline long count(const char *name)
{
    char path[100];
    long value = -1;
    snprintf(path, sizeof(path), "/sys/class/misc/tern/%s", name);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%ld", &value) != 1) value = -1;
    if (file) fclose(file);
    return value;
}

static const char *const counts[] = {"contexts", "regions", "pinned_pages", "jobs", "attachments"};

/* Kernel threads may still be at the last things of a process that has ended: at most 60 s. */
static inline int nothing_left(void)
{
    for (int look = 0; look < 6000; look++) {
        long sum = 0;
        for (int i = 0; i < 5; i++) sum += labs(count(counts[i]));
        if (!sum) return 1;
        usleep(10000);
    }
    for (int i = 0; i < 5; i++) printf("    left: %ld %s\n", count(counts[i]), counts[i]);
    return 0;
}

static const char *only; /* the one case to run; NULL: all */

/* A process that may be killed by the case itself. */
static inline void run(const char *name, void (*body)(void))
{
    if (only && strcmp(only, name) != 0) return;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(600);
        body();
        exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skipped++;
        return;
    }
    int good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!good) printf("    ended with status %#x\n", status);
    if (!nothing_left()) good = 0;
    printf("%s %s\n", good ? "ok" : "FAIL", name);
    fflush(stdout);
    if (good) passed++;
    else failed++;
}

static inline int sum(void)
{
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed != 0;
}
