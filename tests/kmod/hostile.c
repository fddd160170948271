/* What /dev/tern survives: processes that lie, vanish, and change their memory at the worst moment. */
#include "harness.h"

#define LEN (8UL << 20)

/* A child that declares LEN bytes, tells the cookie, and waits. */
static pid_t owner(struct line cookies, struct line done, uint32_t protection, uint32_t flags)
{
    pid_t pid = child();
    if (pid == 0) {
        char *own = memory(LEN);
        memset(own, 1, LEN);
        tell(cookies, region(device(), own, LEN, protection, flags));
        hear(done);
        exit(0);
    }
    return pid;
}

static void wrong_cookies(void)
{
    struct line cookies = line(), done = line();
    pid_t pid = owner(cookies, done, TERN_READ | TERN_WRITE, 0);
    uint64_t cookie = hear(cookies);
    int fd = device();
    char *got = memory(PAGE);
    for (int bit = 0; bit < 64; bit++) {
        uint64_t wrong = cookie ^ 1ULL << bit;
        REFUSED(read_region(fd, got, wrong, 0, 1), ENOENT);
        REFUSED(between(fd, wrong, 0, cookie, 0, 1), ENOENT);
        REFUSED(between(fd, cookie, 0, wrong, 0, 1), ENOENT);
        REFUSED(destroy(fd, wrong), ENOENT);
        CHECK(attach(fd, wrong, 0, PAGE, TERN_READ) == MAP_FAILED && errno == ENOENT);
    }
    /* All slots, without the random part. */
    for (uint64_t slot = 0; slot < 1000; slot++) REFUSED(read_region(fd, got, slot, 0, 1), ENOENT);
    REFUSED(destroy(fd, cookie), EPERM);
    tell(done, 1);
    ended_well(pid);
    REFUSED(read_region(fd, got, cookie, 0, 1), ENOENT);
}

/* What a copier that is held in the middle of its copy was given. */
struct copier {
    int fd;
    char *at;
    uint64_t cookie, moved;
    uint32_t direction;
    int result, error;
};

static void *copier(void *arg)
{
    struct copier *one = arg;
    one->result = copy(one->fd, one->direction, one->at, one->cookie, 0, LEN, &one->moved);
    one->error = errno;
    if (one->result != 0 && one->error != ENOENT) printf("    a copy: errno %d after %llu bytes\n", one->error, (unsigned long long)one->moved);
    return NULL;
}

/* The owner ends while somebody copies: the copy ends at its next part, and moved what it says. */
static void owner_killed_during_copy(void)
{
    for (uint32_t direction = TERN_READ; direction <= TERN_WRITE; direction++) {
        for (int kill_it = 0; kill_it < 2; kill_it++) {
            struct line cookies = line(), done = line();
            pid_t pid = owner(cookies, done, TERN_READ | TERN_WRITE, 0);
            struct copier one = {device(), memory(LEN), hear(cookies), 0, direction, 0, 0};
            char *held = one.at + 3 * PART;
            int faults = hold_page(held);
            pthread_t thread;
            CHECK(pthread_create(&thread, NULL, copier, &one) == 0);
            somebody_waits(faults);
            if (kill_it) kill(pid, SIGKILL);
            else tell(done, 1);
            waitpid(pid, NULL, 0);
            resolve(faults, held);
            CHECK(pthread_join(thread, NULL) == 0);
            CHECK(one.result == -1 && one.error == ENOENT && one.moved == 4 * PART);
            CHECK(direction == TERN_WRITE || one.at[3 * PART - 1] == 1);
            close(faults);
        }
    }
}

/* A copier that is killed in the middle leaves nothing; its peer's region stays. */
static void copier_killed_during_copy(void)
{
    int fd = device();
    char *own = memory(LEN);
    uint64_t cookie = region(fd, own, LEN, TERN_READ | TERN_WRITE, 0);
    for (uint32_t direction = TERN_READ; direction <= TERN_WRITE; direction++) {
        struct line waits = line();
        pid_t pid = child();
        if (pid == 0) {
            struct copier one = {device(), memory(LEN), cookie, 0, direction, 0, 0};
            int faults = hold_page(one.at + PART);
            pthread_t thread;
            CHECK(pthread_create(&thread, NULL, copier, &one) == 0);
            somebody_waits(faults);
            tell(waits, 1);
            pause();
        }
        hear(waits);
        kill(pid, SIGKILL);
        killed_by(pid, SIGKILL);
        CHECK(read_region(fd, memory(LEN), cookie, 0, LEN) == 0);
    }
}

