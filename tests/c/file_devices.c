// ranks: 2 3
// needs: d=$(mktemp -d) && mkdir "$d/a" "$d/b" "$d/m" && unshare -m mount -t overlay -o "lowerdir=$d/a:$d/b" overlay "$d/m"; e=$?; rm -rf "$d"; test $e = 0
// A file that each rank has from a mount of its own, which has a device number of its own: on other nodes that is how a
// network's file system looks, on the same one such files are different.
#define _GNU_SOURCE
#include "file.h"
#include <sched.h>
#include <sys/mount.h>

static char low[300], empty[300], mounted[300];

/* The same directory, seen through a mount that no other process has. */
static void see(void)
{
    char options[700];
    snprintf(options, sizeof options, "lowerdir=%s:%s", low, empty);
    CHECK(unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    CHECK(mount("overlay", mounted, "overlay", 0, options) == 0);
}

int main(int argc, char **argv)
{
    begin_file(&argc, &argv);
    snprintf(low, sizeof low, "%s-low", name);
    snprintf(empty, sizeof empty, "%s-empty", name);
    snprintf(mounted, sizeof mounted, "%s-mounted", name);
    char path[350], text[6] = "";
    MPI_File file;
    MPI_Comm node;
    int alone, others;
    if (rank == 0) {
        CHECK(mkdir(low, 0700) == 0 && mkdir(empty, 0700) == 0 && mkdir(mounted, 0700) == 0);
        snprintf(path, sizeof path, "%s/file", low);
        int fd = open(path, O_CREAT | O_WRONLY, 0600);
        CHECK(write(fd, "hello", 5) == 5);
        close(fd);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    see();
    snprintf(path, sizeof path, "%s/file", mounted);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &others));
    alone = others == 1;
    OK(MPI_Comm_free(&node));
    OK(MPI_Allreduce(MPI_IN_PLACE, &alone, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (alone) {
        OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
        OK(MPI_File_read_at_all(file, 0, text, 5, MPI_CHAR, MPI_STATUS_IGNORE));
        CHECK(!strcmp(text, "hello"));
        OK(MPI_File_close(&file));
    } else {
        FAILS(MPI_ERR_NOT_SAME, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    }
    umount2(mounted, MNT_DETACH);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        snprintf(path, sizeof path, "%s/file", low);
        CHECK(unlink(path) == 0 && rmdir(low) == 0 && rmdir(empty) == 0 && rmdir(mounted) == 0);
    }
    return finish();
}
