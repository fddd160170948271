//! The last cache of this machine, and who shares it.

use std::cell::OnceCell;

use tern_node::topology::{Cache, online};
use tern_policy::costs::{CacheRoom, SharedCache};

/// The last cache of the first of `cores`. A process is expected on each of these that shares the cache. `None`: no cache is known.
pub fn shared_cache(caches: &[Cache], cores: &[usize]) -> Option<SharedCache> {
    let last = last(caches, *cores.first()?)?;
    let processes = cores.iter().filter(|core| last.shared_by.contains(core)).count() as u64;
    Some(SharedCache { size: last.size, processes })
}

/// The last cache of `core`, where so many processes run on a machine of so many hardware threads. The processes are expected side by
/// side, one on each thread, or spread over all threads if there are more processes. `None`: no cache is known.
fn among(caches: &[Cache], core: usize, processes: u64, threads: u64) -> Option<SharedCache> {
    let last = last(caches, core)?;
    let sharers = last.shared_by.len() as u64;
    let spread = (processes * sharers).div_ceil(threads.max(sharers));
    Some(SharedCache { size: last.size, processes: processes.min(sharers).max(spread).max(1) })
}

/// The last cache of this hardware thread that holds data.
fn last(caches: &[Cache], core: usize) -> Option<&Cache> {
    let holds = |cache: &&Cache| cache.kind != "Instruction" && cache.shared_by.contains(&core);
    caches.iter().filter(holds).max_by_key(|cache| cache.level)
}

/// What the caches of this machine hold for one of the processes of a node. The machine is asked at the first question.
#[derive(Debug)]
pub struct OwnCacheRoom {
    /// Of the node.
    processes: u64,
    room: OnceCell<CacheRoom>,
}

impl OwnCacheRoom {
    /// For one of so many processes of a node.
    pub fn new(processes: u64) -> OwnCacheRoom {
        OwnCacheRoom { processes, room: OnceCell::new() }
    }

    /// What they hold.
    #[inline]
    pub fn get(&self) -> CacheRoom {
        *self.room.get_or_init(|| {
            let core = tern_node::affinity().first().copied();
            CacheRoom::of(core.and_then(|core| among(&Cache::around(core), core, self.processes, online() as u64)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of four cores with a cache of 8 MiB each, and cores with one of their own.
    fn caches() -> Vec<Cache> {
        let cache = |level, size, shared_by: &[usize]| Cache {
            level,
            kind: "Unified".into(),
            size,
            shared_by: shared_by.to_vec(),
        };
        let mut all = vec![cache(3, 8 << 20, &[0, 1, 2, 3]), cache(3, 8 << 20, &[4, 5, 6, 7])];
        all.extend((0..8).map(|core| cache(2, 256 << 10, &[core])));
        all.push(Cache { kind: "Instruction".into(), ..cache(4, 1, &[0]) });
        all
    }

    #[test]
    fn the_processes_that_share_a_cache_divide_it() {
        let shared = |cores: &[usize]| shared_cache(&caches(), cores);
        assert_eq!(shared(&[0, 1]), Some(SharedCache { size: 8 << 20, processes: 2 }));
        assert_eq!(shared(&[0, 4]), Some(SharedCache { size: 8 << 20, processes: 1 }));
        assert_eq!(shared(&[4, 5, 6, 7]), Some(SharedCache { size: 8 << 20, processes: 4 }));
        assert_eq!((shared(&[]), shared_cache(&[], &[0])), (None, None));
    }

    #[test]
    fn more_processes_have_a_smaller_share_of_the_cache() {
        let share = |processes| among(&caches(), 0, processes, 8).map(SharedCache::share);
        let mib = |quarters: u64| Some(quarters * (256 << 10));
        assert_eq!([1, 2, 4].map(share), [32, 16, 8].map(mib), "side by side");
        assert_eq!([8, 16, 32].map(share), [8, 4, 2].map(mib), "on both sockets");
        assert_eq!(among(&caches(), 0, 0, 0).map(SharedCache::share), mib(32));
        assert_eq!((among(&[], 0, 2, 8), among(&caches(), 9, 2, 8)), (None, None));
    }

    #[test]
    fn this_machine_has_room_for_something() {
        assert!((1 << 20..1 << 40).contains(&OwnCacheRoom::new(2).get().bytes()));
    }
}
