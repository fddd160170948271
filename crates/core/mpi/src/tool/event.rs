//! Events: their types, registrations and instances (MPI 5.0 section 15.3.8). How they reach callbacks is
//! in `hand_on`.
//!
//! No hint is known: what info objects say is not kept.

use super::{Tool, at, enter, enumeration, index_of, need, need_handle, need_place, null, put_text, refuse, state, up};
use crate::args::OptionalOut;
use crate::constants::*;
use crate::error::Result;
use crate::info;
use std::ffi::{c_int, c_void};
use tern_counters::events::{self, Event, Kind};

/// A pointer of the tool's, handed back to it.
#[derive(Clone, Copy)]
pub(super) struct UserData(pub *mut c_void);

// SAFETY: the library only hands it back.
unsafe impl Send for UserData {}

/// `void callback(instance, registration, cb_safety, user_data)`
pub(super) type Callback = unsafe extern "C" fn(usize, usize, c_int, *mut c_void);
/// `void freed(registration, cb_safety, user_data)`
pub(super) type Freed = unsafe extern "C" fn(usize, c_int, *mut c_void);
/// `void dropped(count, registration, source, cb_safety, user_data)`
pub(super) type Dropped = unsafe extern "C" fn(i64, usize, c_int, c_int, *mut c_void);

/// The levels of what a callback must bear, from the one that asks for least. Callbacks are only called
/// where they may do anything, so that each of them will do.
const LEVELS: [i32; 4] = [
    MPI_T_CB_REQUIRE_NONE,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
];

/// What messages call them.
const TYPES: &str = "types of events";
const REGISTRATIONS: &str = "registrations of events";

/// A tool's interest in one type of event.
pub(super) struct Registration {
    pub kind: Kind,
    /// Events before this time are not its.
    pub since: u64,
    /// By level.
    pub callbacks: [Option<(Callback, UserData)>; LEVELS.len()],
    pub dropped: Option<Dropped>,
}

impl Registration {
    /// The callback that bears least.
    pub fn callback(&self) -> Option<(Callback, UserData)> {
        self.callbacks.iter().flatten().next().copied()
    }
}

/// A registration that was freed, and whom to tell.
pub(super) struct Leaving {
    pub registration: usize,
    pub freed: Freed,
    pub user_data: UserData,
}

fn level(cb_safety: i32) -> Result<usize> {
    let found = LEVELS.iter().position(|&level| level == cb_safety);
    need(found, MPI_T_ERR_INVALID, || format!("argument cb_safety is {cb_safety}, which is no MPI_T_CB_REQUIRE_…"))
}

/// Says below which events somebody waits for.
pub(super) fn listen(tool: &Tool) {
    let awaited = |registration: &&Registration| registration.callback().is_some();
    let kinds: Vec<Kind> = tool.registrations.iter().filter(awaited).map(|registration| registration.kind).collect();
    events::listen(&kinds, crate::mode::note_events);
}

/// The bytes that the elements of an event lie at in its data, and the data's length.
fn displacements(kind: Kind) -> (Vec<usize>, usize) {
    let mut end = 0usize;
    let place = |element: &events::Element| {
        let size = if element.wide { 8 } else { 4 };
        let start = end.next_multiple_of(size);
        end = start + size;
        start
    };
    let places = kind.elements().iter().map(place).collect();
    (places, end)
}

/// MPI_T_event_get_num
pub fn t_event_get_num(num: OptionalOut<i32>) -> Result<()> {
    up()?;
    need_place(num, "num_events")?.set(Kind::ALL.len() as i32);
    Ok(())
}

