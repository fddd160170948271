"""Tern for Spack: copy this folder to packages/tern of a repository of yours, then `spack install tern`."""

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Tern(Package):
    """MPI library in Rust with the MPI 5.0 standard ABI; runs programs that were built for MPICH and Open MPI."""

    license("Apache-2.0 OR MIT")

    # Where the sources are is for the site to say: `spack develop`, or a url or git of its own.
    version("0.1.0")
    manual_download = True

    depends_on("c", type=("build", "run"))
    depends_on("cxx", type=("build", "run"))
    depends_on("fortran", type=("build", "run"), when="+fortran")
    depends_on("rust@1.95:", type="build")

    variant("fortran", default=True, description="mpifort needs a Fortran compiler, which builds the modules at its first use")

    provides("mpi@:5.0")

    executables = ["^mpiexec$"]

    @classmethod
    def determine_version(cls, exe):
        import re

        output = Executable(exe)("--version", output=str, error=str)
        match = re.search(r"mpiexec \(Tern\) (\S+)", output)
        return match.group(1) if match else None

    def install(self, spec, prefix):
        make("build")
        Executable("scripts/install.sh")("target/release", prefix)

    def setup_run_environment(self, env):
        env.set("MPICC", join_path(self.prefix.bin, "mpicc"))
        env.set("MPICXX", join_path(self.prefix.bin, "mpicxx"))
        if self.spec.satisfies("+fortran"):
            for name in ("MPIF77", "MPIF90", "MPIFC"):
                env.set(name, join_path(self.prefix.bin, "mpifort"))

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        # Wrappers of MPI call Spack's own wrappers of the compilers, of those languages that the dependent asks for.
        module = dependent_spec.package.module
        for variable, name in (("TERN_CC", "spack_cc"), ("TERN_CXX", "spack_cxx"), ("TERN_FC", "spack_fc")):
            if hasattr(module, name):
                env.set(variable, getattr(module, name))

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")
        if self.spec.satisfies("+fortran"):
            self.spec.mpifc = join_path(self.prefix.bin, "mpifort")
            self.spec.mpif77 = join_path(self.prefix.bin, "mpifort")
