// ranks: 1 2 4
// Persistent requests: started many times, one by one and together, freed when inactive.
#include "check.h"

#include <unistd.h>

enum { ROUNDS = 40, N = 5000 };

static void all_modes(int to, int from)
{
    static int out[5][N], in[5][N];
    const int counts[5] = {1, N, 17, 1000, 0};
    MPI_Request requests[10];
    MPI_Status statuses[10];
    char *space = malloc(1 << 20);
    OK(MPI_Buffer_attach(space, 1 << 20));
    OK(MPI_Send_init(out[0], counts[0], MPI_INT, to, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Ssend_init(out[1], counts[1], MPI_INT, to, 1, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Bsend_init(out[2], counts[2], MPI_INT, to, 2, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Send_init(out[3], counts[3], MPI_INT, to, 3, MPI_COMM_WORLD, &requests[3]));
    OK(MPI_Rsend_init(out[4], counts[4], MPI_INT, to, 4, MPI_COMM_WORLD, &requests[4]));
    for (int i = 0; i < 5; i++)
        OK(MPI_Recv_init(in[i], N, MPI_INT, from, i, MPI_COMM_WORLD, &requests[5 + i]));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < counts[i]; j++) out[i][j] = round * 7 + rank + i * j;
        OK(MPI_Startall(5, &requests[5]));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (round % 2)
            OK(MPI_Startall(5, requests));
        else
            for (int i = 4; i >= 0; i--) OK(MPI_Start(&requests[i]));
        OK(MPI_Waitall(10, requests, statuses));
        for (int i = 0; i < 5; i++) {
            int count;
            OK(MPI_Get_count(&statuses[5 + i], MPI_INT, &count));
            CHECK(count == counts[i] && statuses[5 + i].MPI_SOURCE == from);
            for (int j = 0; j < counts[i]; j++)
                if (in[i][j] != round * 7 + from + i * j) {
                    CHECK(in[i][j] == round * 7 + from + i * j, "round %d, kind %d, at %d", round, i, j);
                    break;
                }
        }
        for (int i = 0; i < 10; i++) CHECK(requests[i] != MPI_REQUEST_NULL);
    }
    for (int i = 0; i < 10; i++) OK(MPI_Request_free(&requests[i]));
    CHECK(requests[0] == MPI_REQUEST_NULL);
    void *back;
    int len;
    OK(MPI_Buffer_detach(&back, &len));
    CHECK(back == space && len == 1 << 20);
    free(space);
}

/* An inactive request is complete, with an empty status. */
static void inactive(void)
{
    int x = 0, flag = 0, index = 5, count;
    MPI_Request request;
    MPI_Status status;
    OK(MPI_Recv_init(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request));
    memset(&status, 77, sizeof status);
    OK(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 0);
    OK(MPI_Test(&request, &flag, &status));
    CHECK(flag && request != MPI_REQUEST_NULL);
    OK(MPI_Testany(1, &request, &index, &flag, &status));
    CHECK(flag && index == MPI_UNDEFINED);
    OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag);
    /* Started, and freed while active: it still receives. */
    int value = 42;
    OK(MPI_Start(&request));
    OK(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    OK(MPI_Wait(&request, &status));
    CHECK(x == 42);
    OK(MPI_Request_free(&request));
}

/* Persistent requests to nobody. */
static void to_nobody(void)
{
    int x = 3;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    OK(MPI_Send_init(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[0]));
    OK(MPI_Recv_init(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[1]));
    for (int round = 0; round < 3; round++) {
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, statuses));
        /* MPICH leaves this status empty. */
        CHECK(!strict() || (statuses[1].MPI_SOURCE == MPI_PROC_NULL && statuses[1].MPI_TAG == MPI_ANY_TAG));
    }
    CHECK(x == 3);
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

/* One receive at a time is waited for, while messages for later receives come first, and from any tag, and too
 * long: a wait must take its own message and no other. */
