//! PMIx, loaded at run time: the few functions that the relay calls, and their types.
//!
//! The declarations are those of the PMIx standard, versions 4 and 5: a name space is 255 characters and a zero, a key
//! 511 and a zero; a value is a type and a union of at most three words.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

/// All ranks of a name space.
pub const WILDCARD: u32 = u32::MAX - 1;

const SUCCESS: c_int = 0;
/// To all processes, wherever they are.
const GLOBAL: u8 = 3;

// Types of values.
const BOOL: u16 = 1;
const STRING: u16 = 3;
const SIZE: u16 = 4;
const UINT16: u16 = 13;
const UINT64: u16 = 15;

/// pmix_proc_t
#[repr(C)]
#[derive(Clone)]
pub struct Proc {
    space: [u8; 256],
    pub rank: u32,
}

/// pmix_value_t
#[repr(C)]
struct Value {
    kind: u16,
    data: [u64; 3],
}

/// pmix_info_t
#[repr(C)]
struct Info {
    key: [u8; 512],
    flags: u32,
    value: Value,
}

type Init = unsafe extern "C" fn(*mut Proc, *const Info, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const Info, usize) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *const Proc, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Proc, usize, *const Info, usize) -> c_int;
type Get = unsafe extern "C" fn(*const Proc, *const c_char, *const Info, usize, *mut *mut Value) -> c_int;
type Text = unsafe extern "C" fn(c_int) -> *const c_char;

/// The library, with this process as one of its clients.
pub struct Client {
    library: *mut c_void,
    own: Proc,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
    finalize: Finalize,
    abort: Abort,
}

impl Client {
    /// Loads the first of the libraries that is there and becomes a client, as the process that the environment names.
    ///
    /// Errors: none of the libraries can be loaded, or its server cannot be reached. The text says why.
    pub fn new(files: &[PathBuf]) -> Result<Client, String> {
        let mut why = Vec::new();
        let library = files.iter().find_map(|file| load(file).map_err(|error| why.push(error)).ok());
        let Some(library) = library else { return Err(why.join("; ")) };
        // SAFETY: these are the functions' types in the standard.
        let client = unsafe {
            let init: Init = function(library, c"PMIx_Init")?;
            let mut own = Proc { space: [0; 256], rank: 0 };
            check(library, "PMIx_Init", init(&mut own, std::ptr::null(), 0))?;
            Client {
                library,
                own,
                put: function(library, c"PMIx_Put")?,
                commit: function(library, c"PMIx_Commit")?,
                fence: function(library, c"PMIx_Fence")?,
                get: function(library, c"PMIx_Get")?,
                finalize: function(library, c"PMIx_Finalize")?,
                abort: function(library, c"PMIx_Abort")?,
            }
        };
        Ok(client)
    }

    /// The rank of this process.
    pub fn rank(&self) -> u32 {
        self.own.rank
    }

    /// A number that the server or the process of that rank tells.
    pub fn number(&self, rank: u32, key: &CStr) -> Option<u64> {
        let value = self.value(rank, key)?;
        let word = value.data[0];
        match value.kind {
            STRING => None,
            SIZE | UINT64 => Some(word),
            UINT16 => Some(word & 0xffff),
            // The others are as wide as an int.
            _ => Some(word & 0xffff_ffff),
        }
    }

    /// The same, of a text.
    pub fn text(&self, rank: u32, key: &CStr) -> Option<String> {
        let value = self.value(rank, key)?;
        if value.kind != STRING || value.data[0] == 0 {
            return None;
        }
        // SAFETY: a value of this kind holds a string, which nobody frees.
        let text = unsafe { CStr::from_ptr(value.data[0] as *const c_char) };
        Some(text.to_string_lossy().into_owned())
    }

    /// A value. It is never freed: there are few, and this process is short of everything but memory.
    fn value(&self, rank: u32, key: &CStr) -> Option<&Value> {
        let of = Proc { rank, ..self.own.clone() };
        let mut value = std::ptr::null_mut();
        // SAFETY: the process and the key live through the call, which makes the value.
        let code = unsafe { (self.get)(&of, key.as_ptr(), std::ptr::null(), 0, &mut value) };
        // SAFETY: on success it points to a value, or nowhere.
        if code == SUCCESS { unsafe { value.as_ref() } } else { None }
    }

    /// Makes a text known to all processes that come to the next [`Client::fence`].
    pub fn put(&self, key: &CStr, text: &CStr) -> Result<(), String> {
        let mut value = Value { kind: STRING, data: [text.as_ptr() as u64, 0, 0] };
        // SAFETY: the library copies key and value.
        unsafe {
            check(self.library, "PMIx_Put", (self.put)(GLOBAL, key.as_ptr(), &mut value))?;
            check(self.library, "PMIx_Commit", (self.commit)())
        }
    }

