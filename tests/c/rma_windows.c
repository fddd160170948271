// ranks: 1 2 4
// Windows as objects: how they are made, and all that they are asked.
#include "rma.h"

static int flavor_of(MPI_Win win)
{
    int *flavor, flag = 0;
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag);
    return *flavor;
}

static void expect(MPI_Win win, int flavor, void *base, MPI_Aint bytes, int unit)
{
    void *found;
    MPI_Aint *size_found;
    int *number, flag = 0;
    CHECK(flavor_of(win) == flavor);
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &found, &flag));
    CHECK(flag && found == base);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size_found, &flag));
    CHECK(flag && *size_found == bytes);
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &flag));
    CHECK(flag && *number == unit);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &number, &flag));
    CHECK(flag && (*number == MPI_WIN_UNIFIED || *number == MPI_WIN_SEPARATE));
    MPI_Group group, world;
    int result;
    OK(MPI_Win_get_group(win, &group));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

static void flavors(void)
{
    MPI_Win win;
    char memory[64];
    void *base;
    OK(MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    expect(win, MPI_WIN_FLAVOR_CREATE, memory, sizeof memory, 4);
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    OK(MPI_Win_create_c(memory, 10, (MPI_Aint)3, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    expect(win, MPI_WIN_FLAVOR_CREATE, memory, 10, 3);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_create(MPI_BOTTOM, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    expect(win, MPI_WIN_FLAVOR_CREATE, MPI_BOTTOM, 0, 1);
    OK(MPI_Win_free(&win));

    OK(MPI_Win_allocate(100 * rank, rank + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    expect(win, MPI_WIN_FLAVOR_ALLOCATE, base, 100 * rank, rank + 1);
    if (rank)
        memset(base, 1, 100 * rank);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate_c(0, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    expect(win, MPI_WIN_FLAVOR_ALLOCATE, base, 0, 8);
    OK(MPI_Win_free(&win));

    if (on_one_node(MPI_COMM_WORLD)) {
        OK(MPI_Win_allocate_shared(16, 2, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        expect(win, MPI_WIN_FLAVOR_SHARED, base, 16, 2);
        OK(MPI_Win_free(&win));
    }
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    expect(win, MPI_WIN_FLAVOR_DYNAMIC, MPI_BOTTOM, 0, 1);
    OK(MPI_Win_free(&win));
}

/* Each rank looks at every other's memory by loads. */
static void shared_memory(int noncontiguous)
{
    MPI_Win win;
    MPI_Info info;
    int *own, *theirs, unit;
    MPI_Aint bytes, mine = (rank % 2 ? 0 : 100 + rank) * (MPI_Aint)sizeof(int);
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", noncontiguous ? "true" : "false");
    OK(MPI_Win_allocate_shared(mine, sizeof(int), info, MPI_COMM_WORLD, &own, &win));
    MPI_Info_free(&info);
    for (int i = 0; i < (int)(mine / sizeof(int)); i++)
        own[i] = 1000 * rank + i;
    OK(MPI_Win_fence(0, win));
    char *end = NULL;
    for (int other = 0; other < size; other++) {
        MPI_Aint expected = (other % 2 ? 0 : 100 + other) * (MPI_Aint)sizeof(int);
        OK(MPI_Win_shared_query(win, other, &bytes, &unit, &theirs));
        CHECK(bytes == expected && unit == sizeof(int));
        if (bytes > 0)
            CHECK(other != rank || theirs == own);
        else
            CHECK(theirs == NULL);
        for (int i = 0; i < (int)(bytes / sizeof(int)); i++)
            CHECK(theirs[i] == 1000 * other + i);
        if (!noncontiguous && end && bytes > 0)
            CHECK((char *)theirs == end, "rank %d is not behind the one before", other);
        if (bytes > 0)
            end = (char *)theirs + bytes;
    }
    MPI_Aint wide;
    OK(MPI_Win_shared_query_c(win, MPI_PROC_NULL, &bytes, &wide, &theirs));
    CHECK(bytes == 100 * (MPI_Aint)sizeof(int) && wide == sizeof(int) && theirs[5] == 5);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
    /* Nobody has memory. */
    OK(MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win));
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &theirs));
    CHECK(bytes == 0);
    OK(MPI_Win_free(&win));
    /* Other kinds may be asked, too (since MPI 4.1). */
    OK(MPI_Win_allocate(40, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win));
    OK(MPI_Win_shared_query(win, rank, &bytes, &unit, &theirs));
    CHECK(bytes == 0 || (bytes == 40 && theirs == own));
    own[0] = 77 + rank;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &theirs));
    CHECK(bytes == 0 || (bytes == 40 && theirs[0] == 77));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
}

static int has(MPI_Info info, const char *key, const char *value)
{
    char text[MPI_MAX_INFO_VAL];
    int room = sizeof text, flag;
    OK(MPI_Info_get_string(info, key, &room, text, &flag));
    return flag && !strcmp(text, value);
}

static void hints(void)
{
    MPI_Win win;
    MPI_Info info, used;
    void *base;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "accumulate_ordering", "none");
    MPI_Info_set(info, "accumulate_ops", "same_op");
    MPI_Info_set(info, "same_size", "true");
    MPI_Info_set(info, "same_disp_unit", "true");
    MPI_Info_set(info, "mpi_accumulate_granularity", "8");
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "64");
    MPI_Info_set(info, "colour_of_the_window", "green");
    OK(MPI_Win_allocate(64, 1, info, MPI_COMM_WORLD, &base, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    OK(MPI_Win_get_info(win, &used));
    CHECK(has(used, "no_locks", "true"));
    CHECK(!has(used, "colour_of_the_window", "green"));
    if (strict()) {
        CHECK(has(used, "accumulate_ordering", "none"));
        CHECK(has(used, "accumulate_ops", "same_op"));
        CHECK(has(used, "same_size", "true"));
        CHECK(has(used, "same_disp_unit", "true"));
        CHECK(has(used, "mpi_accumulate_granularity", "8"));
        CHECK(has(used, "mpi_minimum_memory_alignment", "64") && (size_t)base % 64 == 0);
        /* A broken promise: refused when the program is checked only. */
        const char *checked = getenv("TERN_CHECK");
        if (checked && strcmp(checked, "1") == 0) {
            FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
        } else {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            OK(MPI_Win_unlock(0, win));
            OK(MPI_Win_lock_all(0, win));
            OK(MPI_Win_unlock_all(win));
        }
    }
    MPI_Info_free(&used);
    MPI_Info_set(info, "no_locks", "false");
    OK(MPI_Win_set_info(win, info));
    if (strict())
        OK(MPI_Win_set_info(win, MPI_INFO_NULL));
    MPI_Info_free(&info);
    OK(MPI_Win_get_info(win, &used));
    CHECK(has(used, "no_locks", "false"));
    MPI_Info_free(&used);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Win_free(&win));
}

static void names(MPI_Win win)
{
    char text[MPI_MAX_OBJECT_NAME];
    int length = -1;
    OK(MPI_Win_get_name(win, text, &length));
    CHECK(length == 0 && text[0] == 0);
    OK(MPI_Win_set_name(win, "halo"));
    OK(MPI_Win_get_name(win, text, &length));
    CHECK(length == 4 && !strcmp(text, "halo"));
    OK(MPI_Win_get_name(MPI_WIN_NULL, text, &length));
    CHECK(!strcmp(text, "MPI_WIN_NULL"));
}

static int deleted, handled;

static int on_delete(MPI_Win win, int key, void *value, void *state)
{
    (void)win, (void)key;
    deleted += *(int *)state + *(int *)value;
    return MPI_SUCCESS;
}

static int refuse_delete(MPI_Win win, int key, void *value, void *state)
{
    (void)win, (void)key, (void)value, (void)state;
    return MPI_ERR_OTHER;
}

static void attributes(MPI_Win *win)
{
    int key, other, flag, state = 100, one = 1, two = 2, *found;
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &key, &state));
    OK(MPI_Win_get_attr(*win, key, &found, &flag));
    CHECK(!flag);
    OK(MPI_Win_set_attr(*win, key, &one));
    OK(MPI_Win_get_attr(*win, key, &found, &flag));
    CHECK(flag && found == &one);
    OK(MPI_Win_set_attr(*win, key, &two));
    CHECK(deleted == 101);
    OK(MPI_Win_delete_attr(*win, key));
    CHECK(deleted == 203);
    OK(MPI_Win_get_attr(*win, key, &found, &flag));
    CHECK(!flag);
    OK(MPI_Win_delete_attr(*win, key));
    CHECK(deleted == 203);
    FAILS(MPI_ERR_KEYVAL, MPI_Win_delete_attr(*win, MPI_KEYVAL_INVALID));
    FAILS(MPI_ERR_KEYVAL, MPI_Win_set_attr(*win, MPI_WIN_SIZE, &one));
    FAILS(MPI_ERR_KEYVAL, MPI_Win_set_attr(*win, MPI_KEYVAL_INVALID, &one));
    int comm_key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
    FAILS(MPI_ERR_KEYVAL, MPI_Win_set_attr(*win, comm_key, &one));
    MPI_Comm_free_keyval(&comm_key);

    /* A delete callback that fails keeps the window. */
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, refuse_delete, &other, NULL));
    OK(MPI_Win_set_attr(*win, other, &one));
    MPI_Win again = *win;
    FAILS(MPI_ERR_OTHER, MPI_Win_free(&again));
    CHECK(again == *win);
    OK(MPI_Win_get_attr(*win, other, &found, &flag));
    CHECK(flag && found == &one);
    MPI_Win_free_keyval(&other);
    CHECK(other == MPI_KEYVAL_INVALID);
}