static void *destroyer(void *arg)
{
    struct copier *one = arg;
    one->result = destroy(one->fd, one->cookie);
    one->error = errno;
    return NULL;
}

/* The owner's destroy waits for the copy that is under way; one that is killed meanwhile frees all the same. */
static void destroy_during_copy(void)
{
    struct line cookies = line(), go = line();
    pid_t pid = child();
    if (pid == 0) {
        struct copier mine = {.fd = device()};
        char *own = memory(LEN);
        mine.cookie = region(mine.fd, own, LEN, TERN_READ | TERN_WRITE, 0);
        tell(cookies, mine.cookie);
        hear(go);
        destroyer(&mine);
        CHECK(mine.result == 0);
        tell(cookies, 7);
        exit(0);
    }
    struct copier one = {device(), memory(LEN), hear(cookies), 0, TERN_READ, 0, 0};
    int faults = hold_page(one.at + PART);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, copier, &one) == 0);
    somebody_waits(faults);
    tell(go, 1);
    /* The region is gone for others from the beginning of destroy on; its pages are there until the copy ends. */
    char byte;
    while (read_region(one.fd, &byte, one.cookie, 0, 1) == 0) sched_yield();
    CHECK(errno == ENOENT);
    struct pollfd early = {.fd = cookies.to[0], .events = POLLIN};
    CHECK(poll(&early, 1, 200) == 0);
    resolve(faults, one.at + PART);
    CHECK(hear(cookies) == 7);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(one.result == -1 && one.error == ENOENT);
    ended_well(pid);

    pid = owner(cookies, go, TERN_READ, 0);
    one.cookie = hear(cookies);
    madvise(one.at, LEN, MADV_DONTNEED);
    CHECK(pthread_create(&thread, NULL, copier, &one) == 0);
    somebody_waits(faults);
    kill(pid, SIGKILL);
    killed_by(pid, SIGKILL);
    resolve(faults, one.at + PART);
    CHECK(pthread_join(thread, NULL) == 0 && one.error == ENOENT);
}

static void forget(int how)
{
    int fd = device();
    char *own = memory(LEN);
    for (int i = 0; i < 100; i++) region(fd, own + i * PAGE, LEN / 64, TERN_READ | TERN_WRITE, i % 2);
    CHECK(attach(fd, region(fd, own, LEN, TERN_READ, 0), 0, LEN, TERN_READ) != MAP_FAILED);
    static _Atomic int status[100];
    uint64_t cookie = region(fd, own, LEN, TERN_READ, 0);
    for (int i = 0; i < 5; i++) start(fd, TERN_ASYNC_THREAD, TERN_READ, own, cookie, LEN, &status[i]);
    switch (how) {
    case 0: exit(0);
    case 1: kill(getpid(), SIGKILL); break;
    case 2: *(volatile char *)8 = 1; break;
    case 3: execl("/bin/true", "true", NULL); break;
    case 4: close(fd); exit(0);
    case 5:
        /* The descriptor stays open across exec. */
        fcntl(fd, F_SETFD, 0);
        execl("/bin/sleep", "sleep", "100", NULL);
        break;
    }
    _exit(9);
}

/* A process ends in any way, without an end of anything. */
static void ends(void)
{
    for (int how = 0; how < 5; how++) {
        pid_t pid = child();
        if (pid == 0) forget(how);
        int status;
        waitpid(pid, &status, 0);
        CHECK(!WIFEXITED(status) || WEXITSTATUS(status) == 0);
        CHECK(nothing_left());
    }
    /* After exec the descriptor is open, and all that it had is gone but itself. */
    pid_t pid = child();
    if (pid == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        forget(5);
    }
    for (int look = 0; look < 6000 && (count("contexts") != 1 || count("pinned_pages") || count("regions")); look++)
        usleep(10000);
    CHECK(count("contexts") == 1 && !count("pinned_pages") && !count("regions") && !count("jobs"));
    kill(pid, SIGKILL);
    killed_by(pid, SIGKILL);
}

