//! Which cores each rank may use.

use crate::args::Bind;

/// The cores of each rank, if ranks are bound. Every rank gets an equal, contiguous share of the
/// cores, so that the threads of a rank have room; with more ranks than cores, nobody is bound.
pub fn shares(bind: Bind, ranks: usize, cores: &[usize]) -> Option<Vec<Vec<usize>>> {
    if bind == Bind::None || ranks > cores.len() {
        return None;
    }
    let edge = |rank: usize| rank * cores.len() / ranks;
    Some(
        (0..ranks)
            .map(|rank| cores[edge(rank)..edge(rank + 1)].to_vec())
            .collect(),
    )
}

/// A list of cores as Linux writes it: `0-3,8`.
pub fn list(cores: &[usize]) -> String {
    let mut sorted = cores.to_vec();
    sorted.sort_unstable();
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for core in sorted {
        match parts.last_mut() {
            Some((_, end)) if *end + 1 == core => *end = core,
            _ => parts.push((core, core)),
        }
    }
    let written = parts.iter().map(|(from, to)| match from == to {
        true => from.to_string(),
        false => format!("{from}-{to}"),
    });
    written.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_an_equal_share() {
        let cores: Vec<usize> = (0..8).collect();
        let shares = |ranks| shares(Bind::Auto, ranks, &cores);
        assert_eq!(shares(1).unwrap(), [&cores[..]]);
        assert_eq!(
            shares(2).unwrap(),
            [cores[..4].to_vec(), cores[4..].to_vec()]
        );
        assert_eq!(shares(8).unwrap().concat(), cores);
        assert_eq!(shares(9), None);
        // Where it cannot be equal, no share is empty, none is twice given, none is left out.
        let three = shares(3).unwrap();
        assert_eq!(three.concat(), cores);
        assert!(three.iter().all(|share| (2..=3).contains(&share.len())));
    }

    #[test]
    fn nobody_is_bound_if_not_asked() {
        assert_eq!(shares(Bind::None, 1, &[0, 1]), None);
        assert_eq!(shares(Bind::Core, 3, &[0, 1]), None);
    }

    #[test]
    fn lists_are_short() {
        assert_eq!(list(&[]), "");
        assert_eq!(list(&[3]), "3");
        assert_eq!(list(&[8, 0, 1, 2, 9, 5]), "0-2,5,8-9");
    }
}
