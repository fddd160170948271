/* A program that could tell the difference, by the functions that it calls: under "auto" it gets
 * nothing promoted; under "always" its user vouches for it, and the other conditions hold. */
#include "promote.h"
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

/* This program imports madvise, sbrk, clone and syscall, all in one. */
static void a_telling_program(void)
{
    fixture *f = promote_start(AUTO, USES);
    char *at = malloc(MAPPED);
    refused(f, at, MAPPED, "the program calls ");
    /* So what it does to its memory means what it always has. */
    char *page = at - 16 + 4096;
    fill(at, MAPPED, 1);
    CHECK(!madvise(page, 16 * 4096, MADV_DONTNEED));
    CHECK(all(page, 16 * 4096, 0));
    char *own = sbrk(256 * KIB);
    CHECK(own != (void *)-1);
    refused(f, own, 256 * KIB, "the program calls ");
}

static fixture *always(char *at, size_t len, const char *why)
{
    fixture *f = promote_start(ALWAYS, USES);
    refused(f, at, len, why);
    return f;
}

static void an_io_uring(void)
{
    struct io_uring_params parameters = {0};
    int ring = syscall(SYS_io_uring_setup, 4, &parameters);
    if (ring < 0)
        SKIP("no io_uring here: %m");
    always(malloc(MAPPED), MAPPED, "anon_inode:[io_uring] may have a hold on memory");
    /* The ring lives on in its mapping. */
    CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING) != MAP_FAILED);
    close(ring);
    always(malloc(HEAPED), HEAPED, "anon_inode:[io_uring] may have a hold on memory");
}

static void asynchronous_io(void)
{
    aio_context_t context = 0;
    if (syscall(SYS_io_setup, 4, &context))
        SKIP("no AIO here: %m");
    always(malloc(MAPPED), MAPPED, "/[aio] (deleted) may have a hold on memory");
}

/* Huge pages that nobody asked malloc for. */
static void huge_pages(void)
{
    size_t len = 8 * MIB;
    char *at = aligned_alloc(2 * MIB, len);
    memset(at, 1, len);
    if (madvise(at, len, 25 /* MADV_COLLAPSE */))
        SKIP("no huge pages to be had: %m");
    always(at, len, "huge pages");
    CHECK(all(at, len, 1));
}

static void advice(void)
{
    const struct {
        int advice;
        const char *why;
    } advices[] = {
        {MADV_HUGEPAGE, "(hg)"}, {MADV_DONTDUMP, "(dd)"}, {MADV_DONTFORK, "(dc)"},
        {MADV_WIPEONFORK, "(wf)"}, {MADV_MERGEABLE, "(mg)"},
    };
    int tried = 0;
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
        size_t len = 4 * MIB;
        char *at = aligned_alloc(4096, len);
        if (madvise(at, len, advices[i].advice) == 0) {
            always(at, len, advices[i].why);
            tried++;
        }
    }
    CHECK(tried >= 3);
}

static void protected_pages(void)
{
    size_t len = 4 * MIB;
    char *at = aligned_alloc(4096, len);
    CHECK(!mprotect(at + MIB, 4096, PROT_READ));
    always(at, len, "");
    at[0] = 1;
}

static void a_policy(void)
{
    size_t len = 4 * MIB;
    char *at = aligned_alloc(4096, len);
    unsigned long nodes = 1;
    if (syscall(SYS_mbind, at, len, 2 /* MPOL_BIND */, &nodes, 8 * sizeof nodes, 0))
        SKIP("no NUMA policies here: %m");
    always(at, len, "NUMA policy");
}

