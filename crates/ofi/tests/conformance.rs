//! The ofi device against the contract of all devices, over providers that need no card.

use std::sync::Mutex;
use std::time::{Duration, Instant};
use tern_device::conformance::Group;
use tern_device::{Device, Header, Payload, Sink};
use tern_ofi::{Endpoint, Settings};

/// Processes that live in one process here.
struct Processes {
    endpoints: Mutex<Vec<Option<Endpoint>>>,
    addresses: Vec<Vec<u8>>,
}

impl Processes {
    fn new(processes: u32, provider: &str) -> Processes {
        let settings = settings(provider);
        let open = |me| Endpoint::open(me, processes, &settings).expect("an endpoint");
        let endpoints: Vec<Endpoint> = (0..processes).map(open).collect();
        let addresses = endpoints.iter().map(Endpoint::address).collect();
        Processes { endpoints: Mutex::new(endpoints.into_iter().map(Some).collect()), addresses }
    }
}

impl Group for Processes {
    fn join(&self, me: u32) -> Box<dyn Device> {
        let endpoint = self.endpoints.lock().unwrap()[me as usize].take();
        Box::new(endpoint.expect("each joins once").join(&self.addresses).expect("a thread"))
    }
}

/// Declares a test for each check. Skipped, aloud, where the provider is not there.
macro_rules! suite {
    ($module:ident, $provider:literal: $($check:ident),* $(,)?) => {
        mod $module {
            fn group(processes: u32) -> Box<dyn super::Group> {
                Box::new(super::Processes::new(processes, $provider))
            }
            $(#[test]
            fn $check() {
                match super::missing($provider) {
                    Some(why) => eprintln!("skipped: {why}"),
                    None => tern_device::conformance::$check(group),
                }
            })*
        }
    };
}

/// The checks that concern what the device has. Those with twenty processes, each pair of which makes connections inside
/// of the provider, take minutes.
macro_rules! suites {
    ($($module:ident, $provider:literal;)*) => {
        $(suite! { $module, $provider:
            it_reaches_the_peers_that_there_are,
            nothing_has_arrived_at_first,
            packets_of_every_size_arrive_whole,
            packets_of_a_pair_stay_in_order,
            headers_are_not_touched,
            gathered_payloads_arrive_as_bytes_do,
            long_payloads_go_in_parts,
            a_peer_may_begin_late,
            a_sink_may_send,
            a_full_peer_says_so_and_recovers,
            a_full_peer_does_not_stop_others,
            long_payloads_fill_and_drain,
            threads_at_both_ends,
            a_packet_wakes_a_sleeper,
            room_wakes_a_sleeper,
            a_ring_before_sleeping_counts,
            a_process_wakes_its_own_threads,
            work_before_sleeping_is_seen,
        })*
    };
}

suites! {
    tcp_rxm, "tcp;ofi_rxm";
    sockets, "sockets";
}

/// Why there is no such provider.
fn missing(provider: &str) -> Option<String> {
    Endpoint::open(0, 1, &settings(provider)).err().map(|error| error.to_string())
}

fn settings(provider: &str) -> Settings {
    let library = std::env::var("TERN_LIBFABRIC").ok();
    Settings { library, provider: Some(provider.into()), ..Settings::default() }
}

/// Sends until a packet is taken.
fn send(from: &dyn Device, to: u32, number: u64) {
    while from.copy_and_send(to, &[number; 4], Payload::Bytes(&[])).is_none() {
        std::thread::yield_now();
    }
}

/// The sender and the first word of the header of each packet.
#[derive(Default)]
struct Heard(Vec<(u32, u64)>);

impl Sink for Heard {
    fn packet(&mut self, from: u32, header: &Header, _payload: &[u8]) {
        self.0.push((from, header[0]));
    }
}

/// A process of another job knows where a process is found, but not the secret of its job.
#[test]
fn strangers_are_not_heard() {
    if let Some(why) = missing("sockets") {
        return eprintln!("skipped: {why}");
    }
    let open = |me| Endpoint::open(me, 2, &settings("sockets")).expect("an endpoint");
    let (first, second, stranger) = (open(0), open(1), open(0));
    let addresses = [first.address(), second.address()];
    let others = [stranger.address(), second.address()];
    let (first, second) = (first.join(&addresses).expect("a thread"), second.join(&addresses).expect("a thread"));
    let stranger = stranger.join(&others).expect("a thread");
    let before = tern_counters::NETWORK_STRANGERS.get();
    let mut heard = Heard::default();
    let end = Instant::now() + Duration::from_secs(60);
    send(&stranger, 1, 666);
    while tern_counters::NETWORK_STRANGERS.get() == before {
        assert!(Instant::now() < end, "a stranger is counted");
        second.poll(&mut heard);
    }
    send(&first, 1, 7);
    while heard.0.is_empty() {
        assert!(Instant::now() < end, "a packet was sent and never came");
        second.poll(&mut heard);
    }
    assert_eq!(heard.0, [(0, 7)]);
}

/// What cannot be had is said with what can be done.
#[test]
fn errors_name_the_remedy() {
    if let Some(why) = missing("sockets") {
        return eprintln!("skipped: {why}");
    }
    let error = missing("no_such_provider").expect("nobody has it");
    assert!(
        error.contains("no_such_provider") && error.contains("TERN_OFI_PROVIDER") && error.contains("there are:"),
        "{error}"
    );
    let domain = Settings { domain: Some("no_such_card".into()), ..settings("sockets") };
    let error = Endpoint::open(0, 1, &domain).err().expect("nobody has it").to_string();
    assert!(error.contains("no_such_card"), "{error}");
    let open = |me, provider| Endpoint::open(me, 2, &settings(provider)).expect("an endpoint");
    let (first, second) = (open(0, "sockets"), open(1, "tcp;ofi_rxm"));
    let addresses = [first.address(), second.address()];
    let error = first.join(&addresses).err().expect("they do not speak to each other").to_string();
    assert!(error.contains("rank 1 tcp;ofi_rxm") && error.contains("TERN_OFI_PROVIDER"), "{error}");
}
