/* Forks, new programs, threads and core dumps while memory is promoted. */
#include "promote.h"
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

extern char **environ;

/* A child and its parent, in turns: neither sees what the other stores. */
static void check_apart(fixture *f, char **at, const size_t *len, int count)
{
    int to[2], from[2];
    char turn;
    CHECK(!pipe(to) && !pipe(from));
    for (int i = 0; i < count; i++)
        fill(at[i], len[i], 10);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (int i = 0; i < count; i++)
            CHECK(filled(at[i], len[i], 10));
        CHECK(read(to[0], &turn, 1) == 1); /* the parent has stored */
        for (int i = 0; i < count; i++) {
            CHECK(filled(at[i], len[i], 10));
            fill(at[i], len[i], 30);
        }
        /* In a child there is no promotion. */
        for (int i = 0; i < 10 * USES; i++)
            CHECK(promote_used(f, at[0], len[0]) == -1);
        CHECK(filled(at[0], len[0], 30));
        free(calloc(1, 3 * MIB));
        CHECK(write(from[1], "x", 1) == 1);
        CHECK(read(to[0], &turn, 1) == 1); /* the parent has looked and stored */
        for (int i = 0; i < count; i++) {
            CHECK(filled(at[i], len[i], 30));
            free(at[i]);
        }
        exit(0);
    }
    for (int i = 0; i < count; i++) {
        CHECK(filled(at[i], len[i], 10));
        fill(at[i], len[i], 20);
    }
    CHECK(write(to[1], "x", 1) == 1 && read(from[0], &turn, 1) == 1);
    for (int i = 0; i < count; i++) {
        CHECK(filled(at[i], len[i], 20));
        fill(at[i], len[i], 40);
    }
    CHECK(write(to[1], "x", 1) == 1);
    wait_for(child);
    for (int i = 0; i < count; i++)
        CHECK(filled(at[i], len[i], 40));
    close(to[0]), close(to[1]), close(from[0]), close(from[1]);
}

static char *at[2];
static const size_t len[2] = {MAPPED, HEAPED};
static int64_t place[2];

static fixture *start(void)
{
    fixture *f = promote_start(AUTO, USES);
    for (int i = 0; i < 2; i++) {
        at[i] = malloc(len[i]);
        fill(at[i], len[i], 1);
        place[i] = promoted(f, at[i], len[i]);
    }
    return f;
}

static void forks(void)
{
    fixture *f = start();
    check_apart(f, at, len, 2);
    /* In the parent all is as it was: what peers have been told is good. */
    for (int i = 0; i < 2; i++) {
        CHECK(promote_verify(f, at[i], len[i], place[i]) && promote_speculative(f, at[i], len[i]) == place[i]);
        CHECK(is_shared(f, at[i], len[i], place[i]));
        file_fill(f, place[i], len[i], 99);
        CHECK(filled(at[i], len[i], 99));
    }
    check_apart(f, at, len, 2);
    /* Also when nothing knows of them any more. */
    promote_end(f);
    for (int i = 0; i < 2; i++)
        CHECK(filled(at[i], len[i], 40));
    pid_t child = fork();
    if (child == 0) {
        fill(at[0], len[0], 1);
        fill(at[1], len[1], 1);
        _exit(0);
    }
    wait_for(child);
    CHECK(filled(at[0], len[0], 40) && filled(at[1], len[1], 40));
}

static void *wait_a_little(void *barrier)
{
    if (barrier)
        pthread_barrier_wait(barrier);
    return NULL;
}

/* From now on the process counts as one with several threads. */
static void have_had_a_thread(void)
{
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, wait_a_little, NULL));
    pthread_join(thread, NULL);
}

/* The program wants the same limits as without promotion: its data counts as before, and its address space has the promoted
 * bytes once more. */
