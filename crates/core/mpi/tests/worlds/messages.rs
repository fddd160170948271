//! Point-to-point messages of a world.

use crate::network::Random;
use crate::process::{Comm, Done, Process};
use tern_adi::{ANY_SOURCE, Data, Pattern, Request, SendMode, Sent, Status, Tuple, UNKNOWN};

/// What member `from` says.
fn said(from: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (from * 37 + at * 5 + len) as u8).collect()
}

fn data(bytes: &mut [u8]) -> Data {
    Data::Bytes(bytes.as_mut_ptr(), bytes.len())
}

fn len(random: &mut Random) -> usize {
    [0, 3, 19, 21, 90][random.below(5) as usize] + random.below(4) as usize
}

fn mode(random: &mut Random) -> SendMode {
    if random.below(3) == 0 { SendMode::Synchronous } else { SendMode::Standard }
}

impl Process {
    fn isend(&self, comm: &Comm, to: usize, tag: i32, bytes: &mut [u8], mode: SendMode) -> Option<Request> {
        let tuple = Tuple { context: comm.context(), source: comm.rank() as i32, tag };
        match self.adi.isend(comm.procs[to], tuple, data(bytes), mode) {
            Sent::Done => None,
            Sent::Pending(request) => Some(request),
        }
    }

    fn irecv(&self, comm: &Comm, from: Option<usize>, tag: i32, bytes: &mut [u8]) -> Request {
        let source = from.map_or(ANY_SOURCE, |from| from as i32);
        let pattern = Pattern { context: comm.context(), source, tag };
        self.adi.irecv(from.map_or(UNKNOWN, |from| comm.procs[from]), pattern, data(bytes))
    }

    /// Waits for a transfer. One from anybody ends when somebody is lost.
    fn wait(&self, request: Request) -> Done<Status> {
        self.adi.wait_for(request);
        if !self.adi.is_done(request) {
            self.adi.end_interrupted(request);
        }
        assert!(self.adi.is_done(request), "a wait returns early");
        let status = self.adi.take(request);
        match status.aborted() {
            Some(proc) => Err(self.lost(proc)),
            None => Ok(status),
        }
    }
}

/// Each sends to the next one.
pub fn ring(process: &Process, comm: &Comm, random: &mut Random) -> Done {
    process.begin(comm, "messages in a ring");
    process.check(comm)?;
    let (me, size, len, mode) = (comm.rank(), comm.size(), len(random), mode(random));
    let (next, before) = ((me + 1) % size, (me + size - 1) % size);
    let (mut out, mut into) = (said(me, len), vec![0; len]);
    let late = random.below(2) == 0;
    let early = (!late).then(|| process.irecv(comm, Some(before), 1, &mut into));
    let sent = process.isend(comm, next, 1, &mut out, mode);
    process.pause();
    let receive = early.unwrap_or_else(|| process.irecv(comm, Some(before), 1, &mut into));
    let came = process.wait(receive);
    let left = sent.map_or(Ok(()), |sent| process.wait(sent).map(|_| ()));
    assert!(came.is_err() || into == said(before, len), "{into:?}");
    came.map(|_| ()).and(left)
}

/// All send to the first one, which takes what comes.
pub fn to_the_first(process: &Process, comm: &Comm, random: &mut Random) -> Done {
    process.begin(comm, "messages to the first");
    process.check(comm)?;
    let (me, size, len, mode) = (comm.rank(), comm.size(), len(random), mode(random));
    if me > 0 {
        process.pause();
        let mut out = said(me, len);
        return process.isend(comm, 0, 2, &mut out, mode).map_or(Ok(()), |sent| process.wait(sent).map(|_| ()));
    }
    let mut into: Vec<Vec<u8>> = (1..size).map(|_| vec![0; len]).collect();
    let receives: Vec<Request> = into.iter_mut().map(|bytes| process.irecv(comm, None, 2, bytes)).collect();
    let came: Vec<Done<Status>> = receives.into_iter().map(|receive| process.wait(receive)).collect();
    for (bytes, status) in into.iter().zip(&came) {
        assert!(status.is_err_and(|_| true) || *bytes == said(status.expect("it came").source as usize, len));
    }
    came.into_iter().try_for_each(|status| status.map(|_| ()))
}

/// Each sends to all others, and probes for what they send.
pub fn pairs(process: &Process, comm: &Comm, random: &mut Random) -> Done {
    process.begin(comm, "messages of all pairs");
    process.check(comm)?;
    let (me, size, len, mode) = (comm.rank(), comm.size(), len(random), mode(random));
    let others = || (0..size).filter(|&other| other != me);
    let mut out = said(me, len);
    let sent: Vec<_> = others().filter_map(|other| process.isend(comm, other, 3, &mut out, mode)).collect();
    let mut came: Vec<Done> = Vec::new();
    for other in others() {
        let pattern = Pattern { context: comm.context(), source: other as i32, tag: 3 };
        let adi = process.adi;
        let mut found = None;
        adi.wait_until(&mut || {
            found = found.take().or_else(|| adi.matched_probe(pattern));
            found.is_some() || adi.lost_for(comm.procs[other], comm.context()).is_some()
        });
        let Some(message) = found else {
            let lost = adi.lost_for(comm.procs[other], comm.context()).expect("it is over");
            came.push(Err(process.lost(lost)));
            continue;
        };
        let mut into = vec![0; message.status.bytes as usize];
        let done = process.wait(adi.imrecv(message, data(&mut into)));
        assert!(done.is_err() || into == said(other, len), "{into:?}");
        came.push(done.map(|_| ()));
    }
    let left: Vec<Done> = sent.into_iter().map(|sent| process.wait(sent).map(|_| ())).collect();
    came.into_iter().chain(left).collect()
}
