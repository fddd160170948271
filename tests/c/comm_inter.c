// Intercommunicators: made in both ways, duplicated, split, restricted and merged.
// ranks: 2 3 4 7
#include "check.h"

static int low;           /* this process is in the group of even ranks */
static int mine[64], theirs[64], own_count, other_count;

/* Messages and a collective get from one group to the other. */
static void works(MPI_Comm inter, const int *local, int nlocal, const int *remote, int nremote)
{
    int flag, own, n, m, got = -1;
    OK(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag);
    OK(MPI_Comm_rank(inter, &own));
    OK(MPI_Comm_size(inter, &n));
    OK(MPI_Comm_remote_size(inter, &m));
    CHECK(n == nlocal && m == nremote && local[own] == rank, "%d %d", n, m);
    /* Everyone sends to rank 0 of the other group; rank 0 answers all. */
    int dummy = rank;
    MPI_Request request;
    OK(MPI_Isend(&dummy, 1, MPI_INT, 0, 1, inter, &request));
    if (own == 0)
        for (int i = 0; i < nremote; i++) {
            OK(MPI_Recv(&got, 1, MPI_INT, i, 1, inter, MPI_STATUS_IGNORE));
            CHECK(got == remote[i], "got %d, not %d", got, remote[i]);
        }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    int all[64];
    OK(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, inter));
    for (int i = 0; i < nremote; i++)
        CHECK(all[i] == remote[i]);
}

static void merge(MPI_Comm inter, int high, int first_even)
{
    MPI_Comm both;
    int n, all[64], odd = size / 2, even = size - odd;
    OK(MPI_Intercomm_merge(inter, high, &both));
    OK(MPI_Comm_size(both, &n));
    CHECK(n == size);
    OK(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, both));
    if (first_even >= 0)
        for (int i = 0; i < size; i++) {
            int in_first = i < (first_even ? even : odd);
            int parity = first_even ? !in_first : in_first;
            CHECK(all[i] % 2 == parity, "place %d has %d", i, all[i]);
        }
    OK(MPI_Comm_free(&both));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    low = rank % 2 == 0;
    for (int r = 0; r < size; r++)
        if (r % 2 == rank % 2)
            mine[own_count++] = r;
        else
            theirs[other_count++] = r;

    MPI_Comm part, inter, second, result;
    int cmp;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &part));
    OK(MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, low ? 1 : 0, 12, &inter));
    works(inter, mine, own_count, theirs, other_count);

    OK(MPI_Comm_dup(inter, &second));
    works(second, mine, own_count, theirs, other_count);
    OK(MPI_Comm_compare(inter, second, &cmp));
    CHECK(cmp == MPI_CONGRUENT);
    OK(MPI_Comm_free(&second));
    MPI_Request request;
    OK(MPI_Comm_idup(inter, &second, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    works(second, mine, own_count, theirs, other_count);
    OK(MPI_Comm_free(&second));

    MPI_Group group, remote;
    OK(MPI_Comm_remote_group(inter, &remote));
    OK(MPI_Group_size(remote, &cmp));
    CHECK(cmp == other_count);
    OK(MPI_Group_free(&remote));

    merge(inter, !low, 1);
    merge(inter, low, 0);
    merge(inter, 0, -1);

    /* Split: the last process of each group stands alone if its group has more. */
    int own;
    OK(MPI_Comm_rank(inter, &own));
    int alone = own == own_count - 1 && own > 0;
    OK(MPI_Comm_split(inter, alone, 0, &result));
    int remote_alone = other_count > 1;
    if (alone && !remote_alone) {
        CHECK(result == MPI_COMM_NULL);
    } else if (alone) {
        works(result, &rank, 1, &theirs[other_count - 1], 1);
    } else {
        works(result, mine, own_count > 1 ? own_count - 1 : 1, theirs, remote_alone ? other_count - 1 : 1);
    }
    if (result != MPI_COMM_NULL)
        OK(MPI_Comm_free(&result));

    /* The first process of each group. */
    int zero[1] = {0};
    MPI_Group local;
    OK(MPI_Comm_group(inter, &local));
    OK(MPI_Group_incl(local, 1, zero, &group));
    OK(MPI_Comm_create(inter, group, &result));
    CHECK((result == MPI_COMM_NULL) == (own != 0));
    if (result != MPI_COMM_NULL) {
        works(result, mine, 1, theirs, 1);
        OK(MPI_Comm_free(&result));
    }
    OK(MPI_Comm_create(inter, low ? local : MPI_GROUP_EMPTY, &result));
    CHECK(result == MPI_COMM_NULL);
    OK(MPI_Group_free(&group));

    /* From groups, without a peer communicator. */
    MPI_Group world, others;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_difference(world, local, &others));
    OK(MPI_Intercomm_create_from_groups(local, 0, others, 0, "org.tern.inter", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                        &second));
    works(second, mine, own_count, theirs, other_count);
    OK(MPI_Comm_disconnect(&second));
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&others));
    OK(MPI_Group_free(&local));

    FAILS(MPI_ERR_RANK, MPI_Intercomm_create(MPI_COMM_SELF, 3, MPI_COMM_WORLD, 0, 0, &second));
    FAILS(MPI_ERR_RANK, MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, size, 0, &second));
    FAILS(MPI_ERR_COMM, MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &second));
    /* The first process of the larger group disagrees with the rest of it; both groups are told so. */
    if (size > 2) {
        OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
        FAILS(MPI_ERR_ARG, MPI_Intercomm_merge(inter, low && own == 0, &second));
        merge(inter, low, 0);
    }
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&part));
    return finish();
}
