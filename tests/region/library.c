// The region library as a C program sees it: several processes, each by its own space.
// Usage: library OPTIONS     the options of the space of the member that uses others' memory
//   TERN_TEST_MODULE   the kernel module is loaded
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tern_region.h>
#include <unistd.h>

#define LEN 300000
#define SPAN ((uint64_t)1 << 24)

// Numbers that processes tell each other, 0 before.
static _Atomic uint64_t *board;
static char name[60];
static uint32_t options;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)
// The value of a call that gives errors.
#define IS(call, expected) \
    do { \
        int got = (call), wanted = (expected); \
        if (got != wanted) { \
            fprintf(stderr, "%s:%d: %s gives %d (%s), expected %d\n", __FILE__, __LINE__, #call, got, \
                    tern_region_text(got), wanted); \
            exit(1); \
        } \
    } while (0)

static void post(int index, uint64_t value) { atomic_store_explicit(&board[index], value, memory_order_release); }

// Waits for a number; answers peers meanwhile.
static uint64_t await(tern_region_space *space, int index)
{
    uint64_t value;
    while ((value = atomic_load_explicit(&board[index], memory_order_acquire)) == 0) {
        if (space == NULL || tern_region_progress(space) == 0)
            usleep(50);
    }
    return value;
}

static tern_region_space *join(uint32_t members, uint32_t me, uint32_t how)
{
    tern_region_space *space;
    IS(tern_region_open(name, members, me, SPAN, how, &space), 0);
    return space;
}

static tern_region_spot at(uint64_t cookie, uint64_t offset)
{
    tern_region_spot spot = {cookie, offset};
    return spot;
}

static void fill(unsigned char *bytes, int seed)
{
    for (int i = 0; i < LEN; i++)
        bytes[i] = (unsigned char)(i * 31 + (i >> 8) + seed);
}

static int copy(tern_region_space *space, uint64_t cookie, uint64_t offset, void *bytes, size_t len, uint32_t direction)
{
    struct iovec local[2] = {{bytes, len / 2}, {(char *)bytes + len / 2, len - len / 2}};
    return tern_region_inline_copy(space, local, 2, at(cookie, offset), len, direction);
}

// Member 0: declares memory of both kinds, and waits.
static void owner(void)
{
    tern_region_space *space = join(3, 0, options & TERN_REGION_USE_MODULE);
    unsigned char *private = malloc(LEN), *shared = tern_region_allocate(space, LEN);
    CHECK(private && shared);
    fill(private, 1);
    fill(shared, 2);
    struct iovec parts[2] = {{private + 1000, LEN - 1000}, {private, 1000}}, whole = {shared, LEN};
    uint64_t cookie;
    IS(tern_region_create(space, parts, 2, TERN_REGION_READ, 0, &cookie), 0);
    post(1, cookie);
    IS(tern_region_create(space, &whole, 1, TERN_REGION_READ | TERN_REGION_WRITE, 0, &cookie), 0);
    post(2, cookie);
    IS(tern_region_create(space, &whole, 1, TERN_REGION_READ, TERN_REGION_SINGLE_USE, &cookie), 0);
    post(3, cookie);
    await(space, 10);
    CHECK(memcmp(shared + 500, "written", 7) == 0);
    // A region that is destroyed is there no more.
    IS(tern_region_destroy(space, board[1]), 0);
    IS(tern_region_destroy(space, board[1]), -ENOENT);
    post(11, 1);
    await(space, 12);
    IS(tern_region_destroy(space, board[2]), 0);
    IS(tern_region_free(space, shared), 0);
    IS(tern_region_free(space, shared), -EINVAL);
    IS(tern_region_close(space), 0);
    exit(0);
}

static void refusals(tern_region_space *space, uint64_t readable, uint64_t both)
{
    unsigned char bytes[10] = {0};
    IS(copy(space, readable, 0, bytes, 10, TERN_REGION_WRITE), -EACCES);
    IS(copy(space, readable, LEN - 9, bytes, 10, TERN_REGION_READ), -ERANGE);
    IS(copy(space, readable, UINT64_MAX - 5, bytes, 10, TERN_REGION_READ), -ERANGE);
    IS(copy(space, 0, 0, bytes, 10, TERN_REGION_READ), -ENOENT);
    IS(copy(space, both ^ (uint64_t)1 << 40, 0, bytes, 10, TERN_REGION_READ), -ENOENT);
    IS(copy(space, both | 0xffff0000, 0, bytes, 10, TERN_REGION_READ), -ENOENT);
    IS(copy(space, both, 0, bytes, 10, TERN_REGION_READ | TERN_REGION_WRITE), -EINVAL);
    struct iovec local = {bytes, 10};
    IS(tern_region_inline_copy(space, &local, 1, at(both, 0), 11, TERN_REGION_READ), -ERANGE);
    IS(tern_region_inline_copy(space, NULL, 1, at(both, 0), 1, TERN_REGION_READ), -EINVAL);
    IS(tern_region_inline_copy(NULL, &local, 1, at(both, 0), 1, TERN_REGION_READ), -EINVAL);
    IS(tern_region_destroy(space, both), -EPERM);
    IS(tern_region_create(space, &local, 1, 4, 0, &both), -EINVAL);
    IS(tern_region_create(space, &local, 1, TERN_REGION_READ, 2, &both), -EINVAL);
    IS(tern_region_create(space, &local, 1, TERN_REGION_READ, 0, NULL), -EINVAL);
    IS(tern_region_poll(NULL), -EINVAL);
    IS(tern_region_close(NULL), -EINVAL);
    IS(tern_region_standing(space, 0, 9), -EINVAL);
    tern_region_release(NULL);
    for (int i = 0; i < 10; i++)
        CHECK(bytes[i] == 0);
}

