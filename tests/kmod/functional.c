/* What /dev/tern promises to well-behaved processes, and which errors it gives. */
#include "harness.h"

#define LEN (300000UL)

static void about(void)
{
    struct tern_about arg;
    CHECK(ioctl(device(), TERN_IOC_ABOUT, &arg) == 0);
    CHECK(arg.version == TERN_VERSION && (arg.features & TERN_HAS_NOTIFY));
}

static void inline_copies(void)
{
    struct line cookies = line(), ends = line();
    char *own = memory(LEN + PAGE) + 13;
    fill(own, LEN, 1);
    pid_t pid = child();
    if (pid == 0) {
        int fd = device();
        uint64_t cookie = hear(cookies);
        char *got = memory(LEN + PAGE) + 3;
        CHECK(read_region(fd, got, cookie, 0, LEN) == 0 && is_filled(got, 0, LEN, 1));
        CHECK(read_region(fd, got, cookie, 4099, 100001) == 0 && is_filled(got, 4099, 100001, 1));
        CHECK(read_region(fd, got, cookie, LEN, 0) == 0);
        fill(got, LEN, 2);
        CHECK(write_region(fd, got, cookie, 0, LEN) == 0);
        exit(0);
    }
    int fd = device();
    uint64_t cookie = region(fd, own, LEN, TERN_READ | TERN_WRITE, 0);
    tell(cookies, cookie);
    ended_well(pid);
    CHECK(is_filled(own, 0, LEN, 2));
    CHECK(destroy(fd, cookie) == 0);
    REFUSED(destroy(fd, cookie), ENOENT);
    (void)ends;
}

/* Segments of all kinds of lengths, on both sides, and a copy of each range of some. */
static void segments(void)
{
    int fd = device();
    char *own = memory(LEN), *got = memory(LEN);
    struct tern_segment list[40], local[7];
    size_t len = 0, room = 0;
    for (int i = 0; i < 40; i++) {
        list[i] = (struct tern_segment){(uintptr_t)own + i * 7000 + i % 5, i % 4 ? (size_t)i * 170 : i % 8 ? 4096 : 0};
        for (size_t j = 0; j < list[i].len; j++) ((char *)(uintptr_t)list[i].address)[j] = (char)((len + j) * 7 + ((len + j) >> 8));
        len += list[i].len;
    }
    for (int i = 0; i < 7; i++) {
        local[i] = (struct tern_segment){(uintptr_t)got + room, i == 3 ? 0 : len / 6 + 1};
        room += local[i].len;
    }
    struct tern_create made;
    CHECK(create_list(fd, list, 40, TERN_READ, 0, &made) == 0);
    for (size_t at = 0; at < len; at += 997) {
        for (size_t part = 1; part <= len - at; part = part * 3 + 5) {
            struct tern_inline arg = {.segments = (uintptr_t)local, .count = 7, .direction = TERN_READ,
                                      .cookie = made.cookie, .offset = at, .len = part};
            memset(got, 0, part + 1);
            CHECK(ioctl(fd, TERN_IOC_INLINE, &arg) == 0 && arg.moved == part);
            CHECK(is_filled(got, at, part, 0) && got[part] == 0);
        }
    }
}

