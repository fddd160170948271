// The info key `file` of MPI_Comm_spawn: further keys, one on each line, unless the program sets them itself. And
// mpi_initial_errhandler: the error handler of the processes' predefined communicators.
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

/* A process that was started with that error handler: 0 for MPI_ERRORS_RETURN, 1 for MPI_ERRORS_ABORT, 2 for the default. */
static int child_with_handler(int argc, char **argv)
{
    static const MPI_Errhandler all[] = {MPI_ERRORS_RETURN, MPI_ERRORS_ABORT, MPI_ERRORS_ARE_FATAL};
    MPI_Errhandler expected = all[atoi(argv[2])], handler;
    MPI_Comm parent;
    int size;
    if (expected == MPI_ERRORS_RETURN)
        CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS, "before MPI_Init");
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_get_parent(&parent));
    MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF, parent};
    for (int i = 0; i < 3; i++) {
        OK(MPI_Comm_get_errhandler(comms[i], &handler));
        CHECK(handler == expected, "communicator %d", i);
        OK(MPI_Errhandler_free(&handler));
    }
    if (expected == MPI_ERRORS_RETURN)
        FAILS(MPI_ERR_RANK, MPI_Send(&size, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD));
    /* The parents count failures. */
    OK(MPI_Send(&failures, 1, MPI_INT, 0, 0, parent));
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Finalize());
    return failures != 0;
}

static void initial_handlers(char *program)
{
    static const char *names[] = {"mpi_errors_return", "MPI_ERRORS_ABORT", "mpi_errors_are_fatal"};
    char number[2] = "0", *arguments[] = {"handler", number, NULL};
    MPI_Comm inter;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    for (int i = 0; i < 3; i++) {
        number[0] = (char)('0' + i);
        OK(MPI_Info_set(info, "mpi_initial_errhandler", names[i]));
        OK(MPI_Comm_spawn(program, arguments, 2, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
        for (int child = 0; rank == 0 && child < 2; child++) {
            int wrong;
            OK(MPI_Recv(&wrong, 1, MPI_INT, child, 0, inter, MPI_STATUS_IGNORE));
            CHECK(wrong == 0, "%s", names[i]);
        }
        OK(MPI_Comm_disconnect(&inter));
    }
    OK(MPI_Info_set(info, "mpi_initial_errhandler", "mine"));
    FAILS(MPI_ERR_INFO_VALUE, MPI_Comm_spawn(program, arguments, 2, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "handler"))
        return child_with_handler(argc, argv);
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
    /* The working directory under the name that MPICH has for it too. */
    OK(MPI_Info_set(info, "wd", "/"));
    CHECK(children(program, info) == 1);
    OK(MPI_Info_set(info, "arch", "pdp11"));
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    OK(MPI_Info_free(&info));
    initial_handlers(program);
    return finish();
}
