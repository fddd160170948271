//! Members of a large node, which meet along a tree: a thread each, over one segment of shared memory, on machines that are made up.

use rustix::fd::AsFd;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Mutex;
use tern_adi::Adi;
use tern_coll::lines::Fast;
use tern_coll::lines::refusal::{Call, Known};
use tern_coll::ops::Op;
use tern_coll::{Buffer, Operator, Peers, Selection, fast};
use tern_device::seen::{self, Act, Look};
use tern_layout::{Basic, Type};
use tern_mcm::{Mcm, Patience};
use tern_policy::collective::Parts;
use tern_shm::Shm;

/// A member, in a thread of its own.
struct Member {
    adi: &'static Adi,
    peers: Rc<Peers>,
    rank: usize,
    size: usize,
}

/// Runs `body` as members that are bound to these parts, with ways that are forced.
fn node<T: Send>(parts: &[Parts], forced: &str, body: impl Fn(&Member) -> T + Sync) -> Vec<T> {
    let memory = rustix::fs::memfd_create("tern-test", rustix::fs::MemfdFlags::CLOEXEC).expect("a file of memory");
    let (size, selection) = (parts.len() as u32, Selection::parse(forced).expect("ways"));
    let member = |rank: u32| {
        let bomb = Bomb;
        let shm = Shm::new(memory.as_fd(), rank, size, 2, Some(64 << 10)).expect("shared memory");
        let mcm = Mcm::new(Box::new(shm), rank, size, Patience::new(size, 2));
        mcm.tell_bound(parts[rank as usize]);
        let adi: *mut Adi = Box::into_raw(Box::new(Adi::new(Rc::new(mcm), None)));
        // SAFETY: it stays until nothing refers to it.
        let shared: &'static Adi = unsafe { &*adi };
        let peers = Rc::new(Peers::new(3, rank, (0..size).collect(), None, 1).with_selection(selection));
        let result = body(&Member { adi: shared, peers: peers.clone(), rank: rank as usize, size: size as usize });
        tern_coll::run(shared, &peers, tern_coll::barrier(&peers)).expect("a barrier by messages");
        drop(peers);
        // SAFETY: made above.
        drop(unsafe { Box::from_raw(adi) });
        std::mem::forget(bomb);
        result
    };
    std::thread::scope(|scope| {
        let members: Vec<_> = (0..size)
            .map(|rank| {
                scope.spawn({
                    let member = &member;
                    move || member(rank)
                })
            })
            .collect();
        members.into_iter().map(|member| member.join().expect("no panic")).collect()
    })
}

/// A member that fails ends all of them: the others would wait for it.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// Members one after the other on the cores of a machine.
fn machine(packages: u32, caches: u32, cores: u32) -> Vec<Parts> {
    (0..packages * caches * cores)
        .map(|core| [core / (caches * cores), core / (caches * cores), core / cores])
        .collect()
}

const TREES: &str = "barrier=tree,bcast=tree,reduce=tree,allreduce=tree,allgather=tree";

fn buffer(memory: &mut [i64]) -> Buffer {
    Buffer { base: memory.as_mut_ptr().cast(), count: memory.len() as i64, ty: Type::basic(Basic::Int64) }
}

/// What member `rank` gives in call `call` as element `at`.
fn value(call: usize, rank: usize, at: usize) -> i64 {
    (call * 1_000_003 + rank * 1009 + at * 7) as i64
}

fn values(call: usize, rank: usize, len: usize) -> Vec<i64> {
    (0..len).map(|at| value(call, rank, at)).collect()
}

fn is_right(what: &str, done: Fast) {
    match done {
        Some(Ok(())) => {}
        other => panic!("{what}: {other:?}"),
    }
}

