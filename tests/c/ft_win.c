// ranks: 4
// mpiexec: --with-ft
// timeout: 120
// Windows of a job that has lost a rank: calls that need it fail with MPI_ERR_PROC_FAILED, all others work, and none waits for ever.
//
// ft_win MOMENT: what the rank is at when it is lost; see `moments`.
#include "ft.h"

enum { CREATE, ALLOCATE, SHARED, DYNAMIC, KINDS };

static MPI_Win win[KINDS];
static MPI_Aint base[KINDS][64];
static long created[64], attached[64];
static int has_shared;
static MPI_Group all;

static void make(int kind)
{
    MPI_Aint own = 0;
    void *memory = NULL;
    int bytes = sizeof created, unit = sizeof(long);
    if (kind == CREATE)
        OK(MPI_Win_create(created, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win[kind]));
    if (kind == ALLOCATE)
        OK(MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win[kind]));
    if (kind == SHARED)
        OK(MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win[kind]));
    if (kind == DYNAMIC) {
        OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win[kind]));
        OK(MPI_Win_attach(win[kind], attached, bytes));
        OK(MPI_Get_address(attached, &own));
    }
    OK(MPI_Win_set_errhandler(win[kind], MPI_ERRORS_RETURN));
    OK(MPI_Allgather(&own, 1, MPI_AINT, base[kind], 1, MPI_AINT, MPI_COMM_WORLD));
}

static int is_there(int kind)
{
    return kind != SHARED || has_shared;
}

/* A displacement in the memory of `target`. */
static MPI_Aint at(int kind, int target, int index)
{
    return kind == DYNAMIC ? base[kind][target] + index * (MPI_Aint)sizeof(long) : index;
}

/* All kinds of accesses to a living rank, in an epoch of the caller's. */
static void access_living(int kind, int target)
{
    long one = 1, old = 0, zero = 0, there[2] = { 0, 0 };
    MPI_Win w = win[kind];
    WORKS(MPI_Put(&one, 1, MPI_LONG, target, at(kind, target, 8 + rank), 1, MPI_LONG, w));
    WORKS(MPI_Get(there, 1, MPI_LONG, target, at(kind, target, 8 + rank), 1, MPI_LONG, w));
    WORKS(MPI_Accumulate(&one, 1, MPI_LONG, target, at(kind, target, 0), 1, MPI_LONG, MPI_SUM, w));
    WORKS(MPI_Get_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, target, at(kind, target, 0), 1, MPI_LONG, MPI_SUM, w));
    WORKS(MPI_Fetch_and_op(&one, &old, MPI_LONG, target, at(kind, target, 1), MPI_SUM, w));
    WORKS(MPI_Compare_and_swap(&one, &zero, &old, MPI_LONG, target, at(kind, target, 2), w));
    WORKS(MPI_Win_flush(target, w));
    WORKS(MPI_Get(there, 1, MPI_LONG, target, at(kind, target, 8 + rank), 1, MPI_LONG, w));
    WORKS(MPI_Win_flush_local(target, w));
    CHECK(there[0] == 1, "%ld", there[0]);
}

/* The same to the lost one. Memory that this process has mapped still takes them. */
static void access_lost(int kind)
{
    static long one = 1, old, zero, there;
    int target = victim();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win w = win[kind];
    MAY(MPI_Put(&one, 1, MPI_LONG, target, at(kind, target, 8 + rank), 1, MPI_LONG, w));
    MAY(MPI_Get(&there, 1, MPI_LONG, target, at(kind, target, 8 + rank), 1, MPI_LONG, w));
    MAY(MPI_Accumulate(&one, 1, MPI_LONG, target, at(kind, target, 0), 1, MPI_LONG, MPI_SUM, w));
    MAY(MPI_Fetch_and_op(&one, &old, MPI_LONG, target, at(kind, target, 1), MPI_SUM, w));
    MAY(MPI_Compare_and_swap(&one, &zero, &old, MPI_LONG, target, at(kind, target, 2), w));
    MAY(MPI_Win_flush(target, w));
    if (TRY(MPI_Rput(&one, 1, MPI_LONG, target, at(kind, target, 8), 1, MPI_LONG, w, &request)) == MPI_SUCCESS)
        MAY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MAY(MPI_Win_flush_local(target, w));
}

