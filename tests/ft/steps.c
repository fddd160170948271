/* Members of windows that are killed after a number of instructions of their work (mpiexec --with-ft).
 *
 * steps WORK FROM EVERY: in each round one of those that live is killed, in turn the first, the last and the middle one, until two are left. It
 * does the work once to count its instructions, by the processor's trap flag. Then all do the work again, and it is killed: in the first round after
 * FROM instructions, in each later one after EVERY more. EVERY 0: at places that lie evenly in the work. The others go on: their calls
 * return, the old window serves them, and so does a new one. */
#define _GNU_SOURCE
#define LIMIT 150
#include "ft.h"
#include <sys/syscall.h>
#include <ucontext.h>

#if !defined(__x86_64__)
int main(void)
{
    printf("skipped: only the trap flag of x86-64 counts instructions here\n");
    return 0;
}
#else

enum { ROW = 4096, PUTS = 300, COUNTER = 0, GUARDED = 1, MESSAGE = 12000, SUMMED = 8, PUT = SUMMED + ROW, LONGS = PUT + PUTS };

static MPI_Comm now;
static int members;
static MPI_Win win = MPI_WIN_NULL;
static long created[LONGS], row[ROW];
static MPI_Aint base[64];
static int passes;

/* What the memory of a window is. */
enum { ALLOCATED, CREATED, ATTACHED };

static int kind;

/* A displacement in the memory of that member. */
static MPI_Aint place(int at, int index)
{
    return kind == ATTACHED ? base[at] + index * (MPI_Aint)sizeof(long) : index;
}

/* ---- instructions */

#define TRAP_FLAG 0x100
static volatile long instructions, last;

static void count_one(int sig)
{
    (void)sig;
    if (++instructions == last)
        raise(SIGKILL);
}

/* The flag is that of what the signal has interrupted. */
static void turn(int sig, siginfo_t *info, void *at)
{
    (void)sig, (void)info;
    ((ucontext_t *)at)->uc_mcontext.gregs[REG_EFL] ^= TRAP_FLAG;
}

static int me, who;

/* For the one that counts: ends the count for a while, or goes on with it. */
static void turn_back(void)
{
    if (me == who)
        raise(SIGUSR1);
}

/* In the place of the C library's: where the library keeps signals away, the trap still comes. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    sigset_t but;
    if (set) {
        but = *set;
        sigdelset(&but, SIGTRAP);
    }
    return syscall(SYS_rt_sigprocmask, how, set ? &but : NULL, before, 8) ? -1 : 0;
}

static void listen(void)
{
    struct sigaction action = { .sa_sigaction = turn, .sa_flags = SA_SIGINFO };
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGTRAP, count_one);
    signal(SIGALRM, hangs);
}

/* ---- what all do; nobody's calls hang, and they say that somebody is lost if anything */

static int target(void)
{
    return (who + 1) % members;
}

static void sum_once(int at)
{
    long one = 1, old;
    MAY(MPI_Accumulate(&one, 1, MPI_LONG, at, place(at, SUMMED), 1, MPI_LONG, MPI_SUM, win));
    MAY(MPI_Accumulate(row, ROW, MPI_LONG, at, place(at, SUMMED), ROW, MPI_LONG, MPI_SUM, win));
    MAY(MPI_Fetch_and_op(&one, &old, MPI_LONG, at, place(at, SUMMED), MPI_SUM, win));
    MAY(MPI_Win_flush(at, win));
}

static void alone(void)
{
    if (TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target(), 0, win)) != MPI_SUCCESS)
        return;
    MAY(MPI_Put(row, 1, MPI_LONG, target(), place(target(), PUT), 1, MPI_LONG, win));
    MAY(MPI_Win_unlock(target(), win));
}

/* Others want the lock alone, and some share it. */
static void shared(void)
{
    if (me != who)
        alone();
    if (TRY(MPI_Win_lock(MPI_LOCK_SHARED, target(), 0, win)) == MPI_SUCCESS) {
        MAY(MPI_Win_flush(target(), win));
        MAY(MPI_Win_unlock(target(), win));
    }
    if (me != who)
        alone();
}

static void lock_all(void)
{
    if (me != who)
        alone();
    if (TRY(MPI_Win_lock_all(0, win)) == MPI_SUCCESS) {
        MAY(MPI_Win_flush_all(win));
        MAY(MPI_Win_unlock_all(win));
    }
    if (me != who)
        alone();
}

static void sum(void)
{
    if (TRY(MPI_Win_lock(MPI_LOCK_SHARED, target(), 0, win)) != MPI_SUCCESS)
        return;
    sum_once(target());
    MAY(MPI_Win_unlock(target(), win));
}

