//! The last words of a process that can have no more memory. Nothing here allocates.

use rustix::process::{Resource, getrlimit};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::{self, Write};

/// The name of the function that begins at an address, if it is one that programs call.
pub type Names = fn(usize) -> Option<&'static str>;

/// Writes the line: who needs how many bytes in which call, what ends, the limits that may be the cause, and what to try. `names` knows
/// calls that the linker does not.
///
/// Errors: there is no room for it.
pub fn write(
    out: &mut impl Write, who: fmt::Arguments<'_>, bytes: usize, ends: &str, names: Option<Names>,
) -> fmt::Result {
    let place = Place(names);
    write!(out, "{who} cannot have {bytes} bytes of memory for the library{place}, and ends {ends}{Limits}\n  ")?;
    out.write_str(
        "What to try: free memory, send shorter messages, use fewer processes on this machine, or raise the limit",
    )
}

/// Ends a process that no job has to be told of, as Rust does.
pub fn end(bytes: usize) -> ! {
    let mut line = Line { text: [0; 1024], len: 0 };
    let me = rustix::process::getpid().as_raw_nonzero();
    // What has no room is left out.
    let _ = line.write_str("tern: ");
    let _ = write(&mut line, format_args!("process {me}"), bytes, "the process", None);
    let _ = line.write_str("\n");
    // One write, so that lines of several processes do not mix. Nobody is left to tell if it fails.
    let _ = rustix::io::write(rustix::stdio::stderr(), &line.text[..line.len]);
    std::process::abort()
}

/// Text on the stack.
struct Line {
    text: [u8; 1024],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let some = text.len().min(self.text.len() - self.len);
        self.text[self.len..][..some].copy_from_slice(&text.as_bytes()[..some]);
        self.len += some;
        if some == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// The limits of this process that may be the cause.
pub(crate) struct Limits;

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits =
            [(Resource::As, "address space (RLIMIT_AS, ulimit -v)"), (Resource::Data, "data (RLIMIT_DATA, ulimit -d)")];
        limits.iter().try_for_each(|&(resource, name)| match getrlimit(resource).current {
            Some(limit) => write!(f, "; its {name} may be {} MiB", limit >> 20),
            None => Ok(()),
        })
    }
}

/// In which call of the program's this is: the innermost function on the stack that a library of Tern exports, or that `names` knows;
/// without one, the library that it is in.
struct Place(Option<Names>);

/// What a search finds.
struct Found {
    names: Option<Names>,
    call: Option<&'static str>,
    library: Option<&'static str>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut found = Found { names: self.0, call: None, library: None };
        // SAFETY: `look` takes what it is given here, which lives until the call returns.
        unsafe { _Unwind_Backtrace(look, (&raw mut found).cast()) };
        match found.call.or(found.library) {
            Some(name) => write!(f, " in {name}"),
            None => Ok(()),
        }
    }
}

/// The unwinder's, which Rust's own library brings along.
#[repr(C)]
struct Context {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn _Unwind_Backtrace(look: unsafe extern "C" fn(*mut Context, *mut c_void) -> c_int, state: *mut c_void) -> c_int;
    fn _Unwind_GetRegionStart(context: *mut Context) -> usize;
}

/// Goes on with the next frame.
const ON: c_int = 0;
/// Any other number ends the search.
const FOUND: c_int = 4;

unsafe extern "C" fn look(frame: *mut Context, found: *mut c_void) -> c_int {
    // SAFETY: what `Place` gives, and a frame of the unwinder's.
    let (found, start) = unsafe { (&mut *found.cast::<Found>(), _Unwind_GetRegionStart(frame)) };
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: writes to `info`, which may be all zero as well.
    let info = unsafe {
        libc::dladdr(start as *const c_void, info.as_mut_ptr());
        info.assume_init()
    };
    // SAFETY: names of a library that is loaded, and stays so while the process ends.
    let text = |name: *const c_char| unsafe { (!name.is_null()).then(|| CStr::from_ptr(name).to_str().ok()).flatten() };
    let exported = || text(info.dli_sname).filter(|name| info.dli_saddr as usize == start && is_call(name));
    found.call = found.names.and_then(|names| names(start)).or_else(exported);
    if found.library.is_none() {
        let file = text(info.dli_fname).and_then(|path| path.rsplit('/').next());
        found.library = file.filter(|file| file.starts_with("libmpi") || file.starts_with("libtern"));
    }
    if found.call.is_some() { FOUND } else { ON }
}

/// Functions of MPI in C and in Fortran, and those of the region library.
fn is_call(name: &str) -> bool {
    ["MPI_", "PMPI_", "mpi_", "pmpi_", "tern_region_"].iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_say_what_to_try() {
        let mut text = String::new();
        write(&mut text, format_args!("rank {}", 3), 4096, "the job", None).expect("room");
        assert!(
            text.starts_with("rank 3 cannot have 4096 bytes of memory for the library, and ends the job"),
            "{text}"
        );
        assert!(text.contains("What to try"));
    }

    #[test]
    fn what_is_too_long_is_cut() {
        let mut line = Line { text: [0; 1024], len: 0 };
        assert_eq!(line.write_str(&"x".repeat(1000)), Ok(()));
        assert_eq!(line.write_str(&"y".repeat(25)), Err(fmt::Error));
        assert_eq!((line.len, line.text[999], line.text[1023]), (1024, b'x', b'y'));
    }

    #[test]
    fn calls_are_known_by_their_names() {
        assert!(is_call("MPI_Scan") && is_call("mpi_scan_") && is_call("tern_region_copy"));
        assert!(!is_call("tern_memory_end") && !is_call("malloc"));
    }

    #[inline(never)]
    fn called() -> String {
        // What follows the call keeps its frame.
        std::hint::black_box(format!(
            "{}",
            Place(Some(|at| (at == called as *const () as usize).then_some("MPI_Called")))
        ))
    }

    #[test]
    fn the_innermost_call_is_named() {
        assert_eq!(called(), " in MPI_Called");
        assert_eq!(format!("{}", Place(None)), "", "a program's own functions");
    }
}
