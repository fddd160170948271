//! The tool information interface (MPI 5.0 section 15.3): settings as control variables, counters as
//! performance variables, and events.
//!
//! It may be used before MPI is initialised and after it is finalised, and by threads of a tool while
//! the program is in the library. So its state is none of the core's: it stands behind a lock of its own,
//! which is held by no callback. Its handles are numbers like those of the other objects; its errors
//! are codes without an error handler. MPI_Error_string tells what they are about.

mod category;
mod cvar;
mod enumeration;
mod event;
mod hand_on;
mod pvar;
mod source;

pub use category::*;
pub use cvar::*;
pub use enumeration::*;
pub use event::*;
pub use hand_on::hand_on;
pub use pvar::*;
pub use source::*;

use crate::args::OptionalOut;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::handle::{Kind, Table};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What tools have made.
struct Tool {
    /// Initialisations that are not finalised.
    users: u32,
    /// Handles of control variables: the variable's index.
    cvars: Table<usize>,
    sessions: Table<()>,
    pvars: Table<pvar::Handle>,
    registrations: Table<event::Registration>,
    /// Events that callbacks look at now.
    instances: Table<tern_counters::events::Event>,
    /// Registrations that were freed while events were handed on.
    leaving: Vec<event::Leaving>,
}

impl Tool {
    const fn new() -> Tool {
        Tool {
            users: 0,
            cvars: Table::new(Kind::ToolCvar),
            sessions: Table::new(Kind::ToolSession),
            pvars: Table::new(Kind::ToolPvar),
            registrations: Table::new(Kind::ToolRegistration),
            instances: Table::new(Kind::ToolEvent),
            leaving: Vec::new(),
        }
    }
}

static TOOL: Mutex<Tool> = Mutex::new(Tool::new());

/// All of it, initialised or not.
fn state() -> MutexGuard<'static, Tool> {
    TOOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state for a call that needs the interface to be initialised.
fn enter() -> Result<MutexGuard<'static, Tool>> {
    let tool = state();
    if tool.users > 0 {
        return Ok(tool);
    }
    refuse(MPI_T_ERR_NOT_INITIALIZED, "call MPI_T_init_thread first")
}

/// The interface must be initialised.
fn up() -> Result<()> {
    enter().map(|_| ())
}

/// An error of this interface.
#[cold]
fn refuse<T>(code: i32, message: impl Into<String>) -> Result<T> {
    Err(Error::new(code, message))
}

/// What a call has to have.
fn need<T>(value: Option<T>, code: i32, message: impl FnOnce() -> String) -> Result<T> {
    value.map_or_else(|| refuse(code, message()), Ok)
}

/// The argument `name` is a null pointer.
#[cold]
fn null<T>(name: &str) -> Result<T> {
    refuse(MPI_T_ERR_INVALID, format!("argument {name} is a null pointer"))
}

/// A result, the argument `name`, that must have a place.
fn need_place<T: Copy>(place: OptionalOut<T>, name: &str) -> Result<OptionalOut<T>> {
    if place.is_null() { null(name) } else { Ok(place) }
}

/// What the argument `name` points to.
fn need_value<T: Copy>(place: OptionalOut<T>, name: &str) -> Result<T> {
    place.get().map_or_else(|| null(name), Ok)
}

/// The entry of a handle, if it has been found.
fn need_handle<T>(found: Option<T>, handle: usize, what: &str) -> Result<T> {
    need(found, MPI_T_ERR_INVALID_HANDLE, || format!("{handle:#x} is no handle of {what}: it was freed, or never made"))
}

/// The entry of a list of `what` that a program's index names.
fn at<'a, T>(list: &'a [T], index: i32, what: &str) -> Result<&'a T> {
    let found = usize::try_from(index).ok().and_then(|index| list.get(index));
    need(found, MPI_T_ERR_INVALID_INDEX, || {
        format!("the index is {index}, but those of {what} go from 0 to {}", list.len() as i64 - 1)
    })
}

