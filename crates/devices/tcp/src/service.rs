//! The thread of the device: it makes connections, and writes what sockets took in part.
//!
//! The process and its thread meet in [`Shared`]. The process asks for connections and leaves outlets to be looked
//! after; the thread leaves what has come of that, and rings.

use crate::call::Call;
use crate::further::{Further, MOST};
use crate::outlet::{Flushed, Outlet};
use crate::shared::{Shared, Sign};
use crate::vigil::Vigil;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tern_counters as counters;
use tern_proof::{End, Hello, PROOF_TIME, Shake, Stage, Step, Verdict, gives_way, prepare};

/// What a process that goes on calling the library writes by itself.
const NAP: Duration = Duration::from_millis(1);
/// Callers that have not proven themselves yet, at a time, beside the processes that may all call at once.
const MOST_STRANGERS: usize = 256;

/// What the thread knows.
pub struct Service {
    shared: Arc<Shared>,
    listener: OwnedFd,
    /// Those who have called and not proven themselves, the oldest first.
    strangers: Vec<Shake>,
    calls: HashMap<u32, Call>,
    /// Peers that there is a connection to, and that are called for more.
    further: Vec<Further>,
    /// Outlets, and whether the process has had its time.
    outlets: Vec<(Arc<Outlet>, bool)>,
    vigil: Vigil,
}

impl Service {
    pub fn new(shared: Arc<Shared>, listener: OwnedFd) -> Service {
        let vigil = Vigil::new(shared.silence);
        let (strangers, further, outlets) = (Vec::new(), Vec::new(), Vec::new());
        Service { shared, listener, strangers, calls: HashMap::new(), further, outlets, vigil }
    }

    /// What the thread does, until it is stopped.
    pub fn run(mut self) {
        while self.take_orders() {
            self.begin_calls();
            let ready = self.wait();
            if ready.listener {
                self.accept();
            }
            self.hear_strangers();
            self.go_on_calling();
            self.further.retain_mut(|further| further.go_on(&self.shared.keys, self.shared.silence));
            self.write_outlets();
            self.vigil.look(Instant::now());
        }
    }

    /// False when it is over.
    fn take_orders(&mut self) -> bool {
        let mut state = self.shared.state();
        let now = Instant::now();
        for peer in std::mem::take(&mut state.wanted) {
            self.calls.insert(peer, Call::new(now, self.shared.peers[peer as usize].len(), self.shared.silence));
        }
        for (peer, outlet) in std::mem::take(&mut state.spreading) {
            self.further.push(Further::new(peer, outlet, &self.shared.peers[peer as usize]));
        }
        let hurry = std::mem::take(&mut state.hurry);
        self.outlets.extend(state.outlets.drain(..).map(|outlet| (outlet, false)));
        if hurry {
            self.outlets.iter_mut().for_each(|(_, due)| *due = true);
        }
        !state.over
    }

    /// Starts what is due, and gives up what has taken too long.
    fn begin_calls(&mut self) {
        let now = Instant::now();
        let shared = &self.shared;
        self.calls.retain(|&peer, call| {
            let mut state = shared.state();
            if state.known.contains(&peer) {
                // The peer was quicker.
                state.calling.remove(&peer);
                return false;
            }
            drop(state);
            if call.shake.is_none() && now >= call.until() {
                shared.give_up(peer, call.why(&shared.peers[peer as usize]), call.sign());
                return false;
            }
            if call.shake.is_none() && now >= call.again {
                call.begin(&shared.peers[peer as usize], shared.silence);
            }
            true
        });
    }

