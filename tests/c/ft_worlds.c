// ranks: 2
// mpiexec: --with-ft
// timeout: 120
// Windows over two worlds, those of parents and of their children, one of which loses a member: locks, flushes, fences, epochs and the end of the
// window return at the members of both worlds, and those that live work on.
//
// ft_worlds [parent]: which world loses a member, that of the children unless told.
#include "ft.h"

enum { CREATE, ALLOCATE, DYNAMIC, KINDS };
enum { SUMMED, COUNTED, PUT, PLACES = PUT + 8 };

/* Parents have the ranks 0 and 1 of both worlds together, and children 2 and 3. */
static MPI_Comm both, alive;
static int me, lost;
static long memory[KINDS][PLACES];
static MPI_Win win;

static MPI_Aint base[4];

static MPI_Win make(int kind, MPI_Comm comm)
{
    MPI_Win made = MPI_WIN_NULL;
    MPI_Aint own = 0;
    int bytes = sizeof memory[kind], unit = sizeof(long);
    void *own_memory;
    memset(memory[kind], 0, bytes);
    if (kind == CREATE)
        WORKS(MPI_Win_create(memory[kind], bytes, unit, MPI_INFO_NULL, comm, &made));
    if (kind == ALLOCATE)
        WORKS(MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, comm, &own_memory, &made));
    if (kind == DYNAMIC) {
        WORKS(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &made));
        OK(MPI_Win_attach(made, memory[kind], bytes));
        OK(MPI_Get_address(memory[kind], &own));
    }
    WORKS(MPI_Allgather(&own, 1, MPI_AINT, base, 1, MPI_AINT, comm));
    MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
}

static MPI_Aint at(int kind, int target, int index)
{
    return kind == DYNAMIC ? base[target] + index * (MPI_Aint)sizeof(long) : index;
}

/* Each of `count` members adds to what all of them have, but for `without`. */
static void count_all(int kind, MPI_Comm comm, int count, int without)
{
    long one = 1, value = 0;
    int members;
    MPI_Comm_size(comm, &members);
    for (int target = 0; target < count; target++) {
        if (target == without)
            continue;
        WORKS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        WORKS(MPI_Get(&value, 1, MPI_LONG, target, at(kind, target, COUNTED), 1, MPI_LONG, win));
        WORKS(MPI_Win_flush(target, win));
        value++;
        WORKS(MPI_Put(&value, 1, MPI_LONG, target, at(kind, target, COUNTED), 1, MPI_LONG, win));
        WORKS(MPI_Win_unlock(target, win));
        WORKS(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        WORKS(MPI_Accumulate(&one, 1, MPI_LONG, target, at(kind, target, SUMMED), 1, MPI_LONG, MPI_SUM, win));
        WORKS(MPI_Win_flush_local(target, win));
        WORKS(MPI_Win_unlock(target, win));
    }
    WORKS(MPI_Barrier(comm));
    for (int target = 0; target < count; target++) {
        long seen[2] = { 0, 0 };
        if (target == without)
            continue;
        WORKS(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        WORKS(MPI_Get(seen, 2, MPI_LONG, target, at(kind, target, SUMMED), 2, MPI_LONG, win));
        WORKS(MPI_Win_unlock(target, win));
        CHECK(seen[0] == members && seen[1] == members, "%ld and %ld of %d", seen[0], seen[1], members);
    }
    WORKS(MPI_Barrier(comm));
}

/* All that has the lost one in it. */
static void need_lost(int kind)
{
    static long one = 1;
    if (TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, lost, 0, win)) == MPI_SUCCESS) {
        MAY(MPI_Put(&one, 1, MPI_LONG, lost, at(kind, lost, PUT), 1, MPI_LONG, win));
        MAY(MPI_Win_flush(lost, win));
        MAY(MPI_Win_unlock(lost, win));
    }
    if (TRY(MPI_Win_lock_all(0, win)) == MPI_SUCCESS) {
        MAY(MPI_Accumulate(&one, 1, MPI_LONG, lost, at(kind, lost, PUT), 1, MPI_LONG, MPI_SUM, win));
        MAY(MPI_Win_flush_all(win));
        MAY(MPI_Win_unlock_all(win));
    }
    WORKS(MPI_Barrier(alive));
    NEEDS(MPI_Win_fence(0, win));
}

/* All post to the others of `group` and start for them. */
static void post(int kind, int with_lost)
{
    MPI_Group all, group;
    int out[2] = { me, lost };
    long one = 1;
    MPI_Comm_group(both, &all);
    MPI_Group_excl(all, with_lost ? 1 : 2, out, &group);
    WORKS(MPI_Win_post(group, 0, win));
    if (with_lost) {
        NEEDS(MPI_Win_start(group, 0, win));
        NEEDS(MPI_Win_wait(win));
    } else {
        WORKS(MPI_Win_start(group, 0, win));
        for (int target = 0; target < 4; target++)
            if (target != me && target != lost)
                WORKS(MPI_Put(&one, 1, MPI_LONG, target, at(kind, target, PUT + me), 1, MPI_LONG, win));
        WORKS(MPI_Win_complete(win));
        WORKS(MPI_Win_wait(win));
    }
    MPI_Group_free(&group);
    MPI_Group_free(&all);
}

static void await_loss_of(MPI_Comm comm)
{
    int count = 0;
    tried = "MPI_Comm_get_failed until it names the lost one";
    alarm(LIMIT);
    while (count == 0) {
        MPI_Group group;
        MPI_Comm_get_failed(comm, &group);
        MPI_Group_size(group, &count);
        MPI_Group_free(&group);
    }
    alarm(0);
}

/* The parents and the children in one communicator. */
static void meet(const char *program, char *who)
{
    MPI_Comm parent, inter;
    char *arguments[] = { who, NULL };
    MPI_Comm_get_parent(&parent);
    inter = parent;
    if (parent == MPI_COMM_NULL)
        OK(MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    OK(MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &both));
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_rank(both, &me);
}

int main(int argc, char **argv)
{
    char *who = argc > 1 ? argv[1] : "child";
    MPI_Win made[KINDS];
    begin(&argc, &argv);
    signal(SIGALRM, hangs);
    meet(argv[0], who);
    lost = strcmp(who, "parent") ? 3 : 1;
    OK(MPI_Comm_split(both, me == lost ? MPI_UNDEFINED : 0, me, &alive));
    MPI_Aint bases[KINDS][4];
    for (int kind = 0; kind < KINDS; kind++) {
        made[kind] = win = make(kind, both);
        memcpy(bases[kind], base, sizeof base);
        WORKS(MPI_Win_fence(0, win));
        WORKS(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        /* It dies with the lock of the first member, for which the others wait. */
        if (me == lost)
            WORKS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    }
    MPI_Barrier(both);
    if (me == lost)
        die();
    MPI_Comm_set_errhandler(alive, MPI_ERRORS_RETURN);
    for (int kind = 0; kind < KINDS; kind++) {
        win = made[kind];
        memcpy(base, bases[kind], sizeof base);
        count_all(kind, alive, 4, lost);
        await_loss_of(both);
        need_lost(kind);
        post(kind, 0);
        post(kind, 1);
        WORKS(MPI_Barrier(alive));
        MAY(MPI_Win_free(&win));
        CHECK(win == MPI_WIN_NULL, "the window is there still");
        win = make(kind, alive);
        WORKS(MPI_Win_fence(0, win));
        WORKS(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        count_all(kind, alive, 3, -1);
        WORKS(MPI_Win_free(&win));
    }
    return finish_ft();
}
