"""Pi in two ways on all ranks: the integral of 4 / (1 + x^2) by strips, and random points in a
square. The task is a pickled dictionary from rank 0; the sums travel as plain buffers of the
array module, so that nothing but mpi4py is needed."""

import math
import random
import sys
from array import array

from mpi4py import MPI


def integral(strips, rank, size):
    """This rank's share of the strips: rank, rank + size, ..."""
    width = 1.0 / strips
    total = 0.0
    for i in range(rank, strips, size):
        x = (i + 0.5) * width
        total += 4.0 / (1.0 + x * x)
    return total * width


def hits(points, seed):
    """How many of the points of a unit square fall into the quarter circle."""
    draw = random.Random(seed).random
    return sum(draw() ** 2 + draw() ** 2 < 1.0 for _ in range(points))


def main():
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()

    task = None
    if rank == 0:
        strips = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
        task = {"strips": strips, "points": 200_000, "seeds": list(range(size))}
    task = comm.bcast(task, root=0)

    mine = array("d", [integral(task["strips"], rank, size), hits(task["points"], task["seeds"][rank])])
    sums = array("d", [0.0, 0.0])
    comm.Reduce([mine, MPI.DOUBLE], [sums, MPI.DOUBLE], op=MPI.SUM, root=0)
    shares = comm.gather((rank, int(mine[1])), root=0)

    good = True
    if rank == 0:
        by_points = 4.0 * sums[1] / (size * task["points"])
        print(f"pi: library {MPI.Get_library_version().splitlines()[0].strip(chr(0))}")
        print(f"pi: {size} ranks, {task['strips']} strips: {sums[0]:.12f}, error {abs(sums[0] - math.pi):.1e}")
        print(f"pi: hits by rank {shares}: {by_points:.4f}")
        good = abs(sums[0] - math.pi) < 1e-9 and abs(by_points - math.pi) < 0.05
    if not comm.bcast(good, root=0):
        sys.exit("pi: this is not pi")


main()
