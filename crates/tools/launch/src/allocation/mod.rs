//! The hosts that a resource manager has given to this job: Slurm, PBS (also Torque), LSF or Grid Engine, by what it
//! leaves in the environment.

pub mod foreign;
mod lists;

use std::ffi::OsString;

use tern_settings::Manager;

use crate::host_list::Host;

/// What a resource manager has given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// As the user knows it: `Slurm job 17`.
    pub name: String,
    pub manager: Manager,
    /// Each with its slots.
    pub hosts: Vec<Host>,
}

/// Variables of the environment, by name.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The allocation that this process is in, if it is in one of that manager; of any for [`Manager::Auto`].
///
/// Errors: the manager says that there is one, but not what it consists of. A line for the user.
pub fn find(manager: Manager, env: Environment<'_>) -> Result<Option<Allocation>, String> {
    let env = |name: &str| env(name)?.into_string().ok().filter(|value| !value.is_empty());
    for one in [Manager::Slurm, Manager::Pbs, Manager::Lsf, Manager::Sge] {
        if manager != Manager::Auto && manager != one {
            continue;
        }
        match ask(one, &env) {
            Some(Ok((name, hosts))) => return Ok(Some(Allocation { name, manager: one, hosts })),
            Some(Err(wrong)) => return Err(format!("{wrong}; -rmk none runs on this machine alone")),
            None if manager == one => return Err(format!("the environment does not tell of a job of {one:?} (-rmk)")),
            None => {}
        }
    }
    Ok(None)
}

fn ask(manager: Manager, env: Variables<'_>) -> Found {
    match manager {
        Manager::Slurm => slurm(env),
        Manager::Pbs => pbs(env),
        Manager::Lsf => lsf(env),
        Manager::Sge => grid_engine(env),
        Manager::Auto | Manager::None => None,
    }
}

type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;
/// Nothing where the manager is not there; else the name of the job and its hosts.
type Found = Option<Result<(String, Vec<Host>), String>>;

/// Slurm: SLURM_JOB_NODELIST is `n[1-3],m`, SLURM_TASKS_PER_NODE `2(x3),1`.
fn slurm(env: Variables<'_>) -> Found {
    let job = env("SLURM_JOB_ID").or_else(|| env("SLURM_JOBID"))?;
    let nodes = env("SLURM_JOB_NODELIST").or_else(|| env("SLURM_NODELIST"))?;
    let tasks = env("SLURM_TASKS_PER_NODE").or_else(|| env("SLURM_JOB_CPUS_PER_NODE")).unwrap_or("1".into());
    Some((|| {
        let names = lists::nodes(&nodes).ok_or_else(|| format!("SLURM_JOB_NODELIST={nodes} cannot be understood"))?;
        let slots = lists::repeated(&tasks, names.len());
        let slots = slots.ok_or_else(|| format!("SLURM_TASKS_PER_NODE={tasks} does not fit {} nodes", names.len()))?;
        let hosts = names.into_iter().zip(slots).map(|(name, slots)| Host { name, slots: Some(slots) });
        Ok((format!("Slurm job {job}"), hosts.collect()))
    })())
}

/// PBS and Torque: the file PBS_NODEFILE has a line for each slot.
fn pbs(env: Variables<'_>) -> Found {
    let (job, file) = (env("PBS_JOBID")?, env("PBS_NODEFILE")?);
    Some(read("PBS_NODEFILE", &file, lists::lines).map(|hosts| (format!("PBS job {job}"), hosts)))
}

/// LSF: a file with a line for each slot, or `host slots` pairs in a variable.
fn lsf(env: Variables<'_>) -> Found {
    let job = env("LSB_JOBID")?;
    let name = format!("LSF job {job}");
    if let Some(file) = env("LSB_DJOB_HOSTFILE") {
        return Some(read("LSB_DJOB_HOSTFILE", &file, lists::lines).map(|hosts| (name, hosts)));
    }
    if let Some(pairs) = env("LSB_MCPU_HOSTS") {
        let hosts = lists::pairs(&pairs).ok_or_else(|| format!("LSB_MCPU_HOSTS={pairs} cannot be understood"));
        return Some(hosts.map(|hosts| (name, hosts)));
    }
    let hosts = env("LSB_HOSTS")?;
    let hosts = lists::lines(&hosts.replace(' ', "\n")).ok_or_else(|| format!("LSB_HOSTS={hosts} has no host"));
    Some(hosts.map(|hosts| (name, hosts)))
}

/// Grid Engine: the file PE_HOSTFILE has lines `host slots queue processors`.
fn grid_engine(env: Variables<'_>) -> Found {
    let (job, file) = (env("JOB_ID")?, env("PE_HOSTFILE")?);
    Some(read("PE_HOSTFILE", &file, lists::table).map(|hosts| (format!("Grid Engine job {job}"), hosts)))
}

