/* What becomes of memory that was promoted: contents, free, calloc, realloc, neighbours. */
#include "promote.h"
#include <malloc.h>
#include <signal.h>
#include <sys/time.h>

static void check_one(fixture *f, char *at, size_t len)
{
    fill(at, len, 1);
    for (int i = 1; i < USES; i++)
        CHECK(promote_used(f, at, len) == -1);
    CHECK(promote_speculative(f, at, len) == -1);
    int64_t place = promoted(f, at, len);
    CHECK(filled(at, len, 1));
    CHECK(file_filled(f, place, len, 1));
    CHECK(is_shared(f, at, len, place));
    CHECK(promote_speculative(f, at, len) == place);
    CHECK(promote_speculative(f, at + 7, len - 7) == place + 7);
    CHECK(promote_verify(f, at, len, place));
    CHECK(promote_verify(f, at + len - 1, 1, place + (int64_t)len - 1));
    CHECK(!promote_verify(f, at, len, place + 4096));
    CHECK(!promote_verify(f, at, 64 * MIB, place));
    CHECK(promote_used(f, at, len) == place);
    CHECK(promote_used(f, at + 100, len - 200) == place + 100);
}

static void promotes(void)
{
    fixture *f = promote_start(AUTO, USES);
    check_one(f, malloc(MAPPED), MAPPED);
    check_one(f, malloc(HEAPED), HEAPED);
    check_one(f, aligned_alloc(64, 2 * MIB), 2 * MIB);
    check_one(f, aligned_alloc(4096, MIB), MIB);
    check_one(f, aligned_alloc(2 * MIB, 3 * MIB), 3 * MIB);
    check_one(f, aligned_alloc(4096, 64 * KIB), 64 * KIB);
    CHECK(promote_count(f, PROMOTED) == 6 && promote_count(f, REFUSED) == 0);
}

static void off_is_off(void)
{
    fixture *f = promote_start(OFF, 1);
    char *at = malloc(MAPPED);
    for (int i = 0; i < 1000; i++)
        CHECK(promote_used(f, at, MAPPED) == -1);
    CHECK(promote_file_bytes(f) == 0);
}

static void always_is_at_once(void)
{
    fixture *f = promote_start(ALWAYS, 1000000);
    char *at = malloc(MAPPED);
    int64_t place = promote_used(f, at, MAPPED);
    if (place < 0 && strstr(promote_why(f), "the kernel lacks"))
        SKIP("%s", promote_why(f));
    CHECK(place >= 0);
}

/* A part of a much larger chunk: only its pages are promoted, and the next part joins them. */
static void parts_of_a_chunk(void)
{
    fixture *f = promote_start(AUTO, USES);
    size_t len = 32 * MIB;
    char *at = malloc(len);
    fill(at, len, 5);
    int64_t first = promoted(f, at + 4 * MIB + 100, MIB);
    CHECK(promote_count(f, BYTES) <= MIB + 8 * KIB);
    int64_t next = promoted(f, at + 5 * MIB + 100, MIB);
    CHECK(next == first + (int64_t)MIB);
    CHECK(promote_speculative(f, at + 4 * MIB + 100, 2 * MIB) == first);
    CHECK(promote_used(f, at + 4 * MIB + 100, 2 * MIB) == first);
    CHECK(is_shared(f, at + 4 * MIB + 100, 2 * MIB, first));
    CHECK(filled(at, len, 5));
    /* realloc cannot move several mappings at once, and copies. */
    at = realloc(at, 2 * len);
    CHECK(filled(at, len, 5));
    free(at);
}

