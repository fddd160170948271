/* What the test programs of promotion have in common. A program runs the case that its first
 * argument names, and ends with 0 (good), 77 (skipped, with a line that says why) or 1. */
#ifndef PROMOTE_H
#define PROMOTE_H
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct fixture fixture;
fixture *promote_start(int policy, int uses);
int64_t promote_used(fixture *, const void *, size_t);
int64_t promote_speculative(fixture *, const void *, size_t);
bool promote_verify(fixture *, const void *, size_t, int64_t);
int64_t promote_pin(fixture *, const void *, size_t, size_t *start, size_t *length);
void promote_unpin(fixture *, const void *, size_t);
void promote_settle(fixture *, const void *, size_t);
void promote_end(fixture *);
void promote_in_use(fixture *, bool);
void promote_quiesce(fixture *, void (*)(void));
const char *promote_why(fixture *);
uint64_t promote_count(fixture *, int);
int promote_file(fixture *);
uint64_t promote_file_bytes(fixture *);

enum { OFF, AUTO, ALWAYS };
enum { PROMOTED, BYTES, REFUSED, GONE };
/* A buffer is promoted at that use. */
enum { USES = 3 };
#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
/* Above malloc's threshold: a mapping of its own. Below: in the heap. */
#define MAPPED (MIB + 123)
#define HEAPED (90 * KIB + 45)

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            printf("%s:%d: not so: %s (errno %m)\n", __FILE__, __LINE__, #what);                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define SKIP(...)                                                                                  \
    do {                                                                                           \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
        exit(77);                                                                                  \
    } while (0)

static inline void fill(void *at, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        ((unsigned char *)at)[i] = (unsigned char)((i + seed) * 2654435761u >> 13);
}

static inline bool filled(const void *at, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        if (((const unsigned char *)at)[i] != (unsigned char)((i + seed) * 2654435761u >> 13))
            return false;
    return true;
}

static inline bool all(const void *at, size_t len, unsigned char value)
{
    for (size_t i = 0; i < len; i++)
        if (((const unsigned char *)at)[i] != value)
            return false;
    return true;
}

/* Uses the buffer as often as it takes, and gives its place. */
static inline int64_t promoted(fixture *f, void *at, size_t len)
{
    int64_t place = -1;
    for (int i = 0; i < USES && place < 0; i++)
        place = promote_used(f, at, len);
    if (place < 0 && strstr(promote_why(f), "the kernel lacks"))
        SKIP("%s", promote_why(f));
    if (place < 0)
        printf("refused: %s\n", promote_why(f));
    CHECK(place >= 0);
    return place;
}

/* Uses the buffer often, and expects that it is never promoted, for that reason. */
static inline void refused(fixture *f, void *at, size_t len, const char *why)
{
    for (int i = 0; i < 10 * USES; i++)
        CHECK(promote_used(f, at, len) == -1);
    if (!strstr(why, "kernel") && strstr(promote_why(f), "the kernel lacks"))
        SKIP("%s", promote_why(f));
    if (!strstr(promote_why(f), why))
        printf("expected: %s; got: %s\n", why, promote_why(f));
    CHECK(strstr(promote_why(f), why));
    CHECK(promote_count(f, PROMOTED) == 0);
}

/* What a peer sees and does, by reads and writes of the file, for a second mapping in this process
 * would be taken for promoted memory. */
static inline void file_read(fixture *f, int64_t place, void *to, size_t len)
{
    CHECK(pread(promote_file(f), to, len, place) == (ssize_t)len);
}

static inline void file_write(fixture *f, int64_t place, const void *from, size_t len)
{
    CHECK(pwrite(promote_file(f), from, len, place) == (ssize_t)len);
}

/* Memory that is not malloc's. */
static inline void *scratch(size_t len)
{
    static void *memory;
    static size_t has;
    if (has < len) {
        memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        has = len;
    }
    return memory;
}

static inline bool file_filled(fixture *f, int64_t place, size_t len, unsigned seed)
{
    file_read(f, place, scratch(len), len);
    return filled(scratch(len), len, seed);
}

static inline bool file_all(fixture *f, int64_t place, size_t len, unsigned char value)
{
    file_read(f, place, scratch(len), len);
    return all(scratch(len), len, value);
}

static inline void file_fill(fixture *f, int64_t place, size_t len, unsigned seed)
{
    fill(scratch(len), len, seed);
    file_write(f, place, scratch(len), len);
}

/* Whether a peer and the program see each other's stores. */
static inline bool is_shared(fixture *f, void *at, size_t len, int64_t place)
{
    volatile unsigned char *own = at;
    unsigned char first = own[0], last = own[len - 1], seen, stored = last ^ 0xaa;
    own[0] = first ^ 0x55;
    file_read(f, place, &seen, 1);
    file_write(f, place + (int64_t)len - 1, &stored, 1);
    bool shared = seen == (first ^ 0x55) && own[len - 1] == stored;
    own[0] = first;
    own[len - 1] = last;
    return shared;
}

/* A line of /proc/self/status or of /proc/meminfo, in KiB. */
static inline long kib(const char *path, const char *name)
{
    char line[256];
    long value = -1;
    FILE *file = fopen(path, "r");
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            value = atol(line + strlen(name));
    if (file)
        fclose(file);
    return value;
}

static inline void wait_for(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

typedef struct {
    const char *name;
    void (*run)(void);
} test_case;

static inline int run_case(const test_case *cases, size_t count, int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 1 && !strcmp(argv[1], "--list")) {
        for (size_t i = 0; i < count; i++)
            puts(cases[i].name);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
            cases[i].run();
            return 0;
        }
    printf("no such case\n");
    return 1;
}
#endif
