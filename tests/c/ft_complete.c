// ranks: 4
// mpiexec: --with-ft
// timeout: 120
// Calls that complete several requests, of which some need a lost rank: these fail one by one, and the others complete with their messages.
#include "ft.h"

enum { PIECES = 3 };

static int left, right;
static int numbers[PIECES];
static MPI_Request requests[PIECES];

static void send_right(int tag)
{
    OK(MPI_Send(&rank, 1, MPI_INT, right, tag, MPI_COMM_WORLD));
}

/* The middle one waits for the lost rank. */
static void post(int tag)
{
    for (int i = 0; i < PIECES; i++) {
        numbers[i] = -1;
        OK(MPI_Irecv(&numbers[i], 1, MPI_INT, i == 1 ? victim() : left, tag + i, MPI_COMM_WORLD, &requests[i]));
    }
}

static void all_are_null(void)
{
    for (int i = 0; i < PIECES; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL, "request %d", i);
    CHECK(numbers[0] == left && numbers[1] == -1 && numbers[2] == left, "%d %d %d", numbers[0], numbers[1], numbers[2]);
}

static void are_right(const MPI_Status *statuses)
{
    for (int i = 0; i < PIECES; i++) {
        int class = class_of(statuses[i].MPI_ERROR);
        CHECK(class == (i == 1 ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS), "class %d of status %d", class, i);
    }
    CHECK(statuses[2].MPI_SOURCE == left && statuses[2].MPI_TAG % 10 == 2, "source %d", statuses[2].MPI_SOURCE);
}

static void waitany(void)
{
    int index = -1;
    MPI_Status status;
    post(10);
    NEEDS(MPI_Waitany(PIECES, requests, &index, &status));
    CHECK(index == 1 && requests[1] == MPI_REQUEST_NULL && requests[0] != MPI_REQUEST_NULL, "index %d", index);
    MPI_Barrier(living);
    send_right(12);
    WORKS(MPI_Waitany(PIECES, requests, &index, &status));
    CHECK(index == 2 && status.MPI_TAG == 12, "index %d", index);
    MPI_Barrier(living);
    send_right(10);
    WORKS(MPI_Waitany(PIECES, requests, &index, &status));
    CHECK(index == 0 && status.MPI_SOURCE == left, "index %d", index);
    all_are_null();
    WORKS(MPI_Waitany(PIECES, requests, &index, &status));
    CHECK(index == MPI_UNDEFINED, "index %d", index);
}

static void testany(void)
{
    int index = -1, flag = 0, failed = 0, done = 0;
    post(20);
    send_right(20);
    send_right(22);
    tried = "MPI_Testany until all are complete";
    alarm(LIMIT);
    while (done < PIECES) {
        int class = class_of(MPI_Testany(PIECES, requests, &index, &flag, MPI_STATUS_IGNORE));
        if (!flag && class == MPI_SUCCESS)
            continue;
        CHECK(flag && class == (index == 1 ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS), "class %d of %d", class, index);
        failed += class != MPI_SUCCESS;
        done++;
    }
    alarm(0);
    CHECK(failed == 1, "%d", failed);
    all_are_null();
}

static void waitall(void)
{
    MPI_Status statuses[PIECES];
    post(30);
    send_right(30);
    send_right(32);
    int class = TRY(MPI_Waitall(PIECES, requests, statuses));
    CHECK(class == MPI_ERR_IN_STATUS, "class %d", class);
    are_right(statuses);
    all_are_null();
    post(40);
    send_right(40);
    send_right(42);
    class = TRY(MPI_Waitall(PIECES, requests, MPI_STATUSES_IGNORE));
    CHECK(class == MPI_ERR_IN_STATUS || class == MPIX_ERR_PROC_FAILED, "class %d", class);
    all_are_null();
}

static void testall(void)
{
    MPI_Status statuses[PIECES];
    int flag = 0, class = MPI_SUCCESS;
    post(50);
    send_right(50);
    send_right(52);
    tried = "MPI_Testall until all are complete";
    alarm(LIMIT);
    while (!flag && class == MPI_SUCCESS)
        class = class_of(MPI_Testall(PIECES, requests, &flag, statuses));
    alarm(0);
    CHECK(class == MPI_ERR_IN_STATUS, "class %d", class);
    /* It may say so before the others are complete. */
    if (class_of(statuses[0].MPI_ERROR) != MPI_ERR_PENDING && class_of(statuses[2].MPI_ERROR) != MPI_ERR_PENDING)
        are_right(statuses);
    WORKS(MPI_Waitall(PIECES, requests, MPI_STATUSES_IGNORE));
    all_are_null();
}

