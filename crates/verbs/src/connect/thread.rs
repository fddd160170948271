//! The thread that hears who calls, answers those that have proven themselves, and watches their sockets.

use super::line::Line;
use super::words::Word;
use super::{Shared, quiet};
use crate::handshake::Answer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tern_counters as counters;
use tern_hca::descriptors;
use tern_proof::{Knock, Progress, gives_way};
use tern_threads::Thread;

/// Looks for a free descriptor after so long, when there was none even to turn somebody away.
const PAUSE: Duration = Duration::from_millis(100);

/// From so many callers on that have not proven themselves, those give way that have had their time.
const MANY: usize = 128;
/// The time that a caller has then.
const TIME: Duration = Duration::from_secs(2);
/// From so many on one gives way to the next one at once ([`gives_way`]). A caller of the job proves itself as soon as it is
/// connected.
const MOST: usize = 1024;

/// One that has called and not proven itself.
struct Caller {
    knock: Knock,
    /// There is no descriptor for it: it is told so.
    turned_away: bool,
    since: Instant,
}

/// A process that has proven itself.
struct Talk {
    line: Line,
    /// What it says that it is.
    number: u32,
    /// Who is at its other end, once it has said what it wants and was taken.
    peer: Option<u32>,
    /// It has said that it ends.
    farewell: bool,
    turned_away: bool,
}

/// A host that the kernel has not heard of for so long is gone: the queue pairs notice sooner where something is under way.
const SILENCE: Duration = Duration::from_secs(600);

pub fn begin(shared: Arc<Shared>, listener: TcpListener) -> io::Result<Thread> {
    Thread::start("tern-connect", 128 << 10, move || serve(&shared, &listener))
}

fn serve(shared: &Shared, listener: &TcpListener) {
    let (mut callers, mut talks): (Vec<Caller>, Vec<Talk>) = (Vec::new(), Vec::new());
    let mut settling = false;
    while !shared.over.load(Ordering::SeqCst) {
        // Who calls while there is no descriptor at all waits.
        let ready = wait(shared, shared.reserve.refill().then_some(listener), &callers, &talks);
        quiet(&shared.wake);
        let mut at = 2;
        let mut is_ready = || {
            at += 1;
            ready.get(at - 1) == Some(&true)
        };
        talks.retain_mut(|talk| !is_ready() || attend(shared, talk));
        talks.extend(hear(&mut callers, is_ready));
        if ready.get(1) == Some(&true) {
            callers.extend(accept(shared, listener));
            limit_callers(&mut callers, MOST);
        }
        for (line, peer) in shared.watched.lock().drain(..) {
            talks.push(Talk { line, number: peer, peer: Some(peer), farewell: false, turned_away: false });
        }
        for peer in shared.abandoned.lock().drain(..) {
            talks.retain(|talk| talk.peer != Some(peer));
        }
        if !settling && shared.settling.load(Ordering::SeqCst) {
            settling = true;
            talks.iter_mut().for_each(|talk| drop(talk.line.say(&[Word::Settled])));
        }
    }
    for talk in &mut talks {
        let _ = talk.line.say(&[Word::Bye]);
    }
}

/// Somebody calls. Without a descriptor for it, it takes the place of the reserve until it has been told so.
fn accept(shared: &Shared, listener: &TcpListener) -> Option<Caller> {
    let accepted = descriptors::obtain(|| listener.accept());
    let turned_away = accepted.as_ref().is_err_and(descriptors::is_shortage);
    let accepted = if turned_away { shared.reserve.give_way(|| listener.accept()) } else { accepted };
    let (socket, _) = accepted.ok()?;
    let knock = Knock::of_caller(socket.into(), shared.token, SILENCE);
    Some(Caller { knock, turned_away, since: Instant::now() })
}

/// Callers that say nothing take no more descriptors than that. They stand in the order in which they have come.
fn limit_callers(callers: &mut Vec<Caller>, most: usize) {
    let before = callers.len();
    if before > MANY {
        callers.retain(|caller| caller.since.elapsed() < TIME);
        // The newest is not asked: it takes the place.
        let old = callers.len().saturating_sub(1);
        if old >= most
            && let Some(at) = gives_way(callers[..old].iter().map(|caller| caller.knock.source()))
        {
            callers.remove(at);
        }
        counters::NETWORK_STRANGERS.add((before - callers.len()) as u64);
    }
}

