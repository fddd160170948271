// Intracommunicators: every way to make one, and that messages in one do not meet those of another.
// ranks: 1 2 4 7
#include "check.h"

/* The communicator works: members see each other in this order of world ranks. */
static void works(MPI_Comm comm, const int *members, int count)
{
    int own, n, all[64];
    OK(MPI_Comm_rank(comm, &own));
    OK(MPI_Comm_size(comm, &n));
    CHECK(n == count, "size %d, not %d", n, count);
    OK(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm));
    for (int i = 0; i < count && i < n; i++)
        CHECK(all[i] == members[i], "place %d has rank %d, not %d", i, all[i], members[i]);
    int to = (own + 1) % n, from = (own + n - 1) % n, got = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, to, 3, &got, 1, MPI_INT, from, 3, comm, MPI_STATUS_IGNORE));
    CHECK(got == members[from]);
}

static void dups(const int *world)
{
    MPI_Comm a, b, c[20];
    int result;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &a));
    OK(MPI_Comm_dup(a, &b));
    OK(MPI_Comm_compare(a, b, &result));
    CHECK(result == MPI_CONGRUENT);
    OK(MPI_Comm_compare(a, a, &result));
    CHECK(result == MPI_IDENT);
    works(a, world, size);
    works(b, world, size);

    /* The same tag in two communicators: each message arrives in its own. */
    int to = (rank + 1) % size, from = (rank + size - 1) % size, x = -1, y = -1, one = 1, two = 2;
    MPI_Request r[4];
    OK(MPI_Irecv(&x, 1, MPI_INT, from, 0, a, &r[0]));
    OK(MPI_Irecv(&y, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, b, &r[1]));
    OK(MPI_Isend(&two, 1, MPI_INT, to, 0, b, &r[2]));
    OK(MPI_Isend(&one, 1, MPI_INT, to, 0, a, &r[3]));
    OK(MPI_Waitall(4, r, MPI_STATUSES_IGNORE));
    CHECK(x == 1 && y == 2);
    OK(MPI_Comm_free(&a));
    OK(MPI_Comm_free(&b));
    CHECK(a == MPI_COMM_NULL && b == MPI_COMM_NULL);

    /* Ids are used again. */
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 20; i++)
            OK(MPI_Comm_dup(MPI_COMM_WORLD, &c[i]));
        works(c[round % 20], world, size);
        for (int i = 0; i < 20; i++)
            OK(MPI_Comm_free(&c[(i + round) % 20]));
    }
}

static void nonblocking_dups(const int *world)
{
    /* Started in different orders at odd and even processes, on different communicators. */
    MPI_Comm parents[3], made[3];
    MPI_Request requests[3];
    for (int i = 0; i < 3; i++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]));
    for (int i = 0; i < 3; i++) {
        int at = rank % 2 ? 2 - i : i;
        OK(MPI_Comm_idup(parents[at], &made[at], &requests[at]));
    }
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 3; i++)
        works(made[i], world, size);
    /* A blocking one, on a further communicator, while one is pending that not all have begun. */
    MPI_Comm third, fourth;
    MPI_Request pending;
    if (rank % 2 == 0)
        OK(MPI_Comm_idup(parents[0], &third, &pending));
    OK(MPI_Comm_dup(parents[1], &fourth));
    if (rank % 2 != 0)
        OK(MPI_Comm_idup(parents[0], &third, &pending));
    OK(MPI_Wait(&pending, MPI_STATUS_IGNORE));
    works(third, world, size);
    works(fourth, world, size);
    OK(MPI_Comm_free(&third));
    OK(MPI_Comm_free(&fourth));
    for (int i = 0; i < 3; i++) {
        OK(MPI_Comm_free(&parents[i]));
        OK(MPI_Comm_free(&made[i]));
    }
    /* Several of one communicator, and a parent freed before its child is complete. */
    MPI_Comm parent, children[4];
    MPI_Request waits[4];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    for (int i = 0; i < 4; i++)
        OK(MPI_Comm_idup_with_info(parent, MPI_INFO_NULL, &children[i], &waits[i]));
    OK(MPI_Comm_free(&parent));
    OK(MPI_Waitall(4, waits, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 4; i++) {
        works(children[i], world, size);
        OK(MPI_Comm_free(&children[i]));
    }
}

