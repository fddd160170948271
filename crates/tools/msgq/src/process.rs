//! The queues of one stopped process, read by what it says of itself (`tern_queues`).

use crate::interface::*;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};

/// No entry of a table.
const NONE: u32 = u32::MAX;
/// Longest text or table that is believed, in bytes.
const MOST: u64 = 1 << 30;

/// Reads a process's memory.
pub trait Memory {
    /// Fills `to` from `address` on.
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), c_int>;
}

/// A process by way of the debugger.
pub struct Debugged {
    pub process: *mut Process,
    pub calls: *const ProcessCalls,
}

impl Memory for Debugged {
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), c_int> {
        let length = c_int::try_from(to.len()).map_err(|_| UNREADABLE)?;
        // SAFETY: the debugger keeps its table and the process as long as it asks for them, and writes `length` bytes.
        let code =
            unsafe { ((*self.calls).fetch_data)(self.process, address, length, to.as_mut_ptr().cast::<c_void>()) };
        if code == OK { Ok(()) } else { Err(UNREADABLE) }
    }
}

/// What a process says of itself: a number for each name.
pub struct Places(HashMap<String, u64>);

impl Places {
    /// From `name=number` in hexadecimal, with blanks between them.
    pub fn parse(text: &str) -> Option<Places> {
        let word = |word: &str| {
            word.split_once('=')
                .and_then(|(name, number)| Some((name.to_owned(), u64::from_str_radix(number, 16).ok()?)))
        };
        let places: HashMap<_, _> = text.split(' ').map(word).collect::<Option<_>>()?;
        (places.get("version") == Some(&1)).then_some(Places(places))
    }

    fn get(&self, name: &str) -> Result<u64, c_int> {
        self.0.get(name).copied().ok_or(NO_INFORMATION)
    }
}

/// A communicator's messages, or those of its collectives.
#[derive(Debug)]
pub struct Comm {
    pub context: u32,
    pub rank: i32,
    pub name: String,
    /// The rank of each process in MPI_COMM_WORLD; -1 for those of other jobs.
    pub ranks: Vec<i32>,
}

/// A receive, or a message that no receive has matched.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    pub context: u32,
    /// -1 or below for any.
    pub source: i32,
    pub tag: i32,
    /// Its number in the table of transfers, or of messages.
    pub id: u32,
    sequence: u64,
    /// Its sender can see it.
    pub published: bool,
}

/// Memory of the program that a receive is for.
#[derive(Debug, PartialEq, Eq)]
pub struct Buffer {
    pub address: u64,
    /// Bytes, where they are dense.
    pub length: Option<u64>,
}

/// What is known of a process, and where its debugger has got to.
pub struct Known {
    pub debugged: Debugged,
    pub places: Option<Places>,
    pub comms: Vec<Comm>,
    /// The communicator that is shown, and which of its queues.
    pub comm: usize,
    pub class: c_int,
    pub operations: std::vec::IntoIter<Entry>,
}

/// A process with what it says of itself.
pub struct Reader<'a, M> {
    pub memory: &'a M,
    pub places: &'a Places,
}

fn word(bytes: &[u8], at: u64) -> u64 {
    let at = at as usize;
    bytes.get(at..at + 8).map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
}

