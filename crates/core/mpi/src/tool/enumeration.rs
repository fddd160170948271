//! Enumerations: the words that some settings take, and the names of an event's elements (MPI 5.0
//! section 15.3.5). They are named by handles that are never freed: first those of the settings, then
//! those of the events.

use super::{at, need_handle, put_text, up};
use crate::args::OptionalOut;
use crate::constants::*;
use crate::error::Result;
use crate::handle::{Kind, decode, encode};
use tern_counters::events;

/// The enumeration of setting `index`, if it has one.
pub(super) fn of_setting(index: usize) -> usize {
    match tern_settings::ALL[index].words() {
        [] => MPI_T_ENUM_NULL,
        _ => encode(Kind::ToolEnum, index as u32, 0),
    }
}

/// The names of the elements of event `index`.
pub(super) fn of_event(index: usize) -> usize {
    encode(Kind::ToolEnum, (tern_settings::ALL.len() + index) as u32, 0)
}

/// The name of an enumeration, and its items.
fn find(handle: usize) -> Result<(&'static str, Vec<&'static str>)> {
    let Some((index, 0)) = decode(Kind::ToolEnum, handle) else { return need_handle(None, handle, "enumerations") };
    let settings = tern_settings::ALL;
    if let Some(entry) = settings.get(index).filter(|entry| !entry.words().is_empty()) {
        return Ok((entry.name(), entry.words().to_vec()));
    }
    let kind = index.checked_sub(settings.len()).and_then(|index| events::Kind::ALL.get(index));
    let kind = need_handle(kind, handle, "enumerations")?;
    Ok((kind.name(), kind.elements().iter().map(|element| element.name).collect()))
}

/// MPI_T_enum_get_info
pub fn t_enum_get_info(
    enumtype: usize, num: OptionalOut<i32>, name: OptionalOut<u8>, name_len: OptionalOut<i32>,
) -> Result<()> {
    up()?;
    let (own, items) = find(enumtype)?;
    num.set(items.len() as i32);
    put_text(own, name, name_len);
    Ok(())
}

/// MPI_T_enum_get_item: the value of an item is its index.
pub fn t_enum_get_item(
    enumtype: usize, index: i32, value: OptionalOut<i32>, name: OptionalOut<u8>, name_len: OptionalOut<i32>,
) -> Result<()> {
    up()?;
    let (_, items) = find(enumtype)?;
    let item = at(&items, index, "items of the enumeration")?;
    value.set(index);
    put_text(item, name, name_len);
    Ok(())
}
