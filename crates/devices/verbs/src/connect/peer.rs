//! What is known of a peer.

use super::end::End;
use super::{Connected, Terms};
use crate::handshake::{Answer, Event, State};
use crate::transport::Sending;
use tern_hca::{CallingEnd, Connection};

/// A peer that somebody has called, or is about to.
pub struct Peer {
    pub state: State,
    pub end: Option<End>,
    /// The call that counts is this process's.
    pub is_caller: bool,
    /// The program waits for the connection: a call that fails is a loss.
    pub is_needed: bool,
    /// Calls that no machine has answered, one after the other.
    pub unanswered: u32,
    /// Once it is connected.
    pub sending: Option<Sending>,
    pub terms: Terms,
    /// It has sent all that it had to send.
    pub settled: bool,
    /// Why it is lost.
    pub why: String,
    /// It has ended as it should.
    pub left: bool,
    /// The socket to it has ended on its side: it is gone, or knows that this process has given it up.
    pub line_ended: bool,
}

impl Peer {
    pub fn new() -> Peer {
        Peer {
            state: State::Apart,
            end: None,
            is_caller: false,
            is_needed: false,
            unanswered: 0,
            sending: None,
            terms: Terms::default(),
            settled: false,
            why: String::new(),
            left: false,
            line_ended: false,
        }
    }

    /// What to answer to an event; `lower`: the number of this process is below the peer's.
    pub fn happens(&mut self, event: Event, lower: bool) -> Answer {
        let (state, answer) = self.state.after(event, lower);
        self.state = state;
        answer
    }

    /// Connects the end to that of the peer, which grants those terms; `caller`: this process has called.
    ///
    /// Errors: the queue pair cannot be connected.
    pub fn connect(
        &mut self, terms: Terms, address: &[u8], caller: bool, connection: &Connection,
    ) -> Result<(), String> {
        (self.terms, self.is_caller) = (terms, caller);
        let end = self.end.as_ref().expect("made with the entry");
        // The direction in which the call has passed is open.
        let calling = if caller { CallingEnd::This } else { CallingEnd::Other };
        self.sending = Some(end.connect(address, &Connection { calling, ..*connection })?);
        Ok(())
    }

    /// What a lost peer is told.
    pub fn given_up(&self) -> String {
        format!("it has given this process up: {}", self.why)
    }

    pub fn lose(&mut self, why: String) {
        (self.state, self.why) = (State::Lost, why);
        self.end.iter().for_each(End::give_up);
    }

    pub fn connected(&self) -> Option<Connected> {
        let sending = self.sending.clone().filter(|_| self.end.as_ref().is_some_and(End::is_connected))?;
        Some(Connected { sending, terms: self.terms })
    }
}
