// ranks: 1 2
// Messages between processes of two jobs, which share no memory, out of memory that the processes of each job do share: the place of
// the data means something else to the other job. Exchanged by MPI_Sendrecv, by nonblocking calls, and by MPI_Alltoall.
#include "jobs.h"

enum { CHILDREN = 2, MOST = 300000, ROUNDS = 40 };

static const size_t lengths[] = {1000, 8192, 16384, 20000, 65536, 300000};

static MPI_Comm all;

static unsigned char byte(int from, int to, int round, size_t at)
{
    return (unsigned char)((size_t)(from * 97 + to * 41 + round * 13) + at + at / 253);
}

static void fill(unsigned char *out, int to, int round, size_t length)
{
    for (size_t i = 0; i < length; i++)
        out[i] = byte(rank, to, round, i);
}

static void look(const unsigned char *in, int from, int round, size_t length, const char *by)
{
    int wrong = 0;
    for (size_t i = 0; i < length; i++)
        wrong += in[i] != byte(from, rank, round, i);
    CHECK(wrong == 0, "%d of %zu bytes from rank %d by %s", wrong, length, from, by);
}

/* With each process in turn, at the same distance in either direction. */
static void exchange(unsigned char *out, unsigned char *in, size_t length, int round)
{
    for (int distance = 1; distance < size; distance++) {
        int to = (rank + distance) % size, from = (rank + size - distance) % size;
        fill(out, to, round, length);
        memset(in, 0, length);
        OK(MPI_Sendrecv(out, (int)length, MPI_BYTE, to, 1, in, (int)length, MPI_BYTE, from, 1, all, MPI_STATUS_IGNORE));
        look(in, from, round, length, "MPI_Sendrecv");

        MPI_Request requests[2];
        fill(out, to, round + 1, length);
        memset(in, 0, length);
        OK(MPI_Irecv(in, (int)length, MPI_BYTE, from, 2, all, &requests[0]));
        OK(MPI_Isend(out, (int)length, MPI_BYTE, to, 2, all, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        look(in, from, round + 1, length, "MPI_Isend and MPI_Irecv");

        fill(out, to, round + 2, length);
        memset(in, 0, length);
        OK(MPI_Isend(out, (int)length, MPI_BYTE, to, 3, all, &requests[1]));
        OK(MPI_Recv(in, (int)length, MPI_BYTE, from, 3, all, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        look(in, from, round + 2, length, "MPI_Isend and MPI_Recv");
    }
}

static void everybody(unsigned char *out, unsigned char *in, size_t length, int round)
{
    for (int to = 0; to < size; to++)
        fill(out + (size_t)to * length, to, round, length);
    memset(in, 0, (size_t)size * length);
    OK(MPI_Alltoall(out, (int)length, MPI_BYTE, in, (int)length, MPI_BYTE, all));
    for (int from = 0; from < size; from++)
        look(in + (size_t)from * length, from, round, length, "MPI_Alltoall");
}

int main(int argc, char **argv)
{
    MPI_Comm inter;
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    all = with_children(argv[0], CHILDREN, &inter);
    unsigned char *out, *in;
    OK(MPI_Alloc_mem((MPI_Aint)size * MOST, MPI_INFO_NULL, &out));
    OK(MPI_Alloc_mem((MPI_Aint)size * MOST, MPI_INFO_NULL, &in));
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int round = 0; round < ROUNDS; round++) {
            exchange(out, in, lengths[i], round);
            everybody(out, in, lengths[i], round);
        }
    OK(MPI_Free_mem(in));
    OK(MPI_Free_mem(out));
    OK(MPI_Comm_free(&all));
    OK(MPI_Comm_disconnect(&inter));
    return finish();
}
