//! Launchers that leave no way to reach them, told by their environment.

use crate::Error;

/// A launcher: what it sets in the environment of the processes that it starts.
struct Signs {
    name: &'static str,
    /// Holds the number of processes.
    size: &'static str,
    /// Must be set too.
    rank: &'static str,
    /// How the program is to be started.
    remedy: &'static str,
}

const OURS: &str = "start the program with Tern's mpiexec (mpiexec --version tells which one is found first)";
const CLOSED: &str = "the descriptor PMI_FD that it left was closed on the way: start the program without the script \
                      or shell in between, or let that keep its descriptors open";
const SRUN: &str = "start the program with srun --mpi=pmi2 or srun --mpi=pmix (srun --mpi=list tells which there \
                    are), or with Tern's mpiexec";
const FLUX: &str = "start the program with flux run -o pmi=simple, or with Tern's mpiexec";

const LAUNCHERS: [Signs; 7] = [
    Signs { name: "Open MPI's mpirun", size: "OMPI_COMM_WORLD_SIZE", rank: "OMPI_COMM_WORLD_RANK", remedy: OURS },
    Signs { name: "the mpiexec of MPICH or Intel MPI (Hydra)", size: "PMI_SIZE", rank: "PMI_RANK", remedy: CLOSED },
    Signs { name: "MVAPICH's mpirun_rsh", size: "MV2_COMM_WORLD_SIZE", rank: "MV2_COMM_WORLD_RANK", remedy: OURS },
    Signs { name: "srun of Slurm", size: "SLURM_STEP_NUM_TASKS", rank: "SLURM_PROCID", remedy: SRUN },
    Signs { name: "Flux", size: "FLUX_JOB_SIZE", rank: "FLUX_TASK_RANK", remedy: FLUX },
    Signs { name: "jsrun of IBM", size: "JSM_NAMESPACE_SIZE", rank: "JSM_NAMESPACE_RANK", remedy: SRUN },
    Signs { name: "a PALS launcher", size: "PALS_SIZE", rank: "PALS_RANKID", remedy: OURS },
];

/// An error if another launcher started this process as one of several.
pub(super) fn refuse(get: impl Fn(&str) -> Option<String>) -> Result<(), Error> {
    for signs in LAUNCHERS {
        let Some(size) = get(signs.size).filter(|_| get(signs.rank).is_some()) else {
            continue;
        };
        if signs.rank == "SLURM_PROCID" && slurm_script(&get) {
            continue;
        }
        if size.trim().parse::<u64>().is_ok_and(|size| size > 1) {
            return Err(Error::Foreign {
                launcher: signs.name,
                evidence: format!("{}={size}", signs.size),
                remedy: signs.remedy,
            });
        }
    }
    Ok(())
}

/// Whether this is a batch script or a shell that Slurm started, and no task of `srun`: those are
/// one process, though the variables speak of all tasks. Slurm numbers such steps from the top.
fn slurm_script(get: impl Fn(&str) -> Option<String>) -> bool {
    let step = get("SLURM_STEP_ID").or_else(|| get("SLURM_STEPID"));
    step.is_none_or(|step| step.trim().parse::<u64>().map_or(true, |step| step >= 0xffff_fff0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)]) -> Result<(), Error> {
        refuse(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string()))
    }

    fn named(variables: &[(&str, &str)]) -> String {
        check(variables).unwrap_err().to_string()
    }

    #[test]
    fn several_processes_are_refused_with_the_remedy() {
        let text = named(&[("PMI_SIZE", "4"), ("PMI_RANK", "0")]);
        assert!(text.contains("Hydra") && text.contains("PMI_SIZE=4") && text.contains("PMI_FD"), "{text}");
        let text = named(&[("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_RANK", "1")]);
        assert!(text.contains("Open MPI") && text.contains("Tern's mpiexec"), "{text}");
        let text = named(&[("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "0"), ("SLURM_STEP_ID", "0")]);
        assert!(text.contains("Slurm") && text.contains("srun --mpi=pmi2"), "{text}");
    }

    #[test]
    fn one_process_is_a_world_of_one() {
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[("PMI_SIZE", "1"), ("PMI_RANK", "0")]), Ok(()));
        assert_eq!(check(&[("OMPI_COMM_WORLD_SIZE", "1"), ("OMPI_COMM_WORLD_RANK", "0")]), Ok(()));
        // A size without a rank is left over from something else.
        assert_eq!(check(&[("PMI_SIZE", "4")]), Ok(()));
    }

    #[test]
    fn a_batch_script_is_no_task() {
        let script = [("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_NTASKS", "4"), ("SLURM_PROCID", "0")];
        assert_eq!(check(&script), Ok(()));
        let numbered = [&script[..], &[("SLURM_STEP_ID", "4294967291")]].concat();
        assert_eq!(check(&numbered), Ok(()));
    }
}