/// One of several calls, which all members take from the same numbers; true where it has gone along a tree.
fn call(member: &Member, number: usize, which: usize, len: usize, root: usize) -> Fast {
    let Member { adi, ref peers, rank, size } = *member;
    let sum = Operator::Predefined(Op::Sum);
    let total = |at: usize| (0..size).map(|rank| value(number, rank, at)).sum::<i64>();
    let mut own = values(number, rank, len);
    match which {
        0 => fast::barrier(adi, peers).done,
        1 => {
            let mut memory = if rank == root { own } else { vec![-1; len] };
            let done = fast::bcast(adi, peers, &buffer(&mut memory), root as u32).done;
            assert!(done != Some(Ok(())) || memory == values(number, root, len), "bcast, rank {rank}");
            done
        }
        2 | 3 => {
            let (mut result, in_place) = (own.clone(), which == 3 && rank == root);
            let send = if in_place { std::ptr::null() } else { own.as_mut_ptr().cast_const().cast() };
            let base = result.as_mut_ptr().cast();
            let ty = Type::basic(Basic::Int64);
            let done = fast::reduce(adi, peers, send, base, len as i64, &ty, &sum, root as u32).done;
            let right = rank != root || (0..len).all(|at| result[at] == total(at));
            assert!(done != Some(Ok(())) || right, "reduce, rank {rank}");
            done
        }
        4 | 5 => {
            let mut result = own.clone();
            let send = if which == 5 { std::ptr::null() } else { own.as_mut_ptr().cast_const().cast() };
            let done = fast::allreduce(adi, peers, send, &buffer(&mut result), &sum).done;
            let wrong = (0..len).find(|&at| result[at] != total(at)).filter(|_| done == Some(Ok(())));
            assert_eq!(
                wrong,
                None,
                "allreduce {number} of {len}, rank {rank} of {size}: {:?}",
                wrong.map(|at| result[at])
            );
            done
        }
        6 => {
            let mut all = vec![0; len * size];
            let recv = Buffer { count: len as i64, ..buffer(&mut all) };
            let done = fast::allgather(adi, peers, Some(&buffer(&mut own)), &recv).done;
            let right = (0..size).all(|rank| all[rank * len..][..len] == values(number, rank, len));
            assert!(done != Some(Ok(())) || right, "allgather, rank {rank}");
            done
        }
        _ => {
            // A flat one between them.
            let mut mine = vec![0; len.min(100)];
            let mut all: Vec<i64> = (0..size).flat_map(|to| values(number, to, len.min(100))).collect();
            let send = Buffer { count: mine.len() as i64, ..buffer(&mut all) };
            let send = Some(&send).filter(|_| rank == root);
            let done = fast::scatter(adi, peers, send, Some(&buffer(&mut mine)), root as u32).done;
            assert!(done.is_none() || mine == values(number, rank, mine.len()), "scatter, rank {rank}");
            done
        }
    }
}

/// Numbers that all members draw alike.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % end
    }

    /// A length in elements: short ones most often.
    fn len(&mut self) -> usize {
        let most = [2, 16, 300, 3000, 40_000][self.below(5)];
        self.below(most)
    }
}

#[test]
fn any_calls_one_after_the_other_are_right() {
    let uneven: Vec<Parts> = (0..13).map(|member| [member % 2, member % 3, member % 5]).collect();
    let machines = [machine(1, 1, 2), machine(1, 1, 3), machine(2, 2, 2), uneven, machine(2, 3, 3), machine(1, 1, 40)];
    for (seed, parts) in machines.iter().enumerate() {
        node(parts, TREES, |member| {
            let mut draw = Draw(seed as u64 + 1);
            for number in 0..150 {
                let (which, len, root) = (draw.below(8), draw.len(), draw.below(member.size));
                let done = call(member, number, which, len, root);
                let longest = if which == 6 { 4096 / member.size } else { usize::MAX };
                assert!(which == 7 || len > longest || done == Some(Ok(())), "call {number}: {done:?}");
            }
        });
    }
}

/// The streams in which nobody waits for the others: broadcasts from one root, and reductions to one.
#[test]
fn a_root_may_be_ahead_of_those_below() {
    node(&machine(2, 2, 3), TREES, |member| {
        for (which, len) in [(1, 1), (2, 1), (1, 100), (2, 100), (1, 900), (2, 900), (1, 5000)] {
            (0..300).for_each(|number| is_right("stream", call(member, number, which, len, 7)));
        }
    });
}

