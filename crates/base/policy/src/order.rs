//! Whether to look for messages pays when receives are started.

use crate::rules;

/// In which order the program starts what it then waits for.
#[derive(Debug, Default)]
pub struct Order {
    /// A message was sent since the last receive was started.
    sent: bool,
    /// So it was the last time that the program waited.
    ends_with_sends: bool,
}

impl Order {
    /// A receive is started. True when its message had better be looked for at once: not where sends follow, which wait for that, and
    /// with them the peers, which most likely do the same.
    #[inline]
    pub fn receive(&mut self) -> bool {
        self.sent = false;
        !(self.ends_with_sends && rules::HABITS.applies())
    }

    /// A message is sent.
    #[inline]
    pub fn send(&mut self) {
        self.sent = true;
    }

    /// The program begins to wait for requests.
    #[inline]
    pub fn wait(&mut self) {
        self.ends_with_sends = self.sent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sends_after_starting_receives_does_not_look_for_messages() {
        let mut order = Order::default();
        // As the receiver of a stream, which answers at its end.
        for _ in 0..3 {
            (0..4).for_each(|_| assert!(order.receive()));
            order.wait();
            order.send();
        }
        // With neighbours.
        for round in 0..3 {
            (0..4).for_each(|_| assert_eq!(order.receive(), round == 0));
            (0..4).for_each(|_| order.send());
            order.wait();
        }
        // Sends first.
        for round in 0..3 {
            (0..4).for_each(|_| order.send());
            (0..4).for_each(|_| assert_eq!(order.receive(), round > 0));
            order.wait();
        }
    }
}
