// Where MPI_Comm_spawn looks for a command, in which folder, for which machine and in what number it starts it: the keys path, wdir,
// arch, soft and file, alone and together, of one command and of several. Those of the root count; keys that nobody knows do not.
// ranks: 1 2
// timeout: 180
#include "check.h"
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* What a child says of itself: its working directory, and the folder of the command that has started it. */
struct told {
    char folder[512], which[64];
};

static char place[512] = "/tmp/tern-test-hints-XXXXXX", program[1024];
static int root;

static const char *in_place(const char *name)
{
    static char names[4][600];
    static int next;
    next = (next + 1) % 4;
    snprintf(names[next], sizeof names[next], "%s/%s", place, name);
    return names[next];
}

static void write_file(const char *name, int mode, const char *text)
{
    FILE *file = fopen(in_place(name), "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", name);
    CHECK(chmod(in_place(name), mode) == 0);
}

/* Folders with a command `child` each, which says its folder to the program; in `plain` the file is no program. */
static void make(void)
{
    static const char *folders[] = {"plain", "first", "second", "work"};
    char text[1200], name[64];
    CHECK(mkdtemp(place) && realpath(place, text));
    strcpy(place, text);
    for (int i = 0; i < 4; i++) {
        CHECK(mkdir(in_place(folders[i]), 0755) == 0);
        snprintf(text, sizeof text, "#!/bin/sh\nWHICH=%s exec %s \"$@\"\n", folders[i], program);
        snprintf(name, sizeof name, "%s/child", folders[i]);
        write_file(name, i == 0 ? 0644 : 0755, text);
    }
}

static void remove_all(void)
{
    static const char *names[] = {"plain/child", "first/child", "second/child", "work/child", "hints",
                                  "plain", "first", "second", "work", ""};
    for (int i = 0; i < 10; i++)
        CHECK(remove(in_place(names[i])) == 0, "%s", names[i]);
}

/* The info object of `key=value;key=value`, with the place of the folders for each `@`. */
static MPI_Info hints(const char *texts)
{
    char all[2048] = "", *save;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    for (; *texts; texts++) {
        char one[2] = {*texts, 0};
        strcat(all, *texts == '@' ? place : one);
    }
    for (char *text = strtok_r(all, ";", &save); text; text = strtok_r(NULL, ";", &save)) {
        char *value = strchr(text, '=');
        *value++ = 0;
        OK(MPI_Info_set(info, text, value));
    }
    return info;
}

/* What those that are not the root give does not count. */
static MPI_Info of_root(const char *texts)
{
    return hints(rank == root ? texts : "soft=none;wdir=/dev/null/none;arch=pdp11;file=/dev/null/none");
}

/* Children number `first` and the next ones up to `last`, which is none of them, are of that command and in that folder. */
static void hear(MPI_Comm inter, int first, int last, const char *which, const char *folder)
{
    for (int child = first; rank == root && child < last; child++) {
        struct told told;
        OK(MPI_Recv(&told, sizeof told, MPI_BYTE, child, 0, inter, MPI_STATUS_IGNORE));
        CHECK(strcmp(told.which, which) == 0, "child %d is of %s, not %s", child, told.which, which);
        CHECK(strcmp(told.folder, folder) == 0, "child %d is in %s, not %s", child, told.folder, folder);
    }
}

/* With these hints, so many of up to 3 processes run the command of that folder, in that working directory. */
static void runs(const char *texts, const char *command, int many, const char *which, const char *folder)
{
    int codes[4] = {-1, -1, -1, -1}, got = -1, failed = failures;
    MPI_Info info = of_root(texts);
    MPI_Comm inter = MPI_COMM_NULL;
    OK(MPI_Comm_spawn(command, MPI_ARGV_NULL, 3, info, root, MPI_COMM_WORLD, &inter, codes));
    OK(MPI_Info_free(&info));
    if (inter != MPI_COMM_NULL) {
        OK(MPI_Comm_remote_size(inter, &got));
        CHECK(got == many, "%d, not %d", got, many);
        for (int i = 0; i < 3; i++)
            CHECK(codes[i] == (i < many ? MPI_SUCCESS : MPI_ERR_SPAWN), "code %d: %d", i, codes[i]);
        CHECK(codes[3] == -1);
        hear(inter, 0, got, which, folder);
        OK(MPI_Comm_disconnect(&inter));
    }
    CHECK(failures == failed, "with %s", texts);
}

