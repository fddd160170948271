//! What parallel debuggers read and set in the mpiexec that the user has started: the MPIR Process Acquisition Interface 1.0.
//!
//! A debugger that starts mpiexec sets `MPIR_being_debugged` before its first instruction. Then all ranks are held in MPI_Init until
//! the debugger lets mpiexec go on from `MPIR_Breakpoint`. One that comes later finds the table of the processes all the same.
//! Processes that are spawned are not in it.
//!
//! The names are those of the interface. The process that serves the job is a child of this one ([`crate::keeper`]): it tells the
//! processes over a socket, and is told when the debugger has seen them.

#![allow(non_camel_case_types, non_upper_case_globals)]

use std::ffi::{CString, c_char, c_int};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use tern_pmi::parcel::{Reader, Writer};

/// One process, as debuggers read it.
#[repr(C)]
pub struct MPIR_PROCDESC {
    host_name: *const c_char,
    executable_name: *const c_char,
    pid: c_int,
}

/// `MPIR_debug_state` of a job whose processes have started.
const MPIR_DEBUG_SPAWNED: c_int = 1;

/// Set by a debugger that has started this program.
#[used]
#[unsafe(no_mangle)]
static mut MPIR_being_debugged: c_int = 0;
/// What has happened, to be read at [`MPIR_Breakpoint`].
#[used]
#[unsafe(no_mangle)]
static mut MPIR_debug_state: c_int = 0;
/// The processes, by rank.
#[used]
#[unsafe(no_mangle)]
static mut MPIR_proctable: *mut MPIR_PROCDESC = std::ptr::null_mut();
/// How many they are.
#[used]
#[unsafe(no_mangle)]
static mut MPIR_proctable_size: c_int = 0;
/// That it is there says that this process is no rank.
#[used]
#[unsafe(no_mangle)]
static MPIR_i_am_starter: c_int = 1;
/// That it is there says that a debugger may leave some ranks alone.
#[used]
#[unsafe(no_mangle)]
static MPIR_partial_attach_ok: c_int = 1;

/// Where debuggers stop this program.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn MPIR_Breakpoint() {
    // Not empty, or else two empty functions may become one.
    std::hint::black_box(&raw const MPIR_debug_state);
}

/// Whether a debugger has started this program.
pub fn is_debugged() -> bool {
    // SAFETY: a debugger writes it while this process stands still.
    unsafe { (&raw const MPIR_being_debugged).read_volatile() != 0 }
}

/// A process for the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The host, as the user calls it.
    pub host: String,
    pub executable: String,
    pub pid: libc::pid_t,
}

impl Process {
    pub fn encode(&self, out: &mut Writer) {
        out.bytes(self.host.as_bytes()).bytes(self.executable.as_bytes()).number(self.pid as u64);
    }

    /// The reverse; `None` for bytes that are something else.
    pub fn decode(input: &mut Reader<'_>) -> Option<Process> {
        let mut text = || Some(String::from_utf8_lossy(input.bytes()?).into_owned());
        let (host, executable) = (text()?, text()?);
        Some(Process { host, executable, pid: input.number()? as libc::pid_t })
    }
}

/// Puts processes into the table, and lets a debugger see it.
fn show(processes: Vec<Process>) {
    let text = |text: String| CString::new(text).unwrap_or_default().into_raw().cast_const();
    let table: Vec<MPIR_PROCDESC> = processes
        .into_iter()
        .map(|one| MPIR_PROCDESC { host_name: text(one.host), executable_name: text(one.executable), pid: one.pid })
        .collect();
    // It stays to the end: a debugger may read it at any time.
    let table = table.leak();
    // SAFETY: this process has one thread, and a debugger reads while that stands still.
    unsafe {
        (&raw mut MPIR_proctable).write_volatile(table.as_mut_ptr());
        (&raw mut MPIR_proctable_size).write_volatile(table.len() as c_int);
        (&raw mut MPIR_debug_state).write_volatile(MPIR_DEBUG_SPAWNED);
    }
    MPIR_Breakpoint();
}

/// The two ends: of who serves the job, and of the process that the user started.
pub fn pair() -> io::Result<(Teller, Shower)> {
    let (ours, theirs) = UnixStream::pair()?;
    Ok((Teller(ours), Shower(theirs)))
}

/// The end of the process that serves the job.
#[derive(Debug)]
pub struct Teller(UnixStream);

impl Teller {
    /// Tells the processes, by rank. If the other process has died, that is seen elsewhere.
    pub fn tell(&self, processes: &[Process]) {
        let mut out = Writer::default();
        processes.iter().for_each(|process| process.encode(&mut out));
        let length = (out.0.len() as u64).to_le_bytes();
        let _ = (&self.0).write_all(&length).and_then(|()| (&self.0).write_all(&out.0));
    }

    /// To be called once the socket can be read, or in a thread that waits: whether a debugger has seen the processes. Else the other
    /// process has died.
    pub fn is_shown(&self) -> bool {
        (&self.0).read_exact(&mut [0]).is_ok()
    }
}

impl AsFd for Teller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The end of the process that the user started.
#[derive(Debug)]
pub struct Shower(UnixStream);

impl Shower {
    /// To be called once the socket can be read: shows the processes that it tells. False: the other process has ended.
    pub fn show(&self) -> bool {
        let Some(processes) = self.hear() else { return false };
        show(processes);
        (&self.0).write_all(&[1]).is_ok()
    }

    fn hear(&self) -> Option<Vec<Process>> {
        let mut length = [0; 8];
        (&self.0).read_exact(&mut length).ok()?;
        let mut bytes = vec![0; usize::try_from(u64::from_le_bytes(length)).ok()?];
        (&self.0).read_exact(&mut bytes).ok()?;
        let input = &mut Reader(&bytes);
        let mut processes = Vec::new();
        while !input.0.is_empty() {
            processes.push(Process::decode(input)?);
        }
        Some(processes)
    }
}

impl AsFd for Shower {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn processes_that_are_told_are_in_the_table() {
        let (teller, shower) = pair().unwrap();
        let process = |pid| Process { host: "a".into(), executable: format!("/bin/{pid}"), pid };
        teller.tell(&[process(7), process(8)]);
        assert!(shower.show() && teller.is_shown());
        // SAFETY: no other test writes them.
        let (size, second) = unsafe { (MPIR_proctable_size, &*MPIR_proctable.add(1)) };
        // SAFETY: a text that was written above.
        let executable = unsafe { CStr::from_ptr(second.executable_name) };
        assert_eq!((size, second.pid, executable.to_bytes()), (2, 8, &b"/bin/8"[..]));
        drop(teller);
        assert!(!shower.show(), "who serves the job has ended");
    }
}