/* Small pieces of the heap around a buffer share its first and last page. */
static void neighbours(void)
{
    fixture *f = promote_start(AUTO, USES);
    enum { N = 9 };
    size_t len = 10 * KIB + 24;
    char *at[N];
    for (int i = 0; i < N; i++) {
        at[i] = malloc(len);
        fill(at[i], len, i);
    }
    int64_t middle = promoted(f, at[4], len);
    for (int i = 0; i < N; i++)
        CHECK(filled(at[i], len, i));
    for (int i = 0; i < N; i++)
        fill(at[i], len, 100 + i);
    for (int i = 0; i < N; i++)
        CHECK(filled(at[i], len, 100 + i));
    CHECK(file_filled(f, middle, len, 104));
    /* Its neighbours have a page with it; what spans all three has one place. */
    int64_t before = promoted(f, at[3], len);
    promoted(f, at[5], len);
    CHECK(middle - before == at[4] - at[3]);
    CHECK(promote_used(f, at[3], 3 * len) == before);
    for (int i = 0; i < N; i++)
        CHECK(filled(at[i], len, 100 + i));
    /* malloc goes on as before. */
    for (int i = 0; i < N; i += 2)
        free(at[i]);
    for (int i = 1; i < N; i += 2)
        at[i] = realloc(at[i], 4 * len);
    for (int i = 1; i < N; i += 2)
        CHECK(filled(at[i], len, 100 + i));
}

/* Buffers side by side are promoted together when none of them was used often enough by itself. */
static void rows(void)
{
    enum { COUNT = 20, LEN = 40 * 1024, EACH = LEN + 64, OFTEN = 100 };
    fixture *f = promote_start(AUTO, OFTEN);
    char *chunk = malloc(COUNT * EACH);
    for (int k = 0; k < COUNT; k++)
        fill(chunk + k * EACH, LEN, k);
    promote_in_use(f, true);
    int rounds = 0;
    for (; rounds < 40; rounds++) {
        for (int k = 0; k < COUNT; k++)
            promote_used(f, chunk + k * EACH, LEN);
        if (promote_count(f, PROMOTED) > 0)
            break;
        /* Until then a peer is at one of them: that is no reason to be more patient. */
        promote_in_use(f, rounds < 9);
    }
    CHECK(rounds == 15 && promote_count(f, PROMOTED) == 1 && promote_count(f, REFUSED) == 0);
    for (int k = 0; k < COUNT; k++) {
        CHECK(promote_used(f, chunk + k * EACH, LEN) >= 0);
        CHECK(filled(chunk + k * EACH, LEN, k));
    }
    free(chunk);
    promote_end(f);
}

static void free_and_reuse(void)
{
    mallopt(M_MMAP_THRESHOLD, 128 * KIB); /* which no longer changes by itself */
    fixture *f = promote_start(AUTO, USES);
    char *at = malloc(MAPPED);
    fill(at, MAPPED, 3);
    int64_t place = promoted(f, at, MAPPED);
    CHECK(promote_file_bytes(f) >= MIB);
    free(at);
    char *again = malloc(MAPPED);
    CHECK(again == at); /* else this test tests nothing */
    /* What the table still tells is not so. */
    CHECK(promote_speculative(f, again, MAPPED) == place);
    CHECK(!promote_verify(f, again, MAPPED, place));
    CHECK(promote_used(f, again, MAPPED) == -1);
    fill(again, MAPPED, 9);
    CHECK(file_all(f, place, MAPPED, 0)); /* the old pages are given back */
    CHECK(promote_count(f, GONE) == 1);
    CHECK(promote_file_bytes(f) < 64 * KIB);
    CHECK(filled(again, MAPPED, 9));
}

/* What the program frees is given back although nobody uses that address again. */
static void freed_memory_goes_back(void)
{
    fixture *f = promote_start(AUTO, USES);
    char *kept = malloc(MAPPED), *at = malloc(8 * MIB);
    promoted(f, kept, MAPPED);
    promoted(f, at, 8 * MIB);
    CHECK(promote_file_bytes(f) >= 9 * MIB);
    free(at);
    for (int i = 0; i < 200; i++)
        CHECK(promote_used(f, kept, MAPPED) >= 0);
    CHECK(promote_file_bytes(f) < 2 * MIB);
}

