//! A process that an uncaught exception of Python ends. mpi4py calls MPI_Finalize then, as at any end of the interpreter, and that call
//! would wait for ever for processes that wait for this one.
//!
//! The interpreter tells nothing any more when MPI_Finalize comes, so MPI_Init leaves a function with Python's module `atexit`. That one
//! looks whether an exception has gone through the outermost frame. Where it has, MPI_Finalize says so after [`PATIENCE`]. It ends the job
//! when all others of it wait inside MPI, or after TERN_LINGER where they compute or are out of sight.
//!
//! `sys.exit` leaves no trace when the interpreter ends, nor do `exit` and `quit`. They are replaced by functions that note the status and
//! call them. Somebody may have caught what they raise, so a job is ended after such a call only when all others wait inside MPI.

use crate::guarded::Guarded;
use crate::runtime::{adi, runtime};
use std::cell::{Cell, OnceCell};
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
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
    set: unsafe extern "C" fn(Object, *const c_char, Object) -> c_int,
    apply: unsafe extern "C" fn(Object, Object, Object) -> Object,
    length: unsafe extern "C" fn(Object) -> isize,
    item: unsafe extern "C" fn(Object, isize) -> Object,
    number: unsafe extern "C" fn(Object) -> c_long,
    text: unsafe extern "C" fn(Object) -> Object,
    utf8: unsafe extern "C" fn(Object) -> *const c_char,
    keep: unsafe extern "C" fn(Object),
    drop: unsafe extern "C" fn(Object),
    has_error: unsafe extern "C" fn() -> Object,
    forget_error: unsafe extern "C" fn(),
    none: Object,
}

// SAFETY: addresses of functions, and of an object that Python never frees.
unsafe impl Send for Python {}

/// `PyMethodDef`
#[repr(C)]
struct Method {
    name: *const c_char,
    function: unsafe extern "C" fn(Object, Object, Object) -> Object,
    flags: c_int,
    doc: *const c_char,
}

// SAFETY: it is only read.
unsafe impl Sync for Method {}

/// METH_VARARGS | METH_KEYWORDS
const ANY_ARGUMENTS: c_int = 3;

static LEAVES: Method =
    Method { name: c"tern_leaves".as_ptr(), function: leaves, flags: ANY_ARGUMENTS, doc: std::ptr::null() };
static EXIT: Method = Method {
    name: c"exit".as_ptr(),
    function: exits,
    flags: ANY_ARGUMENTS,
    doc: c"exit(status=None, /)\n--\n\nEnds the program by SystemExit(status), and tells the MPI library (Tern) of the status.".as_ptr(),
};

/// The interpreter in which [`leaves`] is registered.
static PYTHON: Mutex<Option<Python>> = Mutex::new(None);
/// What ends this process, once the interpreter ends.
static LEFT: Mutex<Option<Left>> = Mutex::new(None);
/// The last call of `sys.exit` or its like with another status than 0.
static EXITED: Mutex<Option<Left>> = Mutex::new(None);

/// How the program of this process leaves.
struct Left {
    /// What it has done, behind "rank 0".
    how: String,
    /// The code of the process.
    code: i32,
    /// Nobody can have caught it.
    certain: bool,
}

fn locked<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(|e| e.into_inner())
}

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
        set: function!(c"PyObject_SetAttrString"),
        apply: function!(c"PyObject_Call"),
        length: function!(c"PyTuple_Size"),
        item: function!(c"PyTuple_GetItem"),
        number: function!(c"PyLong_AsLong"),
        text: function!(c"PyObject_Str"),
        utf8: function!(c"PyUnicode_AsUTF8"),
        keep: function!(c"Py_IncRef"),
        drop: function!(c"Py_DecRef"),
        has_error: function!(c"PyErr_Occurred"),
        forget_error: function!(c"PyErr_Clear"),
        none: symbol(c"_Py_NoneStruct")?,
    })
}

/// MPI comes up: from now on the end of the interpreter is noticed, where others could wait for this process.
pub fn watch() {
    if runtime().world_size == 1 {
        return;
    }
    let Some(python) = interpreter().filter(|_| locked(&PYTHON).is_none()) else { return };
    // SAFETY: this thread may use the interpreter.
    if unsafe { python.register() } {
        *locked(&PYTHON) = Some(python);
        // SAFETY: the same. A user at a prompt calls `exit` by hand.
        unsafe {
            if (python.of_sys)(c"ps1".as_ptr()).is_null() {
                python.note_exits();
            }
        }
    }
}

/// Python calls it when the interpreter ends, before anything of it is gone.
unsafe extern "C" fn leaves(_: Object, _: Object, _: Object) -> Object {
    let Some(python) = *locked(&PYTHON) else { return std::ptr::null_mut() };
    // SAFETY: Python calls this with the right to use it.
    unsafe {
        let exception = python.uncaught().map(|exception| {
            let how = format!("has left by an uncaught exception of Python ({exception})");
            Left { how, code: 1, certain: true }
        });
        *locked(&LEFT) = exception.or_else(|| locked(&EXITED).take());
        (python.forget_error)();
        (python.keep)(python.none);
    }
    python.none
}

