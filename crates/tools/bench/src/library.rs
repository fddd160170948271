//! The libraries that are compared and how each starts a program.

use crate::Places;
use crate::hosts::{ADDRESSES, Hosts};
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
    /// Its jobs go on without ranks that they lose.
    pub survives: bool,
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
        let (name, variables) = (line.name.clone(), line.variables.clone());
        let library = Self { kind, name, label, abi, prefix, variables, survives: false };
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

    /// The same, told by the option of its launcher that its jobs go on without ranks that they lose, if it has one.
    pub fn surviving(self, survives: bool) -> Self {
        Self { survives, ..self }
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
    fn launcher_arguments(&self, run: &Run) -> Vec<String> {
        let mut arguments: Vec<String> = self.binding_arguments(run.binding).into_iter().map(String::from).collect();
        match (self.kind, run.binding) {
            (Kind::Tern, Binding::Nodes(nodes)) => arguments.extend(["--nodes".to_string(), nodes.to_string()]),
            (_, Binding::Hosts) => arguments.extend(self.host_arguments(run)),
            _ => {}
        }
        match self.kind {
            Kind::Tern if self.survives => arguments.push("--with-ft".into()),
            Kind::OpenMpi | Kind::OpenMpiUcx if self.survives => {
                arguments.extend(["--with-ft", "ulfm"].map(String::from))
            }
            _ => {}
        }
        arguments
    }

    fn binding_arguments(&self, binding: Binding) -> Vec<&'static str> {
        // A host has its cores by itself.
        let bound = matches!(binding, Binding::Bound | Binding::Packed);
        match self.kind {
            Kind::Tern if binding == Binding::Packed => vec!["--map-by", "core", "--bind-to", "core"],
            Kind::Tern => vec!["--bind-to", if bound { "core" } else { "none" }],
            // It maps by what it binds to.
            Kind::Mpich => vec!["-bind-to", if bound { "core" } else { "none" }],
            Kind::Intel => vec![],
            Kind::OpenMpi | Kind::OpenMpiUcx => {
                let mut arguments = vec!["--allow-run-as-root", "--bind-to"];
                arguments.extend(match binding {
                    Binding::Bound => &["core"][..],
                    Binding::Packed => &["core", "--map-by", "core"],
                    Binding::Hosts => &["none"],
                    Binding::Shared | Binding::Nodes(_) => {
                        &["none", "--map-by", ":OVERSUBSCRIBE", "--mca", "mpi_yield_when_idle", "1"]
                    }
                });
                if self.kind == Kind::OpenMpiUcx {
                    arguments.extend(UCX);
                }
                arguments
            }
        }
    }

    /// What has the launcher divide the ranks among two hosts, which it reaches by a shell.
    fn host_arguments(&self, run: &Run) -> Vec<String> {
        let Some(hosts) = run.hosts else { return Vec::new() };
        let shell = hosts.shell.display().to_string();
        let each = run.ranks().div_ceil(2);
        let with_slots = ADDRESSES.map(|host| format!("{host}:{each}")).join(",");
        let hydra = |shell_option: &str, name: &str| {
            let all = ADDRESSES.join(",");
            let words = ["-hosts", &all, "-ppn", &each.to_string(), name, "ssh", shell_option, &shell];
            words.map(String::from).to_vec()
        };
        let mut words: Vec<String> = match self.kind {
            Kind::Tern => ["--remote-shell", &shell, "--hosts", &with_slots].map(String::from).to_vec(),
            Kind::Mpich => hydra("-launcher-exec", "-launcher"),
            Kind::Intel => hydra("-bootstrap-exec", "-bootstrap"),
            Kind::OpenMpi | Kind::OpenMpiUcx => {
                ["--host", &with_slots, "--prtemca", "plm_ssh_agent", &shell].map(String::from).to_vec()
            }
        };
        if self.kind == Kind::OpenMpi {
            words.extend(["--mca", "pml", "ob1", "--mca", "btl", "tcp,sm,self"].map(String::from));
        }
        if run.is_crowded() && matches!(self.kind, Kind::OpenMpi | Kind::OpenMpiUcx) {
            words.extend(["--mca", "mpi_yield_when_idle", "1"].map(String::from));
        }
        words
    }

    /// What has the ranks of two hosts talk by TCP.
    fn host_environment(&self, run: &Run) -> Vec<(&'static str, &'static str)> {
        let mut variables = match self.kind {
            Kind::Tern => vec![("TERN_NETWORK", "tcp")],
            Kind::Mpich => vec![("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", "tcp")],
            Kind::Intel => {
                vec![("I_MPI_PIN", "0"), ("I_MPI_OFI_PROVIDER", "tcp"), ("FI_PROVIDER", "tcp")]
            }
            Kind::OpenMpi => vec![],
            Kind::OpenMpiUcx => vec![("UCX_TLS", "tcp,sm,self")],
        };
        match self.kind {
            Kind::Intel if run.is_crowded() => variables.push(("I_MPI_WAIT_MODE", "1")),
            Kind::Mpich if run.is_crowded() => variables.push(("MPIR_CVAR_POLLS_BEFORE_YIELD", "1")),
            _ => {}
        }
        variables
    }

    /// Variables that the library needs.
    fn environment(&self, run: &Run) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        if self.abi == Abi::Standard {
            variables.push(("LD_LIBRARY_PATH".into(), self.lib().display().to_string()));
        }
        if run.binding == Binding::Hosts {
            let hosts = self.host_environment(run).into_iter();
            variables.extend(hosts.map(|(name, value)| (name.to_string(), value.to_string())));
            return variables;
        }
        if self.kind == Kind::Intel {
            let list: Vec<String> = run.cores.iter().map(usize::to_string).collect();
            variables.extend(match run.binding {
                Binding::Bound | Binding::Packed => {
                    [("I_MPI_PIN".into(), "1".to_string()), ("I_MPI_PIN_PROCESSOR_LIST".into(), list.join(","))]
                }
                _ => [("I_MPI_PIN".into(), "0".to_string()), ("I_MPI_WAIT_MODE".into(), "1".to_string())],
            });
        }
        if self.kind == Kind::Mpich && !matches!(run.binding, Binding::Bound | Binding::Packed) {
            // Its collectives for shared memory spin without yielding: 8 ms for a barrier.
            let yielding = ["BARRIER", "BCAST", "REDUCE", "ALLREDUCE"];
            variables
                .extend(yielding.map(|name| (format!("MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM"), "mpir".to_string())));
            variables.push(("MPIR_CVAR_POLLS_BEFORE_YIELD".into(), "1".into()));
        }
        variables
    }

    /// The command of a run.
    pub fn command(&self, run: &Run) -> Command {
        // The launcher, too, runs on the first of two hosts.
        let mut command = match run.hosts {
            Some(hosts) => {
                let mut command = Command::new(&hosts.shell);
                command.env("HOSTS_CORES", &hosts.cores).arg(ADDRESSES[0]).arg(self.launcher());
                command
            }
            None => Command::new(self.launcher()),
        };
        for (name, _) in std::env::vars_os() {
            if FOREIGN.iter().any(|start| name.to_string_lossy().starts_with(start)) {
                command.env_remove(name);
            }
        }
        command.env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD");
        command.envs(self.environment(run));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.args(self.launcher_arguments(run));
        for (place, (ranks, line)) in run.programs.iter().enumerate() {
            if place > 0 {
                command.arg(":");
            }
            command.arg("-n").arg(ranks.to_string()).args(line);
        }
        command
    }
}

