// Predefined attributes: communicators that come from a session have MPI_TAG_UB alone, all others have all of them.
// ranks: 1 2 4
#include "check.h"

enum { KEYS = 7 };
static const int keys[KEYS] = {MPI_TAG_UB, MPI_IO, MPI_HOST, MPI_WTIME_IS_GLOBAL, MPI_LASTUSEDCODE, MPI_UNIVERSE_SIZE, MPI_APPNUM};

static void looked_at(const char *what, MPI_Comm comm, int of_session)
{
    for (int i = 0; i < KEYS; i++) {
        int flag = -1, *value = NULL;
        OK(MPI_Comm_get_attr(comm, keys[i], &value, &flag));
        int wanted = i == 0 || !of_session;
        CHECK(i >= 5 && !of_session ? flag >= 0 : flag == wanted, "%s, key %d: %d", what, i, flag);
        if (i == 0) CHECK(flag == 1 && *value >= 32767, "%s", what);
    }
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(comm, MPI_IO, NULL));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(comm, MPI_TAG_UB));
}

/* Looks at `comm` and at what is made from it, and frees all. */
static void family(MPI_Comm comm, int of_session)
{
    MPI_Comm other, half, merged;
    MPI_Request request;
    MPI_Win win;
    int *base, flag, keyval, value = 5, *found = NULL, number, many, period = 0;
    OK(MPI_Comm_rank(comm, &number));
    OK(MPI_Comm_size(comm, &many));
    looked_at("the communicator", comm, of_session);
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
    OK(MPI_Comm_set_attr(comm, keyval, &value));
    OK(MPI_Comm_dup(comm, &other));
    looked_at("a duplicate", other, of_session);
    OK(MPI_Comm_get_attr(other, keyval, &found, &flag));
    CHECK(flag && found == &value, "the program's own attribute");
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_free_keyval(&keyval));
    OK(MPI_Comm_idup(comm, &other, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    looked_at("a duplicate in the background", other, of_session);
    OK(MPI_Comm_free(&other));
    OK(MPI_Cart_create(comm, 1, &many, &period, 0, &other));
    looked_at("a grid", other, of_session);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_split(comm, number >= many / 2, 0, &half));
    looked_at("a part", half, of_session);
    if (many > 1) {
        OK(MPI_Intercomm_create(half, 0, comm, number < many / 2 ? many / 2 : 0, 1, &other));
        looked_at("an intercommunicator", other, of_session);
        OK(MPI_Intercomm_merge(other, number < many / 2, &merged));
        looked_at("a merged communicator", merged, of_session);
        OK(MPI_Comm_free(&merged));
        OK(MPI_Comm_dup(other, &merged));
        looked_at("a duplicate of the intercommunicator", merged, of_session);
        OK(MPI_Comm_free(&merged));
        OK(MPI_Comm_split(other, 0, 0, &merged));
        looked_at("a part of the intercommunicator", merged, of_session);
        OK(MPI_Comm_free(&other));
        OK(MPI_Intercomm_merge(merged, 0, &other));
        looked_at("what that is merged to", other, of_session);
        OK(MPI_Comm_free(&other));
        OK(MPI_Comm_free(&merged));
    }
    OK(MPI_Comm_free(&half));
    /* Attributes of windows are the window's own. */
    OK(MPI_Win_allocate(16, 4, MPI_INFO_NULL, comm, &base, &win));
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &found, &flag));
    CHECK(flag && found == base);
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &found, &flag));
    CHECK(flag && *found == 4);
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&comm));
}

static void of_session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "org.tern.attributes", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_rank(comm, &rank));
    family(comm, 1);
    OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    of_session();
    begin(&argc, &argv);
    of_session();
    looked_at("MPI_COMM_WORLD", MPI_COMM_WORLD, 0);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    family(comm, 0);
    return finish();
}
