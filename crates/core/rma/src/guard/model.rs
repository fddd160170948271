//! The guard under loom: instructions and kernels do not meet, also where a member ends at some step and one of the living enters in its place.

use super::{Busy, Guard, Mode};
use loom::sync::Arc;
use loom::sync::atomic::fence;
use loom::thread;
use tern_atomics::{AtomicI32, AtomicU32, Ordering};
use tern_policy::guard_mode::CHANGE;

/// The member that is lost, if one is.
const LOST: usize = 1;

struct World {
    guard: Guard,
    busy: [Busy; 3],
    /// The kernel has given up what it holds for the lost member, of which nothing comes any more.
    gone: AtomicU32,
    /// The element. A kernel loads and stores it.
    element: AtomicU32,
}

impl World {
    fn new(mode: u32, better: i32) -> Arc<World> {
        let new = AtomicU32::new;
        let better = AtomicI32::new(better);
        Arc::new(World {
            guard: Guard { word: new(0), last: new(0), better, wrong: new(0), mode: Mode(new(mode)) },
            busy: std::array::from_fn(|_| Busy(new(0))),
            gone: new(0),
            element: new(0),
        })
    }

    fn has_gone(&self) -> bool {
        // Acquire: pairs with the release at the end of the lost member.
        self.gone.load(Ordering::Acquire) != 0
    }

    /// As `Window::enter`, which enters in the place of a lost member too.
    fn enter(&self, me: usize) {
        let mark = me as u32 + 1;
        while !self.guard.try_enter(mark) {
            let inside = self.guard.inside() == Some(LOST as u32);
            if inside && self.has_gone() && self.guard.enter_for(LOST as u32, mark) {
                if !self.guard.allows_instructions() {
                    self.forbid();
                }
                return;
            }
            thread::yield_now();
        }
    }

    /// As `Window::forbid_instructions`.
    fn forbid(&self) {
        self.guard.forbid_instructions();
        fence(Ordering::SeqCst);
        let is_at = |(member, busy): (usize, &Busy)| busy.is_at(0) && !(member == LOST && self.has_gone());
        while self.busy.iter().enumerate().any(is_at) {
            thread::yield_now();
        }
    }

    fn by_kernel(&self) {
        let old = self.element.load(Ordering::Relaxed);
        self.element.store(old + 1, Ordering::Relaxed);
    }

    /// By an instruction, if the mode allows it.
    fn by_instruction(&self, me: usize) -> bool {
        let allowed = self.busy[me].begin(0, &self.guard);
        if allowed {
            self.element.fetch_add(1, Ordering::Relaxed);
            self.busy[me].end();
        }
        allowed
    }

    fn single(&self, me: usize) {
        if self.by_instruction(me) {
            return;
        }
        self.enter(me);
        if self.guard.allows_instructions() {
            self.element.fetch_add(1, Ordering::Relaxed);
        } else {
            self.by_kernel();
            self.guard.note(1, me as u32);
        }
        self.guard.leave();
    }

    /// A row of so many elements, of which only the first is looked at.
    fn row(&self, me: usize, elements: usize) {
        if self.guard.bears(elements) && self.by_instruction(me) {
            return;
        }
        self.enter(me);
        if self.guard.allows_instructions() {
            self.forbid();
        }
        self.by_kernel();
        self.guard.note(elements, me as u32);
        self.guard.leave();
    }
}

/// Two threads from some mode on; nothing is lost.
fn explore(mode: u32, better: i32, first: fn(&World), second: fn(&World)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let world = World::new(mode, better);
        let other = world.clone();
        let thread = thread::spawn(move || second(&other));
        first(&world);
        thread.join().unwrap();
        assert_eq!(world.element.load(Ordering::Relaxed), 3);
    });
}

fn two_singles(world: &World) {
    world.single(0);
    world.single(0);
}

fn long_row(world: &World) {
    world.row(1, CHANGE as usize);
}

#[test]
fn a_row_among_singles() {
    explore(0, 0, two_singles, long_row);
}

#[test]
fn a_single_among_rows() {
    explore(
        0,
        0,
        |world| world.single(0),
        |world| {
            long_row(world);
            long_row(world);
        },
    );
}

#[test]
fn rows_until_a_change_costs_no_more() {
    explore(
        0,
        CHANGE - 2,
        |world| {
            world.row(0, 3);
            world.row(0, 3);
        },
        |world| world.single(1),
    );
}

#[test]
fn instructions_are_allowed_again() {
    explore(1, 1 - CHANGE, two_singles, |world| world.single(1));
}

#[test]
fn and_forbidden_at_once() {
    explore(1, 1 - CHANGE, two_singles, long_row);
}

/// What the lost member does before it ends: so many steps of a row, or of a single element. `combined`: it has done that much of the element.
/// `None`: it has ended there.
fn work_until(world: &World, is_row: bool, mut steps: u32, combined: &mut u32) -> Option<()> {
    let mut step = || steps.checked_sub(1).map(|left| steps = left);
    if !is_row && world.busy[LOST].begin(0, &world.guard) {
        step()?;
        world.element.fetch_add(1, Ordering::Relaxed);
        *combined = 1;
        step()?;
        world.busy[LOST].end();
        return None;
    }
    world.enter(LOST);
    step()?;
    if is_row && world.guard.allows_instructions() {
        world.guard.forbid_instructions();
        step()?;
        world.forbid();
        step()?;
    }
    if world.guard.allows_instructions() {
        world.element.fetch_add(1, Ordering::Relaxed);
        *combined = 1;
    } else {
        let old = world.element.load(Ordering::Relaxed);
        step()?;
        world.element.store(old + 1, Ordering::Relaxed);
        *combined = 1;
        world.guard.note(if is_row { CHANGE as usize } else { 1 }, LOST as u32);
    }
    step()?;
    world.guard.leave();
    None
}

/// One is lost at any step; all that the living combine stays, and so does what the lost one has combined.
fn lost_at_each_step(mode: u32, better: i32, is_row: bool, living: &'static [fn(&World, usize)]) {
    (0..=4).for_each(|steps| {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(if living.len() > 1 { 2 } else { 3 });
        model.check(move || {
            let world = World::new(mode, better);
            let other = world.clone();
            let mut threads = vec![thread::spawn(move || {
                let mut combined = 0;
                _ = work_until(&other, is_row, steps, &mut combined);
                // Release: pairs with the acquire in `has_gone`.
                other.gone.store(1, Ordering::Release);
                combined
            })];
            if let Some(&second) = living.get(1) {
                let other = world.clone();
                threads.push(thread::spawn(move || {
                    second(&other, 2);
                    1
                }));
            }
            living[0](&world, 0);
            let sum = 1 + threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u32>();
            assert_eq!(world.element.load(Ordering::Relaxed), sum);
            // Nobody is kept out for good.
            world.enter(0);
            world.guard.leave();
        });
    });
}

fn single(world: &World, me: usize) {
    world.single(me);
}

fn row(world: &World, me: usize) {
    world.row(me, CHANGE as usize);
}

#[test]
fn who_is_lost_inside_keeps_nobody_out() {
    lost_at_each_step(1, 0, false, &[single]);
    lost_at_each_step(1, 0, true, &[row]);
}

#[test]
fn who_is_lost_while_it_forbids_instructions_leaves_none_under_way() {
    lost_at_each_step(0, 0, true, &[single]);
    lost_at_each_step(0, 0, true, &[single, row]);
}

#[test]
fn who_is_lost_at_an_instruction_is_not_waited_for() {
    lost_at_each_step(0, 0, false, &[row]);
}