/// In place of `sys.exit` and its like, which is `original`: notes the status.
unsafe extern "C" fn exits(original: Object, arguments: Object, named: Object) -> Object {
    let Some(python) = *locked(&PYTHON) else { return std::ptr::null_mut() };
    // SAFETY: Python calls this with the right to use it, and with a tuple.
    unsafe {
        *locked(&EXITED) = python.status(arguments);
        (python.apply)(original, arguments, named)
    }
}

impl Python {
    /// Leaves [`leaves`] with the module `atexit`; true if that has taken it.
    ///
    /// # Safety
    /// The thread may use the interpreter.
    unsafe fn register(self) -> bool {
        let null = std::ptr::null_mut();
        // SAFETY: the caller's; each object is given up once, and null ones are nothing to `Py_DecRef`.
        unsafe {
            let module = (self.import)(c"atexit".as_ptr());
            let register = if module.is_null() { null } else { (self.get)(module, c"register".as_ptr()) };
            let function = (self.function)(&LEAVES, null, null);
            let done = !register.is_null() && !function.is_null();
            if done {
                (self.drop)((self.call)(register, function, null));
            }
            [module, register, function].into_iter().for_each(|object| (self.drop)(object));
            (self.forget_error)();
            done
        }
    }

    /// Puts [`exits`] in place of the functions by which programs leave with a status.
    ///
    /// # Safety
    /// The thread may use the interpreter.
    unsafe fn note_exits(self) {
        for (module, name) in [(c"sys", c"exit"), (c"builtins", c"exit"), (c"builtins", c"quit")] {
            // SAFETY: as in `register`; the function keeps the original.
            unsafe {
                let place = (self.import)(module.as_ptr());
                let null = std::ptr::null_mut();
                let original = if place.is_null() { null } else { (self.get)(place, name.as_ptr()) };
                if !original.is_null() {
                    let function = (self.function)(&EXIT, original, null);
                    if !function.is_null() {
                        (self.set)(place, name.as_ptr(), function);
                    }
                    (self.drop)(function);
                }
                [place, original].into_iter().for_each(|object| (self.drop)(object));
                (self.forget_error)();
            }
        }
    }

    /// What a call of `sys.exit` with these arguments means for the process: a number is its code, and of all else but None Python writes the
    /// text and takes the code 1. `None` for the code 0.
    ///
    /// # Safety
    /// The thread may use the interpreter; `arguments` is a tuple.
    unsafe fn status(self, arguments: Object) -> Option<Left> {
        // SAFETY: the caller's; the reference is borrowed.
        unsafe {
            if (self.length)(arguments) == 0 {
                return None;
            }
            let status = self.some((self.item)(arguments, 0))?;
            let number = (self.number)(status);
            let is_number = (self.has_error)().is_null();
            (self.forget_error)();
            let code = if is_number { number as i32 & 0xff } else { 1 };
            let text = self.words(status).unwrap_or_default();
            let how = format!("has called sys.exit({text})");
            (code != 0).then_some(Left { how, code, certain: false })
        }
    }

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
    /// What has ended the program, once MPI_Finalize has begun.
    left: OnceCell<Left>,
    told: Cell<bool>,
    /// Since when all others were seen to wait.
    waiting: Cell<Option<Instant>>,
}

static STATE: Guarded<State> =
    Guarded::new(State { left: OnceCell::new(), told: Cell::new(false), waiting: Cell::new(None) });

/// MPI_Finalize begins. True if the program of this process has failed: [`slept`] has to be called then.
pub fn is_leaving() -> bool {
    locked(&LEFT).take().is_some_and(|left| STATE.get().left.set(left).is_ok())
}

/// MPI_Finalize waits, and nothing has moved for `idle`.
pub fn slept(idle: Duration) {
    let state = STATE.get();
    let Some(Left { how, code, certain }) = state.left.get().filter(|_| idle >= PATIENCE) else { return };
    let now = Instant::now();
    let since = adi().mcm().all_others_sleep().then(|| state.waiting.get().unwrap_or(now));
    state.waiting.set(since);
    let linger = tern_settings::LINGER.get();
    let remedy = "Started with `python -m mpi4py` in place of `python`, it would end the job at once";
    if since.is_some_and(|since| now - since >= CERTAIN) {
        crate::abort::abort_inside(*code, &format!("{how}, and all others wait inside MPI. The job ends. {remedy}"));
    }
    if *certain && !linger.is_zero() && idle >= linger {
        let text = format!(
            "{how}, and the others have not come to MPI_Finalize in {linger:?} (TERN_LINGER). The job ends. {remedy}"
        );
        crate::abort::abort_inside(1, &text);
    }
    if !state.told.replace(true) {
        let me = runtime().me;
        tern_settings::warn!("rank {me} {how}, and MPI_Finalize waits for the others. {remedy}");
    }
}