/// MPI_T_event_get_info: as many elements as there is room for, and how many there are.
#[allow(clippy::too_many_arguments)]
pub fn t_event_get_info(
    index: i32, name: OptionalOut<u8>, name_len: OptionalOut<i32>, verbosity: OptionalOut<i32>,
    datatypes: OptionalOut<usize>, displacements: OptionalOut<i64>, num_elements: OptionalOut<i32>,
    enumtype: OptionalOut<usize>, info: OptionalOut<usize>, desc: OptionalOut<u8>, desc_len: OptionalOut<i32>,
    bind: OptionalOut<i32>,
) -> Result<()> {
    up()?;
    let kind = *at(&Kind::ALL, index, TYPES)?;
    put_text(kind.name(), name, name_len);
    verbosity.set(MPI_T_VERBOSITY_TUNER_DETAIL);
    let room = num_elements.get().unwrap_or(0).max(0) as usize;
    let (places, _) = self::displacements(kind);
    for (at, (element, place)) in kind.elements().iter().zip(places).enumerate().take(room) {
        datatypes.set_at(at, if element.wide { MPI_UNSIGNED_LONG_LONG } else { MPI_INT });
        displacements.set_at(at, place as i64);
    }
    num_elements.set(kind.elements().len() as i32);
    enumtype.set(enumeration::of_event(index as usize));
    if !info.is_null() {
        info.set(info::hand_out(Vec::new()));
    }
    put_text(kind.meaning(), desc, desc_len);
    bind.set(MPI_T_BIND_NO_OBJECT);
    Ok(())
}

/// MPI_T_event_get_index
pub fn t_event_get_index(name: Option<&str>, index: OptionalOut<i32>) -> Result<()> {
    up()?;
    index_of(&Kind::ALL, TYPES, name, index, |kind, name| kind.name() == name)
}

/// MPI_T_event_handle_alloc: no event is bound to an object.
pub fn t_event_handle_alloc(index: i32, _object: *mut u8, info: usize, registration: OptionalOut<usize>) -> Result<()> {
    let mut tool = enter()?;
    let kind = *at(&Kind::ALL, index, TYPES)?;
    check_info(info)?;
    let new = Registration { kind, since: events::now(), callbacks: [None; LEVELS.len()], dropped: None };
    need_place(registration, "event_registration")?.set(tool.registrations.insert(new));
    Ok(())
}

/// An info argument, of which nothing is kept.
fn check_info(handle: usize) -> Result<()> {
    info::lookup_optional(handle)
        .map(|_| ())
        .or_else(|error| refuse(MPI_T_ERR_INVALID, format!("argument info: {error}")))
}

/// Runs `change` on a registration.
fn with<R>(registration: usize, change: impl FnOnce(&mut Registration) -> Result<R>) -> Result<R> {
    let mut tool = enter()?;
    let result = change(need_handle(tool.registrations.get_mut(registration), registration, REGISTRATIONS)?)?;
    listen(&tool);
    Ok(result)
}

/// MPI_T_event_handle_set_info
pub fn t_event_handle_set_info(registration: usize, info: usize) -> Result<()> {
    with(registration, |_| check_info(info))
}

/// MPI_T_event_handle_get_info
pub fn t_event_handle_get_info(registration: usize, info_used: OptionalOut<usize>) -> Result<()> {
    with(registration, |_| need_place(info_used, "info_used"))?.set(info::hand_out(Vec::new()));
    Ok(())
}

/// MPI_T_event_register_callback: without a function, the one of that level is forgotten.
pub fn t_event_register_callback(
    registration: usize, cb_safety: i32, info: usize, user_data: *mut u8, callback: usize,
) -> Result<()> {
    with(registration, |registration| {
        let level = level(cb_safety)?;
        check_info(info)?;
        // SAFETY: null, or a function of this type, as MPI asks.
        let callback = unsafe { std::mem::transmute::<usize, Option<Callback>>(callback) };
        registration.callbacks[level] = callback.map(|callback| (callback, UserData(user_data.cast())));
        Ok(())
    })
}

/// The callback of that level must be there.
fn with_callback<R>(registration: usize, cb_safety: i32, then: impl FnOnce() -> Result<R>) -> Result<R> {
    with(registration, |registration| {
        let found = registration.callbacks[level(cb_safety)?].as_ref();
        need(found, MPI_T_ERR_INVALID, || format!("no callback of level {cb_safety} is registered"))?;
        then()
    })
}

