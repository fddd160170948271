// ranks: 2
// timeout: 120
// mpiexec: -x TERN_COSTS=default
// Random sequences of what programs do to their memory, between messages, beside a copy of the memory that no message touches. Both ranks
// draw the same numbers, and each keeps the copy of both. Some of it must have become shared memory, or nothing was tested.
// Arguments: how many steps [100], the seed [1]. A failure tells the seed and the step.
#define _GNU_SOURCE
#include "counter.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef RING
#include <linux/io_uring.h>
#include <sys/syscall.h>
#endif

enum { SLOTS = 6, MOST = 2 << 20 };
#define PAGE ((size_t)sysconf(_SC_PAGESIZE))

static unsigned long long state;
static int step, steps = 100;
static long seed = 1;

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

static char *memory[SLOTS];          /* of this rank, malloc's */
static size_t length[2][SLOTS];
static char *copy[2][SLOTS];         /* what memory is to hold */
static int may_start_threads;

static void tell(const char *what, int slot, size_t at)
{
    failures++;
    fprintf(stderr, "rank %d, seed %ld, step %d: slot %d is wrong at %zu of %zu: %s\n", rank, seed, step, slot, at, length[rank][slot],
            what);
}

static int is_right(int slot, const char *what)
{
    char *ours = memory[slot], *theirs = copy[rank][slot];
    if (!memcmp(ours, theirs, length[rank][slot]))
        return 1;
    size_t at = 0;
    while (ours[at] == theirs[at])
        at++;
    tell(what, slot, at);
    return 0;
}

static int all_are_right(const char *what)
{
    int right = 1;
    for (int slot = 0; slot < SLOTS; slot++)
        right &= is_right(slot, what);
    return right;
}

/* Stores the same to memory and copy. */
static void store(int who, int slot, size_t at, size_t len, unsigned value)
{
    for (size_t i = 0; i < len; i++)
        copy[who][slot][at + i] = (char)((i + value) * 2654435761u >> 13);
    if (who == rank)
        memcpy(memory[slot] + at, copy[who][slot] + at, len);
}

static size_t new_length(void)
{
    static const size_t lengths[] = {20000, 65536, 100000, 262144, 600000, 1 << 20, MOST};
    size_t len = lengths[draw(7)], least = 2 * PAGE + 5000;
    /* With a whole page in it, however long pages are. */
    if (len < least)
        len = least;
    return len - draw(5000);
}

