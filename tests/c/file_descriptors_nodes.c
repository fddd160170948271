// ranks: 4
// mpiexec: --nodes 2
// Processes of several nodes open nearly as many files as they may have descriptors; then the error says why there are no more.
#define _GNU_SOURCE
#include "check.h"
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

static int descriptors(void)
{
    int count = -3;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max = 256;
    setrlimit(RLIMIT_NOFILE, &limit);
    MPI_File files[256];
    char name[100], folder[] = "/tmp/tern-files-XXXXXX";
    if (rank == 0)
        CHECK(mkdtemp(folder));
    MPI_Bcast(folder, sizeof folder, MPI_BYTE, 0, MPI_COMM_WORLD);
    int count = 0, code = MPI_SUCCESS, before = descriptors(), after, value, amode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    while (count < 256) {
        snprintf(name, sizeof name, "%s/%d", folder, count);
        code = MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &files[count]);
        if (code)
            break;
        OK(MPI_File_write_shared(files[count], &count, 1, MPI_INT, MPI_STATUS_IGNORE));
        if (++count == 100) {
            after = descriptors();
            CHECK(after - before < 110, "%d descriptors for 100 files", after - before);
        }
    }
    CHECK(count >= 190 && count < 256, "%d files", count);
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "Too many open files") && strstr(text, "256"), "%s", text);
    /* Each file has a pointer of its own, the first free one for a file that is opened later. */
    MPI_Offset at;
    for (int number = 0; number < count; number++) {
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_File_get_position_shared(files[number], &at));
        CHECK(at == 4 * 4, "file %d: %lld", number, (long long)at);
    }
    OK(MPI_File_close(&files[7]));
    snprintf(name, sizeof name, "%s/again", folder);
    OK(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &files[7]));
    OK(MPI_File_get_position_shared(files[7], &at));
    CHECK(at == 0, "%lld", (long long)at);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_write_ordered(files[7], &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(files[7], 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(value == rank);
    for (int number = 0; number < count; number++)
        OK(MPI_File_close(&files[number]));
    CHECK(descriptors() <= before + 8, "%d and %d descriptors", before, descriptors());
    if (rank == 0)
        rmdir(folder);
    return finish();
}
