//! The cache against a list that is searched from end to end.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

#[derive(Clone, Debug)]
enum Step {
    Acquire { start: u64, len: u64, keep: bool },
    Release(usize),
    Invalidate { start: u64, len: u64 },
    Evict,
}

/// Small worlds, so that everything overlaps with everything.
fn step() -> impl Strategy<Value = Step> {
    let keep = prop_oneof![9 => Just(true), 1 => Just(false)];
    prop_oneof![
        6 => (0..40u64, 1..12u64, keep).prop_map(|(start, len, keep)| Step::Acquire { start, len, keep }),
        5 => any::<usize>().prop_map(Step::Release),
        2 => (0..40u64, 1..6u64).prop_map(|(start, len)| Step::Invalidate { start, len }),
        1 => Just(Step::Evict),
    ]
}

#[derive(Clone, Debug)]
struct Known {
    id: u32,
    start: u64,
    end: u64,
    uses: u32,
    listed: bool,
    released: u64,
}

/// The same rules in the simplest words.
struct Model {
    limits: Limits,
    all: Vec<Known>,
    clock: u64,
}

impl Model {
    fn covers(&self, start: u64, end: u64) -> Option<usize> {
        self.all.iter().position(|one| one.listed && one.start <= start && one.end >= end)
    }
    fn sweep(&mut self) {
        self.all.retain(|one| one.listed || one.uses > 0);
    }
    fn evict(&mut self) -> bool {
        let idle = |one: &&Known| one.uses == 0;
        let Some(id) = self.all.iter().filter(idle).min_by_key(|one| one.released).map(|one| one.id) else {
            return false;
        };
        self.all.retain(|one| one.id != id);
        true
    }
    fn shrink(&mut self) {
        loop {
            let bytes: u64 = self.all.iter().map(|one| one.end - one.start).sum();
            let fits = bytes <= self.limits.bytes && self.all.len() <= self.limits.entries;
            if fits || !self.evict() {
                return;
            }
        }
    }
}

fn ids(cache: &Cache<u32>) -> Vec<(u32, u32, bool)> {
    let mut ids: Vec<_> =
        cache.entries.iter().flatten().map(|entry| (entry.region, entry.uses, entry.listed)).collect();
    ids.sort_unstable();
    ids
}

fn covered(model: &Model, address: u64) -> bool {
    model.all.iter().any(|one| one.listed && (one.start..one.end).contains(&address))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn it_keeps_what_a_naive_list_keeps(
        bytes in 5..80u64,
        entries in 1..8usize,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let limits = Limits { bytes, entries };
        let mut cache = Cache::new(limits);
        let mut model = Model { limits, all: Vec::new(), clock: 0 };
        let mut uses: Vec<(Use, u32)> = Vec::new();
        let mut ended: HashMap<u32, u32> = HashMap::new();
        let mut watched = [false; 64];
        let mut next = 0;
        for step in steps {
            model.clock += 1;
            match step {
                Step::Acquire { start, len, keep } => {
                    let end = start + len;
                    let found = cache.find(start, end);
                    prop_assert_eq!(found.is_some(), model.covers(start, end).is_some());
                    if let Some(it) = found {
                        // Of several that cover it, any will do.
                        let id = *cache.get(it);
                        let known = model.all.iter_mut().find(|one| one.id == id).unwrap();
                        prop_assert!(known.listed && known.start <= start && known.end >= end);
                        known.uses += 1;
                        uses.push((it, id));
                    } else {
                        let id = next;
                        next += 1;
                        uses.push((cache.insert(start, end, id, keep), id));
                        if keep {
                            watched[start as usize..end as usize].fill(true);
                            for one in &mut model.all {
                                one.listed &= !(one.start >= start && one.end <= end);
                            }
                            model.sweep();
                        }
                        model.all.push(Known { id, start, end, uses: 1, listed: keep, released: 0 });
                        model.shrink();
                    }
                }
                Step::Release(_) if uses.is_empty() => {}
                Step::Release(number) => {
                    let (it, id) = uses.swap_remove(number % uses.len());
                    cache.release(it);
                    let known = model.all.iter_mut().find(|one| one.id == id).unwrap();
                    known.uses -= 1;
                    known.released = model.clock;
                    model.sweep();
                    model.shrink();
                }
                Step::Invalidate { start, len } => {
                    cache.invalidate(start, start + len);
                    for one in &mut model.all {
                        one.listed &= one.end <= start || one.start >= start + len;
                    }
                    model.sweep();
                }
                Step::Evict => prop_assert_eq!(cache.evict(), model.evict()),
            }
            let work = cache.work();
            for id in work.ended {
                *ended.entry(id).or_default() += 1;
            }
            for (from, to) in work.uncovered {
                watched[from as usize..to as usize].fill(false);
            }
            let mut expected: Vec<_> = model.all.iter().map(|one| (one.id, one.uses, one.listed)).collect();
            expected.sort_unstable();
            prop_assert_eq!(ids(&cache), expected);
            for address in 0..64 {
                prop_assert_eq!(watched[address as usize], covered(&model, address), "address {}", address);
            }
            prop_assert!(ended.values().all(|&times| times == 1), "one ended twice");
            prop_assert_eq!(ended.len() + model.all.len(), next as usize, "one was lost");
        }
    }
}

#[test]
fn what_is_in_use_stays_however_small_the_limits() {
    let mut cache = Cache::new(Limits { bytes: 1, entries: 1 });
    let first = cache.insert(0, 100, 'a', true);
    let second = cache.insert(200, 300, 'b', true);
    assert!(!cache.has_work());
    cache.invalidate_all();
    assert_eq!((cache.get(first), cache.get(second)), (&'a', &'b'));
    assert!(cache.find(0, 1).is_none(), "it is not for anybody else");
    cache.release(first);
    assert_eq!(cache.work().ended, ['a']);
    cache.release(second);
    assert_eq!((cache.work().ended, cache.bytes(), cache.len()), (vec!['b'], 0, 0));
}
