// Spawning again and again, several programs at once, from parts of the world; hints.
// ranks: 1 2
// nodes: 1
// timeout: 180
#include "check.h"
#include <dirent.h>
#include <unistd.h>

#define ROUNDS 25

static int count(const char *folder)
{
    int entries = 0;
    DIR *open = opendir(folder);
    while (readdir(open))
        entries++;
    closedir(open);
    return entries;
}

static int maps(void)
{
    int lines = 0, c;
    FILE *file = fopen("/proc/self/maps", "r");
    while ((c = getc(file)) != EOF)
        lines += c == '\n';
    fclose(file);
    return lines;
}

static int sum(MPI_Comm comm, int value)
{
    int all = -1;
    OK(MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_SUM, comm));
    return all;
}

/* Nothing is left of a spawn: no descriptor, no mapping. */
static void again(char *self)
{
    char *arguments[] = {"sum", NULL};
    int descriptors = 0, mappings = 0;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm inter;
        OK(MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
        CHECK(sum(inter, 7) == 2 * 5);
        OK(MPI_Comm_disconnect(&inter));
        if (round == 2)
            descriptors = count("/proc/self/fd"), mappings = maps();
    }
    CHECK(count("/proc/self/fd") <= descriptors, "%d, before %d", count("/proc/self/fd"), descriptors);
    /* The heap may grow a little. */
    CHECK(maps() <= mappings + 3, "%d, before %d", maps(), mappings);
    /* The launcher's too. */
    char folder[64];
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)getppid());
    CHECK(count(folder) < 60 + 10 * size, "%d", count(folder));
}

/* Every rank spawns a child of its own, all at once. */
static void apart(char *self)
{
    MPI_Comm inter;
    char *arguments[] = {"sum", NULL};
    OK(MPI_Comm_spawn(self, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE));
    CHECK(sum(inter, 3) == 5);
    OK(MPI_Comm_disconnect(&inter));
}

static void several(char *self)
{
    MPI_Comm inter;
    MPI_Info info[3] = {MPI_INFO_NULL, MPI_INFO_NULL, MPI_INFO_NULL};
    char *commands[] = {self, self, self}, *first[] = {"app", "0", NULL}, *second[] = {"app", "1", NULL};
    char *third[] = {"app", "2", "/tmp", NULL}, **arguments[] = {first, second, third};
    int counts[] = {2, 1, 9}, codes[12], remote;
    OK(MPI_Info_create(&info[2]));
    OK(MPI_Info_set(info[2], "wdir", "/tmp"));
    OK(MPI_Info_set(info[2], "soft", "1:3"));
    OK(MPI_Info_set(info[2], "host", "localhost"));
    memset(codes, -1, sizeof codes);
    OK(MPI_Comm_spawn_multiple(3, commands, arguments, counts, info, 0, MPI_COMM_WORLD, &inter, codes));
    for (int i = 0; i < 12; i++)
        CHECK(codes[i] == (i < 6 ? MPI_SUCCESS : MPI_ERR_SPAWN), "%d: %d", i, codes[i]);
    OK(MPI_Comm_remote_size(inter, &remote));
    CHECK(remote == 6, "%d", remote);
    /* Numbers of the programs: 0 0 1 2 2 2. */
    CHECK(sum(inter, 1) == 7);
    OK(MPI_Comm_disconnect(&inter));
    OK(MPI_Info_free(&info[2]));
    /* No arguments at all. */
    OK(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, info, 0, MPI_COMM_WORLD, &inter,
                               MPI_ERRCODES_IGNORE));
    CHECK(sum(inter, 1) == 30);
    OK(MPI_Comm_disconnect(&inter));
}

/* Nobody disconnects: both sides end, and what was sent arrives. */
static void leave(char *self)
{
    MPI_Comm inter, freed;
    MPI_Request request;
    char *arguments[] = {"leave", NULL};
    static int block[100000];
    int word = -1;
    OK(MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    OK(MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &freed, MPI_ERRCODES_IGNORE));
    if (rank == 0) {
        OK(MPI_Isend(block, 100000, MPI_INT, 1, 0, inter, &request));
        OK(MPI_Send(block, 100000, MPI_INT, 1, 0, freed));
        OK(MPI_Recv(&word, 1, MPI_INT, 1, 0, freed, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&word, 1, MPI_INT, 1, 0, inter, MPI_STATUS_IGNORE));
        CHECK(word == 8);
    }
    OK(MPI_Comm_free(&freed));
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    begin(&argc, &argv);
    OK(MPI_Comm_get_parent(&parent));
    if (parent == MPI_COMM_NULL) {
        again(argv[0]);
        apart(argv[0]);
        several(argv[0]);
        leave(argv[0]);
        return finish();
    }
    if (argc > 1 && strcmp(argv[1], "leave") == 0) {
        static int block[100000];
        int word = 8;
        if (rank == 1) {
            OK(MPI_Recv(block, 100000, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE));
            OK(MPI_Send(&word, 1, MPI_INT, 0, 0, parent));
        }
        return finish();
    }
    if (argc == 1) {
        sum(parent, 10);
    } else if (strcmp(argv[1], "sum") == 0) {
        sum(parent, 5);
    } else if (strcmp(argv[1], "app") == 0) {
        int *appnum, flag;
        OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag));
        CHECK(flag && *appnum == atoi(argv[2]), "%d", *appnum);
        if (argc > 3) {
            char here[256];
            CHECK(getcwd(here, sizeof here) && strcmp(here, argv[3]) == 0, "%s", here);
        }
        sum(parent, *appnum == 2 ? 2 : *appnum);
    }
    OK(MPI_Comm_disconnect(&parent));
    return finish();
}
