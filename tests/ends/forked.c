// Children of fork that call MPI where only their parent may: each ends alone, with one line that says why. The parent has messages under way
// meanwhile, and gets them right. With an argument another thread is in the library whenever the process forks.
#include "ends.h"
#include <stdatomic.h>

enum { OWN = 9, LONG = 1 << 20, PERSISTS = 200 };

static MPI_Comm comm;
static MPI_Datatype type;
static MPI_Request request;
static MPI_Win win;
static int keyval, value = 666, *memory, peer;
static char in[LONG], out[LONG];
#if MPI_VERSION >= 4
static MPI_Session session;
#endif

static void sends(void) { MPI_Send(&value, 1, MPI_INT, peer, 0, MPI_COMM_WORLD); }
static void sends_long(void) { MPI_Send(out, LONG, MPI_CHAR, peer, 5, comm); }
static void receives(void) { MPI_Recv(&value, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void meets(void) { MPI_Barrier(comm); }
static void reduces(void) { MPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
static void waits(void) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
static void puts_there(void) { MPI_Put(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, win); }
static void frees_comm(void) { MPI_Comm_free(&comm); }
static void frees_type(void) { MPI_Type_free(&type); }
static void frees_win(void) { MPI_Win_free(&win); }
static void deletes(void) { MPI_Comm_delete_attr(comm, keyval); }
static void initializes(void) { MPI_Init(NULL, NULL); }
static void aborts(void) { MPI_Abort(MPI_COMM_WORLD, 3); }

static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {{"MPI_Send", sends}, {"MPI_Send", sends_long}, {"MPI_Recv", receives}, {"MPI_Barrier", meets}, {"MPI_Allreduce", reduces},
    {"MPI_Wait", waits}, {"MPI_Put", puts_there}, {"MPI_Comm_free", frees_comm}, {"MPI_Type_free", frees_type}, {"MPI_Win_free", frees_win},
    {"MPI_Comm_delete_attr", deletes}, {"MPI_Init", initializes}, {"MPI_Abort", aborts}};

#define CHECK(what) do if (!(what)) fprintf(stderr, "line %d: %s\n", __LINE__, #what), MPI_Abort(MPI_COMM_WORLD, 3); while (0)
// The same in a child, whose parent looks at its end.
#define CHILD(what) do if (!(what)) fprintf(stderr, "child, line %d: %s\n", __LINE__, #what), _exit(4); while (0)

static int delete_attribute(MPI_Comm of, int key, void *attribute, void *state)
{
    (void)of, (void)key, (void)attribute, (void)state;
    value = 1;
    fprintf(stderr, "deleted");
    return MPI_SUCCESS;
}

// Calls MPI, as such handlers do.
static void handle(MPI_Comm *of, int *code, ...)
{
    int rank;
    (void)code;
    fprintf(stderr, "handled");
    MPI_Comm_rank(*of, &rank);
    MPI_Abort(*of, 5);
}

static void (*last)(void);
static void at_exit(void)
{
    if (last) last();
}

static void ends_with(pid_t child, int code)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (status != code << 8) fprintf(stderr, "status %#x, expected exit code %d\n", status, code);
    CHECK(status == code << 8);
}

// In an exit handler, or before.
static void refused(const char *name, void (*call)(void), int at_the_end)
{
    int ends[2];
    size_t length = 0;
    ssize_t got;
    char text[1000], expected[200];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]), close(ends[1]);
        if (at_the_end) last = call;
        else call();
        exit(OWN);
    }
    close(ends[1]);
    while ((got = read(ends[0], text + length, sizeof text - 1 - length)) > 0) length += (size_t)got;
    close(ends[0]);
    text[length] = 0;
    snprintf(expected, sizeof expected, "tern: %s failed: this process was forked from rank %d; MPI belongs to its parent\n", name, own_rank);
    if (strcmp(text, expected)) fprintf(stderr, "%s: %s", name, text);
    CHECK(strcmp(text, expected) == 0);
    // The error class, of the standard ABI whatever the program's.
    ends_with(child, 16);
}

static void all_refused(void)
{
    for (unsigned at = 0; at < sizeof calls / sizeof *calls; at++)
        for (int at_the_end = 0; at_the_end < 2; at_the_end++) refused(calls[at].name, calls[at].call, at_the_end);
}

