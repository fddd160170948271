//! Info objects (MPI 5.0 chapter 10).

use crate::args::{Out, TextOut};
use crate::constants::*;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::info_map::InfoMap;
use crate::objects::{Info, objects};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use tern_settings::ErrorHandler;

pub use crate::info_map::{find, put};

/// The info object that `handle` names, or MPI_ERR_INFO.
pub fn lookup(handle: usize) -> Result<Rc<Info>> {
    if handle == MPI_INFO_ENV {
        return Ok(environment());
    }
    if let Some(info) = objects().infos.borrow().get(handle) {
        return Ok(info.clone());
    }
    if handle == MPI_INFO_NULL {
        return err!(MPI_ERR_INFO, "the info object is MPI_INFO_NULL");
    }
    err!(MPI_ERR_INFO, "{handle:#x} is not an info object: it was freed, or never made")
}

/// The same, but MPI_INFO_NULL is `None`.
pub fn lookup_optional(handle: usize) -> Result<Option<Rc<Info>>> {
    if handle == MPI_INFO_NULL { Ok(None) } else { lookup(handle).map(Some) }
}

/// A new info object with these keys; returns its handle.
pub fn hand_out(map: InfoMap) -> usize {
    let new = |handle| Rc::new(Info { handle: Cell::new(handle), map: RefCell::new(map) });
    objects().infos.borrow_mut().insert_with(new)
}

/// The keys and values of an info argument; none for MPI_INFO_NULL.
pub fn map_of(info: &Option<Rc<Info>>) -> InfoMap {
    info.as_ref().map_or_else(Vec::new, |info| info.map.borrow().clone())
}

/// MPI_INFO_ENV: how this process was started (MPI 5.0 section 11.2.3).
fn environment() -> Rc<Info> {
    static ENV: Guarded<OnceCell<Rc<Info>>> = Guarded::new(OnceCell::new());
    let new = || {
        let args: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
        Rc::new(Info { handle: Cell::new(MPI_INFO_ENV), map: RefCell::new(describe(&args)) })
    };
    match crate::runtime::installed() {
        Some(_) => ENV.get().get_or_init(new).clone(),
        // Not all of it is known yet.
        None => new(),
    }
}

/// The reserved keys that are known of a process with these arguments.
fn describe(args: &[String]) -> InfoMap {
    let mut map = InfoMap::new();
    let mut put_short = |key: &str, value: String| {
        if !value.is_empty() && value.len() < MPI_MAX_INFO_VAL as usize {
            put(&mut map, key, &value);
        }
    };
    if let Some((command, rest)) = args.split_first() {
        put_short("command", command.clone());
        put_short("argv", rest.join(" "));
    }
    let size = crate::runtime::installed().map_or_else(tern_pmi::told_size, |runtime| runtime.world_size);
    put_short("maxprocs", size.to_string());
    put_short(crate::memory_kinds::KINDS, crate::memory_kinds::of_world());
    match tern_settings::INITIAL_ERRHANDLER.get() {
        ErrorHandler::Fatal => {}
        ErrorHandler::Abort => put_short("mpi_initial_errhandler", "mpi_errors_abort".into()),
        ErrorHandler::Return => put_short("mpi_initial_errhandler", "mpi_errors_return".into()),
    }
    let system = rustix::system::uname();
    put_short("host", system.nodename().to_string_lossy().into_owned());
    put_short("arch", system.machine().to_string_lossy().into_owned());
    if let Ok(directory) = std::env::current_dir() {
        put_short("wdir", directory.to_string_lossy().into_owned());
    }
    map
}

/// A key as text; MPI_ERR_INFO_KEY when it is empty or too long.
fn check_key(key: &str) -> Result<&str> {
    let length = key.len();
    if length == 0 {
        return err!(MPI_ERR_INFO_KEY, "the key is empty");
    }
    if length >= MPI_MAX_INFO_KEY as usize {
        return err!(MPI_ERR_INFO_KEY, "the key has {length} characters; at most {} are allowed", MPI_MAX_INFO_KEY - 1);
    }
    Ok(key)
}

/// MPI_Info_create
pub fn info_create(info: Out<usize>) -> Result<()> {
    info.set(hand_out(InfoMap::new()));
    Ok(())
}

/// MPI_Info_create_env: `argv` holds the arguments given, none of them when the program has
/// none to give; then those of this process are taken.
pub fn info_create_env(argv: &[&str], info: Out<usize>) -> Result<()> {
    let given: Vec<String> = argv.iter().map(|a| a.to_string()).collect();
    let map = if given.is_empty() { environment().map.borrow().clone() } else { describe(&given) };
    info.set(hand_out(map));
    Ok(())
}

/// MPI_Info_dup
pub fn info_dup(info: Rc<Info>, newinfo: Out<usize>) -> Result<()> {
    newinfo.set(hand_out(info.map.borrow().clone()));
    Ok(())
}

/// MPI_Info_free
pub fn info_free(info: Out<usize>) -> Result<()> {
    lookup(info.get())?;
    if info.get() == MPI_INFO_ENV {
        return err!(MPI_ERR_INFO, "MPI_INFO_ENV cannot be freed");
    }
    objects().infos.borrow_mut().remove(info.get());
    info.set(MPI_INFO_NULL);
    Ok(())
}

/// MPI_Info_set
pub fn info_set(info: Rc<Info>, key: &str, value: &str) -> Result<()> {
    let key = check_key(key)?;
    let length = value.len();
    if length >= MPI_MAX_INFO_VAL as usize {
        let most = MPI_MAX_INFO_VAL - 1;
        return err!(MPI_ERR_INFO_VALUE, "the value of {key} has {length} characters; at most {most} are allowed");
    }
    check_writable(&info)?;
    put(&mut info.map.borrow_mut(), key, value);
    Ok(())
}

