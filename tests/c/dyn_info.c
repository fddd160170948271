// The info key `file` of MPI_Comm_spawn: further keys, one on each line, unless the program sets them itself.
// ranks: 1 2
#include "check.h"
#include <unistd.h>

static char name[] = "/tmp/tern-test-spawn-XXXXXX";

static void write_file(const char *text)
{
    FILE *file = fopen(name, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static int children(char *program, MPI_Info info)
{
    MPI_Comm inter;
    int many = -1, codes[3];
    OK(MPI_Comm_spawn(program, MPI_ARGV_NULL, 3, info, 0, MPI_COMM_WORLD, &inter, codes));
    OK(MPI_Comm_remote_size(inter, &many));
    OK(MPI_Comm_disconnect(&inter));
    return many;
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter;
    MPI_Info info;
    char place[1024];
    begin(&argc, &argv);
    OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        CHECK(getcwd(place, sizeof place) && strcmp(place, "/") == 0, "%s", place);
        OK(MPI_Comm_disconnect(&parent));
        return finish();
    }
    char program[1024];
    CHECK(realpath(argv[0], program));
    if (rank == 0)
        close(mkstemp(name));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "file", name));
    if (rank == 0)
        write_file("# of two\n\nsoft = 1:2\n  wdir = /\nsomething = else\n");
    CHECK(children(program, info) == 3 - 1);
    OK(MPI_Info_set(info, "soft", "1"));
    CHECK(children(program, info) == 1);

    if (rank == 0)
        write_file("wdir = /dev/null/none\n");
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    const char *wrong[] = {"wdir\n", "= /\n", "wdir = /\nfile = other\n"};
    for (int i = 0; i < 3; i++) {
        if (rank == 0)
            write_file(wrong[i]);
        FAILS(MPI_ERR_INFO_VALUE,
              MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    }
    if (rank == 0)
        unlink(name);
    FAILS(MPI_ERR_INFO_VALUE,
          MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    OK(MPI_Info_delete(info, "file"));
    OK(MPI_Info_set(info, "arch", "pdp11"));
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    OK(MPI_Info_free(&info));
    return finish();
}
