//! What the ranks of a host wait for, on its way to the mpiexec of all hosts.

use std::time::Duration;

use tern_pmi::parcel::{Reader, Writer};
use tern_pmi::report::{Report, Seen};

use crate::picture::Told;

/// Bound of a report as text; what a rank sends to its launcher is shorter.
const LONGEST: usize = 1 << 20;

/// What each rank of a host does, in the order of ranks.
pub fn encode(ranks: &[Told]) -> Vec<u8> {
    let mut out = Writer::default();
    out.number(ranks.len() as u64);
    for told in ranks {
        match told {
            Told::Report(report) => out.number(1).bytes(report.encode(LONGEST).as_bytes()),
            Told::Seen(Seen { inside, age, function }) => {
                out.number(2).number((*inside).into()).number(age.as_millis() as u64).bytes(function.as_bytes())
            }
            Told::Silent => out.number(3),
            Told::NotInitialised => out.number(4),
            Told::Finalized => out.number(5),
            Told::Ended => out.number(6),
        };
    }
    out.0
}

/// The reverse; `None` for bytes that are something else.
pub fn decode(bytes: &[u8]) -> Option<Vec<Told>> {
    let input = &mut Reader(bytes);
    (0..input.number()?).map(|_| one(input)).collect()
}

fn one(input: &mut Reader<'_>) -> Option<Told> {
    let text = |input: &mut Reader<'_>| Some(String::from_utf8_lossy(input.bytes()?).into_owned());
    Some(match input.number()? {
        1 => Told::Report(Report::decode(&text(input)?)),
        2 => Told::Seen(Seen {
            inside: input.number()? != 0,
            age: Duration::from_millis(input.number()?),
            function: text(input)?,
        }),
        3 => Told::Silent,
        4 => Told::NotInitialised,
        5 => Told::Finalized,
        6 => Told::Ended,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    #[test]
    fn what_is_told_survives_the_wire() {
        let report = Report { function: "MPI_Recv".into(), idle: Duration::from_millis(700), ..Report::default() };
        let seen = Seen { inside: true, age: Duration::from_millis(5), function: "MPI_Send".into() };
        let all =
            [Told::Report(report), Told::Seen(seen), Told::Silent, Told::NotInitialised, Told::Finalized, Told::Ended];
        let bytes = encode(&all);
        assert_eq!(decode(&bytes).as_deref(), Some(&all[..]));
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), None, "{cut}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn what_is_damaged_is_read(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let seen = Seen { inside: true, age: Duration::from_millis(5), function: "MPI_Send".into() };
            let _ = decode(&damage(&encode(&[Told::Report(Report::default()), Told::Seen(seen), Told::Silent]), &changes));
        }
    }
}