static void asynchronous(tern_region_space *space, uint64_t cookie, const unsigned char *expected)
{
    unsigned char *bytes = malloc(LEN);
    struct iovec local = {bytes, LEN};
    for (uint32_t by = TERN_REGION_SELF; by <= TERN_REGION_ENGINE; by++) {
        tern_region_status *status;
        memset(bytes, 0, LEN);
        IS(tern_region_start_inline_copy(space, &local, 1, at(cookie, 0), LEN, TERN_REGION_READ, by, &status), 0);
        // The space cannot be left now.
        IS(tern_region_close(space), -EBUSY);
        int result;
        while ((result = tern_region_poll(status)) == -EINPROGRESS)
            ;
        IS(result, 0);
        IS(tern_region_wait(status), 0);
        tern_region_release(status);
        CHECK(memcmp(bytes, expected, LEN) == 0);
        // Given up at once.
        IS(tern_region_start_inline_copy(space, &local, 1, at(cookie, 0), LEN, TERN_REGION_READ, by, &status), 0);
        tern_region_release(status);
    }
    tern_region_status *none = (void *)bytes;
    IS(tern_region_start_inline_copy(space, &local, 1, at(cookie, 1), LEN, TERN_REGION_READ, 0, &none), -ERANGE);
    CHECK(none == NULL);
    IS(tern_region_start_inline_copy(space, &local, 1, at(cookie, 0), LEN, TERN_REGION_READ, 4, &none), -EINVAL);
    free(bytes);
}

// Member 1: uses what member 0 has declared.
static void user(void)
{
    tern_region_space *space = join(3, 1, options);
    uint64_t readable = await(space, 1), both = await(space, 2), once = await(space, 3);
    unsigned char *bytes = malloc(LEN), *expected = malloc(LEN);
    fill(expected, 1);
    IS(copy(space, readable, 0, bytes, LEN, TERN_REGION_READ), 0);
    // Its two segments were declared the other way round.
    CHECK(memcmp(bytes, expected + 1000, LEN - 1000) == 0 && memcmp(bytes + LEN - 1000, expected, 1000) == 0);
    refusals(space, readable, both);

    // One use of a part, and what is refused is none.
    IS(copy(space, once, LEN, bytes, 10, TERN_REGION_READ), -ERANGE);
    IS(copy(space, once, 77, bytes, 10, TERN_REGION_READ), 0);
    fill(expected, 2);
    CHECK(memcmp(bytes, expected + 77, 10) == 0);
    IS(copy(space, once, 77, bytes, 10, TERN_REGION_READ), -ENOENT);

    asynchronous(space, both, expected);
    IS(copy(space, both, 500, "written", 7, TERN_REGION_WRITE), 0);
    // Between two regions, none of which is this process's; the target is member 2's.
    uint64_t target = await(space, 4);
    IS(tern_region_copy(space, at(both, 500), at(target, 3), 7), 0);
    tern_region_status *status;
    IS(tern_region_start_copy(space, at(readable, LEN - 1000), at(target, 100), 1000, TERN_REGION_SELF, &status), 0);
    IS(tern_region_wait(status), 0);
    tern_region_release(status);
    CHECK(tern_region_is_alive(space, 2) == 1);
    post(5, 1);

    // Member 2 is killed in the middle of its life.
    await(space, 6);
    CHECK(tern_region_is_alive(space, 2) == 0);
    IS(copy(space, target, 0, bytes, 10, TERN_REGION_READ), -ESRCH);
    IS(tern_region_copy(space, at(both, 0), at(target, 0), 10), -ESRCH);
    post(10, 1);
    await(space, 11);
    IS(copy(space, readable, 0, bytes, 1, TERN_REGION_READ), -ENOENT);
    if (options & TERN_REGION_NO_CMA)
        CHECK(tern_region_standing(space, 0, TERN_REGION_CMA) == TERN_REGION_OFF);
    CHECK(tern_region_standing(space, 0, TERN_REGION_PIPE) == TERN_REGION_WORKS);
    // Where the kernel module is there, it has copied.
    int module = tern_region_standing(space, 0, TERN_REGION_MODULE);
    if (options & TERN_REGION_USE_MODULE)
        CHECK(module == (getenv("TERN_TEST_MODULE") ? TERN_REGION_WORKS : TERN_REGION_ABSENT));
    else
        CHECK(module == TERN_REGION_OFF);
    post(12, 1);
    IS(tern_region_close(space), 0);
    exit(0);
}