/* Single calls that need the lost rank, which this process knows to be lost. */
static void need_lost(int kind)
{
    static long one = 1, there;
    int target = victim();
    MPI_Win w = win[kind];
    MPI_Request request = MPI_REQUEST_NULL;
    NEEDS(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w));
    NEEDS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w));
    WORKS(MPI_Win_lock(MPI_LOCK_SHARED, target, MPI_MODE_NOCHECK, w));
    NEEDS(MPI_Win_flush(target, w));
    NEEDS(MPI_Win_flush_local(target, w));
    NEEDS(MPI_Win_flush_all(w));
    NEEDS(MPI_Win_flush_local_all(w));
    NEEDS(MPI_Rget(&there, 1, MPI_LONG, target, at(kind, target, 8), 1, MPI_LONG, w, &request));
    NEEDS(MPI_Rput(&one, 1, MPI_LONG, target, at(kind, target, 8), 1, MPI_LONG, w, &request));
    NEEDS(MPI_Raccumulate(&one, 1, MPI_LONG, target, at(kind, target, 0), 1, MPI_LONG, MPI_SUM, w, &request));
    NEEDS(MPI_Rget_accumulate(&one, 1, MPI_LONG, &there, 1, MPI_LONG, target, at(kind, target, 0), 1, MPI_LONG, MPI_SUM, w, &request));
    NEEDS(MPI_Win_unlock(target, w));
    WORKS(MPI_Win_lock_all(MPI_MODE_NOCHECK, w));
    access_living(kind, 0);
    NEEDS(MPI_Win_flush(target, w));
    NEEDS(MPI_Win_unlock_all(w));
}

/* Locks at each living rank, by all of them, several times. */
static void lock_living(int kind)
{
    for (int target = 0; target < victim(); target++) {
        WORKS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win[kind]));
        access_living(kind, target);
        WORKS(MPI_Win_unlock(target, win[kind]));
        WORKS(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win[kind]));
        access_living(kind, target);
        WORKS(MPI_Win_unlock(target, win[kind]));
    }
}

/* What a rank does that waits for the lost one to write something: the wait ends, and tells why. */
static void wait_for_lost(int kind)
{
    long there = 0;
    int target = victim(), code;
    for (int way = 0; way < 4; way++) {
        MPI_Request request = MPI_REQUEST_NULL;
        int is_open = TRY(MPI_Win_lock(MPI_LOCK_SHARED, target, MPI_MODE_NOCHECK, win[kind])) == MPI_SUCCESS;
        if (!is_open)
            return;
        do {
            if (way < 3)
                code = TRY(MPI_Get(&there, 1, MPI_LONG, target, at(kind, target, 3), 1, MPI_LONG, win[kind]));
            else if ((code = TRY(MPI_Rget(&there, 1, MPI_LONG, target, at(kind, target, 3), 1, MPI_LONG, win[kind], &request))) == MPI_SUCCESS)
                code = TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
            if (code == MPI_SUCCESS && way < 2)
                code = TRY(way == 0 ? MPI_Win_flush(target, win[kind]) : MPI_Win_flush_all(win[kind]));
            if (code == MPI_SUCCESS && way == 2) {
                code = TRY(MPI_Win_unlock(target, win[kind]));
                is_open = code == MPI_SUCCESS && TRY(MPI_Win_lock(MPI_LOCK_SHARED, target, MPI_MODE_NOCHECK, win[kind])) == MPI_SUCCESS;
            }
        } while (code == MPI_SUCCESS && is_open);
        CHECK(code == MPIX_ERR_PROC_FAILED || !is_open, "class %d", code);
        if (is_open)
            MAY(MPI_Win_unlock(target, win[kind]));
    }
}

/* Epochs that have the lost rank in them. */
static void lock_lost(int kind)
{
    wait_for_lost(kind);
    need_lost(kind);
    if (TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, victim(), 0, win[kind])) == MPI_SUCCESS) {
        access_lost(kind);
        MAY(MPI_Win_unlock(victim(), win[kind]));
    }
    if (TRY(MPI_Win_lock_all(0, win[kind])) == MPI_SUCCESS) {
        access_living(kind, 0);
        access_lost(kind);
        access_living(kind, 0);
        MAY(MPI_Win_flush_all(win[kind]));
        MAY(MPI_Win_flush_local_all(win[kind]));
        MAY(MPI_Win_unlock_all(win[kind]));
    }
}