/* No instruction combines pairs. */
static void guard(void)
{
    struct { double value; int at; } pair = { me, me };
    if (TRY(MPI_Win_lock(MPI_LOCK_SHARED, target(), 0, win)) != MPI_SUCCESS)
        return;
    for (int times = 0; times < 2; times++)
        MAY(MPI_Accumulate(&pair, 1, MPI_DOUBLE_INT, target(), place(target(), GUARDED), 1, MPI_DOUBLE_INT, MPI_MAXLOC, win));
    MAY(MPI_Win_unlock(target(), win));
}

static void swap(void)
{
    long one = 1, zero = 0, old;
    if (TRY(MPI_Win_lock(MPI_LOCK_SHARED, target(), 0, win)) != MPI_SUCCESS)
        return;
    MAY(MPI_Compare_and_swap(&one, &zero, &old, MPI_LONG, target(), place(target(), GUARDED), win));
    MAY(MPI_Compare_and_swap(&zero, &one, &old, MPI_LONG, target(), place(target(), GUARDED), win));
    MAY(MPI_Win_unlock(target(), win));
}

static void fenced(void)
{
    MAY(MPI_Win_fence(0, win));
    MAY(MPI_Put(row, 1, MPI_LONG, target(), place(target(), PUT), 1, MPI_LONG, win));
    MAY(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

/* All start and post to all others. */
static void post(void)
{
    MPI_Group all, others;
    MPI_Comm_group(now, &all);
    MPI_Group_excl(all, 1, &me, &others);
    MAY(MPI_Win_post(others, 0, win));
    if (TRY(MPI_Win_start(others, 0, win)) == MPI_SUCCESS) {
        for (int rank = 0; rank < members; rank++)
            if (rank != me)
                MAY(MPI_Put(row, 1, MPI_LONG, rank, place(rank, PUT + me), 1, MPI_LONG, win));
        MAY(MPI_Win_complete(win));
    }
    MAY(MPI_Win_wait(win));
    MPI_Group_free(&others);
    MPI_Group_free(&all);
}

/* Makes a window, does a little in it, and ends it. */
static void come_and_go(int code, MPI_Win *fresh)
{
    CHECK(code == MPI_SUCCESS || code == MPIX_ERR_PROC_FAILED, "class %d", code);
    if (code != MPI_SUCCESS)
        return;
    MPI_Win_set_errhandler(*fresh, MPI_ERRORS_RETURN);
    if (TRY(MPI_Win_lock(MPI_LOCK_SHARED, target(), 0, *fresh)) == MPI_SUCCESS)
        MAY(MPI_Win_unlock(target(), *fresh));
    MAY(MPI_Win_free(fresh));
}

static void create(void)
{
    MPI_Win fresh;
    come_and_go(TRY(MPI_Win_create(row, sizeof row, sizeof(long), MPI_INFO_NULL, now, &fresh)), &fresh);
}

static void allocate(void)
{
    MPI_Win fresh;
    void *memory;
    come_and_go(TRY(MPI_Win_allocate(sizeof row, sizeof(long), MPI_INFO_NULL, now, &memory, &fresh)), &fresh);
}

static void allocate_shared(void)
{
    MPI_Win fresh;
    void *memory;
    come_and_go(TRY(MPI_Win_allocate_shared(sizeof row, sizeof(long), MPI_INFO_NULL, now, &memory, &fresh)), &fresh);
}

static void attach(void)
{
    MPI_Win fresh;
    int code = TRY(MPI_Win_create_dynamic(MPI_INFO_NULL, now, &fresh));
    if (code == MPI_SUCCESS) {
        OK(MPI_Win_attach(fresh, row, sizeof row));
        OK(MPI_Win_detach(fresh, row));
    }
    come_and_go(code, &fresh);
}

/* One attaches and detaches memory while others access what else it has attached. */
static void change(void)
{
    long there;
    if (me == who) {
        for (int times = 0; times < 2; times++) {
            OK(MPI_Win_attach(win, row, sizeof row));
            OK(MPI_Win_detach(win, row));
        }
        return;
    }
    if (TRY(MPI_Win_lock(MPI_LOCK_SHARED, who, 0, win)) != MPI_SUCCESS)
        return;
    for (int times = 0; times < 1000; times++)
        MAY(MPI_Get(&there, 1, MPI_LONG, who, place(who, COUNTER), 1, MPI_LONG, win));
    MAY(MPI_Win_unlock(who, win));
}

/* Of one epoch only the end is counted. */
static void complete(void)
{
    MPI_Group all, group;
    int next = (who + 1) % members;
    if (me != who && me != next)
        return;
    turn_back();
    MPI_Comm_group(now, &all);
    MPI_Group_incl(all, 1, me == who ? &next : &who, &group);
    if (me == who) {
        MAY(MPI_Win_start(group, 0, win));
        turn_back();
        MAY(MPI_Win_complete(win));
        turn_back();
    } else {
        MAY(MPI_Win_post(group, 0, win));
        MAY(MPI_Win_wait(win));
    }
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    turn_back();
}

/* Messages of several lengths between one and all others. */
static void exchange(char *memory)
{
    static const int lengths[] = { 0, 2000, MESSAGE };
    for (int at = 0; at < (int)(sizeof lengths / sizeof *lengths); at++)
        for (int rank = 0; rank < members; rank++) {
            int peer = me == who ? rank : who;
            if (rank == who || (me != who && rank != me))
                continue;
            MAY(MPI_Sendrecv(memory, lengths[at], MPI_CHAR, peer, at, memory + MESSAGE, lengths[at], MPI_CHAR, peer, at, now,
                             MPI_STATUS_IGNORE));
        }
}

static void messages(void)
{
    static char memory[2 * MESSAGE];
    exchange(memory);
}

/* The same out of memory that all can map. */
static void memory(void)
{
    char *memory;
    OK(MPI_Alloc_mem(2 * MESSAGE, MPI_INFO_NULL, &memory));
    exchange(memory);
    OK(MPI_Free_mem(memory));
}

static const struct {
    const char *name;
    void (*work)(void);
    int kind;
} works[] = {
    { "fence", fenced, ALLOCATED },
    { "post", post, ALLOCATED },
    { "complete", complete, ALLOCATED },
    { "alone", alone, ALLOCATED },
    { "shared", shared, ALLOCATED },
    { "all", lock_all, ALLOCATED },
    { "sum", sum, ALLOCATED },
    { "guard", guard, ALLOCATED },
    { "swap", swap, ALLOCATED },
    { "sum-created", sum, CREATED },
    { "guard-created", guard, CREATED },
    { "swap-created", swap, CREATED },
    { "sum-attached", sum, ATTACHED },
    { "change", change, ATTACHED },
    { "create", create, CREATED },
    { "allocate", allocate, ALLOCATED },
    { "allocate_shared", allocate_shared, ALLOCATED },
    { "attach", attach, ALLOCATED },
    { "messages", messages, ALLOCATED },
    { "memory", memory, ALLOCATED },
};

/* ---- the living */

static void make(MPI_Comm comm, MPI_Win *made)
{
    long *memory;
    MPI_Aint own = 0;
    memset(created, 0, sizeof created);
    if (kind == CREATED)
        WORKS(MPI_Win_create(created, sizeof created, sizeof(long), MPI_INFO_NULL, comm, made));
    if (kind == ALLOCATED)
        WORKS(MPI_Win_allocate(sizeof created, sizeof(long), MPI_INFO_NULL, comm, &memory, made));
    if (kind == ATTACHED) {
        WORKS(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, made));
        OK(MPI_Win_attach(*made, created, sizeof created));
        OK(MPI_Get_address(created, &own));
    }
    WORKS(MPI_Allgather(&own, 1, MPI_AINT, base, 1, MPI_AINT, comm));
    MPI_Win_set_errhandler(*made, MPI_ERRORS_RETURN);
}

/* Each of `living` adds to the counters of all others some times, with all kinds of locks: nothing is lost. `lost`: a member that does not live. */
static void serves(MPI_Comm living, int lost)
{
    int count, rank_now;
    long value, one = 1, old;
    MPI_Comm_size(living, &count);
    MPI_Comm_rank(living, &rank_now);
    for (int at = 0; at < count + (lost >= 0); at++) {
        if (at == lost)
            continue;
        for (int times = 0; times < 3; times++) {
            WORKS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, at, 0, win));
            WORKS(MPI_Get(&value, 1, MPI_LONG, at, place(at, COUNTER), 1, MPI_LONG, win));
            WORKS(MPI_Win_flush(at, win));
            value++;
            WORKS(MPI_Put(&value, 1, MPI_LONG, at, place(at, COUNTER), 1, MPI_LONG, win));
            WORKS(MPI_Win_unlock(at, win));
            WORKS(MPI_Win_lock(MPI_LOCK_SHARED, at, 0, win));
            WORKS(MPI_Fetch_and_op(&one, &old, MPI_LONG, at, place(at, COUNTER), MPI_SUM, win));
            WORKS(MPI_Accumulate(row, ROW, MPI_LONG, at, place(at, SUMMED), ROW, MPI_LONG, MPI_SUM, win));
            WORKS(MPI_Win_unlock(at, win));
        }
    }
    WORKS(MPI_Barrier(living));
    for (int at = 0; at < count + (lost >= 0); at++) {
        if (at == lost)
            continue;
        WORKS(MPI_Win_lock(MPI_LOCK_SHARED, at, 0, win));
        WORKS(MPI_Get(&value, 1, MPI_LONG, at, place(at, COUNTER), 1, MPI_LONG, win));
        WORKS(MPI_Win_unlock(at, win));
        CHECK(value == 6 * count, "%ld of %d at %d, pass %d", value, 6 * count, at, passes);
    }
    WORKS(MPI_Barrier(living));
}

