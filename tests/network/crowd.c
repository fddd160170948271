// The last rank waits for a message from anybody of more ranks than it would call at once. Those that send it one cannot call it; the other
// ranks have come to the end. Usage: crowd WAY, which is "call", or "look" for a receiver that sleeps in no call: rank 1 sends alone.
// With "turnsN" three ranks send, whom the receiver calls early and late: it waits in another way for each message, the Nth way first, and gives up
// receives between.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { TAG, NEVER };

/* On hosts that cannot call the last rank. It calls all, evenly over a time: these at the begin, after a third and after more than half of it. */
static const int senders[] = {1, 20, 40};
enum { SENDERS = sizeof senders / sizeof *senders };

/* The last rank has called nobody yet, or has called some, when this one is posted: nobody sends for it. */
static void give_up(MPI_Comm comm)
{
    int value, flag = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, NEVER, comm, &request);
    for (int look = 0; look < 100; look++)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    if (!flag)
        printf("a receive for nobody was not cancelled\n");
}

/* One message from anybody, waited for in that way. Returns its sender, or -1 if it is another value than that one's. */
static int receive(int way, MPI_Comm comm)
{
    int value = 0, flag = 0;
    MPI_Status status, probed;
    MPI_Request request;
    if (way == 0) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &status);
    } else if (way == 1) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &probed);
        MPI_Recv(&value, 1, MPI_INT, probed.MPI_SOURCE, probed.MPI_TAG, comm, &status);
    } else if (way == 2) {
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &request);
        while (!flag)
            MPI_Test(&request, &flag, &status);
    } else {
        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, TAG, comm, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &status);
    }
    return value == 7 * status.MPI_SOURCE ? status.MPI_SOURCE : -1;
}

/* Each sender sends twice: what comes again needs no call any more. The ways are shifted by `first`. */
static void all_turns(int last, int first, MPI_Comm comm)
{
    int heard[SENDERS] = {0}, others = 0;
    for (int turn = 0; turn < 2 * SENDERS; turn++) {
        give_up(comm);
        const int from = receive((turn + first) % 4, comm);
        int at = 0;
        while (at < SENDERS && senders[at] != from)
            at++;
        at < SENDERS ? heard[at]++ : others++;
    }
    printf("the last of %d ranks: heard %d, %d and %d, and %d others\n", last + 1, heard[0], heard[1], heard[2], others);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rank, size, turns = argc > 1 && strncmp(argv[1], "turns", 5) == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int value = 7 * rank;
    if (rank == size - 1 && turns) {
        all_turns(rank, argv[1][5] - '0', MPI_COMM_WORLD);
    } else if (rank == size - 1) {
        printf("the last of %d ranks: got %d\n", size, 7 * receive(strcmp(argv[1], "look") == 0 ? 3 : 0, MPI_COMM_WORLD));
        fflush(stdout);
    }
    for (int at = 0; at < (turns ? SENDERS : 1); at++)
        for (int times = 0; rank == senders[at] && times < (turns ? 2 : 1); times++)
            MPI_Send(&value, 1, MPI_INT, size - 1, TAG, MPI_COMM_WORLD);
    return MPI_Finalize();
}