/// One member refuses calls; it takes part all the same at its next call, and nobody hangs or gets wrong data then.
#[test]
fn a_refused_call_fails_where_it_is_missed_and_nothing_after_it() {
    let calls = [
        (0, Call::Barrier, 0),
        (1, Call::Bcast, 1),
        (1, Call::Bcast, 5000),
        (2, Call::Reduce, 1),
        (2, Call::Reduce, 3000),
        (4, Call::Allreduce, 1),
        (4, Call::Allreduce, 3000),
        (6, Call::Allgather, 1),
        // More turns than there are cells.
        (1, Call::Bcast, 80_000),
        (1, Call::Bcast, 400_000),
    ];
    for refuser in [0, 1, 4, 7] {
        let failed = node(&machine(2, 2, 2), TREES, |member| {
            let mut failed = Vec::new();
            for (number, (which, refused, len)) in calls.into_iter().enumerate() {
                if member.rank == refuser {
                    member.peers.refused.borrow_mut().push(refused);
                    let next = Known { call: Call::Allreduce, root: 0, bytes: 24 };
                    member.peers.lines(member.adi).expect("lines").settle(member.adi, &member.peers, &next);
                } else if call(member, number, which, len, if len < 80_000 { 0 } else { 7 }) != Some(Ok(())) {
                    failed.push(number);
                }
                is_right("the call after it", call(member, number + 100, 4, 3, 0));
                is_right("another one", call(member, number + 200, 1, 500, 3));
            }
            failed
        });
        let everybody =
            |call: usize| failed.iter().enumerate().all(|(rank, failed)| rank == refuser || failed.contains(&call));
        // Those in which all wait for all.
        assert!([0, 5, 6, 7].into_iter().all(everybody), "{refuser} refuses: {failed:?}");
        assert_eq!([1, 2].map(everybody), [refuser == 0; 2], "{refuser} refuses: {failed:?}");
        let root = |call: usize| failed[0].contains(&call);
        assert_eq!([3, 4].map(root), [refuser != 0; 2], "{refuser} refuses: {failed:?}");
    }
}

/// Members that nobody hears of before they take part refuse a call, and nobody hangs.
#[test]
fn all_that_begin_may_refuse_a_call() {
    let calls = [
        (0, Call::Barrier, 0),
        (4, Call::Allreduce, 1),
        (2, Call::Reduce, 100),
        (6, Call::Allgather, 1),
        (1, Call::Bcast, 20),
    ];
    let makers: [&[usize]; 3] = [&[0], &[0, 2, 4, 6], &[5]];
    for (parts, makers) in [(1, 1, 8), (2, 2, 2)].into_iter().flat_map(|parts| makers.map(|makers| (parts, makers))) {
        let failed = node(&machine(parts.0, parts.1, parts.2), TREES, |member| {
            let mut failed = 0;
            for (number, (which, refused, len)) in calls.into_iter().enumerate() {
                if makers.contains(&member.rank) {
                    failed += usize::from(call(member, number, which, len, 0) != Some(Ok(())));
                } else {
                    member.peers.refused.borrow_mut().push(refused);
                    let next = Known { call: Call::Scatter, root: 0, bytes: 24 };
                    member.peers.lines(member.adi).expect("lines").settle(member.adi, &member.peers, &next);
                }
                is_right("the call after it", call(member, number + 100, 7, 3, 0));
                is_right("another one", call(member, number + 200, 4, 3, 0));
            }
            failed
        });
        assert!(makers.iter().all(|&maker| failed[maker] >= 3), "{makers:?} make the calls: {failed:?}");
    }
}

/// What crosses the borders of parts at `level` in one call, of all members.
#[derive(Debug, Default, PartialEq, Eq)]
struct Crossings {
    /// Lines, each with the request by which its owner gets it back.
    lines: usize,
    /// Bytes of payloads that do not lie in the line of their turn.
    bytes: usize,
}

/// What a member looks at that waits for nobody long. Else it also looks in the line of the turn before whether its neighbour waits in another call.
fn in_time(looks: Vec<Look>) -> Vec<Look> {
    let all: HashSet<_> = looks.iter().map(|look| (look.area, look.turn, look.act)).collect();
    let has = |look: &Look, turn: u64, act: Act| all.contains(&(look.area, turn, act));
    let late =
        |look: &Look| look.act == Act::Look && !has(look, look.turn, Act::Read) && has(look, look.turn + 1, Act::Look);
    looks.iter().filter(|look| !late(look)).copied().collect()
}