static void messages(void)
{
    int from = draw(2), a = draw(SLOTS), b = draw(SLOTS), times = 1 + (draw(3) ? draw(20) : 400);
    size_t len = length[from][a] < length[1 - from][b] ? length[from][a] : length[1 - from][b];
    if (draw(2))
        len -= draw((unsigned)len / 2);
    for (int i = 0; i < times; i++) {
        int answer = 0;
        if (rank == from) {
            MPI_Send(memory[a], (int)len, MPI_BYTE, 1 - from, 1, MPI_COMM_WORLD);
            MPI_Recv(&answer, 1, MPI_INT, 1 - from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(memory[b], (int)len, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&answer, 1, MPI_INT, from, 2, MPI_COMM_WORLD);
        }
    }
    memcpy(copy[1 - from][b], copy[from][a], len);
    is_right(rank == from ? a : b, "after a message");
}

/* Pages within a slot of `who`, which tells them to the other: they depend on the address. */
static size_t pages(int who, int slot, size_t *len)
{
    unsigned long told[2] = {0, 0};
    unsigned first = draw(1000), count = draw(1000);
    if (who == rank) {
        size_t skip = -(uintptr_t)memory[slot] & (PAGE - 1), most = (length[who][slot] - skip) / PAGE;
        told[0] = skip + first % most * PAGE;
        told[1] = (1 + count % (most - first % most)) * PAGE;
    }
    MPI_Bcast(told, 2, MPI_UNSIGNED_LONG, who, MPI_COMM_WORLD);
    *len = told[1];
    return told[0];
}

static long status(const char *name)
{
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            value = atol(line + strlen(name)) * 1024;
    if (file)
        fclose(file);
    return value;
}

/* A child sees the memory as it was, and what it stores is seen by nobody else. */
static void child(const char *what)
{
    char turn;
    int to[2];
    if (pipe(to))
        return;
    pid_t pid = fork();
    if (pid == 0) {
        int right = all_are_right("in a child");
        if (read(to[0], &turn, 1) != 1)
            _exit(2);
        right &= all_are_right("in a child, later");
        for (int slot = 0; slot < SLOTS; slot++)
            memset(memory[slot], 0xee, length[rank][slot]);
        free(malloc(300000));
        _exit(!right);
    }
    if (pid < 0) {
        CHECK(0, "fork %s: %s", what, strerror(errno));
    } else {
        /* Before the child goes on. */
        for (int slot = 0; slot < SLOTS; slot++)
            for (size_t at = 0; at < length[rank][slot]; at += 1000)
                memory[slot][at] ^= 0x55;
        int code;
        CHECK(write(to[1], "x", 1) == 1);
        CHECK(waitpid(pid, &code, 0) == pid && code == 0, "seed %ld, step %d: a child ended with %x %s", seed, step, code, what);
        for (int slot = 0; slot < SLOTS; slot++)
            for (size_t at = 0; at < length[rank][slot]; at += 1000)
                memory[slot][at] ^= 0x55;
    }
    close(to[0]), close(to[1]);
    all_are_right(what);
}

static void forks(void)
{
    if ((int)draw(2) == rank)
        child("by fork");
}

static void limits(void)
{
    int who = draw(2), below = draw(2), address_space = draw(2);
    if (who != rank)
        return;
    int kind = address_space ? RLIMIT_AS : RLIMIT_DATA;
    struct rlimit before, now;
    getrlimit(kind, &before);
    now = before;
    now.rlim_cur = below ? 16 << 20 : (rlim_t)status(address_space ? "VmSize:" : "VmData:") + PAGE;
    setrlimit(kind, &now);
    child("with a limit");
    setrlimit(kind, &before);
}

static void reallocates(void)
{
    int who = draw(2), slot = draw(SLOTS), value = draw(1000);
    size_t before = length[who][slot], len = new_length();
    length[who][slot] = len;
    if (who == rank) {
        memory[slot] = realloc(memory[slot], len);
        CHECK(!memcmp(memory[slot], copy[who][slot], before < len ? before : len), "seed %ld, step %d: realloc", seed, step);
    }
    if (len > before)
        store(who, slot, before, len - before, value);
}

static void frees(void)
{
    int who = draw(2), slot = draw(SLOTS), zeros = draw(2), value = draw(1000);
    size_t len = new_length();
    length[who][slot] = len;
    if (who == rank) {
        free(memory[slot]);
        memory[slot] = zeros ? calloc(1, len) : malloc(len);
    }
    if (zeros) {
        memset(copy[who][slot], 0, len);
        if (who == rank)
            is_right(slot, "after calloc");
    }
    store(who, slot, 0, len, value);
}

static void maps_over(void)
{
    int who = draw(2), slot = draw(SLOTS), unmaps = draw(2);
    size_t len, at = pages(who, slot, &len);
    memset(copy[who][slot] + at, 0, len);
    if (who != rank)
        return;
    if (unmaps)
        munmap(memory[slot] + at, len);
    void *fresh = mmap(memory[slot] + at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(fresh == memory[slot] + at);
}

static void protects(void)
{
    int who = draw(2), slot = draw(SLOTS);
    size_t len, at = pages(who, slot, &len);
    if (who != rank)
        return;
    CHECK(!mprotect(memory[slot] + at, len, PROT_READ));
    pid_t pid = fork();
    if (pid == 0)
        _exit(!all_are_right("in a child, partly protected"));
    int code;
    CHECK(waitpid(pid, &code, 0) == pid && code == 0);
    CHECK(!mprotect(memory[slot] + at, len, PROT_READ | PROT_WRITE));
}

/* A file is read past the cache. */
static void direct(void)
{
    int who = draw(2), slot = draw(SLOTS), value = draw(1000);
    size_t len, at = pages(who, slot, &len);
    store(who, slot, at, len, value);
    if (who != rank)
        return;
    char name[] = "memory_random.XXXXXX";
    int file = mkostemp(name, O_DIRECT);
    if (file < 0)
        return;
    unlink(name);
    if (write(file, memory[slot] + at, len) == (ssize_t)len) {
        memset(memory[slot] + at, 1, len);
        CHECK(pread(file, memory[slot] + at, len, 0) == (ssize_t)len);
    }
    close(file);
    is_right(slot, "after O_DIRECT");
}

static void *nothing(void *argument)
{
    return argument;
}

static void threads(void)
{
    if ((int)draw(2) != rank || !may_start_threads || step < steps * 3 / 4)
        return;
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, nothing, NULL));
    pthread_join(thread, NULL);
    child("after a thread");
}

