//! A process that cannot open any file descriptor, not even for turning somebody away. The test is alone in its process, whose limit it
//! lowers.

use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{AddressFamily, SocketType, connect, socket};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;
use tern_hca::conformance::{Side, SideOptions, eventually};
use tern_hca::{Hca, Options, descriptors};
use tern_proof::Knock;

/// Where the port, and the secret, of an HCA stand in the address of a queue pair.
const PORT: usize = 18;
const SECRET: usize = 32;

#[test]
fn who_calls_meanwhile_is_answered_when_there_is_one() {
    // It has the lowest number that was free, so all below are taken.
    let only = eventfd(0, EventfdFlags::empty()).expect("a descriptor");
    let side = Side::new(Hca::open(&Options::default()).expect("a software HCA"), &SideOptions::default());
    let address = side.pair.address();
    let port = u16::from_le_bytes([address[PORT], address[PORT + 1]]);
    let secret = *address[SECRET..].first_chunk().expect("the secret");
    let caller = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    // The reserve of the HCA has a number above the limit: nothing can be opened in its place, as when another thread takes that.
    let most = Some(only.as_raw_fd() as u64 + 1);
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).expect("anybody may lower it");
    connect(&caller, &SocketAddr::from(([127, 0, 0, 1], port))).expect("it listens");
    eventually("the call has met the limit", || descriptors::shortage().is_some());
    // Time for the attempt to turn it away, which fails. Should it come later, the caller is turned away, and that is an answer, too.
    std::thread::sleep(Duration::from_millis(50));
    drop(only);
    let answer = Knock::over(caller, secret, 7, Duration::from_secs(60)).wait();
    let waited = answer.err().is_some_and(|error| error.kind() == std::io::ErrorKind::TimedOut);
    assert!(!waited, "nobody has looked for the caller again");
}
