// ranks: 2 3 5
// mpiexec: -x TERN_COLL=barrier=dissemination,bcast=chain,allreduce=ring,gather=linear,allgather=ring -x TERN_EXPLAIN=1 -x TERN_COSTS=default
// expect-output: ^  bcast .*(forced)$
// An algorithm of messages that is asked for is taken, though control lines would serve; others are not concerned.
#include "check.h"
#include "counter.h"

static MPI_T_pvar_handle messages;

static void goes_by_messages(const char *name, long before, int wanted)
{
    long calls = (long)counted(messages) - before;
    CHECK(calls == wanted, "%s: %ld by messages", name, calls);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    messages = counter("collective_messages");
    int all[8] = {0}, one = rank + 1;

    long before = (long)counted(messages);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    goes_by_messages("barrier", before, 1);

    before = (long)counted(messages);
    OK(MPI_Bcast(&one, 1, MPI_INT, size - 1, MPI_COMM_WORLD));
    CHECK(one == size, "%d", one);
    goes_by_messages("bcast", before, 1);

    before = (long)counted(messages);
    one = rank + 1;
    OK(MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(one == size * (size + 1) / 2, "%d", one);
    goes_by_messages("allreduce", before, 1);

    before = (long)counted(messages);
    OK(MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD));
    goes_by_messages("gather", before, 1);
    OK(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++) CHECK(all[i] == i, "%d: %d", i, all[i]);
    goes_by_messages("gather and allgather", before, 2);

    MPI_Comm node;
    int together;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &together));
    OK(MPI_Comm_free(&node));
    before = (long)counted(messages);
    OK(MPI_Scan(&rank, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(one == rank * (rank + 1) / 2, "%d", one);
    goes_by_messages("scan", before, together < size);

    /* A persistent one has no lines of its own then. */
    MPI_Request request;
    OK(MPI_Allreduce_init(&rank, &one, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    for (int round = 0; round < 3; round++) {
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(one == size - 1, "%d", one);
    }
    OK(MPI_Request_free(&request));
    end_counting();
    return finish();
}
