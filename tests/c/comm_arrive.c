// ranks: 2 4
// Communicators that are made while another agreement of the same process is under way, and so many that what is in use
// does not fit into a few bytes.
#include "check.h"

enum { MANY = 1500 };

/* Every pair of neighbours exchanges a number that only this communicator has. */
static void use(MPI_Comm comm, int number)
{
    int at, members, got = -1, sum = -1;
    MPI_Comm_rank(comm, &at);
    MPI_Comm_size(comm, &members);
    int mine = 100 * number + at, before = (at + members - 1) % members;
    OK(MPI_Sendrecv(&mine, 1, MPI_INT, (at + 1) % members, 3, &got, 1, MPI_INT, before, 3, comm, MPI_STATUS_IGNORE));
    CHECK(got == 100 * number + before, "%d", got);
    OK(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == number * members, "%d", sum);
}

/* Rank 0 goes into a blocking call while its copy of another communicator is being made; the others want that copy first. */
static void beside_a_copy(void)
{
    MPI_Comm other, copy, made;
    MPI_Request request;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    for (int round = 0; round < 50; round++) {
        if (rank == 0) {
            OK(MPI_Comm_idup(other, &copy, &request));
            OK(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Comm_idup(other, &copy, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            OK(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made));
        }
        use(copy, 2 * round);
        use(made, 2 * round + 1);
        OK(MPI_Comm_free(&copy));
        OK(MPI_Comm_free(&made));
    }
    OK(MPI_Comm_free(&other));
}

/* Different processes have different communicators in use when they agree on one. */
static void uneven(void)
{
    static MPI_Comm kept[MANY];
    int count = 0;
    for (int i = 0; i < MANY; i++) {
        MPI_Comm made;
        int color = i % 3 == rank % 3 ? 1 : MPI_UNDEFINED;
        OK(MPI_Comm_split(MPI_COMM_WORLD, color, -rank, &made));
        CHECK((made == MPI_COMM_NULL) == (color == MPI_UNDEFINED));
        if (made != MPI_COMM_NULL)
            kept[count++] = made;
        if (i % 100 == 99) {
            MPI_Comm all;
            OK(MPI_Comm_dup(MPI_COMM_WORLD, &all));
            use(all, i);
            OK(MPI_Comm_free(&all));
        }
    }
    for (int i = 0; i < count; i++) {
        use(kept[i], i);
        OK(MPI_Comm_free(&kept[i]));
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    beside_a_copy();
    for (int i = 0; i < 3; i++)
        uneven();
    return finish();
}
