// ranks: 1 2
// flags: -pthread
// The text of an error that was returned names the call and the value, for every class that a program can provoke: of the thread's
// last failed call, and of the codes in its statuses.
#include "file.h"
#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

/* Whether a text of this class, below 1100, was looked at. */
static char covered[1100];

/* The call fails with this class, and MPI_Error_string has these parts. */
#ifdef LISTING
#define EXPLAINED(wanted, call, ...) begin_wrong(wanted); call; end_wrong()
#else
#define EXPLAINED(wanted, call, ...) \
    do { \
        int code_ = (call), class_ = MPI_SUCCESS; \
        MPI_Error_class(code_, &class_); \
        CHECK(class_ == (wanted), "class %d, not %s: %s", class_, #wanted, #call); \
        has(__LINE__, code_, #wanted, (const char *[]){#wanted ": ", __VA_ARGS__, NULL}); \
    } while (0)
#endif

static void has(int line, int code, const char *class, const char **parts)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = -1, class_of_code = 0;
    OK(MPI_Error_string(code, text, &length));
    OK(MPI_Error_class(code, &class_of_code));
    if (class_of_code >= 0 && class_of_code < (int)sizeof covered)
        covered[class_of_code] = 1;
    CHECK(length == (int)strlen(text) && length < MPI_MAX_ERROR_STRING, "length %d", length);
    for (; *parts; parts++)
        CHECK(strstr(text, *parts), "line %d, %s: no \"%s\" in: %s", line, class, *parts, text);
}

/* The text of a code of which nothing is known. */
static void plain(int code, const char *wanted)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    OK(MPI_Error_string(code, text, &length));
    CHECK(!strcmp(text, wanted), "%s", text);
}

static void arguments(void)
{
    int x = 0, y[2] = {2, 0}, number;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Info info;
    char *long_text = calloc(1, 70000);
    memset(long_text, 'v', 69999);
    EXPLAINED(MPI_ERR_BUFFER, MPI_Send(NULL, 3, MPI_INT, 0, 0, MPI_COMM_WORLD), "MPI_Send: ", "buf", "3 elements");
    EXPLAINED(MPI_ERR_COUNT, MPI_Recv(&x, -7, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv: ", "count is -7");
    EXPLAINED(MPI_ERR_TYPE, MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), "MPI_Send: ", "MPI_DATATYPE_NULL");
    EXPLAINED(MPI_ERR_TAG, MPI_Send(&x, 1, MPI_INT, 0, -77, MPI_COMM_WORLD), "MPI_Send: ", "tag is -77", "0 to 2147483647");
    EXPLAINED(MPI_ERR_COMM, MPI_Comm_rank(MPI_COMM_NULL, &number), "MPI_Comm_rank: ", "comm", "MPI_COMM_NULL");
    EXPLAINED(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, 4242, 0, MPI_COMM_WORLD), "MPI_Send: ", "dest is 4242", size == 1 ? "0 to 0" : "0 to 1");
    EXPLAINED(MPI_ERR_REQUEST, MPI_Request_free(&request), "MPI_Request_free: ", "MPI_REQUEST_NULL");
    EXPLAINED(MPI_ERR_ROOT, MPI_Bcast(&x, 1, MPI_INT, 4242, MPI_COMM_WORLD), "MPI_Bcast: ", "root is 4242", size == 1 ? "0 to 0" : "0 to 1");
    EXPLAINED(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &number), "MPI_Group_size: ", "MPI_GROUP_NULL");
    EXPLAINED(MPI_ERR_OP, MPI_Allreduce(&x, y, 1, MPI_FLOAT, MPI_BAND, MPI_COMM_SELF), "MPI_Allreduce: ", "MPI_BAND", "MPI_FLOAT");
    EXPLAINED(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(MPI_COMM_WORLD, &number), "MPI_Cartdim_get: ", "MPI_COMM_WORLD");
    EXPLAINED(MPI_ERR_DIMS, MPI_Dims_create(7, 2, y), "MPI_Dims_create: ", "7 nodes", "[2, 0]");
    EXPLAINED(MPI_ERR_ARG, MPI_Comm_size(MPI_COMM_WORLD, NULL), "MPI_Comm_size: ", "size is a null pointer");
    EXPLAINED(MPI_ERR_OTHER, MPI_Init(NULL, NULL), "MPI_Init: ", "initialised already");
    EXPLAINED(MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&(int){MPI_KEYVAL_INVALID}), "MPI_Comm_free_keyval: ", "MPI_KEYVAL_INVALID");
    EXPLAINED(MPI_ERR_INFO, MPI_Info_get_nkeys(MPI_INFO_NULL, &number), "MPI_Info_get_nkeys: ", "MPI_INFO_NULL");
    OK(MPI_Info_create(&info));
    EXPLAINED(MPI_ERR_INFO_KEY, MPI_Info_set(info, "", "v"), "MPI_Info_set: ");
    EXPLAINED(MPI_ERR_INFO_VALUE, MPI_Info_set(info, "k", long_text), "MPI_Info_set: ", "69999");
    EXPLAINED(MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "colour"), "MPI_Info_delete: ", "colour");
    OK(MPI_Info_free(&info));
    EXPLAINED(MPI_ERR_NO_MEM, MPI_Alloc_mem((MPI_Aint)1 << 62, MPI_INFO_NULL, &info), "MPI_Alloc_mem: ", "4611686018427387904 bytes");
