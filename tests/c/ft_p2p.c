// ranks: 2 4
// mpiexec: --with-ft
// timeout: 120
// Messages to and from a lost rank in all modes: sends, probes, exchanges, persistent requests and partitioned ones say that it is lost; what it
// had sent whole is received, and all works among the living.
#include "ft.h"

enum { LONG = 1 << 20, PARTS = 4 };

static char big[LONG], other[LONG];
static int left, right;

static void sends(void)
{
    MPI_Request request;
    int x = rank;
    NEEDS(MPI_Send(&x, 1, MPI_INT, victim(), 1, MPI_COMM_WORLD));
    NEEDS(MPI_Ssend(&x, 1, MPI_INT, victim(), 1, MPI_COMM_WORLD));
    NEEDS(MPI_Rsend(&x, 1, MPI_INT, victim(), 1, MPI_COMM_WORLD));
    NEEDS(MPI_Send(big, LONG, MPI_CHAR, victim(), 1, MPI_COMM_WORLD));
    int (*const starts[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = { MPI_Isend, MPI_Issend, MPI_Irsend };
    for (int i = 0; i < 3; i++) {
        WORKS(starts[i](big, i == 0 ? 4 : LONG, MPI_CHAR, victim(), 1, MPI_COMM_WORLD, &request));
        NEEDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL, "start %d", i);
    }
    /* A buffered send is over when the message is in the buffer. */
    static char room[LONG + MPI_BSEND_OVERHEAD + 64];
    void *back;
    int bytes;
    OK(MPI_Buffer_attach(room, sizeof room));
    MAY(MPI_Bsend(big, LONG / 2, MPI_CHAR, victim(), 1, MPI_COMM_WORLD));
    WORKS(MPI_Bsend(&x, 1, MPI_INT, right, 2, MPI_COMM_WORLD));
    WORKS(MPI_Recv(&x, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MAY(MPI_Buffer_detach(&back, &bytes));
}

static void exchanges(void)
{
    int x = rank, y = -1;
    MPI_Request request;
    NEEDS(MPI_Sendrecv(&x, 1, MPI_INT, victim(), 3, &y, 1, MPI_INT, victim(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    NEEDS(MPI_Sendrecv_replace(&y, 1, MPI_INT, victim(), 3, victim(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    NEEDS(MPI_Sendrecv(&x, 1, MPI_INT, right, 4, &y, 1, MPI_INT, victim(), 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    WORKS(MPI_Recv(&y, 1, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(y == left, "%d", y);
    WORKS(MPI_Send(&x, 1, MPI_INT, right, 5, MPI_COMM_WORLD));
    y = -1;
    NEEDS(MPI_Sendrecv(&x, 1, MPI_INT, victim(), 5, &y, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(y == left, "%d", y);
    WORKS(MPI_Isendrecv(&x, 1, MPI_INT, victim(), 6, &y, 1, MPI_INT, victim(), 6, MPI_COMM_WORLD, &request));
    NEEDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    WORKS(MPI_Isendrecv_replace(&y, 1, MPI_INT, victim(), 6, victim(), 6, MPI_COMM_WORLD, &request));
    NEEDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    WORKS(MPI_Sendrecv(big, LONG, MPI_CHAR, right, 7, other, LONG, MPI_CHAR, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void probes(MPI_Message found)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    int flag = 0, y = -1, acked;
    NEEDS(MPI_Probe(victim(), 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    NEEDS(MPI_Iprobe(victim(), 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    NEEDS(MPI_Mprobe(victim(), 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    NEEDS(MPI_Improbe(victim(), 8, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
    NEEDS(MPI_Mprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    MPI_Barrier(living);
    /* What it had sent whole is there, found before or not. */
    WORKS(MPI_Mrecv(&y, 1, MPI_INT, &found, MPI_STATUS_IGNORE));
    CHECK(y == victim() && found == MPI_MESSAGE_NULL, "%d", y);
    y = -1;
    WORKS(MPI_Mprobe(victim(), 11, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    WORKS(MPI_Mrecv(&y, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK(y == victim(), "%d", y);
    y = -1;
    WORKS(MPI_Recv(&y, 1, MPI_INT, victim(), 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(y == victim(), "%d", y);
    /* Any source goes on once the loss is acknowledged. */
    OK(MPI_Comm_ack_failed(MPI_COMM_WORLD, 1, &acked));
    WORKS(MPI_Send(&rank, 1, MPI_INT, right, 8, MPI_COMM_WORLD));
    WORKS(MPI_Mprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    WORKS(MPI_Mrecv(&y, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK(y == left, "%d", y);
}

/* A round that fails leaves the request inactive. */
static void persistent(MPI_Request *rounds)
{
    for (int times = 0; times < 2; times++)
        for (int i = 0; i < 2; i++) {
            int class = TRY(MPI_Start(&rounds[i]));
            CHECK(class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED, "class %d", class);
            if (class == MPI_SUCCESS)
                NEEDS(MPI_Wait(&rounds[i], MPI_STATUS_IGNORE));
            CHECK(rounds[i] != MPI_REQUEST_NULL, "request %d", i);
        }
    WORKS(MPI_Request_free(&rounds[0]));
    WORKS(MPI_Request_free(&rounds[1]));
}

/* One that had a round while the rank was there, and ones that never meet. */
static void partitioned(MPI_Request *known)
{
    MPI_Request fresh[2];
    WORKS(MPI_Psend_init(big, PARTS, LONG / PARTS, MPI_CHAR, victim(), 21, MPI_COMM_WORLD, MPI_INFO_NULL, &fresh[0]));
    WORKS(MPI_Precv_init(other, PARTS, LONG / PARTS, MPI_CHAR, victim(), 22, MPI_COMM_WORLD, MPI_INFO_NULL, &fresh[1]));
    for (int i = 0; i < 3; i++) {
        MPI_Request *request = i < 2 ? &fresh[i] : known;
        int class = TRY(MPI_Start(request));
        CHECK(class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED, "class %d", class);
        if (class == MPI_SUCCESS) {
            for (int part = 0; part < PARTS && i != 1; part++)
                MAY(MPI_Pready(part, *request));
            NEEDS(MPI_Wait(request, MPI_STATUS_IGNORE));
        }
        WORKS(MPI_Request_free(request));
    }
}

int main(int argc, char **argv)
{
    MPI_Request rounds[2], known;
    MPI_Message found;
    int y;
    begin_ft(&argc, &argv);
    left = (rank + size - 2) % (size - 1), right = (rank + 1) % (size - 1);
    if (rank == victim()) {
        MPI_Request parts[3];
        for (int i = 0; i < size - 1; i++) {
            OK(MPI_Send(&rank, 1, MPI_INT, i, 10, MPI_COMM_WORLD));
            OK(MPI_Send(&rank, 1, MPI_INT, i, 11, MPI_COMM_WORLD));
            OK(MPI_Send(&rank, 1, MPI_INT, i, 12, MPI_COMM_WORLD));
            OK(MPI_Precv_init(other, PARTS, LONG / PARTS, MPI_CHAR, i, 20, MPI_COMM_WORLD, MPI_INFO_NULL, &parts[i]));
            OK(MPI_Start(&parts[i]));
            OK(MPI_Wait(&parts[i], MPI_STATUS_IGNORE));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        die();
    }
    OK(MPI_Mprobe(victim(), 10, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
    OK(MPI_Psend_init(big, PARTS, LONG / PARTS, MPI_CHAR, victim(), 20, MPI_COMM_WORLD, MPI_INFO_NULL, &known));
    OK(MPI_Start(&known));
    OK(MPI_Pready_range(0, PARTS - 1, known));
    OK(MPI_Wait(&known, MPI_STATUS_IGNORE));
    OK(MPI_Send_init(big, 4, MPI_CHAR, victim(), 9, MPI_COMM_WORLD, &rounds[0]));
    OK(MPI_Recv_init(&y, 1, MPI_INT, victim(), 9, MPI_COMM_WORLD, &rounds[1]));
    MPI_Barrier(MPI_COMM_WORLD);
    await_loss();
    sends();
    exchanges();
    probes(found);
    persistent(rounds);
    partitioned(&known);
    return finish_ft();
}
