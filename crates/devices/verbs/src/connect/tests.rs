//! A process at its port, with a peer that says word by word what a test wants.

use super::line::Line;
use super::*;
use std::io::Read;
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use tern_proof::{Knock, Proven};

/// Far longer than anything takes here.
const TIME: Duration = Duration::from_secs(60);
const PEER: u32 = 1;
const WHY: &str = "there is none for it";

/// The process, whose number is above the peer's, and the peer.
struct Pair {
    process: Connections,
    listener: TcpListener,
    address: Address,
    end: End,
}

fn line(proven: io::Result<Proven>) -> Line {
    let line = Line::new(proven.expect("both know the secret")).expect("a line");
    line.socket.set_read_timeout(Some(TIME)).expect("a timeout");
    line
}

/// The next word on a line.
fn heard(line: &mut Line) -> Word {
    loop {
        if let Some(word) = line.take().expect("a word") {
            return word;
        }
        assert!(line.read().expect("bytes in time"), "the line has ended");
    }
}

/// Ends a line, and waits until the other side has heard it to its end.
fn ended(line: Line) {
    let mut socket = line.socket;
    socket.shutdown(Shutdown::Write).expect("it was open");
    // What is left unread makes no end of its own.
    let _ = socket.read_to_end(&mut Vec::new());
}

impl Pair {
    fn new() -> Pair {
        let settings = Settings::default();
        let fabric = || Fabric::open(&settings, 4).expect("a software HCA");
        let (host, alarm) = (IpAddr::V4(Ipv4Addr::LOCALHOST), eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd"));
        let terms = Terms { credits: 4, buffer: 8192 };
        let process = Connections::listen(3, host, &settings, fabric(), terms, Arc::new(alarm)).expect("a process");
        let listener = TcpListener::bind((host, 0)).expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let address = Address { port, token: [7; 32], ..process.address() };
        let end = End::new(&fabric(), 0).expect("an end");
        Pair { process, listener, address, end }
    }

    /// The process calls the peer, and has said hello.
    fn called(&self) -> Line {
        self.process.reach(PEER, &self.address);
        let (socket, _) = self.listener.accept().expect("a call");
        let mut line = line(Knock::of_caller(socket.into(), self.address.token, TIME).wait());
        assert!(matches!(heard(&mut line), Word::Hello(_)));
        line
    }

    /// The peer calls the process, and has said hello.
    fn calls(&self) -> Line {
        let Address { host, port, token, .. } = self.process.address();
        let mut line = line(Knock::at(SocketAddr::new(host, port), token, PEER, TIME, TIME).and_then(Knock::wait));
        let hello = Hello { node: 1, terms: Terms { credits: 4, buffer: 8192 }, pair: self.end.address() };
        line.say(&[Word::Hello(hello)]).expect("room");
        line
    }

    fn connected(&self) -> Result<(), String> {
        self.process.connect(PEER, &self.address).map(|_| ())
    }
}

/// Both call, and the peer lacks a descriptor for the call of the process: but its own one counts.
#[test]
fn a_refusal_of_a_call_that_does_not_count_changes_nothing() {
    let pair = Pair::new();
    let mut does_not_count = pair.called();
    let mut counts = pair.calls();
    assert!(matches!(heard(&mut counts), Word::Welcome(..)));
    does_not_count.say(&[Word::Refused(WHY.into())]).expect("room");
    ended(does_not_count);
    counts.say(&[Word::Ready]).expect("room");
    assert_eq!(pair.connected(), Ok(()));
    assert_eq!(pair.process.next_loss(), None);
}

/// The same where the peer has heard of both calls, and the one that does not count ends late.
#[test]
fn the_end_of_a_call_that_does_not_count_changes_nothing() {
    let pair = Pair::new();
    let does_not_count = pair.called();
    let mut counts = pair.calls();
    assert!(matches!(heard(&mut counts), Word::Welcome(..)));
    counts.say(&[Word::Ready]).expect("room");
    assert_eq!(pair.connected(), Ok(()));
    ended(does_not_count);
    assert_eq!(pair.connected(), Ok(()));
    assert_eq!(pair.process.next_loss(), None);
}

/// The peer has declined the call of the process, which then lacks something for the one that counts.
#[test]
fn an_awaited_call_that_is_turned_away_is_a_loss() {
    let pair = Pair::new();
    let mut declined = pair.called();
    declined.say(&[Word::Declined]).expect("room");
    ended(declined);
    assert!(pair.process.shared.turn_away(PEER, WHY).is_err());
    assert_eq!(pair.connected(), Err(WHY.into()));
    // Who calls all the same hears why.
    assert!(matches!(heard(&mut pair.calls()), Word::Refused(why) if why.ends_with(WHY)));
}

/// Whatever takes the peer for lost here: it does not wait for this process.
#[test]
fn a_peer_that_is_lost_sees_the_end_of_its_call() {
    let pair = Pair::new();
    let mut line = pair.calls();
    assert!(matches!(heard(&mut line), Word::Welcome(..)));
    line.say(&[Word::Refused(WHY.into())]).expect("room");
    assert!(!line.read().expect("the end in time"));
    assert!(pair.connected().is_err_and(|why| why.ends_with(WHY)));
}

/// The end of a process that ends together with all others is no loss.
#[test]
fn who_parts_says_so_to_all_that_are_connected() {
    let pair = Pair::new();
    let mut line = pair.calls();
    assert!(matches!(heard(&mut line), Word::Welcome(..)));
    pair.process.say_farewell();
    assert!(matches!(heard(&mut line), Word::Bye));
}
