// ranks: 1 2
// A datatype may be freed while communication uses it; duplicates carry what they should.
#include "check.h"

enum { N = 100000 };

static int copied, deleted;

static int copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)keyval, (void)extra;
    copied++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void freed_in_flight(void)
{
    static int out[2 * N], in[2 * N];
    int to = (rank + 1) % size, from = (rank + size - 1) % size, bad = 0;
    MPI_Datatype every_second;
    MPI_Request requests[2];
    for (int i = 0; i < 2 * N; i++) out[i] = rank * 1000 + i, in[i] = -1;
    OK(MPI_Type_vector(N, 1, 2, MPI_INT, &every_second));
    OK(MPI_Type_commit(&every_second));
    OK(MPI_Irecv(in, 1, every_second, from, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(out, 1, every_second, to, 0, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Type_free(&every_second));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2 * N; i++) bad += in[i] != (i % 2 ? -1 : from * 1000 + i);
    CHECK(!bad, "%d wrong", bad);
}

static void duplicates(void)
{
    MPI_Datatype t, dup, third;
    int keyval, flag, value[3];
    void *got;
    OK(MPI_Type_create_keyval(copy, delete, &keyval, NULL));
    OK(MPI_Type_contiguous(2, MPI_INT, &t));
    OK(MPI_Type_set_attr(t, keyval, value));
    OK(MPI_Type_set_name(t, "named"));
    OK(MPI_Type_commit(&t));
    OK(MPI_Type_dup(t, &dup));
    CHECK(copied == 1);
    OK(MPI_Type_get_attr(dup, keyval, &got, &flag));
    CHECK(flag && got == (char *)value + 1);
    OK(MPI_Type_free(&t));
    /* The duplicate is committed as the original was. */
    int a[2] = {1, 2}, b[2] = {0, 0};
    OK(MPI_Sendrecv(a, 1, dup, rank, 0, b, 1, dup, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(b[0] == 1 && b[1] == 2);
    OK(MPI_Type_delete_attr(dup, keyval));
    OK(MPI_Type_get_attr(dup, keyval, &got, &flag));
    CHECK(!flag);
    OK(MPI_Type_dup(dup, &third));
    CHECK(copied == 1);
    OK(MPI_Type_free(&dup));
    OK(MPI_Type_free(&third));
    CHECK(deleted == 2);
    OK(MPI_Type_free_keyval(&keyval));
    CHECK(keyval == MPI_KEYVAL_INVALID);
}

static void uncommitted(void)
{
    MPI_Datatype t;
    int a[2] = {0, 0};
    OK(MPI_Type_contiguous(2, MPI_INT, &t));
    FAILS(MPI_ERR_TYPE, MPI_Send(a, 1, t, rank, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TYPE, MPI_Bcast(a, 1, t, 0, MPI_COMM_WORLD));
    OK(MPI_Type_free(&t));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    freed_in_flight();
    duplicates();
    uncommitted();
    return finish();
}
