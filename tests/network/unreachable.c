// Rank 1 sends to rank 2, which it cannot call, and waits for rank 0, who waits for rank 2, who waits for rank 1.
// With `return` errors are returned, and each rank says what it was told. With `handler` a function of the program's gets them.
// With `given-up FOLDER` rank 0 finds that it cannot call rank 2, and only then rank 2 waits for rank 0, which is still there.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int class_of(int code)
{
    int class = code;
    if (code) MPI_Error_class(code, &class);
    return class;
}

static int is_over;

/* Calls MPI, as a handler may: it is not called after MPI_Finalize has taken the library down. */
static void handler(MPI_Comm *comm, int *code, ...)
{
    int size, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_size(*comm, &size);
    MPI_Error_string(*code, text, &length);
    printf("handler%s: class %d of %d ranks\n", is_over ? " of MPI_Finalize" : "", class_of(*code) == MPI_ERR_PROC_ABORTED, size);
    fflush(stdout);
}

/* Rank 1 sends so much that the send is under way when its request is freed. */
static int freed(int rank)
{
    static char large[900000];
    int value = 1, code;
    MPI_Request request;
    if (rank != 1) return MPI_Recv(large, sizeof large, MPI_CHAR, (rank + 2) % 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    code = MPI_Isend(large, sizeof large, MPI_CHAR, 2, 0, MPI_COMM_WORLD, &request);
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    if (code == MPI_SUCCESS) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return code;
}

/* A file by which one rank tells another what it has got to, beside MPI. */
static void tell(const char *folder, const char *what)
{
    char name[200];
    snprintf(name, sizeof name, "%s/%s", folder, what);
    fclose(fopen(name, "w"));
}

static void wait_for(const char *folder, const char *what)
{
    char name[200];
    snprintf(name, sizeof name, "%s/%s", folder, what);
    while (access(name, F_OK)) usleep(10000);
}

/* Returns what the receive of ranks 0 and 2 from each other ended with. */
static int given_up(int rank, const char *folder)
{
    int value = 1, code;
    if (rank == 1) return MPI_SUCCESS;
    if (rank == 2) wait_for(folder, "given-up");
    code = MPI_Recv(&value, 1, MPI_INT, 2 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d: %s\n", rank, class_of(code) == MPI_ERR_PROC_ABORTED ? "aborted" : code ? "failed" : "well");
    fflush(stdout);
    tell(folder, rank ? "told" : "given-up");
    if (rank == 0) wait_for(folder, "told");
    return code;
}

int main(int argc, char **argv)
{
    int rank, value = 1, first, second, last;
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(how, "return") || !strcmp(how, "given-up")) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!strcmp(how, "last") || !strcmp(how, "handler")) {
        MPI_Errhandler own;
        MPI_Comm_create_errhandler(handler, &own);
        if (!strcmp(how, "handler")) MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
        MPI_Errhandler_free(&own);
        // The last that rank 1 does: it finds out in MPI_Finalize.
        if (rank == 1) MPI_Send(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
        if (rank == 2) MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        is_over = 1;
        last = MPI_Finalize();
        return last ? 9 : 0;
    }
    if (!strcmp(how, "given-up")) {
        given_up(rank, argv[2]);
        last = MPI_Finalize();
        return last ? 9 : 0;
    }
    if (!strcmp(how, "freed")) {
        first = freed(rank);
        MPI_Finalize();
        return first;
    }
    if (rank == 1) {
        if (!strcmp(how, "buffered")) {
            static char buffer[1 << 20], large[900000];
            MPI_Buffer_attach(buffer, sizeof buffer);
            first = MPI_Bsend(large, sizeof large, MPI_CHAR, 2, 0, MPI_COMM_WORLD);
        } else {
            first = MPI_Send(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
        }
        second = MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        static char large[900000];
        first = MPI_Recv(large, sizeof large, MPI_CHAR, (rank + 2) % 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        second = MPI_Send(&value, 1, MPI_INT, (rank + 1) % 3, 0, MPI_COMM_WORLD);
    }
    printf("rank %d: %s, %s\n", rank, class_of(first) == MPI_ERR_PROC_ABORTED ? "aborted" : first ? "failed" : "well",
        class_of(second) == MPI_ERR_PROC_ABORTED ? "aborted" : second ? "failed" : "well");
    fflush(stdout);
    last = MPI_Finalize();
    return last ? 9 : 0;
}
