// ranks: 1 2
// nodes: 1
// Functions that no other program calls, with right arguments.
#include "check.h"

static MPI_Comm world = MPI_COMM_WORLD;
static int peer;

/* Large-count forms of sends and receives: each ends in a message from the peer with value `wanted`. */
static void large_sends(void)
{
    static char space[4096];
    MPI_Request requests[2];
    MPI_Message message;
    int x = rank, y;
    void *back;
    MPI_Count size_back;

#define EXPECT(start) \
    do { \
        y = -1; \
        OK(MPI_Irecv_c(&y, 1, MPI_INT, peer, 3, world, &requests[0])); \
        start; \
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE)); \
        CHECK(y == peer, "%d", y); \
        MPI_Barrier(world); \
    } while (0)
#define STARTED(start) EXPECT(OK(start); OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE)))
#define PERSISTENT(init) \
    EXPECT(OK(init); OK(MPI_Start(&requests[1])); OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE)); \
           OK(MPI_Request_free(&requests[1])))

    OK(MPI_Buffer_attach_c(space, sizeof space));
    EXPECT(OK(MPI_Bsend_c(&x, 1, MPI_INT, peer, 3, world)));
    STARTED(MPI_Ibsend_c(&x, 1, MPI_INT, peer, 3, world, &requests[1]));
    PERSISTENT(MPI_Bsend_init_c(&x, 1, MPI_INT, peer, 3, world, &requests[1]));
    OK(MPI_Buffer_iflush(&requests[1]));
    OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    OK(MPI_Buffer_detach_c(&back, &size_back));
    CHECK(back == space && size_back == sizeof space, "%p %lld", back, (long long)size_back);
    OK(MPI_Comm_attach_buffer_c(world, space, sizeof space));
    EXPECT(OK(MPI_Bsend_c(&x, 1, MPI_INT, peer, 3, world)));
    OK(MPI_Comm_detach_buffer_c(world, &back, &size_back));
    CHECK(back == space && size_back == sizeof space, "%p %lld", back, (long long)size_back);

    STARTED(MPI_Isend_c(&x, 1, MPI_INT, peer, 3, world, &requests[1]));
    STARTED(MPI_Issend_c(&x, 1, MPI_INT, peer, 3, world, &requests[1]));
    EXPECT(MPI_Barrier(world); OK(MPI_Rsend_c(&x, 1, MPI_INT, peer, 3, world)));
    EXPECT(MPI_Barrier(world); OK(MPI_Irsend_c(&x, 1, MPI_INT, peer, 3, world, &requests[1]));
           OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE)));
    EXPECT(OK(MPI_Ssend_c(&x, 1, MPI_INT, peer, 3, world)));
    PERSISTENT(MPI_Send_init_c(&x, 1, MPI_INT, peer, 3, world, &requests[1]));
    PERSISTENT(MPI_Ssend_init_c(&x, 1, MPI_INT, peer, 3, world, &requests[1]));
    EXPECT(MPI_Barrier(world); OK(MPI_Rsend_init_c(&x, 1, MPI_INT, peer, 3, world, &requests[1]));
           OK(MPI_Start(&requests[1])); OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
           OK(MPI_Request_free(&requests[1])));

    int z = -1;
    OK(MPI_Recv_init_c(&z, 1, MPI_INT, peer, 4, world, &requests[0]));
    OK(MPI_Start(&requests[0]));
    OK(MPI_Send_c(&x, 1, MPI_INT, peer, 4, world));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&requests[0]));
    CHECK(z == peer, "%d", z);

    z = -1;
    OK(MPI_Sendrecv_c(&x, 1, MPI_INT, peer, 5, &z, 1, MPI_INT, peer, 5, world, MPI_STATUS_IGNORE));
    CHECK(z == peer, "%d", z);
    z = rank;
    OK(MPI_Sendrecv_replace_c(&z, 1, MPI_INT, peer, 5, peer, 5, world, MPI_STATUS_IGNORE));
    CHECK(z == peer, "%d", z);
    z = -1;
    OK(MPI_Isendrecv_c(&x, 1, MPI_INT, peer, 5, &z, 1, MPI_INT, peer, 5, world, &requests[0]));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(z == peer, "%d", z);
    z = rank;
    OK(MPI_Isendrecv_replace_c(&z, 1, MPI_INT, peer, 5, peer, 5, world, &requests[0]));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(z == peer, "%d", z);

    for (int form = 0; form < 2; form++) {
        z = -1;
        OK(MPI_Isend(&x, 1, MPI_INT, peer, 6, world, &requests[1]));
        OK(MPI_Mprobe(peer, 6, world, &message, MPI_STATUS_IGNORE));
        OK(form ? MPI_Mrecv_c(&z, 1, MPI_INT, &message, MPI_STATUS_IGNORE)
                : MPI_Imrecv_c(&z, 1, MPI_INT, &message, &requests[0]));
        if (form == 0)
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        CHECK(z == peer, "%d", z);
    }
}

