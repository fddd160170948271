//! Attributes: values that programs cache on objects, by keyval (MPI 5.0 section 7.7).
//!
//! Callbacks of the program run while nothing here is borrowed: they may call MPI, and change
//! the attributes of the very object.

use crate::args::Out;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::guarded::Guarded;
use crate::objects::{
    Attributes, Comm, CopyFunction, Datatype, DeleteFunction, Keyval, KeyvalCopy, KeyvalKind, objects,
};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::rc::Rc;

/// Below lie the predefined ones.
const FIRST_KEYVAL: i32 = 4096;

/// The keyval with this id, or MPI_ERR_KEYVAL. One that was freed stays valid as long as an attribute has it, so
/// that the program can delete that (section 7.7.2).
pub(crate) fn keyval(id: i32, kind: KeyvalKind) -> Result<Rc<Keyval>> {
    let freed = || objects().freed_keyvals.borrow().get(&id)?.upgrade();
    let live = objects().keyvals.borrow().get(&id).cloned();
    match live.or_else(freed) {
        Some(keyval) if keyval.kind == kind => Ok(keyval),
        Some(keyval) => err!(MPI_ERR_KEYVAL, "keyval {id} is for {}, not for {}", keyval.kind.of(), kind.of()),
        None if id == MPI_KEYVAL_INVALID => err!(MPI_ERR_KEYVAL, "the keyval is MPI_KEYVAL_INVALID"),
        None => err!(MPI_ERR_KEYVAL, "{id} is not a keyval of the program: it was freed, or never made"),
    }
}

impl KeyvalKind {
    fn of(self) -> &'static str {
        match self {
            KeyvalKind::Comm => "communicators",
            KeyvalKind::Type => "datatypes",
            KeyvalKind::Win => "windows",
        }
    }
}

/// Makes a keyval. `copy` and `delete` are functions of the program; 0 stands for
/// MPI_…_NULL_COPY_FN and MPI_…_NULL_DELETE_FN, 1 for MPI_…_DUP_FN.
fn create(kind: KeyvalKind, copy: usize, delete: usize, id: Out<i32>, extra_state: *mut u8) {
    static NEXT: Guarded<Cell<i32>> = Guarded::new(Cell::new(FIRST_KEYVAL));
    let copy = match copy {
        0 => KeyvalCopy::Never,
        1 => KeyvalCopy::Always,
        // SAFETY: the program gives the address of a function of this type.
        address => KeyvalCopy::User(unsafe { std::mem::transmute::<usize, CopyFunction>(address) }),
    };
    // SAFETY: as above; 0 is no function.
    let delete = unsafe { std::mem::transmute::<usize, Option<DeleteFunction>>(delete) };
    let new = NEXT.get().get();
    NEXT.get().set(new + 1);
    let keyval = Keyval { id: new, kind, copy, delete, extra_state: extra_state.cast() };
    objects().keyvals.borrow_mut().insert(new, Rc::new(keyval));
    id.set(new);
}

/// Frees a keyval; attributes that have it keep working until they are deleted.
fn free(kind: KeyvalKind, id: Out<i32>) -> Result<()> {
    let known = keyval(id.get(), kind)?;
    objects().keyvals.borrow_mut().remove(&known.id);
    let mut freed = objects().freed_keyvals.borrow_mut();
    freed.insert(known.id, Rc::downgrade(&known));
    drop(known);
    freed.retain(|_, keyval| keyval.strong_count() > 0);
    id.set(MPI_KEYVAL_INVALID);
    Ok(())
}

impl Attributes {
    fn value(&self, id: i32) -> Option<(Rc<Keyval>, *mut c_void)> {
        self.values.borrow().iter().find(|(k, _)| k.id == id).cloned()
    }

    fn remove(&self, id: i32) {
        self.values.borrow_mut().retain(|(k, _)| k.id != id);
    }

    /// Sets a value. The delete callback sees the one that it replaces first; when that fails
    /// the old value stays.
    pub(crate) fn set(&self, keyval: Rc<Keyval>, value: *mut c_void, object: usize) -> Result<()> {
        if let Some((old, old_value)) = self.value(keyval.id) {
            call_delete(&old, old_value, object)?;
        }
        let mut values = self.values.borrow_mut();
        match values.iter_mut().find(|(k, _)| k.id == keyval.id) {
            Some(entry) => entry.1 = value,
            None => values.push((keyval, value)),
        }
        Ok(())
    }