/* ---- moments: what the lost rank does, and what the others do meanwhile */

static int holds;

static void lost_locked(int kind)
{
    OK(MPI_Win_lock(holds, 0, 0, win[kind]));
}

static void lost_locked_all(int kind)
{
    OK(MPI_Win_lock_all(0, win[kind]));
}

/* Waits for the lock of rank 1, which that one has. */
static void lost_waiting(int kind)
{
    if (kind == 0)
        OK(MPI_Win_lock(holds, 1, 0, win[kind]));
}

static void meanwhile_nothing(int kind)
{
    (void)kind;
}

static void meanwhile_lock(int kind)
{
    lock_living(kind);
}

static void meanwhile_fence(int kind)
{
    MAY(MPI_Win_fence(0, win[kind]));
    await_loss();
    NEEDS(MPI_Win_fence(0, win[kind]));
}

/* All start and post to all others. */
static void meanwhile_post(int kind)
{
    MPI_Group others;
    OK(MPI_Group_excl(all, 1, &rank, &others));
    MAY(MPI_Win_post(others, 0, win[kind]));
    if (TRY(MPI_Win_start(others, 0, win[kind])) == MPI_SUCCESS)
        MAY(MPI_Win_complete(win[kind]));
    NEEDS(MPI_Win_wait(win[kind]));
    WORKS(MPI_Barrier(living));
    MPI_Group_free(&others);
}

/* Dies while rank 0 starts, or before. */
static void lost_late(int kind)
{
    if (kind == 0 && fork() == 0) {
        usleep(20000);
        kill(getppid(), SIGKILL);
        _exit(0);
    }
    if (kind == KINDS - 1)
        pause();
}

/* Rank 0 starts for the lost one and for one that posts only when that call has returned. */
static void meanwhile_start(int kind)
{
    MPI_Group group;
    int targets[2] = { 1, victim() }, zero = 0;
    if (rank == 0) {
        OK(MPI_Group_incl(all, 2, targets, &group));
        NEEDS(MPI_Win_start(group, 0, win[kind]));
        WORKS(MPI_Send(NULL, 0, MPI_INT, 1, 0, living));
        MPI_Group_free(&group);
    }
    if (rank == 1) {
        OK(MPI_Group_incl(all, 1, &zero, &group));
        WORKS(MPI_Recv(NULL, 0, MPI_INT, 0, 0, living, MPI_STATUS_IGNORE));
        WORKS(MPI_Win_post(group, 0, win[kind]));
        WORKS(MPI_Win_wait(win[kind]));
        MPI_Group_free(&group);
    }
}

/* Epochs among the living alone, after the loss. */
static void post_living(int kind)
{
    MPI_Group alive;
    long one = 1;
    int ranks[2] = { rank, victim() };
    OK(MPI_Group_excl(all, 2, ranks, &alive));
    WORKS(MPI_Win_post(alive, 0, win[kind]));
    WORKS(MPI_Win_start(alive, 0, win[kind]));
    for (int target = 0; target < victim(); target++)
        if (target != rank)
            WORKS(MPI_Put(&one, 1, MPI_LONG, target, at(kind, target, 20 + rank), 1, MPI_LONG, win[kind]));
    WORKS(MPI_Win_complete(win[kind]));
    WORKS(MPI_Win_wait(win[kind]));
    MPI_Group_free(&alive);
}

/* Sums at rank 0 until it is killed. */
static void lost_summing(int kind)
{
    static long rows[64];
    if (kind < KINDS - 1)
        return;
    for (int i = 0; i < KINDS; i++)
        if (is_there(i))
            MPI_Win_lock_all(0, win[i]);
    if (fork() == 0) {
        usleep(100000);
        kill(getppid(), SIGKILL);
        _exit(0);
    }
    for (;;)
        for (int i = 0; i < KINDS; i++)
            if (is_there(i))
                for (int times = 0; times < 100; times++) {
                    MPI_Accumulate(rows, 64, MPI_LONG, 0, at(i, 0, 0), 64, MPI_LONG, MPI_SUM, win[i]);
                    MPI_Accumulate(rows, 1, MPI_LONG, 0, at(i, 0, 0), 1, MPI_LONG, MPI_SUM, win[i]);
                    MPI_Win_flush(0, win[i]);
                }
}