fn read(variable: &str, file: &str, parse: fn(&str) -> Option<Vec<Host>>) -> Result<Vec<Host>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{variable}={file}: {error}"))?;
    parse(&text).ok_or_else(|| format!("{variable}={file} cannot be understood"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(manager: Manager, variables: &[(&str, &str)]) -> Result<Option<(String, Manager, String)>, String> {
        let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        let found = find(manager, &env)?;
        Ok(found.map(|Allocation { name, manager, hosts }| {
            let hosts: Vec<_> = hosts.iter().map(|host| format!("{}:{}", host.name, host.slots.unwrap_or(0))).collect();
            (name, manager, hosts.join(" "))
        }))
    }

    fn file(text: &str) -> String {
        let path = std::env::temp_dir().join(format!("tern-alloc-{}-{:x}", std::process::id(), tern_pmi::new_job_id()));
        std::fs::write(&path, text).expect("written");
        path.to_string_lossy().into_owned()
    }

    #[test]
    fn nothing_is_no_allocation() {
        assert_eq!(found(Manager::Auto, &[]), Ok(None));
        assert_eq!(found(Manager::Auto, &[("SLURM_JOB_ID", "1"), ("LSB_JOBID", "2"), ("JOB_ID", "3")]), Ok(None));
        assert!(found(Manager::Slurm, &[]).is_err());
    }

    #[test]
    fn slurm_lists_nodes_with_brackets() {
        let base = [("SLURM_JOB_ID", "17"), ("SLURM_JOB_NODELIST", "n[08-10],m"), ("SLURM_TASKS_PER_NODE", "2(x3),1")];
        let expected = ("Slurm job 17".to_owned(), Manager::Slurm, "n08:2 n09:2 n10:2 m:1".to_owned());
        assert_eq!(found(Manager::Auto, &base), Ok(Some(expected)));
        let odd = [("SLURM_JOB_ID", "17"), ("SLURM_JOB_NODELIST", "n[1-2]"), ("SLURM_TASKS_PER_NODE", "2(x3)")];
        assert!(found(Manager::Auto, &odd).is_err_and(|text| text.contains("2(x3)") && text.contains("-rmk none")));
        assert_eq!(found(Manager::Pbs, &base).err().map(|text| text.contains("-rmk")), Some(true));
    }

    #[test]
    fn pbs_has_a_line_for_each_slot() {
        let nodes = file("n1.cluster\nn1.cluster\nn2.cluster\n\nn1.cluster\n");
        let found = found(Manager::Auto, &[("PBS_JOBID", "5.server"), ("PBS_NODEFILE", &nodes)]);
        assert_eq!(found, Ok(Some(("PBS job 5.server".into(), Manager::Pbs, "n1.cluster:3 n2.cluster:1".into()))));
        std::fs::remove_file(nodes).expect("removed");
    }

    #[test]
    fn lsf_has_a_file_or_pairs() {
        let name = || "LSF job 8".to_owned();
        let pairs = [("LSB_JOBID", "8"), ("LSB_HOSTS", "a a b"), ("LSB_MCPU_HOSTS", "a 4 b 2 ")];
        assert_eq!(found(Manager::Auto, &pairs), Ok(Some((name(), Manager::Lsf, "a:4 b:2".into()))));
        assert_eq!(found(Manager::Auto, &pairs[..2]), Ok(Some((name(), Manager::Lsf, "a:2 b:1".into()))));
        let hosts = file("a\nb\nb\n");
        let by_file = [("LSB_JOBID", "8"), ("LSB_DJOB_HOSTFILE", hosts.as_str()), ("LSB_MCPU_HOSTS", "a 4")];
        assert_eq!(found(Manager::Auto, &by_file), Ok(Some((name(), Manager::Lsf, "a:1 b:2".into()))));
        std::fs::remove_file(&hosts).expect("removed");
        assert!(found(Manager::Auto, &by_file).is_err_and(|text| text.contains("LSB_DJOB_HOSTFILE")));
        assert!(found(Manager::Auto, &[("LSB_JOBID", "8"), ("LSB_MCPU_HOSTS", "a four")]).is_err());
    }

    #[test]
    fn grid_engine_has_a_table() {
        let hosts = file("n1.cluster 4 all.q@n1.cluster UNDEFINED\nn2.cluster 2 all.q@n2.cluster 0,1:0,2\n");
        let found = found(Manager::Auto, &[("JOB_ID", "9"), ("PE_HOSTFILE", &hosts)]);
        assert_eq!(found, Ok(Some(("Grid Engine job 9".into(), Manager::Sge, "n1.cluster:4 n2.cluster:2".into()))));
        std::fs::remove_file(hosts).expect("removed");
    }
}
