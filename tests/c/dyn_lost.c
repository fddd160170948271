// Processes of another job that die: what they have sent arrives, what needs them fails, and MPI_Finalize does not
// wait for them.
// ranks: 1 2
#include "check.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG = 1 << 20 };

static char port[MPI_MAX_PORT_NAME];
static int many[LONG];

/* A job of its own, which dies. */
static void other(const char *how)
{
    MPI_Comm inter;
    OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    for (int i = 0; i < 3; i++)
        OK(MPI_Send(&i, 1, MPI_INT, 0, i, inter));
    if (strcmp(how, "late") == 0) {
        /* Until the others wait for nothing but this process. */
        OK(MPI_Recv(&many, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
        usleep(200000);
    }
    raise(SIGKILL);
}

/* Starts the other job, without a launcher, and meets it. */
static pid_t meet(char *program, char *how, MPI_Comm *inter)
{
    pid_t started = 0;
    if (rank == 0) {
        char libraries[4096];
        char *environment[] = {libraries, "PATH=/usr/bin:/bin", NULL}, *arguments[] = {program, how, port, NULL};
        const char *path = getenv("LD_LIBRARY_PATH");
        snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", path ? path : "");
        started = fork();
        if (started == 0) {
            execve(program, arguments, environment);
            _exit(127);
        }
    }
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter));
    MPI_Comm_set_errhandler(*inter, MPI_ERRORS_RETURN);
    return started;
}

static void receive(MPI_Comm inter)
{
    int word = -1;
    for (int i = 0; i < 3; i++) {
        OK(MPI_Recv(&word, 1, MPI_INT, 0, i, inter, MPI_STATUS_IGNORE));
        CHECK(word == i, "%d", word);
    }
}

/* Of a send and a receive in one call the error of either is told. Nobody is at the other end of the receives. */
static void exchange(MPI_Comm inter)
{
    int out = 1, in = -1, flag = 0, index = -1;
    MPI_Request request, two[2];
    MPI_Status status, both[2];
    FAILS(MPI_ERR_PROC_ABORTED,
          MPI_Sendrecv(&out, 1, MPI_INT, 0, 9, &in, 1, MPI_INT, MPI_PROC_NULL, 9, inter, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL, "%d", status.MPI_SOURCE);
    FAILS(MPI_ERR_PROC_ABORTED,
          MPI_Sendrecv(many, LONG, MPI_INT, 0, 9, &in, 1, MPI_INT, MPI_PROC_NULL, 9, inter, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_PROC_ABORTED,
          MPI_Sendrecv_replace(&out, 1, MPI_INT, 0, 9, MPI_PROC_NULL, 9, inter, MPI_STATUS_IGNORE));

    OK(MPI_Isendrecv(&out, 1, MPI_INT, 0, 9, &in, 1, MPI_INT, MPI_PROC_NULL, 9, inter, &request));
    /* Asking for the status ends nothing, and is no error. */
    while (!flag)
        OK(MPI_Request_get_status(request, &flag, &status));
    FAILS(MPI_ERR_PROC_ABORTED, MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL && status.MPI_SOURCE == MPI_PROC_NULL);
    OK(MPI_Isendrecv_replace(many, LONG, MPI_INT, 0, 9, MPI_PROC_NULL, 9, inter, &request));
    FAILS(MPI_ERR_PROC_ABORTED, MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE));
    CHECK(flag && index == 0 && request == MPI_REQUEST_NULL);

    OK(MPI_Irecv(&in, 1, MPI_INT, MPI_PROC_NULL, 9, inter, &two[0]));
    OK(MPI_Isendrecv(&out, 1, MPI_INT, 0, 9, &in, 1, MPI_INT, MPI_PROC_NULL, 9, inter, &two[1]));
    FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(2, two, both));
    MPI_Error_class(both[1].MPI_ERROR, &index);
    CHECK(both[0].MPI_ERROR == MPI_SUCCESS && index == MPI_ERR_PROC_ABORTED, "%d, %d", both[0].MPI_ERROR, index);
    CHECK(out == 1 && in == -1);
}

int main(int argc, char **argv)
{
    MPI_Comm inter;
    begin(&argc, &argv);
    if (argc == 3) {
        snprintf(port, sizeof port, "%s", argv[2]);
        other(argv[1]);
    }
    if (rank == 0)
        OK(MPI_Open_port(MPI_INFO_NULL, port));

    pid_t first = meet(argv[0], "early", &inter);
    if (rank == 0)
        receive(inter);
    FAILS(MPI_ERR_PROC_ABORTED, MPI_Recv(many, 1, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_PROC_ABORTED, MPI_Send(many, LONG, MPI_INT, 0, 9, inter));
    exchange(inter);

    MPI_Comm late;
    pid_t second = meet(argv[0], "late", &late);
    if (rank == 0) {
        receive(late);
        OK(MPI_Send(many, 1, MPI_INT, 0, 0, late));
    }
    int code = finish();
    if (rank == 0)
        CHECK(waitpid(first, NULL, 0) == first && waitpid(second, NULL, 0) == second);
    return code + failures;
}
