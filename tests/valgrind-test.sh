#!/bin/sh
# Programs that run under valgrind's memcheck: they run to their end, and nothing in the library reads
# what was never written or is not there.
# Usage: tests/valgrind-test.sh PREFIX
set -eu

prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$(dirname "$0")/common.sh"
if ! command -v valgrind > /dev/null; then
    echo "skip valgrind: it is not installed"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
make_place
cat > "$place/there.c" <<'C'
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* Each way that a message can take, a collective, and a window. */
int main(int argc, char **argv)
{
    static const int lengths[] = {0, 8, 100, 5000, 60000, 300000, 1000000};
    int rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 7; i++) {
        char *to = malloc(lengths[i] + 1), *from = malloc(lengths[i] + 1);
        memset(from, 'a' + rank, lengths[i] + 1);
        MPI_Sendrecv(from, lengths[i], MPI_CHAR, 1 - rank, 1, to, lengths[i], MPI_CHAR, 1 - rank, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int at = 0; at < lengths[i]; at++)
            wrong |= to[at] != 'b' - rank;
        free(to);
        free(from);
    }
    /* Whose receiver looks late. */
    for (int i = 5; i < 7; i++) {
        char *to = malloc(lengths[i]), *from = malloc(lengths[i]);
        MPI_Request request;
        memset(from, 'a' + rank, lengths[i]);
        MPI_Irecv(to, lengths[i], MPI_CHAR, 1 - rank, 2, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int turn = 0; turn < 2; turn++) {
            if (turn == rank)
                MPI_Send(from, lengths[i], MPI_CHAR, 1 - rank, 2, MPI_COMM_WORLD);
            else
                for (volatile int work = 0; work < 1000000; work++);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int at = 0; at < lengths[i]; at++)
            wrong |= to[at] != 'b' - rank;
        free(to);
        free(from);
    }
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int mine = 7, theirs = 0;
    MPI_Win window;
    MPI_Win_create(&mine, sizeof mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Get(&theirs, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return wrong || sum != 1 || theirs != 7;
}
C
"$prefix/bin/mpicc" -g -o "$place/there" "$place/there.c"
for promote in auto always off; do
    if said=$(TERN_PROMOTE=$promote timeout 120 "$prefix/bin/mpiexec" -n 2 \
        valgrind -q --error-exitcode=9 "$place/there" 2>&1); then
        ok "under valgrind, TERN_PROMOTE=$promote"
    else
        fail "under valgrind, TERN_PROMOTE=$promote" "$said"
    fi
done
sums