static void another_user(void)
{
    if (geteuid() == 0 && !seteuid(65534)) {
        messages();
        CHECK(!seteuid(0));
    } else {
        messages();
    }
}

static void vforks(void)
{
    if ((int)draw(2) != rank)
        return;
    pid_t pid = vfork();
    if (pid == 0)
        _exit(0);
    int code;
    CHECK(waitpid(pid, &code, 0) == pid && code == 0);
    all_are_right("after vfork");
}

static void stores(void)
{
    int who = draw(2), slot = draw(SLOTS);
    size_t at = draw((unsigned)length[who][slot]), len = draw((unsigned)(length[who][slot] - at));
    store(who, slot, at, len, draw(1000));
}

#ifdef MOVES
/* Pages go elsewhere and come back, or others come in their place. */
static void moves(void)
{
    int who = draw(2), slot = draw(SLOTS), back = draw(2), high = draw(2);
    size_t len, at = pages(who, slot, &len);
    char *page = memory[slot] + at, *away = NULL;
    if (who == rank) {
        away = mmap(high ? NULL : (void *)0x10000000, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t part = 0; part < len; part += PAGE)
            CHECK(mremap(page + part, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, away + part) == away + part);
        CHECK(!memcmp(away, copy[who][slot] + at, len), "seed %ld, step %d: moved pages", seed, step);
    }
    if (!back) {
        if (who == rank)
            mmap(page, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        char *kept = malloc(len);
        memcpy(kept, copy[who][slot] + at, len);
        store(who, slot, at, len, 17);
        messages();
        messages();
        if (who == rank) {
            CHECK(!memcmp(away, kept, len), "seed %ld, step %d: moved pages after messages", seed, step);
            memset(away, 3, len);
            is_right(slot, "where pages were moved away");
            munmap(away, len);
        }
        free(kept);
    } else if (who == rank) {
        for (size_t part = 0; part < len; part += PAGE)
            CHECK(mremap(away + part, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page + part) == page + part);
        is_right(slot, "where pages came back");
    }
}
#endif

#ifdef FORMS
static void forms(void)
{
    int who = draw(2), slot = draw(SLOTS), empty = draw(2);
    size_t len, at = pages(who, slot, &len);
    char *page = memory[slot] + at;
    if (who == rank) {
        CHECK(mremap(page, 0, PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
        if (empty)
            CHECK(!madvise(page, len, MADV_DONTNEED));
        else
            for (size_t part = 0; part < len; part += PAGE)
                munmap(mremap(page + part, PAGE, PAGE, MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */), PAGE);
    }
    memset(copy[who][slot] + at, 0, len);
    if (who == rank)
        is_right(slot, "where pages were emptied");
}
#endif

#ifdef RING
/* A ring holds the pages of a buffer, while the process forks. */
static void ring(void)
{
    int who = draw(2), slot = draw(SLOTS), value = draw(1000);
    size_t len, at = pages(who, slot, &len);
    store(who, slot, at, len, value);
    if (who != rank)
        return;
    struct io_uring_params p = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 4, &p), file = memfd_create("memory_random", 0);
    struct iovec pages = {memory[slot] + at, len};
    if (ring < 0 || syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &pages, 1)) {
        close(ring), close(file);
        return;
    }
    CHECK(write(file, memory[slot] + at, len) == (ssize_t)len);
    memset(memory[slot] + at, 1, len);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    char *queue = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry = mmap(NULL, p.sq_entries * sizeof *entry, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    *entry = (struct io_uring_sqe){
        .opcode = IORING_OP_READ_FIXED, .fd = file, .addr = (uintptr_t)pages.iov_base, .len = (unsigned)len};
    *(unsigned *)(queue + p.sq_off.array) = 0;
    __atomic_store_n((unsigned *)(queue + p.sq_off.tail), 1, __ATOMIC_RELEASE);
    CHECK(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
    munmap(queue, p.sq_off.array + p.sq_entries * 4), munmap(entry, p.sq_entries * sizeof *entry);
    close(ring), close(file);
    is_right(slot, "after a ring has filled it");
}
#endif

/* Of both ranks. A program that calls what could tell shared memory from private memory gets none, unless that is forced. */
static void see_promotion(MPI_T_pvar_handle promoted, MPI_T_pvar_handle refused)
{
    number own[] = {counted(promoted), counted(refused)}, sum[2];
    OK(MPI_Reduce(own, sum, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    end_counting();
    if (rank != 0)
        return;
#ifdef FORMS
    CHECK(sum[0] == 0, "%llu buffers were promoted, though the program calls mremap and madvise", sum[0]);
    CHECK(sum[1] > 0, "no promotion was asked for");
#else
    if (sum[0] == 0 && sum[1] > 0)
        printf("skipped: promotion was refused %llu times, by the kernel or a container\n", sum[1]);
    else
        CHECK(sum[0] > 0, "nothing was promoted: nothing was tested");
#endif
}

int main(int argc, char **argv)
{
    steps = argc > 1 ? atoi(argv[1]) : steps;
    seed = argc > 2 ? atol(argv[2]) : seed;
    state = (unsigned long long)seed;
    begin(&argc, &argv);
#ifdef FORMS
    // Aliases of its own memory are what `auto` keeps from promotion, and `always` does not.
    const char *promote = getenv("TERN_PROMOTE");
    if (promote != NULL && strcmp(promote, "always") == 0) {
        if (rank == 0) printf("skipped: under TERN_PROMOTE=always this program can tell shared memory from private memory\n");
        return finish();
    }
#endif
    may_start_threads = draw(2);
    MPI_T_pvar_handle promoted = counter("promoted"), refused = counter("promotion_refused");
    for (int who = 0; who < 2; who++)
        for (int slot = 0; slot < SLOTS; slot++) {
            copy[who][slot] = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            length[who][slot] = new_length();
            if (who == rank)
                memory[slot] = malloc(length[who][slot]);
            store(who, slot, 0, length[who][slot], (unsigned)slot);
        }
    void (*actions[])(void) = {
        messages, messages, messages, stores, forks, limits, reallocates, frees, maps_over, protects, direct, threads, another_user, vforks,
#ifdef MOVES
        moves,
#endif
#ifdef FORMS
        forms,
#endif
#ifdef RING
        ring,
#endif
    };
    for (step = 0; step < steps && !failures; step++)
        actions[draw(sizeof actions / sizeof *actions)]();
    all_are_right("at the end");
    if (failures)
        MPI_Abort(MPI_COMM_WORLD, 1);
    see_promotion(promoted, refused);
    if (rank == 0)
        printf("seed %ld, %d steps\n", seed, step);
    for (int slot = 0; slot < SLOTS; slot++)
        free(memory[slot]);
    return finish();
}
