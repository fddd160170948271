// ranks: 1 2
// flags: -pthread
// Generalized requests: completed by the program, by itself or from another thread.
#include "check.h"
#include <pthread.h>

static int queried, freed, cancels, told_complete;

static int query(void *state, MPI_Status *status)
{
    queried++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return MPI_SUCCESS;
}

static int query_cancelled(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 1);
    return MPI_SUCCESS;
}

static int freeing(void *state)
{
    (void)state;
    freed++;
    return MPI_SUCCESS;
}

static int cancelling(void *state, int complete)
{
    (void)state;
    cancels++;
    told_complete = complete;
    return MPI_SUCCESS;
}

static void by_itself(void)
{
    int state = 12, flag, count;
    MPI_Request request;
    MPI_Status status;
    OK(MPI_Grequest_start(query, freeing, cancelling, &state, &request));
    OK(MPI_Test(&request, &flag, &status));
    CHECK(!flag && queried == 0 && freed == 0);
    OK(MPI_Grequest_complete(request));
    OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag && queried == 1 && freed == 0);
    OK(MPI_Wait(&request, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 12 && status.MPI_SOURCE == 3 && status.MPI_TAG == 4);
    CHECK(queried == 2 && freed == 1 && request == MPI_REQUEST_NULL, "%d %d", queried, freed);
}

static void cancelled(void)
{
    int flag;
    MPI_Request request;
    MPI_Status status;
    freed = 0;
    OK(MPI_Grequest_start(query_cancelled, freeing, cancelling, NULL, &request));
    OK(MPI_Cancel(&request));
    CHECK(cancels == 1 && told_complete == 0);
    OK(MPI_Grequest_complete(request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag && freed == 1);
}

/* Given up: its memory goes when it completes. */
static void given_up(void)
{
    int state = 1;
    freed = queried = 0;
    MPI_Request request, copy;
    OK(MPI_Grequest_start(query, freeing, cancelling, &state, &request));
    copy = request;
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL && freed == 0);
    OK(MPI_Grequest_complete(copy));
    CHECK(freed == 1 && queried == 0, "%d %d", freed, queried);
    /* Complete first, then given up. */
    OK(MPI_Grequest_start(query, freeing, cancelling, &state, &request));
    OK(MPI_Grequest_complete(request));
    OK(MPI_Request_free(&request));
    CHECK(freed == 2 && queried == 0, "%d %d", freed, queried);
}

static void among_others(void)
{
    int state = 2, in = 0, index, flag;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    OK(MPI_Grequest_start(query, freeing, cancelling, &state, &requests[0]));
    OK(MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]));
    OK(MPI_Testall(2, requests, &flag, statuses));
    CHECK(!flag);
    OK(MPI_Send(&(int){5}, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    OK(MPI_Waitany(2, requests, &index, statuses));
    CHECK(index == 1 && in == 5);
    OK(MPI_Grequest_complete(requests[0]));
    OK(MPI_Waitall(2, requests, statuses));
    CHECK(requests[0] == MPI_REQUEST_NULL && statuses[0].MPI_TAG == 4);
}

static void *complete_it(void *request)
{
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

/* Another thread completes it while this one waits. */
static void by_a_thread(void)
{
    for (int round = 0; round < 100; round++) {
        int state = 3;
        pthread_t thread;
        MPI_Request request, copy;
        OK(MPI_Grequest_start(query, freeing, cancelling, &state, &request));
        copy = request;
        pthread_create(&thread, NULL, complete_it, &copy);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    by_itself();
    cancelled();
    given_up();
    among_others();
    by_a_thread();
    return finish();
}
