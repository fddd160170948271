//! Calls of agents and keepers to the mpiexec of all hosts, which may have many addresses: it is found at the first one where
//! somebody proves to know the secret of the job.

use std::collections::VecDeque;
use std::io::{Error, Result};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use tern_pmi::Secret;
use tern_proof::{Knock, Progress, Proven};

use super::Line;

/// How long to wait for a connection to one address.
const CONNECT: Duration = Duration::from_secs(5);
/// The next address is called when nobody has proven itself after so long; those that are being called go on.
const NEXT: Duration = Duration::from_millis(250);
/// Before an address is called once more at which somebody has answered.
const AGAIN: Duration = Duration::from_millis(200);
/// So long after the end of its connection a caller has called once more, if it has not had the answer to its call.
pub const CALLS_AGAIN: Duration = Duration::from_secs(10);
/// How long the kernel of the other side may be silent, until the settings of the job are known.
const SILENCE: Duration = Duration::from_secs(30);
/// How long to try in all.
const ALL: Duration = Duration::from_secs(60);
/// In a list of callers: the network whose loopback interface has the addresses behind it.
const HERE: &str = "here=";

/// Where this process listens, as a list for those that are to call: its addresses with that port, those first that others may
/// reach. Those of the loopback interface come last, and are for processes that have that interface.
pub fn callers(port: u16) -> String {
    let mut found: Vec<IpAddr> = tern_node::interfaces().into_iter().map(|one| one.address).collect();
    found.sort_by_key(|address| (address.is_loopback(), address.is_ipv6()));
    let shown = |address: &IpAddr| SocketAddr::new(*address, port).to_string();
    let (near, far): (Vec<IpAddr>, Vec<IpAddr>) = found.into_iter().partition(IpAddr::is_loopback);
    let mut words: Vec<String> = far.iter().map(shown).collect();
    words.push(format!("{HERE}{:016x}", tern_node::network()));
    words.extend(near.iter().map(shown));
    words.join(",")
}

/// The addresses of a list that a process of that network may call.
fn addresses(callers: &str, network: u64) -> VecDeque<SocketAddr> {
    let mut here = false;
    let mut found = VecDeque::new();
    for word in callers.split(',') {
        if let Some(other) = word.strip_prefix(HERE) {
            here = other == format!("{network:016x}");
        } else if let Ok(address) = word.parse::<SocketAddr>()
            && (here || !address.ip().to_canonical().is_loopback())
        {
            found.push_back(address);
        }
    }
    found
}

/// Calls as caller `number`, and has both sides prove that they know the secret.
///
/// Errors: that happens nowhere; the text says what came of each address.
pub fn call(callers: &str, secret: Secret, number: u32) -> Result<Line> {
    let now = Instant::now();
    let mut round = Round {
        secret,
        number,
        waiting: addresses(callers, tern_node::network()).into_iter().map(|address| (now, address)).collect(),
        next: now,
        until: now + ALL,
        knocks: Vec::new(),
        failed: Vec::new(),
    };
    match round.run() {
        Some(proven) => Ok(Line::new(proven)),
        None => Err(Error::other(round.why())),
    }
}

/// Calls that are under way.
struct Round {
    secret: Secret,
    number: u32,
    /// Addresses to be called, and from when on.
    waiting: VecDeque<(Instant, SocketAddr)>,
    /// When the next one is called beside those that are under way.
    next: Instant,
    until: Instant,
    knocks: Vec<(SocketAddr, Knock)>,
    /// What came of each address last.
    failed: Vec<(SocketAddr, String)>,
}

impl Round {
    fn run(&mut self) -> Option<Proven> {
        loop {
            self.begin();
            if let Some(proven) = self.step() {
                return Some(proven);
            }
            if Instant::now() >= self.until || self.waiting.is_empty() && self.knocks.is_empty() {
                return None;
            }
            self.wait();
        }
    }

    /// Calls the next address, if that is due.
    fn begin(&mut self) {
        let now = Instant::now();
        if !self.knocks.is_empty() && now < self.next {
            return;
        }
        let Some(at) = self.waiting.iter().position(|(from, _)| now >= *from) else { return };
        let Some((_, address)) = self.waiting.remove(at) else { return };
        self.next = now + NEXT;
        match Knock::at(address, self.secret, self.number, CONNECT, SILENCE) {
            Ok(knock) => self.knocks.push((address, knock.hold())),
            Err(error) => self.failed(address, false, &error),
        }
    }

    /// Goes on with all calls. Where somebody has proven itself, this side does so too, there alone.
    fn step(&mut self) -> Option<Proven> {
        let mut at = 0;
        while at < self.knocks.len() {
            match self.knocks[at].1.step() {
                Ok(Progress::Wait) => at += 1,
                Ok(Progress::Met | Progress::Proven) => {
                    let (address, knock) = self.knocks.remove(at);
                    match settle(knock) {
                        Ok(proven) => return Some(proven),
                        Err(error) => self.failed(address, true, &error),
                    }
                }
                Err(error) => {
                    let (address, knock) = self.knocks.remove(at);
                    self.failed(address, knock.is_answered(), &error);
                }
            }
        }
        None
    }

