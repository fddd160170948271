//! How the processes of a file find out that one of them has failed, or was given other arguments:
//! all fail then, so that nobody goes on alone (MPI 5.0 section 14.7).

use crate::constants::*;
use crate::error::{Error, Result};
use crate::exchange::Circle;

/// Bytes before the text of an encoded error.
const HEAD: usize = 4;

fn encode(own: &Result<Vec<u8>>) -> Vec<u8> {
    match own {
        Ok(value) => [&MPI_SUCCESS.to_ne_bytes()[..], value].concat(),
        Err(error) => [&error.code.to_ne_bytes()[..], error.message.as_bytes()].concat(),
    }
}

fn decode(part: &[u8]) -> Result<&[u8]> {
    let Some((head, rest)) = part.split_first_chunk::<HEAD>() else {
        return err!(MPI_ERR_INTERN, "a process has said nothing");
    };
    match i32::from_ne_bytes(*head) {
        MPI_SUCCESS => Ok(rest),
        code => Err(Error::from_code(code, String::from_utf8_lossy(rest))),
    }
}

/// What each process brings to a collective call, by rank. When the part of one has failed, all
/// fail: that one with its own error, the others with the error of the lowest rank that has one.
pub async fn consent(circle: &Circle, own: Result<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
    let parts = circle.gather(&encode(&own)).await?;
    own?;
    let mut values = Vec::with_capacity(parts.len());
    for (rank, part) in parts.iter().enumerate() {
        match decode(part) {
            Ok(value) => values.push(value.to_vec()),
            Err(error) => return Err(Error::from_code(error.code, format!("rank {rank}: {}", error.message))),
        }
    }
    Ok(values)
}

/// The same for arguments that must be equal at all processes: MPI_ERR_NOT_SAME if they are not.
pub async fn same(circle: &Circle, own: Result<Vec<u8>>, what: &str) -> Result<()> {
    let values = consent(circle, own).await?;
    match values.iter().position(|value| *value != values[0]) {
        None => Ok(()),
        Some(rank) => err!(MPI_ERR_NOT_SAME, "rank {rank} gives another {what} than rank 0: all must give the same"),
    }
}

/// What the first process has done for all: its outcome, at all of them.
pub async fn first_says(circle: &Circle, own: Result<Vec<u8>>) -> Result<Vec<u8>> {
    let told = circle.share(0, encode(&own)).await?;
    own?;
    decode(&told).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_come_through() {
        assert_eq!(decode(&encode(&Ok(vec![1, 2]))).unwrap(), [1, 2]);
        let error = decode(&encode(&err!(MPI_ERR_IO, "the disk is on fire"))).unwrap_err();
        assert_eq!((error.code, &error.message[..]), (MPI_ERR_IO, "the disk is on fire"));
        assert!(decode(&[]).is_err());
    }
}
