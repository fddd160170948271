//! The thread that answers calls and watches the sockets of those that have called.

use super::words::{self, Word};
use super::{Shared, quiet, read_some};
use crate::handshake::Answer;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{Builder, JoinHandle};

/// A socket, and what has been read of a word that is not whole yet.
struct Line {
    socket: TcpStream,
    bytes: Vec<u8>,
    /// Who is at its other end, once it has said so.
    peer: Option<u32>,
    /// It has said that it ends.
    farewell: bool,
}

pub fn begin(shared: Arc<Shared>, listener: TcpListener) -> io::Result<JoinHandle<()>> {
    let thread = Builder::new().name("tern-connect".into()).stack_size(128 << 10);
    thread.spawn(move || {
        without_signals();
        serve(&shared, &listener);
    })
}

/// Signals are for the program's own threads.
fn without_signals() {
    // SAFETY: a set on the stack, filled before it is used.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}

fn serve(shared: &Shared, listener: &TcpListener) {
    let mut lines: Vec<Line> = Vec::new();
    let mut settling = false;
    while !shared.over.load(Ordering::SeqCst) {
        let ready = wait(shared, listener, &lines);
        quiet(&shared.wake);
        let mut index = 0;
        lines.retain_mut(|line| {
            index += 1;
            !ready.get(index + 1).is_some_and(|&ready| ready) || attend(shared, line)
        });
        if ready.get(1) == Some(&true)
            && let Ok((socket, _)) = listener.accept()
        {
            let _ = socket.set_nodelay(true);
            lines.push(Line { socket, bytes: Vec::new(), peer: None, farewell: false });
        }
        for (socket, peer) in shared.watched.lock().drain(..) {
            lines.push(Line { socket, bytes: Vec::new(), peer: Some(peer), farewell: false });
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

/// Waits for something to do; tells for wake, listener and each line whether there is.
fn wait(shared: &Shared, listener: &TcpListener, lines: &[Line]) -> Vec<bool> {
    let mut descriptors =
        vec![PollFd::new(&shared.wake, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
    descriptors.extend(lines.iter().map(|line| PollFd::new(&line.socket, PollFlags::IN)));
    // An error is a signal: look again.
    let _ = poll(&mut descriptors, None);
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
    if let (false, Some(peer)) = (alive, line.peer) {
        shared.end(peer, line.farewell);
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
            hello.from
        }
        (_, Some(peer)) => peer,
        (_, None) => return Err(io::Error::other("a word before hello")),
    };
    line.farewell |= *word == Word::Bye;
    match shared.hear(peer, word).map_err(io::Error::other)? {
        Answer::Welcome => {
            line.peer = Some(peer);
            let address = shared.own_end(peer).expect("made with the entry");
            line.socket.write_all(&Word::Welcome(shared.terms, address).encode())
        }
        Answer::Decline => line.socket.write_all(&Word::Declined.encode()),
        Answer::Ready | Answer::Nothing => Ok(()),
    }
}
