// Groups: set operations, ranges, translation of ranks, errors.
// ranks: 1 2 4
#include "check.h"

static int compare(MPI_Group a, MPI_Group b)
{
    int result = -1;
    OK(MPI_Group_compare(a, b, &result));
    return result;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Group world, even, odd, joined, other, none, reversed;
    int n, own, flag;

    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_size(world, &n));
    OK(MPI_Group_rank(world, &own));
    CHECK(n == size && own == rank);

    int range[1][3] = {{0, size - 1, 2}};
    OK(MPI_Group_range_incl(world, 1, range, &even));
    OK(MPI_Group_range_excl(world, 1, range, &odd));
    OK(MPI_Group_size(even, &n));
    CHECK(n == (size + 1) / 2);
    OK(MPI_Group_rank(even, &own));
    CHECK(own == (rank % 2 == 0 ? rank / 2 : MPI_UNDEFINED));
    OK(MPI_Group_union(even, odd, &joined));
    CHECK(compare(joined, world) == (size <= 2 ? MPI_IDENT : MPI_SIMILAR));
    OK(MPI_Group_intersection(even, odd, &none));
    CHECK(none == MPI_GROUP_EMPTY);
    OK(MPI_Group_difference(world, odd, &other));
    CHECK(compare(other, even) == MPI_IDENT);
    CHECK(compare(even, odd) == MPI_UNEQUAL);

    int backwards[1][3] = {{size - 1, 0, -1}};
    OK(MPI_Group_range_incl(world, 1, backwards, &reversed));
    CHECK(compare(reversed, world) == (size == 1 ? MPI_IDENT : MPI_SIMILAR));
    int ranks[3] = {0, MPI_PROC_NULL, size - 1}, there[3] = {-9, -9, -9};
    OK(MPI_Group_translate_ranks(world, 3, ranks, reversed, there));
    CHECK(there[0] == size - 1 && there[1] == MPI_PROC_NULL && there[2] == 0);
    OK(MPI_Group_translate_ranks(world, 1, ranks, odd, there));
    CHECK(there[0] == MPI_UNDEFINED);

    MPI_Group group;
    int bad[2] = {0, size}, twice[2] = {0, 0}, zero[1][3] = {{0, 0, 0}};
    FAILS(MPI_ERR_RANK, MPI_Group_incl(world, 2, bad, &group));
    FAILS(MPI_ERR_RANK, MPI_Group_excl(world, 2, bad, &group));
    FAILS(MPI_ERR_RANK, MPI_Group_incl(world, 2, twice, &group));
    FAILS(MPI_ERR_ARG, MPI_Group_incl(world, -1, bad, &group));
    FAILS(MPI_ERR_ARG, MPI_Group_range_incl(world, 1, zero, &group));
    /* Ranges: strides of the wrong sign, ranks that do not exist or come twice. */
    int away[2][3] = {{0, 1, -1}, {1, 0, 1}}, far[1][3] = {{0, size, 1}}, below[1][3] = {{-1, 0, 1}};
    int again[2][3] = {{0, 0, 1}, {0, 0, -1}}, beyond[1][3] = {{0, size, size + 1}};
    for (int i = 0; i < 2; i++) {
        FAILS(MPI_ERR_ARG, MPI_Group_range_incl(world, 1, &away[i], &group));
        FAILS(MPI_ERR_ARG, MPI_Group_range_excl(world, 1, &away[i], &group));
    }
    FAILS(MPI_ERR_ARG, MPI_Group_range_excl(world, 1, zero, &group));
    FAILS(MPI_ERR_ARG, MPI_Group_range_incl(world, -1, far, &group));
    FAILS(MPI_ERR_ARG, MPI_Group_range_excl(world, -1, far, &group));
    FAILS(MPI_ERR_RANK, MPI_Group_range_incl(world, 1, far, &group));
    FAILS(MPI_ERR_RANK, MPI_Group_range_excl(world, 1, far, &group));
    FAILS(MPI_ERR_RANK, MPI_Group_range_incl(world, 1, below, &group));
    FAILS(MPI_ERR_RANK, MPI_Group_range_incl(world, 2, again, &group));
    FAILS(MPI_ERR_RANK, MPI_Group_range_excl(world, 2, again, &group));
    FAILS(MPI_ERR_RANK, MPI_Group_excl(world, 2, twice, &group));
    FAILS(MPI_ERR_ARG, MPI_Group_excl(world, -1, bad, &group));
    FAILS(MPI_ERR_ARG, MPI_Group_incl(world, 1, NULL, &group));
    FAILS(MPI_ERR_ARG, MPI_Group_range_incl(world, 1, NULL, &group));
    FAILS(MPI_ERR_ARG, MPI_Group_translate_ranks(world, -1, bad, odd, there));
    FAILS(MPI_ERR_RANK, MPI_Group_translate_ranks(world, 1, (int[]){MPI_ANY_SOURCE}, odd, there));
    OK(MPI_Group_range_incl(world, 0, NULL, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    /* The last rank of a range need not be reached. */
    OK(MPI_Group_range_incl(world, 1, beyond, &group));
    OK(MPI_Group_size(group, &n));
    CHECK(n == 1, "%d", n);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_range_excl(world, 0, NULL, &group));
    CHECK(compare(group, world) == MPI_IDENT);
    OK(MPI_Group_free(&group));
    FAILS(MPI_ERR_RANK, MPI_Group_translate_ranks(world, 2, bad, odd, there));
    FAILS(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &n));
    OK(MPI_Group_incl(world, 0, NULL, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    OK(MPI_Group_size(MPI_GROUP_EMPTY, &n));
    CHECK(n == 0);
    OK(MPI_Group_rank(MPI_GROUP_EMPTY, &flag));
    CHECK(flag == MPI_UNDEFINED);

    MPI_Group *all[] = {&world, &even, &odd, &joined, &other, &reversed};
    for (int i = 0; i < 6; i++) {
        OK(MPI_Group_free(all[i]));
        CHECK(*all[i] == MPI_GROUP_NULL);
    }
    FAILS(MPI_ERR_GROUP, MPI_Group_free(&world));
    return finish();
}
