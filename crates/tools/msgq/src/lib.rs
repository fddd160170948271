//! libtern_msgq.so: the message queues of a process of Tern, for debuggers that know TotalView's interface (`mqs_` functions).
//!
//! The debugger loads the library that the process names (`MPIR_dll_name`). It gives functions that find symbols and read memory ([`interface`]), and
//! goes along the communicators, and along the receives and messages of each. The process is stopped, or a file of memory, and runs no code for this:
//! the text `tern_queues` in it tells where everything is ([`process`]).

mod interface;
mod process;

use interface::*;
use process::{Debugged, Entry, Known, Memory, Places, Reader};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::ptr;

/// What a receive with any tag asks for.
const ANY_TAG: i32 = -2;
/// Room of the text in the process.
const TEXT: usize = 4096;

thread_local! {
    static BASIC: Cell<*const Basic> = const { Cell::new(ptr::null()) };
}

/// # Safety
/// `basic` lives as long as the library is used. This holds for all tables of functions that the debugger gives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_setup_basic_callbacks(basic: *const Basic) {
    BASIC.set(basic);
}

fn basic() -> &'static Basic {
    // SAFETY: the debugger has set it first, and keeps it.
    unsafe { BASIC.get().as_ref() }.expect("mqs_setup_basic_callbacks comes first")
}

#[unsafe(no_mangle)]
pub extern "C" fn mqs_version_string() -> *const c_char {
    concat!("Tern ", env!("CARGO_PKG_VERSION"), ", message queues\0").as_ptr().cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn mqs_version_compatibility() -> c_int {
    COMPATIBILITY
}

#[unsafe(no_mangle)]
pub extern "C" fn mqs_dll_taddr_width() -> c_int {
    size_of::<Address>() as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn mqs_dll_error_string(code: c_int) -> *const c_char {
    let text: &CStr = match code {
        OK => c"no error",
        NO_INFORMATION => c"the process does not tell this",
        END_OF_LIST => c"the end of the list",
        NO_QUEUES => c"the program does not use Tern's MPI library",
        UNREADABLE => c"the process's memory cannot be read, or was stopped in the midst of a change",
        NO_COMMUNICATOR => c"there is no current communicator",
        _ => c"unknown error",
    };
    text.as_ptr()
}

/// # Safety
/// The debugger's image and table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_setup_image(image: *mut Image, calls: *const ImageCalls) -> c_int {
    let info = Box::into_raw(Box::new(ImageInfo { calls }));
    // SAFETY: the debugger's own function, with what it gave.
    unsafe { (basic().put_image_info)(image, info) };
    OK
}

/// Where a symbol of the image is.
fn find(image: *mut Image, name: &CStr) -> Option<Address> {
    let mut address = 0;
    // SAFETY: the debugger's own functions; what it has for the image is from `mqs_setup_image`.
    let code = unsafe {
        let info = (basic().get_image_info)(image).as_ref()?;
        ((*info.calls).find_symbol)(image, name.as_ptr(), &mut address)
    };
    (code == OK && address != 0).then_some(address)
}

/// The library may be loaded later: each process is asked ([`mqs_process_has_queues`]).
///
/// # Safety
/// `message` is null or a place for a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_image_has_queues(_image: *mut Image, message: *mut *const c_char) -> c_int {
    // SAFETY: the caller's.
    unsafe { say(message, None) };
    OK
}

/// # Safety
/// `to` is null or a place for a text.
unsafe fn say(to: *mut *const c_char, text: Option<&'static CStr>) {
    if !to.is_null() {
        // SAFETY: the caller's.
        unsafe { *to = text.map_or(ptr::null(), CStr::as_ptr) };
    }
}

/// # Safety
/// `info` is what [`mqs_setup_image`] has put there, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_destroy_image_info(info: *mut ImageInfo) {
    if !info.is_null() {
        // SAFETY: the caller's; the debugger gives it up.
        drop(unsafe { Box::from_raw(info) });
    }
}

/// # Safety
/// The debugger's process and table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_setup_process(process: *mut Process, calls: *const ProcessCalls) -> c_int {
    let known = Known {
        debugged: Debugged { process, calls },
        places: None,
        comms: Vec::new(),
        comm: 0,
        class: PENDING_RECEIVES,
        operations: Vec::new().into_iter(),
    };
    // SAFETY: the debugger's own function.
    unsafe { (basic().put_process_info)(process, Box::into_raw(Box::new(known)).cast()) };
    OK
}

/// # Safety
/// `info` is what [`mqs_setup_process`] has put there, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_destroy_process_info(info: *mut ProcessInfo) {
    if !info.is_null() {
        // SAFETY: the caller's; the debugger gives it up.
        drop(unsafe { Box::from_raw(info.cast::<Known>()) });
    }
}

/// What is known of a process.
fn known<'a>(process: *mut Process) -> Result<&'a mut Known, c_int> {
    // SAFETY: the debugger has it from `mqs_setup_process`, and calls one function at a time.
    unsafe { (basic().get_process_info)(process).cast::<Known>().as_mut() }.ok_or(NO_INFORMATION)
}

/// The code of a result, for the debugger.
fn code(result: Result<(), c_int>) -> c_int {
    result.err().unwrap_or(OK)
}

/// # Safety
/// `message` is null or a place for a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_process_has_queues(process: *mut Process, message: *mut *const c_char) -> c_int {
    let result = look(process);
    let text = result
        .is_err()
        .then_some(c"This process has no message queues: it has not called MPI_Init yet, or does not use Tern.");
    // SAFETY: the caller's.
    unsafe { say(message, text) };
    code(result)
}

