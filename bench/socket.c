/* A TCP connection between two ranks beside MPI: what the network itself takes. */
#define _GNU_SOURCE
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
    int socket;
    char *buffer;
    size_t size;
} wire;

/* By what the other host reaches this one; loopback, where there is one host. */
static in_addr_t own_address(void)
{
    struct ifaddrs *all = NULL;
    in_addr_t found = htonl(INADDR_LOOPBACK);
    if (getifaddrs(&all))
        fail("no addresses");
    for (struct ifaddrs *at = all; at; at = at->ifa_next) {
        if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET && at->ifa_flags & IFF_UP && !(at->ifa_flags & IFF_LOOPBACK)) {
            found = ((struct sockaddr_in *)at->ifa_addr)->sin_addr.s_addr;
            break;
        }
    }
    freeifaddrs(all);
    return found;
}

/* Connects ranks 0 and 1. */
static int connected(MPI_Comm comm, int me)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = own_address()};
    socklen_t len = sizeof at;
    int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    if (own < 0)
        fail("no socket beside MPI");
    if (me == 0 && (bind(own, (struct sockaddr *)&at, len) || listen(own, 1) || getsockname(own, (struct sockaddr *)&at, &len)))
        fail("cannot listen beside MPI");
    MPI_Bcast(&at, (int)sizeof at, MPI_BYTE, 0, comm);
    if (me == 1 && connect(own, (struct sockaddr *)&at, len))
        fail("cannot connect beside MPI");
    int socket = me == 0 ? accept(own, NULL, NULL) : own;
    if (socket < 0)
        fail("nobody connects beside MPI");
    if (me == 0)
        close(own);
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return socket;
}

static void put(const wire *w)
{
    for (size_t done = 0; done < w->size;) {
        ssize_t count = send(w->socket, w->buffer + done, w->size - done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN)
            fail("a socket beside MPI takes nothing");
        done += count > 0 ? (size_t)count : 0;
    }
}

static void take(const wire *w)
{
    for (size_t done = 0; done < w->size;) {
        ssize_t count = recv(w->socket, w->buffer + done, w->size - done, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EAGAIN))
            fail("a socket beside MPI gives nothing");
        done += count > 0 ? (size_t)count : 0;
    }
}

static void first(void *context, long iterations)
{
    for (long i = 0; i < iterations; i++) {
        put(context);
        take(context);
    }
}

static void second(void *context, long iterations)
{
    for (long i = 0; i < iterations; i++) {
        take(context);
        put(context);
    }
}

void run_socket(void)
{
    static const long usual[] = {8, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304};
    const long *sizes = opt.sizes ? opt.sizes : usual;
    int count = opt.sizes ? opt.size_count : (int)(sizeof usual / sizeof *usual);
    if (world_size != 2)
        fail("socket needs two ranks");
    wire w = {.socket = connected(MPI_COMM_WORLD, world_rank)};
    for (int i = 0; i < count; i++) {
        w.size = sizes[i] > 0 ? (size_t)sizes[i] : 1;
        w.buffer = memory(w.size);
        figure f = measure(MPI_COMM_WORLD, world_rank == 0 ? first : second, &w);
        if (world_rank == 0)
            report_us("socket", sizes[i], &f, 0.5);
        free(w.buffer);
    }
    close(w.socket);
}
