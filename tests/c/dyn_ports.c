// Groups that meet at ports: within a job, between jobs that know nothing of each other, and again.
// ranks: 2 3 5
// timeout: 120
#include "check.h"
#include <unistd.h>

#define ROUNDS 30

static int add(MPI_Comm comm, int value)
{
    int sum = -1;
    OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
    return sum;
}

/* Both sides: sums over the other one, a long message each way, and a ring of all processes. */
static void use(MPI_Comm inter, int mark, int others)
{
    enum { LONG = 1 << 19 };
    int number, remote, all, place;
    static int out[LONG], in[LONG];
    MPI_Comm merged;
    OK(MPI_Comm_remote_size(inter, &remote));
    OK(MPI_Comm_rank(inter, &number));
    CHECK(add(inter, mark) == others * remote);
    for (int i = 0; i < LONG; i++)
        out[i] = mark + i;
    if (number == 0) {
        OK(MPI_Sendrecv(out, LONG, MPI_INT, 0, 1, in, LONG, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
        CHECK(in[0] == others && in[LONG - 1] == others + LONG - 1);
    }
    OK(MPI_Intercomm_merge(inter, mark > others, &merged));
    OK(MPI_Comm_rank(merged, &place));
    OK(MPI_Comm_size(merged, &all));
    int left = -1;
    OK(MPI_Sendrecv(&place, 1, MPI_INT, (place + 1) % all, 2, &left, 1, MPI_INT, (place + all - 1) % all, 2, merged,
                    MPI_STATUS_IGNORE));
    CHECK(left == (place + all - 1) % all);
    OK(MPI_Comm_free(&merged));
}

/* Ranks of one job on both sides. */
static void halves(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, inter;
    int first = rank == 0;
    OK(MPI_Comm_split(MPI_COMM_WORLD, first, 0, &half));
    if (first)
        OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        int last = first ? 0 : size - 2;
        if (first)
            OK(MPI_Comm_accept(port, MPI_INFO_NULL, last, half, &inter));
        else
            OK(MPI_Comm_connect(port, MPI_INFO_NULL, last, half, &inter));
        if (round < 3)
            use(inter, first ? 10 : 20, first ? 20 : 10);
        CHECK(add(inter, 1) == (first ? size - 1 : 1));
        OK(MPI_Comm_disconnect(&inter));
    }
    if (first)
        OK(MPI_Close_port(port));
    OK(MPI_Comm_free(&half));
}

/* A spawned group: it meets its sister, which another spawn has started, by a name. */
static void child(MPI_Comm parent, const char *role, const char *service)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm sister;
    int accepts = strcmp(role, "accept") == 0;
    if (accepts && rank == 0) {
        OK(MPI_Open_port(MPI_INFO_NULL, port));
        OK(MPI_Publish_name(service, MPI_INFO_NULL, port));
    }
    OK(MPI_Barrier(parent));
    if (!accepts && rank == 0)
        OK(MPI_Lookup_name(service, MPI_INFO_NULL, port));
    for (int round = 0; round < ROUNDS; round++) {
        if (accepts)
            OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &sister));
        else
            OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &sister));
        if (round < 3)
            use(sister, accepts ? 1 : 2, accepts ? 2 : 1);
        CHECK(add(sister, 1) == 2);
        /* Freed, not disconnected, in some rounds: the next meeting finds them acquainted or not. */
        if (round % 3 == 0)
            OK(MPI_Comm_free(&sister));
        else
            OK(MPI_Comm_disconnect(&sister));
    }
    if (accepts && rank == 0) {
        OK(MPI_Unpublish_name(service, MPI_INFO_NULL, port));
        OK(MPI_Close_port(port));
    }
    OK(MPI_Barrier(parent));
    OK(MPI_Comm_disconnect(&parent));
}

static void sisters(char *self)
{
    MPI_Comm inter[2];
    char service[64], *roles[2][3] = {{"accept", service, NULL}, {"connect", service, NULL}};
    snprintf(service, sizeof service, "tern sisters of %d", (int)getpid());
    for (int i = 0; i < 2; i++)
        OK(MPI_Comm_spawn(self, roles[i], 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter[i], MPI_ERRCODES_IGNORE));
    /* The name is known when the one that looks for it is let go. */
    OK(MPI_Barrier(inter[0]));
    OK(MPI_Barrier(inter[1]));

    OK(MPI_Barrier(inter[0]));
    OK(MPI_Barrier(inter[1]));
    for (int i = 0; i < 2; i++)
        OK(MPI_Comm_disconnect(&inter[i]));
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    begin(&argc, &argv);
    OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        child(parent, argv[1], argv[2]);
        return finish();
    }
    halves();
    sisters(argv[0]);
    return finish();
}