static void refused(int class, const char *texts, const char *command)
{
    int failed = failures;
    MPI_Info info = of_root(texts);
    MPI_Comm inter = MPI_COMM_NULL;
    FAILS(class, MPI_Comm_spawn(command, MPI_ARGV_NULL, 3, info, root, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    OK(MPI_Info_free(&info));
    /* Those that should not be there do not wait for ever. */
    if (inter != MPI_COMM_NULL)
        OK(MPI_Comm_disconnect(&inter));
    CHECK(failures == failed, "with %s", texts);
}

/* The first folder that has a program of this name is taken; a name with a slash is looked for nowhere else. */
static void paths(const char *here)
{
    runs("path=@/first", "child", 3, "first", here);
    runs("path=@/none:@/second:@/first", "child", 3, "second", here);
    runs("path=@/plain:@/first", "child", 3, "first", here);
    runs("path=@/none;wdir=@/work", "child", 3, "work", in_place("work"));
    runs("path=@/first;wdir=@/work", "child", 3, "first", in_place("work"));
    /* Relative ones are meant from the working directory of the processes. */
    runs("path=none:second;wdir=@", "child", 3, "second", place);
    runs("path=@/first;wdir=@", "second/child", 3, "second", place);
    runs("path=@/second", in_place("first/child"), 3, "first", here);
    refused(MPI_ERR_SPAWN, "path=@/none", "child");
    refused(MPI_ERR_SPAWN, "path=@/plain", "child");
    /* What is in PATH is not in this one. */
    refused(MPI_ERR_SPAWN, "path=@/first", "true");
}

static void directories(void)
{
    char child[600];
    strcpy(child, in_place("first/child"));
    runs("wdir=@/work", child, 3, "first", in_place("work"));
    runs("wdir=/", child, 3, "first", "/");
    refused(MPI_ERR_SPAWN, "wdir=@/none", child);
    refused(MPI_ERR_SPAWN, "wdir=@/first/child", child);
    /* From that of the root; the others are elsewhere. */
    char here[1024];
    CHECK(getcwd(here, sizeof here) && chdir(rank == root ? place : "/") == 0);
    runs("wdir=work", child, 3, "first", in_place("work"));
    runs("wdir=work/../second", "./child", 3, "second", in_place("second"));
    if (rank == root)
        write_file("hints", 0644, "wdir = first\n");
    runs("file=hints", child, 3, "first", in_place("first"));
    CHECK(chdir(here) == 0);
}

static void machines(const char *here)
{
    char own[100];
    struct utsname system;
    CHECK(uname(&system) == 0);
    snprintf(own, sizeof own, "arch=%.80s", system.machine);
    runs(own, in_place("first/child"), 3, "first", here);
    refused(MPI_ERR_SPAWN, "arch=pdp11", in_place("first/child"));
    refused(MPI_ERR_SPAWN, "arch=", in_place("first/child"));
}

/* Negative numbers and those above the 3 that are asked for do not count; the most of the others is taken. */
static void numbers(const char *here)
{
    static const struct {
        const char *soft;
        int many;
    } all[] = {{"soft=2", 2}, {"soft=1,2", 2}, {"soft=2,1", 2}, {"soft=1:3", 3}, {"soft=-4:2", 2}, {"soft=1:9:3", 1}, {"soft=9:1:-7", 2},
               {"soft=4,-1,1", 1}, {"soft=3:1,1", 1}, {"soft=0:2", 2}, {"soft=1000000000:2:-1", 3}, {"soft= 1 : 2 ", 2}};
    char child[600];
    strcpy(child, in_place("first/child"));
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        runs(all[i].soft, child, all[i].many, "first", here);
    static const char *none[] = {"soft=4:9", "soft=3:1", "soft=-3:-1", "soft=0"};
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
        refused(MPI_ERR_SPAWN, none[i], child);
    static const char *wrong[] = {"soft=two", "soft=1:2:0", "soft=1:", "soft=1,,2", "soft=1:2:3:4", "soft=1-3"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(MPI_ERR_INFO_VALUE, wrong[i], child);
    /* It does not help that fewer are allowed where there is no program. */
    refused(MPI_ERR_SPAWN, "soft=1:3;path=@/none", "child");
}

static void files(const char *here)
{
    if (rank == root)
        write_file("hints", 0644, "# the workers\npath = @\nsoft=2\n\n  wdir = /\nunknown = 7\nmap_by = node\n");
    runs("file=@/hints;path=@/second", "child", 2, "second", "/");
    runs("file=@/hints;path=@/second;wdir=@/work;soft=1", "child", 1, "second", in_place("work"));
    if (rank == root)
        write_file("hints", 0644, "arch = pdp11\n");
    refused(MPI_ERR_SPAWN, "file=@/hints", in_place("first/child"));
    if (rank == root)
        write_file("hints", 0644, "");
    runs("file=@/hints", in_place("first/child"), 3, "first", here);
    refused(MPI_ERR_INFO_VALUE, "file=@/none", in_place("first/child"));
    refused(MPI_ERR_INFO_VALUE, "file=@", in_place("first/child"));
    /* Of other calls, and of nobody. */
    runs("ip_port=7;ip_address=nowhere;appnum=3;no_locks=true;unknown=7;Soft=1;WDIR=/", in_place("first/child"), 3, "first", here);
}

/* Each command has its own. */
static void several(const char *here)
{
    char *commands[] = {"child", "child", "child"};
    int most[] = {2, 3, 1}, codes[6], got = -1;
    static const int expected[] = {1, 1, 1, 1, 0, 1};
    MPI_Info infos[] = {of_root("path=@/first;wdir=/"), of_root("path=@/second;soft=1:2"), of_root("wdir=@/work;path=@/none")};
    MPI_Comm inter = MPI_COMM_NULL;
    OK(MPI_Comm_spawn_multiple(3, commands, MPI_ARGVS_NULL, most, infos, root, MPI_COMM_WORLD, &inter, codes));
    for (int i = 0; i < 3; i++)
        OK(MPI_Info_free(&infos[i]));
    if (inter == MPI_COMM_NULL)
        return;
    OK(MPI_Comm_remote_size(inter, &got));
    CHECK(got == 5, "%d", got);
    for (int i = 0; i < 6; i++)
        CHECK(codes[i] == (expected[i] ? MPI_SUCCESS : MPI_ERR_SPAWN), "code %d: %d", i, codes[i]);
    hear(inter, 0, 2, "first", "/");
    hear(inter, 2, 4, "second", here);
    hear(inter, 4, 5, "work", in_place("work"));
    OK(MPI_Comm_disconnect(&inter));
}

static void child(MPI_Comm parent)
{
    struct told told = {"", ""};
    char *which = getenv("WHICH");
    CHECK(getcwd(told.folder, sizeof told.folder));
    snprintf(told.which, sizeof told.which, "%s", which ? which : "nothing");
    OK(MPI_Send(&told, sizeof told, MPI_BYTE, atoi(getenv("ROOT")), 0, parent));
    OK(MPI_Comm_disconnect(&parent));
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    char here[512], number[16];
    begin(&argc, &argv);
    OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        child(parent);
        return finish();
    }
    root = size - 1;
    snprintf(number, sizeof number, "%d", root);
    setenv("ROOT", number, 1);
    CHECK(realpath(argv[0], program) && getcwd(here, sizeof here));
    if (rank == root)
        make();
    OK(MPI_Bcast(place, sizeof place, MPI_CHAR, root, MPI_COMM_WORLD));
    paths(here);
    directories();
    machines(here);
    numbers(here);
    files(here);
    several(here);
    if (rank == root)
        remove_all();
    return finish();
}