/// Counts that in one call of many that follow each other.
fn crossings(parts: &[Parts], level: usize, forced: &str, body: impl Fn(&Member) + Sync) -> Crossings {
    let looks = Mutex::new(Vec::new());
    node(parts, forced, |member| {
        let area = |rank: u32| member.adi.mcm().control_slots(rank, 1).expect("lines").memory() as usize;
        let areas: Vec<usize> = (0..member.size as u32).map(area).collect();
        (0..3).for_each(|_| body(member));
        seen::looks(true);
        body(member);
        let mine = in_time(seen::looks(false));
        let owner = |look: &Look| areas.iter().position(|&area| area == look.area).expect("an owner");
        let part = |rank: usize| parts[rank][level];
        let across =
            mine.iter().map(|look| (owner(look), *look)).filter(|(owner, _)| part(*owner) != part(member.rank));
        looks.lock().expect("no panic").extend(across.map(|(owner, look)| (member.rank, owner, look)));
    });
    let looks = looks.into_inner().expect("no panic");
    let read: HashSet<_> = looks.iter().map(|&(reader, owner, look)| (reader, owner, look.turn)).collect();
    let owned: HashSet<_> = looks.iter().map(|&(_, owner, look)| (owner, look.turn)).collect();
    let long: HashSet<_> = looks.iter().filter(|(.., look)| look.bytes > 48).copied().collect();
    Crossings { lines: read.len() + owned.len(), bytes: long.iter().map(|(.., look)| look.bytes).sum() }
}

/// 96 members on two packages of six caches of eight cores.
fn large() -> Vec<Parts> {
    machine(2, 6, 8)
}

fn once(which: usize, len: usize) -> impl Fn(&Member) {
    move |member| is_right("a call", call(member, 1, which, len, 0))
}

#[test]
fn a_short_reduction_to_all_crosses_each_border_once_each_way() {
    let package = crossings(&large(), 0, "", once(4, 1));
    assert_eq!(package, Crossings { lines: 4, bytes: 0 }, "one line up and one down, each with its way back");
    let cache = crossings(&large(), 2, "", once(4, 1));
    // Eleven leaders tell another cache's member, each on one line. Down, one line is read by all leaders below a member.
    assert!(cache.lines <= 4 * 12, "{cache:?}");
    let barrier = crossings(&large(), 0, "", once(0, 0));
    assert_eq!(barrier.lines, 4);
}

#[test]
fn a_line_too_many_is_seen() {
    let flat = crossings(&large(), 0, "allreduce=lines", once(4, 1));
    assert_eq!(flat.lines, 96 * 48 + 96, "flat, all read from all");
    let one_more = crossings(&large(), 0, "", |member| {
        once(4, 1)(member);
        let area = member.adi.mcm().control_slots(0, 1).expect("lines");
        area.reached(1);
    });
    assert_eq!(one_more.lines, 4 + 48 + 1, "all of the other package look at a line of the first member's");
}

#[test]
fn a_long_broadcast_crosses_each_border_once() {
    let package = crossings(&large(), 0, "", once(1, (1 << 20) / 8));
    assert_eq!(package.bytes, 1 << 20);
    let cache = crossings(&large(), 2, "", once(1, (1 << 20) / 8));
    assert_eq!(cache.bytes, 11 << 20);
}

/// Members that call different operations are told so once, and the next ones are right.
#[test]
fn a_disagreement_is_told_once() {
    for parts in [machine(1, 1, 2), machine(1, 1, 4), machine(2, 2, 2), machine(2, 2, 3), machine(1, 1, 20)] {
        let told = node(&parts, TREES, |member| {
            let mut told = Vec::new();
            for odd in [0, 1] {
                let which = if member.rank == odd { 0 } else { 4 };
                told.push(!matches!(call(member, 1, which, 1, 0), Some(Ok(()))));
                (0..3).for_each(|number| is_right("the call after it", call(member, number, 0, 0, 0)));
                let root = if member.rank == odd { 1 - odd } else { odd };
                told.push(!matches!(call(member, 2, 1, 1, root), Some(Ok(()))));
                told.push(!matches!(call(member, 3, 4, 1, 0), Some(Ok(()))));
                (0..3).for_each(|number| is_right("another one", call(member, number, 4, 2, 0)));
            }
            told
        });
        assert!(told.iter().all(|told| told[0] && told[3]), "{told:?}");
        assert!([1, 4].into_iter().all(|call| told.iter().any(|told| told[call] || told[call + 1])), "{told:?}");
    }
}
