"""Poisson's equation on a grid, by conjugate gradients with Jacobi's preconditioner."""
import sys
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc

grid = PETSc.DMDA().create([40, 40], stencil_width=1, setup=True)
matrix = grid.createMatrix()
(x0, x1), (y0, y1) = grid.getRanges()
row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for j in range(y0, y1):
    for i in range(x0, x1):
        row.index = (i, j)
        for index, value in (((i, j), 4.0), ((i - 1, j), -1.0), ((i + 1, j), -1.0), ((i, j - 1), -1.0), ((i, j + 1), -1.0)):
            if 0 <= index[0] < 40 and 0 <= index[1] < 40:
                column.index = index
                matrix.setValueStencil(row, column, value)
matrix.assemble()
right, solution = matrix.createVecs()
right.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-10)
solver.solve(right, solution)
if PETSc.COMM_WORLD.rank == 0:
    print(f"{solver.its} iterations")
PETSc.Sys.Print(f"norm {solution.norm():.8f}")