static void errors(void)
{
    int fd = device();
    char *own = memory(LEN), *got = memory(LEN);
    uint64_t reads = region(fd, own, LEN, TERN_READ, 0), writes = region(fd, own, LEN, TERN_WRITE, 0);
    struct tern_create made;
    REFUSED(read_region(fd, got, reads, 1, LEN), ERANGE);
    REFUSED(read_region(fd, got, reads, LEN + 1, 0), ERANGE);
    REFUSED(read_region(fd, got, reads, UINT64_MAX, 2), ERANGE);
    REFUSED(read_region(fd, got, reads, 1, UINT64_MAX), ERANGE);
    REFUSED(write_region(fd, got, reads, 0, 1), EACCES);
    REFUSED(read_region(fd, got, writes, 0, 1), EACCES);
    REFUSED(between(fd, writes, 0, reads, 0, 1), EACCES);
    REFUSED(between(fd, reads, 0, writes, LEN - 1, 2), ERANGE);
    REFUSED(read_region(fd, got, 0, 0, 1), ENOENT);
    REFUSED(create(fd, own, 0, TERN_READ, 0, &made), EINVAL);
    REFUSED(create(fd, own, 1, 0, 0, &made), EINVAL);
    REFUSED(create(fd, own, 1, 4, 0, &made), EINVAL);
    REFUSED(create(fd, own, 1, TERN_READ, 4, &made), EINVAL);
    REFUSED(create(fd, own, 1, TERN_READ, TERN_GROUP, &made), EPERM);
    REFUSED(create(fd, (void *)-PAGE, PAGE, TERN_READ, 0, &made), EFAULT);
    REFUSED(create(fd, own, UINT64_MAX, TERN_READ, 0, &made), EFAULT);
    REFUSED(create(fd, (char *)PAGE, PAGE, TERN_READ, 0, &made), EFAULT);
    REFUSED(create_list(fd, NULL, 1, TERN_READ, 0, &made), EFAULT);
    REFUSED(create_list(fd, NULL, 0, TERN_READ, 0, &made), EINVAL);
    REFUSED(create_list(fd, NULL, UINT32_MAX, TERN_READ, 0, &made), EINVAL);
    /* A local list that is shorter than the copy. */
    struct tern_segment segment = {(uintptr_t)got, 10};
    struct tern_inline arg = {.segments = (uintptr_t)&segment, .count = 1, .direction = TERN_READ, .cookie = reads, .len = 11};
    REFUSED(ioctl(fd, TERN_IOC_INLINE, &arg), ERANGE);
    arg.len = 10;
    arg.reserved = 1;
    REFUSED(ioctl(fd, TERN_IOC_INLINE, &arg), EINVAL);
    arg.reserved = 0;
    arg.direction = 3;
    REFUSED(ioctl(fd, TERN_IOC_INLINE, &arg), EINVAL);
    REFUSED(ioctl(fd, TERN_IOC_INLINE, NULL), EFAULT);
    REFUSED(ioctl(fd, _IO(0xE5, 99), NULL), ENOTTY);
    /* Memory that may only be read is declared for reading alone. */
    CHECK(mprotect(own, PAGE, PROT_READ) == 0);
    REFUSED(create(fd, own, 1, TERN_WRITE, 0, &made), EFAULT);
    CHECK(create(fd, own, 1, TERN_READ, 0, &made) == 0);
    /* Bytes moved before a fault are told. */
    CHECK(munmap(got + 10 * PAGE, PAGE) == 0);
    uint64_t moved;
    REFUSED(copy(fd, TERN_READ, got, reads, 0, 20 * PAGE, &moved), EFAULT);
    CHECK(moved == 10 * PAGE);
}

static void single_use(void)
{
    int fd = device();
    char *own = memory(PAGE), *got = memory(PAGE);
    uint64_t once = region(fd, own, PAGE, TERN_READ, TERN_SINGLE_USE);
    REFUSED(write_region(fd, got, once, 0, 1), EACCES); /* not allowed: no use */
    CHECK(read_region(fd, got, once, 100, 7) == 0);
    REFUSED(read_region(fd, got, once, 0, 1), ENOENT);
    uint64_t target = region(fd, got, PAGE, TERN_WRITE, TERN_SINGLE_USE), source = region(fd, own, PAGE, TERN_READ, 0);
    CHECK(between(fd, source, 0, target, 0, PAGE) == 0);
    REFUSED(between(fd, source, 0, target, 0, PAGE), ENOENT);
    CHECK(read_region(fd, got, source, 0, 1) == 0);
    /* An asynchronous copy that does not start is no use. */
    once = region(fd, own, PAGE, TERN_READ, TERN_SINGLE_USE);
    REFUSED(start(fd, TERN_ASYNC_THREAD, TERN_READ, got, once, 8, (void *)PAGE), EFAULT);
    REFUSED(start(fd, TERN_ASYNC_THREAD, TERN_READ, (void *)PAGE, once, 8, (void *)got), EFAULT);
    _Atomic int status = 5;
    CHECK(start(fd, TERN_ASYNC_THREAD, TERN_READ, got, once, 8, &status) == 0 && end_of(&status) == 0);
    REFUSED(read_region(fd, got, once, 0, 1), ENOENT);
}

