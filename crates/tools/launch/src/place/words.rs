//! What users write after `--map-by` and its like, in the manners of Open MPI and of Hydra.

use tern_node::Unit;

use super::{Bind, Map, Policy, RankBy};

const PARTS: &str = "hwthread, core, l1cache, l2cache, l3cache, numa, package (socket)";

fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "hwthread" | "hwthreads" | "thread" | "pu" => Unit::Thread,
        "core" | "cores" | "rr" => Unit::Core,
        "l1cache" | "l1" => Unit::L1,
        "l2cache" | "l2" => Unit::L2,
        "l3cache" | "l3" => Unit::L3,
        "numa" => Unit::Numa,
        "package" | "socket" | "sockets" => Unit::Package,
        "board" | "machine" => Unit::Machine,
        _ => return None,
    })
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

/// `--map-by`: `core`, `ppr:2:socket`, `node:PE=2:SPAN`; what is not known here is told by the error.
pub fn map_by(text: &str, policy: &mut Policy) -> Result<(), String> {
    let lower = text.to_lowercase();
    let mut words = lower.split([':', ',']);
    let wrong = || format!("--map-by needs slot, node, {PARTS} or ppr:N:PART, not {text}");
    policy.map = match words.next().unwrap_or_default() {
        // Modifiers alone.
        "" => policy.map,
        "slot" => Map::Slot,
        "node" => Map::Node,
        "ppr" => {
            let count = words.next().and_then(number).ok_or_else(wrong)?;
            let of = match words.next().ok_or_else(wrong)? {
                "node" => Unit::Machine,
                of => unit(of).ok_or_else(wrong)?,
            };
            Map::Each(count, of)
        }
        word => Map::Unit(unit(word).ok_or_else(wrong)?),
    };
    for word in words {
        modify(word, policy).ok_or_else(|| {
            format!("--map-by {text}: {word} is no modifier; PE=N, SPAN, FILL, SPREAD, OVERSUBSCRIBE, NOOVERSUBSCRIBE, HWTCPUS are")
        })?;
    }
    if matches!(policy.map, Map::Unit(Unit::Thread)) {
        policy.threads = true;
    }
    Ok(())
}

fn modify(word: &str, policy: &mut Policy) -> Option<()> {
    match word {
        "span" => policy.span = true,
        "fill" => policy.fill = true,
        "spread" => policy.spread = true,
        "oversubscribe" => policy.no_oversubscribe = false,
        "nooversubscribe" => policy.no_oversubscribe = true,
        "hwtcpus" => policy.threads = true,
        "corecpus" => policy.threads = false,
        // Said of processes that are spawned, or of what is printed: nothing changes for placing.
        "inherit" | "noinherit" | "display" | "" => {}
        _ => match word.split_once('=') {
            Some(("pe", count)) => policy.each = Some(number(count)?),
            _ => match number(word) {
                // Hydra's way to say how many.
                Some(count) if policy.each.is_none() => policy.each = Some(count),
                _ => return None,
            },
        },
    }
    Some(())
}

/// `--rank-by`: `slot`, `node`, `fill`, `span`, or a part; `socket:span` is `span`.
pub fn rank_by(text: &str) -> Result<RankBy, String> {
    let lower = text.to_lowercase();
    let (word, span) = match lower.split_once(':') {
        Some((word, "span")) => (word, true),
        Some((word, "fill")) => return rank_by(word).map(|_| RankBy::Fill),
        _ => (lower.as_str(), false),
    };
    Ok(match word {
        "slot" => RankBy::Slot,
        "node" => RankBy::Node,
        "fill" => RankBy::Fill,
        "span" => RankBy::Span,
        _ => match unit(word) {
            Some(_) if span => RankBy::Span,
            Some(unit) => RankBy::Unit(unit),
            None => return Err(format!("--rank-by needs slot, node, fill, span, {PARTS}, not {text}")),
        },
    })
}

