// ranks: 2
// mpiexec: --nodes 2
// The program watches memory by a userfaultfd of its own that it has sent to another node before, and goes on sending it.
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };
#define PAGE ((size_t)sysconf(_SC_PAGESIZE))
static int watch;
static char *at;
static volatile int stop;

/* Fills pages that are missing with 33, and lets writes pass. */
static void *serve(void *page)
{
    while (!stop) {
        struct uffd_msg message;
        struct pollfd ready = {watch, POLLIN, 0};
        if (poll(&ready, 1, 20) != 1 || read(watch, &message, sizeof message) != sizeof message || message.event != UFFD_EVENT_PAGEFAULT)
            continue;
        uint64_t address = message.arg.pagefault.address & ~(uint64_t)(PAGE - 1);
        if (message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP) {
            struct uffdio_writeprotect let = {{address, PAGE}, 0};
            ioctl(watch, UFFDIO_WRITEPROTECT, &let);
        } else {
            struct uffdio_copy copy = {address, (uintptr_t)page, PAGE, 0, 0};
            ioctl(watch, UFFDIO_COPY, &copy);
        }
    }
    return NULL;
}

static void swap(char *to)
{
    MPI_Sendrecv(at, BYTES, MPI_BYTE, rank ^ 1, 0, to, BYTES, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int all_are(const char *bytes, char value)
{
    return bytes[0] == value && memcmp(bytes, bytes + 1, BYTES - 1) == 0;
}

static void once(int protects, char *other)
{
    at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(at, 1, BYTES);
    for (int turn = 0; turn < 30; turn++)
        swap(other);
    struct uffdio_register range = {{(uintptr_t)at, BYTES}, protects ? UFFDIO_REGISTER_MODE_WP : UFFDIO_REGISTER_MODE_MISSING, 0};
    int result = ioctl(watch, UFFDIO_REGISTER, &range);
    CHECK(result == 0, "memory that was sent, %s: %s", protects ? "write protection" : "missing pages", strerror(errno));
    if (result == 0 && protects) {
        struct uffdio_writeprotect all = {{(uintptr_t)at, BYTES}, UFFDIO_WRITEPROTECT_MODE_WP};
        CHECK(ioctl(watch, UFFDIO_WRITEPROTECT, &all) == 0);
    } else if (result == 0) {
        madvise(at, BYTES, MADV_DONTNEED);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    swap(other);
    CHECK(result != 0 || all_are(other, protects ? 1 : 33), "sent, %d", protects);
    memset(other, 9, BYTES);
    MPI_Sendrecv(other, BYTES, MPI_BYTE, rank ^ 1, 0, at, BYTES, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(all_are(at, 9), "received, %d", protects);
    struct uffdio_range whole = {(uintptr_t)at, BYTES};
    ioctl(watch, UFFDIO_UNREGISTER, &whole);
    munmap(at, BYTES);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *other = malloc(BYTES), *page = aligned_alloc(PAGE, PAGE);
    memset(page, 33, PAGE);
    for (int protects = 0; protects <= 1; protects++) {
        watch = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
        struct uffdio_api api = {UFFD_API, protects ? UFFD_FEATURE_PAGEFAULT_FLAG_WP : 0, 0};
        if (watch < 0 || ioctl(watch, UFFDIO_API, &api)) {
            printf("skipped: userfaultfd: %s\n", strerror(errno));
            break;
        }
        pthread_t server;
        stop = 0;
        pthread_create(&server, NULL, serve, page);
        for (int turn = 0; turn < 3; turn++)
            once(protects, other);
        stop = 1;
        pthread_join(server, NULL);
        close(watch);
    }
    return finish();
}