static void counts_as_before(void)
{
    size_t big = 32 * MIB;
    fixture *f = promote_start(AUTO, USES);
    char *first = malloc(MAPPED);
    promoted(f, first, MAPPED);
    char *big_one = malloc(big);
    fill(big_one, big, 1);
    long data = kib("/proc/self/status", "VmData:"), size = kib("/proc/self/status", "VmSize:");
    int64_t there = promoted(f, big_one, big);
    CHECK(labs(kib("/proc/self/status", "VmData:") - data) < 1024);
    CHECK(labs(kib("/proc/self/status", "VmSize:") - size - (long)(big / KIB)) < 1024);
    struct rlimit now = {.rlim_cur = (rlim_t)data * KIB, .rlim_max = RLIM_INFINITY};
    CHECK(!setrlimit(RLIMIT_DATA, &now));
    now.rlim_cur = (rlim_t)kib("/proc/self/status", "VmSize:") * KIB;
    CHECK(!setrlimit(RLIMIT_AS, &now));
    check_apart(f, &big_one, &big, 1);
    /* Limits below what is used already. */
    now.rlim_cur = 8 * MIB;
    CHECK(!setrlimit(RLIMIT_DATA, &now) && !setrlimit(RLIMIT_AS, &now));
    check_apart(f, &big_one, &big, 1);
    CHECK(promote_verify(f, big_one, big, there));
    now.rlim_cur = RLIM_INFINITY;
    CHECK(!setrlimit(RLIMIT_DATA, &now) && !setrlimit(RLIMIT_AS, &now));
    free(big_one);
    promoted(f, malloc(MAPPED), MAPPED);
    CHECK(kib("/proc/self/status", "VmData:") < data - 24 * 1024);
}

/* What the program has forbidden itself in promoted memory the child finds forbidden. */
static void protected_in_part(void)
{
    fixture *f = start();
    char *page = (char *)(((uintptr_t)at[0] + 16384) & ~(uintptr_t)4095);
    CHECK(!mprotect(page, 4096, PROT_READ) && !mprotect(page + 8192, 4096, PROT_NONE));
    pid_t child = fork();
    if (child == 0) {
        int null[2];
        CHECK(!pipe(null));
        CHECK(write(null[1], page + 8192, 1) == -1 && write(null[1], page, 1) == 1);
        CHECK(read(null[0], page, 1) == -1);
        CHECK(!mprotect(page, 3 * 4096, PROT_READ | PROT_WRITE) && filled(at[0], len[0], 1));
        _exit(0);
    }
    wait_for(child);
    (void)f;
}

/* The program has closed what it has not opened. */
static void fork_without_descriptors(void)
{
    start();
    if (close_range(3, ~0u, 0))
        SKIP("close_range: %m");
    pid_t child = fork();
    if (child == 0) {
        CHECK(filled(at[0], len[0], 1) && filled(at[1], len[1], 1));
        fill(at[0], len[0], 2);
        _exit(0);
    }
    wait_for(child);
    CHECK(filled(at[0], len[0], 1) && filled(at[1], len[1], 1));
}

static char *around[2];
static bool meddles = true;

/* A handler that comes before promotion's own: the child is at everything but what is pinned. */
static void early(void)
{
    if (!meddles)
        return;
    for (int i = 0; i < 2; i++)
        fill(around[i], 100, 9);
    memset(at[0], 8, 16);
    free(malloc(40));
}

/* Of memory in the heap the pages that hold nothing else are pinned: a fork leaves them shared in the parent, and all of
 * the rest apart. */