#ifndef OPEN_MPI
    EXPLAINED(MPI_ERR_SESSION, MPI_Session_finalize(&(MPI_Session){MPI_SESSION_NULL}), "MPI_Session_finalize: ", "MPI_SESSION_NULL");
    EXPLAINED(MPI_ERR_ERRHANDLER, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRHANDLER_NULL), "MPI_Comm_set_errhandler: ", "MPI_ERRHANDLER_NULL");
#else
    /* A class that its header may lack: the text is of the error all the same. */
    has(__LINE__, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRHANDLER_NULL), "MPI_ERR_ARG",
        (const char *[]){"MPI_Comm_set_errhandler: ", "MPI_ERRHANDLER_NULL", NULL});
#endif
    free(long_text);
}

/* What is too large is told with the constructor's numbers and type. */
static void types(void)
{
    MPI_Datatype type;
    EXPLAINED(MPI_ERR_ARG, MPI_Type_create_subarray(2, (int[]){4, 5}, (int[]){2, 9}, (int[]){0, 0}, MPI_ORDER_C, MPI_INT, &type),
              "MPI_Type_create_subarray: ", "dimension 1", "9 elements", "array of 5");
#ifdef MPI_ABI_VERSION
    EXPLAINED(MPI_ERR_VALUE_TOO_LARGE, MPI_Type_contiguous_c((MPI_Count)1 << 62, MPI_DOUBLE, &type),
              "MPI_Type_contiguous_c: ", "4611686018427387904", "MPI_DOUBLE");
#endif
}

