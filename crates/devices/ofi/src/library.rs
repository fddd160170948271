//! libfabric, loaded when it is asked for.

use crate::abi::{fi_fabric_attr, fi_info, fid_fabric};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

type Getinfo = unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int;
type Freeinfo = unsafe extern "C" fn(*mut fi_info);
type Dupinfo = unsafe extern "C" fn(*const fi_info) -> *mut fi_info;
type Fabric = unsafe extern "C" fn(*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int;
type Strerror = unsafe extern "C" fn(c_int) -> *const c_char;
type Version = unsafe extern "C" fn() -> u32;

/// The functions that the library exports; all others stand in tables of its objects.
pub struct Library {
    pub getinfo: Getinfo,
    pub freeinfo: Freeinfo,
    pub dupinfo: Dupinfo,
    pub fabric: Fabric,
    strerror: Strerror,
    version: Version,
}

/// The layout that [`crate::abi`] declares. The newest versions of these functions have another.
const LAYOUT: &CStr = c"FABRIC_1.3";

impl Library {
    /// The library of that name, or the system's: loaded once, and it stays. A process has one; the first name counts.
    ///
    /// Errors: it is not there, or has not what is needed; with what can be done.
    pub fn get(name: Option<&str>) -> Result<&'static Library, String> {
        static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();
        LOADED.get_or_init(|| Library::load(name.unwrap_or("libfabric.so.1"))).as_ref().map_err(Clone::clone)
    }

    fn load(name: &str) -> Result<Library, String> {
        let file = CString::new(name).map_err(|_| format!("{name:?} is no name of a library"))?;
        // SAFETY: loading the library runs its own initialisation, without this process's signals in its threads.
        let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(format!(
                "libfabric cannot be loaded ({}); install it (package libfabric1), or name it with TERN_LIBFABRIC",
                loader_says()
            ));
        }
        let find = |function: &CStr, version: &CStr| {
            // SAFETY: the library is open; both are C strings.
            let found = unsafe { libc::dlvsym(library, function.as_ptr(), version.as_ptr()) };
            let function = function.to_string_lossy();
            let why = || {
                let version = version.to_string_lossy();
                format!(
                    "{name} has no {function} of version {version}: it is no libfabric, or one before 1.5; install a newer \
                     one, or name it with TERN_LIBFABRIC"
                )
            };
            if found.is_null() { Err(why()) } else { Ok(found) }
        };
        // SAFETY: functions of these names and versions have these types.
        unsafe {
            Ok(Library {
                getinfo: std::mem::transmute::<*mut c_void, Getinfo>(find(c"fi_getinfo", LAYOUT)?),
                freeinfo: std::mem::transmute::<*mut c_void, Freeinfo>(find(c"fi_freeinfo", LAYOUT)?),
                dupinfo: std::mem::transmute::<*mut c_void, Dupinfo>(find(c"fi_dupinfo", LAYOUT)?),
                fabric: std::mem::transmute::<*mut c_void, Fabric>(find(c"fi_fabric", c"FABRIC_1.1")?),
                strerror: std::mem::transmute::<*mut c_void, Strerror>(find(c"fi_strerror", c"FABRIC_1.0")?),
                version: std::mem::transmute::<*mut c_void, Version>(find(c"fi_version", c"FABRIC_1.0")?),
            })
        }
    }

    /// Major and minor version.
    pub fn version(&self) -> (u32, u32) {
        // SAFETY: it only returns a number.
        let version = unsafe { (self.version)() };
        (version >> 16, version & 0xffff)
    }

    /// What an error is, in words. Takes it with either sign.
    pub fn error(&self, error: isize) -> String {
        // SAFETY: any number is taken; the text is never freed.
        let text = unsafe { (self.strerror)(error.unsigned_abs() as c_int) };
        if text.is_null() {
            return format!("error {error}");
        }
        // SAFETY: as above.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// Why the last call of the loader failed.
fn loader_says() -> String {
    // SAFETY: the string is this thread's until the loader's next call.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { "unknown".into() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}
