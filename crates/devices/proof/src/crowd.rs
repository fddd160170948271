//! Callers that have not proven themselves: a bounded number of them is kept, whoever calls.

use std::collections::HashMap;
use std::hash::Hash;

/// Which one of these callers gives way to a new one. They are named by where they come from, and the oldest comes first.
///
/// It is the oldest of the source that has most. A stranger that opens many connections takes the places of its own
/// connections, and a caller of the job that has just come is the last one of its source to go.
pub fn gives_way<S: Eq + Hash>(sources: impl Iterator<Item = S> + Clone) -> Option<usize> {
    let mut counts: HashMap<S, usize> = HashMap::new();
    for source in sources.clone() {
        *counts.entry(source).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    sources.into_iter().position(|source| counts[&source] == most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_oldest_of_the_source_with_most_goes() {
        assert_eq!(gives_way([0; 0].into_iter()), None);
        assert_eq!(gives_way([1, 2, 3].into_iter()), Some(0));
        assert_eq!(gives_way([1, 2, 3, 2].into_iter()), Some(1));
    }

    proptest! {
        // 8 places, which one source has taken before somebody else calls: that caller stays, whatever the source does.
        #[test]
        fn a_crowd_of_one_source_displaces_itself(calls in 1..200usize, at in 0..9usize) {
            let mut places = vec![7; 8];
            places[at.min(7)] = 1;
            for _ in 0..calls {
                let goes = gives_way(places.iter()).expect("there are some");
                places.remove(goes);
                places.push(7);
            }
            prop_assert!(places.contains(&1));
        }
    }
}
