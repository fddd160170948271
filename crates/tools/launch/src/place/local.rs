//! Which cores of one machine each rank has.

use tern_node::{Shape, Thread, Unit};

use super::{Bind, Map, Policy, RankBy, named, shares};

/// The hardware threads of each rank.
#[derive(Debug, PartialEq, Eq)]
pub enum Places {
    /// Nobody is bound; why, if the user has asked for it.
    Free(Option<String>),
    Bound(Vec<Vec<usize>>),
}

/// What a rank is to have: a core, or a hardware thread where those are counted.
struct Element {
    threads: Vec<Thread>,
    taken: bool,
}

/// Where a rank is before ranks are numbered: the part that it is mapped to, and its elements.
struct Spot {
    part: usize,
    first: Thread,
    threads: Vec<usize>,
}

/// The places of `ranks` ranks on a machine of this shape, in the order of ranks.
///
/// Errors: a line for the user, who asks for more than the machine has.
pub fn places(policy: &Policy, shape: &Shape, ranks: usize) -> Result<Places, String> {
    let shape = &match &policy.cpus {
        Some(cpus) => shape.only(cpus),
        None => shape.clone(),
    };
    if shape.threads().is_empty() {
        let cpus = tern_node::list(policy.cpus.as_deref().unwrap_or_default());
        return Err(format!("none of the hardware threads {cpus} (--cpu-set, --cpu-list) may be used here"));
    }
    if let (true, Some(cpus)) = (policy.ordered, &policy.cpus) {
        return in_order(policy, shape, cpus, ranks);
    }
    let mut elements = elements(policy, shape);
    let each = policy.each.unwrap_or(1) as usize;
    if policy.bind == Bind::None {
        return Ok(Places::Free(None));
    }
    let plain = matches!(policy.map, Map::Auto | Map::Slot | Map::Node | Map::Each(_, Unit::Machine));
    if plain && policy.bind == Bind::Auto && policy.each.is_none() && !policy.spread {
        let free = || too_many(policy, ranks, shape.threads().len());
        return Ok(shares(shape, ranks).map_or_else(free, Places::Bound));
    }
    if ranks * each > elements.len() && !policy.overload {
        return Ok(too_many(policy, ranks * each, elements.len()));
    }
    if each > elements.len() {
        return Err(format!("{each} cores for each rank (PE={each}): there are {} here", elements.len()));
    }
    let spots = spots(policy, shape, &mut elements, ranks, each)?;
    let unit = match (policy.bind, policy.each, policy.map) {
        (Bind::Unit(unit), _, _) => unit,
        (_, None, Map::Unit(unit) | Map::Each(_, unit)) => unit,
        _ => Unit::Thread,
    };
    let bound = numbered(policy, shape, spots).into_iter().map(|spot| widened(shape, unit, spot.threads)).collect();
    Ok(Places::Bound(bound))
}

fn elements(policy: &Policy, shape: &Shape) -> Vec<Element> {
    let unit = if policy.threads { Unit::Thread } else { Unit::Core };
    shape.parts(unit).into_iter().map(|threads| Element { threads, taken: false }).collect()
}

/// Ranks are not bound where they would share cores. It is told if the user has asked to bind them.
fn too_many(policy: &Policy, needed: usize, there: usize) -> Places {
    let what = if policy.threads { "hardware threads" } else { "cores" };
    let asked = matches!(policy.bind, Bind::Unit(_)) || policy.each.is_some() || policy.cpus.is_some();
    Places::Free(asked.then(|| {
        format!("ranks are not bound: they need {needed} {what}, and there are {there}; --bind-to core:overload-allowed binds them")
    }))
}

/// One of the named threads for each rank.
fn in_order(policy: &Policy, shape: &Shape, cpus: &[usize], ranks: usize) -> Result<Places, String> {
    let there = |cpu: &usize| shape.threads().iter().any(|thread| thread.number == *cpu);
    let usable: Vec<usize> = cpus.iter().copied().filter(there).collect();
    if policy.bind == Bind::None {
        return Ok(Places::Free(None));
    }
    if ranks > usable.len() && !policy.overload {
        return Ok(too_many(&Policy { threads: true, ..policy.clone() }, ranks, usable.len()));
    }
    Ok(Places::Bound((0..ranks).map(|rank| vec![usable[rank % usable.len()]]).collect()))
}

/// Where ranks go, in the order of mapping.
fn spots(
    policy: &Policy, shape: &Shape, elements: &mut [Element], ranks: usize, each: usize,
) -> Result<Vec<Spot>, String> {
    let unit = match policy.map {
        // Several cores for each rank: one after the other.
        Map::Unit(Unit::Thread | Unit::Core) if each > 1 => Unit::Machine,
        Map::Unit(unit) | Map::Each(_, unit) => unit,
        _ => Unit::Machine,
    };
    // The elements of each part.
    let parts: Vec<Vec<usize>> = shape
        .parts(unit)
        .iter()
        .map(|part| {
            let inside = |element: &Element| part.iter().any(|thread| thread.number == element.threads[0].number);
            (0..elements.len()).filter(|at| inside(&elements[*at])).collect()
        })
        .filter(|part: &Vec<usize>| !part.is_empty())
        .collect();
    if parts.iter().all(|part| part.len() < each) {
        return Err(format!("{each} cores for each rank (PE={each}): no {} has as many", named(unit)));
    }
    if policy.spread
        && let Some(spots) = spread(policy, shape, elements, &parts, ranks, each)
    {
        return Ok(spots);
    }
    let mut next = 0;
    let mut spots = Vec::new();
    for rank in 0..ranks {
        let (part, chosen) = match policy.map {
            Map::Each(count, _) => {
                let part = rank / count as usize;
                let Some(inside) = parts.get(part) else {
                    return Err(format!(
                        "ppr:{count}:{} places {} ranks here, not {ranks}",
                        named(unit),
                        parts.len() * count as usize
                    ));
                };
                let chosen = chosen(elements, inside, each, policy.overload);
                let chosen = chosen.ok_or_else(|| {
                    format!(
                        "ppr:{count}:{}: one of them has {} cores, too few for its ranks",
                        named(unit),
                        inside.len()
                    )
                })?;
                (part, chosen)
            }
            _ => turn(elements, &parts, next, each, policy.overload)
                .ok_or_else(|| format!("rank {rank} of this host: no {} has {each} cores left", named(unit)))?,
        };
        next = if policy.fill { part } else { part + 1 };
        chosen.iter().for_each(|at| elements[*at].taken = true);
        spots.push(spot(elements, part, &chosen));
    }
    Ok(spots)
}

