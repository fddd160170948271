//! What a link is like: a model that the software HCA keeps to by time stamps.

use std::str::FromStr;
use std::time::Duration;

/// A model of card and link. It delays what the sockets could deliver earlier, and makes nothing faster.
///
/// A message of `n` bytes leaves when the link is free, keeps it busy for `n / bandwidth`, and arrives `latency` after
/// that; one that is not inline takes `fetch` more, for the card reads it from memory itself. Inline bytes cost whoever posts
/// them `pio` each.
/// Registering takes `registration` and `registration_page` for each page of 4 KiB.
///
/// Only processes on one machine keep to it, since they share a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// One way, for an inline message of no bytes.
    pub latency: Duration,
    /// Bytes per nanosecond; 0 is without limit.
    pub bandwidth: f64,
    /// What is added when the card fetches the data (DMA) rather than being given it (PIO).
    pub fetch: Duration,
    /// Nanoseconds for each byte that a processor gives to the card.
    pub pio: f64,
    /// The most that can be inline; 0 leaves it to the software HCA.
    pub inline: u32,
    pub registration: Duration,
    pub registration_page: Duration,
}

/// Names of models. The values of old cards are rounded from what the papers report; those of a current one
/// from its makers' data sheets.
///
/// A byte of PIO is reckoned from the bus. On PCI-X each store of 8 bytes is a transaction of its own, of some 8 clocks at 133 MHz
/// (address, attributes, the target's answer, data, turn of the bus): 60 ns. On the first PCI Express a store that is not combined with
/// others brings 200 to 273 MB/s, says the user guide of QLogic's cards of that time (OFED+ host software, on write combining). Both agree
/// with the boundary at which inline was given up, 128 bytes: there it costs as much as a fetch, 7.0 and 4.7 ns a byte. Cards from
/// ConnectX on take lines of 64 bytes that were combined; the same guide has 1950 to 3000 MB/s for the second
/// PCI Express, and from the fourth on a core hands out a line in about 10 ns.
const PROFILES: [(&str, Link); 6] = [
    ("none", Link::NONE),
    // MT23108 on PCI-X, 4x SDR.
    ("sdr-pcix", Link::new(3_400, 0.87, 900, 128, 12_000, 340).pio(7.0)),
    // MT25208 on PCI Express, 4x DDR.
    ("ddr", Link::new(2_600, 1.5, 600, 128, 10_000, 300).pio(4.5)),
    // ConnectX, 4x QDR.
    ("qdr", Link::new(1_200, 3.2, 400, 256, 8_000, 250).pio(0.4)),
    // ConnectX-6, HDR.
    ("hdr", Link::new(800, 24.0, 200, 256, 4_000, 120).pio(0.16)),
    // ConnectX-7, NDR.
    ("ndr", Link::new(750, 48.0, 180, 256, 4_000, 110).pio(0.16)),
];

impl Link {
    /// As fast as the sockets go.
    pub const NONE: Link = Link::new(0, 0.0, 0, 0, 0, 0);

    const fn new(
        latency: u64,
        bandwidth: f64,
        fetch: u64,
        inline: u32,
        registration: u64,
        page: u64,
    ) -> Link {
        Link {
            latency: Duration::from_nanos(latency),
            bandwidth,
            fetch: Duration::from_nanos(fetch),
            inline,
            registration: Duration::from_nanos(registration),
            registration_page: Duration::from_nanos(page),
            pio: 0.0,
        }
    }

    const fn pio(self, nanoseconds: f64) -> Link {
        Link { pio: nanoseconds, ..self }
    }

    /// The names that [`from_str`](FromStr::from_str) knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PROFILES.iter().map(|&(name, _)| name)
    }

    /// How long `bytes` keep the link busy, in nanoseconds.
    pub fn busy_ns(&self, bytes: u64) -> u64 {
        if self.bandwidth > 0.0 {
            (bytes as f64 / self.bandwidth) as u64
        } else {
            0
        }
    }

    /// How long a processor needs to give the card so many inline bytes.
    pub fn inline_of(&self, bytes: usize) -> Duration {
        Duration::from_nanos((bytes as f64 * self.pio) as u64)
    }

    /// How long it takes to register that much.
    pub fn registration_of(&self, pages: u32) -> Duration {
        self.registration + self.registration_page * pages
    }
}

impl FromStr for Link {
    type Err = String;

    fn from_str(name: &str) -> Result<Link, String> {
        PROFILES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, link)| link)
            .ok_or_else(|| {
                format!(
                    "no link is called '{name}'; there are {}",
                    Link::names().collect::<Vec<_>>().join(", ")
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_bytes_cost_as_they_are() {
        let old: Link = "sdr-pcix".parse().expect("a profile");
        assert_eq!(old.inline_of(0), Duration::ZERO);
        // What caching saves of a header, of 32 bytes, beside its time on the link.
        assert_eq!(old.inline_of(40) - old.inline_of(8), Duration::from_nanos(224));
        assert_eq!(Link::NONE.inline_of(256), Duration::ZERO);
    }

    /// Otherwise nobody would send so much inline.
    #[test]
    fn what_may_be_inline_costs_no_more_than_a_fetch() {
        for (name, link) in PROFILES {
            assert!(link.inline_of(link.inline as usize) <= link.fetch, "{name}");
        }
    }
}