static void pinned_in_the_heap(void)
{
    size_t start, length;
    CHECK(!pthread_atfork(NULL, NULL, early));
    around[0] = malloc(100);
    at[0] = malloc(HEAPED);
    around[1] = malloc(100);
    for (int i = 0; i < 2; i++)
        fill(around[i], 100, 1);
    fill(at[0], HEAPED, 1);
    fixture *f = promote_start(AUTO, USES);
    int64_t pinned = promote_pin(f, at[0], HEAPED, &start, &length);
    if (pinned < 0 && strstr(promote_why(f), "the kernel lacks"))
        SKIP("%s", promote_why(f));
    CHECK(pinned >= 0);
    char *first = at[0] + start;
    CHECK(start > 0 && start <= 4096 && (uintptr_t)first % 4096 == 0 && length % 4096 == 0);
    CHECK(start + length <= HEAPED && HEAPED - start - length < 4096);
    CHECK(filled(at[0], HEAPED, 1) && is_shared(f, first, length, pinned));
    for (int round = 0; round < 2; round++) {
        fill(at[0], HEAPED, 1);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(all(at[0], 16, 8) && filled(around[0], 100, 9));
            memset(at[0], 7, HEAPED);
            _exit(0);
        }
        wait_for(child);
        CHECK(filled(at[0], HEAPED, 1) && filled(around[0], 100, 1) && filled(around[1], 100, 1));
        CHECK(promote_verify(f, first, length, pinned) && is_shared(f, first, length, pinned));
    }
    /* Once more, and given up twice. */
    CHECK(promote_pin(f, at[0], HEAPED, &start, &length) == pinned);
    promote_unpin(f, first, length);
    promote_unpin(f, first, length);
    meddles = false;
    check_apart(f, at, (size_t[]){HEAPED}, 1);
    CHECK(promote_verify(f, first, length, pinned));
    /* Too little to be worth it. */
    char *few = malloc(4 * 4096);
    CHECK(promote_pin(f, few, 4 * 4096, &start, &length) == -1 || (uintptr_t)few % 4096 == 0);
}

/* What there is no room to pin is not promoted for it either. */
static void pinned_without_room(void)
{
    size_t start, length;
    at[0] = malloc(HEAPED);
    char *other = malloc(MAPPED);
    fixture *f = promote_start(AUTO, USES);
    int64_t pinned = promote_pin(f, at[0], HEAPED, &start, &length);
    if (pinned < 0 && strstr(promote_why(f), "the kernel lacks"))
        SKIP("%s", promote_why(f));
    CHECK(pinned >= 0);
    int pins = 1;
    while (pins < 1000 && promote_pin(f, at[0], HEAPED, &start, &length) == pinned)
        pins++;
    CHECK(pins < 1000);
    CHECK(promote_pin(f, other, MAPPED, &start, &length) == -1);
    CHECK(promote_count(f, PROMOTED) == 1 && promote_speculative(f, other, MAPPED) == -1);
    promote_unpin(f, at[0] + start, length);
    /* The room is for what can be promoted, and nothing keeps it otherwise. */
    promote_in_use(f, true);
    for (int i = 0; i < 100; i++)
        CHECK(promote_pin(f, other, MAPPED, &start, &length) == -1);
    promote_in_use(f, false);
    CHECK(promote_pin(f, other, MAPPED, &start, &length) >= 0);
}

/* Memory that was promoted for messages, and is pinned then, of which peers are at the edges by the kernel: no fork replaces any. A
 * part of it finds all its pages pinned, also when it ends or begins within one. */
static void pinned_after_messages(void)
{
    size_t start, length, part, rest;
    at[0] = malloc(HEAPED);
    fill(at[0], HEAPED, 1);
    fixture *f = promote_start(AUTO, USES);
    int64_t place = promoted(f, at[0], HEAPED);
    int64_t pinned = promote_pin(f, at[0], HEAPED, &start, &length);
    CHECK(start > 0 && start < 4096 && pinned == place + (int64_t)start);
    char *first = at[0] + start;
    promote_settle(f, at[0], start);
    CHECK(promote_pin(f, first + 100, 5000, &part, &rest) == pinned + 100 && part == 0 && rest == 5000);
    promote_unpin(f, first, length);
    have_had_a_thread();
    check_apart(f, at, (size_t[]){HEAPED}, 1);
    CHECK(promote_verify(f, at[0], HEAPED, place) && is_shared(f, at[0], HEAPED, place));
}

static int quiesced;
static void quiesce(void)
{
    quiesced++;
    /* The last stores of a peer arrive. */
    fill(at[0], len[0], 77);
}