    /// Deletes the attribute of a keyval that exists, if the object has it.
    pub(crate) fn delete(&self, id: i32, object: usize) -> Result<()> {
        let Some((keyval, value)) = self.value(id) else { return Ok(()) };
        call_delete(&keyval, value, object)?;
        self.remove(id);
        Ok(())
    }
}

fn call_delete(keyval: &Keyval, value: *mut c_void, object: usize) -> Result<()> {
    let Some(delete) = keyval.delete else { return Ok(()) };
    // SAFETY: a function of the program's, called as MPI 5.0 section 7.7.2 says.
    match unsafe { delete(object, keyval.id, value, keyval.extra_state) } {
        MPI_SUCCESS => Ok(()),
        code => Err(Error::from_code(code, format!("the delete callback of keyval {} returned {code}", keyval.id))),
    }
}

/// What a duplicate of `object`, whose attributes are `from`, gets by the copy callbacks.
pub fn copy_all(from: &Attributes, object: usize) -> Result<Attributes> {
    let mut copies = Vec::new();
    let originals = from.values.borrow().clone();
    for (keyval, value) in originals {
        match keyval.copy {
            KeyvalCopy::Never => {}
            KeyvalCopy::Always => copies.push((keyval, value)),
            KeyvalCopy::User(copy) => {
                let (mut new, mut flag): (*mut c_void, i32) = (null_mut(), 0);
                let out: *mut *mut c_void = &mut new;
                // SAFETY: as in `call_delete`; the results are locals that outlive the call.
                let code = unsafe { copy(object, keyval.id, keyval.extra_state, value, out.cast(), &mut flag) };
                if code != MPI_SUCCESS {
                    let message = format!("the copy callback of keyval {} returned {code}", keyval.id);
                    return Err(Error::from_code(code, message));
                }
                if flag != 0 {
                    copies.push((keyval, new));
                }
            }
        }
    }
    Ok(Attributes { values: RefCell::new(copies) })
}

/// Deletes all attributes of an object that is freed, the last one set first. Stops at the
/// first delete callback that fails; that attribute and those before it stay.
pub fn delete_all(attributes: &Attributes, object: usize) -> Result<()> {
    loop {
        let last = attributes.values.borrow().last().cloned();
        let Some((keyval, value)) = last else { return Ok(()) };
        call_delete(&keyval, value, object)?;
        attributes.remove(keyval.id);
    }
}

/// MPI_Comm_create_keyval
pub fn comm_create_keyval(copy: usize, delete: usize, keyval: Out<i32>, extra_state: *mut u8) -> Result<()> {
    create(KeyvalKind::Comm, copy, delete, keyval, extra_state);
    Ok(())
}

/// MPI_Comm_free_keyval
pub fn comm_free_keyval(keyval: Out<i32>) -> Result<()> {
    free(KeyvalKind::Comm, keyval)
}

/// MPI_Comm_set_attr
pub fn comm_set_attr(comm: Rc<Comm>, id: i32, value: *mut u8) -> Result<()> {
    check_not_predefined(id)?;
    comm.attributes.set(keyval(id, KeyvalKind::Comm)?, value.cast(), comm.handle.get())
}

/// MPI_ERR_KEYVAL for the keyvals of attributes that can only be read.
pub(crate) fn check_not_predefined(id: i32) -> Result<()> {
    if OF_COMMUNICATORS.contains(&id) || (MPI_WIN_BASE..=MPI_WIN_MODEL).contains(&id) {
        return err!(MPI_ERR_KEYVAL, "keyval {id} is predefined: its attribute can only be read");
    }
    Ok(())
}

/// The keys of predefined attributes of communicators.
const OF_COMMUNICATORS: std::ops::RangeInclusive<i32> = MPI_TAG_UB..=MPI_FT;

