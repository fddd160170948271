//! Hosts and remote shells that the environment names for other launchers. The MPI Operator of Kubernetes tells its launcher so which workers
//! there are, and some sites do.

use std::ffi::OsStr;

use super::Environment;
use crate::host_list::{self, Host};

/// Name the host file: Hydra (MPICH, Intel MPI), Open MPI up to 4, and Open MPI from 5 on.
const HOST_FILES: [&str; 4] =
    ["HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE", "OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"];
/// How many slots a host has that does not say it, for the same launchers.
const SLOTS: [&str; 3] = ["I_MPI_PERHOST", "OMPI_MCA_orte_set_default_slots", "PRTE_MCA_prte_set_default_slots"];
/// The command that runs another one on a host.
const SHELLS: [&str; 6] = [
    "HYDRA_LAUNCHER_EXEC",
    "HYDRA_BOOTSTRAP_EXEC",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC",
    "OMPI_MCA_plm_rsh_agent",
    "OMPI_MCA_plm_ssh_agent",
    "PRTE_MCA_plm_ssh_agent",
];
/// Arguments for that command.
const ARGUMENTS: [&str; 6] = [
    "HYDRA_LAUNCHER_EXTRA_ARGS",
    "HYDRA_LAUNCH_EXTRA_ARGS",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
    "OMPI_MCA_plm_rsh_args",
    "OMPI_MCA_plm_ssh_args",
    "PRTE_MCA_plm_ssh_args",
];

/// The first of these variables that says something, and what it says.
fn first(env: Environment<'_>, names: &[&'static str]) -> Option<(&'static str, String)> {
    names.iter().find_map(|name| {
        let value = env(name)?.into_string().ok()?.trim().to_owned();
        (!value.is_empty()).then_some((*name, value))
    })
}

/// The host file that the environment names: how the user knows it, and its hosts, each with its slots. `None` for a file that names no
/// host, as an installation of Open MPI has one.
///
/// Errors: the file cannot be read or understood. A line for the user.
pub fn host_file(env: Environment<'_>) -> Result<Option<(String, Vec<Host>)>, String> {
    let Some((variable, path)) = first(env, &HOST_FILES) else { return Ok(None) };
    let name = format!("{variable}={path}");
    let hosts = host_list::file_or_none(OsStr::new(&path))
        .map_err(|wrong| format!("{wrong} (named by {variable}); -rmk none runs on this machine alone"))?;
    let slots = first(env, &SLOTS).and_then(|(_, slots)| slots.parse().ok()).filter(|slots| *slots > 0).unwrap_or(1);
    Ok(hosts.map(|mut hosts| {
        hosts.iter_mut().for_each(|host| host.slots = host.slots.or(Some(slots)));
        (name, hosts)
    }))
}

/// The command that runs another one on a host, if the environment names it or arguments for it. `default`: the command where only arguments
/// are named.
pub fn remote_shell(env: Environment<'_>, default: &str) -> Option<String> {
    let (command, arguments) = (first(env, &SHELLS), first(env, &ARGUMENTS));
    if command.is_none() && arguments.is_none() {
        return None;
    }
    // Open MPI takes several, with colons between, and uses the first that there is.
    let command = command.map(|(_, all)| all.split(':').next().unwrap_or_default().trim().to_owned());
    let command = command.filter(|command| !command.is_empty()).unwrap_or(default.into());
    Some(arguments.map_or(command.clone(), |(_, arguments)| format!("{command} {arguments}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn with<'a>(variables: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
        |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
    }

    fn file(text: &str) -> String {
        let path = std::env::temp_dir().join(format!("tern-hosts-{}-{:x}", std::process::id(), tern_pmi::new_job_id()));
        std::fs::write(&path, text).expect("written");
        path.to_string_lossy().into_owned()
    }

    #[test]
    fn each_launchers_variable_names_a_host_file() {
        let path = file("w-0.job slots=2\nw-1.job\n");
        for variable in HOST_FILES {
            let (name, hosts) = host_file(&with(&[(variable, &path)])).expect("read").expect("hosts");
            assert_eq!(name, format!("{variable}={path}"));
            let hosts: Vec<_> = hosts.into_iter().map(|host| (host.name, host.slots)).collect();
            assert_eq!(hosts, [("w-0.job".into(), Some(2)), ("w-1.job".into(), Some(1))]);
        }
        for slots in SLOTS {
            let found = host_file(&with(&[(HOST_FILES[2], &path), (slots, "4")])).expect("read").expect("hosts");
            assert_eq!(found.1[1].slots, Some(4), "{slots}");
        }
        std::fs::remove_file(&path).expect("removed");
        assert!(host_file(&with(&[(HOST_FILES[0], &path)])).is_err_and(|text| text.contains(HOST_FILES[0])));
        assert_eq!(host_file(&with(&[(HOST_FILES[0], "")])), Ok(None));
        assert_eq!(host_file(&with(&[])), Ok(None));
    }

    #[test]
    fn a_host_file_without_hosts_is_none() {
        let path = file("# no host\n\n");
        assert_eq!(host_file(&with(&[(HOST_FILES[2], &path)])), Ok(None));
        std::fs::remove_file(&path).expect("removed");
    }

    #[test]
    fn each_launchers_variables_name_the_remote_shell() {
        let shell = |variables: &[(&str, &str)]| remote_shell(&with(variables), "ssh -x");
        assert_eq!(shell(&[]), None);
        for name in ARGUMENTS {
            let shell = shell(&[(name, "-o ConnectionAttempts=10")]);
            assert_eq!(shell.as_deref(), Some("ssh -x -o ConnectionAttempts=10"), "{name}");
        }
        for name in SHELLS {
            assert_eq!(shell(&[(name, "rsh : ssh")]).as_deref(), Some("rsh"), "{name}");
        }
        assert_eq!(
            shell(&[(SHELLS[3], "/etc/mpi/exec.sh"), (ARGUMENTS[3], "-q")]).as_deref(),
            Some("/etc/mpi/exec.sh -q")
        );
    }
}
