//! Callbacks that come with a pointer of their own: for other binary interfaces, which call the program's function with
//! handles of theirs, and need to know which function it is. The callbacks of the standard for operations and error
//! handlers have no such pointer.

use std::ffi::c_void;
use std::rc::Rc;

/// A pointer of whoever made the callback, given back when nothing uses it any more.
#[derive(Clone, Debug)]
pub struct State(Rc<Owned>);

#[derive(Debug)]
struct Owned {
    pointer: *mut c_void,
    release: Option<Release>,
}

/// Takes the pointer back.
pub type Release = unsafe extern "C" fn(*mut c_void);

impl State {
    /// # Safety
    /// `release` may be called with `pointer`, once, at any time after the last callback.
    pub unsafe fn new(pointer: *mut c_void, release: Option<Release>) -> State {
        State(Rc::new(Owned { pointer, release }))
    }

    pub fn pointer(&self) -> *mut c_void {
        self.0.pointer
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: by the contract of `new`; this is the last user of the pointer.
            unsafe { release(self.pointer) }
        }
    }
}
