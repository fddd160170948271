// ranks: 2 3 5
// nodes: 1
// timeout: 120
// Collectives that may go by regions, at random: communicators, roots, types that differ between the members, lengths, in place or not,
// against what the standard says. REGIONS says what must have become of them: `all`: wherever the root's memory is in one piece, each
// byte copied once; `none`; or nothing is expected. REFUSED: the kernel copies for nobody (`all`), not for odd ranks (`odd`), or for
// odd ranks from the middle on (`late`).
#include "counter.h"
#include "sides.h"

enum { ROUNDS = 100 };

static void broadcast(MPI_Comm comm, int me, int root, int layout, int n, int round)
{
    Side side = make(layout, n, 1);
    if (me == root) fill(&side, 0, round, root, n);
    OK(MPI_Bcast(side.memory, side.count, side.type, root, comm));
    take(&side, 0, round, root, n);
    untouched(&side, 1);
    end(&side);
}

static void gather(MPI_Comm comm, int me, int members, int root, int own, int all, int n, int in_place, int round)
{
    Side send = make(own, n, 1), recv = make(all, n, members);
    in_place = in_place && me == root;
    fill(&send, 0, round, me, n);
    if (in_place) fill(&recv, me, round, me, n);
    OK(MPI_Gather(in_place ? MPI_IN_PLACE : send.memory, send.count, send.type, recv.memory, recv.count, recv.type, root, comm));
    for (int from = 0; from < members && me == root; from++)
        take(&recv, from, round, from, n);
    untouched(&recv, members);
    take(&send, 0, round, me, n);
    end(&send);
    end(&recv);
}

static void scatter(MPI_Comm comm, int me, int members, int root, int own, int all, int n, int in_place, int round)
{
    Side send = make(all, n, members), recv = make(own, n, 1);
    in_place = in_place && me == root;
    for (int to = 0; to < members && me == root; to++)
        fill(&send, to, round, to, n);
    OK(MPI_Scatter(send.memory, send.count, send.type, in_place ? MPI_IN_PLACE : recv.memory, recv.count, recv.type, root, comm));
    if (!in_place) take(&recv, 0, round, me, n);
    untouched(&recv, 1);
    for (int to = 0; to < members && me == root; to++)
        take(&send, to, round, to, n);
    end(&send);
    end(&recv);
}

static void allgather(MPI_Comm comm, int me, int members, int own, int all, int n, int in_place, int round)
{
    Side send = make(own, n, 1), recv = make(all, n, members);
    fill(&send, 0, round, me, n);
    if (in_place) fill(&recv, me, round, me, n);
    OK(MPI_Allgather(in_place ? MPI_IN_PLACE : send.memory, send.count, send.type, recv.memory, recv.count, recv.type, comm));
    for (int from = 0; from < members; from++)
        take(&recv, from, round, from, n);
    untouched(&recv, members);
    take(&send, 0, round, me, n);
    end(&send);
    end(&recv);
}

static void alltoall(MPI_Comm comm, int me, int members, int own, int all, int n, int in_place, int round)
{
    Side send = make(own, n, members), recv = make(all, n, members);
    for (int to = 0; to < members; to++)
        fill(in_place ? &recv : &send, to, round, me * members + to, n);
    OK(MPI_Alltoall(in_place ? MPI_IN_PLACE : send.memory, send.count, send.type, recv.memory, recv.count, recv.type, comm));
    for (int from = 0; from < members; from++) {
        take(&recv, from, round, from * members + me, n);
        if (!in_place) take(&send, from, round, me * members + from, n);
    }
    untouched(&recv, members);
    end(&send);
    end(&recv);
}

/* What the members add up. */
static int addend(int round, int member, size_t at)
{
    return (int)((round * 31u + (unsigned)member * 1009u + at) & 0xffffu);
}