/// What is started, and where.
pub struct Run<'a> {
    pub binding: Binding,
    /// Those in use.
    pub cores: &'a [usize],
    /// With [`Binding::Hosts`]: these.
    pub hosts: Option<&'a Hosts>,
    /// Each a number of ranks and a command line.
    pub programs: &'a [(usize, Vec<String>)],
}

impl Run<'_> {
    fn ranks(&self) -> usize {
        self.programs.iter().map(|(ranks, _)| ranks).sum()
    }

    /// There are more ranks than cores.
    fn is_crowded(&self) -> bool {
        self.ranks() > self.cores.len()
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
            survives: false,
        }
    }

    fn run<'a>(binding: Binding, cores: &'a [usize], programs: &'a [(usize, Vec<String>)]) -> Run<'a> {
        Run { binding, cores, hosts: None, programs }
    }

    #[test]
    fn the_command_binds_ranks_and_sets_the_library_path() {
        let mpich = library(Kind::Mpich, Abi::Standard);
        let programs = [(2, vec!["a".to_string(), "b".to_string()])];
        let line = shown(&mpich.command(&run(Binding::Bound, &[0, 1], &programs)));
        assert_eq!(line, "LD_LIBRARY_PATH=/p/lib TERN_X=1 /p/bin/mpiexec -bind-to core -n 2 a b");
    }

    #[test]
    fn packed_ranks_fill_the_machine_in_order() {
        let programs = [(3, vec!["a".to_string()])];
        let line = |kind, abi| shown(&library(kind, abi).command(&run(Binding::Packed, &[4, 0, 5], &programs)));
        assert!(line(Kind::Tern, Abi::Standard).ends_with("/p/bin/mpiexec --map-by core --bind-to core -n 3 a"));
        assert!(line(Kind::Mpich, Abi::Standard).ends_with("/p/bin/mpiexec -bind-to core -n 3 a"));
        assert!(line(Kind::OpenMpi, Abi::OpenMpi).ends_with("--bind-to core --map-by core -n 3 a"));
        assert!(line(Kind::Intel, Abi::Standard).contains("I_MPI_PIN_PROCESSOR_LIST=4,0,5"));
    }

    #[test]
    fn nodes_are_simulated_where_that_is_asked_for() {
        let tern = library(Kind::Tern, Abi::Standard);
        let line = shown(&tern.command(&run(Binding::Nodes(2), &[0], &[(3, vec!["a".to_string()])])));
        assert!(line.ends_with("/p/bin/mpiexec --bind-to none --nodes 2 -n 3 a"), "{line}");
    }

    #[test]
    fn launchers_that_can_are_told_that_the_job_goes_on() {
        let programs = [(3, vec!["a".to_string()])];
        let line = |kind, abi| {
            let library = library(kind, abi).surviving(true);
            shown(&library.command(&run(Binding::Shared, &[0], &programs)))
        };
        assert!(line(Kind::Tern, Abi::Standard).ends_with(" --with-ft -n 3 a"));
        assert!(line(Kind::OpenMpi, Abi::OpenMpi).ends_with(" --with-ft ulfm -n 3 a"));
        assert!(!line(Kind::Mpich, Abi::Standard).contains("with-ft"));
    }

    #[test]
    fn on_two_hosts_each_library_is_told_which_and_how_they_are_reached() {
        let programs = [(2, vec!["a".to_string()])];
        let hosts = Hosts { shell: "/s".into(), cores: "0 1".into() };
        let line = |kind, abi| {
            let run = Run { hosts: Some(&hosts), ..run(Binding::Hosts, &[0, 1], &programs) };
            shown(&library(kind, abi).command(&run))
        };
        let tern = line(Kind::Tern, Abi::Standard);
        assert!(tern.contains("/s 10.77.0.1 /p/bin/mpiexec"), "{tern}");
        assert!(tern.contains("TERN_NETWORK=tcp") && tern.contains("--hosts 10.77.0.1:1,10.77.0.2:1"), "{tern}");
        let mpich = line(Kind::Mpich, Abi::Standard);
        assert!(
            mpich.contains("-ppn 1 -launcher ssh -launcher-exec /s") && mpich.contains("FI_PROVIDER=tcp"),
            "{mpich}"
        );
        let intel = line(Kind::Intel, Abi::Standard);
        assert!(intel.contains("I_MPI_PIN=0") && intel.contains("-bootstrap ssh"), "{intel}");
        assert!(line(Kind::OpenMpi, Abi::OpenMpi).contains("--mca btl tcp,sm,self"));
        let ucx = line(Kind::OpenMpiUcx, Abi::OpenMpi);
        assert!(ucx.contains("UCX_TLS=tcp,sm,self") && ucx.contains("--mca pml ucx"), "{ucx}");
    }

    #[test]
    fn several_programs_are_separated_by_a_colon() {
        let tern = library(Kind::Tern, Abi::Standard);
        let programs = [(1, vec!["a".to_string()]), (3, vec!["b".to_string()])];
        let line = shown(&tern.command(&run(Binding::Shared, &[0], &programs)));
        assert!(line.ends_with("/p/bin/mpiexec --bind-to none -n 1 a : -n 3 b"), "{line}");
    }

    #[test]
    fn only_the_ucx_column_asks_for_ucx() {
        let programs = [(2, vec!["a".to_string()])];
        let line = |kind| shown(&library(kind, Abi::OpenMpi).command(&run(Binding::Bound, &[0, 1], &programs)));
        assert!(line(Kind::OpenMpiUcx).contains("--mca pml ucx"));
        assert!(!line(Kind::OpenMpi).contains("ucx"));
    }

    #[test]
    fn intel_is_pinned_to_the_cores_in_use() {
        let programs = [(2, vec!["a".to_string()])];
        let intel = library(Kind::Intel, Abi::Standard);
        let line = shown(&intel.command(&run(Binding::Bound, &[2, 5], &programs)));
        assert!(line.contains("I_MPI_PIN_PROCESSOR_LIST=2,5"), "{line}");
    }

    #[test]
    fn a_missing_library_is_told_with_the_remedy() {
        let nowhere = || PathBuf::from("/dev/null/none");
        let places =
            Places { tern: nowhere(), peers: nowhere(), source: nowhere(), output: nowhere(), root: nowhere() };
        let find = |name, places| Library::find(&Line::parse(name).unwrap(), places);
        assert!(find("mpich", &places).unwrap_err().contains("tern-bench peers"));
        assert!(find("tern", &places).unwrap_err().contains("--tern"));
        assert!(find("lam", &places).unwrap_err().contains("unknown"));
    }
}