/* Epochs among the living, in a window that has a lost member. */
static void posts_among_living(int lost)
{
    MPI_Group all, others;
    int out[2] = { me, lost };
    MPI_Comm_group(now, &all);
    MPI_Group_excl(all, 2, out, &others);
    WORKS(MPI_Win_post(others, 0, win));
    WORKS(MPI_Win_start(others, 0, win));
    WORKS(MPI_Win_complete(win));
    WORKS(MPI_Win_wait(win));
    MPI_Group_free(&others);
    MPI_Group_free(&all);
}

/* Messages among the living. */
static void talk(MPI_Comm living)
{
    static int out[MESSAGE / sizeof(int)], in[MESSAGE / sizeof(int)];
    int count, rank_now;
    MPI_Comm_size(living, &count);
    MPI_Comm_rank(living, &rank_now);
    int to = (rank_now + 1) % count, from = (rank_now + count - 1) % count;
    for (int length = 1; length <= MESSAGE / (int)sizeof(int); length *= 29) {
        out[0] = out[length - 1] = rank_now + length;
        WORKS(MPI_Sendrecv(out, length, MPI_INT, to, 0, in, length, MPI_INT, from, 0, living, MPI_STATUS_IGNORE));
        CHECK(in[0] == from + length && in[length - 1] == from + length, "%d, %d", in[0], in[length - 1]);
    }
}

