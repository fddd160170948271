/* Two ranks: buffers of MIB MiB are promoted, and freed. Then rank 0 stores to LATER MiB of other memory, with barriers between: what
 * was freed must be back by then. Prints how many buffers were promoted.
 * Usage: freed MIB LATER */
#include "../c/counter.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    size_t n = (size_t)atoi(argv[1]) << 20, later = (size_t)atoi(argv[2]) << 20;
    MPI_T_pvar_handle promoted = counter("promoted");
    char *buffer = malloc(n);
    memset(buffer, 1 + rank, n);
    for (int i = 0; i < 4; i++) {
        if (rank == 0)
            OK(MPI_Send(buffer, (int)n, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        else
            OK(MPI_Recv(buffer, (int)n, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    printf("promoted: %llu\n", counted(promoted));
    free(buffer);
    for (int i = 0; i < 300; i++)
        OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        char *all = malloc(later);
        for (size_t at = 0; at < later; at += 4096)
            all[at] = 1;
        free(all);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    end_counting();
    return finish();
}
