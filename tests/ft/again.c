// Sessions of which the second one works, though ranks leave the first one differently. One rank frees the communicator and is away for a while, and
// the others end their session with it, or the other way round. With "agree" they have agreed on something there. With "without" they agree once the
// first rank has left, which comes back when they have. Nobody is lost.
// mpiexec --with-ft, again one|others [agree|without]; some ranks, for "one without" on one machine.
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *more = argc > 2 ? argv[2] : "";
    int rank, size, living, sum, flag, sign, code = MPI_SUCCESS;
    sigset_t signs;
    sigemptyset(&signs);
    sigaddset(&signs, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signs, NULL);
    for (int round = 0; round < 2; round++) {
        MPI_Session session;
        MPI_Group group;
        MPI_Comm comm;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        MPI_Group_from_session_pset(session, "tern://LIVING", &group);
        MPI_Group_size(group, &living);
        MPI_Group_free(&group);
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        code = MPI_Comm_create_from_group(group, "again", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
        MPI_Group_size(group, &size);
        MPI_Group_rank(group, &rank);
        MPI_Group_free(&group);
        if (code == MPI_SUCCESS)
            code = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        int first = getpid();
        if (code == MPI_SUCCESS)
            code = MPI_Bcast(&first, 1, MPI_INT, 0, comm);
        if (rank > 0)
            usleep(300000);
        flag = 1;
        if (code == MPI_SUCCESS && (strcmp(more, "agree") == 0 || (strcmp(more, "without") == 0 && rank > 0)))
            code = MPIX_Comm_agree(comm, &flag);
        if (code != MPI_SUCCESS || sum != size * (size - 1) / 2 || living != size || !flag) {
            printf("rank %d, session %d: error %d, %d of %d live\n", rank, round, code, living, size);
            return 1;
        }
        if (strcmp(more, "without") == 0 && rank == 1)
            kill(first, SIGUSR1);
        if ((rank == 0) == (strcmp(argv[1], "one") == 0))
            MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
        if (strcmp(more, "without") == 0 && rank == 0)
            sigwait(&signs, &sign);
        // Meanwhile the others may look what has become of this rank.
        usleep(rank > 0 ? 100000 : 1000000);
    }
    printf("rank %d has had two sessions\n", rank);
    return 0;
}
