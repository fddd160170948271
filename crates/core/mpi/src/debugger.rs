//! What a parallel debugger looks for in a process: where its message queues are, and the library that reads them.
//!
//! Debuggers load the library that `MPIR_dll_name` names (`libtern_msgq.so`, crates/tools/msgq), and give it means to read the process's memory.
//! It begins with the text `tern_queues`, which has a name and a number for each place ([`tern_adi::Places`]).

use crate::objects::listed;
use crate::runtime::Runtime;
use std::cell::UnsafeCell;

/// Text that ends with a zero, at an address that has a name.
#[repr(transparent)]
pub struct Text<const N: usize>(UnsafeCell<[u8; N]>);

// SAFETY: it is written once, by the initialisation of MPI, and read by debuggers alone.
unsafe impl<const N: usize> Sync for Text<N> {}

impl<const N: usize> Text<N> {
    const fn new(text: &str) -> Text<N> {
        let (mut bytes, mut at) = ([0; N], 0);
        while at < text.len() {
            bytes[at] = text.as_bytes()[at];
            at += 1;
        }
        Text(UnsafeCell::new(bytes))
    }

    /// Another text, if it has room. The caller is the initialisation of MPI.
    fn set(&self, text: &[u8]) {
        if text.len() < N && !text.contains(&0) {
            // SAFETY: nobody else writes, and no Rust code reads (see above).
            let bytes = unsafe { &mut *self.0.get() };
            bytes[..text.len()].copy_from_slice(text);
            bytes[text.len()..].fill(0);
        }
    }
}

/// The library that shows message queues, by the convention of TotalView's interface.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub static MPIR_dll_name: Text<4096> = Text::new("libtern_msgq.so");

/// Where the queues are; empty before MPI_Init.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub static tern_queues: Text<4096> = Text::new("");

/// Tells debuggers where everything is in a process that has just got its `runtime`.
pub fn prepare(runtime: &Runtime) {
    let mut places = runtime.adi.places();
    listed::put_places(&mut places);
    places.put("world", runtime.world_size as usize);
    tern_queues.set(format!("version=1 {}", places.0.trim_end()).as_bytes());
    if let Some(library) = tern_settings::own_file().and_then(|file| Some(file.parent()?.join("libtern_msgq.so"))) {
        MPIR_dll_name.set(library.as_os_str().as_encoded_bytes());
    }
}
