/* What must not be promoted, and the reason that is given. */
#include "promote.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

static fixture *f;
static char *at;

static void start(void)
{
    f = promote_start(AUTO, USES);
    at = malloc(MAPPED);
    fill(at, MAPPED, 1);
}

/* Run with another allocator preloaded. */
static void another_allocator(void)
{
    start();
    refused(f, at, MAPPED, "malloc is not glibc's own: another object provides it");
    refused(f, malloc(HEAPED), HEAPED, "malloc is not glibc's own: another object provides it");
    CHECK(filled(at, MAPPED, 1));
}

static void mappings_of_the_program(void)
{
    start();
    size_t len = 4 * MIB;
    char *own = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    refused(f, own, MIB, "not memory of malloc's");
    refused(f, own + MIB + 17, MIB, "not memory of malloc's");
    /* An arena with sizes of its own in front, full of what could be headers, but none that fits. */
    for (size_t i = 0; i + 16 <= len; i += 16) {
        memcpy(own + i, &(uint64_t){0}, 8);
        memcpy(own + i + 8, &(uint64_t){len + i + 1}, 8);
    }
    refused(f, own + MIB, MIB, "not memory of malloc's");
    char *shared = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    refused(f, shared, MIB, "not memory of malloc's");
    char *file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, open("/proc/self/exe", O_RDONLY), 0);
    CHECK(file != MAP_FAILED);
    refused(f, file, 4096, "not memory of malloc's");
    /* And malloc's memory next to it is not taken for more than it is. */
    refused(f, at, 64 * MIB, "not memory of malloc's");
    CHECK(promoted(f, at, MAPPED) >= 0);
}

static char data[300 * KIB] = {1}, zeros[300 * KIB];
static void not_on_any_heap(void)
{
    start();
    char stack[100 * KIB];
    fill(stack, sizeof stack, 4);
    refused(f, stack, sizeof stack, "not memory of malloc's");
    CHECK(filled(stack, sizeof stack, 4));
    refused(f, data, sizeof data, "not memory of malloc's");
    refused(f, zeros, sizeof zeros, "not memory of malloc's");
    refused(f, (void *)4096, 8192, "not memory of malloc's");
    refused(f, (void *)(SIZE_MAX - 4095), 4096, "not memory of malloc's");
    refused(f, (void *)(SIZE_MAX - 4095), 8192, "not memory of malloc's");
}

static void *allocate(void *chunk)
{
    *(char **)chunk = malloc(HEAPED);
    return NULL;
}

/* Memory of malloc's other arenas, which it shrinks with MADV_DONTNEED. */
static void another_arena(void)
{
    start();
    char *other;
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, allocate, &other));
    pthread_join(thread, NULL);
    refused(f, other, HEAPED, "more than one thread");
}

static void a_file_limit(void)
{
    start();
    struct rlimit limit = {1 << 30, RLIM_INFINITY};
    CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
    refused(f, at, MAPPED, "the size of files is limited");
    CHECK(filled(at, MAPPED, 1));
}

static void filter(const char *bits)
{
    int file = open("/proc/self/coredump_filter", O_WRONLY);
    CHECK(file >= 0 && write(file, bits, strlen(bits)) == (ssize_t)strlen(bits));
    close(file);
}

static void core_filters(void)
{
    start();
    filter("0x31"); /* private memory, but no shared memory */
    refused(f, at, MAPPED, "core dumps");
    filter("0x32");
    refused(f, at, MAPPED, "core dumps");
    filter("0x30");
    CHECK(promoted(f, malloc(HEAPED), HEAPED) >= 0);
}

/* Run with malloc told to ask for huge pages (GLIBC_TUNABLES=glibc.malloc.hugetlb=1). */
static void advised_huge_pages(void)
{
    start();
    char *large = malloc(64 * MIB);
    refused(f, large, 64 * MIB, "unusual memory (hg)");
}

/* Run with malloc told to take pages of hugetlbfs (glibc.malloc.hugetlb=2). */
static void reserved_huge_pages(void)
{
    if (kib("/proc/meminfo", "HugePages_Free:") < 40)
        SKIP("no huge pages are reserved on this machine");
    start();
    char *large = malloc(64 * MIB);
    refused(f, large, 64 * MIB, "");
}

static void transfers_under_way(void)
{
    start();
    promote_in_use(f, true);
    refused(f, at, MAPPED, "a transfer into it is under way");
    promote_in_use(f, false);
    CHECK(promoted(f, malloc(HEAPED), HEAPED) >= 0);
}

/* Ordinary descriptors do not matter; those of devices do. */
static void descriptors(void)
{
    start();
    int ends[2];
    CHECK(!pipe(ends) && socket(AF_INET, SOCK_STREAM, 0) >= 0 && socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    CHECK(epoll_create1(0) >= 0 && open("/dev/null", O_RDWR) >= 0 && open("/proc/self/status", O_RDONLY) >= 0);
    CHECK(promoted(f, malloc(HEAPED), HEAPED) >= 0);
    int vsock = socket(AF_VSOCK, SOCK_STREAM, 0);
    const char *devices[] = {"/dev/fuse", "/dev/loop-control", "/dev/vhost-vsock", "/dev/mem", "/dev/kmsg"};
    int device = vsock;
    for (size_t i = 0; i < sizeof devices / sizeof *devices && device < 0; i++)
        device = open(devices[i], O_RDONLY);
    if (device < 0)
        SKIP("no device here that can be opened");
    for (int i = 0; i < 10 * USES; i++)
        CHECK(promote_used(f, at, MAPPED) == -1);
    CHECK(strstr(promote_why(f), "may have a hold on memory"));
    close(device);
    int64_t place = -1;
    for (int i = 0; i < 1000 && place < 0; i++)
        place = promote_used(f, at, MAPPED);
    CHECK(place >= 0);
}

/* Run where the memory of this process is limited to 128 MiB. */
static void little_memory(void)
{
    start();
    CHECK(promoted(f, malloc(HEAPED), HEAPED) >= 0);
    size_t len = 60 * MIB;
    char *large = malloc(len);
    fill(large, len, 1);
    for (int i = 0; i < 10 * USES; i++)
        CHECK(promote_used(f, large, len) == -1);
    CHECK(strstr(promote_why(f), "too little memory"));
    CHECK(filled(large, len, 1));
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {
        {"another_allocator", another_allocator},
        {"mappings_of_the_program", mappings_of_the_program},
        {"not_on_any_heap", not_on_any_heap},
        {"another_arena", another_arena},
        {"a_file_limit", a_file_limit},
        {"core_filters", core_filters},
        {"advised_huge_pages", advised_huge_pages},
        {"reserved_huge_pages", reserved_huge_pages},
        {"transfers_under_way", transfers_under_way},
        {"descriptors", descriptors},
        {"little_memory", little_memory},
    };
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
