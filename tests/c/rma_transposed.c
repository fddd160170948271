// ranks: 2
// Accumulates, puts and gets whose target has gaps: each element gets its value in every kind of window, and between nodes
// neighbours in memory travel together, whatever the order of the origin's data.
#include "rma.h"
#include "counter.h"

enum { N = 120 };

/* N times N elements, one column of the target after the other. */
static MPI_Datatype transposed(MPI_Datatype element, int bytes)
{
    MPI_Datatype column, all;
    OK(MPI_Type_vector(N, 1, N, element, &column));
    OK(MPI_Type_create_hvector(N, 1, bytes, column, &all));
    OK(MPI_Type_commit(&all));
    OK(MPI_Type_free(&column));
    return all;
}

static number requests(MPI_T_pvar_handle handle, number before, number most, const char *what)
{
    number now = counted(handle);
    if (strict()) CHECK(now - before < most, "%s: %llu requests to the network", what, now - before);
    return now;
}

static void ints(int kind, MPI_T_pvar_handle made)
{
    struct window w = open_window(kind, sizeof(int[N][N]), MPI_COMM_WORLD);
    MPI_Datatype all = transposed(MPI_INT, sizeof(int));
    int *in = (int *)w.base, *out = malloc(sizeof(int[N][N])), *was = malloc(sizeof(int[N][N])), wrong = 0;
    for (int i = 0; i < N * N; i++) in[i] = rank ? 1000 * i : 0, out[i] = i;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win));
        number before = counted(made);
        OK(MPI_Accumulate(out, N * N, MPI_INT, 1, place(&w, 1, 0), 1, all, MPI_SUM, w.win));
        OK(MPI_Win_flush(1, w.win));
        /* A request for each row there, and back; those that lie in pieces have some more. */
        before = requests(made, before, 3 * N, kind_names[kind]);
        OK(MPI_Get_accumulate(out, N * N, MPI_INT, was, N * N, MPI_INT, 1, place(&w, 1, 0), 1, all, MPI_SUM, w.win));
        OK(MPI_Win_flush(1, w.win));
        requests(made, before, 3 * N, kind_names[kind]);
        OK(MPI_Win_unlock(1, w.win));
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) wrong += was[i * N + j] != 1000 * (j * N + i) + i * N + j;
        CHECK(wrong == 0, "%s: %d values from before", kind_names[kind], wrong);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    see(w.win);
    for (int i = 0; rank == 1 && i < N; i++)
        for (int j = 0; j < N; j++) wrong += in[i * N + j] != 1000 * (i * N + j) + 2 * (j * N + i);
    CHECK(wrong == 0, "%s: %d", kind_names[kind], wrong);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Type_free(&all));
    free(out);
    free(was);
    close_window(&w);
}

/* What is put comes back, in the order of the origin's data. */
static void moved(int kind, MPI_T_pvar_handle made)
{
    struct window w = open_window(kind, sizeof(int[N][N]), MPI_COMM_WORLD);
    MPI_Datatype all = transposed(MPI_INT, sizeof(int)), every;
    int *in = (int *)w.base, *out = malloc(sizeof(int[N][N])), *back = malloc(sizeof(int[2 * N][N])), wrong = 0;
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every));
    OK(MPI_Type_commit(&every));
    for (int i = 0; i < N * N; i++) in[i] = -1, out[i] = 3 * i, back[2 * i] = back[2 * i + 1] = -2;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win));
        number before = counted(made);
        OK(MPI_Put(out, N * N, MPI_INT, 1, place(&w, 1, 0), 1, all, w.win));
        OK(MPI_Win_flush(1, w.win));
        before = requests(made, before, N, kind_names[kind]);
        OK(MPI_Get(back, N * N, every, 1, place(&w, 1, 0), 1, all, w.win));
        OK(MPI_Win_flush(1, w.win));
        requests(made, before, N, kind_names[kind]);
        OK(MPI_Win_unlock(1, w.win));
        for (int i = 0; i < N * N; i++) wrong += back[2 * i] != 3 * i || back[2 * i + 1] != -2;
        CHECK(wrong == 0, "%s: %d values that were got", kind_names[kind], wrong);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    see(w.win);
    for (int i = 0; rank == 1 && i < N; i++)
        for (int j = 0; j < N; j++) wrong += in[i * N + j] != 3 * (j * N + i);
    CHECK(wrong == 0, "%s: %d values that were put", kind_names[kind], wrong);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Type_free(&all));
    OK(MPI_Type_free(&every));
    free(out);
    free(back);
    close_window(&w);
}

/* Words that a network card combines by itself, by an operation that it does not have; strided at the origin, too. */
static void words(int kind)
{
    struct window w = open_window(kind, sizeof(long long[N][N]), MPI_COMM_WORLD);
    MPI_Datatype all = transposed(MPI_LONG_LONG, sizeof(long long)), every;
    long long *in = (long long *)w.base, *out = malloc(sizeof(long long[2 * N][N])), *was = malloc(sizeof(long long[N][N]));
    int wrong = 0;
    OK(MPI_Type_create_resized(MPI_LONG_LONG, 0, 2 * sizeof(long long), &every));
    OK(MPI_Type_commit(&every));
    for (int i = 0; i < N * N; i++) in[i] = 5000, out[2 * i] = i, out[2 * i + 1] = 1 << 30;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w.win));
        OK(MPI_Get_accumulate(out, N * N, every, was, 1, all, 1, place(&w, 1, 0), 1, all, MPI_MAX, w.win));
        OK(MPI_Win_unlock(1, w.win));
        for (int i = 0; i < N * N; i++) wrong += was[i] != 5000;
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    see(w.win);
    for (int i = 0; rank == 1 && i < N; i++)
        for (int j = 0; j < N; j++) wrong += in[i * N + j] != (j * N + i > 5000 ? j * N + i : 5000);
    CHECK(wrong == 0, "%s: %d words", kind_names[kind], wrong);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Type_free(&all));
    OK(MPI_Type_free(&every));
    free(out);
    free(was);
    close_window(&w);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_T_pvar_handle made = counter("network_remote");
    for (int kind = 0; kind < KINDS; kind++) {
        if (!kind_differs(kind, MPI_COMM_WORLD)) continue;
        ints(kind, made);
        moved(kind, made);
        words(kind);
    }
    end_counting();
    return finish();
}