/* Neither region is the caller's; ranges of one region too. */
static void third_process(void)
{
    struct line cookies = line(), done = line();
    pid_t pid[2];
    for (int i = 0; i < 2; i++) {
        if ((pid[i] = child()) == 0) {
            int fd = device();
            char *own = memory(LEN);
            if (i == 0) fill(own, LEN, 3);
            tell(cookies, region(fd, own, LEN, i == 0 ? TERN_READ : TERN_READ | TERN_WRITE, 0));
            hear(done);
            CHECK(i == 0 || is_filled(own + 77, 1000, LEN - 1000, 3));
            exit(0);
        }
    }
    int fd = device();
    uint64_t a = hear(cookies), b = hear(cookies);
    int fits = between(fd, a, 1000, b, 77, LEN - 1000) == 0;
    if (!fits) {
        CHECK(errno == EACCES);
        CHECK(between(fd, b, 1000, a, 77, LEN - 1000) == 0);
    }
    tell(done, 1);
    tell(done, 1);
    ended_well(pid[0]);
    ended_well(pid[1]);
}

static void asynchronous(void)
{
    int fd = device();
    char *own = memory(LEN), *got = memory(LEN);
    fill(own, LEN, 4);
    uint64_t source = region(fd, own, LEN, TERN_READ, 0), target = region(fd, got, LEN, TERN_WRITE, 0);
    static _Atomic int status[8];
    for (uint32_t flags = TERN_ASYNC_THREAD; flags <= TERN_ASYNC_DMA; flags++) {
        memset(got, 0, LEN);
        CHECK(start(fd, flags, TERN_READ, got, source, LEN, &status[3]) == 0);
        CHECK(end_of(&status[3]) == TERN_DONE && is_filled(got, 0, LEN, 4));
        memset(got, 0, LEN);
        CHECK(start(fd, flags, TERN_WRITE, own, target, LEN, &status[4]) == 0);
        CHECK(end_of(&status[4]) == TERN_DONE && is_filled(got, 0, LEN, 4));
        memset(got, 0, LEN);
        struct tern_copy arg = {.from = source, .from_offset = 5, .to = target, .to_offset = 4097, .len = LEN - 5000,
                                .flags = flags, .status = (uintptr_t)&status[5]};
        CHECK(ioctl(fd, TERN_IOC_COPY, &arg) == 0);
        CHECK(end_of(&status[5]) == TERN_DONE && is_filled(got + 4097, 5, LEN - 5000, 4) && got[4096] == 0);
    }
    REFUSED(start(fd, TERN_ASYNC_THREAD, TERN_READ, got, source, LEN, NULL), EINVAL);
    REFUSED(start(fd, TERN_ASYNC_THREAD, TERN_READ, got, source, LEN, (void *)((char *)status + 2)), EINVAL);
    REFUSED(start(fd, TERN_ASYNC_THREAD | TERN_ASYNC_DMA, TERN_READ, got, source, LEN, status), EINVAL);
    REFUSED(start(fd, 0, TERN_READ, got, source, LEN, status), EINVAL);
}

/* Runs `body` in a child, which a signal must end. */
static void dies(void (*body)(char *), char *at, int signal)
{
    pid_t pid = child();
    if (pid == 0) {
        body(at);
        exit(0);
    }
    killed_by(pid, signal);
}

static void look(char *at)
{
    (void)*(volatile char *)at;
}