/* What is freed while a peer may still read it goes back later. */
static void freed_in_use(void)
{
    mallopt(M_MMAP_THRESHOLD, 64 * MIB);
    mallopt(M_TRIM_THRESHOLD, 128 * KIB);
    fixture *f = promote_start(AUTO, USES);
    char *kept = malloc(HEAPED);
    promoted(f, kept, HEAPED);
    char *volatile room = malloc(256 * KIB);
    char *at = malloc(8 * MIB);
    free(room); /* for what the promoter needs: nothing of it may lie behind `at` */
    memset(at, 1, 8 * MIB);
    promoted(f, at, 8 * MIB);
    promote_in_use(f, true);
    size_t before = mallinfo2().arena;
    free(at);
    CHECK(mallinfo2().arena < before); /* else this test tests nothing */
    for (int i = 0; i < 200; i++)
        CHECK(promote_used(f, kept, HEAPED) >= 0);
    CHECK(promote_file_bytes(f) >= 8 * MIB);
    promote_in_use(f, false);
    for (int i = 0; i < 200; i++)
        CHECK(promote_used(f, kept, HEAPED) >= 0);
    CHECK(promote_file_bytes(f) < 2 * MIB);
}

static void calloc_of_reused_memory(void)
{
    fixture *f = promote_start(AUTO, USES);
    size_t lens[] = {MAPPED, HEAPED, 20 * KIB, 300 * KIB};
    for (int round = 0; round < 6; round++)
        for (int i = 0; i < 4; i++) {
            size_t len = lens[i];
            char *guard, *at = malloc(len);
            guard = round % 2 ? malloc(64) : NULL; /* else next to the top */
            memset(at, 0xff, len);
            for (int use = 0; use < 100 * USES && promote_used(f, at, len) < 0; use++)
                ;
            CHECK(promote_speculative(f, at, len) >= 0);
            free(at);
            if (round >= 2 && round < 4)
                malloc_trim(0);
            char *zeros = calloc(1, len);
            CHECK(all(zeros, len, 0));
            memset(zeros, 0xee, len);
            free(zeros);
            free(guard);
        }
    CHECK(promote_count(f, PROMOTED) >= 4);
}

/* glibc gives back free pages within the heap with MADV_DONTNEED (malloc_trim), and relies on
 * nothing there: what it hands out later is right all the same. */
static void malloc_trim_within_the_heap(void)
{
    fixture *f = promote_start(AUTO, USES);
    char *at = malloc(HEAPED), *guard = malloc(64);
    memset(at, 0xff, HEAPED);
    promoted(f, at, HEAPED);
    free(at);
    malloc_trim(0);
    char *zeros = calloc(1, HEAPED);
    CHECK(zeros == at); /* else this test tests nothing */
    CHECK(all(zeros, HEAPED, 0));
    free(zeros);
    free(guard);
}

/* The heap shrinks and grows over promoted pages by brk. */
static void the_break_moves(void)
{
    mallopt(M_MMAP_THRESHOLD, 64 * MIB);
    mallopt(M_TRIM_THRESHOLD, 128 * KIB);
    fixture *f = promote_start(AUTO, USES);
    char *low = malloc(HEAPED);
    promoted(f, low, HEAPED);
    for (int round = 0; round < 5; round++) {
        size_t len = (2 + round) * MIB, trimmed = mallinfo2().arena;
        char *volatile room = malloc(256 * KIB);
        char *at = malloc(len);
        CHECK(at > low && (size_t)(at - low) < 64 * MIB);
        free(room); /* for what the promoter needs: nothing of it may lie behind `at` */
        memset(at, 0xff, len);
        for (int use = 0; use < 1000 && promote_used(f, at, len) < 0; use++)
            ;
        CHECK(promote_speculative(f, at, len) >= 0);
        free(at);
        CHECK(mallinfo2().arena < trimmed + MIB); /* else this test tests nothing */
        char *zeros = calloc(1, len + MIB);
        CHECK(all(zeros, len + MIB, 0));
        CHECK(!promote_verify(f, at, len, promote_speculative(f, at, len)));
        CHECK(promote_file_bytes(f) < 256 * KIB);
        free(zeros);
    }
}

