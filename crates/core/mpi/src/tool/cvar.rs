//! Control variables: the `TERN_*` settings (MPI 5.0 section 15.3.6). Those that take one of a few words
//! are ints with an enumeration, all others text, as it is written in the environment.

use super::{at, enter, enumeration, index_of, need, need_handle, need_place, need_value, null, put_text, refuse, up};
use crate::args::OptionalOut;
use crate::constants::*;
use crate::error::Result;
use std::ffi::CStr;
use tern_settings::{ALL, Entry, Scope};

/// Room for the text of a setting, with the final 0; what is longer is cut.
const TEXT: usize = 4096;

/// What messages call them.
const VARIABLES: &str = "control variables";

fn is_text(entry: &dyn Entry) -> bool {
    entry.words().is_empty()
}

/// MPI_T_cvar_get_num
pub fn t_cvar_get_num(num: OptionalOut<i32>) -> Result<()> {
    up()?;
    need_place(num, "num_cvar")?.set(ALL.len() as i32);
    Ok(())
}

/// MPI_T_cvar_get_info
#[allow(clippy::too_many_arguments)]
pub fn t_cvar_get_info(
    index: i32, name: OptionalOut<u8>, name_len: OptionalOut<i32>, verbosity: OptionalOut<i32>,
    datatype: OptionalOut<usize>, enumtype: OptionalOut<usize>, desc: OptionalOut<u8>, desc_len: OptionalOut<i32>,
    bind: OptionalOut<i32>, scope: OptionalOut<i32>,
) -> Result<()> {
    up()?;
    let entry = *at(ALL, index, VARIABLES)?;
    put_text(entry.name(), name, name_len);
    verbosity.set(match entry.category() {
        "general" => MPI_T_VERBOSITY_USER_BASIC,
        _ => MPI_T_VERBOSITY_TUNER_BASIC,
    });
    datatype.set(if is_text(entry) { MPI_CHAR } else { MPI_INT });
    enumtype.set(enumeration::of_setting(index as usize));
    put_text(&format!("{} Values: {}.", entry.meaning(), entry.allowed()), desc, desc_len);
    bind.set(MPI_T_BIND_NO_OBJECT);
    scope.set(match entry.scope() {
        Scope::Launcher => MPI_T_SCOPE_CONSTANT,
        Scope::Process | Scope::Always => MPI_T_SCOPE_LOCAL,
        Scope::Job => MPI_T_SCOPE_ALL_EQ,
    });
    Ok(())
}

/// MPI_T_cvar_get_index
pub fn t_cvar_get_index(name: Option<&str>, index: OptionalOut<i32>) -> Result<()> {
    up()?;
    index_of(ALL, VARIABLES, name, index, |entry, name| entry.name() == name)
}

/// MPI_T_cvar_handle_alloc: no variable is bound to an object.
pub fn t_cvar_handle_alloc(
    index: i32, _object: *mut u8, handle: OptionalOut<usize>, count: OptionalOut<i32>,
) -> Result<()> {
    let mut tool = enter()?;
    let entry = *at(ALL, index, VARIABLES)?;
    let (handle, count) = (need_place(handle, "handle")?, need_place(count, "count")?);
    handle.set(tool.cvars.insert(index as usize));
    count.set(if is_text(entry) { TEXT as i32 } else { 1 });
    Ok(())
}

/// MPI_T_cvar_handle_free
pub fn t_cvar_handle_free(handle: OptionalOut<usize>) -> Result<()> {
    let mut tool = enter()?;
    let own = need_value(handle, "handle")?;
    need_handle(tool.cvars.remove(own), own, VARIABLES)?;
    handle.set(MPI_T_CVAR_HANDLE_NULL);
    Ok(())
}

/// The setting that a handle names.
fn find(handle: usize) -> Result<&'static (dyn Entry + Sync)> {
    let index = enter()?.cvars.get(handle).copied();
    Ok(ALL[need_handle(index, handle, VARIABLES)?])
}

/// MPI_T_cvar_read
pub fn t_cvar_read(handle: usize, buf: *mut u8) -> Result<()> {
    let entry = find(handle)?;
    if buf.is_null() {
        return null("buf");
    }
    if is_text(entry) {
        let mut room = TEXT as i32;
        // SAFETY: the program gives as many characters as the count of the handle said.
        unsafe { put_text(entry.value(), OptionalOut::new(buf), OptionalOut::new(&mut room)) };
    } else {
        // SAFETY: the program gives an int.
        unsafe { buf.cast::<i32>().write_unaligned(entry.word() as i32) };
    }
    Ok(())
}

/// MPI_T_cvar_write
pub fn t_cvar_write(handle: usize, buf: *const u8) -> Result<()> {
    let entry = find(handle)?;
    match entry.scope() {
        Scope::Launcher => return refuse(MPI_T_ERR_CVAR_SET_NEVER, format!("{} is for mpiexec", entry.name())),
        Scope::Process | Scope::Job if crate::runtime::is_installed() => {
            let why = format!("MPI is initialised, and has read {} before", entry.name());
            return refuse(MPI_T_ERR_CVAR_SET_NOT_NOW, why);
        }
        _ if buf.is_null() => return null("buf"),
        _ => {}
    }
    let (text, given) = if is_text(entry) {
        // SAFETY: the program gives a string.
        let text = unsafe { CStr::from_ptr(buf.cast()) };
        (text.to_str().ok().filter(|text| text.len() < TEXT), format!("{text:?}"))
    } else {
        // SAFETY: the program gives an int.
        let item = unsafe { buf.cast::<i32>().read_unaligned() };
        (usize::try_from(item).ok().and_then(|item| entry.words().get(item).copied()), format!("item {item}"))
    };
    let wrong = || format!("{given} is not a value that {} takes: {}", entry.name(), entry.allowed());
    entry.set(need(text, MPI_T_ERR_INVALID, wrong)?).or_else(|_| refuse(MPI_T_ERR_INVALID, wrong()))
}
