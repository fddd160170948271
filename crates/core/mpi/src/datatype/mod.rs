//! Datatypes as objects: lookup, checks, lifetime, names (MPI 5.0 chapter 5).

pub mod create;
pub mod fortran;
pub mod pack;
pub mod predefined;
pub mod query;

use crate::advice::COMMIT;
use crate::constants::*;
use crate::datatype::predefined::predefined;
use crate::error::{Error, Result};
use crate::objects::{Attributes, Contents, Datatype, objects};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tern_layout::Type;

/// The datatype that `handle` names, or MPI_ERR_TYPE.
pub fn lookup(handle: usize) -> Result<Rc<Datatype>> {
    if let Some(found) = predefined(handle) {
        return Ok(found);
    }
    if let Some(found) = objects().datatypes.borrow().get(handle) {
        return Ok(found.clone());
    }
    if handle == MPI_DATATYPE_NULL {
        return err!(MPI_ERR_TYPE, try COMMIT, "the datatype is MPI_DATATYPE_NULL");
    }
    err!(MPI_ERR_TYPE, try COMMIT, "{handle:#x} is not a datatype: it was freed, or never made")
}

impl Datatype {
    /// Bytes of data in one element; MPI_UNDEFINED for a Fortran type that the compiler lacks.
    pub fn size(&self) -> i64 {
        if self.is_missing() { MPI_UNDEFINED as i64 } else { self.layout.size() }
    }

    /// True for a predefined Fortran type that the program's compiler does not have.
    pub fn is_missing(&self) -> bool {
        self.predefined && !self.committed.get()
    }

    /// Its name for messages: that of the program if it gave one.
    pub fn label(&self) -> String {
        let name = self.name.borrow();
        if name.is_empty() { format!("the datatype {:#x}", self.handle.get()) } else { name.clone() }
    }

    /// Checks that the type can take part in communication: MPI_ERR_TYPE unless committed
    /// (MPI 5.0 section 5.1.9).
    pub fn check_committed(&self) -> Result<()> {
        if self.committed.get() {
            return Ok(());
        }
        self.check_present()?;
        err!(MPI_ERR_TYPE, try COMMIT, "{} is not committed: call MPI_Type_commit first", self.label())
    }

    /// Checks that the program's Fortran compiler has this type.
    pub fn check_present(&self) -> Result<()> {
        if self.is_missing() {
            return err!(MPI_ERR_TYPE, "the Fortran compiler has no type {}", self.label());
        }
        Ok(())
    }
}

/// Makes an uncommitted datatype of a constructor's result and names it.
pub(crate) fn create(layout: Rc<Type>, contents: Contents) -> usize {
    objects().datatypes.borrow_mut().insert_with(|handle| new_datatype(handle, layout, contents, false))
}

/// A datatype without a name or attributes. `predefined` ones are committed.
pub(crate) fn new_datatype(handle: usize, layout: Rc<Type>, contents: Contents, predefined: bool) -> Rc<Datatype> {
    Rc::new(Datatype {
        handle: Cell::new(handle),
        layout,
        committed: Cell::new(predefined),
        predefined,
        contents,
        name: RefCell::new(String::new()),
        attributes: Attributes::default(),
    })
}

/// A handle of its own for what `of` is: predefined ones are given as they are, others as a new
/// object with the same layout, which the program frees (MPI 5.0 section 5.1.13).
pub(crate) fn share(of: &Rc<Datatype>) -> usize {
    if of.predefined {
        return of.handle.get();
    }
    let handle = create(of.layout.clone(), of.contents.clone());
    if let Some(made) = objects().datatypes.borrow().get(handle) {
        made.committed.set(of.committed.get());
    }
    handle
}

/// The class of the standard for what the layout engine refused, and a text with what `call` was given.
pub(crate) fn layout_error(error: tern_layout::Error, call: &Contents) -> Box<Error> {
    use tern_layout::Argument;
    let class = match error {
        tern_layout::Error::Invalid { argument: Argument::Count | Argument::Blocklength, .. } => MPI_ERR_COUNT,
        tern_layout::Error::TooLarge => MPI_ERR_VALUE_TOO_LARGE,
        tern_layout::Error::NoMemory { .. } => MPI_ERR_NO_MEM,
        _ => MPI_ERR_ARG,
    };
    let given = match class {
        MPI_ERR_NO_MEM => String::new(),
        _ => given(call),
    };
    Error::new(class, format!("{error}{given}"))
}

/// The first numbers and types that a constructor was given, for messages.
fn given(call: &Contents) -> String {
    const MOST: usize = 12;
    fn list(all: impl Iterator<Item = String>) -> String {
        let mut first: Vec<String> = all.take(MOST + 1).collect();
        if first.len() > MOST {
            first[MOST] = "...".into();
        }
        first.join(", ")
    }
    let numbers = [&call.integers, &call.large_counts, &call.addresses];
    let numbers = list(numbers.into_iter().flatten().map(i64::to_string));
    let types = list(call.datatypes.iter().map(|of| of.label()));
    format!("; its numbers are {numbers}, its types {types}")
}