/// Reads what a process says of itself.
fn look(process: *mut Process) -> Result<(), c_int> {
    let known = known(process)?;
    // SAFETY: the debugger's own function.
    let image = unsafe { ((*known.debugged.calls).get_image)(process) };
    let at = find(image, c"tern_queues").ok_or(NO_QUEUES)?;
    let mut text = [0; TEXT];
    known.debugged.read(at, &mut text)?;
    let text = CStr::from_bytes_until_nul(&text).map_err(|_| NO_QUEUES)?;
    known.places = Some(text.to_str().ok().and_then(Places::parse).ok_or(NO_QUEUES)?);
    Ok(())
}

/// A process as it is now.
fn reader(known: &Known) -> Result<Reader<'_, Debugged>, c_int> {
    Ok(Reader { memory: &known.debugged, places: known.places.as_ref().ok_or(NO_QUEUES)? })
}

#[unsafe(no_mangle)]
pub extern "C" fn mqs_update_communicator_list(process: *mut Process) -> c_int {
    mqs_setup_communicator_iterator(process)
}

#[unsafe(no_mangle)]
pub extern "C" fn mqs_setup_communicator_iterator(process: *mut Process) -> c_int {
    let begin = || {
        look(process)?;
        let known = known(process)?;
        known.comms = reader(known)?.comms()?;
        known.comm = 0;
        if known.comms.is_empty() { Err(END_OF_LIST) } else { Ok(()) }
    };
    code(begin())
}

#[unsafe(no_mangle)]
pub extern "C" fn mqs_next_communicator(process: *mut Process) -> c_int {
    let step = || {
        let known = known(process)?;
        known.comm += 1;
        if known.comm < known.comms.len() { Ok(()) } else { Err(END_OF_LIST) }
    };
    code(step())
}

/// # Safety
/// `to` is a place for a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_get_communicator(process: *mut Process, to: *mut Communicator) -> c_int {
    let get = || {
        let known = known(process)?;
        let comm = known.comms.get(known.comm).ok_or(NO_COMMUNICATOR)?;
        // SAFETY: the caller's.
        let to = unsafe { &mut *to };
        to.unique_id = Address::from(comm.context);
        to.local_rank = Word::from(comm.rank);
        to.size = comm.ranks.len() as Word;
        put_text(&mut to.name, &comm.name);
        Ok(())
    };
    code(get())
}

/// # Safety
/// `ranks` has room for as many numbers as the communicator has processes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_get_comm_group(process: *mut Process, ranks: *mut c_int) -> c_int {
    let get = || {
        let known = known(process)?;
        let comm = known.comms.get(known.comm).ok_or(NO_COMMUNICATOR)?;
        for (at, &rank) in comm.ranks.iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { *ranks.add(at) = rank };
        }
        Ok(())
    };
    code(get())
}

#[unsafe(no_mangle)]
pub extern "C" fn mqs_setup_operation_iterator(process: *mut Process, class: c_int) -> c_int {
    let begin = || {
        let known = known(process)?;
        let context = known.comms.get(known.comm).ok_or(NO_COMMUNICATOR)?.context;
        let table = match class {
            PENDING_RECEIVES => "posted",
            UNEXPECTED_MESSAGES => "unexpected",
            _ => return Err(NO_INFORMATION),
        };
        known.operations = reader(known)?.entries(table, context)?.into_iter();
        known.class = class;
        Ok(())
    };
    code(begin())
}

/// # Safety
/// `to` is a place for an operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_next_operation(process: *mut Process, to: *mut Operation) -> c_int {
    let step = || {
        let known = known(process)?;
        let entry = known.operations.next().ok_or(END_OF_LIST)?;
        // SAFETY: the caller's; zeros are a value of all its fields.
        unsafe { to.write_bytes(0, 1) };
        // SAFETY: as above.
        let to = unsafe { &mut *to };
        fill(known, &entry, to)
    };
    code(step())
}

/// Tells of one receive or message.
fn fill(known: &Known, entry: &Entry, to: &mut Operation) -> Result<(), c_int> {
    let comm = known.comms.get(known.comm).ok_or(NO_COMMUNICATOR)?;
    let rank = usize::try_from(entry.source).ok().and_then(|source| comm.ranks.get(source));
    let global = rank.map_or(-1, |&rank| Word::from(rank));
    to.desired_local_rank = Word::from(entry.source).max(-1);
    to.desired_global_rank = global;
    to.desired_tag = Word::from(entry.tag);
    if known.class == UNEXPECTED_MESSAGES {
        to.status = COMPLETE;
        to.system_buffer = 1;
        to.actual_local_rank = to.desired_local_rank;
        to.actual_global_rank = global;
        to.actual_tag = to.desired_tag;
        to.actual_length = reader(known)?.message_bytes(entry.id)? as Word;
        to.desired_length = to.actual_length;
        return Ok(());
    }
    to.status = PENDING;
    to.tag_wild = c_int::from(entry.tag == ANY_TAG);
    let buffer = reader(known)?.buffer(entry.id)?;
    to.buffer = buffer.address;
    to.desired_length = buffer.length.unwrap_or(0) as Word;
    put_text(&mut to.extra_text[0], if entry.published { "its sender can see it" } else { "" });
    if buffer.length.is_none() {
        put_text(&mut to.extra_text[1], "elements of a datatype with gaps");
    }
    Ok(())
}
