/* Two ranks: rank 0 forks with a window of MIB MiB, of whose memory its child gets a copy, while it stores to the window. The child sees
 * the memory as it was, or there is no child, or it ends with a message; the parent's memory is right in any case.
 * FILL MiB are taken before. Prints whether the window's memory was promoted, and what the fork came to.
 * Usage: fork MIB FILL */
#include "../c/counter.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static int all_are(const char *memory, size_t n, char value)
{
    for (size_t i = 0; i < n; i++)
        if (memory[i] != value)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    size_t n = (size_t)atoi(argv[1]) << 20, fill = (size_t)atoi(argv[2]) << 20;
    MPI_T_pvar_handle promoted = counter("promoted");
    char *memory = malloc(n);
    memset(memory, 1, n);
    MPI_Win window;
    OK(MPI_Win_create(memory, (MPI_Aint)n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    printf("promoted: %llu\n", counted(promoted));
    if (rank == 0) {
        char *other = malloc(fill + 1), go = 0;
        memset(other, 1, fill);
        int to[2], status = 0;
        CHECK(pipe(to) == 0);
        pid_t child = fork();
        int error = errno;
        if (child == 0) {
            close(to[1]);
            CHECK(read(to[0], &go, 1) == 1);
            _exit(all_are(memory, n, 1) ? 0 : 3);
        }
        /* Little of it, for a copy of each page that is stored to is made in any case. */
        memset(memory, 2, 1 << 20);
        CHECK(write(to[1], "x", 1) == 1);
        if (child < 0) {
            CHECK(error == ENOMEM, "%s", strerror(error));
            printf("fork: no memory\n");
        } else {
            CHECK(waitpid(child, &status, 0) == child);
            CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 3, "the child has seen later stores");
            printf("fork: child ended with %x\n", status);
        }
        CHECK(all_are(memory, 1 << 20, 2) && all_are(memory + (1 << 20), n - (1 << 20), 1), "the parent's memory is wrong");
        free(other);
    }
    OK(MPI_Win_free(&window));
    end_counting();
    return finish();
}