/// MPI_T_event_callback_set_info
pub fn t_event_callback_set_info(registration: usize, cb_safety: i32, info: usize) -> Result<()> {
    with_callback(registration, cb_safety, || check_info(info))
}

/// MPI_T_event_callback_get_info
pub fn t_event_callback_get_info(registration: usize, cb_safety: i32, info_used: OptionalOut<usize>) -> Result<()> {
    with_callback(registration, cb_safety, || need_place(info_used, "info_used"))?.set(info::hand_out(Vec::new()));
    Ok(())
}

/// MPI_T_event_set_dropped_handler
pub fn t_event_set_dropped_handler(registration: usize, dropped: usize) -> Result<()> {
    with(registration, |registration| {
        // SAFETY: null, or a function of this type, as MPI asks.
        registration.dropped = unsafe { std::mem::transmute::<usize, Option<Dropped>>(dropped) };
        Ok(())
    })
}

/// MPI_T_event_handle_free: events that have happened are handed on before.
pub fn t_event_handle_free(registration: usize, user_data: *mut u8, freed: usize) -> Result<()> {
    with(registration, |_| Ok(()))?;
    super::hand_on();
    let mut tool = state();
    need_handle(tool.registrations.remove(registration), registration, REGISTRATIONS)?;
    listen(&tool);
    // SAFETY: null, or a function of this type, as MPI asks.
    if let Some(freed) = unsafe { std::mem::transmute::<usize, Option<Freed>>(freed) } {
        tool.leaving.push(Leaving { registration, freed, user_data: UserData(user_data.cast()) });
    }
    drop(tool);
    // Tells of it now, or when the callbacks have returned that run.
    super::hand_on();
    Ok(())
}

/// The event that a callback looks at.
fn instance(handle: usize) -> Result<Event> {
    need_handle(enter()?.instances.get(handle).copied(), handle, "events that a callback looks at")
}

/// Writes an element's value.
fn write(element: &events::Element, value: u64, place: *mut u8) {
    // SAFETY: the program gives room for the element.
    unsafe {
        match element.wide {
            true => place.cast::<u64>().write_unaligned(value),
            false => place.cast::<i32>().write_unaligned(value as i32),
        }
    }
}

/// MPI_T_event_read
pub fn t_event_read(event: usize, index: i32, buffer: *mut u8) -> Result<()> {
    let event = instance(event)?;
    let element = at(event.kind.elements(), index, "elements of the event")?;
    if buffer.is_null() {
        return null("buffer");
    }
    write(element, event.values[index as usize], buffer);
    Ok(())
}

/// MPI_T_event_copy: all elements, each at its displacement.
pub fn t_event_copy(event: usize, buffer: *mut u8) -> Result<()> {
    let event = instance(event)?;
    if buffer.is_null() {
        return null("buffer");
    }
    let (places, _) = displacements(event.kind);
    for ((element, value), place) in event.kind.elements().iter().zip(event.values).zip(places) {
        write(element, value, buffer.wrapping_add(place));
    }
    Ok(())
}

/// MPI_T_event_get_timestamp
pub fn t_event_get_timestamp(event: usize, timestamp: OptionalOut<i64>) -> Result<()> {
    let event = instance(event)?;
    need_place(timestamp, "event_timestamp")?.set(event.time as i64);
    Ok(())
}

/// MPI_T_event_get_source
pub fn t_event_get_source(event: usize, source: OptionalOut<i32>) -> Result<()> {
    instance(event)?;
    need_place(source, "source_index")?.set(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_lie_aligned() {
        assert_eq!(displacements(Kind::Unexpected), (vec![0, 4, 8], 16));
        assert_eq!(displacements(Kind::Promoted), (vec![0, 8], 16));
    }
}
