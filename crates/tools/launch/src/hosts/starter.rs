//! The commands that start agents on hosts.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use tern_pmi::{Secret, secret_text};
use tern_settings::{Entry, Manager, Source, Starter};

use super::command;
use crate::options::Options;

/// The option that makes an agent of mpiexec.
pub const AGENT: &str = "--agent";

/// How agents are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// A command for each host.
    Shell(String),
    /// One srun for all hosts; `no_kill`: it goes on when one of them is lost.
    Srun { no_kill: bool },
    /// On this machine, whatever the hosts are called.
    Fork,
}

/// The number of an agent, and its host.
pub type Numbered = (u32, String);

/// A command that is to start agents.
#[derive(Debug, PartialEq, Eq)]
pub struct Start {
    /// The numbers of the agents.
    pub numbers: Vec<u32>,
    pub words: Vec<OsString>,
}

impl Method {
    /// What is asked for; or else what belongs to the resource manager.
    pub fn of(options: &Options) -> Method {
        let shell =
            || Method::Shell(options.shell.clone().unwrap_or_else(|| tern_settings::REMOTE_SHELL.get().to_owned()));
        let said = options.shell.is_some() || tern_settings::REMOTE_SHELL.source() != Source::Default;
        let managed = match options.allocation {
            _ if said => Starter::Ssh,
            Some(Manager::Slurm) => Starter::Srun,
            Some(Manager::Lsf) => Starter::Blaunch,
            Some(Manager::Sge) => Starter::Qrsh,
            _ => Starter::Ssh,
        };
        let asked = options.starter.unwrap_or_else(|| tern_settings::LAUNCHER.get());
        match if asked == Starter::Auto { managed } else { asked } {
            Starter::Srun => Method::Srun { no_kill: options.goes_on },
            Starter::Fork => Method::Fork,
            Starter::Blaunch => Method::Shell("blaunch".into()),
            Starter::Qrsh => Method::Shell("qrsh -inherit -V".into()),
            Starter::Ssh | Starter::Auto => shell(),
        }
    }

    /// As one word, for an agent that starts further ones.
    pub fn word(&self) -> String {
        match self {
            Method::Shell(shell) => format!("shell {shell}"),
            Method::Srun { no_kill: false } => "srun".into(),
            Method::Srun { no_kill: true } => "srun --no-kill".into(),
            Method::Fork => "fork".into(),
        }
    }

    /// The reverse.
    pub fn of_word(word: &str) -> Option<Method> {
        match word {
            "srun" => Some(Method::Srun { no_kill: false }),
            "srun --no-kill" => Some(Method::Srun { no_kill: true }),
            "fork" => Some(Method::Fork),
            _ => Some(Method::Shell(word.strip_prefix("shell ")?.to_owned())),
        }
    }

    /// The commands that start the agents of these hosts, which call `callers`.
    pub fn starts(&self, mpiexec: &OsString, callers: &str, hosts: &[Numbered]) -> Vec<Start> {
        let agent = |which: String| [mpiexec.clone(), AGENT.into(), callers.into(), which.into()];
        let one = |before: Vec<OsString>, number: u32| Start {
            numbers: vec![number],
            words: before.into_iter().chain(agent(number.to_string())).collect(),
        };
        match self {
            Method::Fork => hosts.iter().map(|(number, _)| one(Vec::new(), *number)).collect(),
            Method::Shell(shell) => hosts.iter().map(|(number, name)| one(command(shell, name), *number)).collect(),
            Method::Srun { .. } if hosts.is_empty() => Vec::new(),
            Method::Srun { no_kill } => {
                // Slurm has an order of its own: an agent finds its number by the name of its host.
                let named: Vec<String> = hosts.iter().map(|(number, name)| format!("{name}={number}")).collect();
                let names: Vec<&str> = hosts.iter().map(|(_, name)| name.as_str()).collect();
                let survives: &[&str] = if *no_kill { &["--no-kill", "--wait=0"] } else { &[] };
                let words = srun(&names).into_iter().chain(survives.iter().map(|word| word.to_string()));
                let words = words.map(OsString::from).chain(agent(named.join(",")));
                vec![Start { numbers: hosts.iter().map(|(number, _)| *number).collect(), words: words.collect() }]
            }
        }
    }
}

