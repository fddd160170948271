//! The libraries that are compared and how each starts a program.

use crate::Places;
use crate::line::Line;
use crate::suite::Binding;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Binary interface of a library: one compiled benchmark program for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// The MPI 5.0 standard ABI, `libmpi_abi.so.1`.
    Standard,
    /// Open MPI's own, `libmpi.so.40`.
    OpenMpi,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tern,
    Mpich,
    OpenMpi,
    OpenMpiUcx,
    Intel,
}

/// One column of the table: a library with settings.
#[derive(Clone, Debug)]
pub struct Library {
    kind: Kind,
    /// As given to `--libraries`.
    pub name: String,
    /// Heading of the column, with the version where it is known.
    pub label: String,
    pub abi: Abi,
    /// Has bin/ and lib/.
    pub prefix: PathBuf,
    /// Environment of its runs, beside what it always needs.
    pub variables: Vec<(String, String)>,
}

const KINDS: [(Kind, &str, &str); 5] = [
    (Kind::Tern, "tern", "Tern"),
    (Kind::Mpich, "mpich", "MPICH"),
    (Kind::OpenMpi, "openmpi", "Open MPI"),
    (Kind::OpenMpiUcx, "openmpi-ucx", "Open MPI + UCX"),
    (Kind::Intel, "impi", "Intel MPI"),
];

const UCX: [&str; 9] = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"];

/// Variables that set up one of the peers; a run gets only those that it is meant to have.
const FOREIGN: [&str; 9] = ["OMPI_", "PMIX_", "PRTE_", "PMI_", "I_MPI_", "MPIR_", "MPICH_", "FI_", "UCX_"];

/// Version of a package in a virtual environment, from the name of its metadata folder.
fn version(prefix: &Path, package: &str) -> Option<String> {
    let lib = prefix.join("lib");
    let pythons = fs::read_dir(lib).ok()?.flatten();
    let packages = pythons.filter_map(|python| fs::read_dir(python.path().join("site-packages")).ok());
    let start = format!("{}-", package.replace('-', "_"));
    packages.flatten().flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some(name.strip_prefix(&start)?.strip_suffix(".dist-info")?.to_string())
    })
}

impl Library {
    /// A library by its name, with the settings of a line; an error when the name is unknown, or when
    /// something of the library is missing. The error says what.
    pub fn find(line: &Line, places: &Places) -> Result<Self, String> {
        let library = line.library.as_str();
        let Some(&(kind, _, label)) = KINDS.iter().find(|(_, known, _)| *known == library) else {
            let known: Vec<&str> = KINDS.iter().map(|(_, name, _)| *name).collect();
            return Err(format!("unknown library {library}; known are {}", known.join(", ")));
        };
        let (prefix, package, abi) = match kind {
            Kind::Tern => (places.tern.clone(), None, Abi::Standard),
            Kind::Mpich => (places.peers.join("mpich"), Some("mpich"), Abi::Standard),
            Kind::Intel => (places.peers.join("impi"), Some("impi-rt"), Abi::Standard),
            Kind::OpenMpi | Kind::OpenMpiUcx => (places.peers.join("openmpi"), Some("openmpi"), Abi::OpenMpi),
        };
        let prefix = line.prefix.clone().unwrap_or(prefix);
        let version = package.and_then(|package| version(&prefix, package));
        let mut label = [Some(label.to_string()), version].into_iter().flatten().collect::<Vec<_>>().join(" ");
        if line.name != library {
            label.clone_from(&line.name);
        }
        let library = Self { kind, name: line.name.clone(), label, abi, prefix, variables: line.variables.clone() };
        for needed in [library.launcher(), library.shared_object()] {
            if !needed.exists() {
                let remedy = match kind {
                    Kind::Tern => "install Tern there, or name its place with --tern",
                    _ => "run `tern-bench peers`, or set TERN_PEERS_DIR",
                };
                return Err(format!("{} is missing ({remedy})", needed.display()));
            }
        }
        Ok(library)
    }

    /// The same with further environment variables.
    pub fn with(&self, variables: &[(String, String)]) -> Self {
        Self { variables: [&self.variables, variables].concat(), ..self.clone() }
    }

    /// Tern as it comes: the column that the lead is of.
    pub fn is_plain_tern(&self) -> bool {
        self.is_tern() && self.name == "tern"
    }

    pub fn is_tern(&self) -> bool {
        self.kind == Kind::Tern
    }

    pub fn lib(&self) -> PathBuf {
        self.prefix.join("lib")
    }

