//! Two and three engines in one thread over an unkind network: whatever the programs do, each
//! message goes where MPI says, whole, and everything completes.

mod asserted;
mod buffer;
mod damaged;
mod direct;
mod ended;
mod given_up;
mod habits;
mod kills;
mod lost;
mod memory;
mod network;
mod rdma;
mod segments;
mod stages;
mod survival;
mod verdict;
mod waiting;
mod world;

use network::Manners;
use proptest::prelude::*;
use tern_adi::SendMode;
use world::{Action, Wanted, World};

const CONTEXTS: u32 = 2;

/// The engine needs none.
impl tern_device::SharedMemory for network::Port {}

/// Sizes around an eager limit, and some far from it.
fn len(limit: usize) -> impl Strategy<Value = usize> {
    prop_oneof![
        2 => 0..4usize,
        2 => limit.saturating_sub(2)..limit + 3,
        1 => 0..limit + 1,
        1 => limit..4 * limit + 40,
    ]
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let source = prop_oneof![3 => 0..3i32, 2 => Just(-1)];
    let tag = prop_oneof![3 => 0..3i32, 2 => Just(-1)];
    (0..CONTEXTS, source, tag).prop_map(|(context, source, tag)| Wanted { context, source, tag })
}

fn send(limit: usize) -> impl Strategy<Value = Action> {
    let mode = prop_oneof![3 => Just(SendMode::Standard), 2 => Just(SendMode::Synchronous)];
    let gaps = any::<bool>();
    (0..3u32, 0..3u32, 0..CONTEXTS, 0..3i32, len(limit), gaps, mode)
        .prop_map(|(from, to, context, tag, len, gaps, mode)| Action::Send { from, to, context, tag, len, gaps, mode })
}

fn action(limit: usize) -> impl Strategy<Value = Action> {
    let receive = (0..3u32, wanted(), len(limit), any::<bool>());
    let fetch = (0..3u32, len(limit), any::<bool>());
    prop_oneof![
        8 => send(limit),
        8 => receive.prop_map(|(at, wanted, len, gaps)| Action::Receive { at, wanted, len, gaps }),
        2 => (0..3u32, wanted()).prop_map(|(at, wanted)| Action::Probe { at, wanted }),
        2 => (0..3u32, wanted()).prop_map(|(at, wanted)| Action::Claim { at, wanted }),
        2 => fetch.prop_map(|(at, len, gaps)| Action::Fetch { at, len, gaps }),
        2 => (0..100usize).prop_map(Action::CancelSend),
        2 => (0..100usize).prop_map(Action::CancelReceive),
        1 => (0..100usize).prop_map(Action::Release),
        10 => (0..3u32).prop_map(Action::Progress),
        2 => (0..3u32).prop_map(Action::BeginCall),
        1 => (0..3u32).prop_map(Action::EndCall),
    ]
}

fn manners(packet: std::ops::Range<usize>) -> impl Strategy<Value = Manners> {
    (any::<u64>(), packet, 1..5usize).prop_map(|(seed, packet, queue)| Manners { seed, packet, queue })
}

fn run(processes: u32, manners: Manners, eager_limit: usize, actions: &[Action]) {
    let mut world = World::new(processes, manners, eager_limit);
    for action in actions {
        world.act(action);
    }
    world.finish(CONTEXTS, 5 * eager_limit + 100);
    verdict::judge(&world);
}

const TINY: usize = 20;
const LARGE: usize = 5000;
const LONG: usize = 40_000;

proptest! {
#[test]
fn two_processes_with_a_tiny_eager_limit(
    manners in manners(1..64),
    actions in prop::collection::vec(action(TINY), 1..120),
) {
    run(2, manners, TINY, &actions);
}

#[test]
fn three_processes_with_a_tiny_eager_limit(
    manners in manners(1..64),
    actions in prop::collection::vec(action(TINY), 1..120),
) {
    run(3, manners, TINY, &actions);
}

#[test]
fn three_processes_with_a_large_eager_limit(
    manners in manners(100..2000),
    actions in prop::collection::vec(action(LARGE), 1..60),
) {
    run(3, manners, LARGE, &actions);
}

/// Every message but an empty one asks first.
#[test]
fn two_processes_without_eager_messages(
    manners in manners(1..64),
    actions in prop::collection::vec(action(TINY), 1..120),
) {
    run(2, manners, 0, &actions);
}}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Messages that take several packets even of the largest size.
    #[test]
    fn two_processes_with_long_messages(
        manners in manners(20_000..70_000),
        actions in prop::collection::vec(action(LONG), 1..40),
    ) {
        run(2, manners, LONG, &actions);
    }
}
