//! The version of Tern, and the library that a program would load.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::print;

/// The name by which programs ask for an MPI library with the standard ABI.
const LIBRARY: &CStr = c"libmpi_abi.so.1";

/// Version, ABI, library.
pub fn report() -> String {
    let mut text = print::heading("Tern");
    text.push_str(&print::line("version", env!("CARGO_PKG_VERSION")));
    text.push_str(&print::line("ABI", "MPI 5.0 standard ABI, version 1.0 (libmpi_abi.so.1)"));
    let installed = beside();
    if let Some(path) = &installed {
        text.push_str(&print::line("installed", &path.display().to_string()));
    }
    let found = match ask() {
        Ok(found) => found,
        Err(why) => {
            let directory = match installed.as_deref().and_then(Path::parent) {
                Some(directory) => format!("={}", directory.display()),
                None => " to the directory of the library".into(),
            };
            format!(
                "none by the name alone ({why}). Ranks of mpiexec and what mpicc has linked get it all the same; others want \
                 LD_LIBRARY_PATH{directory}"
            )
        }
    };
    text.push_str(&print::line("programs load", &found));
    text.push_str(&print::line("started by", &launcher()));
    text
}

/// The option by which this program asks itself for [`describe`].
pub const DESCRIBE: &str = "--describe-library";

/// What [`describe`] says, from another process: a library that is broken may end the process that
/// loads it.
fn ask() -> Result<String, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(own).arg(DESCRIBE).stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.code() {
        Some(0) => Ok(text(&output.stdout)),
        Some(1) => Err(text(&output.stdout)),
        _ => Err(format!("{} was loaded, but {}", LIBRARY.to_string_lossy(), output.status)),
    }
}

/// Loads the library that programs would load, and says which one it is, or why there is none.
pub fn describe() -> Result<String, String> {
    let library = Library::load()?;
    let path = library.path().unwrap_or_else(|| "a path that it does not tell".into());
    let version = library.version().unwrap_or_else(|| "of an unknown version".into());
    Ok(format!("{path}: {version}"))
}

/// The library of the installation that this program belongs to.
fn beside() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let dir = own.parent()?;
    let name = LIBRARY.to_str().ok()?;
    let candidates = [dir.join("../lib").join(name), dir.join(name)];
    candidates.iter().find_map(|path| path.canonicalize().ok().map(|_| tidy(path)))
}

/// The path without `..`, with the name as asked for.
fn tidy(path: &Path) -> PathBuf {
    let dir = path.parent().and_then(|dir| dir.canonicalize().ok());
    match (dir, path.file_name()) {
        (Some(dir), Some(name)) => dir.join(name),
        _ => path.to_owned(),
    }
}

/// What an MPI program that starts here would take itself for.
fn launcher() -> String {
    match std::env::var(tern_pmi::TICKET) {
        Ok(text) => match text.parse::<tern_pmi::Ticket>() {
            Ok(ticket) => format!("Tern's mpiexec: rank {} of {}", ticket.rank, ticket.size),
            Err(error) => error.to_string(),
        },
        Err(_) => match tern_pmi::foreign::describe() {
            Ok(words) => words.into(),
            Err(error) => error.to_string(),
        },
    }
}

/// A library that was loaded. It stays loaded until the program ends.
struct Library(*mut c_void);

impl Library {
    fn load() -> Result<Library, String> {
        // SAFETY: loads the library that any MPI program would load; its initialisers run.
        let handle = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        if !handle.is_null() {
            return Ok(Library(handle));
        }
        // SAFETY: dlerror gives a string that lives until the next call, or null.
        let why = unsafe {
            let text = libc::dlerror();
            if text.is_null() { None } else { Some(CStr::from_ptr(text)) }
        };
        Err(why.map_or("not found".into(), |why| why.to_string_lossy().into_owned()))
    }

    fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: a live handle and a C string.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }

    /// The file that it was loaded from.
    fn path(&self) -> Option<String> {
        let symbol = self.symbol(c"MPI_Get_library_version")?;
        // SAFETY: plain data that the call fills; its strings live as long as the library.
        unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            if libc::dladdr(symbol, &mut info) == 0 || info.dli_fname.is_null() {
                return None;
            }
            Some(CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned())
        }
    }

    /// What MPI_Get_library_version says: it may be called before MPI_Init (MPI 5.0, section 9.1).
    fn version(&self) -> Option<String> {
        type GetVersion = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
        let symbol = self.symbol(c"MPI_Get_library_version")?;
        // MPI_MAX_LIBRARY_VERSION_STRING of the standard ABI.
        let mut text = vec![0u8; 8192];
        let mut length = 0;
        // SAFETY: the standard gives the function this type, and the buffer the size it asks for.
        let result = unsafe {
            let get: GetVersion = std::mem::transmute(symbol);
            get(text.as_mut_ptr().cast(), &mut length)
        };
        let text = CStr::from_bytes_until_nul(&text).ok()?.to_string_lossy();
        (result == 0).then(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
