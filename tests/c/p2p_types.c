// ranks: 2 4
// Data with gaps, and data that two sides lay out differently, in every size and mode.
#include "check.h"

static int to, from;

/* A column of a matrix becomes a row, and every second block becomes a dense run. */
static void columns(int n)
{
    int *out = malloc(n * n * sizeof(int)), *in = malloc(n * n * sizeof(int));
    MPI_Datatype column;
    MPI_Request requests[200];
    for (int i = 0; i < n * n; i++) out[i] = rank * 1000000 + i;
    OK(MPI_Type_vector(n, 1, n, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    for (int i = 0; i < n; i++) {
        OK(MPI_Irecv(in + i * n, n, MPI_INT, from, i, MPI_COMM_WORLD, &requests[i]));
        OK(MPI_Isend(out + i, 1, column, to, i, MPI_COMM_WORLD, &requests[n + i]));
    }
    OK(MPI_Waitall(2 * n, requests, MPI_STATUSES_IGNORE));
    int wrong = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) wrong += in[i * n + j] != from * 1000000 + j * n + i;
    CHECK(wrong == 0, "%d of %d", wrong, n * n);
    OK(MPI_Type_free(&column));
    free(out);
    free(in);
}

/* Long messages with gaps on one side, on both, with and without being asked for first. */
static void gaps(int blocks, int synchronous)
{
    MPI_Datatype loose, dense;
    const int stride = 5, len = 2;
    short *out = malloc(blocks * stride * sizeof(short)), *in = malloc(blocks * stride * sizeof(short));
    MPI_Request request;
    MPI_Status status;
    int count;
    OK(MPI_Type_vector(blocks, len, stride, MPI_SHORT, &loose));
    OK(MPI_Type_contiguous(blocks * len, MPI_SHORT, &dense));
    OK(MPI_Type_commit(&loose));
    OK(MPI_Type_commit(&dense));
    for (int way = 0; way < 4; way++) {
        MPI_Datatype sent = way & 1 ? loose : dense, received = way & 2 ? loose : dense;
        for (int i = 0; i < blocks * stride; i++) {
            out[i] = (short)(rank * 100 + i);
            in[i] = -1;
        }
        if (synchronous) OK(MPI_Issend(out, 1, sent, to, way, MPI_COMM_WORLD, &request));
        else OK(MPI_Isend(out, 1, sent, to, way, MPI_COMM_WORLD, &request));
        OK(MPI_Recv(in, 1, received, from, way, MPI_COMM_WORLD, &status));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Get_count(&status, received, &count));
        CHECK(count == 1);
        int wrong = 0;
        for (int i = 0; i < blocks * len; i++) {
            int source = way & 1 ? i / len * stride + i % len : i;
            int target = way & 2 ? i / len * stride + i % len : i;
            wrong += in[target] != (short)(from * 100 + source);
        }
        if (way & 2)
            for (int i = 0; i < (blocks - 1) * stride; i++) wrong += i % stride >= len && in[i] != -1;
        CHECK(wrong == 0, "way %d, %d blocks: %d wrong", way, blocks, wrong);
    }
    OK(MPI_Type_free(&loose));
    OK(MPI_Type_free(&dense));
    free(out);
    free(in);
}

/* A message of part of a type: elements are told, the count is undefined. */
static void in_part(void)
{
    struct { int a; double b; } cell[4] = {{1, 1.5}, {2, 2.5}, {3, 3.5}, {4, 4.5}}, got[4] = {{0, 0}};
    MPI_Datatype type, resized;
    int count, elements;
    MPI_Status status;
    MPI_Request request;
    OK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, (char *)&cell[0].b - (char *)&cell[0]},
                              (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &type));
    OK(MPI_Type_create_resized(type, 0, sizeof cell[0], &resized));
    OK(MPI_Type_commit(&resized));
    OK(MPI_Isend(cell, 3, resized, to, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(got, 4, resized, from, 0, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, resized, &count));
    OK(MPI_Get_elements(&status, resized, &elements));
    CHECK(count == 3 && elements == 6 && got[2].a == 3 && got[2].b == 3.5 && got[3].a == 0);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Isend(&cell[1].a, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(got, 4, resized, from, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, resized, &count));
    OK(MPI_Get_elements(&status, resized, &elements));
    CHECK(count == MPI_UNDEFINED && elements == 1 && got[0].a == 2, "%d %d", count, elements);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&resized));
}

/* MPI_BOTTOM and absolute addresses. */
static void absolute(void)
{
    static double a = 1.25, b[3] = {2, 3, 4}, a_in, b_in[3];
    MPI_Aint at[4];
    MPI_Datatype out, in;
    MPI_Request request;
    OK(MPI_Get_address(&a, &at[0]));
    OK(MPI_Get_address(b, &at[1]));
    OK(MPI_Get_address(&a_in, &at[2]));
    OK(MPI_Get_address(b_in, &at[3]));
    OK(MPI_Type_create_hindexed(2, (int[]){1, 3}, at, MPI_DOUBLE, &out));
    OK(MPI_Type_create_hindexed(2, (int[]){1, 3}, at + 2, MPI_DOUBLE, &in));
    OK(MPI_Type_commit(&out));
    OK(MPI_Type_commit(&in));
    OK(MPI_Isend(MPI_BOTTOM, 1, out, to, 0, MPI_COMM_WORLD, &request));
    /* Freed while it is in use. */
    OK(MPI_Type_free(&out));
    OK(MPI_Recv(MPI_BOTTOM, 1, in, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(a_in == 1.25 && b_in[0] == 2 && b_in[2] == 4);
    OK(MPI_Type_free(&in));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    columns(1);
    columns(10);
    columns(100);
    for (int blocks = 1; blocks < 1000000; blocks = blocks * 6 + 1) {
        gaps(blocks, 0);
        gaps(blocks, 1);
    }
    in_part();
    absolute();
    return finish();
}