    /// Waits until something is ready, or due.
    fn wait(&mut self) -> Ready {
        let mut fds = vec![PollFd::new(&self.shared.wake, PollFlags::IN), PollFd::new(&self.listener, PollFlags::IN)];
        let mut until: Option<Instant> = None;
        let mut sooner = |at: Instant| until = Some(until.map_or(at, |until| until.min(at)));
        let calls = self.calls.values();
        let shakes = self.strangers.iter().chain(calls.clone().filter_map(|call| call.shake.as_ref()));
        for shake in shakes.chain(self.further.iter().filter_map(Further::shake)) {
            fds.push(PollFd::new(&shake.socket, shake.events()));
            sooner(shake.until);
        }
        calls.filter(|call| call.shake.is_none()).for_each(|call| sooner(call.again.min(call.until())));
        let due = self.outlets.iter().filter(|(_, due)| *due).map(|(outlet, _)| (outlet, outlet.waiting()));
        let due: Vec<_> = due.collect();
        for (outlet, (first, further)) in &due {
            fds.extend(first.then(|| PollFd::new(&outlet.socket, PollFlags::OUT)));
            fds.extend(further.iter().map(|socket| PollFd::new(socket, PollFlags::OUT)));
        }
        if due.len() < self.outlets.len() {
            sooner(Instant::now() + NAP);
        }
        self.vigil.due().into_iter().for_each(&mut sooner);
        let timeout = until.map(|until| {
            let time = until.saturating_duration_since(Instant::now()) + Duration::from_micros(1);
            Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos() as i64 }
        });
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return Ready { listener: false };
        }
        let ready = |at: usize| !fds[at].revents().is_empty();
        let (woken, listener) = (ready(0), ready(1));
        if woken {
            let _ = rustix::io::read(&self.shared.wake, &mut [0u8; 8]);
        }
        for (outlet, due) in &mut self.outlets {
            // A process that goes on writing needs no help.
            *due |= !outlet.was_touched();
        }
        Ready { listener }
    }

    fn accept(&mut self) {
        let most = MOST_STRANGERS + self.shared.peers.len();
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // A flood of callers does not keep those from being heard that are here.
        for _ in 0..most {
            match rustix::net::accept_with(&self.listener, flags) {
                Ok(socket) => {
                    if self.strangers.len() >= most {
                        self.give_way();
                    }
                    let _ = prepare(&socket, self.shared.silence);
                    self.strangers.push(Shake::new(socket, Stage::Hello, PROOF_TIME));
                }
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                // There is no descriptor for the next one.
                Err(Errno::MFILE | Errno::NFILE) if !self.strangers.is_empty() => self.give_way(),
                Err(_) => return,
            }
        }
    }

    /// One that has not proven itself makes room for the next caller.
    fn give_way(&mut self) {
        if let Some(at) = gives_way(self.strangers.iter().map(|shake| shake.source)) {
            self.strangers.remove(at);
            counters::NETWORK_STRANGERS.add(1);
        }
    }

    fn hear_strangers(&mut self) {
        let now = Instant::now();
        for mut shake in std::mem::take(&mut self.strangers) {
            match shake.step(&self.shared.keys, 0) {
                Ok(Step::Caller(hello)) if hello.wire > 0 => self.take_further(&hello, shake),
                Ok(Step::Caller(hello)) => self.decide(hello.from, shake),
                Ok(_) if now < shake.until => self.strangers.push(shake),
                Ok(_) | Err(_) => counters::NETWORK_STRANGERS.add(1),
            }
        }
    }

    /// Takes a proven caller, or tells it that this side calls, too: of two that call each other the call of the lower
    /// rank goes on, unless nobody over there has answered it yet. It may never arrive, as through a firewall. A caller
    /// that the process has counted as lost is told that, since nothing would ever be sent to it.
    fn decide(&mut self, peer: u32, shake: Shake) {
        let is_heard = self.calls.get(&peer).is_some_and(Call::is_heard);
        let mut state = self.shared.state();
        let own_goes_on = is_heard && self.shared.keys.me < peer;
        let verdict = if state.lost.contains(&peer) {
            Verdict::GivenUp
        } else if own_goes_on || state.known.contains(&peer) {
            Verdict::CallsItself
        } else {
            Verdict::Taken
        };
        if shake.say(&[verdict as u8]).is_err() || verdict != Verdict::Taken {
            return;
        }
        state.known.insert(peer);
        state.calling.remove(&peer);
        drop(state);
        self.calls.remove(&peer);
        self.vigil.watch(&self.shared.open(peer, shake.socket));
    }

    /// Takes a further connection of a peer.
    fn take_further(&self, hello: &Hello, shake: Shake) {
        let mut state = self.shared.state();
        let taken = hello.wire <= MOST && state.known.contains(&hello.from);
        let verdict = if taken { Verdict::Taken } else { Verdict::CallsItself };
        if shake.say(&[verdict as u8]).is_ok() && taken {
            state.further.push((hello.from, shake.socket));
            drop(state);
            self.shared.tell();
        }
    }

    fn go_on_calling(&mut self) {
        let now = Instant::now();
        let (mut opened, mut given_up) = (Vec::new(), Vec::new());
        for (&peer, call) in &mut self.calls {
            let Some(shake) = &mut call.shake else { continue };
            match shake.step(&self.shared.keys, peer) {
                Ok(Step::Verdict(Verdict::Taken)) => opened.push(peer),
                // Its own call comes.
                Ok(Step::Verdict(Verdict::CallsItself)) => call.wait_for_theirs(),
                Ok(Step::Verdict(Verdict::GivenUp)) => given_up.push(peer),
                Ok(_) if now < shake.until => {}
                Ok(_) => call.next(&self.shared.peers[peer as usize], "no answer"),
                Err(End::Broken(error)) => {
                    let error = std::io::Error::from(error).to_string();
                    call.next(&self.shared.peers[peer as usize], &error);
                }
                Err(End::Stranger) => {
                    call.next(&self.shared.peers[peer as usize], "somebody else answers there");
                }
            }
        }
        for peer in given_up {
            self.calls.remove(&peer);
            let why = "it could not call this process over TCP, and has given it up";
            self.shared.give_up(peer, why.into(), Sign::GaveUp);
        }
        for peer in opened {
            let call = self.calls.remove(&peer).expect("it was under way");
            let shake = call.shake.expect("it was under way");
            let mut state = self.shared.state();
            state.calling.remove(&peer);
            let fresh = state.known.insert(peer);
            drop(state);
            if fresh {
                self.vigil.watch(&self.shared.open(peer, shake.socket));
            }
        }
    }

    /// Writes what is left, where the process has not done so by itself.
    fn write_outlets(&mut self) {
        let shared = &self.shared;
        self.outlets.retain(|(outlet, due)| {
            if !due {
                return true;
            }
            // An end is seen by who reads.
            let (flushed, finished) = outlet.flush_for().unwrap_or((Flushed::EMPTY, false));
            if finished {
                shared.ring();
            }
            !(flushed.empty && has_room(&outlet.socket) && shared.unwatch(outlet))
        });
    }
}

struct Ready {
    listener: bool,
}

fn has_room(socket: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::OUT)], Some(&now)).is_ok_and(|ready| ready > 0)
}