    /// Waits for all processes of the job; they know then what all of them have put.
    pub fn fence(&self) -> Result<(), String> {
        let mut info = Info { key: [0; 512], flags: 0, value: Value { kind: BOOL, data: [1, 0, 0] } };
        let key = b"pmix.collect";
        info.key[..key.len()].copy_from_slice(key);
        let all = Proc { rank: WILDCARD, ..self.own.clone() };
        // SAFETY: one process and one piece of information, which live through the call.
        unsafe { check(self.library, "PMIx_Fence", (self.fence)(&all, 1, &info, 1)) }
    }

    /// This process may end with any code.
    pub fn finalize(&self) -> Result<(), String> {
        // SAFETY: nothing is passed.
        unsafe { check(self.library, "PMIx_Finalize", (self.finalize)(std::ptr::null(), 0)) }
    }

    /// The job is to end with this exit code.
    pub fn abort(&self, code: i32) {
        // SAFETY: no process is named, which means all of the job.
        unsafe { (self.abort)(code, c"MPI_Abort".as_ptr(), std::ptr::null(), 0) };
    }
}

fn load(file: &Path) -> Result<*mut c_void, String> {
    use std::os::unix::ffi::OsStrExt;
    let name = CString::new(file.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: loads a library, whose initialisers run; this process is there for that.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if !library.is_null() {
        return Ok(library);
    }
    // SAFETY: dlerror gives a string that lives until the next call, or null.
    let why = unsafe {
        let text = libc::dlerror();
        if text.is_null() { "it cannot be loaded".into() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    };
    Err(why)
}

/// A function of the library.
///
/// # Safety
/// `F` is its type, a pointer to a function.
unsafe fn function<F: Copy>(library: *mut c_void, name: &CStr) -> Result<F, String> {
    // SAFETY: the library is loaded.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    if found.is_null() {
        return Err(format!("this libpmix has no function {}", name.to_string_lossy()));
    }
    // SAFETY: as the caller says; both are as large as a pointer.
    Ok(unsafe { std::mem::transmute_copy(&found) })
}

fn check(library: *mut c_void, name: &str, code: c_int) -> Result<(), String> {
    if code == SUCCESS {
        return Ok(());
    }
    // SAFETY: the function's type in the standard.
    let text = unsafe { function::<Text>(library, c"PMIx_Error_string") }.map_or(String::new(), |text| {
        // SAFETY: it gives a string that is never freed.
        unsafe { CStr::from_ptr(text(code)) }.to_string_lossy().into_owned()
    });
    Err(format!("{name} failed: {text} ({code})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// Sizes and offsets as a C compiler has them, where the library's header is installed.
    #[test]
    fn the_types_are_those_of_the_header() {
        let source = "#include <stdio.h>\n#include <stddef.h>\n#include <pmix.h>\nint main(void) { printf(\"%zu %zu %zu %zu \
                      %zu %zu %zu %u %d %d %d %d %d %d %s\\n\", sizeof(pmix_proc_t), offsetof(pmix_proc_t, rank), \
                      offsetof(pmix_info_t, flags), offsetof(pmix_info_t, value), sizeof(pmix_info_t), \
                      offsetof(pmix_value_t, data), sizeof(pmix_value_t), PMIX_RANK_WILDCARD, PMIX_GLOBAL, PMIX_BOOL, \
                      PMIX_STRING, PMIX_SIZE, PMIX_UINT16, PMIX_UINT64, PMIX_COLLECT_DATA); return 0; }\n";
        let folder = std::env::temp_dir().join(format!("tern-pmix-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let (file, program) = (folder.join("a.c"), folder.join("a"));
        std::fs::write(&file, source).expect("written");
        let paths = ["/usr/include", "/usr/lib/x86_64-linux-gnu/pmix2/include"].map(|path| format!("-I{path}"));
        let compiled = std::process::Command::new("cc").args(paths).arg("-o").args([&program, &file]).output();
        let header = compiled.is_ok_and(|output| output.status.success());
        let said = header.then(|| std::process::Command::new(&program).output().expect("it runs"));
        std::fs::remove_dir_all(&folder).expect("removed");
        let Some(said) = said else {
            eprintln!("SKIP: pmix.h is not installed (libpmix-dev)");
            return;
        };
        let own = format!(
            "{} {} {} {} {} {} {} {WILDCARD} {GLOBAL} {BOOL} {STRING} {SIZE} {UINT16} {UINT64} pmix.collect\n",
            size_of::<Proc>(),
            offset_of!(Proc, rank),
            offset_of!(Info, flags),
            offset_of!(Info, value),
            size_of::<Info>(),
            offset_of!(Value, data),
            size_of::<Value>(),
        );
        assert_eq!(String::from_utf8_lossy(&said.stdout), own);
    }
}
