//! Reduction operations (MPI 5.0 section 6.9).

use crate::args::Out;
use crate::constants::*;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::objects::user_function::{IntFunction, LargeFunction, Stated, UserFunction};
use crate::objects::{Datatype, Operation, Operator, objects};
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use tern_coll::ops::{self, Op};

/// The predefined operations: handle, name, kernel family.
const PREDEFINED: [(usize, &str, Op); 14] = [
    (MPI_SUM, "MPI_SUM", Op::Sum),
    (MPI_MIN, "MPI_MIN", Op::Min),
    (MPI_MAX, "MPI_MAX", Op::Max),
    (MPI_PROD, "MPI_PROD", Op::Prod),
    (MPI_BAND, "MPI_BAND", Op::Band),
    (MPI_BOR, "MPI_BOR", Op::Bor),
    (MPI_BXOR, "MPI_BXOR", Op::Bxor),
    (MPI_LAND, "MPI_LAND", Op::Land),
    (MPI_LOR, "MPI_LOR", Op::Lor),
    (MPI_LXOR, "MPI_LXOR", Op::Lxor),
    (MPI_MINLOC, "MPI_MINLOC", Op::MinLoc),
    (MPI_MAXLOC, "MPI_MAXLOC", Op::MaxLoc),
    (MPI_REPLACE, "MPI_REPLACE", Op::Replace),
    (MPI_NO_OP, "MPI_NO_OP", Op::NoOp),
];

const FIRST: usize = MPI_OP_NULL;
const SLOTS: usize = 32;

static SLOT: Guarded<RefCell<[Option<Rc<Operation>>; SLOTS]>> = Guarded::new(RefCell::new([const { None }; SLOTS]));

const NO_OPERATION: &str = "check that the operation is not MPI_OP_NULL and was not freed";

/// The operation that `handle` names, or MPI_ERR_OP.
pub fn lookup(handle: usize) -> Result<Rc<Operation>> {
    let slot = handle.wrapping_sub(FIRST);
    if slot < SLOTS {
        return predefined(handle, slot);
    }
    match objects().ops.borrow().get(handle) {
        Some(found) => Ok(found.clone()),
        None => err!(MPI_ERR_OP, try NO_OPERATION, "{handle:#x} is not an operation: it was freed, or never made"),
    }
}

/// The predefined operations by handle - FIRST.
static KNOWN: [Option<Op>; SLOTS] = {
    let mut known = [None; SLOTS];
    let mut at = 0;
    while at < PREDEFINED.len() {
        known[PREDEFINED[at].0 - FIRST] = Some(PREDEFINED[at].2);
        at += 1;
    }
    known
};

/// The predefined operation that `handle` names.
#[inline]
pub fn known(handle: usize) -> Option<Op> {
    *KNOWN.get(handle.wrapping_sub(FIRST))?
}

fn predefined(handle: usize, slot: usize) -> Result<Rc<Operation>> {
    if let Some(found) = &SLOT.get().borrow()[slot] {
        return Ok(found.clone());
    }
    let Some(&(_, _, op)) = PREDEFINED.iter().find(|row| row.0 == handle) else {
        let what = if handle == MPI_OP_NULL { "MPI_OP_NULL".into() } else { format!("{handle:#x}, which names none") };
        return err!(MPI_ERR_OP, try NO_OPERATION, "the operation is {what}");
    };
    let made = Rc::new(Operation {
        handle: Cell::new(handle),
        operator: Operator::Predefined(op),
        commutative: op.is_commutative(),
        predefined: true,
    });
    SLOT.get().borrow_mut()[slot] = Some(made.clone());
    Ok(made)
}

pub(crate) fn name(op: Op) -> &'static str {
    PREDEFINED.iter().find(|row| row.2 == op).map_or("the operation", |row| row.1)
}

impl Operation {
    /// What applies this operation to elements of `datatype`, or MPI_ERR_OP where the standard
    /// allows no such pair (MPI 5.0 section 6.9.2).
    pub fn on(&self, datatype: &Rc<Datatype>) -> Result<tern_coll::Operator> {
        match &self.operator {
            &Operator::Predefined(op) => {
                check_pair(op, datatype)?;
                Ok(tern_coll::Operator::Predefined(op))
            }
            Operator::User(function) => {
                let (function, datatype) = (function.clone(), datatype.clone());
                let apply = move |input: *const u8, inout: *mut u8, count: i64, _: &Rc<tern_layout::Type>| {
                    call_user(&function, input, inout, count, &datatype)
                };
                Ok(tern_coll::Operator::User { function: Rc::new(apply), commutative: self.commutative })
            }
        }
    }
}

fn check_pair(op: Op, datatype: &Datatype) -> Result<()> {
    if matches!(op, Op::Replace | Op::NoOp) {
        return err!(MPI_ERR_OP, try "", "{} is for one-sided communication only", name(op));
    }
    let Some(basic) = datatype.layout.named() else {
        return err!(
            MPI_ERR_OP,
            "{} works on predefined datatypes, not on {}: make an operation with MPI_Op_create",
            name(op),
            datatype.label()
        );
    };
    if !ops::allowed(op, basic) {
        return err!(MPI_ERR_OP, "{} is not defined for {}", name(op), datatype.label());
    }
    if ops::kernel(op, basic).is_none() {
        return err!(MPI_ERR_OP, "this machine has no arithmetic for {}", datatype.label());
    }
    Ok(())
}