static void one_by_one(int to, int from)
{
    int out[3], in[2], any = -1;
    MPI_Request send, receives[2], wild;
    MPI_Status status;
    OK(MPI_Send_init(out, 1, MPI_INT, to, 5, MPI_COMM_WORLD, &send));
    OK(MPI_Recv_init(&in[0], 1, MPI_INT, from, 5, MPI_COMM_WORLD, &receives[0]));
    OK(MPI_Recv_init(&in[1], 1, MPI_INT, from, 6, MPI_COMM_WORLD, &receives[1]));
    OK(MPI_Recv_init(&any, 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &wild));
    for (int round = 0; round < 200; round++) {
        int early = 1000 + round, late = 2000 + round;
        out[0] = round;
        OK(MPI_Start(&receives[0]));
        OK(MPI_Send(&early, 1, MPI_INT, to, 6, MPI_COMM_WORLD));
        OK(MPI_Start(&send));
        OK(MPI_Send(&late, 1, MPI_INT, to, 7, MPI_COMM_WORLD));
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&receives[0], &status));
        CHECK(in[0] == round && status.MPI_TAG == 5 && status.MPI_SOURCE == from);
        OK(MPI_Start(&receives[1]));
        OK(MPI_Wait(&receives[1], &status));
        CHECK(in[1] == early && status.MPI_TAG == 6);
        OK(MPI_Start(&wild));
        OK(MPI_Wait(&wild, &status));
        CHECK(any == late && status.MPI_TAG == 7);
    }
    for (int round = 0; round < 20; round++) {
        int flag = 0, other = 0;
        MPI_Request second;
        OK(MPI_Start(&receives[0]));
        OK(MPI_Irecv(&other, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &second));
        for (int i = 0; i < 2; i++) {
            out[0] = 10 * round + i;
            OK(MPI_Start(&send));
            OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        }
        while (!flag) OK(MPI_Test(&receives[0], &flag, &status));
        OK(MPI_Wait(&second, MPI_STATUS_IGNORE));
        CHECK(in[0] == 10 * round && other == 10 * round + 1);
    }
    /* Too long. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int round = 0; round < 20; round++) {
        out[0] = out[1] = out[2] = round;
        in[0] = in[1] = -1;
        OK(MPI_Start(&receives[0]));
        if (round % 2)
            OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Send(out, 3, MPI_INT, to, 5, MPI_COMM_WORLD));
        FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&receives[0], &status));
        CHECK(in[0] == round && in[1] == -1 && receives[0] != MPI_REQUEST_NULL);
    }
    /* There before its receive starts; every other one too long. */
    for (int round = 0; round < 20; round++) {
        int flag = 0, code = MPI_SUCCESS, class = MPI_SUCCESS, long_one = round % 2;
        out[0] = out[1] = out[2] = round;
        in[0] = in[1] = -1;
        OK(MPI_Send(out, long_one ? 3 : 1, MPI_INT, to, 5, MPI_COMM_WORLD));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Start(&receives[0]));
        FAILS(MPI_ERR_REQUEST, MPI_Start(&receives[0]));
        if (round % 3 == 0) {
            while (!flag) OK(MPI_Request_get_status(receives[0], &flag, &status));
            CHECK(status.MPI_TAG == 5);
        }
        flag = round % 3 == 1;
        if (flag)
            code = MPI_Wait(&receives[0], &status);
        while (!flag)
            code = MPI_Test(&receives[0], &flag, &status);
        OK(MPI_Error_class(code, &class));
        CHECK(class == (long_one ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "class %d", class);
        CHECK(in[0] == round && in[1] == -1 && status.MPI_TAG == 5 && receives[0] != MPI_REQUEST_NULL);
        /* It is inactive now. */
        OK(MPI_Test(&receives[0], &flag, &status));
        CHECK(flag && status.MPI_TAG == MPI_ANY_TAG);
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Start(&receives[0]));
    OK(MPI_Cancel(&receives[0]));
    OK(MPI_Wait(&receives[0], &status));
    int cancelled = 0;
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled);
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receives[0]));
    OK(MPI_Request_free(&receives[1]));
    OK(MPI_Request_free(&wild));
}

/* One receive alone, of lengths for which it is published or not; its message comes before, at, or after the wait for it. */
static void long_ones(int to, int from)
{
    enum { MOST = 100000 };
    static unsigned char out[MOST], in[MOST];
    for (int length = 4096; length <= MOST; length += length / 3) {
        MPI_Request send, receive;
        OK(MPI_Send_init(out, length, MPI_BYTE, to, 8, MPI_COMM_WORLD, &send));
        OK(MPI_Recv_init(in, length, MPI_BYTE, from, 8, MPI_COMM_WORLD, &receive));
        for (int round = 0; round < 30; round++) {
            memset(out, 3 * round + rank, length);
            OK(MPI_Start(&receive));
            if (round % 3 == rank % 3) usleep(300);
            OK(MPI_Start(&send));
            if (round % 5 == 4) usleep(300);
            OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
            OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
            memset(out, 3 * round + from, length);
            CHECK(memcmp(in, out, length) == 0, "%d bytes, round %d", length, round);
            /* What comes here later is a message too many. */
            memset(in, 0xee, length);
            if (round % 7 == 6) usleep(300);
            CHECK(in[0] == 0xee && in[length - 1] == 0xee, "%d bytes, round %d", length, round);
        }
        OK(MPI_Request_free(&send));
        OK(MPI_Request_free(&receive));
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    all_modes((rank + 1) % size, (rank + size - 1) % size);
    one_by_one((rank + 1) % size, (rank + size - 1) % size);
    long_ones((rank + 1) % size, (rank + size - 1) % size);
    inactive();
    to_nobody();
    return finish();
}