/// `--bind-to`: `none`, or a part; `core:2` are two cores, `core:overload-allowed` cores that ranks may share.
pub fn bind_by(text: &str, policy: &mut Policy) -> Result<(), String> {
    let lower = text.to_lowercase();
    let mut words = lower.split(':');
    let word = words.next().unwrap_or_default();
    let wrong = || format!("--bind-to needs none, {PARTS} or board, not {text}");
    policy.bind = match word {
        "none" => Bind::None,
        word => Bind::Unit(unit(word).ok_or_else(wrong)?),
    };
    for word in words {
        match word {
            "overload-allowed" => policy.overload = true,
            "no-overload" | "if-supported" | "ordered" | "report" => {}
            _ => match (number(word), policy.bind) {
                (Some(count), Bind::Unit(Unit::Core | Unit::Thread)) => policy.each = Some(count),
                _ => return Err(wrong()),
            },
        }
    }
    if policy.bind == Bind::Unit(Unit::Thread) {
        policy.threads = true;
    }
    Ok(())
}

/// `--cpu-set`, `--cpu-list`: hardware threads by Linux's numbers, `0-3,8`.
pub fn cpus(option: &str, text: &str) -> Result<Vec<usize>, String> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<usize>> {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (usize, usize) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        (from <= to && to < 1 << 16).then_some(from..=to)
    };
    let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
    let ranges = ranges.ok_or_else(|| format!("{option} needs numbers of hardware threads, as 0-3,8, not {text}"))?;
    let mut cpus: Vec<usize> = Vec::new();
    for cpu in ranges.into_iter().flatten() {
        if !cpus.contains(&cpu) {
            cpus.push(cpu);
        }
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(text: &str) -> Policy {
        let mut policy = Policy::default();
        map_by(text, &mut policy).expect(text);
        policy
    }

    #[test]
    fn mapping_in_the_manners_of_others() {
        assert_eq!(mapped("socket").map, Map::Unit(Unit::Package));
        assert_eq!(mapped("ppr:2:L3cache").map, Map::Each(2, Unit::L3));
        assert_eq!(mapped("ppr:4:node").map, Map::Each(4, Unit::Machine));
        let policy = mapped("numa:PE=2:SPAN:OVERSUBSCRIBE");
        assert_eq!((policy.map, policy.each, policy.span), (Map::Unit(Unit::Numa), Some(2), true));
        assert_eq!(mapped("ppr:1:package:pe=4").each, Some(4));
        assert!(mapped("l3:fill").fill && mapped("core:PE=8:SPREAD").spread && mapped(":spread").spread);
        assert!(mapped(":nooversubscribe").no_oversubscribe && mapped("hwthread").threads);
        for wrong in ["chair", "ppr", "ppr:0:node", "ppr:2", "ppr:2:chair", "core:pe=0", "core:fast"] {
            assert!(map_by(wrong, &mut Policy::default()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranking_and_binding_in_the_manners_of_others() {
        assert_eq!(rank_by("Socket:SPAN"), Ok(RankBy::Span));
        assert_eq!(rank_by("core"), Ok(RankBy::Unit(Unit::Core)));
        assert!(rank_by("chair").is_err());
        let bound = |text: &str| {
            let mut policy = Policy::default();
            bind_by(text, &mut policy).map(|()| policy)
        };
        assert_eq!(bound("core:2").map(|policy| policy.each), Ok(Some(2)));
        assert!(bound("core:overload-allowed").is_ok_and(|policy| policy.overload));
        assert!(bound("hwthread").is_ok_and(|policy| policy.threads));
        assert_eq!(bound("board").map(|policy| policy.bind), Ok(Bind::Unit(Unit::Machine)));
        for wrong in ["chair", "socket:2", "core:0", ""] {
            assert!(bound(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lists_keep_their_order() {
        assert_eq!(cpus("--cpu-list", "4,0-2,1"), Ok(vec![4, 0, 1, 2]));
        for wrong in ["", "a", "3-1", "1,,2", "0-99999999999"] {
            assert!(cpus("--cpu-set", wrong).is_err(), "{wrong}");
        }
    }
}
