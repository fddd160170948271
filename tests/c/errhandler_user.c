// Error handlers of the program's, error classes, codes and strings.
// ranks: 1 2
#include "check.h"

static int calls, seen;
static MPI_Comm where;

static void handler(MPI_Comm *comm, int *code, ...)
{
    calls++;
    seen = *code;
    where = *comm;
}

static void forgiving(MPI_Comm *comm, int *code, ...)
{
    handler(comm, code);
    *code = MPI_SUCCESS;
}

static void session_handler(MPI_Session *session, int *code, ...)
{
    (void)session;
    calls++;
    seen = *code;
}

static void codes(void)
{
    int class, code, back, length, *last, flag;
    char text[MPI_MAX_ERROR_STRING];
    OK(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
    CHECK(flag && *last == class);
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "the tern has flown"));
    OK(MPI_Error_class(code, &back));
    CHECK(back == class);
    OK(MPI_Error_string(code, text, &length));
    CHECK(strcmp(text, "the tern has flown") == 0 && length == 18);
    OK(MPI_Error_string(MPI_ERR_TRUNCATE, text, &length));
    CHECK(length > 0 && (int)strlen(text) == length);
    CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS);
    OK(MPI_Remove_error_string(code));
    OK(MPI_Remove_error_code(code));
    OK(MPI_Remove_error_class(class));
    CHECK(MPI_Add_error_string(MPI_ERR_RANK, "mine") != MPI_SUCCESS);

    /* A code of the program's through its handler. */
    MPI_Comm comm;
    MPI_Errhandler errhandler;
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Comm_create_errhandler(handler, &errhandler));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_set_errhandler(comm, errhandler));
    calls = 0;
    OK(MPI_Comm_call_errhandler(comm, code));
    CHECK(calls == 1 && seen == code && where == comm);
    OK(MPI_Errhandler_free(&errhandler));
    OK(MPI_Comm_free(&comm));
}

/* A call over several requests returns MPI_ERR_IN_STATUS; the handler gets the code of the request because of which it is called. */
static void several(void)
{
    int big[4] = { 1, 2, 3, 4 }, small = 0, way;
    MPI_Comm comm;
    MPI_Errhandler errhandler, mild;
    OK(MPI_Comm_create_errhandler(handler, &errhandler));
    OK(MPI_Comm_create_errhandler(forgiving, &mild));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    for (way = 0; way < 4; way++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        int count, indices[2], code;
        OK(MPI_Comm_set_errhandler(comm, way < 3 ? errhandler : mild));
        OK(MPI_Isend(big, 4, MPI_INT, 0, 1, comm, &requests[0]));
        OK(MPI_Irecv(&small, 1, MPI_INT, 0, 1, comm, &requests[1]));
        calls = seen = 0;
        switch (way) {
        case 1: code = MPI_Waitsome(1, &requests[1], &count, indices, statuses); break;
        case 2: do code = MPI_Testall(2, requests, &count, statuses); while (!count); break;
        default: code = MPI_Waitall(2, requests, statuses);
        }
        CHECK(calls == 1 && seen == MPI_ERR_TRUNCATE && where == comm, "way %d: %d calls, code %d", way, calls, seen);
        CHECK(code == (way < 3 ? MPI_ERR_IN_STATUS : MPI_SUCCESS), "way %d: returned %d", way, code);
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    }
    OK(MPI_Errhandler_free(&errhandler));
    OK(MPI_Errhandler_free(&mild));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Errhandler errhandler, got, again;
    MPI_Comm comm, child;
    int x = 0;
    OK(MPI_Comm_create_errhandler(handler, &errhandler));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == MPI_ERRORS_RETURN);   /* inherited */
    OK(MPI_Errhandler_free(&got));
    CHECK(got == MPI_ERRHANDLER_NULL);
    OK(MPI_Comm_set_errhandler(comm, errhandler));
    OK(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == errhandler);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&errhandler));
    CHECK(errhandler == MPI_ERRHANDLER_NULL);

    /* The communicator keeps it, and hands it on. */
    FAILS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, size, 0, comm));
    CHECK(calls == 1 && where == comm);
    OK(MPI_Comm_dup(comm, &child));
    FAILS(MPI_ERR_TAG, MPI_Send(&x, 1, MPI_INT, 0, -5, child));
    CHECK(calls == 2 && where == child);
    OK(MPI_Comm_get_errhandler(child, &got));
    OK(MPI_Comm_get_errhandler(child, &again));
    CHECK(got == again && got != MPI_ERRHANDLER_NULL);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, got));
    /* No object: MPI_COMM_SELF's handler. */
    int n;
    FAILS(MPI_ERR_COMM, MPI_Comm_size(MPI_COMM_NULL, &n));
    CHECK(calls == 3 && where == MPI_COMM_SELF);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&again));
    FAILS(MPI_ERR_COUNT, MPI_Send(&x, -1, MPI_INT, 0, 0, comm));
    CHECK(calls == 4);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&child));

    /* What a handler leaves in the code is what the call returns. */
    OK(MPI_Comm_create_errhandler(forgiving, &errhandler));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_set_errhandler(comm, errhandler));
    OK(MPI_Errhandler_free(&errhandler));
    calls = 0;
    CHECK(MPI_Send(&x, 1, MPI_INT, 1, 0, comm) == MPI_SUCCESS);
    CHECK(calls == 1 && where == comm);
    OK(MPI_Comm_free(&comm));

    /* A handler for sessions is none for communicators. */
    OK(MPI_Session_create_errhandler(session_handler, &errhandler));
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler) != MPI_SUCCESS);
    MPI_Session session;
    OK(MPI_Session_init(MPI_INFO_NULL, errhandler, &session));
    calls = 0;
    OK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
    CHECK(calls == 1 && seen == MPI_ERR_OTHER);
    OK(MPI_Session_finalize(&session));
    OK(MPI_Errhandler_free(&errhandler));
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRHANDLER_NULL) != MPI_SUCCESS);
    codes();
    several();
    return finish();
}