static void splits(const int *world)
{
    MPI_Comm part;
    int members[64], n = 0;
    /* Two colors, order reversed by the key. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part));
    for (int r = size - 1; r >= 0; r--)
        if (r % 2 == rank % 2)
            members[n++] = r;
    works(part, members, n);
    OK(MPI_Comm_free(&part));
    /* Equal keys keep the order; rank 0 takes no part. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 5, 1, &part));
    CHECK((part == MPI_COMM_NULL) == (rank == 0));
    if (part != MPI_COMM_NULL) {
        works(part, world + 1, size - 1);
        OK(MPI_Comm_free(&part));
    }
    FAILS(MPI_ERR_ARG, MPI_Comm_split(MPI_COMM_SELF, -5, 0, &part));

    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
    /* With several nodes: comm_nodes. */
    int here;
    MPI_Comm_size(part, &here);
    if (here == size) works(part, world, size);
    OK(MPI_Comm_free(&part));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part));
    CHECK(part == MPI_COMM_NULL);
    MPI_Info info, used;
    char value[8];
    int length = sizeof value, found;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_exact_length", "true"));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, info, &part));
    OK(MPI_Comm_get_info(part, &used));
    OK(MPI_Info_get_string(used, "mpi_assert_exact_length", &length, value, &found));
    CHECK(found && strcmp(value, "true") == 0);
    OK(MPI_Info_free(&used));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_free(&part));
    FAILS(MPI_ERR_ARG, MPI_Comm_split_type(MPI_COMM_SELF, 12345, 0, MPI_INFO_NULL, &part));
}

static void groups(const int *world)
{
    MPI_Group all, part, rest;
    MPI_Comm comm;
    int range[1][3] = {{0, size - 1, 2}}, members[64], n = 0;
    for (int r = rank % 2; r < size; r += 2)
        members[n++] = r;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    OK(MPI_Group_range_incl(all, 1, range, &part));
    OK(MPI_Group_difference(all, part, &rest));

    OK(MPI_Comm_create(MPI_COMM_WORLD, part, &comm));
    CHECK((comm == MPI_COMM_NULL) == (rank % 2 != 0));
    if (comm != MPI_COMM_NULL) {
        works(comm, members, n);
        OK(MPI_Comm_free(&comm));
    }
    /* Disjoint groups in one call. */
    OK(MPI_Comm_create(MPI_COMM_WORLD, rank % 2 ? rest : part, &comm));
    works(comm, members, n);
    OK(MPI_Comm_free(&comm));
    /* Only the members call; both groups at once, with the same tag. */
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, rank % 2 ? rest : part, 7, &comm));
    works(comm, members, n);
    OK(MPI_Comm_free(&comm));
    if (rank % 2 == 0) {
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, part, 7, &comm));
        works(comm, members, n);
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Comm_create_from_group(all, "org.tern.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    works(comm, world, size);
    OK(MPI_Comm_disconnect(&comm));
    CHECK(comm == MPI_COMM_NULL);
    if (size > 1)
        FAILS(MPI_ERR_GROUP, MPI_Comm_create(MPI_COMM_SELF, all, &comm));
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&part));
    OK(MPI_Group_free(&rest));
}

static void names_and_hints(void)
{
    MPI_Comm comm;
    MPI_Info info, used;
    char name[MPI_MAX_OBJECT_NAME], value[16];
    int length, flag;
    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_get_name(comm, name, &length));
    CHECK(length == 0 && name[0] == 0);
    OK(MPI_Comm_set_name(comm, "a name"));
    OK(MPI_Comm_get_name(comm, name, &length));
    CHECK(strcmp(name, "a name") == 0 && length == 6);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
    CHECK(strcmp(name, "MPI_COMM_NULL") == 0);

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_get_info(comm, &used));
    length = sizeof value;
    OK(MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, value, &flag));
    CHECK(flag && strcmp(value, "true") == 0);
    OK(MPI_Info_free(&used));
    OK(MPI_Comm_free(&comm));
}

static void errors(void)
{
    MPI_Comm comm = MPI_COMM_WORLD, stale;
    FAILS(MPI_ERR_COMM, MPI_Comm_free(&comm));
    CHECK(comm == MPI_COMM_WORLD);
    FAILS(MPI_ERR_COMM, MPI_Comm_dup(MPI_COMM_NULL, &comm));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    stale = comm;
    OK(MPI_Comm_free(&comm));
    int n;
    FAILS(MPI_ERR_COMM, MPI_Comm_size(stale, &n));
    FAILS(MPI_ERR_COMM, MPI_Comm_remote_size(MPI_COMM_WORLD, &n));
    OK(MPI_Comm_test_inter(MPI_COMM_WORLD, &n));
    CHECK(n == 0);
    OK(MPI_Comm_get_parent(&comm));
    CHECK(comm == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int world[64];
    for (int i = 0; i < size; i++)
        world[i] = i;
    works(MPI_COMM_WORLD, world, size);
    works(MPI_COMM_SELF, &rank, 1);
    dups(world);
    nonblocking_dups(world);
    splits(world);
    groups(world);
    names_and_hints();
    errors();
    return finish();
}
