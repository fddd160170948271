//! Which cores each rank may use.

use crate::args::Bind;

/// The cores of each rank, if ranks are bound. Every rank gets an equal, contiguous share of the
/// cores, so that the threads of a rank have room; with more ranks than cores, nobody is bound.
pub fn shares(bind: Bind, ranks: usize, cores: &[usize]) -> Option<Vec<Vec<usize>>> {
    if bind == Bind::None || ranks > cores.len() {
        return None;
    }
    let edge = |rank: usize| rank * cores.len() / ranks;
    Some((0..ranks).map(|rank| cores[edge(rank)..edge(rank + 1)].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_an_equal_share() {
        let cores: Vec<usize> = (0..8).collect();
        let shares = |ranks| shares(Bind::Auto, ranks, &cores);
        assert_eq!(shares(1).unwrap(), [&cores[..]]);
        assert_eq!(shares(2).unwrap(), [cores[..4].to_vec(), cores[4..].to_vec()]);
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
}
