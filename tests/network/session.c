// Three processes with sessions alone. When they have met, rank 1 runs the command CUT, which cuts the way to rank 2, and sends there all the
// same, which is the last that it does. The argument says what takes the errors of the communicator and of the session: `fatal` ends the job,
// `return` returns them, and with `handler` a function of the program's gets those of the session.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int class_of(int code)
{
    int class = code;
    if (code) MPI_Error_class(code, &class);
    return class;
}

/* Calls MPI, as a handler may. */
static void handler(MPI_Session *session, int *code, ...)
{
    int sets = 0;
    MPI_Session_get_num_psets(*session, MPI_INFO_NULL, &sets);
    printf("handler: class %d, %s\n", class_of(*code) == MPI_ERR_PROC_ABORTED, sets > 0 ? "the session is there" : "no session");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "fatal";
    int rank, value = 1, code;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Errhandler own = MPI_ERRORS_RETURN, of_comm = strcmp(how, "fatal") ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL;
    if (!strcmp(how, "handler")) MPI_Session_create_errhandler(handler, &own);
    MPI_Session_init(MPI_INFO_NULL, own, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "session", MPI_INFO_NULL, of_comm, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Barrier(comm);
    if (rank == 1) {
        if (system(getenv("CUT"))) MPI_Abort(comm, 3);
        code = MPI_Send(&value, 1, MPI_INT, 2, 0, comm);
        if (code) printf("rank 1: MPI_Send failed\n");
    } else if (rank == 2) {
        code = MPI_Recv(&value, 1, MPI_INT, 1, 0, comm, MPI_STATUS_IGNORE);
        printf("rank 2: %s\n", class_of(code) == MPI_ERR_PROC_ABORTED ? "aborted" : code ? "failed" : "well");
    }
    fflush(stdout);
    code = MPI_Session_finalize(&session);
    if (rank == 1) printf("rank 1: MPI_Session_finalize: %s\n", class_of(code) == MPI_ERR_PROC_ABORTED ? "aborted" : code ? "failed" : "well");
    fflush(stdout);
    return code ? 9 : 0;
}
