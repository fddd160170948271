// ranks: 2 4
// mpiexec: -env TERN_UNEXPECTED 200000 -env TERN_LOG error
// timeout: 240
// Senders that flood: what no receive has asked for stays below TERN_UNEXPECTED and a bound, whatever comes
// behind it is received first, and all of it arrives in order; short messages, long ones, empty ones, buffered sends.
#include "check.h"

enum { ROUNDS = 3, MESSAGES = 3000, LONGEST = 6000 };
/* One and a half times the limit, and more than each sender can send before it is told. They send 1.2 MB each. */
#define BOUND (300000.0 + (size - 1) * 450000.0)

static int length(int i) { return i % 50 == 0 ? 0 : i % 100 == 7 ? LONGEST : i % 700; }

static char byte(int from, int round, int i) { return (char)(from * 31 + round * 7 + i); }

/* The most memory that messages without a receive ever took here. */
static double peak(void)
{
    int number, provided, count;
    unsigned long long value = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_get_index("unexpected_memory_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK, &number));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_handle_alloc(session, number, NULL, &handle, &count));
    OK(MPI_T_pvar_read(session, handle, &value));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return (double)value;
}

static void receive(int from, int round)
{
    static char in[LONGEST];
    char last;
    OK(MPI_Recv(&last, 1, MPI_CHAR, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(last == byte(from, round, MESSAGES));
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Status status;
        int count, wrong = 0;
        OK(MPI_Recv(in, LONGEST, MPI_CHAR, from, 1, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_CHAR, &count));
        for (int j = 0; j < count; j++) wrong += in[j] != byte(from, round, i);
        if (count != length(i) || wrong) {
            CHECK(count == length(i) && wrong == 0, "%d from %d: %d bytes, %d wrong", i, from, count, wrong);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void flood(int round)
{
    static MPI_Request requests[MESSAGES];
    static char out[MESSAGES][LONGEST];
    char last = byte(rank, round, MESSAGES);
    for (int i = 0; i < MESSAGES; i++) {
        memset(out[i], byte(rank, round, i), length(i));
        if (round == 1) OK(MPI_Bsend(out[i], length(i), MPI_CHAR, 0, 1, MPI_COMM_WORLD));
        else OK(MPI_Isend(out[i], length(i), MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[i]));
    }
    OK(MPI_Send(&last, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD));
    if (round != 1) OK(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
    static char space[MESSAGES * (700 + MPI_BSEND_OVERHEAD) + MESSAGES / 100 * LONGEST];
    begin(&argc, &argv);
    OK(MPI_Buffer_attach(space, sizeof space));
    for (int round = 0; round < ROUNDS; round++) {
        if (rank > 0) flood(round);
        for (int from = size - 1; rank == 0 && from > 0; from--) receive(from, round);
        /* Senders that are on their way to the barrier have something to say too. */
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    void *address;
    int bytes;
    OK(MPI_Buffer_detach(&address, &bytes));
    if (rank == 0 && strict()) CHECK(peak() < BOUND, "%.0f bytes were kept", peak());
    return finish();
}