/// The index of the entry, in a list of `what`, that `is` accepts; `name` is null or the name that is looked for.
fn index_of<T>(
    list: &[T], what: &str, name: Option<&str>, index: OptionalOut<i32>, is: impl Fn(&T, &str) -> bool,
) -> Result<()> {
    let index = need_place(index, "for the index")?;
    let Some(name) = name else { return null("name") };
    let found = list.iter().position(|entry| is(entry, name));
    index.set(need(found, MPI_T_ERR_INVALID_NAME, || format!("\"{name}\" is none of the {what}"))? as i32);
    Ok(())
}

/// Returns a string (MPI 5.0 section 15.3.3): as much as fits, and in `length` the room that all of it
/// needs, with the final 0. Without a place or room only that; without `length` nothing.
fn put_text(text: &str, place: OptionalOut<u8>, length: OptionalOut<i32>) {
    let Some(room) = length.get() else { return };
    length.set(text.len() as i32 + 1);
    if room <= 0 || place.is_null() {
        return;
    }
    let cut = text.floor_char_boundary(room as usize - 1);
    text.bytes().take(cut).chain([0]).enumerate().for_each(|(at, byte)| place.set_at(at, byte));
}

/// Writes the first `len` of these indices.
fn put_indices(found: impl Iterator<Item = usize>, len: i32, indices: OptionalOut<i32>) -> Result<()> {
    let room = usize::try_from(len).ok();
    let len = need(room, MPI_T_ERR_INVALID, || format!("argument len is {len}, but must not be negative"))?;
    if len > 0 {
        need_place(indices, "indices")?;
    }
    found.take(len).enumerate().for_each(|(at, index)| indices.set_at(at, index as i32));
    Ok(())
}

/// MPI_T_init_thread
pub fn t_init_thread(required: i32, provided: OptionalOut<i32>) -> Result<()> {
    if !(MPI_THREAD_SINGLE..=MPI_THREAD_MULTIPLE).contains(&required) {
        return refuse(MPI_T_ERR_INVALID, format!("argument required is {required}, which is no level of threads"));
    }
    // The lock around the state serves every level that is asked for.
    need_place(provided, "provided")?.set(required);
    state().users += 1;
    Ok(())
}

/// MPI_T_finalize: the last one frees what tools have left.
pub fn t_finalize() -> Result<()> {
    let mut tool = enter()?;
    tool.users -= 1;
    if tool.users == 0 {
        // Handles keep their generations, so that old ones stay unknown.
        let Tool { cvars, sessions, pvars, registrations, .. } = &mut *tool;
        cvars.clear();
        sessions.clear();
        pvars.clear();
        registrations.clear();
        event::listen(&tool);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_cut_and_their_length_is_told() {
        let mut bytes = [b'x'; 8];
        let mut put = |room: i32, with_place: bool| {
            bytes = [b'x'; 8];
            let mut length = room;
            let place = if with_place { bytes.as_mut_ptr() } else { std::ptr::null_mut() };
            // SAFETY: locals that outlive the call; `room` is no more than there is.
            unsafe { put_text("four", OptionalOut::new(place), OptionalOut::new(&mut length)) };
            (length, bytes)
        };
        assert_eq!(put(8, true), (5, *b"four\0xxx"));
        assert_eq!(put(5, true), (5, *b"four\0xxx"));
        assert_eq!(put(4, true), (5, *b"fou\0xxxx"));
        assert_eq!(put(1, true), (5, *b"\0xxxxxxx"));
        assert_eq!(put(0, true), (5, *b"xxxxxxxx"));
        assert_eq!(put(8, false), (5, *b"xxxxxxxx"));
        // SAFETY: nothing is written without a length.
        unsafe { put_text("four", OptionalOut::new(bytes.as_mut_ptr()), OptionalOut::new(std::ptr::null_mut())) };
    }

    #[test]
    fn every_setting_and_event_has_a_category() {
        let known = |name: &str| tern_counters::CATEGORIES.iter().any(|category| category.name == name);
        for entry in tern_settings::ALL {
            assert!(known(entry.category()), "{}: {}", entry.name(), entry.category());
        }
        for kind in tern_counters::events::Kind::ALL {
            assert!(known(kind.category()), "{}", kind.name());
        }
    }
}