fn spot(elements: &[Element], part: usize, chosen: &[usize]) -> Spot {
    let threads = chosen.iter().flat_map(|at| elements[*at].threads.iter().map(|thread| thread.number)).collect();
    Spot { part, first: elements[chosen[0]].threads[0], threads }
}

/// The first elements of each rank's share: of the machine, or of its part where each part has so many ranks. `None` if a share has too few, or
/// there are more ranks than all parts have.
fn spread(
    policy: &Policy, shape: &Shape, elements: &[Element], parts: &[Vec<usize>], ranks: usize, each: usize,
) -> Option<Vec<Spot>> {
    let shares: Vec<Vec<usize>> = match policy.map {
        Map::Each(count, _) => {
            let count = count as usize;
            let left = |part: usize| ranks.saturating_sub(part * count).min(count);
            if left(parts.len()) > 0 {
                return None;
            }
            let threads = |at: &usize| elements[*at].threads.iter().map(|thread| thread.number);
            let inside = |part: &Vec<usize>| shape.only(&part.iter().flat_map(threads).collect::<Vec<_>>());
            let used = (0..parts.len()).take_while(|&part| left(part) > 0);
            used.map(|part| shares(&inside(&parts[part]), left(part))).collect::<Option<Vec<_>>>()?.concat()
        }
        _ => shares(shape, ranks)?,
    };
    let spots = shares.into_iter().map(|share| {
        let begins = |at: &usize| share.contains(&elements[*at].threads[0].number);
        let chosen: Vec<usize> = (0..elements.len()).filter(begins).take(each).collect();
        let part = parts.iter().position(|part| chosen.first().is_some_and(|first| part.contains(first)));
        (chosen.len() == each).then(|| spot(elements, part.unwrap_or(0), &chosen))
    });
    spots.collect()
}

/// The next part that has room, from `next` on.
fn turn(
    elements: &mut [Element], parts: &[Vec<usize>], next: usize, each: usize, overload: bool,
) -> Option<(usize, Vec<usize>)> {
    let order = || (0..parts.len()).map(|step| (next + step) % parts.len());
    let free = order().find_map(|part| Some((part, self::chosen(elements, &parts[part], each, false)?)));
    if free.is_some() || !overload {
        return free;
    }
    order().find_map(|part| Some((part, self::chosen(elements, &parts[part], each, true)?)))
}

/// The first elements of a part that nobody has. If all have somebody and may be shared, it begins anew.
fn chosen(elements: &mut [Element], part: &[usize], each: usize, overload: bool) -> Option<Vec<usize>> {
    let free = |elements: &[Element]| -> Vec<usize> {
        part.iter().copied().filter(|at| !elements[*at].taken).take(each).collect()
    };
    let found = free(elements);
    if found.len() == each {
        return Some(found);
    }
    if !overload || part.len() < each {
        return None;
    }
    part.iter().for_each(|at| elements[*at].taken = false);
    Some(free(elements))
}

/// In the order of ranks.
fn numbered(policy: &Policy, shape: &Shape, mut spots: Vec<Spot>) -> Vec<Spot> {
    match policy.rank {
        None | Some(RankBy::Slot | RankBy::Node) => {}
        Some(RankBy::Fill) => spots.sort_by_key(|spot| spot.part),
        Some(RankBy::Span) => in_turns(&mut spots, |spot| spot.part),
        Some(RankBy::Unit(unit)) => {
            let parts = shape.parts(unit);
            let of = |spot: &Spot| parts.iter().position(|part| part.contains(&spot.first)).unwrap_or(0);
            in_turns(&mut spots, of);
        }
    }
    spots
}

/// The first of each part, then the second of each, and so on.
fn in_turns(spots: &mut Vec<Spot>, part: impl Fn(&Spot) -> usize) {
    let mut counts = std::collections::HashMap::new();
    let keyed = spots.drain(..).map(|spot| {
        let part = part(&spot);
        let count = counts.entry(part).and_modify(|count| *count += 1).or_insert(0usize);
        ((*count, part), spot)
    });
    let mut keyed: Vec<((usize, usize), Spot)> = keyed.collect();
    keyed.sort_by_key(|(key, _)| *key);
    spots.extend(keyed.into_iter().map(|(_, spot)| spot));
}

/// All threads of the parts of that kind which these threads are in.
fn widened(shape: &Shape, unit: Unit, threads: Vec<usize>) -> Vec<usize> {
    if unit == Unit::Thread {
        return threads;
    }
    let parts = shape.parts(unit);
    let touched = parts.iter().filter(|part| part.iter().any(|thread| threads.contains(&thread.number)));
    touched.flatten().map(|thread| thread.number).collect()
}

#[cfg(test)]
mod tests;