static void quiesce_before_fork(void)
{
    fixture *f = promote_start(AUTO, USES);
    promote_quiesce(f, quiesce);
    at[0] = malloc(len[0]);
    pid_t child = fork(); /* nothing is promoted yet */
    if (child == 0)
        _exit(quiesced);
    wait_for(child);
    CHECK(quiesced == 0);
    promoted(f, at[0], len[0]);
    child = fork(); /* which changes nothing here */
    if (child == 0)
        _exit(quiesced);
    wait_for(child);
    CHECK(quiesced == 0);
    have_had_a_thread();
    child = fork();
    if (child == 0)
        _exit(!(quiesced == 1 && filled(at[0], len[0], 77)));
    wait_for(child);
    CHECK(quiesced == 1 && filled(at[0], len[0], 77));
}

/* New programs by every way that glibc has, with the memory promoted. Those that do not copy the
 * process leave it promoted. */
static void new_programs(void)
{
    fixture *f = start();
    char *true_argv[] = {"true", NULL};
    pid_t child;
    CHECK(posix_spawnp(&child, "true", NULL, NULL, true_argv, environ) == 0);
    wait_for(child);
    CHECK(system("true") == 0);
    FILE *lines = popen("echo yes", "r");
    char line[8] = "";
    CHECK(lines && fgets(line, sizeof line, lines) && !strcmp(line, "yes\n") && pclose(lines) == 0);
    child = vfork();
    if (child == 0) {
        execvp("true", true_argv);
        _exit(1);
    }
    wait_for(child);
    for (int i = 0; i < 2; i++) {
        CHECK(promote_used(f, at[i], len[i]) == place[i]);
        CHECK(filled(at[i], len[i], 1));
    }
    child = fork();
    if (child == 0) {
        fill(at[0], len[0], 2);
        execvp("true", true_argv);
        _exit(1);
    }
    wait_for(child);
    CHECK(filled(at[0], len[0], 1) && filled(at[1], len[1], 1));
    /* And this process itself becomes a new program. */
    promoted(f, at[1], 40 * KIB);
    execvp("true", true_argv);
    CHECK(!"exec");
}

static void a_thread_before(void)
{
    fixture *f = promote_start(AUTO, USES);
    at[0] = malloc(MAPPED);
    pthread_t thread;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    CHECK(!pthread_create(&thread, NULL, wait_a_little, &barrier));
    refused(f, at[0], MAPPED, "more than one thread");
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
}

enum { THREADS = 3 };
static atomic_bool stop;
static long stores[THREADS];
/* Large, so that making it private takes longer than a turn of a thread. */
#define MANY (16 * MIB)
static void *store(void *number)
{
    long n = (long)number;
    /* Each has its own words on every page of the buffer. */
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        for (size_t i = 4096; i + 4096 < MANY; i += 4096)
            ++*(volatile long *)(at[0] - (ptrdiff_t)((size_t)at[0] % 4096) + i + (size_t)n * 64);
        __atomic_store_n(&stores[n], stores[n] + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Threads that start later and store all the time, while the process forks: no store is lost, and
 * no child sees one that comes after the fork. */
static void threads_after(void)
{
    fixture *f = promote_start(AUTO, USES);
    at[0] = calloc(1, MANY);
    at[1] = malloc(HEAPED);
    fill(at[1], HEAPED, 1);
    promoted(f, at[0], MANY);
    promoted(f, at[1], HEAPED);
    pthread_t threads[THREADS];
    for (long n = 0; n < THREADS; n++)
        CHECK(!pthread_create(&threads[n], NULL, store, (void *)n));
    for (int n = 0; n < THREADS; n++)
        while (__atomic_load_n(&stores[n], __ATOMIC_RELAXED) < 2)
            sched_yield();
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            /* Nobody stores here any more. */
            char *copy = mmap(NULL, MANY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            memcpy(copy, at[0], MANY);
            for (int i = 0; i < 20; i++)
                sched_yield();
            _exit(memcmp(copy, at[0], MANY) ? 1 : 0);
        }
        wait_for(child);
        sched_yield();
    }
    atomic_store(&stop, true);
    for (int n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
    char *page = at[0] - (ptrdiff_t)((size_t)at[0] % 4096);
    for (size_t i = 4096; i + 4096 < MANY; i += 4096)
        for (int n = 0; n < THREADS; n++)
            CHECK(*(long *)(page + i + (size_t)n * 64) == stores[n]);
    CHECK(filled(at[1], len[1], 1));
    for (int i = 0; i < 10 * USES; i++)
        CHECK(promote_used(f, at[0], MANY) == -1);
    check_apart(f, at, (size_t[]){MANY, HEAPED}, 2);
    at[0] = realloc(at[0], 2 * MANY);
    free(at[0]);
    free(at[1]);
}

/* A thread that starts later; without a fork, the memory stays promoted and good. */
static void a_thread_after(void)
{
    fixture *f = start();
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, wait_a_little, NULL));
    pthread_join(thread, NULL);
    CHECK(promote_used(f, at[0], len[0]) == place[0] && is_shared(f, at[0], len[0], place[0]));
    char *other = malloc(MAPPED);
    for (int i = 0; i < 10 * USES; i++)
        CHECK(promote_used(f, other, MAPPED) == -1);
    CHECK(strstr(promote_why(f), "more than one thread"));
    promote_end(f);
    CHECK(filled(at[0], len[0], 1));
}