static void attached(void)
{
    struct line cookies = line(), answers = line();
    pid_t pid = child();
    if (pid == 0) {
        int fd = device();
        uint64_t cookie = hear(cookies), reads = hear(cookies);
        char *at = attach(fd, cookie, PAGE, 3 * PAGE, TERN_READ | TERN_WRITE);
        CHECK(at != MAP_FAILED && is_filled(at, 0, 3 * PAGE, 5));
        fill(at, 3 * PAGE, 6);
        /* Bounds: bytes beside the region share its first and last page. */
        REFUSED(attach(fd, cookie, 0, PAGE, TERN_READ) == MAP_FAILED ? -1 : 0, EINVAL);
        REFUSED(attach(fd, cookie, 4 * PAGE, PAGE, TERN_READ) == MAP_FAILED ? -1 : 0, ERANGE);
        REFUSED(attach(fd, cookie, PAGE, PAGE + 1, TERN_READ) == MAP_FAILED ? -1 : 0, EINVAL);
        REFUSED(attach(fd, cookie, PAGE, 0, TERN_READ) == MAP_FAILED ? -1 : 0, EINVAL);
        REFUSED(attach(fd, reads, 0, PAGE, TERN_READ | TERN_WRITE) == MAP_FAILED ? -1 : 0, EACCES);
        char *read_only = attach(fd, reads, PAGE, PAGE, TERN_READ);
        CHECK(read_only != MAP_FAILED && is_filled(read_only, PAGE, PAGE, 6));
        REFUSED(mprotect(read_only, PAGE, PROT_READ | PROT_WRITE), EACCES);
        REFUSED(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, PAGE) == MAP_FAILED ? -1 : 0, ENXIO);
        /* A part goes, the rest stays. */
        CHECK(munmap(at + PAGE, PAGE) == 0);
        at[0] = 1;
        dies(look, at, SIGSEGV); /* a child has no part in it */
        tell(answers, 1);
        hear(cookies);
        char byte;
        int fault = write(answers.to[1], at + 2 * PAGE, 1) == -1 && errno == EFAULT;
        CHECK(fault);
        (void)byte;
        tell(answers, 2);
        look(at); /* SIGBUS */
        exit(0);
    }
    int fd = device();
    char *own = memory(6 * PAGE);
    fill(own + PAGE, 3 * PAGE, 5);
    struct tern_segment list[] = {{(uintptr_t)own + 100, PAGE - 100}, {(uintptr_t)own + PAGE, 3 * PAGE}};
    struct tern_create made;
    /* 100 bytes before, so that offset PAGE is at the start of a page. */
    list[0] = (struct tern_segment){(uintptr_t)own + 4 * PAGE, PAGE};
    list[0].address += 50;
    CHECK(create_list(fd, list, 2, TERN_READ | TERN_WRITE, 0, &made) == 0);
    tell(cookies, made.cookie);
    tell(cookies, region(fd, own + PAGE, 3 * PAGE, TERN_READ, 0));
    CHECK(hear(answers) == 1);
    CHECK(own[PAGE] == 1 && is_filled(own + PAGE + 1, 1, 3 * PAGE - 1, 6));
    CHECK(count("attachments") > 0);
    CHECK(destroy(fd, made.cookie) == 0);
    tell(cookies, 0);
    CHECK(hear(answers) == 2);
    killed_by(pid, SIGBUS);
}

