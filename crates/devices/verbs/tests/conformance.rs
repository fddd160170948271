//! The RDMA device over the software HCA against the contract of all devices.

use proptest::prelude::*;
use tern_device::conformance::{Action, Endpoints, Group, follow};
use tern_verbs::{Endpoint, Settings, Transport};

/// Processes with an HCA each, all on one node.
fn on_one_node(processes: u32, settings: Settings) -> Box<dyn Group> {
    on_nodes(processes, settings, |_| 0)
}

fn on_nodes(processes: u32, settings: Settings, node: fn(u32) -> u32) -> Box<dyn Group> {
    let settings = |me| Settings { node: node(me), ..settings.clone() };
    Box::new(Endpoints::new(processes, |me| Endpoint::open(me, processes, &settings(me))))
}

fn usual(processes: u32) -> Box<dyn Group> {
    on_one_node(processes, Settings::default())
}

/// As little of everything as there can be.
fn narrow(processes: u32) -> Box<dyn Group> {
    let buffers = 64.max(8 * processes);
    let settings = Settings { packet: 1100, credits: 8, buffers, header_cache: false, ..Settings::default() };
    on_one_node(processes, settings)
}

/// Everybody is busy, and rings are soon full.
fn ringed(processes: u32) -> Box<dyn Group> {
    let settings = Settings { ring_after: 1, ring_cells: 3, ring_cell: 256, ..Settings::default() };
    on_one_node(processes, settings)
}

/// One queue pair to each node; two processes on one, and the others on another.
fn over_xrc(processes: u32) -> Box<dyn Group> {
    let settings = Settings { transport: Transport::Xrc, ring_after: 8, ..Settings::default() };
    on_nodes(processes, settings, |me| me / 2)
}

mod over_xrc {
    tern_device::conformance_tests!(packets of super::over_xrc);
    tern_device::conformance_tests!(direct of super::over_xrc);
    tern_device::conformance_tests!(remote of super::over_xrc);
}

/// The peer grants more than the send queue holds, so that is full first. What it does not take is refused, since a packet that
/// was taken comes though its sender does not look again.
mod with_a_full_send_queue {
    use super::*;
    use tern_device::conformance::a_full_peer_says_so_and_recovers;

    fn granted_much(processes: u32, transport: Transport, rings: u32) -> Box<dyn Group> {
        let settings =
            Settings { transport, credits: 200, rings, ring_after: 1, ring_cells: 200, ..Settings::default() };
        on_one_node(processes, settings)
    }

    #[test]
    fn packets_are_refused() {
        a_full_peer_says_so_and_recovers(|processes| granted_much(processes, Transport::Rc, 0));
    }

    #[test]
    fn packets_over_xrc_are_refused() {
        a_full_peer_says_so_and_recovers(|processes| granted_much(processes, Transport::Xrc, 0));
    }

    #[test]
    fn packets_for_rings_are_refused() {
        a_full_peer_says_so_and_recovers(|processes| granted_much(processes, Transport::Rc, 1));
    }

    #[test]
    fn packets_for_rings_over_xrc_are_refused() {
        a_full_peer_says_so_and_recovers(|processes| granted_much(processes, Transport::Xrc, 1));
    }
}

/// Each tuple has a queue of the card from its first receive on.
fn over_queues(processes: u32) -> Box<dyn Group> {
    let settings =
        Settings { transport: Transport::Xrc, queues: 3, queue_after: 1, ring_after: 8, ..Settings::default() };
    on_one_node(processes, settings)
}

/// What a queue takes: memory in one run, and no message that is longer than its receive.
mod over_queues {
    use super::over_queues as group;
    use tern_device::conformance::{
        published_receives_are_filled, receives_are_asked_back, the_rules_of_publication_hold,
    };

    #[test]
    fn receives_in_queues_are_filled() {
        published_receives_are_filled(group);
    }

    #[test]
    fn receives_in_queues_are_asked_back() {
        receives_are_asked_back(group);
    }

    #[test]
    fn the_rules_of_publication_hold_for_queues() {
        the_rules_of_publication_hold(group);
    }
}

/// Long messages go over several ports.
fn ported(processes: u32) -> Box<dyn Group> {
    on_one_node(processes, Settings { ports: 3, ..Settings::default() })
}

mod with_ports {
    tern_device::conformance_tests!(packets of super::ported);
    tern_device::conformance_tests!(direct of super::ported);
    tern_device::conformance_tests!(remote of super::ported);
}

mod with_rings {
    tern_device::conformance_tests!(packets of super::ringed);
    tern_device::conformance_tests!(direct of super::ringed);
    tern_device::conformance_tests!(remote of super::ringed);
}

mod as_usual {
    tern_device::conformance_tests!(packets of super::usual);
    tern_device::conformance_tests!(direct of super::usual);
    tern_device::conformance_tests!(remote of super::usual);
}

mod with_little_of_everything {
    tern_device::conformance_tests!(packets of super::narrow);
    tern_device::conformance_tests!(direct of super::narrow);
    tern_device::conformance_tests!(remote of super::narrow);
}

fn action() -> impl Strategy<Value = Action> {
    let size = prop_oneof![0..200usize, 0..3000usize, 0..20_000usize];
    prop_oneof![
        3 => (0..3u32, 0..3u32, size).prop_map(|(from, to, size)| Action::Send { from, to, size }),
        1 => (0..3u32).prop_map(|who| Action::Poll { who }),
        1 => (0..3u32, 0..3u32, any::<bool>())
            .prop_map(|(who, from, used)| Action::Take { who, from, used }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_sequence_keeps_order(actions in prop::collection::vec(action(), 1..200)) {
        follow(narrow, 3, &actions);
    }

    #[test]
    fn any_sequence_keeps_order_over_xrc(actions in prop::collection::vec(action(), 1..200)) {
        follow(over_xrc, 3, &actions);
    }

    #[test]
    fn any_sequence_keeps_order_with_rings(actions in prop::collection::vec(action(), 1..200)) {
        follow(ringed, 3, &actions);
    }

    #[test]
    fn any_sequence_keeps_order_as_usual(actions in prop::collection::vec(action(), 1..200)) {
        follow(usual, 3, &actions);
    }
}
