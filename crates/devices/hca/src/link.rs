//! What a link is like: a model that the software HCA keeps to by time stamps.

use std::str::FromStr;
use std::time::{Duration, Instant};

/// A model of card and link. It delays what the sockets could deliver earlier, and makes nothing faster.
///
/// A message of `n` bytes leaves when the link is free, keeps it busy for `n / bandwidth`, and arrives `latency` after
/// that; one that is not inline takes `fetch` more, for the card reads it from memory itself. Inline bytes cost whoever posts
/// them `pio` each.
/// Registering takes `registration` and `registration_page` for each page of 4 KiB. Copies of packets take what they took
/// on hosts of the card's time.
///
/// As text it is a name, and perhaps a number behind a stroke: `ddr/16` is slower than `ddr` by 16 in all respects. In such
/// slow motion what the software HCA itself needs becomes small beside what is modelled.
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
    /// What a registration takes.
    pub registration: Duration,
    /// What each page of 4 KiB adds to that.
    pub registration_page: Duration,
    /// Bytes per nanosecond that a processor of the host copies; 0: as fast as this machine's. Who copies packets keeps to it
    /// by [`Link::copies`].
    pub copy: f64,
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
    ("sdr-pcix", Link::new(3_400, 0.87, 900, 128, 12_000, 340).pio(7.0).host(1.5)),
    // MT25208 on PCI Express, 4x DDR. With this speed of copying, a copy of 8 KiB is 15 % of the time of a message, as in the
    // paper on frequently used buffers.
    ("ddr", Link::new(2_600, 1.5, 600, 128, 10_000, 300).pio(4.5).host(4.4)),
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

    const fn new(latency: u64, bandwidth: f64, fetch: u64, inline: u32, registration: u64, page: u64) -> Link {
        Link {
            latency: Duration::from_nanos(latency),
            bandwidth,
            fetch: Duration::from_nanos(fetch),
            inline,
            registration: Duration::from_nanos(registration),
            registration_page: Duration::from_nanos(page),
            pio: 0.0,
            copy: 0.0,
        }
    }

    const fn host(self, copy: f64) -> Link {
        Link { copy, ..self }
    }

    /// The same in slow motion.
    fn slower(self, times: u32) -> Link {
        let by = f64::from(times);
        Link {
            latency: self.latency * times,
            bandwidth: self.bandwidth / by,
            fetch: self.fetch * times,
            pio: self.pio * by,
            inline: self.inline,
            registration: self.registration * times,
            registration_page: self.registration_page * times,
            copy: self.copy / by,
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
        if self.bandwidth > 0.0 { (bytes as f64 / self.bandwidth) as u64 } else { 0 }
    }

    /// How long a processor needs to give the card so many inline bytes.
    pub fn inline_of(&self, bytes: usize) -> Duration {
        Duration::from_nanos((bytes as f64 * self.pio) as u64)
    }

    /// How long the host needs to copy `bytes`.
    pub fn copy_of(&self, bytes: usize) -> Duration {
        if self.copy > 0.0 { Duration::from_nanos((bytes as f64 / self.copy) as u64) } else { Duration::ZERO }
    }

    /// Copies, and takes as long for it as the host would, if that is longer.
    #[inline]
    pub fn copies<R>(&self, bytes: usize, copy: impl FnOnce() -> R) -> R {
        if self.copy == 0.0 {
            return copy();
        }
        let end = Instant::now() + self.copy_of(bytes);
        let result = copy();
        pass(end);
        result
    }

    /// How long it takes to register that much.
    pub fn registration_of(&self, pages: u32) -> Duration {
        self.registration + self.registration_page * pages
    }
}

/// Waits, at first asleep: what the host of a model does with its processor needs none here.
pub(crate) fn pass(end: Instant) {
    const AWAKE: Duration = Duration::from_micros(100);
    loop {
        match end.saturating_duration_since(Instant::now()) {
            Duration::ZERO => return,
            left if left > 2 * AWAKE => std::thread::sleep(left - AWAKE),
            _ => std::hint::spin_loop(),
        }
    }
}

impl FromStr for Link {
    type Err = String;

    fn from_str(text: &str) -> Result<Link, String> {
        let (name, times) = match text.split_once('/') {
            Some((name, times)) => (name, times.parse().ok().filter(|&times: &u32| (1..=MOST).contains(&times))),
            None => (text, Some(1)),
        };
        let link = PROFILES.iter().find(|(known, _)| *known == name).map(|&(_, link)| link);
        let names = Link::names().collect::<Vec<_>>().join(", ");
        let link = link.ok_or_else(|| format!("no link is called '{name}'; there are {names}"))?;
        let times =
            times.ok_or_else(|| format!("'{text}': behind the stroke stands how many times slower, 1 to {MOST}"))?;
        Ok(link.slower(times))
    }
}

/// No link is slower than this many times.
const MOST: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_slow_motion() {
        let (usual, slow): (Link, Link) = ("ddr".parse().unwrap(), "ddr/10".parse().unwrap());
        assert_eq!(slow.latency, usual.latency * 10);
        assert_eq!(slow.inline, usual.inline);
        assert!(slow.busy_ns(3000).abs_diff(10 * usual.busy_ns(3000)) <= 10);
        assert_eq!(slow.registration_of(2), usual.registration_of(2) * 10);
        assert!(slow.copy_of(1 << 20).abs_diff(usual.copy_of(1 << 20) * 10) < Duration::from_nanos(20));
        assert_eq!("none/7".parse(), Ok(Link::NONE));
        assert_eq!("ddr/1".parse(), Ok(usual));
        for wrong in ["", "dsl", "ddr/", "ddr/0", "ddr/x", "ddr/1001", "/2"] {
            assert!(wrong.parse::<Link>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn copies_take_the_time_of_the_host() {
        let slow: Link = "ddr/1000".parse().unwrap();
        let start = Instant::now();
        assert_eq!(slow.copies(3500, || 7), 7);
        assert!(start.elapsed() >= slow.copy_of(3500) && slow.copy_of(3500) > Duration::from_micros(500));
        assert_eq!(Link::NONE.copy_of(1 << 20), Duration::ZERO);
    }

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
