// ranks: 2
// timeout: 120
// Published receives, also between nodes: a receiver that computes gets its data without a call, of any shape; many
// of one tag and of several stay in order with messages of the stream between them; what is cancelled is
// either filled or left alone, though its sender computes.
#include "check.h"
#include <time.h>

enum { LONG = 200000, MANY = 40, EACH = 9000 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* The receiver looks at the last byte of its buffer, and calls nothing. */
static void receiver_computes(void)
{
    static volatile unsigned char in[LONG];
    static unsigned char out[LONG];
    int by_itself = 0;
    /* A mechanism that is forced, publication that is off, and faults may need both: then a few rounds are enough. */
    int may_help = getenv("TERN_MECHANISM") || getenv("TERN_TUPLEQ") || getenv("TERN_FAULTS");
    for (int round = 0; round < (may_help ? 3 : 100) && !by_itself; round++) {
        unsigned char mark = (unsigned char)(1 + round % 250);
        MPI_Request request;
        if (rank == 1) {
            memset((void *)in, 0, LONG);
            OK(MPI_Irecv((void *)in, LONG, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &request));
            OK(MPI_Send(&round, 1, MPI_INT, 0, 8, MPI_COMM_WORLD));
            double end = now() + 0.05 * (round + 1);
            while (in[LONG - 1] != mark && now() < end) {}
            by_itself = in[LONG - 1] == mark;
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            int wrong = 0;
            for (int i = 0; i < LONG; i++) wrong += in[i] != mark;
            CHECK(wrong == 0, "%d bytes of round %d", wrong, round);
            OK(MPI_Send(&by_itself, 1, MPI_INT, 0, 9, MPI_COMM_WORLD));
        } else {
            memset(out, mark, LONG);
            OK(MPI_Recv(&(int){0}, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Send(out, LONG, MPI_BYTE, 1, 7, MPI_COMM_WORLD));
            OK(MPI_Recv(&by_itself, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
    CHECK(by_itself || may_help, "the receiver has always had to help");
}

/* Two tags in turns, short messages of both in between, receives posted early and late. */
static void in_order(void)
{
    static int buffers[MANY][EACH];
    for (int round = 0; round < 20; round++) {
        MPI_Request requests[MANY];
        if (rank == 1) {
            for (int i = 0; i < MANY; i++) {
                if (i == MANY / 2) {
                    OK(MPI_Barrier(MPI_COMM_WORLD));
                }
                OK(MPI_Irecv(buffers[i], EACH, MPI_INT, 0, i % 2, MPI_COMM_WORLD, &requests[i]));
            }
            OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
            for (int i = 0; i < MANY; i++)
                CHECK(buffers[i][0] == i && buffers[i][(i % 3 == 0 ? 10 : EACH) - 1] == i, "message %d: %d", i, buffers[i][0]);
        } else {
            OK(MPI_Barrier(MPI_COMM_WORLD));
            for (int i = 0; i < MANY; i++) {
                int count = i % 3 == 0 ? 10 : EACH;
                for (int k = 0; k < count; k++) buffers[i][k] = i;
                OK(MPI_Isend(buffers[i], count, MPI_INT, 1, i % 2, MPI_COMM_WORLD, &requests[i]));
            }
            OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
        }
    }
}

/* Columns of blocks that are long enough to be written where they belong, and such that are not. */
static void shapes(void)
{
    enum { ROWS = 30 };
    for (int block = 40; block <= 4000; block *= 10) {
        MPI_Datatype column;
        OK(MPI_Type_vector(ROWS, block, 2 * block, MPI_INT, &column));
        OK(MPI_Type_commit(&column));
        int *matrix = calloc((size_t)ROWS * 2 * block, sizeof(int));
        for (int round = 0; round < 10; round++) {
            if (rank == 1) {
                MPI_Request request;
                memset(matrix, 0, sizeof(int) * ROWS * 2 * block);
                OK(MPI_Irecv(matrix, 1, column, 0, 3, MPI_COMM_WORLD, &request));
                OK(MPI_Barrier(MPI_COMM_WORLD));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                int wrong = 0;
                /* The last row has no gap behind it. */
                for (int i = 0; i < ROWS * 2 * block; i++) wrong += matrix[i] != (i / block % 2 == 0 ? i + round : 0);
                CHECK(wrong == 0, "%d elements of round %d", wrong, round);
            } else {
                for (int i = 0; i < ROWS * 2 * block; i++) matrix[i] = i + round;
                OK(MPI_Barrier(MPI_COMM_WORLD));
                OK(MPI_Send(matrix, 1, column, 1, 3, MPI_COMM_WORLD));
            }
        }
        OK(MPI_Type_free(&column));
        free(matrix);
    }
}

static void cancelled(void)
{
    static int first[EACH], second[EACH], out[EACH];
    for (int round = 0; round < 50; round++) {
        if (rank == 1) {
            MPI_Request requests[2];
            MPI_Status status;
            int flag;
            OK(MPI_Irecv(first, EACH, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[0]));
            if (round % 2) {
                OK(MPI_Barrier(MPI_COMM_WORLD));
            }
            OK(MPI_Cancel(&requests[0]));
            /* Whether the sender calls anything or not. */
            OK(MPI_Wait(&requests[0], &status));
            OK(MPI_Test_cancelled(&status, &flag));
            if (round % 2 == 0) {
                OK(MPI_Barrier(MPI_COMM_WORLD));
            }
            if (flag) {
                OK(MPI_Recv(second, EACH, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            }
            int *got = flag ? second : first;
            CHECK(got[0] == round && got[EACH - 1] == round, "round %d: %d", round, got[0]);
        } else {
            for (int i = 0; i < EACH; i++) out[i] = round;
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Send(out, EACH, MPI_INT, 1, 5, MPI_COMM_WORLD));
        }
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    receiver_computes();
    in_order();
    shapes();
    cancelled();
    return finish();
}
