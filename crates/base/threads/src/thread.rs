//! A thread of the library's own.

use crate::without_signals;
use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;

/// What a thread does.
type Work = Box<dyn FnOnce() + Send>;

/// A thread that was started; it goes on alone when this is dropped.
pub struct Thread(libc::pthread_t);

// A handle of a thread is a number that any thread of the process may use.
const _: () = {
    const fn any<T: Send + Sync>() {}
    any::<Thread>();
};

impl Thread {
    /// Starts a thread of that name, 15 bytes at most, with room for `stack` bytes on its stack. It gets no signals: those are for the
    /// program's own threads.
    ///
    /// Errors: no thread can be had.
    pub fn start(name: &'static str, stack: usize, work: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
        let work: Work = Box::new(move || {
            let name = std::ffi::CString::new(name).expect("a name without a zero");
            // A name is for those who look.
            let _ = rustix::thread::set_name(&name);
            work();
        });
        let attributes = Attributes::new(stack)?;
        let work = Box::into_raw(Box::new(work));
        let mut thread = MaybeUninit::uninit();
        // SAFETY: `run` takes the box, once, if the thread is started.
        let code =
            without_signals(|| unsafe { libc::pthread_create(thread.as_mut_ptr(), &attributes.0, run, work.cast()) });
        if code != 0 {
            // SAFETY: nobody else has taken the box.
            drop(unsafe { Box::from_raw(work) });
            return Err(io::Error::from_raw_os_error(code));
        }
        // SAFETY: the call has succeeded.
        Ok(Thread(unsafe { thread.assume_init() }))
    }

    /// Waits until it has ended.
    pub fn join(self) {
        let thread = self.0;
        std::mem::forget(self);
        // SAFETY: it was neither joined nor let go.
        unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
    }

    /// Whether it is the thread that asks.
    pub fn is_current(&self) -> bool {
        // SAFETY: both are threads of this process.
        unsafe { libc::pthread_equal(self.0, libc::pthread_self()) != 0 }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: it was neither joined nor let go.
        unsafe { libc::pthread_detach(self.0) };
    }
}

extern "C" fn run(work: *mut c_void) -> *mut c_void {
    // SAFETY: `start` has made it for this call.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    work();
    std::ptr::null_mut()
}

struct Attributes(libc::pthread_attr_t);

impl Attributes {
    fn new(stack: usize) -> io::Result<Attributes> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the call fills them.
        let code = unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
        if code != 0 {
            return Err(io::Error::from_raw_os_error(code));
        }
        // SAFETY: they are filled.
        let mut attributes = Attributes(unsafe { attributes.assume_init() });
        let page = rustix::param::page_size();
        let size = (stack + taken_by_others(&attributes.0)).next_multiple_of(page);
        // SAFETY: they are filled. Where the size is refused, the thread has the usual one.
        unsafe { libc::pthread_attr_setstacksize(&mut attributes.0, size) };
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: they were made by `pthread_attr_init`.
        unsafe { libc::pthread_attr_destroy(&mut self.0) };
    }
}

/// How many bytes of a stack the C library takes for itself. The variables of a thread lie there, and a program may have many.
fn taken_by_others(attributes: &libc::pthread_attr_t) -> usize {
    // SAFETY: the name ends with a zero.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr()) };
    if function.is_null() {
        return 0;
    }
    // SAFETY: that is how the C library declares the function, for those who start threads with small stacks.
    unsafe {
        std::mem::transmute::<*mut c_void, extern "C" fn(*const libc::pthread_attr_t) -> usize>(function)(attributes)
    }
}
