//! What TERN_EXPLAIN prints of collectives.

use super::choice::collective;
use super::names::Collective;
use super::read_in_place::InPlace;
use super::selection::Selection;
use super::shape::{Beside, Members, Operands, Shape};
use alloc::format;
use alloc::string::String;

/// Lengths of a block or vector.
const SIZES: [usize; 5] = [8, 1 << 10, 16 << 10, 128 << 10, 1 << 20];

/// For every collective the ways of blocking calls at some lengths, one behind the other.
pub fn explain(members: &Members, selection: &Selection) -> String {
    let place = match members.beside {
        Beside::Lines { tree: false, .. } => " of one node",
        Beside::Lines { tree: true, .. } => " of one node, in groups by what they share",
        Beside::Levels { .. } => " of several nodes",
        Beside::Nothing(_) => "",
    };
    let mut text = format!(
        "Ways of collectives, {} processes{place}, blocks or vectors of 8 B, 1 KiB, 16 KiB, 128 KiB, 1 MiB. Behind \"or\" is what \
         they do where a\nmember refuses the first way (docs/parts/collectives.md); TERN_COLL forces a way, TERN_EXPLAIN=used tells \
         what was taken:\n",
        members.size
    );
    for &what in Collective::ALL {
        let commutative = true;
        let operands = if what.reduces() { Operands::Vectors { commutative } } else { Operands::Nothing };
        let at = |bytes: usize| {
            let bytes = if matches!(what, Collective::Barrier | Collective::Alltoallv) { 0 } else { bytes };
            let shape = Shape { bytes, operands, persistent: false };
            collective(what, members, &shape, selection, InPlace::Ask).names()
        };
        let forced = if selection.forced(what).is_some() { " (forced)" } else { "" };
        text += &format!("  {:<15}{}{forced}\n", what.name(), SIZES.map(at).join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Without;
    use tern_settings::Mechanism;

    fn members(beside: Beside) -> Members {
        Members { size: 8, beside, crowded: false, asked: Mechanism::Auto }
    }

    #[test]
    fn every_collective_has_its_ways_and_what_is_forced() {
        let selection = Selection::parse("bcast=chain,gather=region").unwrap();
        let text = explain(&members(Beside::Nothing(Without::Apart)), &selection);
        for &what in Collective::ALL {
            assert_eq!(text.lines().filter(|line| line.trim_start().starts_with(&format!("{what} "))).count(), 1);
        }
        assert!(text.contains("chain, chain, chain, chain, chain (forced)"), "{text}");
        assert!(text.contains("region, region, region (forced)"), "{text}");
    }

    #[test]
    fn ways_on_one_node_are_not_schedules_alone() {
        let text = explain(&members(Beside::Lines { capacity: 32 << 10, tree: false }), &Selection::default());
        assert!(text.contains("lines, lines, lines, region or lines, region or lines"), "{text}");
        assert!(text.contains("in_place or "), "{text}");
        let text = explain(&members(Beside::Levels { capacity: 32 << 10, widest: 4 }), &Selection::default());
        assert!(text.contains("levels"), "{text}");
    }
}
