// Groups that come together step by step, of processes that have never heard of each other.
// ranks: 1 2 3
// timeout: 120
#include "check.h"

/* All of them are in `all`: each sends to each, short and long. */
static void everybody(MPI_Comm all, int expected)
{
    int number, many, total = 0;
    OK(MPI_Comm_rank(all, &number));
    OK(MPI_Comm_size(all, &many));
    CHECK(many == expected, "%d", many);
    OK(MPI_Allreduce(&number, &total, 1, MPI_INT, MPI_SUM, all));
    CHECK(total == many * (many - 1) / 2);
    for (int length = 1; length < 200000; length *= 50) {
        int *out = malloc(many * length * sizeof *out), *in = malloc(many * length * sizeof *in);
        for (int i = 0; i < many * length; i++)
            out[i] = number * 100 + i / length;
        OK(MPI_Alltoall(out, length, MPI_INT, in, length, MPI_INT, all));
        for (int i = 0; i < many * length; i++)
            if (in[i] != i / length * 100 + number) {
                CHECK(0, "element %d: %d", i, in[i]);
                break;
            }
        free(out), free(in);
    }
}

/* Brings `more`, led by its rank 0 there, into what `local` has; `peer` is a communicator of both leaders. */
static void enlarge(MPI_Comm local, int leader, MPI_Comm peer, int other, int high, int expected)
{
    MPI_Comm inter, all;
    OK(MPI_Intercomm_create(local, leader, peer, other, 3, &inter));
    OK(MPI_Intercomm_merge(inter, high, &all));
    everybody(all, expected);
    OK(MPI_Comm_disconnect(&inter));
    OK(MPI_Comm_disconnect(&all));
}

static char *self;

/* Two groups that we have spawned. */
static void two(void)
{
    MPI_Comm inter[2], with[2];
    char *arguments[2][2] = {{"first", NULL}, {"second", NULL}};
    for (int i = 0; i < 2; i++) {
        OK(MPI_Comm_spawn(self, arguments[i], 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter[i], MPI_ERRCODES_IGNORE));
        OK(MPI_Intercomm_merge(inter[i], 0, &with[i]));
    }
    enlarge(with[0], 0, with[1], size, 0, size + 4);
    for (int i = 0; i < 2; i++) {
        OK(MPI_Comm_disconnect(&inter[i]));
        OK(MPI_Comm_disconnect(&with[i]));
    }
}

static void first(MPI_Comm parent)
{
    MPI_Comm with;
    int parents;
    OK(MPI_Comm_remote_size(parent, &parents));
    OK(MPI_Intercomm_merge(parent, 1, &with));
    enlarge(with, 0, MPI_COMM_NULL, -1, 0, parents + 4);
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Comm_disconnect(&with));
}

static void second(MPI_Comm parent)
{
    MPI_Comm with;
    int parents;
    OK(MPI_Comm_remote_size(parent, &parents));
    OK(MPI_Intercomm_merge(parent, 1, &with));
    enlarge(MPI_COMM_WORLD, 0, with, 0, 1, parents + 4);
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Comm_disconnect(&with));
}

/* Children and grandchildren. */
static void generations(void)
{
    MPI_Comm inter, with;
    char *arguments[] = {"child", NULL};
    OK(MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    OK(MPI_Intercomm_merge(inter, 0, &with));
    enlarge(with, size, MPI_COMM_NULL, -1, 0, size + 5);
    OK(MPI_Comm_disconnect(&inter));
    OK(MPI_Comm_disconnect(&with));
}

static void child(MPI_Comm parent)
{
    MPI_Comm inter, with, grand;
    int parents;
    char *arguments[] = {"grandchild", NULL};
    OK(MPI_Comm_remote_size(parent, &parents));
    OK(MPI_Intercomm_merge(parent, 1, &with));
    OK(MPI_Comm_spawn(self, arguments, 3, MPI_INFO_NULL, 1, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    OK(MPI_Intercomm_merge(inter, 0, &grand));
    enlarge(with, parents, grand, size, 0, parents + 5);
    OK(MPI_Comm_disconnect(&inter));
    OK(MPI_Comm_disconnect(&grand));
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Comm_disconnect(&with));
}

static void grandchild(MPI_Comm parent)
{
    MPI_Comm grand;
    int parents, all;
    OK(MPI_Comm_remote_size(parent, &parents));
    OK(MPI_Intercomm_merge(parent, 1, &grand));
    /* Their leader is rank 0 of those that have spawned us. How many they are with their own parents: */
    MPI_Comm inter, total;
    OK(MPI_Intercomm_create(MPI_COMM_WORLD, 0, grand, 0, 3, &inter));
    OK(MPI_Comm_remote_size(inter, &all));
    OK(MPI_Intercomm_merge(inter, 1, &total));
    everybody(total, all + 3);
    OK(MPI_Comm_disconnect(&inter));
    OK(MPI_Comm_disconnect(&total));
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Comm_disconnect(&grand));
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    begin(&argc, &argv);
    self = argv[0];
    OK(MPI_Comm_get_parent(&parent));
    if (parent == MPI_COMM_NULL) {
        two();
        generations();
    } else if (strcmp(argv[1], "first") == 0) {
        first(parent);
    } else if (strcmp(argv[1], "second") == 0) {
        second(parent);
    } else if (strcmp(argv[1], "child") == 0) {
        child(parent);
    } else {
        grandchild(parent);
    }
    return finish();
}