/// Calls the program's function, which sees the datatype of the call. An `int` form gets at most
/// as many elements at a time as an `int` counts.
fn call_user(function: &UserFunction, input: *const u8, inout: *mut u8, count: i64, datatype: &Rc<Datatype>) {
    let named = Named::new(datatype);
    let mut handle = named.handle;
    match function {
        UserFunction::Large(function) => {
            let mut len = count;
            // SAFETY: the program's function, with vectors of `count` elements as it expects.
            unsafe { function(input.cast_mut().cast(), inout.cast(), &mut len, &mut handle) }
        }
        UserFunction::Int(function) => in_parts(input, inout, count, c_int::MAX as i64, datatype, |a, b, len| {
            let mut len = len as c_int;
            // SAFETY: as above, on a part of the vectors.
            unsafe { function(a, b, &mut len, &mut handle) }
        }),
        UserFunction::Stated(Stated { call, state, most }) => {
            in_parts(input, inout, count, *most, datatype, |a, b, len| {
                // SAFETY: as above; the state lives as long as the function.
                unsafe { call(state.pointer(), a, b, len, handle) }
            })
        }
    }
}

/// Calls `apply` for at most `most` elements at a time.
fn in_parts(
    input: *const u8, inout: *mut u8, count: i64, most: i64, datatype: &Datatype,
    mut apply: impl FnMut(*mut c_void, *mut c_void, i64),
) {
    let extent = datatype.layout.extent();
    let mut done = 0;
    while done < count {
        let len = (count - done).min(most);
        let offset = done.wrapping_mul(extent) as isize;
        done += len;
        apply(input.wrapping_offset(offset).cast_mut().cast(), inout.wrapping_offset(offset).cast(), len);
    }
}

/// A handle for a datatype during a callback. The program may have freed its own since the
/// operation began (MPI 5.0 section 5.1.9); then there is another one for as long as this lives.
struct Named {
    handle: usize,
    temporary: bool,
}

impl Named {
    fn new(datatype: &Rc<Datatype>) -> Named {
        let handle = datatype.handle.get();
        let known = crate::datatype::lookup(handle).is_ok_and(|found| Rc::ptr_eq(&found, datatype));
        if known || datatype.predefined {
            return Named { handle, temporary: false };
        }
        let handle = objects().datatypes.borrow_mut().insert(datatype.clone());
        Named { handle, temporary: true }
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        if self.temporary {
            objects().datatypes.borrow_mut().remove(self.handle);
        }
    }
}

/// MPI_Op_create (section 6.9.5).
pub fn op_create(user_fn: Option<IntFunction>, commute: bool, op: Out<usize>) -> Result<()> {
    create(user_fn.map(UserFunction::Int), commute, op)
}

/// MPI_Op_create_c (section 6.9.5).
pub fn op_create_c(user_fn: Option<LargeFunction>, commute: bool, op: Out<usize>) -> Result<()> {
    create(user_fn.map(UserFunction::Large), commute, op)
}

/// An operation of another binary interface.
pub fn create_stated(stated: Stated, commute: bool, op: Out<usize>) -> Result<()> {
    create(Some(UserFunction::Stated(stated)), commute, op)
}

fn create(user_fn: Option<UserFunction>, commute: bool, op: Out<usize>) -> Result<()> {
    let Some(user_fn) = user_fn else {
        return err!(MPI_ERR_ARG, "user_fn is a null pointer");
    };
    let handle = objects().ops.borrow_mut().insert_with(|handle| {
        Rc::new(Operation {
            handle: Cell::new(handle),
            operator: Operator::User(user_fn),
            commutative: commute,
            predefined: false,
        })
    });
    op.set(handle);
    Ok(())
}

/// MPI_Op_free (section 6.9.5). Reductions under way go on.
pub fn op_free(op: Out<usize>) -> Result<()> {
    let handle = op.get();
    let object = lookup(handle)?;
    if let Operator::Predefined(which) = object.operator {
        return err!(MPI_ERR_OP, try "", "{} is predefined and cannot be freed", name(which));
    }
    objects().ops.borrow_mut().remove(handle);
    op.set(MPI_OP_NULL);
    Ok(())
}

/// MPI_Op_commutative (section 6.9.6).
pub fn op_commutative(op: Rc<Operation>, commute: Out<i32>) -> Result<()> {
    commute.set(op.commutative as i32);
    Ok(())
}

/// MPI_Reduce_local (section 6.9.7).
pub fn reduce_local(
    inbuf: *const u8, inoutbuf: *mut u8, count: i64, datatype: Rc<Datatype>, op: Rc<Operation>,
) -> Result<()> {
    use crate::buffer::check;
    let operator = op.on(&datatype)?;
    check(inbuf, count, &datatype)?;
    check(inoutbuf, count, &datatype)?;
    if inbuf == inoutbuf.cast_const() && count > 0 {
        return err!(
            MPI_ERR_BUFFER,
            try "give the second vector an address of its own",
            "inbuf and inoutbuf are the same memory"
        );
    }
    let inout = tern_coll::Buffer { base: inoutbuf, count, ty: datatype.layout.clone() };
    // SAFETY: the program vouches for `count` elements at both addresses.
    unsafe { tern_coll::reduce_local(inbuf, &inout, &operator) };
    Ok(())
}
