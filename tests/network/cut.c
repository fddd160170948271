// Ranks 1 and 2 exchange messages, and then the way between them is cut: rank 1 runs the command CUT. Rank 0 stands by.
// Usage: cut HOW CALLER FOLDER
//   send: rank 1 sends to rank 2 all the same, and waits for rank 0. Rank 2 is in no call. Errors end the job.
//   return: likewise, and errors are returned. Rank 2 waits for the message.
//   wait: rank 2 waits for rank 1, which sends nothing and is in no call. Errors are returned.
//   end: nothing is cut, and all end.
//   gap: CUT also mends the way some seconds later. Rank 1 sends to rank 2 meanwhile, and waits for it.
//   stop: nothing is cut. Rank 2 is stopped for 7 s, while rank 1 sends to it and waits for it.
// CALLER sends the first message of the two, and so makes the connection. In FOLDER ranks tell each other what they have got to, beside MPI.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder;

static void tell(const char *what, int value)
{
    char draft[300], name[300];
    snprintf(draft, sizeof draft, "%s/%s.draft", folder, what);
    snprintf(name, sizeof name, "%s/%s", folder, what);
    FILE *file = fopen(draft, "w");
    fprintf(file, "%d\n", value);
    fclose(file);
    rename(draft, name);
}

static int wait_for(const char *what)
{
    char name[300];
    int value = 0;
    snprintf(name, sizeof name, "%s/%s", folder, what);
    while (access(name, F_OK)) usleep(10000);
    FILE *file = fopen(name, "r");
    if (fscanf(file, "%d", &value) != 1) abort();
    fclose(file);
    return value;
}

static const char *word(int code)
{
    int class = code;
    if (code) MPI_Error_class(code, &class);
    return class == MPI_ERR_PROC_ABORTED ? "aborted" : code ? "failed" : "well";
}

static void meet(int rank, int caller)
{
    int value = 1, other = 3 - rank;
    if (rank == caller) MPI_Send(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != caller) MPI_Send(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
}

static void cut(void)
{
    if (system(getenv("CUT"))) MPI_Abort(MPI_COMM_WORLD, 3);
    tell("cut", 1);
}

// Rank 1 sends to rank 2 and waits for it.
static void ask(int rank)
{
    int value = 5, other = 3 - rank;
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, other, 2, MPI_COMM_WORLD);
    int code = MPI_Recv(&value, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 2) MPI_Send(&value, 1, MPI_INT, other, 2, MPI_COMM_WORLD);
    printf("rank %d: %s, got %d\n", rank, word(code), value);
}

static void stopped(int rank)
{
    if (rank == 2) {
        tell("stopped", getpid());
        raise(SIGSTOP);
    } else {
        pid_t stopped = wait_for("stopped");
        if (rank == 0) {
            sleep(7);
            kill(stopped, SIGCONT);
            return;
        }
    }
    ask(rank);
}

int main(int argc, char **argv)
{
    int rank, value = 1, code;
    if (argc < 4) return 2;
    const char *how = argv[1];
    folder = argv[3];
    setvbuf(stdout, NULL, _IOLBF, 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(how, "send")) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank) meet(rank, atoi(argv[2]));
    if (!strcmp(how, "stop")) {
        stopped(rank);
    } else if (!strcmp(how, "gap")) {
        if (rank == 1) cut();
        if (rank) ask(rank);
    } else if (!strcmp(how, "end")) {
        printf("rank %d: ends\n", rank);
    } else if (rank == 1) {
        cut();
        if (!strcmp(how, "wait")) {
            wait_for("told");
        } else {
            code = MPI_Send(&value, 1, MPI_INT, 2, 2, MPI_COMM_WORLD);
            printf("rank 1: sent, %s\n", word(code));
            code = MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("rank 1: %s\n", word(code));
            tell("sender-told", 1);
        }
    } else if (rank == 2) {
        wait_for("cut");
        if (!strcmp(how, "send")) wait_for("never");
        code = MPI_Recv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("rank 2: %s\n", word(code));
        tell("told", 1);
    } else {
        wait_for(!strcmp(how, "send") ? "never" : !strcmp(how, "wait") ? "told" : "sender-told");
    }
    return MPI_Finalize() ? 9 : 0;
}
