// ranks: 2
// timeout: 240
// nodes: 1
// needs: test "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -gt 7000000
// More bytes than an int counts, by large counts and by large displacements.
// Between nodes these are gigabytes that go through sockets, which take longer than a test may.
#include "large.h"
#include "rma.h"

/* More elements than an int counts, into and out of memory of the program's. */
static void created(void)
{
    const MPI_Count many = MORE_THAN_INT;
    unsigned char *base = repeated(many), *memory = repeated(many), *result = repeated(many);
    MPI_Win win;
    MPI_Request request;
    CHECK(base && memory && result);
    OK(MPI_Win_create_c(base, many, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int way = 0; way < 4; way++) {
        memset(base, 0, PIECE);
        memset(memory, 0, PIECE);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == 0) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
            fill(memory);
            if (way == 0)
                OK(MPI_Put_c(memory, many, MPI_BYTE, 1, 0, many, MPI_BYTE, win));
            else if (way == 1)
                OK(MPI_Accumulate_c(memory, many, MPI_UINT8_T, 1, 0, many, MPI_UINT8_T, MPI_MAX, win));
            else if (way == 2)
                OK(MPI_Get_accumulate_c(memory, many, MPI_UINT8_T, result, many, MPI_UINT8_T, 1, 0, many, MPI_UINT8_T,
                                        MPI_REPLACE, win));
            else {
                OK(MPI_Rput_c(memory, many, MPI_BYTE, 1, 0, many, MPI_BYTE, win, &request));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            }
            OK(MPI_Win_flush(1, win));
            memset(memory, 0, PIECE);
            OK(MPI_Get_c(memory, many, MPI_BYTE, 1, 0, many, MPI_BYTE, win));
            OK(MPI_Win_unlock(1, win));
            CHECK(is_filled(memory), "way %d", way);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == 1)
            CHECK(is_filled(base), "way %d", way);
    }
    if (rank == 0 && strict()) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Put_c(memory, many, MPI_BYTE, 1, 1, many, MPI_BYTE, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Accumulate_c(memory, many, MPI_UINT8_T, 1, 1, many, MPI_UINT8_T, MPI_SUM, win));
        OK(MPI_Win_unlock(1, win));
    }
    OK(MPI_Win_free(&win));
    give_back(base, many);
    give_back(memory, many);
    give_back(result, many);
}

