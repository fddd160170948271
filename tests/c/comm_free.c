// Communicators are freed by each process in its own time: nobody waits for the others there, and no id is used again too
// early.
// ranks: 2 4
#include "check.h"

/* Whoever has freed a communicator still gets the message that it waits for there, and may let its sender go on only then. */
static void free_with_a_receive_open(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int value = 0, sent = 17;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (rank == 1) {
        OK(MPI_Irecv(&value, 1, MPI_INT, 0, 3, comm, &request));
        OK(MPI_Comm_free(&comm));
        CHECK(comm == MPI_COMM_NULL);
        OK(MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(value == sent);
        return;
    }
    if (rank == 0) {
        OK(MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Ssend(&sent, 1, MPI_INT, 1, 3, comm));
    }
    OK(MPI_Comm_free(&comm));
}

/* Each process frees them in an order of its own. */
static void free_in_any_order(void)
{
    MPI_Comm comms[8];
    for (int i = 0; i < 8; i++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < 8; i++)
        OK(MPI_Comm_free(&comms[(i * 3 + rank) % 8]));
}

/* Rank 0 is late in the last collective of one communicator, while the others have freed it and make the next ones. */
static void free_while_one_is_late(void)
{
    for (int round = 0; round < 60; round++) {
        MPI_Comm all, rest;
        int sum, value = round;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &all));
        OK(MPI_Bcast(&value, 1, MPI_INT, size - 1, all));
        CHECK(value == round);
        OK(MPI_Comm_free(&all));
        if (rank == 0)
            continue;
        MPI_Group world, group;
        const int first[1] = {0};
        OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
        OK(MPI_Group_excl(world, 1, first, &group));
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &rest));
        OK(MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, rest));
        CHECK(sum == round * (size - 1), "round %d: %d", round, sum);
        OK(MPI_Comm_free(&rest));
        OK(MPI_Group_free(&group));
        OK(MPI_Group_free(&world));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    free_with_a_receive_open();
    free_in_any_order();
    free_while_one_is_late();
    return finish();
}
