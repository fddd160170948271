// ranks: 1 2 4
// Buffered sends: from the process's buffer, a communicator's, and automatic ones.
#include "check.h"

static int to, from;

static void receive(MPI_Comm comm, int tag, int n, int seed)
{
    int *in = calloc(n + 1, sizeof(int)), wrong = 0;
    OK(MPI_Recv(in, n, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE));
    for (int i = 0; i < n; i++) wrong += in[i] != seed + i;
    CHECK(wrong == 0, "%d of %d", wrong, n);
    free(in);
}

/* Sends all before anybody receives, from memory that is overwritten at once. `own` says whether
 * the buffer is the communicator's. */
static void sends(MPI_Comm comm, int own, int messages, int n)
{
    int *out = malloc((n + 1) * sizeof(int));
    for (int m = 0; m < messages; m++) {
        MPI_Request request = MPI_REQUEST_NULL;
        for (int i = 0; i < n; i++) out[i] = rank * 1000 + m + i;
        if (m % 2) {
            OK(MPI_Ibsend(out, n, MPI_INT, to, m, comm, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Bsend(out, n, MPI_INT, to, m, comm));
        }
        memset(out, 0xff, n * sizeof(int));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int m = 0; m < messages; m++) receive(comm, m, n, from * 1000 + m);
    /* Until then the buffer may still hold them. */
    if (own) OK(MPI_Comm_flush_buffer(comm));
    else OK(MPI_Buffer_flush());
    free(out);
}

static void of_the_process(void)
{
    int each, messages = 8, n = 50000, got;
    void *back;
    OK(MPI_Pack_size(n, MPI_INT, MPI_COMM_WORLD, &each));
    int len = messages * (each + MPI_BSEND_OVERHEAD);
    char *space = malloc(len);
    FAILS(MPI_ERR_BUFFER, MPI_Bsend(&len, 1, MPI_INT, to, 0, MPI_COMM_WORLD));
    OK(MPI_Buffer_attach(space, len));
    if (strict()) FAILS(MPI_ERR_BUFFER, MPI_Buffer_attach(space, len));
    for (int round = 0; round < 3; round++) sends(MPI_COMM_WORLD, 0, messages, n);
    /* One that cannot fit. */
    char *large = malloc(len + 1);
    FAILS(MPI_ERR_BUFFER, MPI_Bsend(large, len + 1, MPI_BYTE, to, 0, MPI_COMM_WORLD));
    free(large);
    sends(MPI_COMM_WORLD, 0, messages, n);
    OK(MPI_Buffer_detach(&back, &got));
    CHECK(back == space && got == len);
    free(space);
    FAILS(MPI_ERR_BUFFER, MPI_Bsend(&len, 1, MPI_INT, to, 0, MPI_COMM_WORLD));
}

/* Detaching waits until all messages have gone. */
static void detach_waits(void)
{
    int n = 300000, got;
    int len = n * sizeof(int) + MPI_BSEND_OVERHEAD;
    void *back;
    char *space = malloc(len);
    int *out = malloc(n * sizeof(int)), *in = malloc(n * sizeof(int));
    MPI_Request request;
    for (int i = 0; i < n; i++) out[i] = rank + i;
    OK(MPI_Irecv(in, n, MPI_INT, from, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Buffer_attach(space, len));
    OK(MPI_Bsend(out, n, MPI_INT, to, 0, MPI_COMM_WORLD));
    OK(MPI_Buffer_detach(&back, &got));
    memset(space, 0, len);
    free(space);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < n; i++)
        if (in[i] != from + i) {
            CHECK(in[i] == from + i, "at %d", i);
            break;
        }
    free(out);
    free(in);
}

static void of_a_communicator(void)
{
    int n = 1000, messages = 6, got;
    int len = messages * (n * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
    char *space = malloc(len);
    void *back;
    MPI_Comm comm;
    MPI_Request request;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_attach_buffer(comm, space, len));
    sends(comm, 1, messages, n);
    sends(comm, 1, messages, n);
    OK(MPI_Comm_iflush_buffer(comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* It is this communicator's alone. */
    FAILS(MPI_ERR_BUFFER, MPI_Bsend(&n, 1, MPI_INT, to, 0, MPI_COMM_WORLD));
    OK(MPI_Comm_detach_buffer(comm, &back, &got));
    CHECK(back == space && got == len);
    free(space);
    OK(MPI_Comm_free(&comm));
}

static void automatic(void)
{
    void *back;
    int got;
    MPI_Comm comm;
    OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
    sends(MPI_COMM_WORLD, 0, 30, 20000);
    OK(MPI_Buffer_detach(&back, &got));
    CHECK(back == MPI_BUFFER_AUTOMATIC && got == 0);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
    sends(comm, 1, 30, 20000);
    OK(MPI_Comm_detach_buffer(comm, &back, &got));
    CHECK(back == MPI_BUFFER_AUTOMATIC);
    OK(MPI_Comm_free(&comm));
}

/* Buffered sends of data with gaps. */
static void with_gaps(void)
{
    int out[60], in[20];
    void *back;
    int got;
    MPI_Datatype every_third;
    char *space = malloc(1000 + MPI_BSEND_OVERHEAD);
    for (int i = 0; i < 60; i++) out[i] = rank * 100 + i;
    OK(MPI_Type_vector(20, 1, 3, MPI_INT, &every_third));
    OK(MPI_Type_commit(&every_third));
    OK(MPI_Buffer_attach(space, 1000 + MPI_BSEND_OVERHEAD));
    OK(MPI_Bsend(out, 1, every_third, to, 1, MPI_COMM_WORLD));
    memset(out, 0, sizeof out);
    OK(MPI_Recv(in, 20, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 20; i++) CHECK(in[i] == from * 100 + 3 * i);
    OK(MPI_Buffer_detach(&back, &got));
    OK(MPI_Type_free(&every_third));
    free(space);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    of_the_process();
    detach_waits();
    of_a_communicator();
    automatic();
    with_gaps();
    return finish();
}
