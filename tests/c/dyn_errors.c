// Wrong arguments of the functions for dynamic processes, and commands that cannot be started.
// ranks: 1 2
#include "check.h"
#include <unistd.h>

static void spawn(void)
{
    MPI_Comm inter = MPI_COMM_SELF, dup;
    MPI_Info info;
    int codes[4], counts[2] = {1, 2}, root = size - 1;
    char *commands[2] = {"/dev/null/none/program", "/dev/null/none/other"};
    MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};

    memset(codes, -1, sizeof codes);
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn("/dev/null/none/program", MPI_ARGV_NULL, 3, MPI_INFO_NULL, root, MPI_COMM_WORLD,
                                        &inter, codes));
    for (int i = 0; i < 3; i++)
        CHECK(codes[i] == MPI_ERR_SPAWN, "%d", codes[i]);
    CHECK(codes[3] == -1);
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn("tern-no-such-program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                        &inter, MPI_ERRCODES_IGNORE));
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn("/tmp", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes));
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn("", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes));
    memset(codes, -1, sizeof codes);
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD, &inter,
                                                 codes));
    for (int i = 0; i < 3; i++)
        CHECK(codes[i] == MPI_ERR_SPAWN, "%d", codes[i]);
    FAILS(MPI_ERR_ARG, MPI_Comm_spawn_multiple(0, commands, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD, &inter,
                                               codes));
    FAILS(MPI_ERR_ARG, MPI_Comm_spawn("true", MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes));
    FAILS(MPI_ERR_ARG, MPI_Comm_spawn("true", MPI_ARGV_NULL, -1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes));
    FAILS(MPI_ERR_ROOT, MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, size, MPI_COMM_WORLD, &inter, codes));

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "host", "no-such-host.example"));
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, codes));
    OK(MPI_Info_delete(info, "host"));
    OK(MPI_Info_set(info, "wdir", "/dev/null/none"));
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, codes));
    OK(MPI_Info_delete(info, "wdir"));
    OK(MPI_Info_set(info, "path", "/dev/null/none"));
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, codes));
    OK(MPI_Info_delete(info, "path"));
    OK(MPI_Info_set(info, "soft", "many"));
    FAILS(MPI_ERR_INFO_VALUE, MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, codes));
    OK(MPI_Info_set(info, "soft", "5:9"));
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn("true", MPI_ARGV_NULL, 4, info, 0, MPI_COMM_WORLD, &inter, codes));
    OK(MPI_Info_free(&info));

    /* An intercommunicator cannot spawn; the errors above have left all in order. */
    if (size > 1) {
        MPI_Comm half, both;
        OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half));
        OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &both));
        MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
        FAILS(MPI_ERR_COMM, MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, both, &inter, codes));
        FAILS(MPI_ERR_COMM, MPI_Comm_accept("tern:", MPI_INFO_NULL, 0, both, &inter));
        OK(MPI_Comm_free(&both));
        OK(MPI_Comm_free(&half));
    }
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPI_Barrier(dup));
    OK(MPI_Comm_disconnect(&dup));
    FAILS(MPI_ERR_COMM, MPI_Comm_disconnect(&dup));
    dup = MPI_COMM_WORLD;
    FAILS(MPI_ERR_COMM, MPI_Comm_disconnect(&dup));
}

static void ports(void)
{
    char port[MPI_MAX_PORT_NAME], other[MPI_MAX_PORT_NAME], name[64];
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Info quickly;
    OK(MPI_Info_create(&quickly));
    OK(MPI_Info_set(quickly, "timeout", "0.2"));
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Open_port(MPI_INFO_NULL, other));
    CHECK(strcmp(port, other) != 0 && strlen(port) < MPI_MAX_PORT_NAME);
    /* Nobody accepts there; nobody connects there. */
    FAILS(MPI_ERR_PORT, MPI_Comm_connect(port, quickly, 0, MPI_COMM_SELF, &inter));
    FAILS(MPI_ERR_PORT, MPI_Comm_accept(other, quickly, 0, MPI_COMM_SELF, &inter));
    OK(MPI_Info_set(quickly, "timeout", "soon"));
    FAILS(MPI_ERR_INFO_VALUE, MPI_Comm_connect(port, quickly, 0, MPI_COMM_SELF, &inter));
    OK(MPI_Info_free(&quickly));
    OK(MPI_Close_port(port));
    FAILS(MPI_ERR_PORT, MPI_Close_port(port));
    FAILS(MPI_ERR_PORT, MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    FAILS(MPI_ERR_PORT, MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    FAILS(MPI_ERR_PORT, MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    FAILS(MPI_ERR_PORT, MPI_Close_port("no port"));
    /* The error is that of all processes. */
    FAILS(MPI_ERR_PORT, MPI_Comm_accept(rank == 0 ? "no port" : NULL, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
    CHECK(inter == MPI_COMM_NULL);

    snprintf(name, sizeof name, "tern test, %d", (int)getpid());
    FAILS(MPI_ERR_NAME, MPI_Lookup_name(name, MPI_INFO_NULL, port));
    OK(MPI_Publish_name(name, MPI_INFO_NULL, other));
    FAILS(MPI_ERR_SERVICE, MPI_Publish_name(name, MPI_INFO_NULL, other));
    memset(port, 0, sizeof port);
    OK(MPI_Lookup_name(name, MPI_INFO_NULL, port));
    CHECK(strcmp(port, other) == 0, "%s", port);
    FAILS(MPI_ERR_SERVICE, MPI_Unpublish_name(name, MPI_INFO_NULL, "another port"));
    OK(MPI_Unpublish_name(name, MPI_INFO_NULL, other));
    FAILS(MPI_ERR_SERVICE, MPI_Unpublish_name(name, MPI_INFO_NULL, other));
    FAILS(MPI_ERR_NAME, MPI_Lookup_name(name, MPI_INFO_NULL, port));
    OK(MPI_Close_port(other));
    FAILS(MPI_ERR_ARG, MPI_Publish_name(NULL, MPI_INFO_NULL, other));
    FAILS(MPI_ERR_ARG, MPI_Lookup_name(name, MPI_INFO_NULL, NULL));
    FAILS(MPI_ERR_ARG, MPI_Open_port(MPI_INFO_NULL, NULL));

    int ends[2];
    FAILS(MPI_ERR_ARG, MPI_Comm_join(-1, &inter));
    FAILS(MPI_ERR_ARG, MPI_Comm_join(12345, &inter));
    CHECK(pipe(ends) == 0);
    FAILS(MPI_ERR_ARG, MPI_Comm_join(ends[0], &inter));
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    begin(&argc, &argv);
    OK(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
    FAILS(MPI_ERR_ARG, MPI_Comm_get_parent(NULL));
    spawn();
    ports();
    return finish();
}
