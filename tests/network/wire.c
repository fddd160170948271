// A bad wire between two network namespaces: each gets an interface `wire0`, and what goes into one comes out of the
// other: late, out of order, or not at all. For kernels without netem, and the same in each run.
// Usage: wire SEED DELAY-US LOSS-PER-1000 LATE-PER-1000 NAMESPACE-A NAMESPACE-B
//   LATE-PER-1000   frames that come 3 delays and 2 ms later than others, behind those that were sent after them
// SIGUSR1 cuts the wire, SIGUSR2 mends it. "ready" on the standard output: both interfaces are there. At SIGTERM it
// prints how many frames came, were lost and were late, and ends.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PLACES = 8192, LARGEST = 2048 };

struct frame {
    int64_t due;
    long number;
    int to, len;
    char bytes[LARGEST];
};

static struct frame frames[PLACES];
// A heap of frames by the time at which they are due, and those that are free.
static int heap[PLACES], unused[PLACES], waiting, left;
static volatile sig_atomic_t cut, over;

static void on_signal(int signal)
{
    if (signal == SIGTERM) over = 1;
    else cut = signal == SIGUSR1;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static int per_thousand(void)
{
    static uint64_t state;
    if (!state) state = (uint64_t)random() | 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % 1000;
}

static int before(int a, int b)
{
    const struct frame *x = &frames[heap[a]], *y = &frames[heap[b]];
    return x->due != y->due ? x->due < y->due : x->number < y->number;
}

static void swap(int a, int b)
{
    int t = heap[a];
    heap[a] = heap[b];
    heap[b] = t;
}

static void push(int frame)
{
    int at = waiting++;
    heap[at] = frame;
    for (; at && before(at, (at - 1) / 2); at = (at - 1) / 2) swap(at, (at - 1) / 2);
}

static int pop(void)
{
    int first = heap[0], at = 0;
    heap[0] = heap[--waiting];
    for (;;) {
        int child = 2 * at + 1;
        if (child >= waiting) return first;
        if (child + 1 < waiting && before(child + 1, child)) child++;
        if (!before(child, at)) return first;
        swap(child, at);
        at = child;
    }
}

static int interface_in(const char *namespace)
{
    char path[256];
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    snprintf(path, sizeof path, "/run/netns/%s", namespace);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET)) fail(path);
    close(space);
    int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tap < 0) fail("/dev/net/tun");
    strcpy(request.ifr_name, "wire0");
    if (ioctl(tap, TUNSETIFF, &request)) fail("TUNSETIFF");
    return tap;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: %s SEED DELAY-US LOSS-PER-1000 LATE-PER-1000 NAMESPACE-A NAMESPACE-B\n", argv[0]);
        return 2;
    }
    srandom(atoi(argv[1]));
    int64_t delay = atoi(argv[2]);
    int loss = atoi(argv[3]), late = atoi(argv[4]);
    long came = 0, lost = 0, delayed = 0;
    struct pollfd taps[2] = {{interface_in(argv[5]), POLLIN, 0}, {interface_in(argv[6]), POLLIN, 0}};
    for (int i = 0; i < PLACES; i++) unused[left++] = i;
    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, on_signal);
    signal(SIGTERM, on_signal);
    puts("ready");
    fflush(stdout);
    while (!over) {
        struct timespec until = {1, 0};
        if (waiting) {
            int64_t wait = frames[heap[0]].due - now();
            if (wait < 0) wait = 0;
            until = (struct timespec){wait / 1000000, wait % 1000000 * 1000};
        }
        ppoll(taps, 2, &until, NULL);
        for (int from = 0; from < 2; from++) {
            for (int burst = 0; burst < 64 && left; burst++) {
                int frame = unused[left - 1];
                struct frame *f = &frames[frame];
                f->len = read(taps[from].fd, f->bytes, LARGEST);
                if (f->len <= 0) break;
                came++;
                if (cut || per_thousand() < loss) {
                    lost++;
                    continue;
                }
                f->to = !from;
                f->number = came;
                f->due = now() + delay;
                if (per_thousand() < late) {
                    f->due += 3 * delay + 2000;
                    delayed++;
                }
                left--;
                push(frame);
            }
        }
        while (waiting && frames[heap[0]].due <= now()) {
            int frame = pop();
            // A full interface loses it, as any network would.
            if (write(taps[frames[frame].to].fd, frames[frame].bytes, frames[frame].len) < 0) lost++;
            unused[left++] = frame;
        }
    }
    printf("%ld frames, %ld lost, %ld late\n", came, lost, delayed);
    return 0;
}
