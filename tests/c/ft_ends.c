// ranks: 4
// mpiexec: --with-ft
// timeout: 120
// Communicators are made and ended in a job that has lost a rank: those without it are made, and all end; MPI_Finalize ends with all that is open.
//
// ft_ends [MOMENT]: `open`: MPI_Finalize with a window, a file and requests that are open; `within`: the rank is lost during these calls.
#include "ft.h"

/* Members of the job that MPI_Comm_spawn starts. */
static int is_spawned(void)
{
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
        return 0;
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
    return 1;
}

static void made_with_it(MPI_Comm comm, int knows)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Group all, alive;
    int last = victim(), dims[1] = { size }, periods[1] = { 0 };
    MPI_Comm_group(comm, &all);
    MPI_Group_excl(all, 1, &last, &alive);
#define FAILED(call) \
    do { \
        made = MPI_COMM_NULL; \
        if (knows) \
            NEEDS(call); \
        else \
            MAY(call); \
        if (made != MPI_COMM_NULL) \
            MAY(MPI_Comm_free(&made)); \
    } while (0)
    FAILED(MPI_Comm_dup(comm, &made));
    FAILED(MPI_Comm_split(comm, 0, rank, &made));
    FAILED(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
    FAILED(MPI_Comm_create(comm, alive, &made));
    FAILED(MPI_Cart_create(comm, 1, dims, periods, 0, &made));
    made = MPI_COMM_NULL;
    if (TRY(MPI_Comm_idup(comm, &made, &request)) == MPI_SUCCESS) {
        if (knows)
            NEEDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
        else
            MAY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    FAILED(MPI_Comm_create_group(comm, all, 5, &made));
    MPI_Group_free(&all);
    MPI_Group_free(&alive);
}

static void made_without(MPI_Comm comm)
{
    MPI_Comm made = MPI_COMM_NULL, half, inter, merged;
    MPI_Group all, alive;
    int last = victim(), sum = 0;
    MPI_Comm_group(comm, &all);
    MPI_Group_excl(all, 1, &last, &alive);
    WORKS(MPI_Comm_create_group(comm, alive, 6, &made));
    WORKS(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made));
    WORKS(MPI_Comm_free(&made));
    WORKS(MPI_Comm_create_from_group(alive, "tern-ft", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    WORKS(MPI_Barrier(made));
    WORKS(MPI_Comm_free(&made));
    /* Leaders meet in the communicator that has the lost one. */
    WORKS(MPI_Comm_split(living, rank > 0, rank, &half));
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    WORKS(MPI_Intercomm_create(half, 0, comm, rank > 0 ? 0 : 1, 7, &inter));
    WORKS(MPI_Intercomm_merge(inter, 0, &merged));
    WORKS(MPI_Barrier(merged));
    WORKS(MPI_Comm_free(&merged));
    WORKS(MPI_Comm_disconnect(&inter));
    WORKS(MPI_Comm_free(&half));
    MPI_Group_free(&all);
    MPI_Group_free(&alive);
}

static void spawned(char *program)
{
    MPI_Comm few, children = MPI_COMM_NULL;
    WORKS(MPIX_Comm_shrink(MPI_COMM_WORLD, &few));
    MPI_Comm_set_errhandler(few, MPI_ERRORS_RETURN);
    WORKS(MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, few, &children, MPI_ERRCODES_IGNORE));
    if (children != MPI_COMM_NULL) {
        WORKS(MPI_Barrier(children));
        WORKS(MPI_Comm_disconnect(&children));
    }
    NEEDS(MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE));
    WORKS(MPI_Comm_free(&few));
}

int main(int argc, char **argv)
{
    const char *moment = argc > 1 ? argv[1] : "";
    int is_open = !strcmp(moment, "open"), is_within = !strcmp(moment, "within"), number = 0;
    MPI_Comm dup, inter, side, more;
    MPI_Request requests[3];
    static char big[1 << 20];
    begin_ft(&argc, &argv);
    if (is_spawned())
        return finish();
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_dup(MPI_COMM_WORLD, &more);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
    if (is_open) {
        MPI_Win win;
        MPI_File file;
        void *memory;
        MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == victim())
            die();
        MAY(MPI_Irecv(&number, 1, MPI_INT, victim(), 0, dup, &requests[0]));
        MAY(MPI_Isend(big, sizeof big, MPI_CHAR, victim(), 0, dup, &requests[1]));
        MAY(MPI_Ibarrier(dup, &requests[2]));
        return finish_ft();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_within) {
        if (rank == victim() && fork() == 0) {
            usleep(20000);
            kill(getppid(), SIGKILL);
            _exit(0);
        }
        for (int times = 0; rank == victim() || times < 20; times++)
            made_with_it(MPI_COMM_WORLD, 0);
    }
    if (rank == victim())
        die();
    await_loss();
    made_with_it(MPI_COMM_WORLD, 1);
    made_without(MPI_COMM_WORLD);
    spawned(argv[0]);
    WORKS(MPI_Comm_free(&dup));
    MAY(MPI_Comm_disconnect(&more));
    MAY(MPI_Comm_free(&inter));
    MAY(MPI_Comm_disconnect(&side));
    return finish_ft();
}
