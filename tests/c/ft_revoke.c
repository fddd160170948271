// ranks: 4
// mpiexec: --with-ft
// timeout: 120
// Revocation in the midst of things: communicators that are being made, long and synchronous sends that nobody receives, and members that have
// freed the communicator, which pass the news on though whoever revoked it has died.
#include "ft.h"

enum { LONG = 4 << 20 };

static char big[LONG];

/* The call ends since the communicator is revoked. */
#define ENDS(call) \
    do { \
        int class_ = TRY(call); \
        CHECK(class_ == MPIX_ERR_REVOKED, "class %d of %s", class_, #call); \
    } while (0)

static MPI_Comm copy_of(MPI_Comm comm)
{
    MPI_Comm made = MPI_COMM_NULL;
    OK(MPI_Comm_dup(comm, &made));
    OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
    return made;
}

/* The last rank comes when the parent is revoked already. */
static void parent_while_duplicated(void)
{
    MPI_Comm parent = copy_of(MPI_COMM_WORLD), made = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0, go = 1;
    if (rank != size - 1) {
        WORKS(MPI_Comm_idup(parent, &made, &request));
        if (rank == 0) {
            WORKS(MPI_Comm_revoke(parent));
            WORKS(MPI_Send(&go, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD));
        }
        ENDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL, "rank %d", rank);
    } else {
        WORKS(MPI_Recv(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        tried = "MPIX_Comm_is_revoked until it is";
        alarm(LIMIT);
        while (!flag)
            MPIX_Comm_is_revoked(parent, &flag);
        alarm(0);
        int class = TRY(MPI_Comm_idup(parent, &made, &request));
        CHECK(class == MPI_SUCCESS || class == MPIX_ERR_REVOKED, "class %d", class);
        if (class == MPI_SUCCESS)
            ENDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    WORKS(MPI_Comm_free(&parent));
}

/* The copy is revoked by a member that has it, while others do not. */
static void copy_while_made(int early)
{
    for (int times = 0; times < 20; times++) {
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Request request;
        int flag = 0;
        WORKS(MPI_Comm_idup(MPI_COMM_WORLD, &made, &request));
        if (rank == times % size && early)
            WORKS(MPI_Comm_revoke(made));
        WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
        if (rank == times % size && !early)
            WORKS(MPI_Comm_revoke(made));
        ENDS(MPI_Barrier(made));
        WORKS(MPIX_Comm_is_revoked(made, &flag));
        CHECK(flag, "rank %d has not heard", rank);
        WORKS(MPI_Comm_free(&made));
        WORKS(MPIX_Comm_is_revoked(MPI_COMM_WORLD, &flag));
        CHECK(!flag, "another communicator is revoked");
        WORKS(MPI_Barrier(MPI_COMM_WORLD));
    }
}

/* Rank 1 never receives; it has freed the communicator, or has it still. */
static void long_sends(int is_freed)
{
    MPI_Comm comm = copy_of(MPI_COMM_WORLD);
    MPI_Request requests[3];
    if (rank == 1 && is_freed)
        WORKS(MPI_Comm_free(&comm));
    WORKS(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        WORKS(MPI_Isend(big, LONG, MPI_CHAR, 1, 2, comm, &requests[0]));
        WORKS(MPI_Issend(big, 4, MPI_CHAR, 1, 3, comm, &requests[1]));
        WORKS(MPI_Issend(big, 4, MPI_CHAR, 0, 4, comm, &requests[2]));
        WORKS(MPI_Comm_revoke(comm));
        for (int i = 0; i < 3; i++)
            ENDS(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        memset(big, 1, sizeof big);
    }
    if (rank == 2)
        ENDS(MPI_Send(big, LONG, MPI_CHAR, 1, 5, comm));
    if (rank == 3)
        ENDS(MPI_Ssend(big, 4, MPI_CHAR, 1, 6, comm));
    WORKS(MPI_Barrier(MPI_COMM_WORLD));
    if (comm != MPI_COMM_NULL)
        WORKS(MPI_Comm_free(&comm));
}

/* A long message that is being received when the communicator is revoked: its bytes are those that were sent, or the receive fails. */
static void long_exchanges(void)
{
    static char into[LONG];
    for (int times = 0; times < 10; times++) {
        MPI_Comm comm = copy_of(MPI_COMM_WORLD);
        MPI_Request requests[2];
        memset(big, 1 + times, sizeof big);
        memset(into, 0, sizeof into);
        /* The news may be here before they begin. */
        int received = TRY(MPI_Irecv(into, LONG, MPI_CHAR, (rank + size - 1) % size, 7, comm, &requests[0]));
        int sent = TRY(MPI_Isend(big, LONG, MPI_CHAR, (rank + 1) % size, 7, comm, &requests[1]));
        if (rank == times % size)
            WORKS(MPI_Comm_revoke(comm));
        if (sent == MPI_SUCCESS)
            sent = TRY(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        memset(big, 99, sizeof big);
        if (received == MPI_SUCCESS)
            received = TRY(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        CHECK(sent == MPI_SUCCESS || sent == MPIX_ERR_REVOKED, "class %d", sent);
        CHECK(received == MPI_SUCCESS || received == MPIX_ERR_REVOKED, "class %d", received);
        for (int i = 0; received == MPI_SUCCESS && i < LONG; i++)
            if (into[i] != 1 + times) {
                CHECK(0, "byte %d is %d", i, into[i]);
                break;
            }
        WORKS(MPI_Comm_free(&comm));
        WORKS(MPI_Barrier(MPI_COMM_WORLD));
    }
}

/* Those whom the first rank tells have freed the communicator; the last one waits there. */
static void freed_members_pass_it_on(void)
{
    MPI_Comm comm = copy_of(MPI_COMM_WORLD);
    int x;
    if (rank == 1 || rank == 2)
        WORKS(MPI_Comm_free(&comm));
    WORKS(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        WORKS(MPI_Comm_revoke(comm));
    if (rank == 3)
        ENDS(MPI_Recv(&x, 1, MPI_INT, 0, 8, comm, MPI_STATUS_IGNORE));
    WORKS(MPI_Barrier(MPI_COMM_WORLD));
    if (comm != MPI_COMM_NULL)
        WORKS(MPI_Comm_free(&comm));
}

/* The last rank revokes it and dies; of the others only the second one has it still, and waits for one that lives. */
static void after_a_death(void)
{
    MPI_Comm comm = copy_of(MPI_COMM_WORLD);
    int x;
    if (rank == 0 || rank == 2)
        WORKS(MPI_Comm_free(&comm));
    WORKS(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == victim()) {
        MPI_Comm_revoke(comm);
        die();
    }
    if (rank == 1) {
        ENDS(MPI_Recv(&x, 1, MPI_INT, 2, 9, comm, MPI_STATUS_IGNORE));
        WORKS(MPI_Comm_free(&comm));
    }
    WORKS(MPI_Barrier(living));
}

int main(int argc, char **argv)
{
    begin_ft(&argc, &argv);
    parent_while_duplicated();
    copy_while_made(0);
    copy_while_made(1);
    long_sends(0);
    long_sends(1);
    long_exchanges();
    freed_members_pass_it_on();
    after_a_death();
    return finish_ft();
}
