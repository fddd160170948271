"""Python's multiprocessing inside a rank: a child that is not forked imports mpi4py, and is a world of one."""
import multiprocessing
import os


def square(number):
    from mpi4py import MPI

    return number * number, MPI.COMM_WORLD.size, MPI.COMM_WORLD.allreduce(7)


def main():
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    for method in "spawn", "forkserver":
        with multiprocessing.get_context(method).Pool(2) as pool:
            got = pool.map(square, range(4))
        assert got == [(number * number, 1, 7) for number in range(4)], (method, got)
        # The rank itself is what it was.
        assert comm.allreduce(comm.rank) == sum(range(comm.size))
    # In one piece.
    os.write(1, f"right {comm.rank} {comm.size}\n".encode())


if __name__ == "__main__":
    main()
