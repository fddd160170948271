// Read by kills.c: windows whose members may die at each step of what they do there. What a window holds is right when all have lived through it.
#ifndef WINDOWS_H
#define WINDOWS_H

#include <mpi.h>
#include <mpi-ext.h>

enum { CREATED, ALLOCATED, SHARED, KINDS };
// What lies where in the memory of each member.
enum { FENCED, LOCKED, SUMMED, POSTED, TICKET, PLACES };

// What the program that reads this has: a step, at which whoever's turn it is dies; and a code that it may get.
static void step(void);
static int may(int code);

static MPI_Win win = MPI_WIN_NULL;
// The members of the window, which are those of one node where its memory is shared.
static MPI_Comm holders = MPI_COMM_NULL;
static long *window_memory, created_memory[PLACES];
static int holder, holders_size;

// Whether the calls of all members have succeeded, and nobody is lost: all that live get the same answer.
static int all_have(MPI_Comm comm, int ok)
{
    int flag = ok;
    step();
    return may(MPIX_Comm_agree(comm, &flag)) && flag;
}

// True when all members of `comm` have a window. Some may have one if not.
static int make_window(MPI_Comm comm, int kind)
{
    MPI_Aint bytes = PLACES * sizeof(long);
    int unit = sizeof(long), ok;
    holders = comm;
    if (kind == SHARED) {
        step();
        ok = may(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &holders));
        if (!ok)
            holders = MPI_COMM_NULL;
        if (!all_have(comm, ok))
            return 0;
    }
    MPI_Comm_rank(holders, &holder);
    MPI_Comm_size(holders, &holders_size);
    step();
    window_memory = created_memory;
    switch (kind) {
        case CREATED: ok = may(MPI_Win_create(created_memory, bytes, unit, MPI_INFO_NULL, holders, &win)); break;
        case ALLOCATED: ok = may(MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, holders, &window_memory, &win)); break;
        default: ok = may(MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, holders, &window_memory, &win)); break;
    }
    if (!ok) {
        win = MPI_WIN_NULL;
    } else {
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        for (int i = 0; i < PLACES; i++) window_memory[i] = 0;
        MPI_Win_sync(win);
    }
    // Nobody accesses memory that is not zero yet.
    return all_have(comm, ok);
}

static void free_window(MPI_Comm comm)
{
    step();
    if (win != MPI_WIN_NULL)
        may(MPI_Win_free(&win));
    if (holders != comm && holders != MPI_COMM_NULL)
        may(MPI_Comm_free(&holders));
    holders = MPI_COMM_NULL;
}

// Each writes its number to the member on its right.
static int fences(void)
{
    long number = holder + 1;
    int ok;
    step();
    ok = may(MPI_Win_fence(0, win));
    step();
    ok &= may(MPI_Put(&number, 1, MPI_LONG, (holder + 1) % holders_size, FENCED, 1, MPI_LONG, win));
    step();
    // The other members are there, whatever this one has been told.
    return may(MPI_Win_fence(MPI_MODE_NOSUCCEED, win)) && ok;
}

// Each adds one at all members, whose memory it has alone meanwhile.
static int locks(void)
{
    int all = 1;
    for (int i = 0; i < holders_size; i++) {
        int at = (holder + i) % holders_size, ok;
        long value = 0;
        step();
        if (!may(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, at, 0, win))) {
            all = 0;
            continue;
        }
        step();
        ok = may(MPI_Get(&value, 1, MPI_LONG, at, LOCKED, 1, MPI_LONG, win)) && may(MPI_Win_flush(at, win));
        value++;
        ok = ok && may(MPI_Put(&value, 1, MPI_LONG, at, LOCKED, 1, MPI_LONG, win));
        step();
        all &= may(MPI_Win_unlock(at, win)) && ok;
    }
    return all;
}

// The same by sums under a lock that all share. At the first member each draws a ticket besides, by compare and swap.
static int sums(void)
{
    long one = 1, seen, next, found = -1;
    int all = 1, ok;
    step();
    if (!may(MPI_Win_lock_all(0, win)))
        return 0;
    for (int i = 0; i < holders_size; i++) {
        int at = (holder + i) % holders_size;
        step();
        all &= may(MPI_Accumulate(&one, 1, MPI_LONG, at, SUMMED, 1, MPI_LONG, MPI_SUM, win));
        all &= may(MPI_Win_flush(at, win));
    }
    step();
    for (ok = 1, seen = 0; ok; seen = found) {
        next = seen + 1;
        ok = may(MPI_Compare_and_swap(&next, &seen, &found, MPI_LONG, 0, TICKET, win)) && may(MPI_Win_flush(0, win));
        if (found == seen) break;
    }
    all &= ok;
    step();
    return may(MPI_Win_unlock_all(win)) && all;
}

// Each posts to all others and starts for them.
static int posts(void)
{
    MPI_Group members, others;
    long number = holder + 1;
    int ok;
    MPI_Comm_group(holders, &members);
    MPI_Group_excl(members, 1, &holder, &others);
    step();
    ok = may(MPI_Win_post(others, 0, win));
    step();
    if (may(MPI_Win_start(others, 0, win))) {
        for (int at = 0; at < holders_size; at++)
            if (at != holder)
                ok &= may(MPI_Accumulate(&number, 1, MPI_LONG, at, POSTED, 1, MPI_LONG, MPI_SUM, win));
        step();
        ok &= may(MPI_Win_complete(win));
    } else {
        ok = 0;
    }
    step();
    ok &= may(MPI_Win_wait(win));
    MPI_Group_free(&others);
    MPI_Group_free(&members);
    return ok;
}

// Whether this member's memory holds what all have put there.
static int is_right(void)
{
    long all = (long)holders_size * (holders_size + 1) / 2, left = (holder + holders_size - 1) % holders_size + 1;
    return window_memory[FENCED] == left && window_memory[LOCKED] == holders_size && window_memory[SUMMED] == holders_size &&
        window_memory[POSTED] == all - (holder + 1) && (holder != 0 || window_memory[TICKET] == holders_size);
}
#endif
