//! The TCP device against the contract of all devices.

use proptest::prelude::*;
use std::sync::Mutex;
use tern_device::Channel;
use tern_device::conformance::{Action, Group, follow};
use tern_tcp::{Endpoint, Settings};

/// Processes that live in one process here.
struct Processes {
    endpoints: Mutex<Vec<Option<Endpoint>>>,
    addresses: Vec<Vec<u8>>,
}

impl Processes {
    fn new(processes: u32, settings: &Settings) -> Processes {
        let open = |me| Endpoint::open(me, processes, settings).expect("a port");
        let endpoints: Vec<Endpoint> = (0..processes).map(open).collect();
        let addresses = endpoints.iter().map(Endpoint::address).collect();
        Processes { endpoints: Mutex::new(endpoints.into_iter().map(Some).collect()), addresses }
    }
}

impl Group for Processes {
    fn join(&self, me: u32) -> Box<dyn Channel> {
        let endpoint = self.endpoints.lock().unwrap()[me as usize].take();
        Box::new(endpoint.expect("each joins once").join(&self.addresses).expect("a thread"))
    }
}

fn usual(processes: u32) -> Box<dyn Group> {
    Box::new(Processes::new(processes, &Settings::default()))
}

/// Shorter packets, over IPv6.
fn narrow(processes: u32) -> Box<dyn Group> {
    let addresses = ["::1"].map(|text| text.parse().expect("an address")).into();
    Box::new(Processes::new(processes, &Settings { packet: 20_000, piece: 50_000, addresses, ..Settings::default() }))
}

/// Long messages over three connections.
fn together(processes: u32) -> Box<dyn Group> {
    let addresses = vec!["127.0.0.1".parse().expect("an address"); 3];
    Box::new(Processes::new(processes, &Settings { together: true, addresses, ..Settings::default() }))
}

mod as_usual {
    tern_device::conformance_tests!(packets of super::usual);
}

mod over_several_interfaces {
    tern_device::conformance_tests!(packets of super::together);
}

mod over_ipv6 {
    tern_device::conformance_tests!(packets of super::narrow);
}

fn action() -> impl Strategy<Value = Action> {
    let size = prop_oneof![0..200usize, 0..3000usize, 0..100_000usize];
    prop_oneof![
        4 => (0..3u32, 0..3u32, size).prop_map(|(from, to, size)| Action::Send { from, to, size }),
        2 => (0..3u32).prop_map(|who| Action::Poll { who }),
        2 => (0..3u32, 0..3u32, any::<bool>()).prop_map(|(who, from, used)| Action::Take { who, from, used }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn any_sequence_keeps_the_order(actions in prop::collection::vec(action(), 1..150)) {
        follow(usual, 3, &actions);
    }
}
