// ranks: 1
// The names of fault tolerance are there, MPIX_ and MPI_ and those for tools, with their error classes, and do in a job
// without failures what they do when nobody is lost.
#include "check.h"

#ifndef MPICH_NAME
#include <mpi-ext.h>
#if !OMPI_HAVE_MPI_EXT_FTMPI || !OMPI_HAVE_MPIX_COMM_GET_FAILED || !OMPI_HAVE_MPIX_COMM_ACK_FAILED
#error "mpi-ext.h does not say that the functions are there"
#endif
/* Open MPI 5.0 has no MPIX_Comm_ishrink. */
#if !defined(OPEN_MPI) && !OMPI_HAVE_MPIX_COMM_ISHRINK
#error "mpi-ext.h does not say that MPIX_Comm_ishrink is there"
#endif
#endif

#define BOTH(name) (void (*)(void))name, (void (*)(void))P##name
static void (*const functions[])(void) = {
    BOTH(MPI_Comm_revoke), BOTH(MPIX_Comm_revoke), BOTH(MPI_Comm_get_failed), BOTH(MPIX_Comm_get_failed),
    BOTH(MPI_Comm_ack_failed), BOTH(MPIX_Comm_ack_failed), BOTH(MPIX_Comm_is_revoked), BOTH(MPIX_Comm_failure_ack),
    BOTH(MPIX_Comm_failure_get_acked), BOTH(MPIX_Comm_agree), BOTH(MPIX_Comm_iagree), BOTH(MPIX_Comm_shrink),
    BOTH(MPIX_Comm_ishrink),
};

static void classes(void)
{
    static const struct {
        int class;
        const char *name;
    } known[] = {
        { MPIX_ERR_PROC_FAILED, "MPI_ERR_PROC_FAILED:" },
        { MPIX_ERR_PROC_FAILED_PENDING, "MPI_ERR_PROC_FAILED_PENDING:" },
        { MPIX_ERR_REVOKED, "MPI_ERR_REVOKED:" },
    };
    for (int i = 0; i < 3; i++) {
        char text[MPI_MAX_ERROR_STRING];
        int length, class = 0;
        OK(MPI_Error_string(known[i].class, text, &length));
        CHECK(!strncmp(text, known[i].name, strlen(known[i].name)), "%s", text);
        OK(MPI_Error_class(known[i].class, &class));
        CHECK(class == known[i].class && class < MPI_ERR_LASTCODE, "class %d", class);
        /* A code of the program's in such a class, and a status that holds it. */
        int code = 0;
        MPI_Status status;
        OK(MPI_Add_error_code(known[i].class, &code));
        OK(MPI_Error_class(code, &class));
        CHECK(code > MPI_ERR_LASTCODE && class == known[i].class, "code %d, class %d", code, class);
        OK(MPI_Status_set_error(&status, known[i].class));
        CHECK(status.MPI_ERROR == known[i].class, "error %d", status.MPI_ERROR);
    }
}

/* MPICH's header has no name for the attribute. */
static void attribute(void)
{
#ifdef MPIX_FT
    int *survives = NULL, found = 0;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &survives, &found));
    CHECK(found && (*survives == 0 || *survives == 1));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, MPIX_FT, NULL));
#endif
}

static void wrong_arguments(void)
{
    MPI_Group group;
    MPI_Comm made;
    MPI_Request request;
    int number = 0;
    FAILS(MPI_ERR_COMM, MPI_Comm_revoke(MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Comm_get_failed(MPI_COMM_NULL, &group));
    FAILS(MPI_ERR_COMM, MPI_Comm_ack_failed(MPI_COMM_NULL, 0, &number));
    FAILS(MPI_ERR_ARG, MPI_Comm_ack_failed(MPI_COMM_WORLD, -1, &number));
    FAILS(MPI_ERR_COMM, MPIX_Comm_is_revoked(MPI_COMM_NULL, &number));
    FAILS(MPI_ERR_ARG, MPIX_Comm_is_revoked(MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_COMM, MPIX_Comm_failure_ack(MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPIX_Comm_failure_get_acked(MPI_COMM_NULL, &group));
    FAILS(MPI_ERR_COMM, MPIX_Comm_agree(MPI_COMM_NULL, &number));
    FAILS(MPI_ERR_COMM, MPIX_Comm_iagree(MPI_COMM_NULL, &number, &request));
    FAILS(MPI_ERR_COMM, MPIX_Comm_shrink(MPI_COMM_NULL, &made));
    FAILS(MPI_ERR_COMM, MPIX_Comm_ishrink(MPI_COMM_NULL, &made, &request));
}

/* Nobody has failed: the groups are empty. */
static void nobody_failed(MPI_Comm comm)
{
    MPI_Group group = MPI_GROUP_NULL;
    int acked = -1, members = -1;
    OK(MPI_Comm_get_failed(comm, &group));
    OK(MPI_Group_size(group, &members));
    CHECK(members == 0, "%d members", members);
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_ack_failed(comm, 0, &acked));
    CHECK(acked == 0, "%d", acked);
    OK(MPIX_Comm_failure_ack(comm));
    OK(MPIX_Comm_failure_get_acked(comm, &group));
    OK(MPI_Group_size(group, &members));
    CHECK(members == 0, "%d members", members);
    OK(MPI_Group_free(&group));
}

static void agrees_and_shrinks(MPI_Comm comm)
{
    MPI_Comm made[2] = { MPI_COMM_NULL, MPI_COMM_NULL };
    MPI_Request request;
    int flag = 6, later = 5, result = MPI_UNEQUAL;
    OK(MPIX_Comm_agree(comm, &flag));
    CHECK(flag == 6, "%d", flag);
    OK(MPIX_Comm_iagree(comm, &later, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(later == 5, "%d", later);
    OK(MPIX_Comm_shrink(comm, &made[0]));
    OK(MPIX_Comm_ishrink(comm, &made[1], &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2; i++) {
        OK(MPI_Comm_compare(comm, made[i], &result));
        CHECK(result == MPI_CONGRUENT, "%d", result);
        OK(MPI_Comm_free(&made[i]));
    }
}

/* A revoked communicator still agrees and shrinks. */
static void revokes(MPI_Comm comm)
{
    MPI_Comm made = MPI_COMM_NULL;
    int flag = 1;
    OK(MPIX_Comm_is_revoked(comm, &flag));
    CHECK(flag == 0, "%d", flag);
    OK(MPI_Comm_revoke(comm));
    OK(MPIX_Comm_is_revoked(comm, &flag));
    CHECK(flag == 1, "%d", flag);
    FAILS(MPIX_ERR_REVOKED, MPI_Barrier(comm));
    flag = 3;
    OK(MPIX_Comm_agree(comm, &flag));
    CHECK(flag == 3, "%d", flag);
    OK(MPIX_Comm_shrink(comm, &made));
    OK(MPI_Barrier(made));
    OK(MPI_Comm_free(&made));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    begin(&argc, &argv);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        CHECK(functions[i] != NULL, "function %zu", i);
    classes();
    attribute();
    wrong_arguments();
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    nobody_failed(comm);
    agrees_and_shrinks(comm);
    revokes(comm);
    MPI_Comm_free(&comm);
    return finish();
}
