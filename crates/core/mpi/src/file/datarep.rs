//! Data representations that the program defines (MPI 5.0 section 14.5.3).

use crate::constants::*;
use crate::datatype;
use crate::datatype::predefined::predefined_of;
use crate::error::Result;
use crate::errorcode::{name_of, text_of};
use crate::guarded::Guarded;
use crate::objects::{Datatype, objects};
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use tern_io::{Conversion, Memory, Representation};
use tern_layout::{Basic, Type};

/// `int (MPI_Datatype, MPI_Aint *extent, void *extra_state)`
type ExtentFunction = unsafe extern "C" fn(usize, *mut i64, *mut c_void) -> c_int;
/// `int (void *userbuf, MPI_Datatype, int count, void *filebuf, MPI_Offset position, void *extra_state)`
type IntFunction = unsafe extern "C" fn(*mut c_void, usize, c_int, *mut c_void, i64, *mut c_void) -> c_int;
/// The same with an MPI_Count.
type LargeFunction = unsafe extern "C" fn(*mut c_void, usize, i64, *mut c_void, i64, *mut c_void) -> c_int;

#[derive(Clone, Copy)]
enum Function {
    Int(IntFunction),
    Large(LargeFunction),
}

/// A representation of the program's.
struct Registered {
    name: Rc<str>,
    read: Option<Function>,
    write: Option<Function>,
    extent: ExtentFunction,
    extra_state: *mut c_void,
}

/// All that the program has registered; they live as long as the process.
static REGISTERED: Guarded<RefCell<Vec<Rc<Registered>>>> = Guarded::new(RefCell::new(Vec::new()));

/// The representation of that name, or MPI_ERR_UNSUPPORTED_DATAREP.
pub fn find(name: &str) -> Result<Representation> {
    if let Some(predefined) = Representation::predefined(name) {
        return Ok(predefined);
    }
    let registered = REGISTERED.get().borrow();
    match registered.iter().find(|one| &*one.name == name) {
        Some(found) => Ok(Representation::User(found.name.clone(), found.clone())),
        None => err!(
            MPI_ERR_UNSUPPORTED_DATAREP,
            "there is no data representation \"{name}\": there are native, internal, external32, and what \
             MPI_Register_datarep was given"
        ),
    }
}

/// A handle for a layout during a callback: that of an object which has it, or a new one.
struct Named {
    handle: usize,
    temporary: bool,
}

impl Named {
    fn new(layout: &Rc<Type>) -> Named {
        let same = |found: &&Rc<Datatype>| Rc::ptr_eq(&found.layout, layout);
        let known = objects().datatypes.borrow().iter().find(same).map(|found| found.handle.get());
        let known = known.or_else(|| layout.named().and_then(predefined_of));
        match known {
            Some(handle) => Named { handle, temporary: false },
            None => Named { handle: datatype::create(layout.clone(), Default::default()), temporary: true },
        }
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        if self.temporary {
            objects().datatypes.borrow_mut().remove(self.handle);
        }
    }
}

/// What a callback returned, in words.
fn outcome(code: c_int, what: &str) -> std::result::Result<(), String> {
    if code == MPI_SUCCESS {
        return Ok(());
    }
    let text = text_of(code).filter(|text| !text.is_empty()).unwrap_or_else(|| name_of(code));
    Err(format!("the {what} function returned {code} ({text})"))
}

impl Registered {
    /// Calls the program's function for `items` items from `position` on; an `int` form gets at most
    /// as many at a time as an `int` counts.
    fn call(
        &self, function: Function, what: &str, memory: &Memory<'_>, items: u64, file: *mut u8, position: u64,
    ) -> std::result::Result<(), String> {
        let named = Named::new(memory.ty);
        let (user, handle, state) = (memory.base.cast::<c_void>(), named.handle, self.extra_state);
        // SAFETY: the program's function, with memory as section 14.5.3 says.
        let code = unsafe {
            match (function, c_int::try_from(items)) {
                (Function::Large(call), _) => call(user, handle, items as i64, file.cast(), position as i64, state),
                (Function::Int(call), Ok(items)) => call(user, handle, items, file.cast(), position as i64, state),
                (Function::Int(_), Err(_)) => {
                    return Err(format!(
                        "{items} items are more than the {what} function can count; register one with MPI_Register_datarep_c"
                    ));
                }
            }
        };
        outcome(code, what)
    }
}

impl Conversion for Registered {
    fn extent(&self, basic: Basic) -> std::result::Result<u64, String> {
        let Some(handle) = predefined_of(basic) else {
            return Err(format!("there is no predefined datatype for {basic:?}"));
        };
        let mut extent = 0;
        // SAFETY: the program's function, called as section 14.5.3 says.
        let code = unsafe { (self.extent)(handle, &mut extent, self.extra_state) };
        outcome(code, "extent")?;
        u64::try_from(extent).map_err(|_| format!("the extent function gave {extent} bytes for {basic:?}"))
    }

    fn converts_reads(&self) -> bool {
        self.read.is_some()
    }

    fn converts_writes(&self) -> bool {
        self.write.is_some()
    }

    unsafe fn read(
        &self, memory: &Memory<'_>, items: u64, file: &[u8], position: u64,
    ) -> std::result::Result<(), String> {
        let Some(function) = self.read else { return Err("there is no function that converts what is read".into()) };
        self.call(function, "read conversion", memory, items, file.as_ptr().cast_mut(), position)
    }

    unsafe fn write(
        &self, memory: &Memory<'_>, items: u64, file: &mut [u8], position: u64,
    ) -> std::result::Result<(), String> {
        let Some(function) = self.write else {
            return Err("there is no function that converts what is written".into());
        };
        self.call(function, "write conversion", memory, items, file.as_mut_ptr(), position)
    }
}

fn register(name: &str, read: Option<Function>, write: Option<Function>, extent: usize, state: *mut u8) -> Result<()> {
    if name.is_empty() || name.len() >= MPI_MAX_DATAREP_STRING as usize {
        let most = MPI_MAX_DATAREP_STRING - 1;
        return err!(MPI_ERR_ARG, "the name of a data representation has 1 to {most} characters, not {}", name.len());
    }
    if find(name).is_ok() {
        return err!(MPI_ERR_DUP_DATAREP, "the data representation \"{name}\" is defined already");
    }
    // SAFETY: the entry point has checked that it is not null; the program gives such a function.
    let extent = unsafe { std::mem::transmute::<usize, ExtentFunction>(extent) };
    let registered = Registered { name: name.into(), read, write, extent, extra_state: state.cast() };
    REGISTERED.get().borrow_mut().push(Rc::new(registered));
    Ok(())
}

/// MPI_Register_datarep: 0 for a conversion function is MPI_CONVERSION_FN_NULL.
pub fn register_datarep(datarep: &str, read: usize, write: usize, extent: usize, extra_state: *mut u8) -> Result<()> {
    // SAFETY: null, which becomes `None`, or a function of this type, which the program gives.
    let function = |address| unsafe { std::mem::transmute::<usize, Option<IntFunction>>(address) }.map(Function::Int);
    register(datarep, function(read), function(write), extent, extra_state)
}

/// MPI_Register_datarep_c
pub fn register_datarep_c(datarep: &str, read: usize, write: usize, extent: usize, extra_state: *mut u8) -> Result<()> {
    // SAFETY: as above.
    let function =
        |address| unsafe { std::mem::transmute::<usize, Option<LargeFunction>>(address) }.map(Function::Large);
    register(datarep, function(read), function(write), extent, extra_state)
}
