//! This end of one port towards one peer: a state machine, without queue pairs.
//!
//! What a queue pair wrote before it failed may still be under way, and lands as long as the peer's queue pair stands: perhaps
//! when its message has been repeated over another port, and the receiver uses the memory anew. So who gives up a port tells
//! the peer, over the channel, and the peer takes its queue pair to error. Only then is repeated what was written ([`End::may_repeat`]):
//! the end of the message, which gives the memory back, comes behind that word. What was read can be repeated at
//! once, since it lands through this side's own queue pair.

/// How far one side is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Side {
    #[default]
    Made,
    Connected,
    /// For good: its queue pair has failed, and nothing lands through it.
    Down,
}

/// This side, and what is known of the peer's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct End {
    here: Side,
    there: Side,
    /// That this end is down stands in the channel.
    told: bool,
}

impl End {
    /// The peer has said where its queue pair is. True: connect to it, and say so.
    pub fn may_connect(&self) -> bool {
        self.here == Side::Made
    }

    /// Connected to the peer's queue pair.
    pub fn connected(&mut self) {
        self.here = Side::Connected;
    }

    /// The peer has said that it is connected.
    pub fn peer_connected(&mut self) {
        if self.there == Side::Made {
            self.there = Side::Connected;
        }
    }

    /// Whether requests may be posted.
    pub fn is_open(&self) -> bool {
        (self.here, self.there) == (Side::Connected, Side::Connected)
    }

    /// This end is given up. True: let its queue pair fail, and tell the peer.
    #[must_use]
    pub fn take_down(&mut self) -> bool {
        std::mem::replace(&mut self.here, Side::Down) != Side::Down
    }

    /// The peer is being told: what goes over the channel from now on comes later.
    pub fn told(&mut self) {
        self.told = true;
    }

    /// The peer has said that its end is down. True: let this queue pair fail too.
    #[must_use]
    pub fn peer_down(&mut self) -> bool {
        self.there = Side::Down;
        self.take_down()
    }

    /// Whether nothing that was written through it can land when the peer has heard what follows over the channel.
    pub fn may_repeat(&self) -> bool {
        self.told || self.there == Side::Down
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashSet, VecDeque};

