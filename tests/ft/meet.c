// Processes die while parents and the children that they have spawned meet: a parent, or a child before or in its MPI_Init. The other children end,
// MPI_Comm_spawn says so to the parents that live, and those shrink and spawn again.
// mpiexec --with-ft, 3 ranks or more; the argument says who dies: root, other, killed, ends, inside.
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { printf("rank %d, line %d: %s\n", rank, __LINE__, #what); fflush(stdout); MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)
enum { CHILDREN = 2 };

static int rank;

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

// A child that is to meet its parents. `victim` is a parent that dies.
static int child(int argc, char **argv, const char *who, int victim)
{
    int number = atoi(getenv("TERN_RANK"));
    if (victim > 0 && number == 0)
        kill(victim, SIGKILL);
    if (strcmp(who, "killed") == 0 && number == 1)
        raise(SIGKILL);
    if (strcmp(who, "ends") == 0 && number == 0)
        _exit(0);
    if (strcmp(who, "inside") == 0) {
        // The other one comes when this one has long been killed.
        if (number == 0)
            sleep(2);
        else if (fork() == 0) {
            usleep(500000);
            kill(getppid(), SIGKILL);
            _exit(0);
        }
    }
    MPI_Comm parent, merged;
    int sum = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    MPI_Intercomm_merge(parent, 1, &merged);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, merged);
    printf("a child has met its parents, of %d\n", sum);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

static int spawn(char *program, const char *who, int victim, MPI_Comm comm, MPI_Comm *children)
{
    char text[20], name[20];
    char *arguments[] = {name, text, NULL};
    strcpy(name, who);
    sprintf(text, "%d", victim);
    return MPI_Comm_spawn(program, arguments, CHILDREN, MPI_INFO_NULL, 0, comm, children, MPI_ERRCODES_IGNORE);
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return child(argc, argv, argv[1], atoi(argv[2]));
    MPI_Comm living, children, merged;
    int size, pids[64], pid = getpid(), victim = 0, sum = 1, left;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(argc == 2 && size >= 3 && size <= 64);
    MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0)
        victim = strcmp(argv[1], "root") == 0 ? pids[0] : strcmp(argv[1], "other") == 0 ? pids[1] : 0;
    int code = class_of(spawn(argv[0], argv[1], victim, MPI_COMM_WORLD, &children));
    CHECK(code == MPIX_ERR_PROC_FAILED || code == MPI_ERR_SPAWN);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &living) == MPI_SUCCESS);
    MPI_Comm_size(living, &left);
    CHECK(left == size - (strcmp(argv[1], "root") == 0 || strcmp(argv[1], "other") == 0));
    CHECK(spawn(argv[0], "nobody", 0, living, &children) == MPI_SUCCESS);
    CHECK(MPI_Intercomm_merge(children, 0, &merged) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, merged) == MPI_SUCCESS && sum == left + CHILDREN);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&children);
    MPI_Comm_free(&living);
    MPI_Finalize();
    printf("a parent has gone on\n");
    return 0;
}
