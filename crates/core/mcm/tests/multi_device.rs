//! Shared memory and a network together, against the contract of all devices.

use rustix::fd::{AsFd, OwnedFd};
use std::sync::{Barrier, Mutex};
use tern_device::Channel;
use tern_device::conformance::Group;
use tern_mcm::{Chaos, Memory, MultiDevice, Plan, Pull, PushTo};
use tern_pmi::Nodes;
use tern_shm::Shm;
use tern_verbs::{Endpoint, Settings, Verbs};

/// Processes of simulated nodes. They live in one process here.
struct World {
    nodes: Nodes,
    segments: Vec<OwnedFd>,
    /// The network, and where each rank is found. All of it is there before anybody joins.
    listening: Mutex<Vec<Option<Endpoint>>>,
    addresses: Vec<Vec<u8>>,
    chaos: Option<Plan>,
}

impl World {
    fn new(nodes: Nodes) -> World {
        let segment = || rustix::fs::memfd_create("tern-test", rustix::fs::MemfdFlags::CLOEXEC).expect("a memfd");
        let open = |rank| Endpoint::open(rank, nodes.size(), &Settings::default()).expect("the software network");
        let listening: Vec<_> = (0..nodes.size()).map(open).collect();
        World {
            segments: (0..nodes.count()).map(|_| segment()).collect(),
            addresses: listening.iter().map(|one| one.address()).collect(),
            listening: Mutex::new(listening.into_iter().map(Some).collect()),
            nodes,
            chaos: None,
        }
    }

    fn network(&self, me: u32) -> Verbs {
        let listening = self.listening.lock().expect("no panic")[me as usize].take().expect("joined once");
        listening.join(&self.addresses).expect("addresses of all")
    }
}

impl Group for World {
    fn join(&self, me: u32) -> Box<dyn Channel> {
        let node = self.nodes.of(me);
        let ranks = self.nodes.members(node);
        let local = ranks.partition_point(|rank| *rank < me) as u32;
        let shm = Shm::new(self.segments[node as usize].as_fd(), local, ranks.len() as u32, 2, None);
        let (shm, network) = (shm.expect("shared memory"), Box::new(self.network(me)));
        let multi = MultiDevice::new(shm, network, ranks, self.nodes.size(), self.nodes.size());
        match &self.chaos {
            Some(plan) => Box::new(Chaos::new(multi, plan.clone(), me, false)),
            None => Box::new(multi),
        }
    }
}

/// Two on nodes of their own, or two on one node and everybody else on another, with chaos around the devices. The suite takes a refused packet for one without room, of
/// which shared memory has enough; whole programs see refusals.
fn in_chaos(processes: u32) -> Box<dyn Group> {
    let nodes = match processes {
        0..=2 => Nodes::even(processes, processes),
        _ => Nodes::of_sizes([2, processes - 2]).expect("no node is empty"),
    };
    let plan = "5,delay=20us,reorder=1/3,refuse=0".parse().expect("a plan");
    Box::new(World { chaos: Some(plan), ..World::new(nodes) })
}

/// The first two on one node, everybody else on another.
fn two_and_more(processes: u32) -> Box<dyn Group> {
    let nodes = match processes {
        0..=2 => Nodes::one(processes),
        _ => Nodes::of_sizes([2, processes - 2]).expect("no node is empty"),
    };
    Box::new(World::new(nodes))
}

/// One on the first node, the next on the second, and so on in turn.
fn dealt(processes: u32) -> Box<dyn Group> {
    let numbers: Vec<u32> = (0..processes).map(|rank| rank % 2).collect();
    Box::new(World::new(Nodes::of_numbers(&numbers).expect("there are ranks")))
}

/// Everybody on a node of its own.
fn apart(processes: u32) -> Box<dyn Group> {
    Box::new(World::new(Nodes::even(processes, processes)))
}

/// Packets, with and without chaos.
macro_rules! packets {
    ($factory:expr; $($more:ident),* $(,)?) => {
        tern_device::conformance_tests!($factory;
            it_reaches_the_peers_that_there_are,
            nothing_has_arrived_at_first,
            packets_of_every_size_arrive_whole,
            packets_of_a_pair_stay_in_order,
            headers_are_not_touched,
            gathered_payloads_arrive_as_bytes_do,
            everybody_sends_to_everybody,
            a_sink_may_send,
            long_payloads_fill_and_drain,
            threads_at_both_ends,
            $($more,)*
        );
    };
}

