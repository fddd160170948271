// ranks: 2 3
// nodes: 1
// timeout: 60
// mpiexec: -x TERN_COLL=bcast=region,gather=region,scatter=region,allgather=region,alltoall=region,alltoallv=region
// Collectives by regions of which two members do not agree about a length, so that one of them counts on a message and the other one on a
// region: nobody waits for ever, and who has less room than is sent gets an error. In all forms, and the next calls go on.
#include "check.h"
#include <stdlib.h>

enum { MOST = 80 << 10, BLOCKS = 4 };
static char from[BLOCKS * MOST], to[BLOCKS * MOST];
static int given[BLOCKS], taken[BLOCKS], displs[BLOCKS];
static MPI_Datatype types[BLOCKS];

/* Ends a call of one of three forms: blocking, nonblocking, persistent (two rounds). Gives the class of its error. */
static int ended(int form, int code, MPI_Request *request)
{
    int class = MPI_SUCCESS;
    if (code == MPI_SUCCESS && form == 1) code = MPI_Wait(request, MPI_STATUS_IGNORE);
    if (form == 2) {
        CHECK(code == MPI_SUCCESS, "a persistent call is not made: code %d", code);
        for (int round = 0; round < 2; round++) {
            int one = MPI_Start(request);
            if (one == MPI_SUCCESS) one = MPI_Wait(request, MPI_STATUS_IGNORE);
            if (one != MPI_SUCCESS) code = one;
        }
        OK(MPI_Request_free(request));
    }
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return class;
}

#define FORMS(form, request, Name, name, ...) \
    ended(form, form == 0 ? MPI_##Name(__VA_ARGS__) : form == 1 ? MPI_I##name(__VA_ARGS__, request) \
                          : MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request), request)

/* Member 0 gives member 1 `give` bytes, which takes `take`; in a gather member 1 gives them to member 0. */
static void call(MPI_Comm comm, int way, int form, int give, int take)
{
    int me = rank, other = 1 - rank, class, giver = way == 2;
    MPI_Request request = MPI_REQUEST_NULL;
    for (int at = 0; at < size; at++) given[at] = taken[at] = 100;
    if (me == giver) given[other] = give;
    if (me == 1 - giver) taken[other] = take;
    switch (way) {
    case 0: class = FORMS(form, &request, Bcast, bcast, to, me == 1 ? take : give, MPI_BYTE, 0, comm); break;
    case 1:
        class = FORMS(form, &request, Scatterv, scatterv, from, given, displs, MPI_BYTE, to, me == 1 ? take : 100, MPI_BYTE, 0, comm);
        break;
    case 2:
        class = FORMS(form, &request, Gatherv, gatherv, from, me == 1 ? give : 100, MPI_BYTE, to, taken, displs, MPI_BYTE, 0, comm);
        break;
    case 3:
        taken[0] = me == 1 ? take : give;
        class = FORMS(form, &request, Allgatherv, allgatherv, from, taken[me], MPI_BYTE, to, taken, displs, MPI_BYTE, comm);
        break;
    case 4:
        class = FORMS(form, &request, Alltoallv, alltoallv, from, given, displs, MPI_BYTE, to, taken, displs, MPI_BYTE, comm);
        break;
    default:
        class = FORMS(form, &request, Alltoallw, alltoallw, from, given, displs, types, to, taken, displs, types, comm);
    }
    int takes = me == 1 - giver, less = takes && take < give, more = takes && take > give;
    CHECK(less ? class != MPI_SUCCESS : more || class == MPI_SUCCESS, "way %d, form %d, %d for %d bytes: class %d", way, form, give, take, class);
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE, "way %d, form %d, %d for %d bytes: class %d", way, form, give, take, class);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {10 << 10, 20 << 10, 56, 70 << 10};
    MPI_Comm comm;
    begin(&argc, &argv);
    if (!strict() || getenv("TERN_CHECK") != NULL) {
        if (rank == 0) printf("skipped: members that disagree wait here, or are told by other means\n");
        return finish();
    }
    for (int at = 0; at < BLOCKS; at++) displs[at] = at * MOST, types[at] = MPI_BYTE;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int way = 0; way < 6; way++)
        for (int form = way == 0 ? 1 : 0; form < 3; form++)
            for (int at = 0; at < 16; at++) {
                int one = 1, sum = 0;
                call(comm, way, form, lengths[at / 4], lengths[at % 4]);
                OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
                CHECK(sum == size, "after way %d, form %d: %d", way, form, sum);
            }
    OK(MPI_Comm_free(&comm));
    return finish();
}
