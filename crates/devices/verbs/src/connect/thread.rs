//! The thread that makes this process's calls, hears who calls, answers those that have proven themselves, and watches their sockets.

use super::call::Call;
use super::line::Line;
use super::words::Word;
use super::{SILENCE, Shared, quiet};
use crate::handshake::Answer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{Shutdown, TcpListener};
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
    /// This process has called.
    own: bool,
    /// It was called, and has to answer until then.
    answers_until: Option<Instant>,
}

impl Talk {
    /// With a process that this one has called, and has said hello to.
    fn of_call(line: Line, peer: u32, until: Instant) -> Talk {
        let answers_until = Some(until);
        Talk { line, number: peer, peer: Some(peer), farewell: false, turned_away: false, own: true, answers_until }
    }
}

pub fn begin(shared: Arc<Shared>, listener: TcpListener) -> io::Result<Thread> {
    Thread::start("tern-connect", 128 << 10, move || serve(&shared, &listener))
}

fn serve(shared: &Shared, listener: &TcpListener) {
    let (mut callers, mut calls, mut talks): (Vec<Caller>, Vec<Call>, Vec<Talk>) = (Vec::new(), Vec::new(), Vec::new());
    let mut settling = false;
    while !shared.over.load(Ordering::SeqCst) {
        // Who calls while there is no descriptor at all waits.
        let ready = wait(shared, shared.reserve.refill().then_some(listener), &callers, &calls, &talks);
        quiet(&shared.wake);
        let mut at = 2;
        let mut is_ready = || {
            at += 1;
            ready.get(at - 1) == Some(&true)
        };
        talks.retain_mut(|talk| (!is_ready() || attend(shared, talk)) && answers(shared, talk));
        talks.extend(hear(&mut callers, &mut is_ready));
        talks.extend(go_on_calling(shared, &mut calls, is_ready));
        if ready.get(1) == Some(&true) {
            callers.extend(accept(shared, listener));
            limit_callers(&mut callers, MOST);
        }
        let wanted = std::mem::take(&mut *shared.wanted.lock());
        calls.extend(wanted.into_iter().filter_map(|wanted| Call::begin(shared, wanted)));
        for peer in shared.abandoned.lock().drain(..) {
            // The peer ends its side, too: then it knows.
            let ended = talks.iter().filter(|talk| talk.peer == Some(peer));
            ended.for_each(|talk| _ = talk.line.socket.shutdown(Shutdown::Write));
        }
        if !settling && shared.settling.load(Ordering::SeqCst) {
            settling = true;
            talks.iter_mut().for_each(|talk| drop(talk.line.say(&[Word::Settled])));
        }
        // SeqCst: pairs with the store in `say_farewell`, and the one below with its load there.
        if shared.parting.swap(false, Ordering::SeqCst) {
            talks.iter_mut().for_each(|talk| drop(talk.line.say(&[Word::Bye])));
            shared.parted.store(true, Ordering::SeqCst);
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
    let line = Line::new(proven).ok()?;
    Some(Talk { line, number, peer: None, farewell: false, turned_away, own: false, answers_until: None })
}

/// Goes on with the calls about which there is news. Those that have said hello are calls no more.
fn go_on_calling(shared: &Shared, calls: &mut Vec<Call>, mut is_ready: impl FnMut() -> bool) -> Vec<Talk> {
    let mut talks = Vec::new();
    for mut call in std::mem::take(calls) {
        match if is_ready() || call.is_due() { call.knock.step() } else { Ok(Progress::Wait) } {
            Ok(Progress::Proven) => {
                let peer = call.peer;
                let line = call.say_hello(shared);
                talks.extend(line.map(|line| Talk::of_call(line, peer, Instant::now() + shared.patience)));
            }
            Ok(_) => calls.push(call),
            Err(error) => call.fail(shared, &error),
        }
    }
    talks
}

/// False: the peer was called, and its time to answer is over.
fn answers(shared: &Shared, talk: &Talk) -> bool {
    let is_late = talk.answers_until.is_some_and(|until| Instant::now() >= until);
    if is_late {
        shared.unanswered(talk.number, format!("it did not answer within {} s", shared.patience.as_secs()));
    }
    !is_late
}

/// Waits for something to do; tells for wake, listener, each of those who talk, each caller and each call whether there is.
fn wait(
    shared: &Shared, listener: Option<&TcpListener>, callers: &[Caller], calls: &[Call], talks: &[Talk],
) -> Vec<bool> {
    let nobody = PollFlags::empty();
    let waits_for_descriptor = listener.is_none() || !shared.wanted.lock().is_empty();
    let mut patience = waits_for_descriptor.then_some(PAUSE);
    let listener = listener.map_or(PollFd::new(&shared.wake, nobody), |listener| PollFd::new(listener, PollFlags::IN));
    let mut descriptors = vec![PollFd::new(&shared.wake, PollFlags::IN), listener];
    descriptors.extend(talks.iter().map(|talk| PollFd::new(&talk.line.socket, PollFlags::IN)));
    let mut due = talks.iter().filter_map(|talk| talk.answers_until).min();
    let knocks = callers.iter().map(|caller| &caller.knock).chain(calls.iter().map(|call| &call.knock));
    for (descriptor, until) in knocks.map(Knock::waits_for) {
        descriptors.push(descriptor);
        due = Some(due.map_or(until, |due| due.min(until)));
    }
    if let Some(due) = due {
        let left = due.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
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
        shared.end(peer, talk.own, talk.farewell);
    }
    alive
}

/// Answers a word. An error ends the line.
fn answer(shared: &Shared, talk: &mut Talk, word: &Word) -> io::Result<()> {
    let (peer, is_vain) = match (word, talk.peer) {
        (Word::Hello(_), None) => (talk.number, talk.turned_away),
        (_, Some(peer)) => (peer, false),
        (_, None) => return Err(io::Error::other("a word before hello")),
    };
    talk.farewell |= *word == Word::Bye;
    talk.answers_until = None;
    let heard = match is_vain {
        true => shared.turn_away(peer, &descriptors::shortage().unwrap_or_default()),
        false => shared.hear(peer, talk.own, word),
    };
    let answer = match heard {
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
        Answer::Ready => talk.line.say(&[Word::Ready]),
        Answer::Nothing if *word == Word::Declined => {
            // The peer calls by itself; the end of this line says nothing of that.
            talk.peer = None;
            Err(io::Error::other("the call was declined"))
        }
        Answer::Nothing | Answer::Lose => Ok(()),
        Answer::Refuse => unreachable!("told as an error"),
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
