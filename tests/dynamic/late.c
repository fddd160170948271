// A manager that starts workers on hosts that have no process yet: `late N HOST [N HOST]...`, HOST being what the info key host
// says, or - for none, =FILE for the key hostfile, +FILE for add-hostfile. Says where the workers of each call are, or that they were not spawned. Workers start one more
// process each, on the host that the variable BACK names, if it is set.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void worker(MPI_Comm parent)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length;
    MPI_Get_processor_name(name, &length);
    MPI_Gather(name, sizeof name, MPI_CHAR, NULL, 0, MPI_CHAR, 0, parent);
    MPI_Comm_disconnect(&parent);
}

/* Spawns, and says where they are. */
static void call(char *command, int number, char *host)
{
    char *names = malloc((size_t)number * MPI_MAX_PROCESSOR_NAME);
    int *codes = malloc((size_t)number * sizeof(int));
    MPI_Comm workers;
    MPI_Info info;
    MPI_Info_create(&info);
    if (host[0] == '=' || host[0] == '+')
        MPI_Info_set(info, host[0] == '=' ? "hostfile" : "add-hostfile", host + 1);
    else if (strcmp(host, "-"))
        MPI_Info_set(info, "host", host);
    int code = MPI_Comm_spawn(command, MPI_ARGV_NULL, number, info, 0, MPI_COMM_SELF, &workers, codes), class;
    MPI_Error_class(code, &class);
    if (code != MPI_SUCCESS) {
        printf("%d on %s: not spawned%s\n", number, host, class == MPI_ERR_SPAWN ? "" : ", by another error");
    } else {
        MPI_Gather(NULL, 0, MPI_CHAR, names, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, MPI_ROOT, workers);
        printf("%d on %s:", number, host);
        for (int i = 0; i < number; i++) printf(" %s", names + i * MPI_MAX_PROCESSOR_NAME);
        printf("\n");
        MPI_Comm_disconnect(&workers);
    }
    fflush(stdout);
    MPI_Info_free(&info);
    free(names);
    free(codes);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        /* Whoever was started by a worker does not start another one. */
        if (getenv("BACK") != NULL && strcmp(getenv("BACK"), "")) {
            char *host = strdup(getenv("BACK"));
            setenv("BACK", "", 1);
            call(argv[0], 1, host);
            free(host);
        }
        worker(parent);
    }
    for (int i = 1; parent == MPI_COMM_NULL && i + 1 < argc; i += 2) call(argv[0], atoi(argv[i]), argv[i + 1]);
    int *universe, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
    if (parent == MPI_COMM_NULL) printf("the manager goes on, in a universe of %d\n", flag ? *universe : 0);
    MPI_Finalize();
    return 0;
}