static void realloc_grows(void)
{
    fixture *f = promote_start(AUTO, USES);
    char *at = malloc(MAPPED);
    fill(at, MAPPED, 4);
    int64_t place = promoted(f, at, MAPPED);
    /* Something behind it, so that it has to move; then free room, so that it does not. */
    for (size_t len = 2 * MIB; len <= 128 * MIB; len *= 2) {
        size_t before = malloc_usable_size(at);
        at = realloc(at, len);
        CHECK(filled(at, MAPPED, 4));
        /* malloc promises nothing of what is new, but mremap does. */
        CHECK(all(at + before + 4096, len - before - 4096, 0));
        at[len - 1] = 1;
        CHECK(at[len - 1] == 1);
        at[len - 1] = 0;
    }
    /* It is still the same memory, at another place in memory, and found there. */
    CHECK(promoted(f, at, MAPPED) == place);
    CHECK(is_shared(f, at, MAPPED, place));
    CHECK(promote_used(f, at, 128 * MIB) >= 0 || promoted(f, at, 128 * MIB) >= 0);
    at = realloc(at, 2 * MIB);
    CHECK(filled(at, MAPPED, 4));
    CHECK(promoted(f, at, MAPPED) == place);
    free(at);
    char *other = malloc(HEAPED);
    fill(other, HEAPED, 8);
    promoted(f, other, HEAPED);
    other = realloc(other, 100 * HEAPED);
    CHECK(filled(other, HEAPED, 8));
    other = realloc(other, HEAPED / 2);
    CHECK(filled(other, HEAPED / 2, 8));
}

static void many_used_once(void)
{
    fixture *f = promote_start(AUTO, USES);
    enum { N = 5000 };
    static char *at[N];
    char *often = malloc(MAPPED);
    long before = 0;
    for (int i = 0; i < N; i++) {
        at[i] = malloc(200 * KIB);
        CHECK(promote_used(f, at[i], 200 * KIB) == -1);
        if (i == 100)
            before = mallinfo2().uordblks;
    }
    /* Nothing was promoted, and the table takes no more memory. */
    CHECK(promote_count(f, PROMOTED) == 0 && promote_count(f, REFUSED) == 0);
    CHECK((long)mallinfo2().uordblks == before);
    /* It has not lost the ability to see what is used often. */
    int uses = 0;
    while (promote_used(f, often, MAPPED) < 0)
        CHECK(++uses < 20 * USES);
    for (int i = 0; i < N; i++)
        free(at[i]);
}

/* More buffers than there is room for are refused, and room comes back. */
static void many_promoted(void)
{
    fixture *f = promote_start(ALWAYS, 1);
    enum { N = 1000 };
    static char *at[N];
    int first = 0, second = 0;
    for (int i = 0; i < N; i++) {
        at[i] = malloc(200 * KIB);
        fill(at[i], 1000, i);
        first += promote_used(f, at[i], 200 * KIB) >= 0;
    }
    if (first == 0 && strstr(promote_why(f), "the kernel lacks"))
        SKIP("%s", promote_why(f));
    CHECK(first >= 200 && first < N && strstr(promote_why(f), "no room"));
    for (int i = 0; i < N; i++) {
        CHECK(filled(at[i], 1000, i));
        free(at[i]);
    }
    for (int i = 0; i < 10; i++) {
        char *fresh = malloc(3 * MIB + i * 8192);
        second += promote_used(f, fresh, 3 * MIB) >= 0;
    }
    if (second < 10)
        printf("%d of 10 are promoted; refused: %s\n", second, promote_why(f));
    CHECK(second == 10);
    CHECK(promote_file_bytes(f) < 64 * MIB);
}

/* Memory is pinned until so much has been promoted for it, and what is promoted already. */
static void pinned_while_it_may_pay(void)
{
    size_t start, length;
    fixture *f = promote_start(AUTO, USES);
    char *first = malloc(200 * MIB), *second = malloc(100 * MIB), *third = malloc(50 * MIB);
    fill(first, MIB, 1);
    int64_t pinned = promote_pin(f, first, 200 * MIB, &start, &length);
    CHECK(pinned >= 0 && start == 0 && length == 200 * MIB && filled(first, MIB, 1));
    CHECK(promote_pin(f, second, 100 * MIB, &start, &length) == -1);
    CHECK(promote_pin(f, third, 50 * MIB, &start, &length) >= 0);
    CHECK(promote_pin(f, first, 200 * MIB, &start, &length) == pinned);
    CHECK(promote_count(f, PROMOTED) == 2);
}

static char *volatile busy;
static volatile long signals;
static void store(int signal)
{
    (void)signal;
    signals++;
    for (size_t at = 0; busy && at < MAPPED - 8; at += 4096)
        ++*(long *)(busy + (at & ~(size_t)7));
}

