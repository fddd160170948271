//! How the last messages of a peer have come: what the rule `copies` knows of them.

/// How a message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In one copy, after its sender has asked, or into a published receive.
    Once,
    /// In packets, of which its sender did not say that it has chosen them.
    Packets,
    /// In packets, which its sender has chosen: it could have gone in one copy.
    ChosenPackets,
}

/// How the last messages of a peer have come, by the power of two of their length.
#[derive(Clone, Copy, Debug)]
pub struct Ways([Option<Way>; usize::BITS as usize]);

impl Default for Ways {
    fn default() -> Ways {
        Ways([None; usize::BITS as usize])
    }
}

impl Ways {
    /// Notes how a message of `len` bytes has come, which are not 0. True when packets were chosen, and were not for the one before.
    #[inline]
    pub fn note(&mut self, len: usize, way: Way) -> bool {
        self.0[len.ilog2() as usize].replace(way) != Some(way) && way == Way::ChosenPackets
    }

    /// How the last message of about `len` bytes, which are not 0, has come.
    pub fn of(&self, len: usize) -> Option<Way> {
        self.0[len.ilog2() as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_message_of_about_that_length_counts() {
        let mut ways = Ways::default();
        assert_eq!(ways.of(1000), None);
        assert!(!ways.note(1000, Way::Once));
        assert!(ways.note(600, Way::ChosenPackets), "packets are chosen from now on");
        assert!(!ways.note(600, Way::ChosenPackets), "as before");
        assert_eq!((ways.of(1023), ways.of(1024)), (Some(Way::ChosenPackets), None));
        assert!(!ways.note(600, Way::Packets));
    }
}
