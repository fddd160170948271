// MPI_Finalize while processes of another job are connected still: what was sent to them arrives, and they get
// answers.
// ranks: 1 2
#include "check.h"
#include <unistd.h>

enum { SHORT = 300, LONG = 1 << 20 };

static int words[SHORT], many[LONG];

/* Sends without anybody having asked for it yet, and ends. */
static void parent(char *program)
{
    MPI_Comm inter;
    MPI_Request request;
    OK(MPI_Comm_spawn(program, MPI_ARGV_NULL, size, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    for (int i = 0; i < SHORT; i++) {
        words[i] = 10 * i + rank;
        OK(MPI_Isend(&words[i], 1, MPI_INT, rank, 1, inter, &request));
        OK(MPI_Request_free(&request));
    }
    for (int i = 0; i < LONG; i++)
        many[i] = i ^ rank;
    OK(MPI_Isend(many, LONG, MPI_INT, rank, 2, inter, &request));
    OK(MPI_Request_free(&request));
}

static void child(MPI_Comm parents)
{
    int wrong = 0, word, cancelled = 0, sum = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Comm_set_errhandler(parents, MPI_ERRORS_RETURN);
    /* By now the parents are in MPI_Finalize, most likely. */
    usleep(200000);
    for (int i = 0; i < SHORT; i++) {
        OK(MPI_Recv(&word, 1, MPI_INT, rank, 1, parents, MPI_STATUS_IGNORE));
        CHECK(word == 10 * i + rank, "%d: %d", i, word);
    }
    OK(MPI_Recv(many, LONG, MPI_INT, rank, 2, parents, MPI_STATUS_IGNORE));
    for (int i = 0; i < LONG; i++)
        wrong += many[i] != (i ^ rank);
    CHECK(wrong == 0, "%d", wrong);
    /* Nobody receives this, and somebody has to say so. */
    OK(MPI_Issend(&word, 1, MPI_INT, rank, 3, parents, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size * (size - 1) / 2);
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    begin(&argc, &argv);
    OK(MPI_Comm_get_parent(&parents));
    if (parents == MPI_COMM_NULL)
        parent(argv[0]);
    else
        child(parents);
    return finish();
}