fn half(bytes: &[u8], at: u64) -> u32 {
    let at = at as usize;
    bytes.get(at..at + 4).map_or(0, |bytes| u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
}

impl<M: Memory> Reader<'_, M> {
    fn place(&self, name: &str) -> Result<u64, c_int> {
        self.places.get(name)
    }

    fn bytes(&self, address: u64, length: u64) -> Result<Vec<u8>, c_int> {
        if length > MOST {
            return Err(UNREADABLE);
        }
        let mut bytes = vec![0; length as usize];
        if length > 0 {
            self.memory.read(address, &mut bytes)?;
        }
        Ok(bytes)
    }

    fn word(&self, address: u64) -> Result<u64, c_int> {
        Ok(word(&self.bytes(address, 8)?, 0))
    }

    /// All elements of the vector `name`, of `size` bytes each.
    fn vector(&self, name: &str, size: u64) -> Result<Vec<u8>, c_int> {
        let at = self.place(name)?;
        let first = self.word(at + self.place(&format!("{name}.first"))?)?;
        let length = self.word(at + self.place(&format!("{name}.length"))?)?;
        self.bytes(first, length.checked_mul(size).ok_or(UNREADABLE)?)
    }

    /// All communicators, the youngest first: each for its messages and for those of its collectives.
    pub fn comms(&self) -> Result<Vec<Comm>, c_int> {
        let field = |name: &str| self.place(&format!("comm.{name}"));
        let length = field("name")?.max(field("procs")?).max(field("next")?) + 64;
        let world = self.place("world")?;
        let in_world = |proc: u32| if u64::from(proc) < world { proc as i32 } else { -1 };
        let mut comms = Vec::new();
        let mut at = self.word(self.place("comms")?)?;
        while at != 0 {
            let record = self.bytes(at, length)?;
            let count = u64::from(half(&record, field("count")?));
            let procs = self.bytes(word(&record, field("procs")?), 4 * count)?;
            let ranks: Vec<i32> = (0..count).map(|at| in_world(half(&procs, 4 * at))).collect();
            let rank = half(&record, field("rank")?) as i32;
            let context = half(&record, field("context")?);
            let name = self.text(word(&record, field("name")?))?;
            let name = if name.is_empty() { format!("communicator {}", context / 2) } else { name };
            let collective = half(&record, field("collective")?);
            comms.push(Comm { context, rank, name: name.clone(), ranks: ranks.clone() });
            comms.push(Comm { context: collective, rank, name: format!("{name} (collective)"), ranks });
            at = word(&record, field("next")?);
        }
        Ok(comms)
    }

    fn text(&self, at: u64) -> Result<String, c_int> {
        let first = self.word(at + self.place("text.first")?)?;
        let length = self.word(at + self.place("text.length")?)?;
        Ok(String::from_utf8_lossy(&self.bytes(first, length)?).into_owned())
    }

    /// Entries of the table `name` (`posted` or `unexpected`) in a context, the oldest first.
    pub fn entries(&self, name: &str, context: u32) -> Result<Vec<Entry>, c_int> {
        let size = self.place("entry.size")?;
        let field = |name: &str| self.place(&format!("entry.{name}"));
        let (next, chain) = (field("next")?, field("chain")?);
        let places =
            [field("context")?, field("source")?, field("tag")?, field("id")?, field("sequence")?, field("published")?];
        let table = self.vector(&format!("{name}.entries"), size)?;
        let buckets = self.vector(&format!("{name}.buckets"), 4)?;
        let entry = |index: u32| table.get(index as usize * size as usize..(index as usize + 1) * size as usize);
        let mut found = Vec::new();
        // A process that stopped in the midst of a change may have a circle.
        let mut left = table.len() / size as usize + 1;
        for mut queue in (0..buckets.len() as u64 / 4).map(|at| half(&buckets, 4 * at)) {
            while let Some(first) = entry(queue).filter(|_| queue != NONE) {
                let mut at = queue;
                while let Some(bytes) = entry(at).filter(|_| at != NONE && left > 0) {
                    left -= 1;
                    found.push(read_entry(bytes, &places));
                    at = half(bytes, next);
                }
                queue = if left > 0 { half(first, chain) } else { NONE };
            }
        }
        if name == "posted" {
            found.extend(self.awaited());
        }
        found.retain(|entry| entry.context == context);
        found.sort_by_key(|entry| entry.sequence);
        Ok(found)
    }

    /// The receive of a call that only waits for it, which is in no table.
    fn awaited(&self) -> Option<Entry> {
        let field = |name: &str| self.place(&format!("awaited.{name}")).ok();
        let bytes = self.bytes(self.place("awaited").ok()?, field("size")?).ok()?;
        let is_set = |name| Some(self.bytes(self.place(name).ok()?, 1).ok()?[0] != 0);
        if !is_set("expecting")? || is_set("expected_begun")? {
            return None;
        }
        let inside = &bytes[field("inside")? as usize..];
        Some(Entry {
            context: half(inside, field("context")?),
            source: half(inside, field("source")?) as i32,
            tag: half(inside, field("tag")?) as i32,
            id: half(inside, field("id")?),
            // Receives of the same age were posted before.
            sequence: word(inside, field("sequence")?),
            published: false,
        })
    }

    /// Where element `id` of a vector of options is.
    fn element(&self, name: &str, id: u32) -> Result<u64, c_int> {
        let first = self.word(self.place(name)? + self.place(&format!("{name}.first"))?)?;
        let [size, inside] = [self.place(&format!("{name}.size"))?, self.place(&format!("{name}.inside"))?];
        Ok(first + u64::from(id) * size + inside)
    }

    /// Where receive `id` wants its message.
    pub fn buffer(&self, id: u32) -> Result<Buffer, c_int> {
        let data = self.bytes(self.element("transfers", id)? + self.place("data")?, 24)?;
        if word(&data, self.place("data.kind")?) != self.place("data.dense")? {
            return Ok(Buffer { address: 0, length: None });
        }
        let [address, length] = [self.place("data.base")?, self.place("data.length")?].map(|at| word(&data, at));
        Ok(Buffer { address, length: Some(length) })
    }

    /// How many bytes message `id` has.
    pub fn message_bytes(&self, id: u32) -> Result<u64, c_int> {
        self.word(self.element("arrivals", id)? + self.place("arrival.bytes")?)
    }
}

fn read_entry(bytes: &[u8], [context, source, tag, id, sequence, published]: &[u64; 6]) -> Entry {
    Entry {
        context: half(bytes, *context),
        source: half(bytes, *source) as i32,
        tag: half(bytes, *tag) as i32,
        id: half(bytes, *id),
        sequence: word(bytes, *sequence),
        published: bytes.get(*published as usize).is_some_and(|&byte| byte != 0),
    }
}
