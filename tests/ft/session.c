// Sessions alone, without MPI_Init: a rank is killed, the others ask for the set of the living, make a communicator of it, and end. Another rank is
// killed before they agree for the last time, and each ends its session when it likes.
// mpiexec --with-ft, 4 ranks or more; the last two are lost.
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static MPI_Comm all;

#define CHECK(what) do { if (!(what)) { printf("rank %d, line %d: %s\n", rank, __LINE__, #what); fflush(stdout); MPI_Abort(all, 1); } } while (0)

static MPI_Comm comm_of(MPI_Session session, const char *set, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, set, &group);
    if (MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) != MPI_SUCCESS)
        comm = MPI_COMM_NULL;
    MPI_Group_free(&group);
    return comm;
}

// The session says that the job goes on, and so do its communicators.
static void asked(MPI_Session session)
{
    MPI_Info info;
    char value[20];
    int length = sizeof value, found, *ft;
    MPI_Session_get_info(session, &info);
    MPI_Info_get_string(info, "mpi_ft", &length, value, &found);
    CHECK(found && strcmp(value, "true") == 0);
    MPI_Info_free(&info);
    MPI_Comm_get_attr(all, MPIX_FT, &ft, &found);
    CHECK(found && *ft);
}

// How many processes the set has.
static int size_of(MPI_Session session, const char *set)
{
    MPI_Group group;
    int n;
    CHECK(MPI_Group_from_session_pset(session, set, &group) == MPI_SUCCESS);
    MPI_Group_size(group, &n);
    MPI_Group_free(&group);
    return n;
}

static void listed(MPI_Session session, const char *set)
{
    char name[MPI_MAX_PSET_NAME_LEN];
    int n, found = 0;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n);
    for (int i = 0; i < n; i++) {
        int length = sizeof name;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
        found += strcmp(name, set) == 0;
    }
    CHECK(found == 1);
}

int main(void)
{
    MPI_Session session;
    MPI_Comm living;
    int flag = 1, sum = 1;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    all = comm_of(session, "mpi://WORLD", "all");
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    CHECK(size >= 4);
    asked(session);
    listed(session, "tern://LIVING");
    CHECK(size_of(session, "tern://LIVING") == size);
    MPI_Barrier(all);
    if (rank == size - 1)
        raise(SIGKILL);
    // After an agreement all know of the same losses.
    CHECK(MPI_Barrier(all) != MPI_SUCCESS);
    MPIX_Comm_agree(all, &flag);
    CHECK(size_of(session, "tern://LIVING") == size - 1 && size_of(session, "mpi://WORLD") == size);
    living = comm_of(session, "tern://LIVING", "living");
    CHECK(living != MPI_COMM_NULL);
    CHECK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, living) == MPI_SUCCESS && sum == size - 1);
    if (rank == size - 2)
        raise(SIGKILL);
    if (rank == 1)
        usleep(500000);
    MPIX_Comm_agree(living, &flag);
    CHECK(flag == 1);
    // The first one has long ended when this one does.
    if (rank == 1)
        sleep(1);
    MPI_Session_finalize(&session);
    printf("rank %d has ended its session\n", rank);
    return 0;
}
