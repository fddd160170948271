// Rank 1 sends to rank 2, which it cannot call. Rank 2 can call it, but sleeps in no call: it looks again and again, in the way that the
// argument says. Beside that it looks for what never comes, so that not every look is for the message.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { DATA, PING, PONG, NEVER };

static int value;

/* What never comes has not come. */
static int goes_on(void)
{
    int never;
    MPI_Iprobe(0, NEVER, MPI_COMM_WORLD, &never, MPI_STATUS_IGNORE);
    return !never;
}

static void end(MPI_Request *request)
{
    int flag = 0;
    while (!flag && goes_on()) MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

static void test(int rank)
{
    MPI_Request request;
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 2, DATA, MPI_COMM_WORLD);
    if (rank != 2) return;
    MPI_Irecv(&value, 1, MPI_INT, 1, DATA, MPI_COMM_WORLD, &request);
    end(&request);
}

static void status(int rank)
{
    int flag = 0;
    MPI_Request request;
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 2, DATA, MPI_COMM_WORLD);
    if (rank != 2) return;
    MPI_Irecv(&value, 1, MPI_INT, 1, DATA, MPI_COMM_WORLD, &request);
    while (!flag && goes_on()) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void probe(int rank)
{
    int flag = 0;
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 2, DATA, MPI_COMM_WORLD);
    if (rank != 2) return;
    while (!flag && goes_on()) MPI_Iprobe(1, DATA, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, 1, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void improbe(int rank)
{
    int flag = 0;
    MPI_Message message;
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 2, DATA, MPI_COMM_WORLD);
    if (rank != 2) return;
    while (!flag && goes_on()) MPI_Improbe(1, DATA, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

/* MPI_Waitany never waits long: rank 0, which rank 2 has called before, always answers soon. */
static void any(int rank)
{
    int ping = 1, pong = 1, which = 1;
    MPI_Request requests[2];
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 2, DATA, MPI_COMM_WORLD);
    while (rank == 0 && pong) {
        MPI_Recv(&pong, 1, MPI_INT, 2, PONG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&ping, 1, MPI_INT, 2, PING, MPI_COMM_WORLD);
    }
    if (rank != 2) return;
    MPI_Irecv(&value, 1, MPI_INT, 1, DATA, MPI_COMM_WORLD, &requests[0]);
    while (which == 1) {
        MPI_Send(&pong, 1, MPI_INT, 0, PONG, MPI_COMM_WORLD);
        MPI_Irecv(&ping, 1, MPI_INT, 0, PING, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    pong = 0;
    MPI_Sendrecv(&pong, 1, MPI_INT, 0, PONG, &ping, 1, MPI_INT, 0, PING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void collective(int rank)
{
    MPI_Comm both;
    MPI_Request request;
    MPI_Comm_split(MPI_COMM_WORLD, rank ? 1 : MPI_UNDEFINED, rank, &both);
    if (rank == 0) return;
    MPI_Ibcast(&value, 1, MPI_INT, 0, both, &request);
    end(&request);
    MPI_Comm_free(&both);
}

static void partitioned(int rank)
{
    int flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 1) MPI_Psend_init(&value, 1, 1, MPI_INT, 2, DATA, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    if (rank == 2) MPI_Precv_init(&value, 1, 1, MPI_INT, 1, DATA, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    if (rank == 0) return;
    MPI_Start(&request);
    if (rank == 1) MPI_Pready(0, request);
    while (rank == 2 && !flag && goes_on()) MPI_Parrived(request, 0, &flag);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

/* Rank 2 says nothing to rank 1 before that one has begun. */
static void window(int rank)
{
    int flag = 0, other = (3 - rank) % 3, put = value;
    MPI_Win win;
    MPI_Group all, one;
    MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &one);
    if (rank == 1) {
        MPI_Win_start(one, MPI_MODE_NOCHECK, win);
        MPI_Put(&put, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
    } else if (rank == 2) {
        MPI_Win_post(one, MPI_MODE_NOCHECK, win);
        while (!flag && goes_on()) MPI_Win_test(win, &flag);
    }
    MPI_Group_free(&one);
    MPI_Group_free(&all);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(int rank); } ways[] = {
        {"test", test}, {"status", status}, {"probe", probe}, {"improbe", improbe}, {"any", any},
        {"collective", collective}, {"partitioned", partitioned}, {"window", window},
    };
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    value = rank == 1 ? 7 : 0;
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (argc > 1 && !strcmp(argv[1], ways[i].name)) ways[i].run(rank);
    if (rank == 2) printf("rank 2: got %d\n", value);
    fflush(stdout);
    return MPI_Finalize();
}