/// MPI_Comm_get_attr. Predefined attributes are addresses of ints (MPI 5.0 section 9.1.2). Communicators of the world model
/// all have them; those that were derived from a session have MPI_TAG_UB and MPI_FT alone.
pub fn comm_get_attr(comm: Rc<Comm>, id: i32, value: Out<usize>, flag: Out<i32>) -> Result<()> {
    if OF_COMMUNICATORS.contains(&id) {
        let absent = comm.local.session.is_some() && id != MPI_TAG_UB && id != MPI_FT;
        let found = if absent { None } else { predefined(id) };
        flag.set(found.is_some() as i32);
        if let Some(address) = found {
            value.set(address as usize);
        }
        return Ok(());
    }
    get(&comm.attributes, KeyvalKind::Comm, id, value, flag)
}

/// The attribute of the program's under a keyval.
pub(crate) fn get(attributes: &Attributes, kind: KeyvalKind, id: i32, value: Out<usize>, flag: Out<i32>) -> Result<()> {
    keyval(id, kind)?;
    let found = attributes.value(id);
    flag.set(found.is_some() as i32);
    if let Some((_, stored)) = found {
        value.set(stored as usize);
    }
    Ok(())
}

/// Where the value of a predefined attribute of communicators lies, if it is set.
fn predefined(id: i32) -> Option<*const i32> {
    static VALUES: Guarded<[Cell<i32>; 8]> = Guarded::new([const { Cell::new(0) }; 8]);
    let runtime = crate::runtime::installed();
    let value = match id {
        MPI_TAG_UB => i32::MAX,
        // Every process can do input and output.
        MPI_IO => MPI_ANY_SOURCE,
        MPI_HOST => MPI_PROC_NULL,
        // Clocks of different nodes are not set to each other.
        MPI_WTIME_IS_GLOBAL => runtime.is_some_and(|r| r.nodes.iter().all(|&n| n == r.nodes[0])) as i32,
        MPI_APPNUM => runtime?.appnum?,
        MPI_LASTUSEDCODE => crate::errorcode::last_used(),
        MPI_FT => crate::lost::is_survived() as i32,
        _ => runtime?.universe_size?,
    };
    let place = &VALUES.get()[(id - MPI_TAG_UB) as usize];
    place.set(value);
    Some(place.as_ptr())
}

/// MPI_Comm_delete_attr
pub fn comm_delete_attr(comm: Rc<Comm>, id: i32) -> Result<()> {
    check_not_predefined(id)?;
    keyval(id, KeyvalKind::Comm)?;
    comm.attributes.delete(id, comm.handle.get())
}

/// MPI_Type_create_keyval
pub fn type_create_keyval(copy: usize, delete: usize, keyval: Out<i32>, extra_state: *mut u8) -> Result<()> {
    create(KeyvalKind::Type, copy, delete, keyval, extra_state);
    Ok(())
}

/// MPI_Type_free_keyval
pub fn type_free_keyval(keyval: Out<i32>) -> Result<()> {
    free(KeyvalKind::Type, keyval)
}

/// MPI_Type_set_attr
pub fn type_set_attr(datatype: Rc<Datatype>, id: i32, value: *mut u8) -> Result<()> {
    datatype.attributes.set(keyval(id, KeyvalKind::Type)?, value.cast(), datatype.handle.get())
}

/// MPI_Type_get_attr
pub fn type_get_attr(datatype: Rc<Datatype>, id: i32, value: Out<usize>, flag: Out<i32>) -> Result<()> {
    get(&datatype.attributes, KeyvalKind::Type, id, value, flag)
}

/// MPI_Type_delete_attr
pub fn type_delete_attr(datatype: Rc<Datatype>, id: i32) -> Result<()> {
    keyval(id, KeyvalKind::Type)?;
    datatype.attributes.delete(id, datatype.handle.get())
}

/// MPI_Win_create_keyval
pub fn win_create_keyval(copy: usize, delete: usize, keyval: Out<i32>, extra_state: *mut u8) -> Result<()> {
    create(KeyvalKind::Win, copy, delete, keyval, extra_state);
    Ok(())
}

/// MPI_Win_free_keyval
pub fn win_free_keyval(keyval: Out<i32>) -> Result<()> {
    free(KeyvalKind::Win, keyval)
}

/// MPI_Keyval_create (deprecated)
pub fn keyval_create(copy: usize, delete: usize, keyval: Out<i32>, extra_state: *mut u8) -> Result<()> {
    comm_create_keyval(copy, delete, keyval, extra_state)
}