/* Displacements beyond 2^31, in units and as addresses, and a target type that is longer than that. */
static void far(void)
{
    const MPI_Aint bytes = (5L << 30) + 64, unit = 1 << 20;
    unsigned char *base = sparse(bytes);
    CHECK(base != MAP_FAILED);
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        MPI_Aint at = 0, step = dynamic ? 1 : unit;
        MPI_Win win;
        if (dynamic) {
            OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
            OK(MPI_Win_attach(win, base, bytes));
            OK(MPI_Get_address(base, &at));
            OK(MPI_Bcast(&at, 1, MPI_AINT, 1, MPI_COMM_WORLD));
        } else {
            OK(MPI_Win_create(base, bytes, (int)unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        }
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == 0) {
            const long mark = 41, one = 1;
            long seen = 0, pair[2] = {7, 8}, back[2] = {0, 0};
            MPI_Aint there = at + (5L << 30) / step;
            MPI_Datatype apart;
            OK(MPI_Win_lock_all(0, win));
            OK(MPI_Put(&mark, 1, MPI_LONG, 1, there, 1, MPI_LONG, win));
            OK(MPI_Win_flush(1, win));
            OK(MPI_Fetch_and_op(&one, &seen, MPI_LONG, 1, there, MPI_SUM, win));
            OK(MPI_Win_flush(1, win));
            CHECK(seen == 41, "%ld", seen);
            const long want = 42, next = 100;
            OK(MPI_Compare_and_swap(&next, &want, &seen, MPI_LONG, 1, there, win));
            OK(MPI_Win_flush(1, win));
            CHECK(seen == 42, "%ld", seen);
            OK(MPI_Get(&seen, 1, MPI_LONG, 1, there, 1, MPI_LONG, win));
            OK(MPI_Win_flush(1, win));
            CHECK(seen == 100, "%ld", seen);
            /* Two words, 3 GiB apart. */
            OK(MPI_Type_create_hvector_c(2, 1, 3L << 30, MPI_LONG, &apart));
            OK(MPI_Type_commit(&apart));
            OK(MPI_Put(pair, 2, MPI_LONG, 1, at + unit / step, 1, apart, win));
            OK(MPI_Win_flush(1, win));
            OK(MPI_Accumulate(pair, 2, MPI_LONG, 1, at + unit / step, 1, apart, MPI_SUM, win));
            OK(MPI_Win_flush(1, win));
            OK(MPI_Get(back, 2, MPI_LONG, 1, at + unit / step, 1, apart, win));
            OK(MPI_Win_flush(1, win));
            CHECK(back[0] == 14 && back[1] == 16, "%ld %ld", back[0], back[1]);
            if (strict())
                FAILS(MPI_ERR_RMA_RANGE, MPI_Put(pair, 2, MPI_LONG, 1, there, 1, apart, win));
            OK(MPI_Type_free(&apart));
            OK(MPI_Win_unlock_all(win));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == 1) {
            long found[3];
            memcpy(&found[0], base + (5L << 30), sizeof(long));
            memcpy(&found[1], base + unit, sizeof(long));
            memcpy(&found[2], base + unit + (3L << 30), sizeof(long));
            CHECK(found[0] == 100 && found[1] == 14 && found[2] == 16, "%ld %ld %ld", found[0], found[1], found[2]);
            memset(base + (5L << 30), 0, sizeof(long));
            memset(base + unit, 0, sizeof(long));
            memset(base + unit + (3L << 30), 0, sizeof(long));
            if (dynamic)
                OK(MPI_Win_detach(win, base));
        } else if (dynamic) {
            OK(MPI_Win_detach(win, base));
        }
        OK(MPI_Win_free(&win));
    }
    munmap(base, bytes);
}

static void allocated(void)
{
    const MPI_Aint bytes = ((MPI_Aint)1 << 31) + (1 << 20);
    char *base, *memory = calloc(bytes, 1);
    MPI_Win win;
    OK(MPI_Win_allocate(rank == 1 ? bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    const MPI_Aint marks[] = {0, 4095, (MPI_Aint)1 << 30, INT32_MAX, (MPI_Aint)INT32_MAX + 1, bytes - 1};
    OK(MPI_Win_fence(0, win));
    if (rank == 0) {
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            memory[marks[i]] = (char)(i + 1);
        OK(MPI_Put_c(memory, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win));
    }
    OK(MPI_Win_fence(0, win));
    if (rank == 1)
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            CHECK(base[marks[i]] == (char)(i + 1), "mark %zu", i);
    if (rank == 0) {
        char last = 0, more = 9;
        OK(MPI_Get(&last, 1, MPI_CHAR, 1, bytes - 1, 1, MPI_CHAR, win));
        OK(MPI_Win_fence(0, win));
        CHECK(last == sizeof marks / sizeof *marks);
        OK(MPI_Accumulate(&more, 1, MPI_SIGNED_CHAR, 1, bytes - 1, 1, MPI_SIGNED_CHAR, MPI_SUM, win));
        if (strict())
            FAILS(MPI_ERR_RMA_RANGE, MPI_Put_c(memory, bytes, MPI_BYTE, 1, 1, bytes, MPI_BYTE, win));
    } else {
        OK(MPI_Win_fence(0, win));
    }
    OK(MPI_Win_fence(0, win));
    if (rank == 1)
        CHECK(base[bytes - 1] == 9 + sizeof marks / sizeof *marks);
    OK(MPI_Win_free(&win));
    free(memory);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    allocated();
    created();
    far();
    return finish();
}
