//! The messages, and their bytes.

use super::Lost;

/// Longest message in bytes; longer texts are cut.
pub const MAX_MESSAGE: usize = 4096;

/// The most lost ranks that one message tells of: any so many fit [`MAX_MESSAGE`].
pub const MOST_LOST: usize = 128;

/// The code with which a rank aborts that has lost another one: MPI_ERR_PROC_ABORTED of the standard's ABI (MPI 5.0 section 9.4).
pub const PROC_ABORTED: i32 = 58;

/// The kind of [`Message::Ask`].
pub(super) const ASK: u32 = 7;

/// The kind of [`Message::Lost`].
pub(super) const LOST: u32 = 22;

/// One message; see the table of the [module above](super).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The rank is yours.
    Welcome {
        /// The rank.
        rank: u32,
    },
    /// The rank is not yours.
    Refused {
        /// The process that has it, or 0.
        by: u32,
    },
    /// Asks for a rank.
    Join {
        /// The rank.
        rank: u32,
        /// The job's random number: who knows it belongs to the job.
        job_id: u64,
    },
    /// MPI is initialised.
    Hello,
    /// MPI was finalized.
    Finalized,
    /// What became of a request.
    Answer {
        /// See the table.
        value: i32,
        /// What was asked for, or why not.
        text: String,
    },
    /// Asks for further processes.
    Spawn {
        /// How many.
        count: u32,
    },
    /// Makes a port known under the name of a service.
    Publish {
        /// The service.
        service: String,
        /// The port.
        port: String,
    },
    /// Ends that.
    Unpublish {
        /// The service.
        service: String,
        /// The port.
        port: String,
    },
    /// Asks for the port of a service of this job.
    Lookup {
        /// The service.
        service: String,
    },
    /// Where the other processes of the world find this one.
    Address,
    /// The job is to end.
    Abort {
        /// Exit code for the job.
        code: i32,
        /// Why, for the user; may be empty.
        text: String,
    },
    /// Asks a rank to report what it waits for.
    Ask,
    /// Ranks of this world or others have ended without a word, and the job goes on: at most [`MOST_LOST`].
    Lost(Vec<Lost>),
    /// The rank can be asked, and shows what it does.
    Observed {
        /// Where, in its memory.
        address: u64,
    },
    /// What a rank waits for.
    Stalled {
        /// A report, encoded.
        text: String,
    },
}

impl Message {
    /// The bytes of the message.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, value, text) = match self {
            Message::Welcome { rank } => (1u32, *rank as i32, String::new()),
            Message::Refused { by } => (2, *by as i32, String::new()),
            Message::Join { rank, job_id } => (3, *rank as i32, format!("{job_id:x}")),
            Message::Hello => (4, 0, String::new()),
            Message::Finalized => (5, 0, String::new()),
            Message::Abort { code, text } => (6, *code, text.clone()),
            Message::Ask => (ASK, 0, String::new()),
            Message::Observed { address } => (8, 0, format!("{address:x}")),
            Message::Stalled { text } => (9, 0, text.clone()),
            Message::Answer { value, text } => (16, *value, text.clone()),
            Message::Spawn { count } => (17, *count as i32, String::new()),
            Message::Publish { service, port } => (18, 0, format!("{port}\n{service}")),
            Message::Lookup { service } => (20, 0, service.clone()),
            Message::Unpublish { service, port } => (19, 0, format!("{port}\n{service}")),
            Message::Address => (21, 0, String::new()),
            Message::Lost(lost) => (LOST, lost.len() as i32, lost.iter().map(write_lost).collect()),
        };
        let mut bytes = Vec::with_capacity(8 + text.len());
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&value.to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes.truncate(MAX_MESSAGE);
        bytes
    }

    /// The message of these bytes; `None` if there is no such message.
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let kind = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        let value = i32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?);
        let text = String::from_utf8_lossy(&bytes[8..]);
        let split = || {
            let (port, service) = text.split_once('\n')?;
            Some((service.to_owned(), port.to_owned()))
        };
        Some(match kind {
            1 => Message::Welcome { rank: value as u32 },
            2 => Message::Refused { by: value as u32 },
            3 => Message::Join { rank: value as u32, job_id: u64::from_str_radix(&text, 16).ok()? },
            4 => Message::Hello,
            5 => Message::Finalized,
            6 => Message::Abort { code: value, text: text.into_owned() },
            ASK => Message::Ask,
            8 => Message::Observed { address: u64::from_str_radix(&text, 16).ok()? },
            9 => Message::Stalled { text: text.into_owned() },
            16 => Message::Answer { value, text: text.into_owned() },
            17 => Message::Spawn { count: value as u32 },
            18 => {
                let (service, port) = split()?;
                Message::Publish { service, port }
            }
            19 => {
                let (service, port) = split()?;
                Message::Unpublish { service, port }
            }
            20 => Message::Lookup { service: text.into_owned() },
            21 => Message::Address,
            LOST => {
                let lost: Vec<Lost> = text.split_ascii_whitespace().map(read_lost).collect::<Option<_>>()?;
                (lost.len() == value as usize).then_some(Message::Lost(lost))?
            }
            _ => return None,
        })
    }
}

