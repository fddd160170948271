//! Which rank is on which node, as launchers tell it with PMI_process_mapping.
//!
//! `(vector,(0,2,4),(2,1,3))`: on each of the 2 nodes from number 0 on 4 ranks, then on 1 node from number 2 on 3.
//! Where there are more ranks than it names, it begins anew.

/// Most ranks that a text may name: a bound on damage.
const MOST: u32 = 1 << 24;

/// The node of each of `size` ranks; `None` for a text that is something else.
pub(crate) fn parse(text: &str, size: u32) -> Option<Vec<u32>> {
    let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    let inner = inner.trim().strip_prefix("vector")?;
    let mut blocks = Vec::new();
    for block in inner.split('(').skip(1) {
        let (block, _) = block.split_once(')')?;
        let numbers: Option<Vec<u32>> = block.split(',').map(|number| number.trim().parse().ok()).collect();
        let [first, nodes, each] = numbers?[..] else { return None };
        if nodes == 0 || each == 0 || first.checked_add(nodes)? > MOST || each > MOST {
            return None;
        }
        blocks.push((first, nodes, each));
    }
    if blocks.is_empty() || size > MOST {
        return None;
    }
    let named = blocks.iter().cycle().flat_map(|&(first, nodes, each)| {
        (first..first + nodes).flat_map(move |node| std::iter::repeat_n(node, each as usize))
    });
    Some(named.take(size as usize).collect())
}

/// Gives each node that has the same name a number, in the order of their first ranks.
pub(crate) fn by_name<T: PartialEq>(names: &[T]) -> Vec<u32> {
    let mut known: Vec<&T> = Vec::new();
    let number = |name| {
        known.iter().position(|other| *other == name).unwrap_or_else(|| {
            known.push(name);
            known.len() - 1
        }) as u32
    };
    names.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_follow_each_other() {
        assert_eq!(parse("(vector,(0,1,4))", 4), Some(vec![0; 4]));
        assert_eq!(parse("(vector,(0,3,1))", 4), Some(vec![0, 1, 2, 0]));
        assert_eq!(parse("(vector,(0,2,2))", 4), Some(vec![0, 0, 1, 1]));
        assert_eq!(parse("(vector,(0,1,2),(1,2,1))", 4), Some(vec![0, 0, 1, 2]));
        assert_eq!(parse(" ( vector, (0, 2, 1), (0,2,1))", 3), Some(vec![0, 1, 0]));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "(vector)",
            "(vector,(0,1))",
            "(vector,(0,0,1))",
            "(vector,(0,1,0))",
            "(matrix,(0,1,1))",
            "(vector,(0,1,x))",
            "(vector,(4294967295,1,1))",
            "(vector,(0,1,1)",
        ] {
            assert_eq!(parse(text, 2), None, "{text}");
        }
    }

    #[test]
    fn names_become_numbers() {
        assert_eq!(by_name(&["b", "a", "b", "c"]), [0, 1, 0, 2]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\(?vector(,?\\([0-9, ]{0,14}\\)){0,4}\\)?", size in 0..100u32) {
            let _ = parse(&text, size);
        }
    }
}