static void await(MPI_Comm comm)
{
    int lost = 0;
    tried = "MPI_Comm_get_failed until it names somebody";
    alarm(LIMIT);
    while (lost == 0) {
        MPI_Group group;
        MPI_Comm_get_failed(comm, &group);
        MPI_Group_size(group, &lost);
        MPI_Group_free(&group);
    }
    alarm(0);
}

/* Does the work, and is killed if it is this process's turn. */
static void be_killed(const char *name, void (*work)(void), long from, long every, int round, int rounds)
{
    long total = instructions;
    instructions = 0;
    last = every > 0 ? from + every * round : total * (2 * round + 1) / (2 * rounds);
    printf("%s: killed after %ld instructions of about %ld\n", name, last, total);
    fflush(stdout);
    raise(SIGUSR1);
    work();
    raise(SIGUSR1);
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "fence";
    long from = argc > 2 ? atol(argv[2]) : 0, every = argc > 3 ? atol(argv[3]) : 0;
    int work = 0, number = sizeof works / sizeof *works, rounds;
    begin(&argc, &argv);
    listen();
    while (work < number && strcmp(works[work].name, name))
        work++;
    if (work == number || size < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    rounds = size - 2;
    kind = works[work].kind;
    MPI_Comm_dup(MPI_COMM_WORLD, &now);
    for (int round = 0; round < rounds; round++) {
        MPI_Comm next;
        MPI_Comm_set_errhandler(now, MPI_ERRORS_RETURN);
        MPI_Comm_rank(now, &me);
        MPI_Comm_size(now, &members);
        who = (int[]){ 0, members - 1, members / 2 }[round % 3];
        make(now, &win);
        /* What is made once for a process is not counted. */
        works[work].work();
        WORKS(MPI_Barrier(now));
        if (me == who) {
            instructions = last = 0;
            raise(SIGUSR1);
        }
        works[work].work();
        if (me == who)
            raise(SIGUSR1);
        WORKS(MPI_Barrier(now));
        if (me == who)
            be_killed(name, works[work].work, from, every, round, rounds);
        works[work].work();
        await(now);
        passes = round;
        WORKS(MPIX_Comm_shrink(now, &next));
        MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
        talk(next);
        serves(next, who);
        posts_among_living(who);
        MAY(MPI_Win_fence(0, win));
        MAY(MPI_Win_free(&win));
        make(next, &win);
        serves(next, -1);
        WORKS(MPI_Win_fence(0, win));
        WORKS(MPI_Win_free(&win));
        MPI_Comm_free(&now);
        now = next;
    }
    MPI_Comm_free(&now);
    return finish_ft();
}
#endif
