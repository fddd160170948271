// Two jobs, the first of one process, which runs the command CUT when both have met: it cuts the way to rank 0 of the second job. It sends
// there all the same, and waits for rank 1, which waits for it. `first HOW FILE` and `second FILE`; FILE has the port.
// Errors of the first job end it. With `return` they are returned on the intercommunicator alone. With `handler` a function of the
// program's gets those of that one, and nothing is waited for but MPI_Finalize.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOST, NEVER, GO };

static int class_of(int code)
{
    int class = code;
    if (code) MPI_Error_class(code, &class);
    return class;
}

/* Calls MPI, as a handler may. */
static void handler(MPI_Comm *comm, int *code, ...)
{
    int size;
    MPI_Comm_remote_size(*comm, &size);
    printf("handler: class %d of %d ranks there\n", class_of(*code) == MPI_ERR_PROC_ABORTED, size);
    fflush(stdout);
}

static void write_port(const char *file, const char *port)
{
    char draft[600];
    snprintf(draft, sizeof draft, "%s.draft", file);
    FILE *out = fopen(draft, "w");
    fputs(port, out);
    fclose(out);
    rename(draft, file);
}

static void read_port(const char *file, char *port)
{
    FILE *in;
    while (!(in = fopen(file, "r"))) usleep(10000);
    if (!fgets(port, MPI_MAX_PORT_NAME, in)) abort();
    fclose(in);
}

static MPI_Comm accept_others(const char *file)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    MPI_Open_port(MPI_INFO_NULL, port);
    write_port(file, port);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    return inter;
}

static void first(MPI_Comm inter, const char *how)
{
    int value = 1, code;
    MPI_Errhandler own;
    MPI_Comm_create_errhandler(handler, &own);
    if (!strcmp(how, "return")) MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    if (!strcmp(how, "handler")) MPI_Comm_set_errhandler(inter, own);
    MPI_Errhandler_free(&own);
    if (!strcmp(how, "handler")) MPI_Send(&value, 1, MPI_INT, 1, GO, inter);
    if (system(getenv("CUT"))) MPI_Abort(MPI_COMM_WORLD, 3);
    code = MPI_Send(&value, 1, MPI_INT, 0, LOST, inter);
    if (code || !strcmp(how, "handler")) return;
    code = MPI_Recv(&value, 1, MPI_INT, 1, NEVER, inter, MPI_STATUS_IGNORE);
    printf("first job: %s\n", class_of(code) == MPI_ERR_PROC_ABORTED ? "aborted" : code ? "failed" : "well");
    fflush(stdout);
    MPI_Send(&value, 1, MPI_INT, 1, GO, inter);
}

static void second(MPI_Comm inter)
{
    int rank, value = 0, code;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    code = MPI_Recv(&value, 1, MPI_INT, 0, rank ? GO : LOST, inter, MPI_STATUS_IGNORE);
    printf("second job, rank %d: %s\n", rank, class_of(code) == MPI_ERR_PROC_ABORTED ? "aborted" : code ? "failed" : "well");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    MPI_Comm inter;
    MPI_Init(&argc, &argv);
    if (argc > 3 && !strcmp(argv[1], "first")) {
        inter = accept_others(argv[3]);
        MPI_Barrier(inter);
        first(inter, argv[2]);
    } else {
        char port[MPI_MAX_PORT_NAME] = "";
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 0) read_port(argv[2], port);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        MPI_Barrier(inter);
        second(inter);
    }
    return MPI_Finalize() ? 9 : 0;
}