macro_rules! checks {
    ($factory:expr; $($more:ident),* $(,)?) => {
        packets!($factory;
            a_full_peer_does_not_stop_others,
            a_packet_wakes_a_sleeper,
            room_wakes_a_sleeper,
            work_before_sleeping_is_seen,
            $($more,)*
        );
    };
}

mod on_one_node_and_another {
    checks!(super::two_and_more;
        long_payloads_go_in_parts,
        a_peer_may_begin_late,
        lines_begin_empty,
        lines_show_what_their_owner_publishes,
        published_receives_are_filled,
        receives_are_filled_again,
        long_messages_fill_short_receives,
        strided_memory_is_filled_where_it_lies,
        the_rules_of_publication_hold,
        opaque_memory_goes_in_packets,
        receives_are_asked_back,
        what_was_found_may_be_gone,
        a_late_receiver_fetches,
        mapped_memory_is_the_same_for_both,
        private_memory_is_copied_without_help,
        private_memory_is_fetched,
        a_ring_before_sleeping_counts,
        a_process_wakes_its_own_threads,
    );
}

mod in_chaos {
    packets!(super::in_chaos;
        long_payloads_go_in_parts,
        a_peer_may_begin_late,
        published_receives_are_filled,
        a_late_receiver_fetches,
        words_are_changed_in_one_step,
    );
}

mod on_nodes_in_turn {
    checks!(super::dealt;
        a_ring_before_sleeping_counts,
        a_process_wakes_its_own_threads,
    );
}

mod on_nodes_of_their_own {
    checks!(super::apart;
        a_ring_before_sleeping_counts,
        a_process_wakes_its_own_threads,
    );
}

/// Both sides copy inside a node only: a peer on another node that tells of such a copy is wrong.
#[test]
fn no_copy_by_both_goes_over_a_network() {
    let world = World::new(Nodes::even(2, 2));
    std::thread::scope(|scope| {
        for me in 0..2u32 {
            let world = &world;
            scope.spawn(move || {
                let device = world.join(me);
                let direct = device.direct().expect("shared memory has direct ways");
                assert_eq!(direct.push(1 - me, &Memory::opaque(8), PushTo::Joint(3), 1), Pull::No);
            });
        }
    });
}

/// A process that sleeps is woken by whichever device has something, again and again.
#[test]
fn either_device_wakes() {
    use tern_device::{Header, Payload, Sink};
    #[derive(Default)]
    struct Last(Option<u64>);
    impl Sink for Last {
        fn packet(&mut self, _from: u32, header: &Header, _payload: &[u8]) {
            self.0 = Some(header[0]);
        }
    }
    const ROUNDS: u64 = 300;
    let world = World::new(Nodes::of_sizes([2, 1]).expect("no node is empty"));
    // One at a time may have the turn; each waits for its own.
    let all = Barrier::new(3);
    std::thread::scope(|scope| {
        for me in 0..3u32 {
            let (world, all) = (&world, &all);
            scope.spawn(move || {
                let device = world.join(me);
                let mut last = Last::default();
                all.wait();
                // The turn goes to a process of the own node and of the other by turns: 0 1 2 0 1 2 …
                for round in 0..ROUNDS {
                    if round % 3 == u64::from(me) {
                        let next = (me + 1) % 3;
                        while device.copy_and_send(next, &[round + 1, 0, 0, 0], Payload::Bytes(&[])).is_none() {
                            device.poll(&mut last);
                        }
                    } else if (round + 1) % 3 == u64::from(me) {
                        while last.0 != Some(round + 1) {
                            let token = device.prepare_sleep();
                            if device.poll(&mut last) == 0 {
                                // Far longer than the test may take: a wake-up that is lost shows.
                                device.sleep(token, std::time::Duration::from_secs(20));
                            }
                            device.end_sleep();
                        }
                    }
                }
                all.wait();
            });
        }
    });
}
