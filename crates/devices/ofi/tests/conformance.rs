//! The ofi device against the contract of all devices, over providers that need no card.

use std::time::{Duration, Instant};
use tern_device::conformance::{Endpoints, Group};
use tern_device::{Channel, Header, Memory, Payload, Pull, Purpose, PushTo, Sink, Use};
use tern_ofi::{Endpoint, Settings};

fn group(processes: u32, settings: &Settings) -> Box<dyn Group> {
    Box::new(Endpoints::new(processes, |me| Endpoint::open(me, processes, settings)))
}

/// Declares a test for each check. Skipped, aloud, where the provider is not there.
macro_rules! suite {
    ($module:ident, $provider:literal, $change:expr; $($check:ident),* $(,)?) => {
        mod $module {
            fn group(processes: u32) -> Box<dyn super::Group> {
                let change: fn(&mut super::Settings) = $change;
                let mut settings = super::settings($provider);
                change(&mut settings);
                super::group(processes, &settings)
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
        $(suite! { $module, $provider, |_| ();
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
            a_late_receiver_fetches,
            memory_is_reached_without_its_owner,
            words_are_changed_in_one_step,
        })*
    };
}

suites! {
    tcp_rxm, "tcp;ofi_rxm";
    sockets, "sockets";
}

// Addresses are those of the owner.
suite! { shm, "shm", |_| ();
    packets_of_every_size_arrive_whole,
    a_late_receiver_fetches,
    memory_is_reached_without_its_owner,
    words_are_changed_in_one_step,
}

// Of libfabric 2 alone; it has no atomics.
suite! { tcp, "tcp", |_| ();
    packets_of_every_size_arrive_whole,
    a_late_receiver_fetches,
}

// As where own memory must be registered before a request names it.
suite! { registering, "sockets", |settings| settings.registers = true;
    packets_of_every_size_arrive_whole,
    a_late_receiver_fetches,
    memory_is_reached_without_its_owner,
    words_are_changed_in_one_step,
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
fn send(from: &dyn Channel, to: u32, number: u64) {
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

/// What a device has told of long messages.
#[derive(Default)]
struct Told {
    pulled: Vec<u32>,
    sent: Vec<u32>,
}

impl Sink for Told {
    fn packet(&mut self, _from: u32, _header: &Header, _payload: &[u8]) {
        panic!("a packet that nobody has sent");
    }
    fn pulled(&mut self, receiver: u32) {
        self.pulled.push(receiver);
    }
    fn sent(&mut self, sender: u32) {
        self.sent.push(sender);
    }
}

/// A pair of processes.
fn two(settings: &Settings) -> [Box<dyn Channel>; 2] {
    let processes = group(2, settings);
    [processes.join(0), processes.join(1)]
}

/// Memory of blocks at a stride in a buffer, with every byte set.
fn layout(buffer: &[u8], len: usize, block: usize, stride: usize) -> Memory {
    let it = Memory { block: block as u64, stride: stride as i64, ..Memory::dense(buffer.as_ptr(), len) };
    assert!(it.span().1 <= buffer.len() as u64, "the buffer has room");
    it
}

/// A sender puts its message where the receiver has asked for it, layouts too; and it is all there when that has ended.
/// The use of memory by one message.
fn of(memory: &Memory) -> Use {
    Use { purpose: Purpose::Message, bytes: memory.len, quiet: true }
}

#[test]
fn a_sender_puts_where_it_is_told() {
    for provider in ["tcp;ofi_rxm", "sockets", "shm"] {
        if let Some(why) = missing(provider) {
            eprintln!("skipped: {why}");
            continue;
        }
        let [sender, receiver] = two(&settings(provider));
        let (here, there) = (sender.direct().expect("it has accesses"), receiver.direct().expect("it has accesses"));
        let out: Vec<u8> = (0..400_000u32).map(|at| (at * 7 + at / 251) as u8).collect();
        let into = vec![0u8; 400_000];
        for (from, to) in [
            (layout(&out, 300_000, 300_000, 0), layout(&into, 300_000, 300_000, 0)),
            (layout(&out, 90_000, 1000, 1024), layout(&into, 90_000, 3000, 4000)),
        ] {
            let (source, target) = (here.locate(1, from, of(&from)), there.locate(0, to, of(&to)));
            assert_ne!((source.key, target.key), (0, 0), "they are registered");
            assert_eq!(here.push(1, &source, PushTo::Memory(&target), 8), Pull::Unordered);
            let (mut told, end) = (Told::default(), Instant::now() + Duration::from_secs(60));
            // The receiver makes no call.
            while told.sent != [8] {
                assert!(Instant::now() < end, "a message was put and never came");
                sender.poll(&mut told);
            }
            for byte in 0..from.len {
                let at = |memory: &Memory, base: &[u8]| (memory.run_at(byte).address - base.as_ptr() as u64) as usize;
                // SAFETY: nothing is under way.
                let now = unsafe { into.as_ptr().add(at(&to, &into)).read_volatile() };
                assert_eq!(now, out[at(&from, &out)], "byte {byte} over {provider}");
            }
            here.release(&source);
            there.release(&target);
        }
        let short = layout(&out, 8000, 8, 16);
        let dense = layout(&into, 8000, 8000, 0);
        let (source, target) = (here.locate(1, short, of(&short)), there.locate(0, dense, of(&dense)));
        assert_eq!(here.push(1, &source, PushTo::Memory(&target), 9), Pull::No, "short blocks are rather packed");
    }
}

/// Memory that cannot be registered has no key: its messages go in packets, and its windows are served by messages.
#[test]
fn what_cannot_be_registered_has_no_key() {
    if let Some(why) = missing("sockets") {
        return eprintln!("skipped: {why}");
    }
    let [refusing, other] = two(&Settings { locked: Some(1 << 16), ..settings("sockets") });
    let mut bytes = vec![0u8; 100_000];
    let it = refusing.direct().expect("it has accesses");
    let dense = Memory::dense(bytes.as_ptr(), bytes.len());
    let memory = it.locate(1, dense, of(&dense));
    assert_eq!(memory.key, 0);
    it.release(&memory);
    assert_eq!(it.push(1, &memory, PushTo::Memory(&memory), 3), Pull::No);
    // SAFETY: nobody is told.
    assert_eq!(unsafe { refusing.remote().expect("it has atomics").reveal(bytes.as_mut_ptr(), bytes.len()) }, None);
    send(&*refusing, 1, 5);
    let mut heard = Heard::default();
    while heard.0.is_empty() {
        other.poll(&mut heard);
    }
    let [without, _other] = two(&Settings { accesses: false, ..settings("sockets") });
    assert!(without.direct().is_none() && without.remote().is_none());
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
