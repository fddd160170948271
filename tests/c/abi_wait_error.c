// ranks: 1 2
// An error that a completion call finds goes to the error handler of the request's communicator,
// not to that of MPI_COMM_SELF, whose default ends the program (MPI 5.0 section 9.3).
#include "check.h"

int main(int argc, char **argv)
{
    int big[4] = {1, 2, 3, 4}, small = 0, flag = 0, index, code, class;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Message message;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int how = 0; how < 6; how++) {
        MPI_Irecv(&small, 1, MPI_INT, rank, how, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(big, 4, MPI_INT, rank, how < 5 ? how : how + 10, MPI_COMM_WORLD, &requests[1]);
        switch (how) {
        case 0: code = MPI_Wait(&requests[0], MPI_STATUS_IGNORE); break;
        case 1: do code = MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE); while (!flag && code == MPI_SUCCESS); break;
        case 2: code = MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE); break;
        case 3: code = MPI_Waitall(2, requests, statuses); break;
        case 4: code = MPI_Waitsome(1, requests, &index, &flag, statuses); break;
        default:
            /* The receive takes nothing of this one. */
            MPI_Cancel(&requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            MPI_Mprobe(rank, how + 10, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            code = MPI_Mrecv(&small, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        }
        MPI_Error_class(code, &class);
        int wanted = how < 3 || how == 5 ? MPI_ERR_TRUNCATE : MPI_ERR_IN_STATUS;
        CHECK(class == wanted, "way %d: class %d, not %d", how, class, wanted);
        if (how == 3 || how == 4) {
            MPI_Error_class(statuses[0].MPI_ERROR, &class);
            CHECK(class == MPI_ERR_TRUNCATE, "way %d: class %d in the status", how, class);
        }
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
    code = MPI_Recv(&small, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(code == MPI_SUCCESS, "still works");
    return finish();
}