/// One step with a task on each of these nodes, beside other steps of the job. It goes on when one of the tasks fails, for
/// mpiexec ends the others.
fn srun(names: &[&str]) -> Vec<String> {
    let count = names.len();
    [
        "srun".into(),
        "--overlap".into(),
        format!("--nodes={count}"),
        format!("--ntasks={count}"),
        "--ntasks-per-node=1".into(),
        format!("--nodelist={}", names.join(",")),
        "--input=all".into(),
        "--mpi=none".into(),
        "--cpu-bind=none".into(),
        "--kill-on-bad-exit=0".into(),
        "--quiet".into(),
    ]
    .into()
}

impl Start {
    /// The command as text, for messages.
    pub fn shown(&self) -> String {
        self.words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Runs it, and tells it the secret. `piped`: its output comes by pipes. `mask` is its signal mask.
    pub fn run(&self, secret: &Secret, piped: bool, mask: libc::sigset_t) -> std::io::Result<Child> {
        let mut start = Command::new(&self.words[0]);
        // A key on the terminal is for mpiexec, which tells the agents.
        start.args(&self.words[1..]).stdin(Stdio::piped()).process_group(0);
        if piped {
            start.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        // SAFETY: one system call, with a set of signals of its own.
        unsafe {
            start.pre_exec(move || {
                libc::sigprocmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
                Ok(())
            });
        }
        let mut child = start.spawn()?;
        if let Some(input) = &mut child.stdin {
            // What it does not read, its end tells.
            let _ = input.write_all(format!("{}\n", secret_text(secret)).as_bytes());
        }
        Ok(child)
    }
}

/// The number of the agent that is told `which`: a number, or those of several hosts, of which Slurm says which this is.
pub fn number(which: &str, node: Option<&str>) -> Option<u32> {
    match which.parse() {
        Ok(number) => Some(number),
        Err(_) => {
            let mut pairs = which.split(',').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| Some(*name) == node)?.1.parse().ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(method: &Method) -> Vec<String> {
        let hosts = [(1, "b".to_owned()), (3, "a".to_owned())];
        method.starts(&"/bin/mpiexec".into(), "1.2.3.4:5", &hosts).iter().map(Start::shown).collect()
    }

    #[test]
    fn each_host_has_a_command_or_all_have_one() {
        let shell = lines(&Method::Shell("qrsh -inherit -V".into()));
        assert_eq!(shell[1], "qrsh -inherit -V a /bin/mpiexec --agent 1.2.3.4:5 3");
        assert_eq!(lines(&Method::Fork)[0], "/bin/mpiexec --agent 1.2.3.4:5 1");
        let srun = lines(&Method::Srun { no_kill: false });
        assert_eq!(srun.len(), 1);
        assert!(
            srun[0].starts_with("srun --overlap --nodes=2 --ntasks=2 ") && srun[0].ends_with(" b=1,a=3"),
            "{srun:?}"
        );
        assert!(!srun[0].contains("--no-kill"), "{srun:?}");
        let goes_on = lines(&Method::Srun { no_kill: true });
        assert!(goes_on[0].contains(" --no-kill --wait=0 /bin/mpiexec --agent "), "{goes_on:?}");
    }

    #[test]
    fn an_agent_knows_its_number() {
        assert_eq!(number("7", None), Some(7));
        assert_eq!(number("b=1,a=3", Some("a")), Some(3));
        assert_eq!(number("b=1,a=3", Some("c")), None);
        assert_eq!(number("b=1", None), None);
    }

    #[test]
    fn what_is_asked_for_counts_first() {
        let of = |starter, shell: Option<&str>, allocation| {
            Method::of(&Options { starter, shell: shell.map(str::to_owned), allocation, ..Options::default() })
        };
        assert_eq!(of(None, None, Some(Manager::Slurm)), Method::Srun { no_kill: false });
        assert_eq!(of(None, None, Some(Manager::Lsf)), Method::Shell("blaunch".into()));
        assert_eq!(of(None, Some("rsh"), Some(Manager::Slurm)), Method::Shell("rsh".into()));
        assert_eq!(of(Some(Starter::Srun), Some("rsh"), None), Method::Srun { no_kill: false });
        assert_eq!(of(Some(Starter::Ssh), Some("rsh"), Some(Manager::Sge)), Method::Shell("rsh".into()));
        for method in [
            Method::Srun { no_kill: false },
            Method::Srun { no_kill: true },
            Method::Fork,
            Method::Shell("ssh -x".into()),
        ] {
            assert_eq!(Method::of_word(&method.word()), Some(method));
        }
        assert_eq!(Method::of_word("x"), None);
    }
}