static void on_error(MPI_Win *win, int *code, ...)
{
    char text[MPI_MAX_OBJECT_NAME];
    int length, class;
    MPI_Win_get_name(*win, text, &length);
    MPI_Error_class(*code, &class);
    CHECK(!strcmp(text, "halo"));
    handled = class;
}

static void handlers(MPI_Win win)
{
    MPI_Errhandler handler, found, comm_handler;
    OK(MPI_Win_get_errhandler(win, &found));
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Win_create_errhandler(on_error, &handler));
    OK(MPI_Win_set_errhandler(win, handler));
    OK(MPI_Win_get_errhandler(win, &found));
    CHECK(found == handler);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
    FAILS(MPI_ERR_LOCKTYPE, MPI_Win_lock(-7, 0, 0, win));
    CHECK(handled == MPI_ERR_LOCKTYPE);
    OK(MPI_Win_call_errhandler(win, MPI_ERR_RMA_RANGE));
    CHECK(handled == MPI_ERR_RMA_RANGE);
    MPI_Session_create_errhandler((MPI_Session_errhandler_function *)on_error, &comm_handler);
    handled = 0;
    FAILS(MPI_ERR_ERRHANDLER, MPI_Win_set_errhandler(win, comm_handler));
    CHECK(handled == MPI_ERR_ERRHANDLER);
    MPI_Errhandler_free(&comm_handler);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
}

