//! Spaces whose engine is in software.

use crate::cma::Run;
use crate::dma::standin::{Fate, Standin};
use crate::dma::{Cost, Dma};
use crate::space::{Cookie, Direction, Flags, Offload, Options, Protection, Shape, Space, Status};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const LEN: usize = 3 << 20;
/// It always pays.
const FREE: Cost = Cost { hand_over: 0.0, engine: (0.0, 0.0), processor: (1.0, 1.0) };
/// It never pays.
const DEAR: Cost = Cost { hand_over: 1e12, ..FREE };

struct Pair {
    owner: Space,
    user: Space,
    engine: Arc<Standin>,
    cookie: Cookie,
    into: Vec<u8>,
}

fn byte(at: usize) -> u8 {
    (at * 31 + (at >> 8)) as u8
}

/// A region of shared memory, and a user with such an engine.
fn pair(cost: Cost, room: usize, plan: fn(usize) -> Fate) -> Pair {
    let file = rustix::fs::memfd_create("flight", rustix::fs::MemfdFlags::CLOEXEC).expect("a file");
    let shape = Shape { members: 2, span: 1 << 26 };
    let join = |me| Space::join(file.try_clone().expect("dup"), 0, shape, me, Options::default()).expect("a place");
    let (owner, user) = (join(0), join(1));
    let engine = Standin::new(room, 1 << 19, plan);
    user.use_engine(Dma::with(engine.clone(), cost)).expect("an engine");
    let memory = owner.allocate(LEN).expect("memory");
    for at in 0..LEN {
        // SAFETY: fresh memory of this test's.
        unsafe { *memory.add(at) = byte(at) };
    }
    // SAFETY: the memory stays mapped.
    let cookie = unsafe { owner.create_region(&[Run::new(memory, LEN)], Protection::Read, Flags::NONE) };
    Pair { owner, user, engine, cookie: cookie.expect("a region"), into: vec![0; LEN] }
}

impl Pair {
    fn start(&mut self, offload: Offload) -> Status {
        self.into.fill(0);
        let local = [Run::new(self.into.as_mut_ptr(), LEN)];
        // SAFETY: the buffer stays until the copy is over or given up.
        let status =
            unsafe { self.user.start_inline_copy(&local, self.cookie.at(0), LEN as u64, Direction::Read, offload) };
        status.expect("a copy")
    }

    fn copies(&mut self, offload: Offload) {
        let status = self.start(offload);
        assert_eq!(self.user.wait(&status), Ok(()));
        assert!(self.into.iter().enumerate().all(|(at, got)| *got == byte(at)));
        assert_eq!(self.engine.taken(), self.engine.landed_so_far());
    }
}

#[test]
fn the_engine_copies_where_it_pays() {
    let mut pair = pair(FREE, 8, |_| Fate::Done);
    pair.copies(Offload::WhenIdle);
    // As many parts as a descriptor may be long.
    assert_eq!(pair.engine.taken(), LEN >> 19);
    pair.copies(Offload::Never);
    assert_eq!(pair.engine.taken(), LEN >> 19);
}

#[test]
fn the_engine_is_left_alone_where_it_does_not_pay() {
    let mut pair = pair(DEAR, 8, |_| Fate::Done);
    pair.copies(Offload::WhenIdle);
    assert_eq!(pair.engine.taken(), 0);
    pair.copies(Offload::Engine);
    assert_eq!(pair.engine.taken(), LEN >> 19);
}

#[test]
fn missing_pages_and_partial_copies_go_on() {
    // Some at once, some in the middle of a page.
    let plan = |number| match number % 3 {
        0 => Fate::Missing(0),
        1 => Fate::Missing(100_001),
        _ => Fate::Done,
    };
    let mut pair = pair(FREE, 8, plan);
    pair.copies(Offload::Engine);
    assert!(pair.engine.taken() > LEN >> 19);
    // Nothing but missing pages: the processor does it after some.
    let mut pair = self::pair(FREE, 8, |_| Fate::Missing(4096));
    pair.copies(Offload::Engine);
    assert_eq!(pair.engine.taken(), super::PATIENCE as usize);
}

#[test]
fn what_the_engine_refuses_is_copied_by_the_processor() {
    let mut pair = pair(FREE, 8, |number| if number < 2 { Fate::Done } else { Fate::Refused(0x1a) });
    pair.copies(Offload::Engine);
    assert_eq!(pair.engine.taken(), 3);
    // A queue that is full all the time.
    let mut pair = self::pair(FREE, 0, |_| Fate::Done);
    pair.copies(Offload::Engine);
    assert_eq!(pair.engine.taken(), 0);
}

#[test]
fn a_copy_that_is_given_up_moves_nothing_later() {
    let mut pair = pair(FREE, 8, |_| Fate::Done);
    for _ in 0..20 {
        let status = pair.start(Offload::Engine);
        assert_eq!(pair.user.poll(&status), None);
        drop(status);
        assert_eq!(pair.engine.taken(), pair.engine.landed_so_far());
    }
    assert_eq!(pair.owner.destroy_region(pair.cookie), Ok(()));
}

#[test]
fn a_region_is_held_until_the_engine_has_left_it() {
    static GATE: AtomicBool = AtomicBool::new(false);
    let plan = |_| {
        while !GATE.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        Fate::Done
    };
    let mut pair = pair(FREE, 8, plan);
    let status = pair.start(Offload::Engine);
    assert_eq!(pair.user.poll(&status), None);
    assert_eq!((pair.engine.taken(), pair.engine.landed_so_far()), (1, 0));
    let job = status.job();
    let held = std::thread::scope(|scope| {
        let gives_up = scope.spawn(|| drop(status));
        while !job.is_busy() {
            std::thread::yield_now();
        }
        // The thread waits for the engine now.
        let looks = (0..1000).map(|_| {
            std::thread::yield_now();
            pair.owner.is_held(pair.cookie) && !gives_up.is_finished()
        });
        let held = looks.filter(|held| *held).count();
        GATE.store(true, Ordering::Release);
        held
    });
    assert_eq!(held, 1000);
    assert!(!pair.owner.is_held(pair.cookie));
    assert_eq!(pair.engine.landed_so_far(), 1);
}
