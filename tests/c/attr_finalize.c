// MPI_Finalize deletes the attributes of MPI_COMM_SELF first, the last one set before the others,
// while MPI still works.
// ranks: 1 2
// expect-output: deleted 3 2 1 while up
#include "check.h"

static char order[16];

static int delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)keyval, (void)extra;
    int finalized = 1, n = 0;
    MPI_Finalized(&finalized);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    sprintf(order + strlen(order), " %ld", (long)value);
    if (strlen(order) == 6 && !finalized && n == size && comm == MPI_COMM_SELF)
        printf("deleted%s while up\n", order), fflush(stdout);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (long i = 1; i <= 3; i++) {
        int key;
        OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &key, NULL));
        OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)i));
        OK(MPI_Comm_free_keyval(&key));
    }
    return finish();
}