static void meanwhile_sum(int kind)
{
    static long rows[64];
    if (TRY(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win[kind])) != MPI_SUCCESS)
        return;
    for (int times = 0; times < 300; times++) {
        WORKS(MPI_Accumulate(rows, 64, MPI_LONG, 0, at(kind, 0, 0), 64, MPI_LONG, MPI_SUM, win[kind]));
        WORKS(MPI_Accumulate(rows, 1, MPI_LONG, 0, at(kind, 0, 0), 1, MPI_LONG, MPI_SUM, win[kind]));
    }
    WORKS(MPI_Win_unlock(0, win[kind]));
}

static const struct {
    const char *name;
    void (*lost)(int kind), (*meanwhile)(int kind);
    int holds;
} moments[] = {
    { "idle", meanwhile_nothing, meanwhile_nothing, 0 },
    { "alone", lost_locked, meanwhile_lock, MPI_LOCK_EXCLUSIVE },
    { "shared", lost_locked, meanwhile_lock, MPI_LOCK_SHARED },
    { "all", lost_locked_all, meanwhile_lock, 0 },
    { "waiting", lost_waiting, meanwhile_nothing, MPI_LOCK_EXCLUSIVE },
    { "queueing", lost_waiting, meanwhile_nothing, MPI_LOCK_SHARED },
    { "fence", meanwhile_nothing, meanwhile_fence, 0 },
    { "post", meanwhile_nothing, meanwhile_post, 0 },
    { "start", lost_late, meanwhile_start, 0 },
    { "sum", lost_summing, meanwhile_sum, 0 },
};

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : "idle";
    int moment = 0, number = sizeof moments / sizeof *moments, is_waiting;
    MPI_Comm node;
    begin_ft(&argc, &argv);
    while (moment < number && strcmp(moments[moment].name, wanted))
        moment++;
    if (moment == number)
        MPI_Abort(MPI_COMM_WORLD, 2);
    is_waiting = moments[moment].lost == lost_waiting;
    holds = moments[moment].holds;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &has_shared);
    has_shared = has_shared == size;
    for (int kind = 0; kind < KINDS; kind++)
        if (is_there(kind))
            make(kind);
    if (is_waiting && rank == 1)
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win[0]));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim()) {
        if (is_waiting && fork() == 0) {
            usleep(200000);
            kill(getppid(), SIGKILL);
            _exit(0);
        }
        for (int kind = 0; kind < KINDS; kind++)
            if (is_there(kind))
                moments[moment].lost(kind);
        MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
        die();
    }
    if (!strcmp(wanted, "alone") || !strcmp(wanted, "shared") || !strcmp(wanted, "all")) {
        if (rank == 0)
            MPI_Recv(NULL, 0, MPI_INT, victim(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        WORKS(MPI_Barrier(living));
    }
    if (is_waiting) {
        await_loss();
        /* Rank 0 comes before the lock is given up, or after it. */
        if (rank == 0) {
            WORKS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win[0]));
            WORKS(MPI_Win_unlock(1, win[0]));
        }
        if (rank == 1) {
            usleep(50000);
            WORKS(MPI_Win_unlock(1, win[0]));
        }
    }
    for (int kind = 0; kind < KINDS; kind++)
        if (is_there(kind)) {
            moments[moment].meanwhile(kind);
            await_loss();
            lock_living(kind);
            WORKS(MPI_Barrier(living));
            if (strcmp(wanted, "post"))
                post_living(kind);
            lock_lost(kind);
            WORKS(MPI_Barrier(living));
            NEEDS(MPI_Win_fence(0, win[kind]));
            lock_living(kind);
        }
    for (int kind = 0; kind < KINDS; kind++)
        if (is_there(kind))
            MAY(MPI_Win_free(&win[kind]));
    NEEDS(MPI_Win_create(created, sizeof created, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win[0]));
    WORKS(MPI_Win_create(created, sizeof created, 1, MPI_INFO_NULL, living, &win[0]));
    WORKS(MPI_Win_fence(0, win[0]));
    WORKS(MPI_Win_free(&win[0]));
    MPI_Comm_free(&node);
    return finish_ft();
}