/// MPI_Keyval_free (deprecated)
pub fn keyval_free(keyval: Out<i32>) -> Result<()> {
    comm_free_keyval(keyval)
}

/// MPI_Attr_put (deprecated)
pub fn attr_put(comm: Rc<Comm>, keyval: i32, value: *mut u8) -> Result<()> {
    comm_set_attr(comm, keyval, value)
}

/// MPI_Attr_get (deprecated)
pub fn attr_get(comm: Rc<Comm>, keyval: i32, value: Out<usize>, flag: Out<i32>) -> Result<()> {
    comm_get_attr(comm, keyval, value, flag)
}

/// MPI_Attr_delete (deprecated)
pub fn attr_delete(comm: Rc<Comm>, keyval: i32) -> Result<()> {
    comm_delete_attr(comm, keyval)
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static DELETED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    }

    unsafe extern "C" fn note(object: usize, _id: i32, value: *mut c_void, _state: *mut c_void) -> i32 {
        assert_eq!(object, 77);
        DELETED.with(|d| d.borrow_mut().push(value as usize));
        MPI_SUCCESS
    }

    unsafe extern "C" fn refuse(_object: usize, _id: i32, _value: *mut c_void, _state: *mut c_void) -> i32 {
        MPI_ERR_OTHER
    }

    unsafe extern "C" fn copy_odd(
        _object: usize, _id: i32, _state: *mut c_void, value: *mut c_void, out: *mut c_void, flag: *mut i32,
    ) -> i32 {
        // SAFETY: the caller gives places for both results.
        unsafe {
            *flag = (value as usize % 2) as i32;
            *out.cast::<usize>() = value as usize + 10;
        }
        MPI_SUCCESS
    }

    fn keyval(id: i32, copy: KeyvalCopy, delete: Option<DeleteFunction>) -> Rc<Keyval> {
        Rc::new(Keyval { id, kind: KeyvalKind::Comm, copy, delete, extra_state: null_mut() })
    }

    #[test]
    fn all_are_deleted_the_last_one_first() {
        let attributes = Attributes::default();
        for id in 1..=3 {
            attributes.set(keyval(id, KeyvalCopy::Never, Some(note)), id as *mut c_void, 77).unwrap();
        }
        attributes.set(keyval(1, KeyvalCopy::Never, Some(note)), 9 as *mut c_void, 77).unwrap();
        delete_all(&attributes, 77).unwrap();
        // 1 when it was replaced; then in reverse order of first setting.
        DELETED.with(|d| assert_eq!(*d.borrow(), [1, 3, 2, 9]));
        assert!(attributes.values.borrow().is_empty());
    }

    #[test]
    fn a_failing_delete_keeps_the_attribute() {
        let attributes = Attributes::default();
        attributes.set(keyval(1, KeyvalCopy::Never, Some(refuse)), 5 as *mut c_void, 77).unwrap();
        assert_eq!(attributes.delete(1, 77).unwrap_err().code, MPI_ERR_OTHER);
        let again = attributes.set(keyval(1, KeyvalCopy::Never, Some(refuse)), 6 as *mut c_void, 77);
        assert_eq!(again.unwrap_err().code, MPI_ERR_OTHER);
        assert_eq!(attributes.value(1).unwrap().1 as usize, 5);
        assert_eq!(delete_all(&attributes, 77).unwrap_err().code, MPI_ERR_OTHER);
    }

    #[test]
    fn copies_follow_the_callbacks() {
        let attributes = Attributes::default();
        for (id, copy, value) in [
            (1, KeyvalCopy::Never, 1),
            (2, KeyvalCopy::Always, 2),
            (3, KeyvalCopy::User(copy_odd), 3),
            (4, KeyvalCopy::User(copy_odd), 4),
        ] {
            attributes.set(keyval(id, copy, None), value as *mut c_void, 77).unwrap();
        }
        let copies = copy_all(&attributes, 77).unwrap();
        let found: Vec<_> = copies.values.borrow().iter().map(|(k, v)| (k.id, *v as usize)).collect();
        assert_eq!(found, [(2, 2), (3, 13)]);
    }
}