/* Of all elements to all, or of a block to each. */
static void reduce(MPI_Comm comm, int me, int members, int scatters, int n, int in_place, int round)
{
    size_t all = (size_t)n * (size_t)(scatters ? members : 1), first = scatters ? (size_t)me * (size_t)n : 0;
    int *in = malloc(all * sizeof(int)), *out = malloc(all * sizeof(int));
    long bad = 0;
    for (size_t at = 0; at < all; at++)
        (in_place ? out : in)[at] = addend(round, me, at);
    if (scatters) OK(MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_SUM, comm));
    else OK(MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_SUM, comm));
    for (size_t at = 0; at < (size_t)n; at++) {
        int sum = 0;
        for (int from = 0; from < members; from++)
            sum += addend(round, from, first + at);
        bad += out[at] != sum;
    }
    CHECK(bad == 0, "round %d: %ld of %d sums are wrong", round, bad, n);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    const char *refused = getenv("REFUSED"), *regions = getenv("REGIONS");
    const char *self = getenv("TERN_RANK");
    int odd = self != NULL && atoi(self) % 2 == 1;
    int can = 1;
    if (refused != NULL && (strcmp(refused, "all") == 0 || (strcmp(refused, "odd") == 0 && odd))) can = refuse_all();
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(refused == NULL || self != NULL, "the launcher does not tell the rank");
    if (!can) {
        printf("skipped: a process may not refuse itself system calls here\n");
        return MPI_Finalize();
    }
    MPI_Comm comms[3];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank * 2 / size, 0, &comms[2]));
    MPI_T_pvar_handle calls = counter("collective_regions"), in_place_calls = counter("collective_shared"), moved = counter_of("region_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
    number expected = 0, bytes = 0, other_bytes = 0, all_to_all = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS / 2 && refused != NULL && strcmp(refused, "late") == 0 && odd) CHECK(refuse_all());
        MPI_Comm comm = comms[random_below(3)];
        int operation = (int)random_below(7), blocks = 1 << random_below(7), in_place = random_below(3) == 0;
        unsigned at = random_below(1000), all = random_below(LAYOUTS), others[8];
        /* Of 4 KiB to 4 MiB, seldom more than 1. */
        int n = 512 * (2 * blocks + (random_below(20) == 0 ? 3 * 512 : (int)random_below(9)));
        if (random_below(2) == 0) all = DENSE;
        for (int of = 0; of < 8; of++)
            others[of] = random_below(LAYOUTS);
        int me, members;
        OK(MPI_Comm_rank(comm, &me));
        OK(MPI_Comm_size(comm, &members));
        int root = (int)(at % (unsigned)members), own = (int)others[me % 8];
        number before = counted(moved);
        if (operation == 0) broadcast(comm, me, root, me == root ? (int)all : own, n, round);
        if (operation == 1) gather(comm, me, members, root, own, (int)all, n, in_place, round);
        if (operation == 2) scatter(comm, me, members, root, own, (int)all, n, in_place, round);
        if (operation >= 3 && n > 128 << 10) n = 128 << 10;
        if (operation == 3) allgather(comm, me, members, own, (int)all, n, in_place, round);
        if (operation == 4) alltoall(comm, me, members, own, (int)all, n, in_place, round);
        if (operation >= 5) reduce(comm, me, members, operation == 6, n, in_place, round);
        if (operation >= 3) other_bytes += counted(moved) - before;
        size_t len = (size_t)n * sizeof(int), least = operation == 0 ? 32 << 10 : 16 << 10;
        int dense = 1;
        for (int of = 0; of < members; of++)
            dense &= others[of % 8] == DENSE;
        /* Not where what comes in would take the place of what others read. */
        if (members > 1 && operation == 3 && (in_place ? all == DENSE : dense)) all_to_all += len >= 16 << 10;
        if (members > 1 && operation == 4 && dense && !in_place) all_to_all += len >= 8 << 10;
        if (members > 1 && operation == 5 && !in_place) all_to_all += len >= (members == 2 ? 16 << 10 : 32 << 10);
        if (members > 1 && operation == 6 && !in_place) all_to_all += len >= 8 << 10;
        /* Memory in blocks is a region too, of 2 KiB as here. Two members leave shorter broadcasts to a schedule. */
        if (members > 1 && operation < 3 && all != SCATTERED) {
            expected += len >= least;
            bytes += me != root && len >= (members == 2 ? 16 << 10 : least) ? len : 0;
        }
    }
    if (regions != NULL && strcmp(regions, "all") == 0) {
        CHECK(expected > 0 && counted(calls) == expected, "%llu of %llu calls", counted(calls), expected);
        CHECK(counted(moved) - other_bytes == bytes, "%llu of %llu bytes", counted(moved) - other_bytes, bytes);
        CHECK(counted(in_place_calls) == all_to_all, "%llu of %llu calls in place", counted(in_place_calls), all_to_all);
    } else if (regions != NULL) {
        CHECK(counted(calls) == 0, "%llu calls", counted(calls));
        CHECK(counted(moved) == 0, "%llu bytes", counted(moved));
    }
    for (int at = 0; at < 3; at++)
        OK(MPI_Comm_free(&comms[at]));
    end_counting();
    return finish();
}
