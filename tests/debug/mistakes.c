// Mistakes that TERN_CHECK finds, for two ranks. Usage: mistakes WAY [return]; prints the classes of errors
// if they are returned.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void say(const char *what, int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    // The number of a class is another one in each interface.
    printf("rank %d: %s: class %s\n", rank, what, class == MPI_SUCCESS ? "MPI_SUCCESS" : class == MPI_ERR_ROOT ? "MPI_ERR_ROOT" : "another");
    fflush(stdout);
}

/* Both send first: right only while the library buffers. */
static void buffering(void)
{
    int value = rank;
    MPI_Send(&value, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void signature(void)
{
    int values[4] = {0};
    float others[4];
    if (rank == 0)
        MPI_Send(values, 4, MPI_INT, 1, 9, MPI_COMM_WORLD);
    else
        say("recv", MPI_Recv(others, 4, MPI_FLOAT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void signature_later(void)
{
    static double values[100000];
    static long others[100000];
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(values, 100000, MPI_DOUBLE, 1, 9, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Irecv(others, 100000, MPI_LONG, 0, 9, MPI_COMM_WORLD, &request);
        say("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

static void signature_part(void)
{
    char letters[3] = {0};
    int others[4];
    if (rank == 0)
        MPI_Send(letters, 3, MPI_CHAR, 1, 9, MPI_COMM_WORLD);
    else
        say("recv", MPI_Recv(others, 4, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void truncation(void)
{
    int values[4] = {0};
    if (rank == 0)
        MPI_Send(values, 4, MPI_INT, 1, 9, MPI_COMM_WORLD);
    else
        say("recv", MPI_Recv(values, 2, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void collective(void)
{
    int value = 0, sum;
    if (rank == 0)
        say("bcast", MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
    else
        say("reduce", MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
}

static void collective_or_not(void)
{
    MPI_Comm copy;
    if (rank == 0)
        say("barrier", MPI_Barrier(MPI_COMM_WORLD));
    else
        say("dup", MPI_Comm_dup(MPI_COMM_WORLD, &copy));
}

static void root(void)
{
    int value = 0;
    say("bcast", MPI_Bcast(&value, 1, MPI_INT, rank, MPI_COMM_WORLD));
}

static void operation(void)
{
    int value = 1, result;
    say("allreduce", MPI_Allreduce(&value, &result, 1, MPI_INT, rank ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD));
}

static void counts(void)
{
    int values[8] = {0}, all[16];
    say("allgather", MPI_Allgather(values, 3 + rank, MPI_INT, all, 3 + rank, MPI_INT, MPI_COMM_WORLD));
}

static void vector(void)
{
    int values[8] = {0}, all[16], expected[2] = {1, 2}, places[2] = {0, 4};
    say("gatherv", MPI_Gatherv(values, 1 + 2 * rank, MPI_INT, all, expected, places, MPI_INT, 0, MPI_COMM_WORLD));
}

static void types(void)
{
    float value = 0;
    MPI_Request request;
    MPI_Ibcast(&value, 1, rank ? MPI_FLOAT : MPI_INT, 0, MPI_COMM_WORLD, &request);
    say("ibcast", MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void leaks(void)
{
    static MPI_Comm copies[2];
    static MPI_Datatype pair, row;
    static MPI_Request request;
    static int value;
    MPI_Info info;
    for (int i = 0; i < 2; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &copies[i]);
        MPI_Comm_set_name(copies[i], "mine");
    }
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_vector(2, 2, 4, pair, &row);
    MPI_Type_free(&pair);
    MPI_Info_create(&info);
    MPI_Irecv(&value, 1, MPI_INT, 0, 77, MPI_COMM_SELF, &request);
}

/* Everything is as it should be. */
static void clean(void)
{
    int value = rank, other, all[2], mixed[4] = {0};
    MPI_Request requests[2];
    MPI_Comm half;
    MPI_Datatype some;
    MPI_Info info;
    MPI_Sendrecv(&value, 1, MPI_INT, 1 - rank, 1, &other, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(mixed, 4, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&value, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Type_vector(2, 1, 2, MPI_INT, &some);
    MPI_Type_commit(&some);
    if (rank == 0)
        MPI_Send(mixed, 1, some, 1, 4, MPI_COMM_WORLD);
    else
        MPI_Recv(mixed, 2, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&some);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &half);
    MPI_Gather(&value, 1, MPI_INT, rank ? NULL : all, 1, MPI_INT, 0, half);
    MPI_Reduce(rank ? &value : MPI_IN_PLACE, &other, 1, MPI_INT, MPI_SUM, 0, half);
    MPI_Iallreduce(&value, &other, 1, MPI_INT, MPI_MAX, half, &requests[0]);
    MPI_Ibarrier(half, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce_init(&value, &other, 1, MPI_INT, MPI_MAX, half, MPI_INFO_NULL, &requests[0]);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Comm_free(&half);
    MPI_Info_create(&info);
    MPI_Info_free(&info);
    say("all", MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    struct { const char *name; void (*run)(void); } ways[] = {
        {"buffering", buffering}, {"signature", signature}, {"signature-later", signature_later},
        {"signature-part", signature_part},
        {"truncation", truncation}, {"collective", collective}, {"collective-or-not", collective_or_not},
        {"root", root}, {"operation", operation}, {"counts", counts}, {"vector", vector}, {"types", types},
        {"leaks", leaks}, {"clean", clean},
    };
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
            ways[i].run();
    MPI_Finalize();
    return 0;
}