    /// Nothing came of an address. Where somebody has answered, mpiexec may be too busy: it is called again.
    fn failed(&mut self, address: SocketAddr, answered: bool, error: &Error) {
        let why = match Errno::from_io_error(error) {
            Some(Errno::ACCESS) if answered => "somebody else answers there".to_owned(),
            Some(Errno::CONNRESET) if answered => "it has ended the connection".to_owned(),
            Some(Errno::TIMEDOUT) => "no answer".to_owned(),
            _ => error.to_string(),
        };
        self.failed.retain(|(other, _)| *other != address);
        self.failed.push((address, why));
        if answered {
            self.waiting.push_back((Instant::now() + AGAIN, address));
        }
    }

    /// Waits until something is to be done.
    fn wait(&self) {
        let mut fds = Vec::new();
        let mut until = self.until;
        for (fd, end) in self.knocks.iter().map(|(_, knock)| knock.waits_for()) {
            fds.push(fd);
            until = until.min(end);
        }
        if let Some(first) = self.waiting.iter().map(|(from, _)| *from).min() {
            until = until.min(if self.knocks.is_empty() { first } else { first.max(self.next) });
        }
        let left = until.saturating_duration_since(Instant::now()) + Duration::from_micros(100);
        // An error is a signal: it looks again.
        let _ = poll(&mut fds, Some(&Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }));
    }

    /// What to tell the user.
    fn why(&self) -> String {
        match self.failed.is_empty() {
            true if self.knocks.is_empty() => "it has told no address".to_owned(),
            true => "no answer".to_owned(),
            false => self.failed.iter().map(|(at, why)| format!("{at} ({why})")).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Proves itself to a side that has done so, and waits for its answer.
fn settle(mut knock: Knock) -> Result<Proven> {
    knock.go_on()?;
    while knock.step()? != Progress::Proven {
        let (fd, until) = knock.waits_for();
        let left = until.saturating_duration_since(Instant::now()) + Duration::from_micros(100);
        let _ = poll(&mut [fd], Some(&Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }));
    }
    knock.into_proven().ok_or(Error::from(Errno::PROTO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use tern_proof::Door;

    const SECRET: Secret = [7; 32];

    /// A place where somebody listens, and what it does with each caller.
    fn place(mut does: impl FnMut(TcpStream) + Send + 'static) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        std::thread::spawn(move || listener.incoming().flatten().for_each(&mut does));
        address
    }

    /// mpiexec, which lets one caller in and says something.
    fn mpiexec() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("its address");
        let mut door = Door::new(listener.into(), SECRET, 8, Duration::from_secs(30));
        std::thread::spawn(move || {
            loop {
                door.wait();
                if let Some(proven) = door.take() {
                    let number = proven.number;
                    let _ = Line::new(proven).send(&number.to_le_bytes());
                }
            }
        });
        address
    }

    fn call_at(places: &[SocketAddr]) -> Result<Vec<u8>> {
        let list: Vec<String> = places.iter().map(SocketAddr::to_string).collect();
        let list = format!("{HERE}{:016x},{}", tern_node::network(), list.join(","));
        call(&list, SECRET, 77)?.receive(Some(Duration::from_secs(30)))
    }

    #[test]
    fn the_first_that_proves_itself_is_it() {
        let mut held = Vec::new();
        let mute = place(move |socket| held.push(socket));
        let ends = place(drop);
        let wrong = place(|mut socket| _ = socket.write_all(&[0; 100]));
        let nobody = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
        let all = [mute, ends, wrong, nobody, mpiexec()];
        assert_eq!(call_at(&all).expect("it is the last one"), 77u32.to_le_bytes());
        let error = call_at(&[nobody]).expect_err("nobody is there").to_string();
        assert!(error.contains(&format!("{nobody} (")), "{error}");
    }

    #[test]
    fn loopback_addresses_are_for_those_that_have_the_interface() {
        let list = "10.0.0.1:5,127.0.0.1:6,here=0000000000000007,127.0.0.1:5,[::1]:5,x";
        let shown = |network| addresses(list, network).iter().map(SocketAddr::to_string).collect::<Vec<_>>();
        assert_eq!(shown(7), ["10.0.0.1:5", "127.0.0.1:5", "[::1]:5"]);
        assert_eq!(shown(8), ["10.0.0.1:5"]);
        assert!(addresses(&callers(5), tern_node::network()).iter().any(|address| address.ip().is_loopback()));
        assert!(addresses(&callers(5), 1).iter().all(|address| !address.ip().is_loopback()));
    }
}
