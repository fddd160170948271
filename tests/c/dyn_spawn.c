// Processes that spawn others: what they are told, and all kinds of communication with them.
// ranks: 1 2 3
// timeout: 120
#include "check.h"

#define CHILDREN 3

/* Both sides do this with the intercommunicator. `low`: of two groups, the one of the parents. */
static void talk(MPI_Comm inter, int low)
{
    int own, others, number, sum = 0, flag;
    OK(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag);
    OK(MPI_Comm_rank(inter, &number));
    OK(MPI_Comm_size(inter, &own));
    OK(MPI_Comm_remote_size(inter, &others));

    /* Every process with every process of the other side, short and long, both ways at once. */
    for (int length = 1; length < 3000000; length *= 17) {
        int *out = malloc(length * sizeof *out), *in = malloc(others * length * sizeof *in);
        MPI_Request *requests = malloc(2 * others * sizeof *requests);
        for (int i = 0; i < length; i++)
            out[i] = number * 1000 + i + low;
        for (int peer = 0; peer < others; peer++) {
            OK(MPI_Irecv(in + peer * length, length, MPI_INT, peer, 5, inter, &requests[2 * peer]));
            OK(MPI_Isend(out, length, MPI_INT, peer, 5, inter, &requests[2 * peer + 1]));
        }
        OK(MPI_Waitall(2 * others, requests, MPI_STATUSES_IGNORE));
        for (int peer = 0; peer < others; peer++)
            for (int i = 0; i < length; i++)
                if (in[peer * length + i] != peer * 1000 + i + !low) {
                    CHECK(0, "from %d, element %d of %d: %d", peer, i, length, in[peer * length + i]);
                    break;
                }
        free(out), free(in), free(requests);
    }

    /* Synchronous, from any source, with a probe in front. */
    if (number == 0) {
        if (low) {
            int word = 42;
            OK(MPI_Ssend(&word, 1, MPI_INT, others - 1, 7, inter));
        }
    }
    if (!low && number == own - 1) {
        int word = 0;
        MPI_Status status;
        OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status));
        CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 7);
        OK(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status));
        CHECK(word == 42);
    }

    /* Collectives. */
    OK(MPI_Barrier(inter));
    OK(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK(sum == others * (others - 1) / 2, "%d", sum);
    int word = low ? 99 : 0;
    OK(MPI_Bcast(&word, 1, MPI_INT, low ? number == 0 ? MPI_ROOT : MPI_PROC_NULL : 0, inter));
    CHECK(word == 99);
    int *all = malloc(others * sizeof *all);
    OK(MPI_Allgather(&number, 1, MPI_INT, all, 1, MPI_INT, inter));
    for (int peer = 0; peer < others; peer++)
        CHECK(all[peer] == peer);
    free(all);

    /* One communicator of both, and what is made from that. */
    MPI_Comm merged, part, copy, shared, inter2;
    int all_size, all_rank;
    OK(MPI_Intercomm_merge(inter, !low, &merged));
    OK(MPI_Comm_size(merged, &all_size));
    OK(MPI_Comm_rank(merged, &all_rank));
    CHECK(all_size == own + others && all_rank == number + (low ? 0 : others));
    OK(MPI_Allreduce(&all_rank, &sum, 1, MPI_INT, MPI_SUM, merged));
    CHECK(sum == all_size * (all_size - 1) / 2);
    OK(MPI_Comm_dup(merged, &copy));
    OK(MPI_Comm_split(copy, all_rank % 2, -all_rank, &part));
    OK(MPI_Allreduce(&all_rank, &sum, 1, MPI_INT, MPI_MAX, part));
    CHECK(sum % 2 == all_rank % 2 && sum >= all_size - 2);
    OK(MPI_Comm_split_type(merged, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    OK(MPI_Comm_size(shared, &sum));
    if (getenv("TERN_TEST_NODES")) {
        /* The groups may be on several nodes. */
        OK(MPI_Comm_free(&shared));
        OK(MPI_Comm_split(merged, low != 0, 0, &shared));
        OK(MPI_Comm_size(shared, &sum));
    }
    CHECK(sum == own, "%d", sum);
    /* The groups know each other by now. */
    OK(MPI_Intercomm_create(shared, 0, merged, low ? own : 0, 3, &inter2));
    OK(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, inter2));
    CHECK(sum == others * (others - 1) / 2);
    MPI_Group a, b;
    OK(MPI_Comm_remote_group(inter, &a));
    OK(MPI_Comm_remote_group(inter2, &b));
    OK(MPI_Group_compare(a, b, &sum));
    CHECK(sum == MPI_IDENT);
    OK(MPI_Group_free(&a));
    OK(MPI_Group_free(&b));
    OK(MPI_Comm_free(&inter2));
    OK(MPI_Comm_free(&shared));
    OK(MPI_Comm_free(&part));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_disconnect(&merged));
    CHECK(merged == MPI_COMM_NULL);
}

static void child(MPI_Comm parent, int argc, char **argv)
{
    int length, flag, *value, expected;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm again;
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    CHECK(size == CHILDREN, "%d", size);
    OK(MPI_Comm_remote_size(parent, &expected));
    CHECK(argc == 4 && strcmp(argv[1], "one") == 0 && strcmp(argv[2], "") == 0 && strcmp(argv[3], "th ree") == 0);
    OK(MPI_Comm_get_name(parent, name, &length));
    CHECK(strcmp(name, "MPI_COMM_PARENT") == 0, "%s", name);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(flag && *value == 0);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(flag && *value >= size);
    talk(parent, 0);
    OK(MPI_Comm_get_parent(&again));
    CHECK(again == parent);
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Comm_get_parent(&again));
    CHECK(again == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter;
    begin(&argc, &argv);
    OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        child(parent, argc, argv);
        return finish();
    }
    int codes[CHILDREN] = {-1, -1, -1}, root = size - 1;
    char *arguments[] = {"one", "", "th ree", NULL};
    /* What is significant at the root only is nonsense elsewhere. */
    OK(MPI_Comm_spawn(rank == root ? argv[0] : NULL, rank == root ? arguments : NULL, rank == root ? CHILDREN : -5,
                      MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter, codes));
    for (int i = 0; i < CHILDREN; i++)
        CHECK(codes[i] == MPI_SUCCESS, "%d", codes[i]);
    talk(inter, 1);
    OK(MPI_Comm_disconnect(&inter));
    CHECK(inter == MPI_COMM_NULL);
    return finish();
}