/* Two promoted chunks of which one moved away: what comes to its old address is not mixed with it. */
static void moved_and_replaced(void)
{
    fixture *f = promote_start(ALWAYS, USES);
    char *moved = malloc(MAPPED);
    fill(moved, MAPPED, 1);
    int64_t first = promoted(f, moved, MAPPED);
    char *old = moved;
    size_t pages = (MAPPED + 16 + 4095) & ~(size_t)4095;
    char *away = mmap(NULL, 4 * pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* As realloc does, but for certain to another address. */
    moved = mremap(moved - 16, pages, 3 * pages, MREMAP_MAYMOVE | MREMAP_FIXED, away);
    CHECK(moved == away);
    moved += 16;
    CHECK(filled(moved, MAPPED, 1) && all(moved + pages, 2 * pages - 16, 0));
    CHECK(!promote_verify(f, old, MAPPED, first));
    CHECK(promote_speculative(f, moved, MAPPED) == first);
    char *fresh = malloc(MAPPED);
    CHECK(fresh == old); /* else this test tests nothing */
    fill(fresh, MAPPED, 2);
    int64_t second = -1;
    for (int i = 0; i < 100 && second < 0; i++)
        second = promote_used(f, fresh, MAPPED);
    CHECK(second >= 0 && second != first);
    fill(fresh, MAPPED, 3);
    CHECK(filled(moved, MAPPED, 1) && filled(fresh, MAPPED, 3));
    CHECK(is_shared(f, fresh, MAPPED, second));
    CHECK(is_shared(f, moved, MAPPED, promote_used(f, moved, MAPPED)));
}

/* Pages of a promoted chunk are moved away, and others come in their place: both keep what they hold. Moved back, they are found again. */
static void pages_moved_away(void)
{
    fixture *f = promote_start(ALWAYS, USES);
    /* Made first, so that it lies above the chunk. */
    char *away = mmap(NULL, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *at = malloc(4 * MIB);
    fill(at, 4 * MIB, 1);
    int64_t place = promoted(f, at, 4 * MIB);
    char *page = (char *)(((uintptr_t)at + 8192) & ~(uintptr_t)4095);
    CHECK(mremap(page, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, away) == away);
    CHECK(mmap(page, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page);
    memset(away, 77, MIB);
    memset(page, 2, MIB);
    for (int i = 0; i < 100; i++)
        CHECK(promote_used(f, at, 4 * MIB) == -1 || !"promoted over pages that are still there");
    CHECK(strstr(promote_why(f), "have been moved"));
    CHECK(all(away, MIB, 77) && all(page, MIB, 2));
    pid_t child = fork();
    if (child == 0) {
        CHECK(all(away, MIB, 77) && all(page, MIB, 2));
        memset(away, 1, MIB);
        memset(at, 1, 4 * MIB);
        _exit(0);
    }
    wait_for(child);
    CHECK(all(away, MIB, 77) && all(page, MIB, 2));
    CHECK(mremap(away, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, page) == page);
    /* Attempts in vain make it patient. */
    for (int i = 0; i < 1000000 && promote_used(f, at, 4 * MIB) < 0; i++)
        ;
    if (promote_used(f, at, 4 * MIB) < 0)
        printf("refused: %s\n", promote_why(f));
    CHECK(promote_used(f, at, 4 * MIB) == place && all(page, MIB, 77));
    CHECK(is_shared(f, at, 4 * MIB, place));
}

static int sleeps(void *word)
{
    while (!__atomic_load_n((int *)word, __ATOMIC_ACQUIRE))
        usleep(1000);
    return 0;
}

/* A thread that glibc knows nothing of. */
static void a_raw_thread(void)
{
    static char stack[64 * KIB] __attribute__((aligned(16)));
    static int word;
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    CHECK(clone(sleeps, stack + sizeof stack, flags, &word) > 0);
    always(malloc(MAPPED), MAPPED, "more than one thread");
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {
        {"a_telling_program", a_telling_program},
        {"an_io_uring", an_io_uring},
        {"asynchronous_io", asynchronous_io},
        {"huge_pages", huge_pages},
        {"advice", advice},
        {"protected_pages", protected_pages},
        {"a_policy", a_policy},
        {"a_raw_thread", a_raw_thread},
        {"moved_and_replaced", moved_and_replaced},
        {"pages_moved_away", pages_moved_away},
    };
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