fn check_writable(info: &Info) -> Result<()> {
    if info.handle.get() == MPI_INFO_ENV {
        return err!(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed; change a copy (MPI_Info_dup)");
    }
    Ok(())
}

/// MPI_Info_delete
pub fn info_delete(info: Rc<Info>, key: &str) -> Result<()> {
    let key = check_key(key)?;
    check_writable(&info)?;
    let mut map = info.map.borrow_mut();
    let Some(at) = map.iter().position(|(k, _)| k == key) else {
        return err!(MPI_ERR_INFO_NOKEY, "the info object has no key {key}");
    };
    map.remove(at);
    Ok(())
}

/// MPI_Info_get (deprecated): at most `valuelen` characters, and room for one more.
pub fn info_get(info: Rc<Info>, key: &str, valuelen: i32, value: TextOut, flag: Out<i32>) -> Result<()> {
    let key = check_key(key)?;
    if valuelen < 0 {
        return err!(MPI_ERR_ARG, "the room for the value is {valuelen}");
    }
    let map = info.map.borrow();
    let found = find(&map, key);
    flag.set(found.is_some() as i32);
    if let Some(text) = found {
        value.set(text, valuelen.saturating_add(1));
    }
    Ok(())
}

/// MPI_Info_get_valuelen (deprecated)
pub fn info_get_valuelen(info: Rc<Info>, key: &str, valuelen: Out<i32>, flag: Out<i32>) -> Result<()> {
    let key = check_key(key)?;
    let map = info.map.borrow();
    let found = find(&map, key);
    flag.set(found.is_some() as i32);
    if let Some(text) = found {
        valuelen.set(text.len() as i32);
    }
    Ok(())
}

/// MPI_Info_get_string: `buflen` is the room for the value with its final 0, and becomes what it
/// needs; 0 asks for that only.
pub fn info_get_string(info: Rc<Info>, key: &str, buflen: Out<i32>, value: TextOut, flag: Out<i32>) -> Result<()> {
    let key = check_key(key)?;
    let room = buflen.get();
    value.check_room(room)?;
    let map = info.map.borrow();
    let found = find(&map, key);
    flag.set(found.is_some() as i32);
    if let Some(text) = found {
        value.set(text, room);
        buflen.set(text.len() as i32 + 1);
    }
    Ok(())
}

/// MPI_Info_get_nkeys
pub fn info_get_nkeys(info: Rc<Info>, nkeys: Out<i32>) -> Result<()> {
    nkeys.set(info.map.borrow().len() as i32);
    Ok(())
}

/// MPI_Info_get_nthkey
pub fn info_get_nthkey(info: Rc<Info>, n: i32, key: TextOut) -> Result<()> {
    let map = info.map.borrow();
    let Some((name, _)) = usize::try_from(n).ok().and_then(|n| map.get(n)) else {
        return err!(MPI_ERR_ARG, "key {n} was asked for; there are {} keys, counted from 0", map.len());
    };
    key.set(name, MPI_MAX_INFO_KEY);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new() -> Rc<Info> {
        Rc::new(Info { handle: Cell::new(5000), map: RefCell::new(Vec::new()) })
    }

    fn read(info: &Rc<Info>, key: &str, room: i32) -> Option<(String, i32)> {
        let (mut text, mut length, mut flag) = ([1u8; 64], room, 7);
        // SAFETY: locals that outlive the call, long enough for every room below.
        unsafe {
            let (text, length) = (TextOut::new(text.as_mut_ptr()), Out::new(&mut length));
            info_get_string(info.clone(), key, length, text, Out::new(&mut flag)).unwrap();
        }
        let value = text.iter().take_while(|&&c| c != 0).map(|&c| c as char).collect();
        (flag == 1).then_some((value, length))
    }

    #[test]
    fn values_are_cut_to_the_room_and_their_length_is_told() {
        let info = new();
        info_set(info.clone(), "colour", "green").unwrap();
        assert_eq!(read(&info, "colour", 64), Some(("green".into(), 6)));
        assert_eq!(read(&info, "colour", 6), Some(("green".into(), 6)));
        assert_eq!(read(&info, "colour", 3), Some(("gr".into(), 6)));
        assert_eq!(read(&info, "size", 64), None);
    }

    #[test]
    fn keys_keep_the_order_of_their_first_setting() {
        let info = new();
        for (key, value) in [("a", "1"), ("b", "2"), ("a", "3")] {
            info_set(info.clone(), key, value).unwrap();
        }
        assert_eq!(*info.map.borrow(), [("a".into(), "3".into()), ("b".into(), "2".into())]);
        info_delete(info.clone(), "a").unwrap();
        assert_eq!(info_delete(info.clone(), "a").unwrap_err().code, MPI_ERR_INFO_NOKEY);
        assert_eq!(*info.map.borrow(), [("b".into(), "2".into())]);
    }

    #[test]
    fn lengths_are_checked() {
        let info = new();
        let text = |n: usize| "x".repeat(n);
        assert_eq!(info_set(info.clone(), &text(256), "v").unwrap_err().code, MPI_ERR_INFO_KEY);
        assert_eq!(info_set(info.clone(), "", "v").unwrap_err().code, MPI_ERR_INFO_KEY);
        assert_eq!(info_set(info.clone(), "k", &text(1024)).unwrap_err().code, MPI_ERR_INFO_VALUE);
        info_set(info.clone(), &text(255), &text(1023)).unwrap();
        assert_eq!(info.map.borrow().len(), 1);
    }
}