/* Both sizes, source and tag. */
static void truncation(void)
{
    int out[5] = {0}, in[5], which = rank == 0 ? 3 : 4;
    char from[32], tag[32], index[32];
    MPI_Request requests[3];
    MPI_Status statuses[3];
    snprintf(from, sizeof from, "from rank %d", rank);
    snprintf(tag, sizeof tag, "tag %d", which);
    EXPLAINED(MPI_ERR_TRUNCATE, MPI_Sendrecv(out, 5, MPI_INT, rank, which, in, 2, MPI_INT, rank, which, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Sendrecv: ", "message of 20 bytes", from, tag, "room for 8 bytes");
    OK(MPI_Irecv(in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Irecv(in + 1, 3, MPI_INT, rank, which, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Isend(out, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Send(out, 4, MPI_INT, rank, which, MPI_COMM_WORLD));
    snprintf(index, sizeof index, "index 1");
    EXPLAINED(MPI_ERR_IN_STATUS, MPI_Waitall(3, requests, statuses), "MPI_Waitall: ", index, "16 bytes", from);
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[2].MPI_ERROR == MPI_SUCCESS);
    EXPLAINED(MPI_ERR_TRUNCATE, statuses[1].MPI_ERROR, "MPI_Waitall: ", index, "16 bytes", tag, "room for 12 bytes");
    EXPLAINED(MPI_ERR_TRUNCATE, MPI_Unpack(out, 4, &(int){2}, in, 1, MPI_INT, MPI_COMM_SELF), "MPI_Unpack: ", "4 bytes", "position 2");
}

static void windows(void)
{
    int memory[16] = {0}, x = 0;
    MPI_Win win;
    EXPLAINED(MPI_ERR_WIN, MPI_Win_fence(0, MPI_WIN_NULL), "MPI_Win_fence: ", "MPI_WIN_NULL");
    EXPLAINED(MPI_ERR_SIZE, MPI_Win_create(memory, -8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win), "MPI_Win_create: ", "-8");
    EXPLAINED(MPI_ERR_DISP, MPI_Win_create(memory, 8, -4, MPI_INFO_NULL, MPI_COMM_SELF, &win), "MPI_Win_create: ", "-4");
    EXPLAINED(MPI_ERR_BASE, MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win), "MPI_Win_create: ", "8 bytes");
    OK(MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_SELF, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_set_name(win, "shelf"));
    EXPLAINED(MPI_ERR_RMA_SYNC, MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, win), "MPI_Put: ", "shelf", "rank 0");
    EXPLAINED(MPI_ERR_LOCKTYPE, MPI_Win_lock(-7, 0, 0, win), "MPI_Win_lock: ", "-7");
    EXPLAINED(MPI_ERR_ASSERT, MPI_Win_fence(1 << 30, win), "MPI_Win_fence: ", "0x40000000");
    OK(MPI_Win_fence(0, win));
    EXPLAINED(MPI_ERR_RANK, MPI_Get(&x, 1, MPI_INT, 42, 0, 1, MPI_INT, win), "MPI_Get: ", "42", "shelf", "0 to 0");
    EXPLAINED(MPI_ERR_RMA_RANGE, MPI_Put(&x, 1, MPI_INT, 0, 16, 1, MPI_INT, win), "MPI_Put: ", "displacement 16", "64 bytes");
    EXPLAINED(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(win, memory, 4), "MPI_Win_attach: ", "shelf");
    EXPLAINED(MPI_ERR_OP, MPI_Accumulate(&x, 1, MPI_FLOAT, 0, 0, 1, MPI_FLOAT, MPI_BOR, win), "MPI_Accumulate: ", "MPI_BOR", "MPI_FLOAT");
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    EXPLAINED(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, memory), "MPI_Win_detach: ", "no memory is attached");
    OK(MPI_Win_free(&win));
}

static int refuse(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *state)
{
    (void)user, (void)type, (void)count, (void)file, (void)position, (void)state;
    return MPI_ERR_CONVERSION;
}

static int four(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    (void)type, (void)state;
    *extent = 4;
    return MPI_SUCCESS;
}

/* Places that take no more: a device that is always full, the process's limit, and a program that runs. */
static void full(void)
{
    int x = 0, fd = open("/proc/self/exe", O_WRONLY | O_CLOEXEC);
    MPI_File file;
    MPI_Status status;
    char own[300];
    if (fd < 0 && errno == ETXTBSY)
        EXPLAINED(MPI_ERR_FILE_IN_USE, MPI_File_open(MPI_COMM_SELF, "/proc/self/exe", MPI_MODE_WRONLY, MPI_INFO_NULL, &file),
                  "MPI_File_open: ", "/proc/self/exe", "Text file busy");
    else
        OK(fd < 0 ? MPI_SUCCESS : close(fd));
    OK(MPI_File_open(MPI_COMM_SELF, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    EXPLAINED(MPI_ERR_NO_SPACE, MPI_File_write(file, &x, 1, MPI_INT, &status), "MPI_File_write: ", "/dev/full", "4 bytes", "No space left");
    OK(MPI_File_close(&file));

    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &small);
    snprintf(own, sizeof own, "%s.%d.full", name, rank);
    OK(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    EXPLAINED(MPI_ERR_QUOTA, MPI_File_write_at(file, 8000, &x, 1, MPI_INT, &status), "MPI_File_write_at: ", own, "4096 bytes");
    OK(MPI_File_close(&file));
    setrlimit(RLIMIT_FSIZE, &before);
}

/* Errors of files are returned without a word of the program's: a file that cannot be opened tells its name and the system's reason. */
static void files(void)
{
    int x = 0, create = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    char own[300], missing[320];
    MPI_File file;
    MPI_Status status;
    snprintf(own, sizeof own, "%s.%d", name, rank);
    snprintf(missing, sizeof missing, "%s/none", own);
    EXPLAINED(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_SELF, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
              "MPI_File_open: ", missing, "No such file or directory");
    EXPLAINED(MPI_ERR_BAD_FILE, MPI_File_open(MPI_COMM_SELF, "", create, MPI_INFO_NULL, &file), "MPI_File_open: ");
    EXPLAINED(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "MPI_File_open: ");
    EXPLAINED(MPI_ERR_FILE, MPI_File_close(&(MPI_File){MPI_FILE_NULL}), "MPI_File_close: ", "MPI_FILE_NULL");
    OK(MPI_File_open(MPI_COMM_SELF, own, create, MPI_INFO_NULL, &file));
    EXPLAINED(MPI_ERR_FILE_EXISTS, MPI_File_open(MPI_COMM_SELF, own, create | MPI_MODE_EXCL, MPI_INFO_NULL, &(MPI_File){0}),
              "MPI_File_open: ", own, "File exists");
    EXPLAINED(MPI_ERR_IO, MPI_File_read_all_end(file, &x, &status), "MPI_File_read_all_end: ");
    EXPLAINED(MPI_ERR_UNSUPPORTED_DATAREP, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "martian", MPI_INFO_NULL), "MPI_File_set_view: ", "martian");
    EXPLAINED(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("native", refuse, refuse, four, NULL), "MPI_Register_datarep: ", "native");
    OK(MPI_Register_datarep("refusing", refuse, refuse, four, NULL));
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "refusing", MPI_INFO_NULL));
    EXPLAINED(MPI_ERR_CONVERSION, MPI_File_write_at(file, 0, &x, 1, MPI_INT, &status), "MPI_File_write_at: ");
    OK(MPI_File_close(&file));
    OK(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    EXPLAINED(MPI_ERR_ACCESS, MPI_File_read(file, &x, 1, MPI_INT, &status), "MPI_File_read: ", own, "MPI_MODE_WRONLY");
    OK(MPI_File_close(&file));
    OK(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    EXPLAINED(MPI_ERR_READ_ONLY, MPI_File_write(file, &x, 1, MPI_INT, &status), "MPI_File_write: ", own, "MPI_MODE_RDONLY");
    OK(MPI_File_close(&file));
    OK(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    EXPLAINED(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_seek(file, 0, MPI_SEEK_SET), "MPI_File_seek: ", own, "MPI_MODE_SEQUENTIAL");
    OK(MPI_File_close(&file));
    full();
    if (size > 1)
        EXPLAINED(MPI_ERR_NOT_SAME, MPI_File_open(MPI_COMM_WORLD, name, rank ? create : MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
                  "MPI_File_open: ", "rank");
}

static void names(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    EXPLAINED(MPI_ERR_NAME, MPI_Lookup_name("tern-no-service", MPI_INFO_NULL, port), "MPI_Lookup_name: ", "tern-no-service");
    EXPLAINED(MPI_ERR_SERVICE, MPI_Unpublish_name("tern-no-service", MPI_INFO_NULL, "port"), "MPI_Unpublish_name: ", "tern-no-service");
    EXPLAINED(MPI_ERR_PORT, MPI_Comm_connect("harbour", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), "MPI_Comm_connect: ", "harbour");
    EXPLAINED(MPI_ERR_SPAWN, MPI_Comm_spawn("/dev/null/none", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE),
              "MPI_Comm_spawn: ", "/dev/null/none");
}

/* A variable that is always active, and is only read. */
static void watermark(MPI_T_pvar_session session)
{
    int many, count;
    OK(MPI_T_pvar_get_num(&many));
    for (int i = 0; i < many; i++) {
        char variable[128];
        int length = sizeof variable, none = 0, verbosity, class, bind, read_only, continuous, atomic;
        unsigned long long x = 0;
        MPI_Datatype type;
        MPI_T_enum kinds;
        MPI_T_pvar_handle handle;
        OK(MPI_T_pvar_get_info(i, variable, &length, &verbosity, &class, &type, &kinds, NULL, &none, &bind, &read_only, &continuous, &atomic));
        if (!read_only || !continuous)
            continue;
        OK(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &count));
        EXPLAINED(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_start(session, handle), "MPI_T_pvar_start: ", variable);
        EXPLAINED(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_write(session, handle, &x), "MPI_T_pvar_write: ", variable);
        OK(MPI_T_pvar_handle_free(session, &handle));
        return;
    }
    CHECK(0, "no variable is read-only");
}

static MPI_T_cvar_handle setting(const char *variable)
{
    int index, count;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    OK(MPI_T_cvar_get_index(variable, &index));
    OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    return handle;
}

static void tools(void)
{
    int provided, number;
    MPI_T_pvar_session session;
    EXPLAINED(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_num(&number), "MPI_T_cvar_get_num: ", "MPI_T_init_thread");
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    EXPLAINED(MPI_T_ERR_INVALID, MPI_T_cvar_get_num(NULL), "MPI_T_cvar_get_num: ", "num_cvar");
    EXPLAINED(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_handle_alloc(99999, NULL, &(MPI_T_cvar_handle){0}, &number),
              "MPI_T_cvar_handle_alloc: ", "99999", "control variables");
    EXPLAINED(MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index("NO_SUCH_SETTING", &number), "MPI_T_cvar_get_index: ", "NO_SUCH_SETTING");
    EXPLAINED(MPI_T_ERR_CVAR_SET_NOT_NOW, MPI_T_cvar_write(setting("TERN_SPIN"), "1"), "MPI_T_cvar_write: ", "TERN_SPIN", "MPI is initialised");
    EXPLAINED(MPI_T_ERR_INVALID, MPI_T_cvar_write(setting("TERN_LOG"), &(int){-3}), "MPI_T_cvar_write: ", "TERN_LOG", "item -3");
    EXPLAINED(MPI_T_ERR_CVAR_SET_NEVER, MPI_T_cvar_write(setting("TERN_GRACE"), "1s"), "MPI_T_cvar_write: ", "TERN_GRACE", "for mpiexec");
    OK(MPI_T_pvar_session_create(&session));
    EXPLAINED(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_start(session, MPI_T_PVAR_HANDLE_NULL), "MPI_T_pvar_start: ", "no handle");
    watermark(session);
    OK(MPI_T_pvar_session_free(&session));
    EXPLAINED(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_start(MPI_T_PVAR_SESSION_NULL, MPI_T_PVAR_HANDLE_NULL), "MPI_T_pvar_start: ", "no session");
    OK(MPI_T_finalize());
}

static int seen;

static void look_into(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(*code, text, &length);
    seen += strstr(text, "dest is 4242") != NULL;
    /* Another error, which hides none. */
    MPI_Comm_size(MPI_COMM_NULL, &length);
    (void)comm;
}

static void *in_a_thread(void *unused)
{
    plain(MPI_ERR_RANK, "MPI_ERR_RANK: invalid rank");
    return unused;
}

/* What is known is of one thread's last failed call, and of predefined classes. */
static void limits(void)
{
    int x = 0, code, class;
    pthread_t thread;
    MPI_Errhandler handler;
    OK(MPI_Comm_create_errhandler(look_into, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    EXPLAINED(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, 4242, 0, MPI_COMM_WORLD), "MPI_Send: ", "dest is 4242");
    CHECK(seen == 1);
    OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_RANK));
    CHECK(seen == 2, "the program's own report hides what is known");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&handler));

    EXPLAINED(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, 4242, 0, MPI_COMM_WORLD), "dest is 4242");
    pthread_create(&thread, NULL, in_a_thread, NULL);
    pthread_join(thread, NULL);
    /* Calls that succeed leave it as it is; the next one that fails does not. */
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    EXPLAINED(MPI_ERR_RANK, MPI_ERR_RANK, "dest is 4242");
    FAILS(MPI_ERR_TAG, MPI_Send(&x, 1, MPI_INT, 0, -77, MPI_COMM_WORLD));
    plain(MPI_ERR_RANK, "MPI_ERR_RANK: invalid rank");
    plain(MPI_SUCCESS, "MPI_SUCCESS: no error");

    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "the tern has flown"));
    MPI_Comm_call_errhandler(MPI_COMM_SELF, code);
    plain(code, "the tern has flown");
}

