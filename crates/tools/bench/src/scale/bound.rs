//! Whether the ranks of a line are bound as they should be, one to each core and the first cores first: each launcher is asked to do so, and lines that
//! run elsewhere must not stand beside each other unseen.

use crate::library::{Library, Run};
use crate::run::run;
use crate::session::Session;
use crate::suite::Binding;
use std::collections::BTreeSet;
use std::time::Duration;
use tern_node::{Shape, Unit, list, parse_list};

/// What the kernel calls the threads on which a process may run.
const ALLOWED: &str = "Cpus_allowed_list";
/// Seconds that a launch has to tell.
const PATIENCE: Duration = Duration::from_secs(60);

/// The threads on which each rank may run, by what the ranks have printed.
fn told(output: &str) -> Vec<Vec<usize>> {
    let lists = output.lines().filter_map(|line| line.split_once(ALLOWED)?.1.split_once(':'));
    lists.map(|(_, threads)| parse_list(threads)).collect()
}

/// What is wrong with the places of the ranks, which are to have one each of `cores`; nothing if all is well.
fn fault(ranks: &[Vec<usize>], cores: &[usize], shape: &Shape) -> Option<String> {
    if ranks.len() != cores.len() {
        return Some(format!("{} of {} ranks tell where they run", ranks.len(), cores.len()));
    }
    let core = |number: &usize| {
        shape.threads().iter().find(|thread| thread.number == *number).map(|thread| thread.part(Unit::Core))
    };
    let mut used = BTreeSet::new();
    for threads in ranks {
        let of_rank: BTreeSet<Option<usize>> = threads.iter().map(core).collect();
        if of_rank.len() != 1 {
            return Some(format!("a rank may run on {}, which is not one core", list(threads)));
        }
        used.extend(of_rank);
    }
    let wanted: BTreeSet<Option<usize>> = cores.iter().map(core).collect();
    let all: Vec<usize> = ranks.iter().flatten().copied().collect();
    (used != wanted).then(|| format!("the ranks are on {}, and should be on {}", list(&all), list(cores)))
}

/// Why a launch of so many packed ranks is not where it should be; nothing if it is.
pub fn look(session: &Session, library: &Library, ranks: usize, shape: &Shape) -> Option<String> {
    let cores = session.cores_of(Binding::Packed, ranks);
    let words = ["grep", ALLOWED, "/proc/self/status"].map(String::from).to_vec();
    let launch = Run { binding: Binding::Packed, cores, hosts: None, programs: &[(ranks, words)] };
    let outcome = run(&mut library.command(&launch), PATIENCE);
    match outcome.failure {
        Some(reason) => Some(format!("nobody knows where the ranks run: {reason}")),
        None => fault(&told(&outcome.output), cores, shape),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::tests::node;

    #[test]
    fn ranks_tell_where_they_may_run() {
        let output = "noise\nCpus_allowed_list:\t3,99\n[1] Cpus_allowed_list:\t0-1\n";
        assert_eq!(told(output), [vec![3, 99], vec![0, 1]]);
    }

    #[test]
    fn a_rank_on_each_of_the_first_cores_is_well() {
        // Four cores of two threads: 0 and 4 are of one core.
        let shape = node([1, 1, 2, 2, 2]);
        let fault = |ranks: &[&[usize]], cores: &[usize]| {
            fault(&ranks.iter().map(|rank| rank.to_vec()).collect::<Vec<_>>(), cores, &shape)
        };
        assert_eq!(fault(&[&[0, 4], &[1]], &[0, 1]), None);
        assert_eq!(fault(&[&[1, 5], &[4]], &[0, 1]), None, "the order of the ranks is theirs");
        assert!(fault(&[&[0, 1], &[1]], &[0, 1]).unwrap().contains("may run on 0-1, which is not one core"));
        assert!(fault(&[&[0], &[2]], &[0, 1]).unwrap().contains("on 0,2, and should be on 0-1"));
        assert!(fault(&[&[0], &[4]], &[0, 1]).unwrap().contains("should be on 0-1"), "both on one core");
        assert!(fault(&[&[0]], &[0, 1]).unwrap().contains("1 of 2 ranks"));
        assert!(fault(&[&[0], &[77]], &[0, 1]).is_some(), "a thread that is not in use");
    }
}
