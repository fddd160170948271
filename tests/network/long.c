// Rank 0 sends messages of many lengths to rank 1, which checks each byte: received in one run, or with gaps.
// Usage: long ROUNDS [BYTES]
//   BYTES   all messages have so many, in one run
// After the first round rank 0 prints "begun". With 0 rounds it goes on for ever.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONGEST = 6 << 20 };
static unsigned char memory[2 * LONGEST];
static const int lengths[] = {8, 512 << 10, (3 << 20) + 8, 100000, LONGEST, 1 << 20};

static unsigned char at(long round, int place) { return round * 7 + place * 13 + (place >> 8); }

// Elements of 8 bytes with gaps of 8 behind them.
static MPI_Datatype gaps(void)
{
    MPI_Datatype pair, type;
    MPI_Type_contiguous(8, MPI_BYTE, &pair);
    MPI_Type_create_resized(pair, 0, 16, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&pair);
    return type;
}

static int check(long round, int length, int spaced)
{
    for (int i = 0; i < length; i++) {
        if (memory[spaced ? i / 8 * 16 + i % 8 : i] == at(round, i)) continue;
        printf("round %ld: byte %d of %d is wrong\n", round, i, length);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long rounds = argc > 1 ? atol(argv[1]) : 10;
    int bytes = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Datatype spaced = gaps();
    for (long round = 0; !rounds || round < rounds; round++) {
        int length = bytes ? bytes : lengths[round % 6], with_gaps = !bytes && round / 6 % 2;
        long number = round;
        if (!rank) {
            for (int i = 0; i < length; i++) memory[i] = at(round, i);
            MPI_Send(memory, length, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
            MPI_Send(&number, 1, MPI_LONG, 1, 5, MPI_COMM_WORLD);
        } else {
            MPI_Recv(memory, with_gaps ? length / 8 : length, with_gaps ? spaced : MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong |= check(round, length, with_gaps);
            MPI_Recv(&number, 1, MPI_LONG, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong |= number != round;
        }
        if (!round) MPI_Barrier(MPI_COMM_WORLD);
        if (!round && !rank) {
            puts("begun");
            fflush(stdout);
        }
    }
    int any = 0;
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    if (!rank) printf("%ld rounds, %s\n", rounds, any ? "wrong" : "right");
    MPI_Type_free(&spaced);
    MPI_Finalize();
    return any;
}
