-- For Lmod: module use PREFIX/share/modulefiles. The place of Tern is told by that of this file.
local prefix = myFileName():match("^(.*)/share/modulefiles/")

help([[Tern: an MPI library with the MPI 5.0 standard ABI, mpiexec, and compiler wrappers.]])
whatis("Name: Tern")
whatis("Description: an MPI library with the MPI 5.0 standard ABI")
family("mpi")

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "lib/pkgconfig"))
setenv("MPI_HOME", prefix)
