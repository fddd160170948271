//! A process that an uncaught exception of Python ends. mpi4py calls MPI_Finalize then, as at any end of the interpreter, and that call
//! would wait for ever for processes that wait for this one.
//!
//! The interpreter tells nothing any more when MPI_Finalize comes, so MPI_Init leaves a function with Python's module `atexit`. That one
//! looks whether an exception has gone through the outermost frame. Where it has, MPI_Finalize says so after [`PATIENCE`]. It ends the job
//! when all others of it wait inside MPI, or after TERN_LINGER where they compute or are out of sight.

use crate::guarded::Guarded;
use crate::runtime::{adi, runtime};
use std::cell::{Cell, OnceCell};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long MPI_Finalize waits in silence: the others may have the same exception, and come at once.
const PATIENCE: Duration = Duration::from_secs(2);
/// For how long all others are seen to wait before the job ends.
const CERTAIN: Duration = Duration::from_secs(2);

type Object = *mut c_void;

/// The functions of the interpreter that are needed here.
#[derive(Clone, Copy)]
struct Python {
    call: unsafe extern "C" fn(Object, ...) -> Object,
    get: unsafe extern "C" fn(Object, *const c_char) -> Object,
    of_sys: unsafe extern "C" fn(*const c_char) -> Object,
    import: unsafe extern "C" fn(*const c_char) -> Object,
    function: unsafe extern "C" fn(*const Method, Object, Object) -> Object,
    text: unsafe extern "C" fn(Object) -> Object,
    utf8: unsafe extern "C" fn(Object) -> *const c_char,
    keep: unsafe extern "C" fn(Object),
    drop: unsafe extern "C" fn(Object),
    forget_error: unsafe extern "C" fn(),
    none: Object,
}

// SAFETY: addresses of functions, and of an object that Python never frees.
unsafe impl Send for Python {}

/// `PyMethodDef`
#[repr(C)]
struct Method {
    name: *const c_char,
    function: unsafe extern "C" fn(Object, Object) -> Object,
    flags: c_int,
    doc: *const c_char,
}

// SAFETY: it is only read.
unsafe impl Sync for Method {}

/// METH_NOARGS
const NO_ARGUMENTS: c_int = 4;

static METHOD: Method =
    Method { name: c"tern_leaves".as_ptr(), function: leaves, flags: NO_ARGUMENTS, doc: std::ptr::null() };

/// The interpreter in which [`leaves`] is registered.
static PYTHON: Mutex<Option<Python>> = Mutex::new(None);
/// The exception that ends this process.
static EXCEPTION: Mutex<Option<String>> = Mutex::new(None);

fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// # Safety
/// `found` is the address of a function of type `F`.
unsafe fn typed<F: Copy>(found: *mut c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) }
    // SAFETY: the caller's word, and both are as large.
    unsafe { std::mem::transmute_copy::<*mut c_void, F>(&found) }
}

/// The function `name` of the interpreter, whose type the caller knows.
macro_rules! function {
    ($name:literal) => {
        // SAFETY: Python's C interface declares it so.
        unsafe { typed(symbol($name)?) }
    };
}

/// The interpreter, if this process has one and the calling thread may use it.
fn interpreter() -> Option<Python> {
    let is_up: extern "C" fn() -> c_int = function!(c"Py_IsInitialized");
    let has_thread: extern "C" fn() -> c_int = function!(c"PyGILState_Check");
    if is_up() == 0 || has_thread() == 0 {
        return None;
    }
    Some(Python {
        call: function!(c"PyObject_CallFunctionObjArgs"),
        get: function!(c"PyObject_GetAttrString"),
        of_sys: function!(c"PySys_GetObject"),
        import: function!(c"PyImport_ImportModule"),
        function: function!(c"PyCFunction_NewEx"),
        text: function!(c"PyObject_Str"),
        utf8: function!(c"PyUnicode_AsUTF8"),
        keep: function!(c"Py_IncRef"),
        drop: function!(c"Py_DecRef"),
        forget_error: function!(c"PyErr_Clear"),
        none: symbol(c"_Py_NoneStruct")?,
    })
}

/// MPI comes up: from now on the end of the interpreter is noticed, where others could wait for this process.
pub fn watch() {
    if runtime().world_size == 1 {
        return;
    }
    let Some(python) = interpreter() else { return };
    let null = std::ptr::null_mut();
    // SAFETY: this thread may use the interpreter; each object is given up once, and null ones are nothing to `Py_DecRef`.
    unsafe {
        let module = (python.import)(c"atexit".as_ptr());
        let register = if module.is_null() { null } else { (python.get)(module, c"register".as_ptr()) };
        let function = (python.function)(&METHOD, null, null);
        if !register.is_null() && !function.is_null() {
            (python.drop)((python.call)(register, function, null));
            *PYTHON.lock().unwrap_or_else(|e| e.into_inner()) = Some(python);
        }
        [module, register, function].into_iter().for_each(|object| (python.drop)(object));
        (python.forget_error)();
    }
}

