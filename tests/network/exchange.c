// Two or more ranks exchange messages of many lengths and check each byte.
// Usage: exchange ROUNDS [PAUSE-US [FILE]]
// After the first round rank 0 prints "begun". With 0 rounds it goes on until FILE is there.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LONGEST = 1 << 20 };
static unsigned char out[LONGEST], in[LONGEST];

static unsigned char at(int rank, long round, int place) { return rank * 31 + round * 7 + place * 13 + (place >> 8); }

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long rounds = argc > 1 ? atol(argv[1]) : 10;
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    int over = 0;
    for (long round = 0; rounds ? round < rounds : !over; round++) {
        int length = round % 16 == 15 ? LONGEST : 1 << round % 16;
        MPI_Status status;
        int count;
        for (int i = 0; i < length; i++) out[i] = at(rank, round, i);
        MPI_Sendrecv(out, length, MPI_BYTE, next, 5, in, LONGEST, MPI_BYTE, last, 5, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        if (count != length) {
            printf("rank %d round %ld: %d bytes came, not %d\n", rank, round, count, length);
            return 1;
        }
        for (int i = 0; i < length; i++) {
            if (in[i] != at(last, round, i)) {
                printf("rank %d round %ld: byte %d is wrong\n", rank, round, i);
                return 1;
            }
        }
        if (!round && !rank) {
            puts("begun");
            fflush(stdout);
        }
        if (argc > 3) {
            over = !rank && !access(argv[3], F_OK);
            MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
        if (argc > 2) usleep(atoi(argv[2]));
    }
    long sum = 0, mine = rank;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (!rank) printf("%ld rounds, sum %ld\n", rounds, sum);
    MPI_Finalize();
    return 0;
}