fn write_lost(lost: &Lost) -> String {
    format!(" {:x}:{}", lost.job_id, lost.rank)
}

fn read_lost(text: &str) -> Option<Lost> {
    let (job_id, rank) = text.split_once(':')?;
    Some(Lost { job_id: u64::from_str_radix(job_id, 16).ok()?, rank: rank.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    #[test]
    fn messages_survive_the_wire() {
        for message in [
            Message::Welcome { rank: 7 },
            Message::Refused { by: 1234 },
            Message::Join { rank: 3, job_id: u64::MAX },
            Message::Hello,
            Message::Finalized,
            Message::Answer { value: -1, text: "no such name".into() },
            Message::Spawn { count: 3 },
            Message::Publish { service: "a\nb".into(), port: "tern:1".into() },
            Message::Lookup { service: "a b".into() },
            Message::Unpublish { service: "".into(), port: "".into() },
            Message::Abort { code: -5, text: "über".into() },
            Message::Ask,
            Message::Address,
            Message::Lost(vec![Lost { job_id: 1 << 63, rank: 9 }, Lost { job_id: 3, rank: 0 }]),
            Message::Lost(vec![Lost { job_id: u64::MAX, rank: u32::MAX }; MOST_LOST]),
            Message::Observed { address: u64::MAX },
            Message::Stalled { text: "in 5 MPI_Recv -".into() },
        ] {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
    }

    #[test]
    fn broken_bytes_are_no_message() {
        assert_eq!(Message::decode(&[]), None);
        assert_eq!(Message::decode(&[1, 0, 0, 0, 1]), None);
        assert_eq!(Message::decode(&[0; 8]), None);
        assert_eq!(Message::decode(&[255; 12]), None);
        let long = Message::Abort { code: 1, text: "ä".repeat(MAX_MESSAGE) };
        assert_eq!(long.encode().len(), MAX_MESSAGE);
        assert!(matches!(Message::decode(&long.encode()), Some(Message::Abort { code: 1, .. })));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Message::decode(&bytes);
        }

        #[test]
        fn a_damaged_message_is_refused_or_survives(
            which in 0..5usize, changes in prop::collection::vec(any::<Change>(), 1..4),
        ) {
            let valid = [
                Message::Abort { code: -1, text: "reason".into() },
                Message::Observed { address: 1 << 40 },
                Message::Stalled { text: "in 5 MPI_Recv -".into() },
                Message::Ask,
                Message::Lost(vec![Lost { job_id: 77, rank: 5 }; 3]),
            ];
            if let Some(message) = Message::decode(&damage(&valid[which].encode(), &changes)) {
                prop_assert_eq!(Message::decode(&message.encode()), Some(message));
            }
        }
    }
}
