/* Traffic over a network on which something goes wrong.
 * Usage: traffic WAY [return]
 *   WAY      short, eager, long, column, several, collective, onesided, passive, making (communicators and windows come and go),
 *            partitioned; dies: as long, and the last rank dies half way
 *   return   errors are returned: each rank then prints "RANK: CLASS" of the first, where CLASS is 0 when all went well. Of
 *            two ranks both end then; more go on with all rounds, since who has lost nobody waits for those that have
 *            (partitioned is for two)
 * Every message is checked. Ends with 0, or 3 when data was wrong. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 1 << 20, ROUNDS = 60 };
static int rank, size, failed, returns;

static unsigned char byte_at(int from, int round, long at)
{
    return (unsigned char)(from * 31 + round * 7 + at + (at >> 8) * 3);
}

static void fill(unsigned char *out, long len, int round)
{
    for (long i = 0; i < len; i++) out[i] = byte_at(rank, round, i);
}

static void check(const unsigned char *in, long len, int from, int round)
{
    for (long i = 0; i < len; i++) {
        if (in[i] != byte_at(from, round, i)) {
            fprintf(stderr, "rank %d: wrong data in round %d at byte %ld of %ld from %d\n", rank, round, i, len, from);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
}

/* True when all went well. */
static int good(int code)
{
    if (code != MPI_SUCCESS && !failed) MPI_Error_class(code, &failed);
    return code == MPI_SUCCESS;
}

static void ring(unsigned char *out, unsigned char *in, long len, int round, MPI_Datatype type, int count)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    fill(out, len, round);
    memset(in, 0, len);
    if (good(MPI_Sendrecv(out, count, type, right, 0, in, count, type, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)))
        if (type == MPI_BYTE) check(in, len, left, round);
}

/* Blocks at a stride: only these travel. */
static void column(unsigned char *out, unsigned char *in, int round)
{
    enum { BLOCK = 2000, STRIDE = 3000, BLOCKS = LONG / STRIDE };
    MPI_Datatype type;
    MPI_Type_vector(BLOCKS, BLOCK, STRIDE, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    fill(out, LONG, round);
    memset(in, 0, LONG);
    if (good(MPI_Sendrecv(out, 1, type, right, 0, in, 1, type, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)))
        for (int i = 0; i < BLOCKS; i++)
            for (int j = 0; j < STRIDE; j++) {
                long at = (long)i * STRIDE + j;
                unsigned char expected = j < BLOCK ? byte_at(left, round, at) : 0;
                if (in[at] != expected) {
                    fprintf(stderr, "rank %d: wrong data at block %d, byte %d\n", rank, i, j);
                    MPI_Abort(MPI_COMM_WORLD, 3);
                }
            }
    MPI_Type_free(&type);
}

static void several(unsigned char *out, unsigned char *in, int round)
{
    enum { MANY = 16, PART = LONG / MANY };
    MPI_Request all[2 * MANY];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    fill(out, LONG, round);
    memset(in, 0, LONG);
    for (int i = 0; i < MANY; i++)
        good(MPI_Irecv(in + i * PART, PART, MPI_BYTE, left, i, MPI_COMM_WORLD, &all[i]));
    for (int i = MANY - 1; i >= 0; i--)
        good(MPI_Isend(out + i * PART, PART, MPI_BYTE, right, i, MPI_COMM_WORLD, &all[MANY + i]));
    int whole = 1;
    for (int i = 0; i < 2 * MANY; i++) whole &= good(MPI_Wait(&all[i], MPI_STATUS_IGNORE));
    if (whole) check(in, LONG, left, round);
}

static void onesided(unsigned char *out, unsigned char *in, int round)
{
    enum { LEN = 100000 };
    static MPI_Win win = MPI_WIN_NULL;
    if (win == MPI_WIN_NULL) {
        if (!good(MPI_Win_create(in, LEN, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win))) {
            win = MPI_WIN_NULL;
            return;
        }
        if (returns) MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    }
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    fill(out, LEN, round);
    if (good(MPI_Win_fence(0, win)) && good(MPI_Put(out, LEN, MPI_BYTE, right, 0, LEN, MPI_BYTE, win))
        && good(MPI_Win_fence(0, win)))
        check(in, LEN, left, round);
    if (round == ROUNDS - 1) MPI_Win_free(&win);
}

/* Under locks, at the memory of the next rank: bytes that come back as they went, a counter that only grows, and a sum that
 * other ways combine. */
static void passive(unsigned char *out, unsigned char *in, int round)
{
    enum { LEN = 40000, HEAD = 64 };
    static MPI_Win win = MPI_WIN_NULL;
    static long last = -1;
    if (win == MPI_WIN_NULL) {
        char *base;
        if (!good(MPI_Win_allocate(HEAD + (MPI_Aint)size * LEN, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win))) {
            win = MPI_WIN_NULL;
            return;
        }
        if (returns) MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        memset(base, 0, HEAD);
        if (!good(MPI_Barrier(MPI_COMM_WORLD))) return;
    }
    int right = (rank + 1) % size;
    long one = 1, was = -1;
    double half = 0.5, sum = -1;
    fill(out, LEN, round);
    memset(in, 0, LEN);
    int locked = good(MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, right, 0, win));
    int whole = locked && good(MPI_Put(out, LEN, MPI_BYTE, right, HEAD + rank * LEN, LEN, MPI_BYTE, win))
        && good(MPI_Fetch_and_op(&one, &was, MPI_LONG, right, 0, MPI_SUM, win))
        && good(MPI_Fetch_and_op(&half, &sum, MPI_DOUBLE, right, 8, MPI_SUM, win)) && good(MPI_Win_flush(right, win))
        && good(MPI_Get(in, LEN, MPI_BYTE, right, HEAD + rank * LEN, LEN, MPI_BYTE, win));
    /* What is locked is unlocked: the window could not be freed, and the others wait for that. */
    if (locked && good(MPI_Win_unlock(right, win)) && whole) {
        check(in, LEN, rank, round);
        if (was <= last || (!failed && sum != 0.5 * round)) {
            fprintf(stderr, "rank %d: counter %ld after %ld, sum %g in round %d\n", rank, was, last, sum, round);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        last = was;
    }
    if (round == ROUNDS - 1) MPI_Win_free(&win);
}

/* What all members agree about: it fails at all of them. What a window's members do then need not. */
static void making(int round)
{
    MPI_Comm same, part;
    MPI_Win win;
    int *base, value = rank + round, one;
    if (!good(MPI_Comm_dup(MPI_COMM_WORLD, &same))) return;
    int whole = good(MPI_Comm_split(same, rank % 2, rank, &part));
    if (whole) {
        if (good(MPI_Comm_size(part, &one)) && one != (size + 1 - rank % 2) / 2) MPI_Abort(MPI_COMM_WORLD, 3);
        MPI_Comm_free(&part);
    }
    if (whole && good(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, same, &base, &win))) {
        if (returns) {
            MPI_Win_free(&win);
            MPI_Comm_free(&same);
            return;
        }
        MPI_Win_fence(0, win);
        MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        if (*base != (rank + size - 1) % size + round) MPI_Abort(MPI_COMM_WORLD, 3);
        MPI_Win_free(&win);
    }
    MPI_Comm_free(&same);
}

