// Jobs on several hosts. `spawn N [HOST]`: starts N further processes and talks to each. `accept NAME` and `connect NAME`: two
// jobs that find each other by a published name, or by a port in a file of that name (`@FILE`). `join ADDRESS PORT`, with
// `@` for an address for the one who listens. With `die` behind it, the last rank of the one who connects kills itself.
#include <arpa/inet.h>
#include <mpi.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Every process of one side talks to every process of the other, then all of both by collectives, a window and a file.
static void talk(MPI_Comm inter, int first)
{
    int size, rank, others, sum = 0, all;
    MPI_Comm both;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &others);
    for (int length = 1; length <= 1 << 20; length <<= 10) {
        char *out = malloc(length), *in = malloc(length);
        for (int other = 0; other < others; other++) {
            memset(out, rank + other, length);
            memset(in, 255, length);
            MPI_Sendrecv(out, length, MPI_CHAR, other, 3, in, length, MPI_CHAR, other, 3, inter, MPI_STATUS_IGNORE);
            for (int at = 0; at < length; at++)
                if (in[at] != (char)(rank + other)) {
                    printf("byte %d of %d is %d\n", at, length, in[at]);
                    MPI_Abort(MPI_COMM_WORLD, 3);
                }
        }
        free(out);
        free(in);
    }
    MPI_Intercomm_merge(inter, first, &both);
    MPI_Comm_rank(both, &rank);
    MPI_Comm_size(both, &all);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, both);
    int *memory, got = -1, next = (rank + 1) % all;
    MPI_Win window;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, both, &memory, &window);
    *memory = 100 + rank;
    MPI_Win_fence(0, window);
    MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    if (sum != all * (all - 1) / 2 || got != 100 + next) {
        printf("rank %d of %d: sum %d, got %d\n", rank, all, sum, got);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    if (rank == 0) printf("%d processes have met\n", all);
    fflush(stdout);
    MPI_Comm_free(&both);
}

// `die`: one process is killed; the others must see an error and no hang.
static void lose(MPI_Comm inter, int dies)
{
    int rank, size, word = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    if (dies) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == size - 1) raise(SIGKILL);
        sleep(60);
    }
    int others, class = MPI_SUCCESS;
    MPI_Comm_remote_size(inter, &others);
    int error = MPI_Recv(&word, 1, MPI_INT, others - 1, 9, inter, MPI_STATUS_IGNORE);
    MPI_Error_class(error, &class);
    if (class != MPI_ERR_PROC_ABORTED) MPI_Abort(MPI_COMM_WORLD, 5);
    if (rank == 0) printf("the loss is seen\n");
}

static void tell(const char *file, const char *port)
{
    char draft[600];
    snprintf(draft, sizeof draft, "%s.draft", file);
    FILE *out = fopen(draft, "w");
    fputs(port, out);
    fclose(out);
    rename(draft, file);
}

static void hear(const char *file, char *port)
{
    FILE *in;
    while (!(in = fopen(file, "r"))) usleep(10000);
    if (!fgets(port, MPI_MAX_PORT_NAME, in)) abort();
    fclose(in);
}

int main(int argc, char **argv)
{
    MPI_Comm inter, parent;
    int rank;
    char port[MPI_MAX_PORT_NAME] = "";
    const char *act = argc > 1 ? argv[1] : "", *name = argc > 2 ? argv[2] : "";
    int dies = argc > 3 && !strcmp(argv[3], "die");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        char host[MPI_MAX_PROCESSOR_NAME];
        int length;
        MPI_Get_processor_name(host, &length);
        printf("child %d is on %s\n", rank, host);
        talk(parent, 1);
        MPI_Comm_disconnect(&parent);
    } else if (!strcmp(act, "spawn")) {
        MPI_Info info;
        MPI_Info_create(&info);
        if (argc > 3) MPI_Info_set(info, "host", argv[3]);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        int error = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, atoi(name), info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        if (error) {
            char text[MPI_MAX_ERROR_STRING];
            int length;
            MPI_Error_string(error, text, &length);
            if (rank == 0) printf("not spawned: %s\n", text);
            MPI_Finalize();
            return 0;
        }
        talk(inter, 0);
        MPI_Comm_disconnect(&inter);
    } else if (!strcmp(act, "accept")) {
        if (rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            if (name[0] == '@') tell(name + 1, port);
            else MPI_Publish_name(name, MPI_INFO_NULL, port);
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        talk(inter, 0);
        if (dies) {
            lose(inter, 0);
        } else {
            MPI_Comm_disconnect(&inter);
        }
        if (rank == 0 && name[0] != '@') MPI_Unpublish_name(name, MPI_INFO_NULL, port);
        if (rank == 0) MPI_Close_port(port);
    } else if (!strcmp(act, "connect")) {
        if (rank == 0) {
            if (name[0] == '@') {
                hear(name + 1, port);
            } else {
                MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
                while (MPI_Lookup_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS) usleep(10000);
            }
        }
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        talk(inter, 1);
        if (dies) lose(inter, 1);
        MPI_Comm_disconnect(&inter);
    } else if (!strcmp(act, "join")) {
        struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[3]))};
        int listens = name[0] == '@', fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
        if (listens) {
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
            if (bind(fd, (void *)&there, sizeof there) || listen(fd, 1)) return 6;
            fd = accept(fd, 0, 0);
        } else {
            inet_pton(AF_INET, name, &there.sin_addr);
            while (connect(fd, (void *)&there, sizeof there)) {
                close(fd);
                usleep(10000);
                fd = socket(AF_INET, SOCK_STREAM, 0);
            }
        }
        MPI_Comm_join(fd, &inter);
        talk(inter, listens);
        MPI_Comm_disconnect(&inter);
    }
    MPI_Finalize();
    return 0;
}
