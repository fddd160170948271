//! The TCP device against the contract of all devices.

use proptest::prelude::*;
use tern_device::conformance::{Action, Endpoints, Group, follow};
use tern_tcp::{Endpoint, Settings};

fn group(processes: u32, settings: Settings) -> Box<dyn Group> {
    Box::new(Endpoints::new(processes, |me| Endpoint::open(me, processes, &settings)))
}

fn usual(processes: u32) -> Box<dyn Group> {
    group(processes, Settings::default())
}

/// Shorter packets, over IPv6.
fn narrow(processes: u32) -> Box<dyn Group> {
    let addresses = ["::1"].map(|text| text.parse().expect("an address")).into();
    group(processes, Settings { packet: 20_000, piece: 50_000, addresses, ..Settings::default() })
}

/// Long messages over three connections.
fn together(processes: u32) -> Box<dyn Group> {
    let addresses = vec!["127.0.0.1".parse().expect("an address"); 3];
    group(processes, Settings { together: true, addresses, ..Settings::default() })
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