/* Makes a system call fail with that error when its argument has that value (-1: any). */
static void fail(int number, int argument, int value, int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * argument),
        BPF_JUMP(BPF_JMP | (value == -1 ? BPF_JGE : BPF_JEQ) | BPF_K, value == -1 ? 0 : value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        SKIP("no seccomp filters here: %m");
}

/* No memory for a private copy when the process forks: the child is apart all the same. */
static void fork_without_memory(void)
{
    fixture *f = start();
    fail(SYS_mremap, 0, -1, 12);
    check_apart(f, at, len, 2);
    CHECK(promote_used(f, at[0], len[0]) == place[0]);
}

static void fork_without_mappings(void)
{
    fixture *f = start();
    fail(SYS_mmap, 3, MAP_PRIVATE | MAP_ANONYMOUS, 12);
    pid_t child = fork();
    if (child == 0) {
        CHECK(filled(at[0], len[0], 1) && filled(at[1], len[1], 1));
        fill(at[0], len[0], 2);
        fill(at[1], len[1], 3);
        _exit(0);
    }
    wait_for(child);
    CHECK(filled(at[0], len[0], 1) && filled(at[1], len[1], 1));
    CHECK(promote_used(f, at[0], len[0]) == place[0]);
}

/* A child that cannot have its own copy ends before it does anything, if there is a child at all. */
static void fork_without_a_copy(void)
{
    start();
    at[0] = realloc(at[0], 4 * MAPPED); /* for which nothing is set aside yet */
    fill(at[0], 4 * MAPPED, 5);
    fail(SYS_mmap, 3, MAP_PRIVATE | MAP_ANONYMOUS, 12);
    pid_t child = fork();
    if (child == 0) {
        fill(at[0], 4 * MAPPED, 6);
        _exit(0);
    }
    int status;
    CHECK(child < 0 || (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 127));
    CHECK(filled(at[0], 4 * MAPPED, 5));
}

/* No memory while copying: the program notices nothing. */
static void lack(int number, int argument, int value, int error)
{
    at[0] = malloc(MAPPED);
    fill(at[0], MAPPED, 1);
    fixture *f = promote_start(AUTO, USES);
    fail(number, argument, value, error);
    for (int i = 0; i < 10 * USES; i++)
        CHECK(promote_used(f, at[0], MAPPED) == -1);
    if (strstr(promote_why(f), "the kernel lacks"))
        SKIP("%s", promote_why(f));
    CHECK(strstr(promote_why(f), "no room in the node's file"));
    CHECK(filled(at[0], MAPPED, 1));
    fill(at[0], MAPPED, 2);
    CHECK(filled(at[0], MAPPED, 2));
    CHECK(promote_speculative(f, at[0], MAPPED) == -1 && promote_count(f, PROMOTED) == 0);
}

static void no_move(void) { lack(SYS_mremap, 0, -1, 12); }
static void no_space(void) { lack(SYS_pwrite64, 0, -1, 28); }
static void no_memory(void) { lack(SYS_mmap, 3, MAP_SHARED | MAP_FIXED | MAP_POPULATE, 12); }

