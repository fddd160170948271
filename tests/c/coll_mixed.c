// ranks: 2 3 5
// Gathers, scatters and broadcasts in which some processes describe the same bytes by a basic type and others by one of their
// own: all must take the same way, at every length at which that changes.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void expect(const unsigned char *at, int bytes, int value, const char *what)
{
    for (int i = 0; i < bytes; i++)
        if (at[i] != (unsigned char)value) {
            fprintf(stderr, "%s of %d bytes, rank %d: byte %d is %d, not %d\n", what, bytes, rank, i, at[i], value);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

/* `odd`: which process has a type of its own. */
static void run(int bytes, int root, int odd)
{
    MPI_Datatype whole;
    MPI_Type_contiguous(bytes, MPI_BYTE, &whole);
    MPI_Type_commit(&whole);
    int count = rank == odd ? 1 : bytes;
    MPI_Datatype type = rank == odd ? whole : MPI_BYTE;
    unsigned char *own = malloc((size_t)bytes), *all = malloc((size_t)bytes * (size_t)size);

    memset(own, rank + 1, (size_t)bytes);
    memset(all, 0, (size_t)bytes * (size_t)size);
    MPI_Gather(own, count, type, all, count, type, root, MPI_COMM_WORLD);
    for (int from = 0; rank == root && from < size; from++)
        expect(all + (size_t)from * (size_t)bytes, bytes, from + 1, "gather");

    for (int to = 0; to < size; to++)
        memset(all + (size_t)to * (size_t)bytes, to + 10, (size_t)bytes);
    MPI_Scatter(all, count, type, own, count, type, root, MPI_COMM_WORLD);
    expect(own, bytes, rank + 10, "scatter");

    memset(own, rank == root ? 77 : 0, (size_t)bytes);
    MPI_Bcast(own, count, type, root, MPI_COMM_WORLD);
    expect(own, bytes, 77, "broadcast");
    free(own);
    free(all);
    MPI_Type_free(&whole);
}

int main(int argc, char **argv)
{
    const int lengths[] = {1, 8, 112, 113, 6553, 10922, 16384, 16385, 26176, 26200, 26215, 32768, 32769, 43690, 65536, 262145};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int root = 0; root < size; root += size - 1)
            for (int odd = 0; odd < size; odd++)
                run(lengths[i], root, odd);
    printf("ok\n");
    MPI_Finalize();
    return 0;
}
