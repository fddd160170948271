//! The thread that answers calls and watches the sockets of those that have called.

use super::words::{self, Word};
use super::{Shared, quiet, read_some};
use crate::handshake::Answer;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tern_counters as counters;
use tern_hca::descriptors;
use tern_threads::Thread;

/// Looks for a free descriptor after so long, when there was none even to turn somebody away.
const PAUSE: Duration = Duration::from_millis(100);

/// From so many callers on that have not said which process they are, those give way that have had their time.
const MANY: usize = 128;
/// The time that a caller has then.
const TIME: Duration = Duration::from_secs(2);
/// From so many on the oldest gives way to the next one at once. A caller of the job says who it is as soon as it is connected.
const MOST: usize = 1024;

/// A socket, and what has been read of a word that is not whole yet.
struct Line {
    socket: TcpStream,
    bytes: Vec<u8>,
    /// Who is at its other end, once it has said so.
    peer: Option<u32>,
    /// It has said that it ends.
    farewell: bool,
    /// There is no descriptor for it: it is told so.
    turned_away: bool,
    since: Instant,
}

impl Line {
    fn new(socket: TcpStream, peer: Option<u32>) -> Line {
        Line { socket, bytes: Vec::new(), peer, farewell: false, turned_away: false, since: Instant::now() }
    }
}

pub fn begin(shared: Arc<Shared>, listener: TcpListener) -> io::Result<Thread> {
    Thread::start("tern-connect", 128 << 10, move || serve(&shared, &listener))
}

fn serve(shared: &Shared, listener: &TcpListener) {
    let mut lines: Vec<Line> = Vec::new();
    let mut settling = false;
    while !shared.over.load(Ordering::SeqCst) {
        // Who calls while there is no descriptor at all waits.
        let ready = wait(shared, shared.reserve.refill().then_some(listener), &lines);
        quiet(&shared.wake);
        let mut index = 0;
        lines.retain_mut(|line| {
            index += 1;
            !ready.get(index + 1).is_some_and(|&ready| ready) || attend(shared, line)
        });
        if ready.get(1) == Some(&true) {
            lines.extend(accept(shared, listener));
            limit_strangers(&mut lines, MOST);
        }
        for (socket, peer) in shared.watched.lock().drain(..) {
            lines.push(Line::new(socket, Some(peer)));
        }
        for peer in shared.abandoned.lock().drain(..) {
            lines.retain(|line| line.peer != Some(peer));
        }
        if !settling && shared.settling.load(Ordering::SeqCst) {
            settling = true;
            lines.iter_mut().for_each(|line| drop(line.socket.write_all(&Word::Settled.encode())));
        }
    }
    for line in &mut lines {
        let _ = line.socket.write_all(&Word::Bye.encode());
    }
}

/// Somebody calls. Without a descriptor for it, it takes the place of the reserve until it has been told so.
fn accept(shared: &Shared, listener: &TcpListener) -> Option<Line> {
    let accepted = descriptors::obtain(|| listener.accept());
    let turned_away = accepted.as_ref().is_err_and(descriptors::is_shortage);
    let accepted = if turned_away { shared.reserve.give_way(|| listener.accept()) } else { accepted };
    let (socket, _) = accepted.ok()?;
    let _ = socket.set_nodelay(true);
    Some(Line { turned_away, ..Line::new(socket, None) })
}

/// Callers that say nothing take no more descriptors than that. They stand in the order in which they have come.
fn limit_strangers(lines: &mut Vec<Line>, most: usize) {
    let strangers = |lines: &[Line]| lines.iter().filter(|line| line.peer.is_none()).count();
    let before = lines.len();
    if strangers(lines) > MANY {
        lines.retain(|line| line.peer.is_some() || line.since.elapsed() < TIME);
        if strangers(lines) > most
            && let Some(oldest) = lines.iter().position(|line| line.peer.is_none())
        {
            lines.remove(oldest);
        }
        counters::NETWORK_STRANGERS.add((before - lines.len()) as u64);
    }
}

/// Waits for something to do; tells for wake, listener and each line whether there is.
fn wait(shared: &Shared, listener: Option<&TcpListener>, lines: &[Line]) -> Vec<bool> {
    let patience = if listener.is_none() { Some(PAUSE) } else { None };
    let nobody = PollFlags::empty();
    let listener = listener.map_or(PollFd::new(&shared.wake, nobody), |listener| PollFd::new(listener, PollFlags::IN));
    let mut descriptors = vec![PollFd::new(&shared.wake, PollFlags::IN), listener];
    descriptors.extend(lines.iter().map(|line| PollFd::new(&line.socket, PollFlags::IN)));
    // An error is a signal: look again.
    let patience = patience.and_then(|patience| patience.try_into().ok());
    let _ = poll(&mut descriptors, patience.as_ref());
    descriptors.iter().map(|descriptor| !descriptor.revents().is_empty()).collect()
}

/// Reads from a line and answers; false when it has ended.
fn attend(shared: &Shared, line: &mut Line) -> bool {
    let talk = |line: &mut Line| -> io::Result<bool> {
        let alive = read_some(&mut line.socket, &mut line.bytes)? > 0;
        while let Some(word) = words::take(&mut line.bytes)? {
            answer(shared, line, &word)?;
        }
        Ok(alive)
    };
    let alive = match talk(line) {
        Ok(alive) => alive,
        Err(error) => error.kind() == io::ErrorKind::Interrupted,
    };
    match line.peer {
        Some(peer) if !alive => shared.end(peer, line.farewell),
        None if !alive => counters::NETWORK_STRANGERS.add(1),
        _ => {}
    }
    alive
}

/// Answers a word. An error ends the line.
fn answer(shared: &Shared, line: &mut Line, word: &Word) -> io::Result<()> {
    let peer = match (word, line.peer) {
        (Word::Hello(hello), None) => {
            if hello.token != shared.token || hello.to != shared.me {
                return Err(io::Error::other("the call is for another process"));
            }
            if line.turned_away {
                let why = descriptors::shortage().unwrap_or_default();
                shared.turn_away(hello.from, &why);
                return refuse(line, &why);
            }
            hello.from
        }
        (_, Some(peer)) => peer,
        (_, None) => return Err(io::Error::other("a word before hello")),
    };
    line.farewell |= *word == Word::Bye;
    let answer = match shared.hear(peer, word) {
        Ok(answer) => answer,
        Err(why) => return refuse(line, &why),
    };
    match answer {
        Answer::Welcome => {
            line.peer = Some(peer);
            let address = shared.own_end(peer).expect("made with the entry");
            line.socket.write_all(&Word::Welcome(shared.terms, address).encode())
        }
        Answer::Decline => line.socket.write_all(&Word::Declined.encode()),
        Answer::Ready | Answer::Nothing => Ok(()),
    }
}

/// Tells a caller why its call is not answered, and ends the line.
fn refuse(line: &mut Line, why: &str) -> io::Result<()> {
    line.socket.write_all(&Word::Refused(why.into()).encode())?;
    Err(io::Error::other(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_caller_and_known_peers_stay() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        let line = |peer| Line::new(socket.try_clone().expect("a descriptor"), peer);
        let mut lines = vec![line(Some(7))];
        let most = MANY + 20;
        for number in 0..most + 20 {
            // A call that is turned away stands for the newest one here.
            lines.push(Line { turned_away: true, ..line(None) });
            limit_strangers(&mut lines, most);
            assert!(lines.len() <= most + 1, "{number}");
            assert!(lines[0].peer == Some(7) && lines.last().is_some_and(|line| line.turned_away));
            lines.last_mut().expect("it is there").turned_away = false;
        }
    }
}
