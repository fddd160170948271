//! What `--help` and `--version` print.

/// The text of `--help`.
pub const HELP: &str = "\
Starts the processes (ranks) of an MPI program, on this machine or on several.

  mpiexec [options] program [arguments] [: [options] program [arguments]]...

Options of one program:
  -n, -np, -c N         number of processes; 1 if not given
  -env NAME VALUE       environment variable; also -x NAME=VALUE
  -x NAME               nothing: the environment of mpiexec is passed on anyway
  -envnone, -envlist A,B  pass on nothing, or these variables only, of the environment; -envall: everything
  -wdir DIR             working directory
  -path DIR:DIR         where the program is looked for
  -host A, --hosts...   run this program, and those after it, there: see below
  -soft SET             as many processes as -n at most and SET allows: numbers and ranges first:last:step
  -arch NAME            the program is for this architecture (uname -m)
  -file FILE            wdir, path, arch, soft and host from lines key = value
  -initial-errhandler mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return
                        the error handler that the program starts with (setting TERN_INITIAL_ERRHANDLER)
  -memory-alloc-kinds KINDS  kinds of memory that the program asks for (mpi_memory_alloc_kinds)

Options of the job:
  -configfile FILE      programs and their options from a file, one in each line
  -genv NAME VALUE      environment variable for all programs; -genvnone, -genvlist, -genvall as -envnone
  --map-by PART         where the next rank goes: slot (fill one host after the other, the default), node (to the next
                        host), or to the next hwthread, core, l1cache, l2cache, l3cache, numa or package (socket) of
                        the host, to which the rank is then bound; ppr:N:PART puts N ranks on each PART or node.
                        Behind it :PE=N (N cores for each rank), :SPAN (the parts of all hosts are one row),
                        :FILL (a part is filled before the next), :SPREAD (ranks begin as far apart as they can),
                        :OVERSUBSCRIBE, :NOOVERSUBSCRIBE, :HWTCPUS (hardware threads are counted, not cores)
  --rank-by PART        how ranks are numbered: slot (as they are mapped, the default), node, fill, span, or a PART
  --bind-to core|none|PART   each rank runs on the core, hwthread, l1cache, l2cache, l3cache, numa, package (socket) or
                        board that it is mapped to; core:N on N cores. With more ranks than cores nobody is bound, but by
                        core:overload-allowed. Without this option and --map-by each rank has its own equal share of
                        the cores; none: the system decides
  --cpu-set LIST        only these hardware threads, by Linux's numbers, as 0-3,8
  --cpu-list LIST       one of them for each rank, in this order
  --nooversubscribe     refuse more ranks than slots of the hosts, or than cores of this machine
  --hosts A,B:4         run on these hosts (also --host, -H), in blocks of ranks; with :N a host has room for
                        N of them, and hosts are filled in order
  --hostfile FILE       the same, a host in each line: A, B:4 or B slots=4 (also -f, --machinefile)
  --ppn N               room of hosts that do not say theirs (also --perhost)
  --npernode N, -N N    the same; without -n there are N ranks on each host; -pernode: one
  --nolocal             leave this machine out of the hosts
  --remote-shell CMD    the command that runs another one on a host, {host} standing for its name, which
                        else comes last (setting TERN_REMOTE_SHELL)
  --launcher ssh|srun|blaunch|qrsh|fork  what starts agents on hosts (setting TERN_LAUNCHER)
  -rmk slurm|pbs|lsf|sge|none  the resource manager that gives hosts and slots (setting TERN_RMK)
  --nodes N             divide the ranks into N simulated nodes: each has shared memory of its own, and
                        processes of different nodes communicate as over a network
  --report-bindings     say which rank runs on which cores, with a picture: [BB/..][../..] is the first core of the
                        first of two packages, with two hardware threads; docs/mpiexec.md explains it
  -l, --tag-output      put [rank] in front of each line of output
  --timestamp-output    put the time in front of each line
  --merge-stderr-to-stdout  errors go where output goes
  --output-filename F   output goes to the files F.RANK.out and F.RANK.err, on the host of the rank
  -outfile-pattern F    output goes to the file F, in which %r stands for the rank, %h for the host, %g for the
                        number of the world, %p for the number of the host, %% for %; -errfile-pattern: errors
  --stdin N|all|none    the rank that reads the standard input; 0 if not given (also -s)
  --gdb                 gdb for each rank, here: lines that are typed go to all, or to those of the last line z RANKS (z 0,2-3;
                        z: to all again); Ctrl-C stops the ranks. Lines of output have [rank] in front. The
                        command tern-queues shows the messages that wait
  --xterm RANKS         these ranks (0,2-3, or all) run in windows of their own, with --gdb too; RANKS! keeps the windows
  -print-all-exitcodes  say how each rank ends
  --with-ft             the job goes on without ranks and hosts that it loses, and MPI calls that need them fail (setting
                        TERN_FT); ulfm or off may follow. -disable-auto-cleanup, --enable-recovery, --continuous: the
                        same; --disable-recovery: off
  --timeout SECONDS     end the job after this time, with exit code 124 (also from MPIEXEC_TIMEOUT)
  --usize N             MPI_UNIVERSE_SIZE, for programs that start others: by default (or system) the number of
                        cores or ranks, whichever is more; infinite: not set
  -v, --verbose         say what is started, on which MPI library, and how it ends
  --no-library-path     leave LD_LIBRARY_PATH alone: else Tern's folder of libraries stands first in it, so that
                        programs built for MPICH or Open MPI run on Tern
  -V, --version         print the version
  -h, --help            print this

Long options may have one dash or two, and take their value after a blank or '='. Options end at
the program's name, or at '--'. --oversubscribe, --allow-run-as-root, -localonly and --quiet are taken and do
nothing: Tern behaves so anyway. --bynode, --bycore and the like stand for --map-by, --use-hwthread-cpus for
:HWTCPUS, --cpus-per-proc N for :PE=N, -bootstrap for --launcher. --mca NAME VALUE, --rankfile, --prefix, -iface,
-tv and the like of other launchers are left out, with a line.

In a job of Slurm, PBS, LSF or Grid Engine hosts and slots are the job's, and without -n there is a rank for each
slot. An agent on each host starts its ranks.

Rank 0 reads the standard input, the others read nothing. Names and addresses of this machine are this machine. Ranks find their number and the number
of all in TERN_RANK and TERN_SIZE. SIGINT, SIGTERM, SIGHUP and SIGQUIT end the job and are passed on
to the ranks, which are killed if they take longer than TERN_GRACE; SIGUSR1, SIGUSR2, SIGTSTP and
SIGCONT are passed on. Where TERN_STALL is set, SIGUSR1 asks what each rank waits for instead.

The exit code is that of the first rank that fails, 128 + n if signal n killed it, or the code given
to MPI_Abort; 2 for a wrong option, 124 after --timeout, 126 for a program that cannot be executed,
127 for one that does not exist. With --with-ft ranks that are lost before MPI_Finalize do not count, unless
no rank comes to it: then it is that of the first one lost. The settings of Tern are listed by tern-info.
";

/// The text of `--version`.
pub fn version() -> String {
    format!("mpiexec (Tern) {}\n", env!("CARGO_PKG_VERSION"))
}
