"""Python's multiprocessing inside a rank: a child that is not forked imports mpi4py, and is a world of one. A forked one has no MPI."""
import multiprocessing
import os
import sys


def square(number):
    from mpi4py import MPI

    return number * number, MPI.COMM_WORLD.size, MPI.COMM_WORLD.allreduce(7)


def forked(answers):
    from mpi4py import MPI

    told = ""
    try:
        MPI.COMM_WORLD.bcast(1)
    except MPI.Exception as error:
        told = str(error)
    answers.put((MPI.Is_initialized(), MPI.Is_finalized(), "forked from rank" in told))


def fork_in_ways():
    """By multiprocessing, with numbers back; by hand, with an end as Python's and one at once."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=forked, args=(answers,))
    process.start()
    got = answers.get()
    process.join()
    assert got == (True, True, True) and process.exitcode == 0, (got, process.exitcode)
    for end in sys.exit, os._exit:
        child = os.fork()
        if child == 0:
            end(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5


def main():
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    for method in "spawn", "forkserver":
        with multiprocessing.get_context(method).Pool(2) as pool:
            got = pool.map(square, range(4))
        assert got == [(number * number, 1, 7) for number in range(4)], (method, got)
        # The rank itself is what it was.
        assert comm.allreduce(comm.rank) == sum(range(comm.size))
    for _ in range(3):
        fork_in_ways()
        assert comm.allreduce(comm.rank) == sum(range(comm.size))
    # In one piece.
    os.write(1, f"right {comm.rank} {comm.size}\n".encode())


if __name__ == "__main__":
    main()