/* A partitioned message to the right, for the rounds to come. */
static MPI_Request parts[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

static void partitioned(unsigned char *out, unsigned char *in, int round)
{
    enum { PARTS = 4, PART = 5000 };
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    if (parts[0] == MPI_REQUEST_NULL) {
        MPI_Psend_init(out, PARTS, PART, MPI_BYTE, right, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &parts[0]);
        MPI_Precv_init(in, PARTS, PART, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &parts[1]);
    }
    fill(out, PARTS * PART, round);
    memset(in, 0, PARTS * PART);
    if (!good(MPI_Startall(2, parts)) || !good(MPI_Pready_range(0, PARTS - 1, parts[0]))) return;
    int whole = good(MPI_Wait(&parts[0], MPI_STATUS_IGNORE));
    if (good(MPI_Wait(&parts[1], MPI_STATUS_IGNORE)) && whole) check(in, PARTS * PART, left, round);
    if (failed || round == ROUNDS - 1) {
        MPI_Request_free(&parts[0]);
        MPI_Request_free(&parts[1]);
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "short";
    returns = argc > 2 && !strcmp(argv[2], "return");
    unsigned char *out = malloc(LONG), *in = malloc(LONG);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (returns) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < ROUNDS; round++) {
        if (!strcmp(way, "short")) ring(out, in, 8, round, MPI_BYTE, 8);
        else if (!strcmp(way, "eager")) ring(out, in, 6000, round, MPI_BYTE, 6000);
        else if (!strcmp(way, "long")) ring(out, in, LONG, round, MPI_BYTE, LONG);
        else if (!strcmp(way, "column")) column(out, in, round);
        else if (!strcmp(way, "several")) several(out, in, round);
        else if (!strcmp(way, "making")) making(round);
        else if (!strcmp(way, "onesided")) onesided(out, in, round);
        else if (!strcmp(way, "passive")) passive(out, in, round);
        else if (!strcmp(way, "partitioned")) partitioned(out, in, round);
        else if (!strcmp(way, "dies")) {
            if (round == ROUNDS / 2 && rank == size - 1) raise(SIGKILL);
            ring(out, in, LONG, round, MPI_BYTE, LONG);
        }
        else {
            int mine = rank + round, sum = 0;
            if (good(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD))
                && sum != size * (size - 1) / 2 + size * round) {
                fprintf(stderr, "rank %d: wrong sum %d in round %d\n", rank, sum, round);
                MPI_Abort(MPI_COMM_WORLD, 3);
            }
        }
        if (failed && size == 2) break;
    }
    if (returns) {
        /* What is asked of a lost process later fails too, and nothing waits. */
        if (failed && size == 2) {
            int other = size - 1 - rank, code = MPI_Recv(in, 8, MPI_BYTE, other, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            good(code);
            if (code == MPI_SUCCESS) failed = -1;
            if (!strcmp(way, "partitioned")) {
                /* A receive that was never announced. */
                MPI_Precv_init(in, 1, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &parts[1]);
                MPI_Start(&parts[1]);
                if (MPI_Wait(&parts[1], MPI_STATUS_IGNORE) == MPI_SUCCESS) failed = -1;
                MPI_Request_free(&parts[1]);
            }
        }
        printf("%d: %s\n", rank, failed == 0 ? "0" : failed == MPI_ERR_PROC_ABORTED ? "aborted" : "another");
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
