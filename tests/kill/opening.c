/* One rank dies inside MPI_File_open, which the others are in, too.
 * Usage: opening RANK WHERE FILE FOLDER    where: as tests/c/opening.h says; each rank writes its process number to FOLDER/RANK first */
#include "../c/opening.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    char name[4096], ready[4096];
    MPI_File file;
    if (argc != 5) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s/%d.new", argv[4], rank);
    snprintf(ready, sizeof ready, "%s/%d", argv[4], rank);
    FILE *number = fopen(name, "w");
    fprintf(number, "%d\n", (int)getpid());
    fclose(number);
    rename(name, ready);
    /* All have written, and know each other. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == atoi(argv[1]) && die_opening(argv[2])) return 3;
    if (MPI_File_open(MPI_COMM_WORLD, argv[3], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS)
        MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "rank %d: nobody has died\n", rank);
    return 4;
}
