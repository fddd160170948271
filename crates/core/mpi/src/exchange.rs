//! Small agreements among processes while they make a communicator: a reduction up a binomial
//! tree and the result back down, of byte strings of any length.
//!
//! Where a member is lost, the call fails at all members that can still be reached, and none waits: whoever misses a
//! contribution says so in place of the result. Every member sends and receives all that belongs to a call that fails,
//! so nothing of it is left for a later one.

use crate::awaits::Awaiting;
use crate::constants::{MPI_ERR_INTERN, MPI_SUCCESS};
use crate::error::{Error, Result, no_memory};
use crate::identity;
use crate::lost;
use crate::runtime::adi;
use crate::task::until;
use std::rc::Rc;
use tern_adi::{Data, Pattern, Proc, REVOKED, Request, SendMode, Sent, Tuple};

/// Processes that exchange messages in a context and under a tag that nothing else uses among
/// them meanwhile. The source of a message says which process has sent it ([`identity::source`]), which no group of
/// ranks can confuse.
#[derive(Clone, Debug)]
pub struct Circle {
    pub context: u32,
    pub tag: i32,
    /// Index of this process in `procs`.
    pub me: usize,
    pub procs: Rc<[Proc]>,
}

/// Joins the second contribution into the first.
pub type Combine = fn(&mut Vec<u8>, &[u8]);

impl Circle {
    /// Whether any member says yes; every process learns it.
    ///
    /// Errors: as of [`Circle::agree`].
    pub async fn any(&self, yes: bool) -> Result<bool> {
        Ok(self.agree(vec![yes as u8], |all, more| all[0] |= more[0]).await?[0] != 0)
    }

    /// Combines the contributions of all; every process gets the result. `combine` must not
    /// depend on the order.
    ///
    /// Errors: a member is lost ([`lost::class`]).
    pub async fn agree(&self, value: Vec<u8>, combine: Combine) -> Result<Vec<u8>> {
        let size = self.procs.len();
        let mut outcome = Ok(value);
        let mut bit = 1;
        while bit < size && self.me & bit == 0 {
            if self.me + bit < size {
                match (&mut outcome, self.hear(self.me + bit).await) {
                    (Ok(value), Ok(more)) => combine(value, &more),
                    (Ok(_), Err(error)) => outcome = Err(error),
                    (Err(_), _) => {}
                }
            }
            bit <<= 1;
        }
        if self.me != 0 {
            let parent = self.me & (self.me - 1);
            self.send(parent, &encode(&outcome)).await;
            outcome = self.hear(parent).await;
        }
        let told = encode(&outcome);
        // `bit` is now above every child's distance.
        while bit > 1 {
            bit >>= 1;
            if self.me + bit < size {
                self.send(self.me + bit, &told).await;
            }
        }
        outcome
    }

    /// What the process with index `from` has come to.
    async fn hear(&self, from: usize) -> Result<Vec<u8>> {
        decode(self.receive(from).await?)
    }

