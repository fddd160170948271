// Wrong uses of memory, requests and windows that TERN_CHECK finds, and right ones beside them that it leaves alone; for three ranks.
// Usage: misuse WAY; each way is a function here. The library says what is wrong.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

/* ---- memory of operations that are under way */

static void changed_send(void)
{
    int value = 1;
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        value = 2;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void changed_receive(void)
{
    int value = 1, values[2] = {0};
    MPI_Request request;
    if (rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv_init(values, 2, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        values[1] = 5;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
}

static void changed_collective(void)
{
    int value = rank, sum;
    MPI_Request request;
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank == 1)
        sum = 7;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void overlapping_receives(void)
{
    int values[4] = {0};
    MPI_Request requests[2];
    if (rank == 1) {
        MPI_Irecv(values, 3, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(values + 1, 3, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 0) {
        MPI_Send(values, 3, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Send(values, 3, MPI_INT, 1, 2, MPI_COMM_WORLD);
    }
}

static void sent_while_received(void)
{
    int value = 0;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, (rank + 2) % 3, 1, MPI_COMM_WORLD, &request);
    MPI_Send(&value, 1, MPI_INT, (rank + 1) % 3, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void reduced_while_received(void)
{
    int value = 0, sum;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &request);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void sendrecv(void)
{
    int values[6] = {0};
    MPI_Sendrecv(values, 4, MPI_INT, (rank + 1) % 3, 1, values + 2, 4, MPI_INT, (rank + 2) % 3, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void gathered_twice(void)
{
    int value = rank, all[3], counts[3] = {1, 1, 1}, places[3] = {0, 1, 1};
    MPI_Gatherv(&value, 1, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
}

static void overlapping_entries(void)
{
    char bytes[64] = {0};
    MPI_Datatype close;
    MPI_Type_create_hvector(4, 1, 3, MPI_INT, &close);
    MPI_Type_commit(&close);
    if (rank == 0)
        MPI_Send(bytes, 4, MPI_INT, 1, 1, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(bytes, 1, close, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&close);
}

static void not_mapped(void)
{
    if (rank == 0)
        MPI_Send(&rank, 1 << 30, MPI_INT, 1, 1, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(&size, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- types and requests */

static void bsend_type(void)
{
    float real = 1;
    int value = 0, length = MPI_BSEND_OVERHEAD + 64;
    char *memory = malloc(length);
    MPI_Buffer_attach(memory, length);
    if (rank == 0)
        MPI_Bsend(&real, 1, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&memory, &length);
    free(memory);
}

static void freed_active(void)
{
    static int one, two;
    int value = 0;
    MPI_Request request;
    if (rank == 1) {
        MPI_Irecv(&one, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        MPI_Recv_init(&two, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Request_free(&request);
    } else if (rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void freed_collective(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
}

static void not_waited(void)
{
    MPI_Request request;
    if (rank == 0)
        MPI_Isend(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
}

/* ---- races of messages */

static void race(void)
{
    int value = rank, got;
    MPI_Status status;
    if (rank) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        return;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    // Right only because the other rank is asked for that has not come.
    MPI_Recv(&got, 1, MPI_INT, 3 - status.MPI_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A master that answers to those that ask first, in a header and a body. */
static void no_race(void)
{
    int value = rank, got, left;
    MPI_Status status;
    for (int round = 0; round < 3; round++) {
        if (rank) {
            MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
            MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
            MPI_Recv(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            continue;
        }
        for (left = 2; left > 0; left--) {
            MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
        }
    }
    // After a collective, and after an answer, nothing races. The tag is another one: a rank that is through must not look like one that asks.
    if (rank == 2)
        MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(&got, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// A tool makes objects of its own in another thread, while the program makes requests.
static int over;
static void *tool(void *unused)
{
    MPI_T_pvar_session session;
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        MPI_T_pvar_session_create(&session);
        MPI_T_pvar_session_free(&session);
    }
    return unused;
}

static void tool_thread(void)
{
    pthread_t thread;
    int provided, value = rank, got;
    MPI_Request requests[2];
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    pthread_create(&thread, NULL, tool, NULL);
    for (int round = 0; round < 3000; round++) {
        MPI_Irecv(&got, 1, MPI_INT, (rank + 2) % 3, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&value, 1, MPI_INT, (rank + 1) % 3, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    MPI_T_finalize();
}

/* ---- windows */

static int memory[16];
static MPI_Win win;

static void open_window(void)
{
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

// A lock of the program's own orders what each process does under it.
static void own_lock(void)
{
    int zero = 0, one = 1, was, number;
    open_window();
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 5; round++) {
        do {
            MPI_Compare_and_swap(&one, &zero, &was, MPI_INT, 1, 0, win);
            MPI_Win_flush(1, win);
        } while (was != 0);
        MPI_Get(&number, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
        MPI_Win_flush(1, win);
        number++;
        MPI_Put(&number, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
        MPI_Win_flush(1, win);
        MPI_Accumulate(&zero, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(1, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    if (rank == 1 && memory[1] != 15)
        printf("wrong: %d\n", memory[1]);
}

// A pair with a gap between its parts comes as it was.
static void pair_fetched(void)
{
    struct {
        short value;
        int at;
    } one = {3, 9}, got = {-1, -1}, *there = (void *)memory;
    there->value = 5;
    there->at = 7;
    open_window();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Fetch_and_op(&one, &got, MPI_SHORT_INT, 1, 0, MPI_MINLOC, win);
        MPI_Win_unlock(1, win);
        if (got.value != 5 || got.at != 7)
            printf("wrong: %d at %d\n", got.value, got.at);
    }
    MPI_Win_free(&win);
    if (rank == 1 && (there->value != 3 || there->at != 9))
        printf("wrong: %d at %d at the target\n", there->value, there->at);
}

static void put_changed(void)
{
    int values[2] = {1, 2};
    open_window();
    MPI_Win_fence(0, win);
    if (rank == 0) {
        MPI_Put(values, 2, MPI_INT, 1, 0, 2, MPI_INT, win);
        values[1] = 3;
    }
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void get_changed(void)
{
    int values[2] = {1, 2};
    open_window();
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Get(values, 2, MPI_INT, 1, 0, 2, MPI_INT, win);
        values[1] = 3;
        MPI_Win_unlock(1, win);
    }
    MPI_Win_free(&win);
}

static void get_twice(void)
{
    int value = 0;
    open_window();
    MPI_Win_fence(0, win);
    MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Get(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void puts_meet(void)
{
    int values[4] = {1, 2, 3, 4};
    open_window();
    MPI_Win_fence(0, win);
    if (rank != 1)
        MPI_Put(values, 4, MPI_INT, 1, rank, 4, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void locks_meet(void)
{
    int values[4] = {1, 2, 3, 4};
    open_window();
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    if (rank == 0)
        MPI_Put(values, 4, MPI_INT, 1, 0, 4, MPI_INT, win);
    if (rank == 2)
        MPI_Get(values, 4, MPI_INT, 1, 3, 4, MPI_INT, win);
    MPI_Win_unlock(1, win);
    MPI_Win_free(&win);
}

static void store_meets(void)
{
    int values[4] = {1, 2, 3, 4};
    open_window();
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Put(values, 4, MPI_INT, 1, 0, 4, MPI_INT, win);
    if (rank == 1)
        memory[2] = 77;
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void lock_between_fences(void)
{
    int value = 1;
    open_window();
    MPI_Win_fence(0, win);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_unlock(1, win);
    }
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void outside(void)
{
    int value = 1;
    open_window();
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Put(&value, 1, MPI_INT, 1, 16, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void window_not_mapped(void)
{
    MPI_Win_create(memory, (MPI_Aint)1 << 40, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

/* A window's call that not all make. */
static void window_hangs(void)
{
    open_window();
    MPI_Win_set_name(win, "the window");
    if (rank == 0)
        MPI_Recv(&size, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, win);
}

/* Everything at once, as it should be. */
static void right(void)
{
    int right = (rank + 1) % 3, left = (rank + 2) % 3, value = rank, got[3], grid[4][4] = {{0}}, all[3], sum = 0;
    MPI_Request requests[6];
    MPI_Datatype column;
    // Reads of one buffer by several operations, and columns that lie between each other.
    MPI_Type_vector(4, 1, 4, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Irecv(&grid[0][0], 1, column, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&grid[0][1], 1, column, left, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&grid[0][2], 1, column, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&grid[0][2], 1, column, right, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Iallgather(&value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[4]);
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[5]);
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&column);
    MPI_Sendrecv(&value, 1, MPI_INT, right, 3, &got[0], 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(&got[0], 1, MPI_INT, right, 3, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (all[0] != 0 || all[2] != 2 || sum != 3 || got[0] != right)
        printf("wrong: %d %d %d %d\n", all[0], all[2], sum, got[0]);
    // Rank 0 gets nothing from an exclusive scan: it may give no memory for it, or keeps what it gives.
    value = 1;
    MPI_Exscan(&value, rank ? &sum : NULL, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iexscan(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    if (sum != (rank ? rank : 3) || value != (rank ? rank : 1))
        printf("wrong: %d %d\n", sum, value);
    value = rank;
    // A freed send that is known to be complete: its state was asked for.
    int flag = 0;
    MPI_Isend(&value, 1, MPI_INT, right, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv(&got[1], 1, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    // What was cancelled may be freed, whether the cancelling has come in time or not.
    MPI_Irecv(&got[2], 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Issend(&value, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[0]);
    MPI_Probe(0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Cancel(&requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Recv_init(&got[2], 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Start(&requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Request_free(&requests[0]);
    // Stores, then accesses; accesses to bytes of their own; accumulates together; epochs one after another.
    open_window();
    MPI_Win_fence(0, win);
    memory[3 + rank] = rank;
    MPI_Win_fence(0, win);
    memory[8] = rank;
    MPI_Put(&value, 1, MPI_INT, right, rank, 1, MPI_INT, win);
    MPI_Accumulate(&value, 1, MPI_INT, 0, 12, 1, MPI_INT, MPI_SUM, win);
    MPI_Get(&got[2], 1, MPI_INT, left, 3 + left, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (got[2] != left || memory[left] != left || (rank == 0 && memory[12] != 3))
        printf("wrong: %d %d %d\n", got[2], memory[left], memory[12]);
    for (int turn = 0; turn < 3; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == turn) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
            MPI_Put(&value, 1, MPI_INT, 0, 14, 1, MPI_INT, win);
            MPI_Win_unlock(0, win);
        }
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(&value, 1, MPI_INT, 0, 15, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Request get;
    MPI_Rget(&got[2], 1, MPI_INT, 0, 14, 1, MPI_INT, win, &get);
    MPI_Wait(&get, MPI_STATUS_IGNORE);
    if (got[2] != 2)
        printf("wrong: %d\n", got[2]);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct { const char *name; void (*run)(void); } ways[] = {
        {"changed_send", changed_send}, {"changed_receive", changed_receive}, {"changed_collective", changed_collective},
        {"overlapping_receives", overlapping_receives}, {"sent_while_received", sent_while_received},
        {"reduced_while_received", reduced_while_received}, {"sendrecv", sendrecv}, {"gathered_twice", gathered_twice},
        {"overlapping_entries", overlapping_entries}, {"not_mapped", not_mapped}, {"bsend_type", bsend_type}, {"freed_active", freed_active},
        {"freed_collective", freed_collective}, {"not_waited", not_waited}, {"race", race}, {"no_race", no_race},
        {"put_changed", put_changed}, {"get_changed", get_changed}, {"get_twice", get_twice}, {"puts_meet", puts_meet},
        {"locks_meet", locks_meet}, {"store_meets", store_meets}, {"lock_between_fences", lock_between_fences},
        {"outside", outside}, {"window_not_mapped", window_not_mapped}, {"window_hangs", window_hangs}, {"own_lock", own_lock},
        {"pair_fetched", pair_fetched}, {"tool_thread", tool_thread}, {"right", right},
    };
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
            ways[i].run();
    MPI_Finalize();
    return 0;
}