// What may be called whether MPI is up or not works as after MPI_Finalize.
static void needs_no_parent(void)
{
    int flag, other, length;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Info info;
    CHILD(MPI_Initialized(&flag) == MPI_SUCCESS && flag);
    CHILD(MPI_Finalized(&flag) == MPI_SUCCESS && flag);
    CHILD(MPI_Get_version(&flag, &other) == MPI_SUCCESS && flag >= 3);
    CHILD(MPI_Get_library_version(text, &length) == MPI_SUCCESS && length > 0);
    CHILD(MPI_Info_create(&info) == MPI_SUCCESS && MPI_Info_free(&info) == MPI_SUCCESS);
    CHILD(MPI_Finalize() == MPI_SUCCESS && MPI_Finalize() == MPI_SUCCESS);
    CHILD(MPI_Wtime() > 0);
#if MPI_VERSION >= 4
    CHILD(MPI_Session_finalize(&session) == MPI_SUCCESS);
#endif
}

static void errors_are_returned(void)
{
    int class, length;
    char text[MPI_MAX_ERROR_STRING];
    for (int times = 0; times < PERSISTS; times++) CHILD(MPI_Send(&value, 1, MPI_INT, peer, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
    int code = MPI_Barrier(MPI_COMM_WORLD);
    CHILD(MPI_Error_class(code, &class) == MPI_SUCCESS && class == MPI_ERR_OTHER);
    CHILD(MPI_Error_string(code, text, &length) == MPI_SUCCESS && strstr(text, "forked from rank"));
    CHILD(MPI_Init(NULL, NULL) != MPI_SUCCESS);
    CHILD(MPI_Comm_free(&comm) != MPI_SUCCESS && comm != MPI_COMM_NULL);
#if MPI_VERSION >= 4
    MPI_Session own;
    CHILD(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &own) != MPI_SUCCESS);
#endif
}

static pid_t begin_child(void (*body)(void))
{
    pid_t child = fork();
    if (child == 0) {
        body();
        exit(OWN);
    }
    return child;
}

// The child of a child is one, too.
static void has_a_child(void)
{
    int status;
    pid_t child = begin_child(needs_no_parent);
    CHILD(waitpid(child, &status, 0) == child && status == OWN << 8);
}

static void all_return(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    refused("MPI_Send", sends, 1);
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    ends_with(begin_child(errors_are_returned), OWN);
    // It must not return.
    refused("MPI_Abort", aborts, 0);
}

static void become_others(void)
{
    char text[10] = "";
    CHECK(system("exit 5") == 5 << 8);
    FILE *pipe = popen("echo yes", "r");
    CHECK(pipe && fgets(text, sizeof text, pipe) && strcmp(text, "yes\n") == 0 && pclose(pipe) == 0);
}

static atomic_int over;
static void *look(void *unused)
{
    int flag;
    while (!over) MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    return unused;
}

// It is in the library more often than not, with the lock.
static void with_a_thread_inside(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, look, NULL) == 0);
    for (int times = 0; times < PERSISTS; times++) ends_with(begin_child(needs_no_parent), OWN);
    over = 1;
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    MPI_Request sent;
    begin(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    atexit(at_exit);
#if MPI_VERSION >= 4
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
#endif
    peer = (own_rank + 1) % ranks;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &keyval, NULL);
    MPI_Comm_set_attr(comm, keyval, &value);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    *memory = 1;
    MPI_Win_lock_all(0, win);
    MPI_Irecv(in, LONG, MPI_CHAR, MPI_ANY_SOURCE, 5, comm, &request);
    if (own_rank % 2) MPI_Barrier(comm);
    memset(out, 10 + own_rank, LONG);
    MPI_Isend(out, LONG, MPI_CHAR, peer, 5, comm, &sent);

    if (argc > 1) with_a_thread_inside();
    ends_with(begin_child(needs_no_parent), OWN);
    ends_with(begin_child(has_a_child), OWN);
    all_refused();
    all_return();
    become_others();

    if (own_rank % 2 == 0) MPI_Barrier(comm);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int at = 0; at < LONG; at++) CHECK(in[at] == 10 + (own_rank + ranks - 1) % ranks);
    MPI_Win_unlock_all(win);
    CHECK(*memory == 1);
    MPI_Win_free(&win);
    MPI_Type_free(&type);
#if MPI_VERSION >= 4
    MPI_Session_finalize(&session);
#endif
    last = meet_and_finalize;
    return 0;
}