    /// Every process's contribution, by index.
    pub async fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        let all = self.agree(record(self.me, own), |all, more| all.extend_from_slice(more)).await?;
        let mut parts = vec![Vec::new(); self.procs.len()];
        for (index, part) in Records(&all) {
            parts[index] = part.to_vec();
        }
        Ok(parts)
    }

    /// What the process with index `root` gives; the others give nothing.
    pub async fn share(&self, root: usize, value: Vec<u8>) -> Result<Vec<u8>> {
        let own = if self.me == root { value } else { Vec::new() };
        self.agree(own, |all, more| all.extend_from_slice(more)).await
    }

    /// Returns when all have called it.
    pub async fn meet(&self) -> Result<()> {
        self.agree(Vec::new(), |_, _| ()).await.map(|_| ())
    }

    /// Starts to send; `None` when the data has left already.
    pub fn start_send(&self, to: usize, data: Data) -> Option<Request> {
        let source = identity::source(self.procs[self.me], self.procs[to]);
        let tuple = Tuple { context: self.context, source, tag: self.tag };
        match adi().isend(self.procs[to], tuple, data, SendMode::Standard) {
            Sent::Pending(request) => Some(request),
            Sent::Done => None,
        }
    }

    /// Starts to receive what the process with index `from` sends.
    pub fn start_receive(&self, from: usize, data: Data) -> Request {
        let source = identity::source(self.procs[from], self.procs[self.me]);
        let pattern = Pattern { context: self.context, source, tag: self.tag };
        adi().irecv(self.procs[from], pattern, data)
    }

    /// What is sent to a process that is lost vanishes.
    pub async fn send(&self, to: usize, bytes: &[u8]) {
        let data = Data::Bytes(bytes.as_ptr().cast_mut(), bytes.len());
        if let Some(request) = self.start_send(to, data) {
            until(|| adi().is_done(request).then_some(())).await;
            adi().take(request);
        }
    }

    /// What the process with index `from` has sent.
    ///
    /// Errors: it is lost ([`lost::class`]), or there is no memory for it (MPI_ERR_NO_MEM), and it is taken to nowhere.
    pub async fn receive(&self, from: usize) -> Result<Vec<u8>> {
        let proc = self.procs[from];
        let pattern =
            Pattern { context: self.context, source: identity::source(proc, self.procs[self.me]), tag: self.tag };
        let _waits = Awaiting::new(self.context, proc);
        let message = until(|| match adi().matched_probe(pattern) {
            Some(message) => Some(Ok(message)),
            None => adi().lost_for(proc, self.context).map(|peer| {
                // Else another one may be named, on which the message hangs.
                Err(lost::error(if peer == REVOKED { peer } else { proc }))
            }),
        })
        .await?;
        let mut bytes = tern_memory::zeroed(message.status.bytes as usize);
        let data = bytes.as_mut().map_or_else(|_| Data::none(), |bytes| Data::Bytes(bytes.as_mut_ptr(), bytes.len()));
        let request = adi().imrecv(message, data);
        until(|| adi().is_done(request).then_some(())).await;
        match adi().take(request).aborted() {
            Some(peer) => Err(lost::error(peer)),
            None => bytes.map_err(|lack| no_memory("what another process tells", lack)),
        }
    }
}

/// What an agreement has come to, as bytes: the code of an error (4, as the machine has it), and its text or the value.
fn encode(outcome: &Result<Vec<u8>>) -> Vec<u8> {
    let (code, bytes) = match outcome {
        Ok(value) => (MPI_SUCCESS, &value[..]),
        Err(error) => (error.code, error.message.as_bytes()),
    };
    [&code.to_ne_bytes()[..], bytes].concat()
}

fn decode(mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    let code = bytes.first_chunk().map_or(MPI_ERR_INTERN, |code| i32::from_ne_bytes(*code));
    let rest = bytes.split_off(bytes.len().min(4));
    match code {
        MPI_SUCCESS => Ok(rest),
        code => Err(Error::from_code(code, String::from_utf8_lossy(&rest))),
    }
}

/// A contribution with the index of its giver.
fn record(index: usize, bytes: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(8 + bytes.len());
    record.extend_from_slice(&(index as u32).to_ne_bytes());
    record.extend_from_slice(&(bytes.len() as u32).to_ne_bytes());
    record.extend_from_slice(bytes);
    record
}

/// Walks joined records.
struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = (usize, &'a [u8]);
    fn next(&mut self) -> Option<Self::Item> {
        let (index, rest) = self.0.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (part, rest) = rest.split_at(u32::from_ne_bytes(*length) as usize);
        self.0 = rest;
        Some((u32::from_ne_bytes(*index) as usize, part))
    }
}

/// Numbers as bytes, for contributions.
pub fn pack(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_ne_bytes()).collect()
}

/// Numbers from bytes.
pub fn unpack(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|c| i32::from_ne_bytes([c[0], c[1], c[2], c[3]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::MPI_ERR_PROC_ABORTED;

    #[test]
    fn outcomes_come_through() {
        assert_eq!(decode(encode(&Ok(vec![1, 2]))).unwrap(), [1, 2]);
        assert_eq!(decode(encode(&Ok(vec![]))).unwrap(), []);
        let error = decode(encode(&err!(MPI_ERR_PROC_ABORTED, "rank 3 is gone"))).unwrap_err();
        assert_eq!((error.code, &error.message[..]), (MPI_ERR_PROC_ABORTED, "rank 3 is gone"));
        assert!(decode(vec![]).is_err());
    }

    #[test]
    fn records_come_apart_again() {
        let mut all = record(2, b"two");
        all.extend(record(0, b""));
        all.extend(record(1, b"one"));
        let parts: Vec<_> = Records(&all).collect();
        assert_eq!(parts, [(2, &b"two"[..]), (0, b""), (1, b"one")]);
    }

    #[test]
    fn numbers_come_apart_again() {
        assert_eq!(unpack(&pack(&[1, -7, i32::MAX])), [1, -7, i32::MAX]);
    }
}
