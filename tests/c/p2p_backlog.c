// ranks: 2 4
// timeout: 120
// A receiver that is far behind: tens of thousands of messages wait for it, small and long, and it
// takes them in an order of its own.
#include "check.h"

enum { SMALL = 10000, LONG = 60, LENGTH = 100000 };

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    static int out[LONG][LENGTH], in[LENGTH];
    if (rank == 0) {
        /* The last message of all comes only when all have been sent. */
        for (int from = 1; from < size; from++)
            OK(MPI_Recv(NULL, 0, MPI_INT, from, 999, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        /* Long ones first, the last sender first, tags from the top. */
        for (int from = size - 1; from > 0; from--)
            for (int i = LONG - 1; i >= 0; i--) {
                MPI_Status status;
                int count, wrong = 0;
                OK(MPI_Recv(in, LENGTH, MPI_INT, from, 1000 + i, MPI_COMM_WORLD, &status));
                OK(MPI_Get_count(&status, MPI_INT, &count));
                for (int j = 0; j < LENGTH; j++) wrong += in[j] != from + i + j;
                CHECK(count == LENGTH && wrong == 0, "%d from %d: %d wrong", i, from, wrong);
            }
        for (int from = 1; from < size; from++)
            for (int tag = 6; tag >= 0; tag--)
                for (int i = tag; i < SMALL; i += 7) {
                    int value = -1;
                    OK(MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                    if (value != i) {
                        CHECK(value == i, "from %d with tag %d: %d, not %d", from, tag, value, i);
                        MPI_Abort(MPI_COMM_WORLD, 1);
                    }
                }
        int flag;
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    } else {
        static MPI_Request requests[LONG + SMALL];
        static int numbers[SMALL];
        for (int i = 0; i < LONG; i++) {
            for (int j = 0; j < LENGTH; j++) out[i][j] = rank + i + j;
            OK(MPI_Isend(out[i], LENGTH, MPI_INT, 0, 1000 + i, MPI_COMM_WORLD, &requests[i]));
        }
        for (int i = 0; i < SMALL; i++) {
            numbers[i] = i;
            OK(MPI_Isend(&numbers[i], 1, MPI_INT, 0, i % 7, MPI_COMM_WORLD, &requests[LONG + i]));
        }
        OK(MPI_Send(NULL, 0, MPI_INT, 0, 999, MPI_COMM_WORLD));
        OK(MPI_Waitall(LONG + SMALL, requests, MPI_STATUSES_IGNORE));
    }
    return finish();
}