    /// What goes over the channel, which keeps its order.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    enum Word {
        Address,
        Connected,
        Down,
        /// A message, over the channel.
        Data(u8),
        /// Where the next message is to be written.
        Clear,
        /// The message is where it belongs.
        Fin(u8),
    }

    /// A message of the writer.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    enum Move {
        Begins,
        /// Written through the port.
        Under,
        /// That has failed.
        Failed,
        /// Written over the channel.
        Repeated,
    }

    const WRITER: usize = 0;
    const RECEIVER: usize = 1;
    const MESSAGES: u8 = 2;

    /// A writer, which sends messages one after another into the same memory, and a receiver.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct World {
        ends: [End; 2],
        greeted: [bool; 2],
        /// Queue pairs that work.
        up: [bool; 2],
        /// That they failed is to be said.
        unsaid: [bool; 2],
        /// Writes of which messages are under way through the port.
        under: Vec<u8>,
        /// Acknowledgements.
        acknowledged: Vec<u8>,
        /// To the writer, and to the receiver.
        channel: [VecDeque<Word>; 2],
        /// The message that the writer is at, and the one that the memory is for.
        at: u8,
        /// Messages for which the receiver has asked.
        cleared: u8,
        doing: Move,
        wanted: u8,
        there: bool,
    }

    impl World {
        fn new() -> World {
            World {
                ends: Default::default(),
                greeted: [false; 2],
                up: [true; 2],
                unsaid: [false; 2],
                under: Vec::new(),
                acknowledged: Vec::new(),
                channel: Default::default(),
                at: 0,
                cleared: 1,
                doing: Move::Begins,
                wanted: 0,
                there: false,
            }
        }

        fn say(&mut self, from: usize, word: Word) {
            self.channel[1 - from].push_back(word);
        }

        /// Bytes of a message come to where the receiver's memory is.
        fn land(&mut self, message: u8) -> Result<(), String> {
            if message != self.wanted {
                return Err(format!("message {message} landed in memory for {}", self.wanted));
            }
            self.there = true;
            Ok(())
        }

        fn ended(&mut self) {
            self.say(WRITER, Word::Fin(self.at));
            self.at += 1;
            self.doing = Move::Begins;
        }

        fn hear(&mut self, side: usize) -> Result<(), String> {
            let Some(word) = self.channel[side].pop_front() else { return Ok(()) };
            match word {
                Word::Address => {
                    if !std::mem::replace(&mut self.greeted[side], true) {
                        self.say(side, Word::Address);
                    }
                    if self.ends[side].may_connect() {
                        self.ends[side].connected();
                        self.say(side, Word::Connected);
                    }
                }
                Word::Connected => self.ends[side].peer_connected(),
                Word::Down => {
                    if self.ends[side].peer_down() {
                        self.up[side] = false;
                    }
                    if side == WRITER && self.doing == Move::Under {
                        self.doing = Move::Failed;
                    }
                }
                Word::Data(message) => self.land(message)?,
                Word::Clear => self.cleared += 1,
                Word::Fin(message) => {
                    if message != self.wanted || !self.there {
                        return Err(format!("the end of {message} without it"));
                    }
                    // The memory is given back, and used for the next.
                    (self.wanted, self.there) = (message + 1, false);
                    self.say(side, Word::Clear);
                }
            }
            Ok(())
        }

        /// Every world that may follow.
        fn next(&self, may_repeat: fn(&End) -> bool) -> Result<Vec<World>, String> {
            let mut all = Vec::new();
            let mut then = |act: &dyn Fn(&mut World) -> Result<(), String>| {
                let mut next = self.clone();
                act(&mut next)?;
                all.push(next);
                Ok::<(), String>(())
            };
            for side in [WRITER, RECEIVER] {
                if !self.channel[side].is_empty() {
                    then(&|it| it.hear(side))?;
                }
            }
            if self.at < MESSAGES.min(self.cleared) {
                match self.doing {
                    Move::Begins if !self.greeted[WRITER] => then(&|it| {
                        it.greeted[WRITER] = true;
                        it.say(WRITER, Word::Address);
                        Ok(())
                    })?,
                    Move::Begins => then(&|it| {
                        if it.ends[WRITER].is_open() {
                            it.under.push(it.at);
                            it.doing = Move::Under;
                        } else {
                            it.say(WRITER, Word::Data(it.at));
                            it.doing = Move::Repeated;
                        }
                        Ok(())
                    })?,
                    Move::Failed if may_repeat(&self.ends[WRITER]) => then(&|it| {
                        it.say(WRITER, Word::Data(it.at));
                        it.doing = Move::Repeated;
                        Ok(())
                    })?,
                    Move::Repeated => then(&|it| {
                        it.ended();
                        Ok(())
                    })?,
                    _ => {}
                }
            }
            for place in 0..self.under.len() {
                then(&|it| {
                    let message = it.under.remove(place);
                    if it.up[RECEIVER] {
                        it.land(message)?;
                        it.acknowledged.push(message);
                    }
                    Ok(())
                })?;
            }
            for place in 0..self.acknowledged.len() {
                then(&|it| {
                    let message = it.acknowledged.remove(place);
                    if it.up[WRITER] && it.doing == Move::Under && message == it.at {
                        it.ended();
                    }
                    Ok(())
                })?;
            }
            // The writer's queue pair fails, and what it has written with it.
            if self.up[WRITER] {
                then(&|it| {
                    it.up[WRITER] = false;
                    it.unsaid[WRITER] = it.ends[WRITER].take_down();
                    if it.doing == Move::Under {
                        it.doing = Move::Failed;
                    }
                    Ok(())
                })?;
            }
            // The receiver's does, which it notices or not.
            if self.up[RECEIVER] {
                for notices in [false, true] {
                    then(&|it| {
                        it.up[RECEIVER] = false;
                        it.unsaid[RECEIVER] = notices && it.ends[RECEIVER].take_down();
                        Ok(())
                    })?;
                }
            }
            for side in [WRITER, RECEIVER] {
                if self.unsaid[side] {
                    then(&|it| {
                        it.unsaid[side] = false;
                        it.ends[side].told();
                        it.say(side, Word::Down);
                        Ok(())
                    })?;
                }
            }
            Ok(all)
        }
    }

    /// Walks through every order of events; returns how many worlds there are.
    fn explore(may_repeat: fn(&End) -> bool) -> Result<usize, String> {
        let mut known = HashSet::from([World::new()]);
        let mut left = vec![World::new()];
        while let Some(world) = left.pop() {
            let next = world.next(may_repeat)?;
            // What is left when nothing goes on by itself.
            if next.is_empty() && world.wanted < MESSAGES {
                return Err(format!("nothing goes on: {world:?}"));
            }
            left.extend(next.into_iter().filter(|it| known.insert(it.clone())));
        }
        Ok(known.len())
    }

    #[test]
    fn nothing_lands_in_memory_that_was_given_back() {
        let worlds = explore(End::may_repeat).expect("every order of events");
        assert!(worlds > 500, "{worlds}");
    }

    #[test]
    fn what_is_repeated_before_the_peer_is_told_may_land_too_late() {
        let why = explore(|_| true).expect_err("the danger is in these worlds");
        assert!(why.contains("landed in memory for"), "{why}");
    }

    #[test]
    fn what_never_may_be_repeated_is_found() {
        assert!(explore(|_| false).expect_err("a message is never repeated").contains("nothing goes on"));
    }
}