/* What changes the word, and what does not. */
static void generation(void)
{
    int fd = device();
    const volatile uint32_t *word = words(fd);
    char got[8], *other = memory(8 * PAGE);
    struct tern_create made;
    for (int way = 0; way < 5; way++) {
        char *own = memory(8 * PAGE);
        own[PAGE] = 1;
        CHECK(create(fd, own + PAGE, 2 * PAGE, TERN_READ | TERN_WRITE, 0, &made) == 0);
        CHECK(word[made.word] == made.generation);
        /* Beside it, and other rights. */
        CHECK(munmap(own + 4 * PAGE, PAGE) == 0 && mprotect(own, 3 * PAGE, PROT_READ) == 0 &&
              mprotect(own, 3 * PAGE, PROT_READ | PROT_WRITE) == 0);
        /* After a fork both sides write; the region stays the parent's memory. */
        pid_t pid = child();
        if (pid == 0) {
            own[PAGE] = 2;
            _exit(0);
        }
        ended_well(pid);
        own[PAGE] = 3;
        CHECK(word[made.word] == made.generation);
        CHECK(read_region(fd, got, made.cookie, 0, 1) == 0 && got[0] == 3);
        switch (way) {
        case 0: CHECK(munmap(own + 2 * PAGE, PAGE) == 0); break;
        case 1: CHECK(mremap(own + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other); break;
        case 2: CHECK(madvise(own, 4 * PAGE, MADV_DONTNEED) == 0); break;
        case 3: CHECK(mmap(own, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == own); break;
        case 4: CHECK(destroy(fd, made.cookie) == 0); break;
        }
        CHECK(word[made.word] != made.generation);
        REFUSED(read_region(fd, got, made.cookie, 0, 1), ENOENT);
    }
    REFUSED(mprotect((void *)word, PAGE, PROT_READ | PROT_WRITE), EACCES);
    REFUSED(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0, EACCES);
}

/* A fork may end a region of huge pages, which it splits, and so may munmap of memory in the same page. Then the word tells so, and the
 * region declared next is right. */
static void huge_pages(void)
{
    int fd = device();
    size_t huge = 2UL << 20, half = huge / 2;
    const volatile uint32_t *word = words(fd);
    char *own = (char *)(((uintptr_t)memory(3 * huge) + huge - 1) & -huge), got[1];
    struct tern_create made;
    CHECK(madvise(own, 2 * huge, MADV_HUGEPAGE) == 0);
    for (int i = 0; i < 4; i++) {
        size_t len = i < 2 ? 2 * huge : half;
        memset(own, 1, len);
        CHECK(create(fd, own, len, TERN_READ | TERN_WRITE, 0, &made) == 0);
        if (i < 2) {
            pid_t pid = child();
            if (pid == 0) _exit(0);
            ended_well(pid);
        } else {
            CHECK(munmap(own + half + (size_t)(i - 2) * PAGE, PAGE) == 0);
        }
        memset(own, 2, len);
        int result = read_region(fd, got, made.cookie, half + 1 - PAGE, 1);
        if (word[made.word] == made.generation) CHECK(result == 0 && got[0] == 2);
        else CHECK(result == -1 && errno == ENOENT);
    }
}

/* A region for reading shows what is written later, whatever the page was when it was declared. */
static void later_writes(void)
{
    int fd = device();
    char got[8], path[] = "/tmp/tern.XXXXXX";
    int file = mkstemp(path);
    CHECK(file >= 0 && ftruncate(file, PAGE) == 0 && unlink(path) == 0);
    char *kinds[] = {memory(PAGE), /* never touched */
                     mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0),
                     mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    for (int i = 0; i < 3; i++) {
        (void)*(volatile char *)kinds[i]; /* mapped: the page of zeros, of the file, of the shared memory */
        uint64_t cookie = region(fd, kinds[i], PAGE, TERN_READ, 0);
        kinds[i][5] = 9;
        CHECK(read_region(fd, got, cookie, 5, 1) == 0 && got[0] == 9);
    }
    /* Shared memory that cannot be written. */
    char *shared = mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(read_region(fd, got, region(fd, shared, PAGE, TERN_READ, 0), 0, 8) == 0);
}

/* A descriptor is its process's alone. */
static void descriptors(void)
{
    int fd = device();
    char *own = memory(PAGE);
    uint64_t cookie = region(fd, own, PAGE, TERN_READ | TERN_WRITE, 0);
    pid_t pid = child();
    if (pid == 0) {
        struct tern_create made;
        REFUSED(create(fd, own, PAGE, TERN_READ, 0, &made), EBADFD);
        REFUSED(read_region(fd, own, cookie, 0, 1), EBADFD);
        REFUSED(destroy(fd, cookie), EBADFD);
        REFUSED(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0, EBADFD);
        int mine = device();
        REFUSED(destroy(mine, cookie), EPERM); /* of another context */
        CHECK(read_region(mine, own, cookie, 0, 1) == 0);
        exit(0);
    }
    ended_well(pid);
    CHECK(read_region(fd, own, cookie, 0, 1) == 0);
}

/* Another user, with and without the option for groups. */
static void users(void)
{
    struct line cookies = line(), done = line();
    for (int group = 0; group < 2; group++) {
        FILE *option = fopen("/sys/module/tern/parameters/allow_group", "w");
        CHECK(option && fputs(group ? "1" : "0", option) >= 0 && fclose(option) == 0);
        pid_t owner = child();
        if (owner == 0) {
            CHECK(setgroups(0, NULL) == 0 && setgid(5000) == 0 && setuid(5001) == 0);
            int fd = device();
            char *own = memory(PAGE);
            tell(cookies, region(fd, own, PAGE, TERN_READ, group ? TERN_GROUP : 0));
            tell(cookies, region(fd, own, PAGE, TERN_READ, 0));
            hear(done);
            exit(0);
        }
        uint64_t first = hear(cookies), second = hear(cookies);
        for (int who = 0; who < 4; who++) {
            /* The user, another one of the group, one of another group, root. */
            static const int ids[4][2] = {{5000, 5001}, {5000, 5002}, {5003, 5003}, {0, 0}};
            pid_t pid = child();
            if (pid == 0) {
                char got[8];
                CHECK(setgroups(0, NULL) == 0 && setgid(ids[who][0]) == 0 && setuid(ids[who][1]) == 0);
                int fd = device();
                if (who == 0 || (who == 1 && group)) CHECK(read_region(fd, got, first, 0, 8) == 0);
                else REFUSED(read_region(fd, got, first, 0, 8), ENOENT);
                if (who == 0) CHECK(read_region(fd, got, second, 0, 8) == 0);
                else REFUSED(read_region(fd, got, second, 0, 8), ENOENT);
                if (who == 2) CHECK(attach(fd, first, 0, PAGE, TERN_READ) == MAP_FAILED && errno == ENOENT);
                exit(0);
            }
            ended_well(pid);
        }
        tell(done, 1);
        ended_well(owner);
    }
    FILE *option = fopen("/sys/module/tern/parameters/allow_group", "w");
    CHECK(option && fputs("0", option) >= 0 && fclose(option) == 0);
}

/* The limit of locked memory holds for those who have no right to more. */
static void locked_memory(void)
{
    struct rlimit limit = {16 * PAGE, 16 * PAGE};
    CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && setgroups(0, NULL) == 0 && setgid(5000) == 0 && setuid(5001) == 0);
    int fd = device(), again = device();
    char *own = memory(64 * PAGE);
    struct tern_create made;
    long before = count("pinned_pages");
    REFUSED(create(fd, own, 17 * PAGE, TERN_READ, 0, &made), ENOMEM);
    CHECK(count("pinned_pages") == before);
    uint64_t cookie = region(fd, own, 10 * PAGE, TERN_READ, 0);
    CHECK(count("pinned_pages") == before + 10);
    /* The limit is of the process, not of the context. */
    REFUSED(create(again, own, 7 * PAGE, TERN_READ, 0, &made), ENOMEM);
    CHECK(create(again, own, 6 * PAGE, TERN_READ, 0, &made) == 0);
    _Atomic int status;
    REFUSED(start(fd, TERN_ASYNC_THREAD, TERN_READ, own + 20 * PAGE, cookie, PAGE, &status), ENOMEM);
    CHECK(destroy(fd, cookie) == 0);
    CHECK(create(fd, own, 10 * PAGE, TERN_READ, 0, &made) == 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) only = argv[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
#define RUN(name) run(#name, name)
    RUN(about);
    RUN(inline_copies);
    RUN(segments);
    RUN(errors);
    RUN(single_use);
    RUN(third_process);
    RUN(asynchronous);
    RUN(attached);
    RUN(generation);
    RUN(huge_pages);
    RUN(later_writes);
    RUN(descriptors);
    RUN(users);
    RUN(locked_memory);
    return sum();
}
