// Sessions alone: ranks have the decision of an agreement and come to the end of MPI, while another one still needs an answer to it. The
// rank that was to pass it on is stopped and then killed. With an argument they have freed the communicator before.
// mpiexec --with-ft, 4 ranks on one machine; rank 1 is lost.
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank, pids[64], pid = getpid(), flag = 1, class;
    (void)argv;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "leave", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, comm);
    if (rank == 0) {
        // The others have given what they have to give by now, and wait.
        usleep(500000);
        kill(pids[1], SIGSTOP);
        if (fork() == 0) {
            sleep(2);
            kill(pids[1], SIGKILL);
            _exit(0);
        }
    }
    MPI_Error_class(MPIX_Comm_agree(comm, &flag), &class);
    if (flag != 1 || (class != MPI_SUCCESS && class != MPIX_ERR_PROC_FAILED)) {
        printf("rank %d: flag %d, class %d\n", rank, flag, class);
        MPI_Abort(comm, 1);
    }
    if (argc > 1)
        MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    printf("rank %d has left\n", rank);
    return 0;
}