/* A signal handler stores to the buffer all the time: not one store is lost, and a child sees the buffer as of one moment. */
static void signal_handlers(void)
{
    fixture *f = promote_start(ALWAYS, 1);
    signal(SIGALRM, store);
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    int times = 0;
    for (int i = 0; i < 300 && times < 60; i++) {
        char *fresh = calloc(1, MAPPED);
        signals = 0;
        busy = fresh;
        times += promote_used(f, fresh, MAPPED) >= 0;
        pid_t child = fork();
        if (child == 0) {
            setitimer(ITIMER_REAL, &never, NULL);
            bool same = true;
            for (size_t at = 4096; at < MAPPED - 8; at += 4096)
                same = same && *(long *)(fresh + at) == *(long *)fresh;
            _exit(!same);
        }
        CHECK(child > 0);
        int status;
        while (waitpid(child, &status, 0) < 0)
            ;
        CHECK(status == 0);
        busy = NULL;
        long first = *(long *)fresh;
        CHECK(first <= signals && first + 2 >= signals);
        for (size_t at = 0; at < MAPPED - 8; at += 4096)
            CHECK(*(long *)(fresh + (at & ~(size_t)7)) == first);
        free(fresh);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    if (times == 0 && strstr(promote_why(f), "the kernel lacks"))
        SKIP("%s", promote_why(f));
    CHECK(times > 0);
}

/* A process of its own maps the file, as a peer does. */
static void a_peer(void)
{
    fixture *f = promote_start(AUTO, USES);
    int to[2], from[2];
    CHECK(!pipe(to) && !pipe(from));
    pid_t peer = fork();
    if (peer == 0) {
        int64_t place;
        CHECK(read(to[0], &place, sizeof place) == sizeof place);
        int64_t page = place & ~(int64_t)4095;
        char *at = mmap(NULL, MAPPED + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, promote_file(f), page);
        CHECK(at != MAP_FAILED);
        at += place - page;
        CHECK(filled(at, MAPPED, 1));
        fill(at, MAPPED, 2);
        CHECK(write(from[1], "x", 1) == 1);
        _exit(0);
    }
    char *at = malloc(MAPPED), answer;
    fill(at, MAPPED, 1);
    int64_t place = promoted(f, at, MAPPED);
    CHECK(write(to[1], &place, sizeof place) == sizeof place);
    CHECK(read(from[0], &answer, 1) == 1);
    CHECK(filled(at, MAPPED, 2));
    wait_for(peer);
}

/* The program closes what it has not opened: what it frees is freed all the same, and nothing is relied on. */
static void all_descriptors_closed(void)
{
    fixture *f = promote_start(AUTO, USES);
    char *at = malloc(MAPPED);
    fill(at, MAPPED, 1);
    promoted(f, at, MAPPED);
    if (close_range(3, ~0u, 0))
        SKIP("close_range: %m");
    /* Others have their numbers now. */
    int pipes[2][2];
    CHECK(!pipe(pipes[0]) && !pipe(pipes[1]));
    CHECK(filled(at, MAPPED, 1));
    free(at);
    at = malloc(MAPPED);
    CHECK(promote_used(f, at, MAPPED) == -1 && promote_speculative(f, at, MAPPED) == -1);
    fill(at, MAPPED, 2);
    CHECK(filled(at, MAPPED, 2));
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {
        {"promotes", promotes},
        {"off_is_off", off_is_off},
        {"always_is_at_once", always_is_at_once},
        {"parts_of_a_chunk", parts_of_a_chunk},
        {"neighbours", neighbours},
        {"rows", rows},
        {"free_and_reuse", free_and_reuse},
        {"freed_memory_goes_back", freed_memory_goes_back},
        {"freed_in_use", freed_in_use},
        {"calloc_of_reused_memory", calloc_of_reused_memory},
        {"malloc_trim_within_the_heap", malloc_trim_within_the_heap},
        {"the_break_moves", the_break_moves},
        {"realloc_grows", realloc_grows},
        {"many_used_once", many_used_once},
        {"many_promoted", many_promoted},
        {"pinned_while_it_may_pay", pinned_while_it_may_pay},
        {"all_descriptors_closed", all_descriptors_closed},
        {"signal_handlers", signal_handlers},
        {"a_peer", a_peer},
    };
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