/* The kernel refuses to say what is mapped. */
static void no_answers(void)
{
    at[0] = malloc(MAPPED);
    fixture *f = promote_start(AUTO, USES);
    fail(SYS_ioctl, 0, -1, 25);
    refused(f, at[0], MAPPED, "the kernel lacks");
}

/* It stops answering later: what was promoted is not relied on any more. */
static void no_answers_any_more(void)
{
    fixture *f = start();
    fail(SYS_ioctl, 0, -1, 25);
    if (getenv("PROMOTE_TOLD")) {
        /* It need not answer before it tells of something. */
        CHECK(promote_used(f, at[0], len[0]) == place[0]);
        void *other = at[1];
        munmap((char *)(((uintptr_t)other + 4095) & ~(uintptr_t)4095), 4096);
    }
    CHECK(promote_used(f, at[0], len[0]) == -1);
    CHECK(!promote_verify(f, at[0], len[0], place[0]));
    CHECK(filled(at[0], len[0], 1));
}

static void locked_before(void)
{
    fixture *f = promote_start(AUTO, USES);
    at[0] = malloc(MAPPED);
    fill(at[0], MAPPED, 1);
    if (mlock(at[0], MAPPED))
        SKIP("mlock: %m");
    refused(f, at[0], MAPPED, "unusual memory (lo)");
    munlock(at[0], MAPPED);
    CHECK(!mlockall(MCL_CURRENT));
    char *other = malloc(HEAPED);
    refused(f, other, HEAPED, "unusual memory (lo)");
}

/* Locked after it was promoted, it stays locked. */
static void locked_after(void)
{
    fixture *f = start();
    if (mlock(at[0], MAPPED))
        SKIP("mlock: %m");
    long locked = kib("/proc/self/status", "VmLck:");
    CHECK(locked >= 1024);
    check_apart(f, at, len, 2);
    CHECK(kib("/proc/self/status", "VmLck:") == locked);
}

/* Ends with a core dump: of a promoted buffer (argument 2: "shared"), or of one that a fork has frozen, with threads ("frozen"). The buffer holds the words of argument 3. */
static const char *core_kind, *core_words;
static void dumps_core(void)
{
    struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_CORE, &unlimited))
        SKIP("no core dumps allowed: %m");
    fixture *f = start();
    pthread_t thread;
    for (int i = 0; i < 2; i++)
        for (size_t j = 0; j + 64 < len[i]; j += 64)
            snprintf(at[i] + j, 64, "%s in buffer %d", core_words, i);
    if (!strcmp(core_kind, "frozen")) {
        CHECK(!pthread_create(&thread, NULL, wait_a_little, NULL));
        pthread_join(thread, NULL);
    }
    if (strcmp(core_kind, "shared")) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        wait_for(child);
    }
    CHECK(promote_verify(f, at[0], len[0], place[0]) == !strcmp(core_kind, "shared"));
    abort();
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {
        {"forks", forks},
        {"pinned_in_the_heap", pinned_in_the_heap},
        {"pinned_without_room", pinned_without_room},
        {"pinned_after_messages", pinned_after_messages},
        {"quiesce_before_fork", quiesce_before_fork},
        {"new_programs", new_programs},
        {"a_thread_before", a_thread_before},
        {"a_thread_after", a_thread_after},
        {"threads_after", threads_after},
        {"fork_without_memory", fork_without_memory},
        {"fork_without_mappings", fork_without_mappings},
        {"fork_without_a_copy", fork_without_a_copy},
        {"fork_without_descriptors", fork_without_descriptors},
        {"counts_as_before", counts_as_before},
        {"protected_in_part", protected_in_part},
        {"no_move", no_move},
        {"no_space", no_space},
        {"no_memory", no_memory},
        {"no_answers", no_answers},
        {"no_answers_any_more", no_answers_any_more},
        {"locked_before", locked_before},
        {"locked_after", locked_after},
        {"dumps_core", dumps_core},
    };
    core_kind = argc > 2 ? argv[2] : "shared";
    core_words = argc > 3 ? argv[3] : "words";
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
