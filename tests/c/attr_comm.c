// Attributes of communicators and datatypes: callbacks, their order and their errors.
// ranks: 1 2
#include "check.h"

static int copies, deletes, last;
static int state = 42;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    CHECK(extra == &state && comm != MPI_COMM_NULL && keyval != MPI_KEYVAL_INVALID);
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = in != (void *)100;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    CHECK(extra == &state && comm != MPI_COMM_NULL && keyval != MPI_KEYVAL_INVALID);
    deletes++;
    last = (int)(long)value;
    return value == (void *)666 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int copy_fails(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
    *flag = 0;
    return rank == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int copy_type(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)keyval, (void)extra;
    *(void **)out = in;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

static int delete_type(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)extra, (void)value;
    deletes++;
    return MPI_SUCCESS;
}

static long value_of(MPI_Comm comm, int key)
{
    void *value;
    int flag = 7;
    OK(MPI_Comm_get_attr(comm, key, &value, &flag));
    return flag ? (long)value : -1;
}

static void predefined(void)
{
    int *value, flag;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
    CHECK(!flag || *value == 0 || *value == 1);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(!flag || *value >= size);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag && *value >= MPI_ERR_LASTCODE);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag));
    CHECK(!flag || *value == MPI_PROC_NULL || (*value >= 0 && *value < size));
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL) != MPI_SUCCESS);
    CHECK(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB) != MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int key, plain, failing, stale;
    MPI_Comm a, b;
    predefined();
    OK(MPI_Comm_create_keyval(copy, delete, &key, &state));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &a));
    CHECK(value_of(a, key) == -1);
    OK(MPI_Comm_set_attr(a, key, (void *)5));
    OK(MPI_Comm_set_attr(a, plain, (void *)9));
    CHECK(value_of(a, key) == 5);
    OK(MPI_Comm_set_attr(a, key, (void *)6));
    CHECK(deletes == 1 && last == 5 && value_of(a, key) == 6);

    OK(MPI_Comm_dup(a, &b));
    CHECK(copies == 1 && value_of(b, key) == 7 && value_of(b, plain) == 9);
    /* Split makes a communicator without attributes. */
    MPI_Comm part;
    OK(MPI_Comm_split(a, 0, 0, &part));
    CHECK(value_of(part, key) == -1 && copies == 1);
    OK(MPI_Comm_free(&part));
    OK(MPI_Comm_free(&b));
    CHECK(deletes == 2 && last == 7);

    OK(MPI_Comm_set_attr(a, key, (void *)100));
    OK(MPI_Comm_dup(a, &b));
    CHECK(copies == 2 && value_of(b, key) == -1 && deletes == 3);
    OK(MPI_Comm_free(&b));

    /* A nonblocking duplicate copies when it is called. */
    MPI_Request request;
    OK(MPI_Comm_set_attr(a, key, (void *)10));
    OK(MPI_Comm_idup(a, &b, &request));
    CHECK(copies == 3);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(value_of(b, key) == 11);
    OK(MPI_Comm_free(&b));

    /* Callbacks that fail: the call fails, everywhere. */
    OK(MPI_Comm_set_errhandler(a, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_attr(a, key, (void *)666));
    FAILS(MPI_ERR_OTHER, MPI_Comm_delete_attr(a, key));
    CHECK(value_of(a, key) == 666);
    FAILS(MPI_ERR_OTHER, MPI_Comm_set_attr(a, key, (void *)1));

    /* A keyval that is freed lives on in its attributes. */
    int before = deletes;
    OK(MPI_Comm_create_keyval(copy, delete, &stale, &state));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &b));
    OK(MPI_Comm_set_attr(b, stale, (void *)3));
    OK(MPI_Comm_free_keyval(&stale));
    CHECK(stale == MPI_KEYVAL_INVALID);
    OK(MPI_Comm_free(&b));
    CHECK(deletes == before + 1 && last == 3);
    /* So its number, if the program has kept it, is good for as long. */
    OK(MPI_Comm_create_keyval(copy, delete, &stale, &state));
    int kept = stale;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &b));
    OK(MPI_Comm_set_attr(b, stale, (void *)4));
    OK(MPI_Comm_free_keyval(&stale));
    stale = kept;
    OK(MPI_Comm_free_keyval(&stale));
    CHECK(value_of(b, kept) == 4);
    OK(MPI_Comm_delete_attr(b, kept));
    CHECK(deletes == before + 2 && last == 4);
    OK(MPI_Comm_free(&b));

    int type_key;
    MPI_Datatype type, twin;
    void *value;
    int flag;
    copies = deletes = 0;
    OK(MPI_Type_create_keyval(copy_type, delete_type, &type_key, NULL));
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Type_set_attr(type, type_key, (void *)8));
    OK(MPI_Type_dup(type, &twin));
    OK(MPI_Type_get_attr(twin, type_key, &value, &flag));
    CHECK(flag && value == (void *)8 && copies == 1);
    OK(MPI_Type_free(&twin));
    CHECK(deletes == 1);
    OK(MPI_Type_delete_attr(type, type_key));
    CHECK(deletes == 2);
    OK(MPI_Type_get_attr(type, type_key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free_keyval(&type_key));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag));

    OK(MPI_Comm_create_keyval(copy_fails, MPI_COMM_NULL_DELETE_FN, &failing, NULL));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &b));
    OK(MPI_Comm_set_errhandler(b, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_attr(b, failing, NULL));
    MPI_Comm c = MPI_COMM_WORLD;
    int code = MPI_Comm_dup(b, &c);
    CHECK((code != MPI_SUCCESS) == (rank == 0));
    if (rank != 0)
        OK(MPI_Comm_free(&c));
    CHECK(c == MPI_COMM_NULL);
    OK(MPI_Comm_free(&b));

    /* The old names. */
    OK(MPI_Attr_put(MPI_COMM_SELF, plain, (void *)4));
    OK(MPI_Attr_get(MPI_COMM_SELF, plain, &value, &flag));
    CHECK(flag && value == (void *)4);
    OK(MPI_Attr_delete(MPI_COMM_SELF, plain));
    OK(MPI_Comm_free_keyval(&plain));
    return finish();
}
