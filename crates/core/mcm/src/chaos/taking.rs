//! The sink that chaos puts between the devices and the layers above.

use super::Chaos;
use super::held::Completion;
use tern_device::{Header, Place, Sink};

/// Takes what a poll brings, and hands most of it on.
pub struct Taking<'a> {
    pub chaos: &'a Chaos,
    pub sink: &'a mut dyn Sink,
    /// How much was handed on.
    pub handed_on: usize,
}

impl Taking<'_> {
    fn complete(&mut self, completion: Completion) {
        if self.chaos.keeps_back() && self.chaos.held.keep_completion(completion) {
            return;
        }
        self.handed_on += 1;
        self.chaos.event("learns of the end of a transfer", None);
        completion.tell(self.sink);
    }

    /// Hands on what is kept back of a peer, of which nothing comes any more.
    fn flush(&mut self, peer: u32) {
        while let Some(packet) = self.chaos.held.take_packet(peer) {
            self.sink.packet(peer, &packet.header, &packet.payload);
        }
        while let Some(completion) = self.chaos.held.take_completion_of(peer) {
            completion.tell(self.sink);
        }
    }
}

impl Sink for Taking<'_> {
    fn packet(&mut self, from: u32, header: &Header, payload: &[u8]) {
        if self.chaos.held.has_packets_of(from) || self.chaos.keeps_back() {
            return self.chaos.held.keep_packet(from, header, payload);
        }
        self.handed_on += 1;
        self.chaos.event("gets a packet from", Some(from));
        self.sink.packet(from, header, payload);
    }

    fn place(&mut self, from: u32, header: &Header, len: usize) -> Option<Place> {
        // It would overtake what is kept back.
        if self.chaos.held.has_packets_of(from) || self.chaos.refuses() {
            return None;
        }
        self.sink.place(from, header, len)
    }

    fn placed(&mut self, token: u32, len: usize) {
        self.handed_on += 1;
        self.chaos.event("has a packet in its place", None);
        self.sink.placed(token, len);
    }

    fn has_enough(&mut self) -> bool {
        self.sink.has_enough()
    }

    fn delivered(&mut self, receiver: u32, size: u64) {
        self.complete(Completion::Delivered { receiver, size });
    }

    fn sent(&mut self, sender: u32) {
        self.complete(Completion::Sent { sender });
    }

    fn pulled(&mut self, receiver: u32) {
        self.complete(Completion::Pulled { receiver });
    }

    fn undelivered(&mut self, peer: u32, sender: u32, receiver: u32, room: u64) {
        self.handed_on += 1;
        self.sink.undelivered(peer, sender, receiver, room);
    }

    fn retracted(&mut self, receiver: u32) {
        self.handed_on += 1;
        self.sink.retracted(receiver);
    }

    fn undeliverable(&mut self, peer: u32) {
        self.flush(peer);
        self.sink.undeliverable(peer);
    }

    fn lost(&mut self, peer: u32, why: &str) {
        self.handed_on += 1;
        self.flush(peer);
        self.sink.lost(peer, why);
    }
}