    /// The library that the benchmark program is linked with.
    pub fn shared_object(&self) -> PathBuf {
        self.lib().join(match self.abi {
            Abi::Standard => "libmpi_abi.so.1",
            Abi::OpenMpi => "libmpi.so.40",
        })
    }

    fn launcher(&self) -> PathBuf {
        let name = if self.kind == Kind::Intel { "mpiexec.hydra" } else { "mpiexec" };
        self.prefix.join("bin").join(name)
    }

    /// Options of the launcher. With more ranks than cores they and the environment are the best
    /// documented ones that were found for the library: yielding while it waits.
    fn launcher_arguments(&self, binding: Binding) -> Vec<String> {
        let mut arguments: Vec<String> = self.binding_arguments(binding).into_iter().map(String::from).collect();
        match (self.kind, binding) {
            (Kind::Tern, Binding::Nodes(nodes)) => arguments.extend(["--nodes".to_string(), nodes.to_string()]),
            (_, Binding::Hosts) => arguments.extend(self.apart().0.iter().map(ToString::to_string)),
            _ => {}
        }
        arguments
    }

    fn binding_arguments(&self, binding: Binding) -> Vec<&'static str> {
        let bound = matches!(binding, Binding::Bound | Binding::Hosts);
        match self.kind {
            Kind::Tern => vec!["--bind-to", if bound { "core" } else { "none" }],
            Kind::Mpich => vec!["-bind-to", if bound { "core" } else { "none" }],
            Kind::Intel => vec![],
            Kind::OpenMpi | Kind::OpenMpiUcx => {
                let mut arguments = vec!["--allow-run-as-root", "--bind-to"];
                arguments.extend(match binding {
                    Binding::Bound | Binding::Hosts => &["core"][..],
                    Binding::Shared | Binding::Nodes(_) => {
                        &["none", "--map-by", ":OVERSUBSCRIBE", "--mca", "mpi_yield_when_idle", "1"]
                    }
                });
                if self.kind == Kind::OpenMpiUcx && binding != Binding::Hosts {
                    arguments.extend(UCX);
                }
                arguments
            }
        }
    }

    /// What makes ranks of one machine talk by TCP alone: options of the launcher, and variables.
    fn apart(&self) -> (&'static [&'static str], &'static [(&'static str, &'static str)]) {
        match self.kind {
            Kind::Tern => (&["--nodes", "2"], &[("TERN_NETWORK", "tcp")]),
            Kind::Mpich => {
                (&[], &[("MPIR_CVAR_NOLOCAL", "1"), ("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", "tcp")])
            }
            Kind::Intel => (&[], &[("I_MPI_FABRICS", "ofi"), ("I_MPI_OFI_PROVIDER", "tcp"), ("FI_PROVIDER", "tcp")]),
            Kind::OpenMpi => (&["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"], &[]),
            Kind::OpenMpiUcx => (&UCX, &[("UCX_TLS", "tcp,self")]),
        }
    }

    /// Variables that the library needs. `cores` are those in use.
    fn environment(&self, binding: Binding, cores: &[usize]) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        if self.abi == Abi::Standard {
            variables.push(("LD_LIBRARY_PATH".into(), self.lib().display().to_string()));
        }
        if self.kind == Kind::Intel {
            let list: Vec<String> = cores.iter().map(usize::to_string).collect();
            variables.extend(match binding {
                Binding::Bound | Binding::Hosts => {
                    [("I_MPI_PIN".into(), "1".to_string()), ("I_MPI_PIN_PROCESSOR_LIST".into(), list.join(","))]
                }
                Binding::Shared | Binding::Nodes(_) => {
                    [("I_MPI_PIN".into(), "0".to_string()), ("I_MPI_WAIT_MODE".into(), "1".to_string())]
                }
            });
        }
        if binding == Binding::Hosts {
            variables.extend(self.apart().1.iter().map(|(name, value)| (name.to_string(), value.to_string())));
        }
        if self.kind == Kind::Mpich && !matches!(binding, Binding::Bound | Binding::Hosts) {
            // Its collectives for shared memory spin without yielding: 8 ms for a barrier.
            let yielding = ["BARRIER", "BCAST", "REDUCE", "ALLREDUCE"];
            variables
                .extend(yielding.map(|name| (format!("MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM"), "mpir".to_string())));
            variables.push(("MPIR_CVAR_POLLS_BEFORE_YIELD".into(), "1".into()));
        }
        variables
    }

    /// The command that starts `programs`, each a number of ranks and a command line.
    pub fn command(&self, binding: Binding, cores: &[usize], programs: &[(usize, Vec<String>)]) -> Command {
        let mut command = Command::new(self.launcher());
        for (name, _) in std::env::vars_os() {
            if FOREIGN.iter().any(|start| name.to_string_lossy().starts_with(start)) {
                command.env_remove(name);
            }
        }
        command.env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD");
        command.envs(self.environment(binding, cores));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.args(self.launcher_arguments(binding));
        for (place, (ranks, line)) in programs.iter().enumerate() {
            if place > 0 {
                command.arg(":");
            }
            command.arg("-n").arg(ranks.to_string()).args(line);
        }
        command
    }
}

