//! A socket on which callers knock that know a secret.

use crate::crowd::gives_way;
use crate::knock::{Knock, Progress, Proven};
use crate::proof::Token;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use std::time::{Duration, Instant};

/// A socket on which callers knock that know a secret.
pub struct Door {
    listener: OwnedFd,
    secret: Token,
    silence: Duration,
    /// Those who have knocked and not proven themselves, the oldest first; so many at most.
    knocks: Vec<Knock>,
    places: usize,
    /// The process had no descriptor for the last caller.
    starved: bool,
}

/// How long somebody else may take to close a descriptor.
const STARVED: Duration = Duration::from_millis(50);

impl Door {
    /// At a socket that listens and does not block, for callers that prove that they know `secret`. At most `places` others are
    /// heard at one time; from then on one of them gives way to the next ([`gives_way`]). `silence` is as in [`Knock::at`].
    pub fn new(listener: OwnedFd, secret: Token, places: usize, silence: Duration) -> Door {
        Door { listener, secret, silence, knocks: Vec::new(), places: places.max(1), starved: false }
    }

    /// The next caller that has proven itself, if there is one. Never waits.
    pub fn take(&mut self) -> Option<Proven> {
        self.accept();
        let mut at = 0;
        while at < self.knocks.len() {
            match self.knocks[at].step() {
                Ok(Progress::Proven) => return self.knocks.remove(at).into_proven(),
                Ok(_) => at += 1,
                // Whoever it was, it is not let in.
                Err(_) => drop(self.knocks.remove(at)),
            }
        }
        None
    }

    fn accept(&mut self) {
        self.starved = false;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // A flood of callers does not keep those from being heard that are here.
        for _ in 0..self.places {
            match rustix::net::accept_with(&self.listener, flags) {
                Ok(socket) => {
                    if self.knocks.len() >= self.places {
                        self.give_way();
                    }
                    self.knocks.push(Knock::of_caller(socket, self.secret, self.silence));
                }
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                // There is no descriptor for the next one.
                Err(Errno::MFILE | Errno::NFILE) if !self.knocks.is_empty() => self.give_way(),
                Err(Errno::MFILE | Errno::NFILE) => {
                    self.starved = true;
                    return;
                }
                Err(_) => return,
            }
        }
    }

    fn give_way(&mut self) {
        if let Some(at) = gives_way(self.knocks.iter().map(Knock::source)) {
            self.knocks.remove(at);
        }
    }

    /// Waits until [`Door::take`] has something to do.
    pub fn wait(&self) {
        if self.starved {
            // The socket stays readable meanwhile.
            std::thread::sleep(STARVED);
        }
        let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
        let mut until: Option<Instant> = None;
        for (fd, end) in self.knocks.iter().map(Knock::waits_for) {
            fds.push(fd);
            until = Some(until.map_or(end, |until| until.min(end)));
        }
        let timeout = until.map(|until| {
            let time = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
            Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
        });
        // An error is a signal: the caller looks again.
        let _ = poll(&mut fds, timeout.as_ref());
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

    const TIME: Duration = Duration::from_secs(20);

    fn door(places: usize) -> (Door, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("its address");
        (Door::new(listener.into(), [7; 32], places, TIME), address)
    }

    fn knock(address: SocketAddr, secret: u8) -> Knock {
        Knock::at(address, [secret; 32], 5, TIME, TIME).expect("a connection")
    }

    /// Steps both sides until the caller has an outcome, and the door has let it in.
    fn meet(mut caller: Knock, door: &mut Door) -> Option<(Proven, Proven)> {
        let (mut here, mut there) = (Progress::Wait, None);
        while here != Progress::Proven || there.is_none() {
            there = there.or_else(|| door.take());
            if here != Progress::Proven {
                here = caller.step().ok()?;
            }
            if here == Progress::Met {
                caller.go_on().ok()?;
            }
            std::thread::yield_now();
        }
        Some((caller.into_proven()?, there?))
    }

    #[test]
    fn only_who_knows_the_secret_is_let_in() {
        let (mut door, address) = door(8);
        for caller in [knock(address, 7), knock(address, 7).hold()] {
            let (here, there) = meet(caller, &mut door).expect("both know the secret");
            assert_eq!(there.number, 5);
            assert_eq!((here.session.sends, here.session.receives), (there.session.receives, there.session.sends));
        }
        assert!(meet(knock(address, 8), &mut door).is_none());
        drop(door);
        let nobody: std::io::Result<()> = Knock::at(address, [7; 32], 5, TIME, TIME).and_then(|mut knock| {
            loop {
                knock.step()?;
                std::thread::yield_now();
            }
        });
        assert!(nobody.is_err());
    }

    #[test]
    fn words_that_are_cut_off_or_wrong_let_nobody_in() {
        let (mut door, address) = door(8);
        let hello = crate::Keys { me: 0, tokens: vec![[7; 32]; 2] }.hello(1, 5, [1; 16]).encode();
        let mut wrong: Vec<Vec<u8>> = [0, 1, 35, 36].map(|end| hello[..end].to_vec()).into();
        wrong.extend([31, 32].map(|more| [&hello[..], &vec![9; more]].concat()));
        wrong.push(vec![3; 100]);
        for words in wrong {
            let mut stranger = TcpStream::connect(address).expect("it listens");
            stranger.write_all(&words).and_then(|()| stranger.shutdown(Shutdown::Write)).expect("room");
            let mut called = false;
            while !called || !door.knocks.is_empty() {
                assert!(door.take().is_none());
                called |= !door.knocks.is_empty() || words.is_empty() || stranger_is_answered(&stranger);
                std::thread::yield_now();
            }
        }
    }

    /// Whether the door has ended the connection, or has said something.
    fn stranger_is_answered(stranger: &TcpStream) -> bool {
        stranger.set_nonblocking(true).expect("a socket");
        !stranger.peek(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }

    #[test]
    fn strangers_take_no_place_of_a_caller_that_knows_the_secret() {
        let (mut door, address) = door(8);
        // Silent ones, and such as begin well, many more than there are places.
        let mut crowd = Vec::new();
        for number in 0..40 {
            let mut stranger = TcpStream::connect(address).expect("it listens");
            if number % 2 == 0 {
                let hello = crate::Keys { me: 0, tokens: vec![[7; 32]; 2] }.hello(1, 0, [number; 16]);
                stranger.write_all(&hello.encode()).expect("room");
            }
            crowd.push(stranger);
            assert!(door.take().is_none() && door.knocks.len() <= 8);
        }
        assert!(meet(knock(address, 7), &mut door).is_some());
        assert!(door.knocks.len() <= 8);
    }
}
