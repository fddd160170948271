//! Launchers that Tern does not understand, told by their environment.

use crate::Error;

/// A launcher: what it sets in the environment of the processes that it starts.
struct Signs {
    name: &'static str,
    /// Holds the number of processes.
    size: &'static str,
    /// Must be set too.
    rank: &'static str,
}

const LAUNCHERS: [Signs; 7] = [
    Signs { name: "Open MPI's mpirun", size: "OMPI_COMM_WORLD_SIZE", rank: "OMPI_COMM_WORLD_RANK" },
    Signs { name: "the mpiexec of MPICH or Intel MPI (Hydra)", size: "PMI_SIZE", rank: "PMI_RANK" },
    Signs { name: "MVAPICH's mpirun_rsh", size: "MV2_COMM_WORLD_SIZE", rank: "MV2_COMM_WORLD_RANK" },
    Signs { name: "srun of Slurm", size: "SLURM_STEP_NUM_TASKS", rank: "SLURM_PROCID" },
    Signs { name: "Flux", size: "FLUX_JOB_SIZE", rank: "FLUX_TASK_RANK" },
    Signs { name: "jsrun of IBM", size: "JSM_NAMESPACE_SIZE", rank: "JSM_NAMESPACE_RANK" },
    Signs { name: "a PALS launcher", size: "PALS_SIZE", rank: "PALS_RANKID" },
];

/// An error if another launcher started this process as one of several.
pub(crate) fn refuse(get: impl Fn(&str) -> Option<String>) -> Result<(), Error> {
    for signs in LAUNCHERS {
        let Some(size) = get(signs.size).filter(|_| get(signs.rank).is_some()) else {
            continue;
        };
        if signs.rank == "SLURM_PROCID" && slurm_script(&get) {
            continue;
        }
        if size.trim().parse::<u64>().is_ok_and(|size| size > 1) {
            return Err(Error::Foreign { launcher: signs.name, evidence: format!("{}={size}", signs.size) });
        }
    }
    // PMIx names no size; the first rank cannot tell, but the others can.
    match get("PMIX_RANK") {
        Some(rank) if rank.trim().parse::<u64>().is_ok_and(|rank| rank > 0) => {
            Err(Error::Foreign { launcher: "a PMIx launcher", evidence: format!("PMIX_RANK={rank}") })
        }
        _ => Ok(()),
    }
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
        assert!(text.contains("Hydra") && text.contains("PMI_SIZE=4"), "{text}");
        assert!(text.contains("Tern's mpiexec"), "{text}");
        let text = named(&[("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_RANK", "1"), ("PMIX_RANK", "1")]);
        assert!(text.contains("Open MPI"), "{text}");
        assert!(named(&[("PMIX_RANK", "3")]).contains("PMIx"));
        let text = named(&[("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "0"), ("SLURM_STEP_ID", "0")]);
        assert!(text.contains("Slurm"), "{text}");
    }

    #[test]
    fn one_process_is_a_world_of_one() {
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[("PMI_SIZE", "1"), ("PMI_RANK", "0")]), Ok(()));
        assert_eq!(check(&[("OMPI_COMM_WORLD_SIZE", "1"), ("OMPI_COMM_WORLD_RANK", "0"), ("PMIX_RANK", "0")]), Ok(()));
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
