// ranks: 2
// nodes: 1
// mpiexec: -x TERN_PROMOTE=always
// timeout: 120
// A receive lies in private memory, but for its last page: there a buffer begins that is shared in place. A fork replaces
// that page while the message comes, of which nothing is lost.
#include "fork.h"
#include "mapping.h"
#include <malloc.h>

enum { SHORT = 20000, LONG = 16 << 20, ROUNDS = 40 };

static char *before, *large;

/* The large buffer is shared in place after this. */
static void use(void)
{
    for (int i = 0; i < 2; i++)
        if (rank == 1)
            OK(MPI_Send(large, LONG, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
        else
            OK(MPI_Recv(large, LONG, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* True when the message has come whole. */
static int receive(int value)
{
    MPI_Request open;
    int wrong = 0;
    memset(before, 0, SHORT);
    OK(MPI_Irecv(before, SHORT, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &open));
    OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD));
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    OK(MPI_Wait(&open, MPI_STATUS_IGNORE));
    for (int i = 0; i < SHORT; i++)
        wrong += before[i] != value;
    ends_well(child);
    return wrong == 0;
}

/* Sends some time after the receive was opened: the copy of the large buffer takes a few milliseconds. */
static void send(int value)
{
    memset(before, value, SHORT);
    OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    double until = MPI_Wtime() + value % 20 * 0.5e-3;
    while (MPI_Wtime() < until)
        continue;
    OK(MPI_Send(before, SHORT, MPI_BYTE, 1, 2, MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    /* All of it in malloc's heap, the one buffer behind the other. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    begin(&argc, &argv);
    before = malloc(SHORT);
    large = malloc(LONG);
    memset(before, 0, SHORT);
    memset(large, 1, LONG);
    int shared = 0, lost = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        use();
        if (rank == 0) {
            send(round);
        } else {
            shared += is_shared(before + SHORT - 1) && !is_shared(before);
            lost += !receive(round);
        }
    }
    if (rank == 1 && shared == 0)
        printf("SKIP: memory is not shared in place here\n");
    CHECK(lost == 0, "%d messages of %d", lost, ROUNDS);
    free(large);
    free(before);
    return finish();
}