/// A command as one would type it, with the variables that were set for it.
pub fn shown(command: &Command) -> String {
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), value?.to_string_lossy())));
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| word.to_string_lossy().into_owned());
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(kind: Kind, abi: Abi) -> Library {
        let prefix = PathBuf::from("/p");
        Library {
            kind,
            name: "x".into(),
            label: "X".into(),
            abi,
            prefix,
            variables: vec![("TERN_X".into(), "1".into())],
        }
    }

    #[test]
    fn the_command_binds_ranks_and_sets_the_library_path() {
        let mpich = library(Kind::Mpich, Abi::Standard);
        let programs = [(2, vec!["a".to_string(), "b".to_string()])];
        let line = shown(&mpich.command(Binding::Bound, &[0, 1], &programs));
        assert_eq!(line, "LD_LIBRARY_PATH=/p/lib TERN_X=1 /p/bin/mpiexec -bind-to core -n 2 a b");
    }

    #[test]
    fn nodes_are_simulated_where_that_is_asked_for() {
        let tern = library(Kind::Tern, Abi::Standard);
        let line = shown(&tern.command(Binding::Nodes(2), &[0], &[(3, vec!["a".to_string()])]));
        assert!(line.ends_with("/p/bin/mpiexec --bind-to none --nodes 2 -n 3 a"), "{line}");
    }

    #[test]
    fn ranks_apart_have_no_shared_memory() {
        let programs = [(2, vec!["a".to_string()])];
        let line = |kind, abi| shown(&library(kind, abi).command(Binding::Hosts, &[0, 1], &programs));
        let tern = line(Kind::Tern, Abi::Standard);
        assert!(tern.contains("TERN_NETWORK=tcp") && tern.contains("--bind-to core --nodes 2"), "{tern}");
        assert!(line(Kind::Mpich, Abi::Standard).contains("MPIR_CVAR_NOLOCAL=1"));
        assert!(line(Kind::Intel, Abi::Standard).contains("I_MPI_FABRICS=ofi"));
        assert!(line(Kind::OpenMpi, Abi::OpenMpi).contains("--mca btl tcp,self"));
        let ucx = line(Kind::OpenMpiUcx, Abi::OpenMpi);
        assert!(ucx.contains("UCX_TLS=tcp,self") && ucx.contains("--mca pml ucx"), "{ucx}");
    }

    #[test]
    fn several_programs_are_separated_by_a_colon() {
        let tern = library(Kind::Tern, Abi::Standard);
        let programs = [(1, vec!["a".to_string()]), (3, vec!["b".to_string()])];
        let line = shown(&tern.command(Binding::Shared, &[0], &programs));
        assert!(line.ends_with("/p/bin/mpiexec --bind-to none -n 1 a : -n 3 b"), "{line}");
    }

    #[test]
    fn only_the_ucx_column_asks_for_ucx() {
        let programs = [(2, vec!["a".to_string()])];
        let line = |kind| shown(&library(kind, Abi::OpenMpi).command(Binding::Bound, &[0, 1], &programs));
        assert!(line(Kind::OpenMpiUcx).contains("--mca pml ucx"));
        assert!(!line(Kind::OpenMpi).contains("ucx"));
    }

    #[test]
    fn intel_is_pinned_to_the_cores_in_use() {
        let programs = [(2, vec!["a".to_string()])];
        let intel = library(Kind::Intel, Abi::Standard);
        let line = shown(&intel.command(Binding::Bound, &[2, 5], &programs));
        assert!(line.contains("I_MPI_PIN_PROCESSOR_LIST=2,5"), "{line}");
    }

    #[test]
    fn a_missing_library_is_told_with_the_remedy() {
        let nowhere = || PathBuf::from("/dev/null/none");
        let places = Places { tern: nowhere(), peers: nowhere(), source: nowhere(), output: nowhere() };
        let find = |name, places| Library::find(&Line::parse(name).unwrap(), places);
        assert!(find("mpich", &places).unwrap_err().contains("tern-bench peers"));
        assert!(find("tern", &places).unwrap_err().contains("--tern"));
        assert!(find("lam", &places).unwrap_err().contains("unknown"));
    }
}
