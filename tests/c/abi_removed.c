// ranks: 1
// Functions that MPI-3.0 removed and old programs use still. The header makes them of those that took their place.
#include "check.h"
#include <stddef.h>

static int errors;

static void count_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    errors++;
}

struct part { char kind; double value; int more[3]; };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);

    /* A structure sent to itself, its places found as old programs do. */
    struct part out = { 'x', 2.5, { 1, 2, 3 } }, in = { 0 };
    int lengths[3] = { 1, 1, 3 };
    MPI_Datatype types[3] = { MPI_CHAR, MPI_DOUBLE, MPI_INT }, type;
    MPI_Aint base, places[3], lb, ub, extent;
    OK(MPI_Address(&out, &base));
    OK(MPI_Address(&out.kind, &places[0]));
    OK(MPI_Address(&out.value, &places[1]));
    OK(MPI_Address(&out.more, &places[2]));
    for (int i = 0; i < 3; i++)
        places[i] -= base;
    OK(MPI_Type_struct(3, lengths, places, types, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_lb(type, &lb));
    OK(MPI_Type_ub(type, &ub));
    OK(MPI_Type_extent(type, &extent));
    CHECK(lb == 0 && ub == sizeof(struct part) && extent == ub, "%ld to %ld", (long)lb, (long)ub);
    OK(MPI_Sendrecv(&out, 1, type, 0, 1, &in, 1, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(in.kind == 'x' && in.value == 2.5 && in.more[2] == 3, "%c %g %d", in.kind, in.value, in.more[2]);
    OK(MPI_Type_free(&type));

    /* A place before the address: the upper bound is not the extent. */
    MPI_Aint before[1] = { -8 };
    int one[1] = { 1 };
    OK(MPI_Type_hindexed(1, one, before, MPI_INT, &type));
    OK(MPI_Type_lb(type, &lb));
    OK(MPI_Type_ub(type, &ub));
    CHECK(lb == -8 && ub == -4, "%ld to %ld", (long)lb, (long)ub);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_hvector(3, 1, 12, MPI_INT, &type));
    OK(MPI_Type_extent(type, &extent));
    CHECK(extent == 28, "%ld", (long)extent);
    OK(MPI_Type_free(&type));

    MPI_Errhandler handler, now;
    OK(MPI_Errhandler_create(count_error, &handler));
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, handler));
    OK(MPI_Errhandler_get(MPI_COMM_WORLD, &now));
    CHECK(now == handler);
    MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    CHECK(errors == 1, "%d", errors);
    OK(MPI_Errhandler_free(&now));
    OK(MPI_Errhandler_free(&handler));
    return finish();
}