#ifdef MPI_ABI_VERSION
/* What is told about the binary interface cannot be told again. */
static void interface(void)
{
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Abi_set_fortran_info(info));
    EXPLAINED(MPI_ERR_ABI, MPI_Abi_set_fortran_info(info), "MPI_Abi_set_fortran_info: ", "was called before");
    OK(MPI_Info_free(&info));
}

/* Classes of the header that nothing above provokes, and why. */
static const int elsewhere[] = {
    /* The class of what is no code, and of defects of the library. */
    MPI_ERR_UNKNOWN, MPI_ERR_INTERN,
    /* All requests of a call are completed; races of accesses are told by TERN_CHECK, which ends the job; nothing is out of what it counts. */
    MPI_ERR_PENDING, MPI_ERR_RMA_CONFLICT, MPI_T_ERR_OUT_OF_HANDLES, MPI_T_ERR_OUT_OF_SESSIONS, MPI_T_ERR_MEMORY, MPI_T_ERR_CANNOT_INIT,
    /* Of the tool interface, what Tern has no object for: everything is accessible, and enumerations are described by nothing deprecated. */
    MPI_T_ERR_NOT_ACCESSIBLE, MPI_T_ERR_NOT_SUPPORTED, MPI_T_ERR_INVALID_ITEM, MPI_T_ERR_PVAR_NO_ATOMIC,
    /* Processes that are lost: ft_first and ft_errhandler. */
    MPI_ERR_PROC_ABORTED, MPI_ERR_PROC_FAILED, MPI_ERR_PROC_FAILED_PENDING, MPI_ERR_REVOKED,
    /* Several nodes: rma_errors. */
    MPI_ERR_RMA_SHARED,
    /* A program that does not run natively may be written; and with one rank arguments do not differ. */
    MPI_ERR_FILE_IN_USE, MPI_ERR_NOT_SAME,
};

/* Every predefined class was explained, or has its reason not to be. */
static void all_classes(void)
{
    for (int class = 1; class < (int)sizeof covered; class++) {
        char text[MPI_MAX_ERROR_STRING];
        int length, known = covered[class];
        OK(MPI_Error_string(class, text, &length));
        for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
            known |= elsewhere[i] == class;
        CHECK(known || strncmp(text, "MPI_", 4), "nothing provokes %s", text);
    }
}
#endif

int main(int argc, char **argv)
{
    begin_file(&argc, &argv);
    arguments();
    truncation();
    windows();
    files();
    names();
    types();
    tools();
#ifdef MPI_ABI_VERSION
    interface();
    all_classes();
#endif
    limits();
    return finish();
}
