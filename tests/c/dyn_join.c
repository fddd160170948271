// MPI_Comm_join: over a pair of sockets, over TCP, between ranks and between parent and child.
// ranks: 2
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static void use(MPI_Comm inter)
{
    int one = rank + 1, other = 0, remote, own;
    OK(MPI_Comm_remote_size(inter, &remote));
    OK(MPI_Comm_size(inter, &own));
    CHECK(remote == 1 && own == 1);
    OK(MPI_Sendrecv(&one, 1, MPI_INT, 0, 0, &other, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
    CHECK(other > 0);
}

/* The socket is the program's again afterwards: what is sent now comes next. */
static void still_clean(int fd)
{
    char byte = 0;
    CHECK(send(fd, "x", 1, 0) == 1 && recv(fd, &byte, 1, 0) == 1 && byte == 'x');
}

static int listener(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, 1) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static int caller(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

static void join(int fd)
{
    MPI_Comm inter;
    for (int round = 0; round < 10; round++) {
        OK(MPI_Comm_join(fd, &inter));
        use(inter);
        still_clean(fd);
        OK(MPI_Comm_disconnect(&inter));
    }
    CHECK(close(fd) == 0);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter;
    int port = 0, wait = -1, fd;
    begin(&argc, &argv);
    OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        join(caller(atoi(argv[1])));
        OK(MPI_Comm_disconnect(&parent));
        return finish();
    }
    if (rank == 0)
        wait = listener(&port);
    OK(MPI_Bcast(&port, 1, MPI_INT, 0, MPI_COMM_WORLD));
    join(rank == 0 ? accept(wait, NULL, NULL) : caller(port));

    char text[16], *arguments[] = {text, NULL};
    snprintf(text, sizeof text, "%d", port);
    OK(MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    if (rank == 0) {
        fd = accept(wait, NULL, NULL);
        join(fd);
        close(wait);
        /* Somebody who has not called MPI_Comm_join. */
        int ends[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        CHECK(send(ends[1], "this is no greeting", 19, 0) == 19);
        MPI_Comm none = MPI_COMM_SELF;
        FAILS(MPI_ERR_OTHER, MPI_Comm_join(ends[0], &none));
        CHECK(none == MPI_COMM_NULL);
        close(ends[1]);
        FAILS(MPI_ERR_ARG, MPI_Comm_join(ends[0], &none));
        close(ends[0]);
    }
    OK(MPI_Comm_disconnect(&inter));
    return finish();
}