/// Hears those callers that have said something, and ends those that have had their time. Those who have proven themselves are
/// callers no more.
fn hear(callers: &mut Vec<Caller>, mut is_ready: impl FnMut() -> bool) -> Vec<Talk> {
    let now = Instant::now();
    let mut talks = Vec::new();
    for mut caller in std::mem::take(callers) {
        let due = now >= caller.knock.until();
        match if is_ready() || due { caller.knock.step() } else { Ok(Progress::Wait) } {
            Ok(Progress::Proven) => talks.extend(talk(caller)),
            Ok(_) => callers.push(caller),
            Err(_) => counters::NETWORK_STRANGERS.add(1),
        }
    }
    talks
}

fn talk(caller: Caller) -> Option<Talk> {
    let Caller { knock, turned_away, .. } = caller;
    let proven = knock.into_proven()?;
    let number = proven.number;
    Some(Talk { line: Line::new(proven).ok()?, number, peer: None, farewell: false, turned_away })
}

/// Waits for something to do; tells for wake, listener, each of those who talk and each caller whether there is.
fn wait(shared: &Shared, listener: Option<&TcpListener>, callers: &[Caller], talks: &[Talk]) -> Vec<bool> {
    let nobody = PollFlags::empty();
    let mut patience = if listener.is_none() { Some(PAUSE) } else { None };
    let listener = listener.map_or(PollFd::new(&shared.wake, nobody), |listener| PollFd::new(listener, PollFlags::IN));
    let mut descriptors = vec![PollFd::new(&shared.wake, PollFlags::IN), listener];
    descriptors.extend(talks.iter().map(|talk| PollFd::new(&talk.line.socket, PollFlags::IN)));
    for (descriptor, until) in callers.iter().map(|caller| caller.knock.waits_for()) {
        descriptors.push(descriptor);
        let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        patience = Some(patience.map_or(left, |patience| patience.min(left)));
    }
    // An error is a signal: look again.
    let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
    let _ = poll(&mut descriptors, patience.as_ref());
    descriptors.iter().map(|descriptor| !descriptor.revents().is_empty()).collect()
}

/// Reads from a line and answers; false when it has ended.
fn attend(shared: &Shared, talk: &mut Talk) -> bool {
    let read = |talk: &mut Talk| -> io::Result<bool> {
        let alive = talk.line.read()?;
        while let Some(word) = talk.line.take()? {
            answer(shared, talk, &word)?;
        }
        Ok(alive)
    };
    let alive = match read(talk) {
        Ok(alive) => alive,
        Err(error) => error.kind() == io::ErrorKind::Interrupted,
    };
    if let Some(peer) = talk.peer.filter(|_| !alive) {
        shared.end(peer, talk.farewell);
    }
    alive
}

/// Answers a word. An error ends the line.
fn answer(shared: &Shared, talk: &mut Talk, word: &Word) -> io::Result<()> {
    let peer = match (word, talk.peer) {
        (Word::Hello(_), None) => {
            if talk.turned_away {
                let why = descriptors::shortage().unwrap_or_default();
                shared.turn_away(talk.number, &why);
                return refuse(talk, &why);
            }
            talk.number
        }
        (_, Some(peer)) => peer,
        (_, None) => return Err(io::Error::other("a word before hello")),
    };
    talk.farewell |= *word == Word::Bye;
    let answer = match shared.hear(peer, word) {
        Ok(answer) => answer,
        Err(why) => return refuse(talk, &why),
    };
    match answer {
        Answer::Welcome => {
            talk.peer = Some(peer);
            let address = shared.own_end(peer).expect("made with the entry");
            talk.line.say(&[Word::Welcome(shared.terms, address)])
        }
        Answer::Decline => talk.line.say(&[Word::Declined]),
        Answer::Ready | Answer::Nothing => Ok(()),
    }
}

/// Tells a caller why its call is not answered, and ends the line.
fn refuse(talk: &mut Talk, why: &str) -> io::Result<()> {
    talk.line.say(&[Word::Refused(why.into())])?;
    Err(io::Error::other(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_caller_stays() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = std::net::TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        let mut callers = Vec::new();
        let most = MANY + 20;
        for number in 0..most + 20 {
            let socket = socket.try_clone().expect("a descriptor");
            let knock = Knock::of_caller(socket.into(), [7; 32], SILENCE);
            // A call that is turned away stands for the newest one here.
            callers.push(Caller { knock, turned_away: true, since: Instant::now() });
            limit_callers(&mut callers, most);
            assert!(callers.len() <= most, "{number}");
            assert!(callers.last().is_some_and(|caller| caller.turned_away));
            callers.last_mut().expect("it is there").turned_away = false;
        }
    }
}