/* Forks with regions, and forks of forks; the children write and end. */
static void forks(void)
{
    int fd = device();
    char *own = memory(64 * PAGE), *got = memory(64 * PAGE);
    memset(own, 1, 64 * PAGE);
    uint64_t cookie = region(fd, own, 64 * PAGE, TERN_READ | TERN_WRITE, 0);
    for (int i = 0; i < 20; i++) {
        pid_t pid = child();
        if (pid == 0) {
            pid_t inner = child();
            memset(own, 99, 64 * PAGE);
            if (inner == 0) _exit(0);
            ended_well(inner);
            int mine = device();
            CHECK(read_region(mine, got, cookie, 0, 64 * PAGE) == 0);
            /* The parent's, not our own copy. */
            for (size_t j = 0; j < 64 * PAGE; j++) CHECK(got[j] != 99);
            region(mine, own, 64 * PAGE, TERN_READ | TERN_WRITE, 0);
            exit(0);
        }
        memset(own, i, 64 * PAGE);
        ended_well(pid);
        CHECK(read_region(fd, got, cookie, 0, 64 * PAGE) == 0 && memcmp(own, got, 64 * PAGE) == 0);
    }
}

static void thousand_contexts(void)
{
    struct rlimit limit = {3000, 3000};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    static int fds[1000];
    static uint64_t cookies[1000];
    char *own = memory(1000 * PAGE);
    for (int i = 0; i < 1000; i++) {
        fds[i] = device();
        own[i * PAGE] = (char)i;
        cookies[i] = region(fds[i], own + i * PAGE, PAGE, TERN_READ, 0);
    }
    CHECK(count("contexts") == 1000 && count("regions") == 1000);
    for (int i = 0; i < 1000; i++) {
        char byte;
        CHECK(read_region(fds[(i * 7 + 3) % 1000], &byte, cookies[i], 0, 1) == 0 && byte == (char)i);
    }
    for (int i = 0; i < 1000; i += 2) close(fds[i]);
    for (int i = 0; i < 1000; i++) {
        char byte;
        int result = read_region(fds[1], &byte, cookies[i], 0, 1);
        CHECK(i % 2 ? result == 0 : result == -1 && errno == ENOENT);
    }
}

static void set_option(const char *name, const char *value)
{
    char path[100];
    snprintf(path, sizeof(path), "/sys/module/tern/parameters/%s", name);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(value, file) >= 0 && fclose(file) == 0);
}

static void exhausted_limits(void)
{
    struct tern_create made;
    int fd = device();
    char *own = memory(LEN);
    set_option("max_regions", "10");
    for (int i = 0; i < 10; i++) CHECK(create(fd, own, PAGE, TERN_READ, 0, &made) == 0);
    uint64_t last = made.cookie;
    REFUSED(create(fd, own, PAGE, TERN_READ, 0, &made), EMFILE);
    CHECK(destroy(fd, last) == 0);
    CHECK(create(fd, own, PAGE, TERN_READ, 0, &made) == 0);
    set_option("max_regions", "16384");
    set_option("max_contexts", "1");
    CHECK(open("/dev/tern", O_RDWR) == -1 && errno == EMFILE);
    set_option("max_contexts", "4096");
    set_option("max_segments", "3");
    struct tern_segment list[4];
    for (int i = 0; i < 4; i++) list[i] = (struct tern_segment){(uintptr_t)own, 1};
    REFUSED(create_list(fd, list, 4, TERN_READ, 0, &made), EINVAL);
    CHECK(create_list(fd, list, 3, TERN_READ, 0, &made) == 0);
    set_option("max_segments", "65536");
    set_option("max_jobs", "0");
    _Atomic int status;
    REFUSED(start(fd, TERN_ASYNC_THREAD, TERN_READ, own + 2 * PAGE, made.cookie, 1, &status), EAGAIN);
    set_option("max_jobs", "256");
    CHECK(start(fd, TERN_ASYNC_THREAD, TERN_READ, own + 2 * PAGE, made.cookie, 1, &status) == 0 && end_of(&status) == 0);
    /* More pages than there can be; with addresses of 56 bits they could be mapped. */
    REFUSED(create(fd, own, 1UL << 62, TERN_READ, 0, &made), EFAULT);
    CHECK(create(fd, own, 1UL << 46, TERN_READ, 0, &made) == -1 && (errno == EFAULT || errno == EOVERFLOW));
    CHECK(create(fd, (char *)PAGE, (1UL << 46), TERN_READ, 0, &made) == -1);
}