// Member 2: its memory is written by member 1, and it is killed then.
static void victim(void)
{
    tern_region_space *space = join(3, 2, options & TERN_REGION_USE_MODULE);
    unsigned char *bytes = calloc(1, LEN), *expected = malloc(LEN);
    struct iovec whole = {bytes, LEN};
    uint64_t cookie;
    IS(tern_region_create(space, &whole, 1, TERN_REGION_READ | TERN_REGION_WRITE, 0, &cookie), 0);
    post(4, cookie);
    await(space, 5);
    fill(expected, 1);
    CHECK(memcmp(bytes + 3, "written", 7) == 0 && memcmp(bytes + 100, expected, 1000) == 0);
    post(7, 1);
    for (;;)
        pause();
}

static pid_t start(void (*process)(void))
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        process();
    return pid;
}

static void ends_well(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int is_there(void)
{
    char path[120];
    snprintf(path, sizeof path, "/dev/shm/tern-region.%d.%s", (int)geteuid(), name);
    return access(path, F_OK) == 0;
}

// Spaces of one process: names, descriptors, wrong arguments.
static void alone(void)
{
    tern_region_space *first, *second;
    IS(tern_region_open(name, 2, 0, SPAN, 0, &first), 0);
    CHECK(is_there());
    IS(tern_region_open(name, 2, 0, SPAN, 0, &second), -EEXIST);
    CHECK(second == NULL);
    IS(tern_region_open(name, 3, 1, SPAN, 0, &second), -EINVAL);
    IS(tern_region_open(name, 2, 2, SPAN, 0, &second), -EINVAL);
    IS(tern_region_open(name, 2, 1, SPAN, 16, &second), -EINVAL);
    IS(tern_region_open(name, TERN_REGION_MEMBERS + 1, 1, SPAN, 0, &second), -EINVAL);
    IS(tern_region_open("a/b", 2, 1, SPAN, 0, &second), -EINVAL);
    IS(tern_region_open(NULL, 2, 1, SPAN, 0, &second), -EINVAL);
    IS(tern_region_open(name, 2, 1, SPAN, 0, NULL), -EINVAL);
    CHECK(is_there());
    // The last one to come removes the name; the space goes on.
    IS(tern_region_open(name, 2, 1, SPAN, 0, &second), 0);
    CHECK(!is_there());
    IS(tern_region_remove(name), -ENOENT);
    char text[] = "across", got[7] = "";
    struct iovec from = {text, 7};
    uint64_t cookie;
    IS(tern_region_create(first, &from, 1, TERN_REGION_READ, 0, &cookie), 0);
    CHECK(tern_region_standing(second, 0, TERN_REGION_CMA) == TERN_REGION_UNPROVEN);
    tern_region_status *status;
    struct iovec to = {got, 7};
    IS(tern_region_start_inline_copy(second, &to, 1, at(cookie, 0), 7, TERN_REGION_READ, TERN_REGION_SELF, &status), 0);
    while (tern_region_poll(status) == -EINPROGRESS)
        tern_region_progress(first);
    tern_region_release(status);
    CHECK(strcmp(got, text) == 0);
    IS(tern_region_close(second), 0);
    IS(tern_region_close(first), 0);
    // Who is alone and leaves takes the name along.
    IS(tern_region_open(name, 2, 0, SPAN, 0, &first), 0);
    IS(tern_region_close(first), 0);
    CHECK(!is_there());
    // In a descriptor.
    int file = memfd_create("space", MFD_CLOEXEC);
    IS(tern_region_open_file(file, 2, 1, SPAN, 0, &first), 0);
    IS(tern_region_open_file(file, 2, 0, SPAN, 0, &second), 0);
    IS(tern_region_close(first), 0);
    IS(tern_region_close(second), 0);
    IS(tern_region_open_file(-1, 2, 0, SPAN, 0, &second), -EBADF);
    close(file);
    CHECK(strlen(tern_region_text(-ENOENT)) > 5 && strlen(tern_region_text(-9999)) > 5 && tern_region_text(0));
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    options = (uint32_t)atoi(argv[1]);
    snprintf(name, sizeof name, "test.%d", (int)getpid());
    alone();
    board = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(board != MAP_FAILED);
    pid_t zero = start(owner), one = start(user), two = start(victim);
    while (atomic_load(&board[7]) == 0) {
        usleep(100);
        int status;
        CHECK(waitpid(-1, &status, WNOHANG) == 0);
    }
    CHECK(!is_there());
    kill(two, SIGKILL);
    waitpid(two, NULL, 0);
    post(6, 1);
    ends_well(one);
    ends_well(zero);
    return 0;
}
