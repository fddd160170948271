//! Part of the engine: which peers wait for the next message, and for which of them this process waits with a ready-to-receive flag.

use crate::Proc;
use tern_policy::ReadyPredictor;

/// What is known of peers that wait, and what this process has told them.
#[derive(Debug, Default)]
pub struct ReadyToReceive {
    /// Of each peer, whether it waits for the next message most likely.
    peers: Vec<ReadyPredictor>,
    /// The sender that this process has told that it is ready: the receive under way is not published.
    told: Option<Proc>,
    /// The last send to a peer that was predicted to be ready, and the looks at everything before it.
    predicted: Option<(u32, u32)>,
}

impl ReadyToReceive {
    fn peer(&mut self, peer: Proc) -> &mut ReadyPredictor {
        let at = peer as usize;
        if self.peers.len() <= at {
            self.peers.resize(at + 1, ReadyPredictor::default());
        }
        &mut self.peers[at]
    }

    // ---- the sender

    /// Whether `to` was ready so often in a row that it is taken to be.
    pub fn predicts(&mut self, to: Proc) -> bool {
        self.peer(to).predicts()
    }

    /// A look has shown whether `to` is ready.
    pub fn see(&mut self, to: Proc, ready: bool) {
        self.peer(to).see(ready);
    }

    /// Send `request` has gone to a peer that was predicted to be ready, after so many `looks` at everything.
    pub fn note_predicted(&mut self, request: u32, looks: u32) {
        self.predicted = Some((request, looks));
    }

    /// Peer `from` has the message of send `request`, after so many `looks`. `kept`: it did not wait for it.
    pub fn judge(&mut self, from: Proc, request: u32, kept: bool, looks: u32) {
        if let Some((_, before)) = self.predicted.take_if(|&mut (predicted, _)| predicted == request) {
            let waited = !kept && ReadyPredictor::is_in_time(looks.wrapping_sub(before));
            self.peer(from).judge(waited);
        }
    }

    // ---- the receiver

    /// `from` was told that this process is ready.
    pub fn tell(&mut self, from: Proc) {
        self.told = Some(from);
    }

    /// The sender that was told so, and is to be told otherwise.
    #[inline]
    pub fn take_told(&mut self) -> Option<Proc> {
        self.told.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_told_is_told_otherwise_once() {
        let mut ready = ReadyToReceive::default();
        assert_eq!(ready.take_told(), None);
        ready.tell(2);
        assert_eq!((ready.take_told(), ready.take_told()), (Some(2), None));
    }

    #[test]
    fn a_peer_that_was_predicted_to_wait_and_did_not_is_looked_at_again() {
        let mut ready = ReadyToReceive::default();
        assert!(!ready.predicts(2));
        (0..100).for_each(|_| ready.see(2, true));
        assert!(ready.predicts(2) && !ready.predicts(1));
        ready.note_predicted(7, u32::MAX);
        ready.judge(2, 8, true, 0);
        assert!(ready.predicts(2), "that was another message");
        ready.judge(2, 7, false, 10);
        assert!(ready.predicts(2), "in time");
        ready.note_predicted(7, 0);
        ready.judge(2, 7, true, 10);
        assert!(!ready.predicts(2), "it did not wait");
    }
}