static char *moving;
static _Atomic int over;

/* Unmaps, moves and exchanges the memory of a region, and declares it again. */
static void *mover(void *arg)
{
    struct line *cookies = arg;
    int fd = device();
    char *away = memory(64 * PAGE);
    for (int i = 0; i < 200; i++) {
        struct tern_create made;
        memset(moving, 1, 64 * PAGE);
        if (create(fd, moving, 64 * PAGE, TERN_READ | TERN_WRITE, 0, &made) == 0) tell(*cookies, made.cookie);
        switch (i % 4) {
        case 0: munmap(moving + 8 * PAGE, 8 * PAGE); break;
        case 1: mremap(moving, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, away); break;
        case 2: madvise(moving, 64 * PAGE, MADV_DONTNEED); break;
        case 3: mprotect(moving, 8 * PAGE, PROT_NONE); break;
        }
        CHECK(mmap(moving, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == moving);
    }
    tell(*cookies, 0);
    close(fd);
    return NULL;
}

/* Copies out of and into memory that goes meanwhile: each ends well or with ENOENT, and moves what was declared. */
static void moved_during_copies(void)
{
    struct line cookies = line();
    moving = memory(64 * PAGE);
    pid_t pid = child();
    if (pid == 0) {
        mover(&cookies);
        exit(0);
    }
    int fd = device();
    char *got = memory(64 * PAGE);
    static _Atomic int status;
    for (uint64_t cookie, i = 0; (cookie = hear(cookies)) != 0; i++) {
        uint64_t moved = 0;
        memset(got, 1, 64 * PAGE);
        uint32_t direction = i % 2 ? TERN_READ : TERN_WRITE;
        if (i % 3 == 0) {
            if (start(fd, TERN_ASYNC_THREAD, direction, got, cookie, 64 * PAGE, &status) == 0) {
                int result = end_of(&status);
                CHECK(result == 0 || result == -ENOENT);
            } else {
                CHECK(errno == ENOENT);
            }
        } else if (copy(fd, direction, got, cookie, 0, 64 * PAGE, &moved) != 0) {
            CHECK(errno == ENOENT);
        }
        for (size_t j = 0; j < 64 * PAGE; j += 64) CHECK(got[j] == 1);
    }
    ended_well(pid);
}

static void *remapper(void *arg)
{
    (void)arg;
    while (!over) {
        mmap(moving, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        munmap(moving + 3 * PAGE, 30 * PAGE);
        mprotect(moving, 64 * PAGE, PROT_READ);
    }
    return NULL;
}

/* Two threads of the owner: one declares, copies, attaches, destroys; the other one changes the memory meanwhile. */
static void remapped_during_everything(void)
{
    moving = memory(64 * PAGE);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, remapper, NULL) == 0);
    int fd = device();
    static _Atomic int status;
    for (int i = 0; i < 500; i++) {
        struct tern_create made;
        if (create(fd, moving, 64 * PAGE, 1 + i % 3, 0, &made) != 0) continue;
        read_region(fd, moving + PAGE, made.cookie, 0, 20 * PAGE);
        if (start(fd, TERN_ASYNC_THREAD, TERN_READ, moving, made.cookie, 64 * PAGE, &status) == 0) end_of(&status);
        char *at = attach(fd, made.cookie, 0, 64 * PAGE, TERN_READ);
        if (at != MAP_FAILED) munmap(at + PAGE, 63 * PAGE); /* a page stays until the end */
        destroy(fd, made.cookie);
    }
    over = 1;
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) only = argv[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
#define RUN(name) run(#name, name)
    RUN(wrong_cookies);
    RUN(owner_killed_during_copy);
    RUN(copier_killed_during_copy);
    RUN(destroy_during_copy);
    RUN(ends);
    RUN(forks);
    RUN(thousand_contexts);
    RUN(exhausted_limits);
    RUN(moved_during_copies);
    RUN(remapped_during_everything);
    return sum();
}