/// Python calls it when the interpreter ends, before anything of it is gone.
unsafe extern "C" fn leaves(_: Object, _: Object) -> Object {
    let Some(python) = *PYTHON.lock().unwrap_or_else(|e| e.into_inner()) else { return std::ptr::null_mut() };
    // SAFETY: Python calls this with the right to use it.
    unsafe {
        if let Some(exception) = python.uncaught() {
            *EXCEPTION.lock().unwrap_or_else(|e| e.into_inner()) = Some(exception);
        }
        (python.forget_error)();
        (python.keep)(python.none);
    }
    python.none
}

impl Python {
    /// The exception that has gone through the outermost frame of this program. Tools for tests and notebooks note those that they have
    /// caught in the same place of `sys`; below these there are frames of their own. A user at a prompt goes on after one.
    ///
    /// # Safety
    /// The thread may use the interpreter.
    unsafe fn uncaught(self) -> Option<String> {
        // SAFETY: of `sys` the references are borrowed, those of attributes are given up.
        unsafe {
            let value = self.some((self.of_sys)(c"last_value".as_ptr()))?;
            let trace = self.some((self.of_sys)(c"last_traceback".as_ptr()))?;
            if !(self.of_sys)(c"ps1".as_ptr()).is_null() || self.attribute(trace, &[c"tb_frame", c"f_back"]).is_some() {
                return None;
            }
            let class = self.attribute(value, &[c"__class__", c"__name__"]).unwrap_or_default();
            Some(match self.words(value) {
                Some(text) if !text.is_empty() => format!("{class}: {text}"),
                _ => class,
            })
        }
    }

    fn some(self, object: Object) -> Option<Object> {
        (!object.is_null() && object != self.none).then_some(object)
    }

    /// The attribute at the end of a chain of names as text; `None` where it is missing or Python's None.
    ///
    /// # Safety
    /// As [`Python::uncaught`]; `object` is one.
    unsafe fn attribute(self, object: Object, names: &[&CStr]) -> Option<String> {
        let [name, rest @ ..] = names else {
            // SAFETY: the caller's.
            return unsafe { self.words(object) };
        };
        // SAFETY: the caller's; the reference is given up.
        unsafe {
            let found = (self.get)(object, name.as_ptr());
            let text = self.some(found).and_then(|found| self.attribute(found, rest));
            (self.drop)(found);
            text
        }
    }

    /// # Safety
    /// As [`Python::attribute`].
    unsafe fn words(self, object: Object) -> Option<String> {
        // SAFETY: the caller's; the text lies in the string, which is given up after it was copied.
        unsafe {
            let string = (self.text)(object);
            let bytes = if string.is_null() { std::ptr::null() } else { (self.utf8)(string) };
            let text = (!bytes.is_null()).then(|| CStr::from_ptr(bytes).to_string_lossy().into_owned());
            (self.drop)(string);
            text
        }
    }
}

struct State {
    /// The exception, once MPI_Finalize has begun.
    exception: OnceCell<String>,
    told: Cell<bool>,
    /// Since when all others were seen to wait.
    waiting: Cell<Option<Instant>>,
}

static STATE: Guarded<State> =
    Guarded::new(State { exception: OnceCell::new(), told: Cell::new(false), waiting: Cell::new(None) });

/// MPI_Finalize begins. True if an uncaught exception ends this process: [`slept`] has to be called then.
pub fn is_leaving() -> bool {
    let exception = EXCEPTION.lock().unwrap_or_else(|e| e.into_inner()).take();
    exception.is_some_and(|exception| STATE.get().exception.set(exception).is_ok())
}

/// MPI_Finalize waits, and nothing has moved for `idle`.
pub fn slept(idle: Duration) {
    let state = STATE.get();
    let Some(exception) = state.exception.get().filter(|_| idle >= PATIENCE) else { return };
    let now = Instant::now();
    let since = adi().mcm().all_others_sleep().then(|| state.waiting.get().unwrap_or(now));
    state.waiting.set(since);
    let linger = tern_settings::LINGER.get();
    let left = format!("has left by an uncaught exception of Python ({exception})");
    let remedy = "Started with `python -m mpi4py` in place of `python`, it would end the job at once";
    if since.is_some_and(|since| now - since >= CERTAIN) {
        crate::abort::abort_inside(1, &format!("{left}, and all others wait inside MPI. The job ends. {remedy}"));
    }
    if !linger.is_zero() && idle >= linger {
        let text = format!(
            "{left}, and the others have not come to MPI_Finalize in {linger:?} (TERN_LINGER). The job ends. {remedy}"
        );
        crate::abort::abort_inside(1, &text);
    }
    if !state.told.replace(true) {
        let me = runtime().me;
        tern_settings::warn!("rank {me} {left}, and MPI_Finalize waits for the others. {remedy}");
    }
}