/* Handles as ints and back. */
static void integers(void)
{
    MPI_Comm copy;
    MPI_Request request;
    int x;
    OK(MPI_Comm_dup(world, &copy));
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(copy)) == copy);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, world, &request));
    CHECK(MPI_Request_fromint(MPI_Request_toint(request)) == request);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(MPI_Group_fromint(MPI_Group_toint(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY);
    CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT);
    CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM);
    CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
    CHECK(MPI_Info_fromint(MPI_Info_toint(MPI_INFO_ENV)) == MPI_INFO_ENV);
    CHECK(MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
    CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
    CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
    CHECK(MPI_Session_fromint(MPI_Session_toint(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
}

static void session_error(MPI_Session *session, int *code, ...) { (void)session; (void)code; }
static void win_error(MPI_Win *win, int *code, ...) { (void)win; (void)code; }
static void file_error(MPI_File *file, int *code, ...) { (void)file; (void)code; }

static void sessions(void)
{
    static char space[4096];
    MPI_Session session;
    MPI_Errhandler handler, found;
    MPI_Info info;
    MPI_Request request;
    void *back;
    int size_back, keys;
    MPI_Count large;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Session_create_errhandler(session_error, &handler));
    OK(MPI_Session_set_errhandler(session, handler));
    OK(MPI_Session_get_errhandler(session, &found));
    CHECK(found == handler);
    OK(MPI_Errhandler_free(&found));
    OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Session_get_info(session, &info));
    OK(MPI_Info_get_nkeys(info, &keys));
    OK(MPI_Info_free(&info));
    OK(MPI_Session_attach_buffer(session, space, sizeof space));
    OK(MPI_Session_flush_buffer(session));
    OK(MPI_Session_iflush_buffer(session, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Session_detach_buffer(session, &back, &size_back));
    CHECK(back == space && size_back == sizeof space, "%p %d", back, size_back);
    OK(MPI_Session_attach_buffer_c(session, space, sizeof space));
    OK(MPI_Session_detach_buffer_c(session, &back, &large));
    CHECK(back == space && large == sizeof space, "%p %lld", back, (long long)large);
    OK(MPI_Session_finalize(&session));
    OK(MPI_Win_create_errhandler(win_error, &handler));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_File_create_errhandler(file_error, &handler));
    OK(MPI_Errhandler_free(&handler));
}

static void others(void)
{
    int key, length, one = 0, members, node;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Info info;
    MPI_Group all, without;
    MPI_Status status;
    OK(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Keyval_free(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Win_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
    OK(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && (int)strlen(name) == length, "%s %d", name, length);
    OK(MPI_Get_hw_resource_info(&info));
    if (info != MPI_INFO_NULL)
        OK(MPI_Info_free(&info));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "a", "b"));
    OK(MPI_Comm_set_info(world, info));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_group(world, &all));
    OK(MPI_Group_excl(all, 1, &one, &without));
    OK(MPI_Group_size(without, &members));
    CHECK(members == size - 1, "%d", members);
    OK(MPI_Group_free(&all));
    if (without != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&without));
    memset(&status, 0, sizeof status);
    OK(MPI_Status_set_source(&status, 7));
    OK(MPI_Status_set_tag(&status, 8));
    OK(MPI_Status_set_error(&status, MPI_ERR_TAG));
    int source, tag, error;
    OK(MPI_Status_get_source(&status, &source));
    OK(MPI_Status_get_tag(&status, &tag));
    OK(MPI_Status_get_error(&status, &error));
    CHECK(source == 7 && tag == 8 && error == MPI_ERR_TAG, "%d %d %d", source, tag, error);
    int index[1] = {1}, edges[1] = {0};
    OK(MPI_Graph_map(world, 1, index, edges, &node));
    CHECK(node == (rank == 0 ? 0 : MPI_UNDEFINED), "%d", node);
}

static void windows(void)
{
    MPI_Win win;
    int *base, one = 1;
    OK(MPI_Win_allocate_shared_c(sizeof *base, sizeof *base, MPI_INFO_NULL, world, &base, &win));
    *base = rank;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate_c(&one, 1, MPI_INT, peer, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    CHECK(*base == rank + 1, "%d", *base);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    peer = size - 1 - rank;
    large_sends();
    integers();
    sessions();
    others();
    windows();
    return finish();
}
