// Ranks die at times that follow from a seed, in the midst of messages, collectives, windows and agreements. The survivors agree, free the window,
// shrink, and go on, until the rounds are over or one is left; what was summed in windows is right, and so is their last sum.
// mpiexec --with-ft; arguments: the seed, how many ranks die at most, and `session` for a program without MPI_Init. With TERN_CHAOS any others may die
// as well, at any time.
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "windows.h"

#define CHECK(what) do { if (!(what)) { printf("rank %d, line %d, round %d: %s\n", rank, __LINE__, round, #what); fflush(stdout); MPI_Abort(first_comm, 1); } } while (0)
// A round has so many steps at most that ranks are told to die at; who has not come to its step by the end of the round dies there.
enum { ROUNDS = 40, STEPS = 60, LONG = 200000 };

// `rank`: in the first communicator. `at`: the step of the round. `dies`: at which step of all rounds this rank does.
static int rank, round, at, dies = -1;
static MPI_Comm first_comm;
static unsigned long long seed;
static char *out, *in;

static unsigned random_number(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed >> 33;
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

// Nothing more of this process is seen by others.
static void die(void)
{
    raise(SIGKILL);
}

// Ends this process in the midst of what it does next, or before the step after that.
static void die_soon(void)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
    struct itimerspec when = { .it_value.tv_nsec = 1000 + random_number() % 100000 };
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &when, NULL))
        die();
}

// One more step of the round. Every second of those that die does so after it, at some time.
static void step(void)
{
    int now = round * STEPS + at++;
    if (dies == now && now % 2)
        die_soon();
    else if (dies >= 0 && dies <= now)
        die();
}

// Whether a call has succeeded. It may also have needed a lost member, or been told that the communicator is revoked.
static int may(int code)
{
    int class = class_of(code);
    CHECK(class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED);
    return class == MPI_SUCCESS;
}

// MPI_COMM_WORLD, or what a session has in its place.
static MPI_Comm begin(int *argc, char ***argv, MPI_Session *session)
{
    MPI_Group world;
    MPI_Comm comm;
    if (*argc < 4) {
        MPI_Init(argc, argv);
        return MPI_COMM_WORLD;
    }
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session);
    MPI_Group_from_session_pset(*session, "mpi://WORLD", &world);
    MPI_Comm_create_from_group(world, "kills", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&world);
    return comm;
}

int main(int argc, char **argv)
{
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Comm comm, next;
    int size, number, kills = argc > 2 ? atoi(argv[2]) : 1, chaos = getenv("TERN_CHAOS") != NULL;
    first_comm = begin(&argc, &argv, &session);
    MPI_Comm_rank(first_comm, &rank);
    MPI_Comm_size(first_comm, &size);
    seed = 88172645463325252ULL ^ (argc > 1 ? atoll(argv[1]) : 1) * 2654435761ULL;
    // All know who dies when, and rank 0 of the first communicator never does.
    int all = size, expected = size, *seen = calloc(size, sizeof *seen);
    for (int i = 0; i < kills && all > 1; i++) {
        int who = 1 + random_number() % (all - 1), when = random_number() % (ROUNDS * STEPS);
        expected -= !seen[who];
        seen[who] = 1;
        if (who == rank) dies = when;
    }
    free(seen);
    out = calloc(1, LONG), in = calloc(1, LONG);
    MPI_Comm_set_errhandler(first_comm, MPI_ERRORS_RETURN);
    // With chaos a rank may die in MPI_Comm_dup, which then fails at some ranks only.
    comm = first_comm;
    if (!chaos) MPI_Comm_dup(first_comm, &comm);
    for (round = 0; round < ROUNDS; round++) {
        int ok, value = 1, sum = 0;
        at = 0;
        MPI_Comm_size(comm, &size);
        MPI_Comm_rank(comm, &number);
        int right = (number + 1) % size, left = (number + size - 1) % size;
        step();
        ok = may(MPI_Sendrecv(&value, 1, MPI_INT, right, 1, &sum, 1, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE));
        step();
        ok = ok && may(MPI_Sendrecv(out, LONG, MPI_BYTE, right, 2, in, LONG, MPI_BYTE, left, 2, comm, MPI_STATUS_IGNORE));
        step();
        ok = ok && may(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(!ok || sum == size);
        step();
        ok = ok && may(MPI_Bcast(in, LONG, MPI_BYTE, 0, comm));
        if (!ok) MPIX_Comm_revoke(comm);
        ok = all_have(comm, ok);
        if (ok) {
            ok = make_window(comm, round % KINDS);
            if (ok) ok = fences() & locks() & sums() & posts();
            ok = all_have(comm, ok);
            CHECK(!ok || is_right());
            free_window(comm);
        }
        if (!ok) {
            step();
            CHECK(MPIX_Comm_shrink(comm, &next) == MPI_SUCCESS);
            if (comm != first_comm) MPI_Comm_free(&comm);
            comm = next;
        }
        if (dies >= 0 && dies < (round + 1) * STEPS) die();
    }
    // Nobody dies any more of those who were to: the last communicator may have lost some since it was made. With chaos others may die here too, and
    // all of this is done again until nobody has.
    int sum, flag, agreed;
    do {
        int one = 1;
        CHECK(MPIX_Comm_shrink(comm, &next) == MPI_SUCCESS);
        if (comm != first_comm) MPI_Comm_free(&comm);
        comm = next;
        MPI_Comm_size(comm, &size);
        MPI_Comm_rank(comm, &number);
        int code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(code == MPI_SUCCESS ? sum == size && (chaos || sum == expected) : chaos);
        if (code != MPI_SUCCESS) MPIX_Comm_revoke(comm);
        flag = code == MPI_SUCCESS;
        agreed = MPIX_Comm_agree(comm, &flag);
    } while (!flag || agreed != MPI_SUCCESS);
    if (number == 0) printf("%d of %d have survived\n", size, all);
    fflush(stdout);
    MPI_Comm_free(&comm);
    if (session == MPI_SESSION_NULL) {
        MPI_Finalize();
    } else {
        MPI_Comm_free(&first_comm);
        MPI_Session_finalize(&session);
    }
    return 0;
}
