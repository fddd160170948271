//! What goes wrong on purpose.

use std::str::FromStr;
use std::time::Duration;

/// `hits` of each `of`; none when `hits` is 0. Counted, not random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Every {
    /// How many are met.
    pub hits: u32,
    /// Of how many.
    pub of: u32,
}

impl Every {
    /// Whether the event number `count`, from 0 on, is one of them.
    pub fn meets(&self, count: u64) -> bool {
        self.hits > 0 && count % u64::from(self.of.max(1)) < u64::from(self.hits)
    }
}

/// Reads the value of a fault, what stands behind its `=`; `None`: it has no such value.
type Reader = fn(&mut Faults, &str) -> Option<()>;

/// Puts what was read in its place.
fn put<T>(place: &mut T, read: Option<T>) -> Option<()> {
    *place = read?;
    Some(())
}

/// All faults, each as it is written, with letters in the place of what may vary; and what reads it.
const KINDS: [(&str, Reader); 11] = [
    ("cut-after=N", |faults, value| put(&mut faults.cut_after, value.parse().ok().map(Some))),
    ("cut-port=P/N", |faults, value| put(&mut faults.cut_port, port(value).map(Some))),
    ("rnr=N/M", |faults, value| put(&mut faults.receiver_not_ready, every(value))),
    ("access=N/M", |faults, value| put(&mut faults.access, every(value))),
    ("full=N/M", |faults, value| put(&mut faults.full, every(value))),
    ("no-registration=N/M", |faults, value| put(&mut faults.registration, every(value))),
    ("locked=BYTES", |faults, value| put(&mut faults.locked, bytes(value).map(Some))),
    ("slow=DURATION", |faults, value| put(&mut faults.slow, duration(value))),
    ("early-room", |faults, _| set(&mut faults.early_room)),
    ("pins", |faults, _| set(&mut faults.pins)),
    ("tcp", |faults, _| set(&mut faults.tcp)),
];

/// Faults of a software HCA. As text: parts like `cut-after=100,rnr=1/8`, with a comma between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// `cut-after=N`: each queue pair loses its connection when it has sent so many messages.
    pub cut_after: Option<u64>,
    /// `cut-port=P/N`: each queue pair on port P fails when it has sent N messages. The peer is not told, and the last message
    /// is late, so that it comes when the queue pair that sent it has failed.
    pub cut_port: Option<(u8, u64)>,
    /// `rnr=N/M`: of M sends that come, N are refused as if no receive were posted.
    pub receiver_not_ready: Every,
    /// `access=N/M`: of M accesses of peers to memory, N are refused.
    pub access: Every,
    /// `full=N/M`: of M requests that are posted to send, N find the queue full.
    pub full: Every,
    /// `early-room`: a send queue has room again when requests have ended, before their completions are polled. Some cards
    /// are so all the time.
    pub early_room: bool,
    /// `pins`: it says that registrations hold pages, as those of cards do. Then its user watches the memory as for a card.
    pub pins: bool,
    /// `slow=DURATION`, as 50us or 2ms: each message that comes waits so long.
    pub slow: Duration,
    /// `no-registration=N/M`: of M registrations, N are refused.
    pub registration: Every,
    /// `tcp`: peers of this machine are reached as those of others are, by TCP and not through shared memory.
    pub tcp: bool,
    /// `locked=BYTES`: the memory that may be registered at once, with K, M or G.
    pub locked: Option<u64>,
}

impl Faults {
    /// All kinds, as they are written, with letters in the place of what may vary: `rnr=N/M`.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(written, _)| *written)
    }
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Faults, String> {
        let mut faults = Faults::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = parted(part);
            let reads = |(written, read): &(&str, Reader)| {
                let (known, form) = parted(written);
                (known == name && form.is_some() == value.is_some()).then_some(*read)
            };
            let read = KINDS.iter().find_map(reads).and_then(|read| read(&mut faults, value.unwrap_or_default()));
            read.ok_or_else(|| format!("'{part}' is no fault; see TERN_FAULTS in the list of settings"))?;
        }
        Ok(faults)
    }
}

/// The name of a fault, and what stands behind its `=`.
fn parted(part: &str) -> (&str, Option<&str>) {
    part.split_once('=').map_or((part, None), |(name, value)| (name, Some(value)))
}

/// Sets a fault that has no value.
fn set(flag: &mut bool) -> Option<()> {
    *flag = true;
    Some(())
}

fn every(text: &str) -> Option<Every> {
    let (hits, of) = text.split_once('/')?;
    let (hits, of) = (hits.parse().ok()?, of.parse().ok()?);
    (of > 0).then_some(Every { hits, of })
}

fn port(text: &str) -> Option<(u8, u64)> {
    let (port, after) = text.split_once('/')?;
    Some((port.parse().ok()?, after.parse().ok()?))
}

fn duration(text: &str) -> Option<Duration> {
    let units = [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let (number, unit) = units.iter().find_map(|&(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    Some(Duration::from_nanos(number.parse::<u64>().ok()?.checked_mul(unit)?))
}

fn bytes(text: &str) -> Option<u64> {
    let units = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)];
    let (number, unit) =
        units.iter().find_map(|&(name, unit)| Some((text.strip_suffix(name)?, unit))).unwrap_or((text, 1));
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_says_what_goes_wrong() {
        let faults: Faults =
            "cut-after=100, rnr=1/8,slow=2ms,locked=64K,tcp,cut-port=2/9,early-room,pins".parse().unwrap();
        assert!(faults.tcp && faults.early_room && faults.pins);
        assert_eq!(faults.cut_after, Some(100));
        assert_eq!(faults.cut_port, Some((2, 9)));
        assert_eq!(faults.receiver_not_ready, Every { hits: 1, of: 8 });
        assert_eq!(faults.slow, Duration::from_millis(2));
        assert_eq!(faults.locked, Some(65536));
        assert_eq!("".parse(), Ok(Faults::default()));
    }

    #[test]
    fn nonsense_is_named() {
        for text in [
            "cut",
            "cut-after",
            "pins=1",
            "tcp=",
            "cut-after=x",
            "cut-port=1",
            "rnr=1",
            "rnr=1/0",
            "slow=3",
            "slow=99999999999999s",
            "fire=1/2",
        ] {
            assert!(text.parse::<Faults>().unwrap_err().contains(text), "{text}");
        }
    }

    #[test]
    fn hits_are_counted() {
        let every = Every { hits: 2, of: 5 };
        let hits: Vec<u64> = (0..10).filter(|&count| every.meets(count)).collect();
        assert_eq!(hits, [0, 1, 5, 6]);
        assert!(!Every::default().meets(0));
    }
}