static void some(int waits)
{
    int done = 0, failed = 0, outcount, indices[PIECES];
    MPI_Status statuses[PIECES];
    post(60 + 10 * waits);
    send_right(60 + 10 * waits);
    send_right(62 + 10 * waits);
    tried = waits ? "MPI_Waitsome until all are complete" : "MPI_Testsome until all are complete";
    alarm(LIMIT);
    while (done < PIECES) {
        outcount = 0;
        int code = waits ? MPI_Waitsome(PIECES, requests, &outcount, indices, statuses)
                         : MPI_Testsome(PIECES, requests, &outcount, indices, statuses);
        int class = class_of(code), has_lost = 0;
        for (int i = 0; i < outcount; i++) {
            has_lost |= indices[i] == 1;
            int own = class == MPI_ERR_IN_STATUS ? class_of(statuses[i].MPI_ERROR) : MPI_SUCCESS;
            CHECK(own == (indices[i] == 1 ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS), "class %d of %d", own, indices[i]);
        }
        CHECK(class == (has_lost ? MPI_ERR_IN_STATUS : MPI_SUCCESS), "class %d", class);
        failed += has_lost;
        done += outcount;
    }
    alarm(0);
    CHECK(failed == 1, "%d", failed);
    all_are_null();
}

/* Requests that were started while the rank was there. */
static void lost_meanwhile(void)
{
    MPI_Status statuses[2];
    int class = TRY(MPI_Waitall(2, requests, statuses));
    CHECK(class == MPI_ERR_IN_STATUS, "class %d", class);
    for (int i = 0; i < 2; i++) {
        class = class_of(statuses[i].MPI_ERROR);
        CHECK(class == MPIX_ERR_PROC_FAILED, "class %d of %d", class, i);
    }
}

/* A form of MPI_Request_get_status, of one request; what it returns, when it has found something. */
static int looked(int form, int *flag)
{
    int class = MPI_SUCCESS, index = 0, indices[1];
    MPI_Status status;
    static const char *const names[] = { "MPI_Request_get_status", "MPI_Request_get_status_any", "MPI_Request_get_status_all", "MPI_Request_get_status_some" };
    tried = names[form];
    alarm(LIMIT);
    for (*flag = 0; !*flag && class == MPI_SUCCESS;)
        switch (form) {
        case 0: class = class_of(MPI_Request_get_status(requests[0], flag, &status)); break;
        case 1: class = class_of(MPI_Request_get_status_any(1, requests, &index, flag, &status)); break;
        case 2: class = class_of(MPI_Request_get_status_all(1, requests, flag, &status)); break;
        default: class = class_of(MPI_Request_get_status_some(1, requests, flag, indices, &status)); break;
        }
    alarm(0);
    return class;
}

/* A receive that the lost rank might have answered goes on, and whoever looks at it learns that, until the loss is acknowledged. */
static void get_status(void)
{
    int flag, acknowledged, class;
    OK(MPI_Irecv(numbers, 1, MPI_INT, MPI_ANY_SOURCE, 80, MPI_COMM_WORLD, &requests[0]));
    for (int form = 0; form < 4; form++) {
        class = looked(form, &flag);
        CHECK(class == MPIX_ERR_PROC_FAILED_PENDING && flag == 0, "form %d: class %d, flag %d", form, class, flag);
    }
    OK(MPI_Comm_ack_failed(MPI_COMM_WORLD, 1, &acknowledged));
    MPI_Barrier(living);
    send_right(80);
    for (int form = 0; form < 4; form++) {
        class = looked(form, &flag);
        CHECK(class == MPI_SUCCESS && flag == 1, "form %d: class %d, flag %d", form, class, flag);
    }
    WORKS(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(numbers[0] == left, "%d", numbers[0]);
}

int main(int argc, char **argv)
{
    static char big[1 << 22];
    begin_ft(&argc, &argv);
    left = (rank + size - 2) % (size - 1), right = (rank + 1) % (size - 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim())
        die();
    OK(MPI_Irecv(numbers, 1, MPI_INT, victim(), 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(big, sizeof big, MPI_CHAR, victim(), 1, MPI_COMM_WORLD, &requests[1]));
    lost_meanwhile();
    await_loss();
    waitany();
    testany();
    waitall();
    testall();
    some(0);
    some(1);
    get_status();
    return finish_ft();
}