static void handles(MPI_Win win)
{
    int number = MPI_Win_toint(win);
    CHECK(MPI_Win_fromint(number) == win);
    CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
}

/* Many windows at once, over several communicators, each with its own memory and name. */
static void many(void)
{
    enum { MANY = 20 };
    MPI_Win wins[MANY];
    MPI_Comm half;
    int *bases[MANY];
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    for (int i = 0; i < MANY; i++) {
        MPI_Comm comm = i % 3 == 0 ? half : i % 3 == 1 ? MPI_COMM_SELF : MPI_COMM_WORLD;
        OK(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, comm, &bases[i], &wins[i]));
        *bases[i] = 1000 * i + rank;
    }
    MPI_Comm_free(&half);
    for (int i = 0; i < MANY; i++) {
        OK(MPI_Win_fence(0, wins[i]));
        int seen = -1, first = i % 3 == 0 ? rank % 2 : i % 3 == 1 ? rank : 0;
        OK(MPI_Get(&seen, 1, MPI_INT, 0, 0, 1, MPI_INT, wins[i]));
        OK(MPI_Win_fence(0, wins[i]));
        CHECK(seen == 1000 * i + first, "window %d: %d", i, seen);
    }
    for (int i = MANY - 1; i >= 0; i -= 2)
        OK(MPI_Win_free(&wins[i]));
    for (int i = 0; i < MANY; i += 2)
        OK(MPI_Win_free(&wins[i]));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    flavors();
    if (on_one_node(MPI_COMM_WORLD)) {
        shared_memory(0);
        shared_memory(1);
    }
    hints();
    many();
    MPI_Win win;
    int *base;
    OK(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    names(win);
    handlers(win);
    handles(win);
    attributes(&win);
    /* The window is whole after the failed MPI_Win_free. */
    *base = rank;
    int seen = -1;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(&seen, 1, MPI_INT, size - 1, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(seen == size - 1);
    /* It keeps the attribute whose callback refuses, so it cannot be freed: MPI_Finalize must do. */
    return finish();
}
