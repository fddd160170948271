#!/bin/bash
# What other users have prepared is neither followed, truncated nor believed: the cache of costs, files that settings
# name, names of services. As root, which plays the other user too.
# Usage: tests/files-test.sh PREFIX
set -u

prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$(dirname "$0")/common.sh"
make_place
cd "$place" || exit 1
chmod 755 "$place"
unset TERN_COSTS XDG_CACHE_HOME
nobody=65534

# check WHAT COMMAND...: the command succeeds.
check() {
    if "${@:2}"; then
        passed=$((passed + 1))
    else
        fail "$1" "${*:2}"
        sed 's/^/     /' said 2> /dev/null | head -n 5
    fi
}

as_nobody() {
    python3 -c 'import os, sys; os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1])); os.execvp(sys.argv[2], sys.argv[2:])' $nobody "$@"
}

# job HOME: two ranks, for which costs are measured if they are not known.
job() {
    env HOME="$1" "$prefix/bin/mpiexec" -n 2 /bin/true > said 2>&1
}

# A home that is not there stays so.
check "a job without a home" job "$place/gone/home"
check "it is not made" test ! -e gone
check "nothing is said of it" test ! -s said

# A FIFO that is taken for a file of costs.
cat > hello.c <<'C'
#include <mpi.h>
int main(void)
{
    return MPI_Init(0, 0) || MPI_Finalize();
}
C
check "mpicc" "$prefix/bin/mpicc" -o hello hello.c
mkfifo fifo
with_fifo() {
    TERN_COSTS=$place/fifo timeout 30 "$prefix/bin/mpiexec" -n 2 ./hello > said 2>&1
}
check "TERN_COSTS names a FIFO" with_fifo
check "which is told" grep -q "TERN_COSTS: .*fifo: it is no plain file; using default" said
with_stats() {
    TERN_STATS=$place/fifo timeout 30 "$prefix/bin/mpiexec" -n 2 ./hello > said 2>&1
}
check "TERN_STATS names a FIFO" with_stats
check "which is told" grep -q "TERN_STATS=.*fifo: the file cannot be written" said

# The pointer that the ranks of two nodes share has no file in any folder, for a rank that is killed would leave it there.
cat > pointer.c <<'C'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Offset position;
    char byte = 'a';
    MPI_Init(&argc, &argv);
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) return 3;
    if (MPI_File_write_shared(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE)) return 4;
    MPI_Barrier(MPI_COMM_WORLD);
    if (MPI_File_get_position_shared(file, &position) || position != 2) return 5;
    MPI_File_close(&file);
    return MPI_Finalize();
}
C
check "mpicc" "$prefix/bin/mpicc" -o pointer pointer.c
without_folder() {
    TMPDIR=$place/gone timeout 60 "$prefix/bin/mpiexec" --nodes 2 -n 2 ./pointer "$place/pointed" > said 2>&1
}
check "a shared file pointer between nodes, and no folder for temporary files" without_folder

if [ "$(id -u)" -ne 0 ]; then
    skip "what other users prepare" "only root can play them"
else
    # The home belongs to another user, who knows the names in the cache.
    important() {
        [ "$(cat victim)" = important ]
    }
    echo important > victim
    chmod 600 victim
    mkdir -m 1777 shared
    as_nobody sh -c 'mkdir -p shared/.cache/tern && ln -s "$1/victim" shared/.cache/tern/lock' sh "$place"
    check "a job whose cache is another user's" job "$place/shared"
    check "no link in it is followed" important
    check "nothing else is written there" test "$(ls -A shared/.cache/tern)" = lock
    check "it is told in one line" test "$(grep -c "not kept in .*belongs to user $nobody" said)/$(wc -l < said)" = 1/1
    chown $nobody shared
    rm -r shared/.cache
    check "a job whose home is another user's" job "$place/shared"
    check "nothing is made there" test ! -e shared/.cache
    mkdir -p own/.cache/elsewhere
    ln -s elsewhere own/.cache/tern
    check "a job whose cache is a link" job "$place/own"
    check "which is not followed" test -z "$(ls -A own/.cache/elsewhere)"

    # What TERN_STATS names is a link that somebody else has put there.
    mkdir -m 1777 common
    ln -s "$place/victim" common/stats
    chown -h $nobody common/stats
    stats() {
        TERN_STATS=$place/common/stats "$prefix/bin/mpiexec" -n 2 ./hello > said 2>&1
    }
    check "TERN_STATS names a link of another user" stats
    check "which is not followed" important

    # Another user holds the address of a name before it is published.
    cat > name.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME];
    int published, class, found;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, argc > 1 ? MPI_ERRORS_ARE_FATAL : MPI_ERRORS_RETURN);
    MPI_Open_port(MPI_INFO_NULL, port);
    published = MPI_Publish_name("tern files test", MPI_INFO_NULL, port);
    found = MPI_Lookup_name("tern files test", MPI_INFO_NULL, port) == MPI_SUCCESS;
    MPI_Error_class(published, &class);
    printf("%s, %s\n", class == MPI_ERR_SERVICE ? "refused" : class ? "error" : "published", found ? "found" : "unknown");
    if (!published)
        MPI_Unpublish_name("tern files test", MPI_INFO_NULL, port);
    return MPI_Finalize();
}
C
    check "mpicc" "$prefix/bin/mpicc" -o name name.c
    cat > squat.py <<'PY'
import os, socket, sys
os.setuid(int(sys.argv[1]))
number = 0xcbf29ce484222325
for byte in b"tern files test":
    number = ((number ^ byte) * 0x100000001b3) & (2**64 - 1)
socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
socket.bind("\0tern-name-0-%016x" % number)
socket.listen(100)
open(sys.argv[2], "w").close()
sys.stdin.read()
PY
    publish() {
        "$prefix/bin/mpiexec" -n 1 ./name "$@" > said 2>&1
    }
    check "a job with a free name" publish
    check "which is published" grep -qx "published, found" said
    mkdir -m 777 open
    coproc squat { exec python3 squat.py $nobody "$place/open/ready"; }
    until [ -e open/ready ] || ! kill -0 "$squat_PID" 2> /dev/null; do sleep 0.05; done
    check "a job whose name another user holds" publish
    check "it is not published" grep -qx "refused, unknown" said
    publish fatal
    check "the error says why" grep -q "cannot be published: a process of another user" said
    eval "exec ${squat[1]}>&-"
    wait "$squat_PID"
fi

sums
