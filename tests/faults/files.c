/* A rank may have few file descriptors more when connections are made.
 * Usage: files FREE hard|soft [fatal]
 *   FREE  so many descriptors rank 1 may still open after MPI_Init
 *   hard  and never more; soft: its limit may be raised
 *   fatal the first error ends the job
 * Then everybody exchanges a message with everybody. Each rank prints "RANK: CLASS" of the first error, 0 when all went
 * well, and what the error says. Ends with 0, or 3 when data was wrong. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void leave_few(int more, int hard)
{
    int highest = 0;
    DIR *list = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(list));)
        if (atoi(entry->d_name) > highest && atoi(entry->d_name) != dirfd(list)) highest = atoi(entry->d_name);
    closedir(list);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = highest + 1 + more;
    if (hard) limit.rlim_max = limit.rlim_cur;
    if (setrlimit(RLIMIT_NOFILE, &limit)) MPI_Abort(MPI_COMM_WORLD, 4);
    /* Whatever gaps there are below the highest. */
    int taken[1024], count = 0, file;
    while (count < 1024 && (file = dup(0)) >= 0 && file < highest) taken[count++] = file;
    if (file > highest) close(file);
    (void)taken;
}

int main(int argc, char **argv)
{
    int rank, size, first = 0;
    char said[MPI_MAX_ERROR_STRING] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 4) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 1) leave_few(atoi(argv[1]), !strcmp(argv[2], "hard"));
    for (int step = 1; step < size; step++) {
        int to = (rank + step) % size, from = (rank + size - step) % size, got = -1, len;
        int code = MPI_Sendrecv(&rank, 1, MPI_INT, to, step, &got, 1, MPI_INT, from, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS) {
            if (got != from) MPI_Abort(MPI_COMM_WORLD, 3);
        } else if (!first) {
            MPI_Error_class(code, &first);
            MPI_Error_string(code, said, &len);
        }
    }
    printf("%d: %s %s\n", rank, first == 0 ? "0" : first == MPI_ERR_PROC_ABORTED ? "aborted" : "another", said);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
