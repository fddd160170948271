//! Datatypes found by what they can hold: Fortran's parametric types, sizes, value and index
//! pairs (MPI 5.0 sections 19.1.9 and 6.9.4).

use crate::args::Out;
use crate::constants::*;
use crate::datatype::new_datatype;
use crate::datatype::predefined::sized_fortran;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::objects::{Contents, Datatype, objects};
use std::cell::RefCell;
use std::rc::Rc;
use tern_layout::{Basic, Type};

/// An unnamed predefined type: its combiner with the arguments, and the handle.
struct Parametric {
    combiner: i32,
    arguments: [i32; 2],
    handle: usize,
}

/// Those that exist: the same arguments give the same type (section 19.1.9).
static PARAMETRIC: Guarded<RefCell<Vec<Parametric>>> = Guarded::new(RefCell::new(Vec::new()));

/// Decimal digits, decimal exponent range, the real type and the complex one.
const REALS: [(i32, i32, Basic, Basic); 4] = [
    (3, 4, Basic::Float16, Basic::ComplexHalf),
    (6, 37, Basic::Float32, Basic::ComplexFloat),
    (15, 307, Basic::Float64, Basic::ComplexDouble),
    (33, 4931, Basic::Float128, Basic::ComplexQuad),
];

/// Decimal digits that an integer type holds.
const INTEGERS: [(i32, Basic); 5] =
    [(2, Basic::Integer1), (4, Basic::Integer2), (9, Basic::Integer4), (18, Basic::Integer8), (38, Basic::Integer16)];

/// MPI_Type_create_f90_real (section 19.1.9).
pub fn type_create_f90_real(p: i32, r: i32, newtype: Out<usize>) -> Result<()> {
    let (_, _, basic, _) = select_real(p, r)?;
    newtype.set(parametric(MPI_COMBINER_F90_REAL, [p, r], basic));
    Ok(())
}

/// MPI_Type_create_f90_complex (section 19.1.9).
pub fn type_create_f90_complex(p: i32, r: i32, newtype: Out<usize>) -> Result<()> {
    let (_, _, _, basic) = select_real(p, r)?;
    newtype.set(parametric(MPI_COMBINER_F90_COMPLEX, [p, r], basic));
    Ok(())
}

/// MPI_Type_create_f90_integer (section 19.1.9).
pub fn type_create_f90_integer(r: i32, newtype: Out<usize>) -> Result<()> {
    let found = INTEGERS.iter().find(|&&(digits, basic)| digits >= r && sized_fortran(basic).is_some());
    let Some(&(_, basic)) = found else {
        return err!(MPI_ERR_ARG, "no Fortran INTEGER holds {r} decimal digits");
    };
    newtype.set(parametric(MPI_COMBINER_F90_INTEGER, [r, 0], basic));
    Ok(())
}

fn select_real(p: i32, r: i32) -> Result<(i32, i32, Basic, Basic)> {
    if p == MPI_UNDEFINED && r == MPI_UNDEFINED {
        return err!(MPI_ERR_ARG, "p and r are both MPI_UNDEFINED");
    }
    let fits = |wanted: i32, has: i32| wanted == MPI_UNDEFINED || wanted <= has;
    let found = REALS
        .iter()
        .find(|&&(digits, range, basic, _)| fits(p, digits) && fits(r, range) && sized_fortran(basic).is_some());
    match found {
        Some(&row) => Ok(row),
        None => err!(MPI_ERR_ARG, "no Fortran REAL has {p} decimal digits and an exponent range of {r}"),
    }
}

fn parametric(combiner: i32, arguments: [i32; 2], basic: Basic) -> usize {
    let known = PARAMETRIC.get();
    if let Some(row) = known.borrow().iter().find(|row| row.combiner == combiner && row.arguments == arguments) {
        return row.handle;
    }
    let integers = match combiner {
        MPI_COMBINER_F90_INTEGER => vec![arguments[0] as i64],
        _ => arguments.iter().map(|&v| v as i64).collect(),
    };
    let contents = Contents { combiner, integers, ..Contents::default() };
    let make = |handle| new_datatype(handle, Type::basic(basic), contents, true);
    let handle = objects().datatypes.borrow_mut().insert_with(make);
    known.borrow_mut().push(Parametric { combiner, arguments, handle });
    handle
}

/// MPI_Type_match_size (section 19.1.9): the Fortran type of a class with `size` bytes.
pub fn type_match_size(typeclass: i32, size: i32, datatype: Out<usize>) -> Result<()> {
    let class: &[Basic] = match typeclass {
        MPI_TYPECLASS_INTEGER => &INTEGERS.map(|row| row.1),
        MPI_TYPECLASS_REAL => &REALS.map(|row| row.2),
        MPI_TYPECLASS_COMPLEX => &REALS.map(|row| row.3),
        _ => return err!(MPI_ERR_ARG, "typeclass {typeclass} is no MPI_TYPECLASS_… value"),
    };
    let handle = class.iter().find(|basic| basic.size() == size as i64).and_then(|&basic| sized_fortran(basic));
    match handle {
        Some(handle) => {
            datatype.set(handle);
            Ok(())
        }
        None => err!(MPI_ERR_ARG, "there is no Fortran type of this class with {size} bytes"),
    }
}

/// The pair types of C and Fortran: value, index, pair (section 6.9.4).
const PAIRS: [(usize, usize, usize); 9] = [
    (MPI_FLOAT, MPI_INT, MPI_FLOAT_INT),
    (MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT),
    (MPI_LONG, MPI_INT, MPI_LONG_INT),
    (MPI_INT, MPI_INT, MPI_2INT),
    (MPI_SHORT, MPI_INT, MPI_SHORT_INT),
    (MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT),
    (MPI_REAL, MPI_REAL, MPI_2REAL),
    (MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION),
    (MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER),
];

/// MPI_Type_get_value_index (section 6.9.4): the pair type for MPI_MINLOC and MPI_MAXLOC, or
/// MPI_DATATYPE_NULL where there is none.
pub fn type_get_value_index(value_type: Rc<Datatype>, index_type: Rc<Datatype>, pair_type: Out<usize>) -> Result<()> {
    for part in [&value_type, &index_type] {
        if part.contents.combiner != MPI_COMBINER_NAMED {
            return err!(MPI_ERR_TYPE, "{} is not a named predefined datatype", part.label());
        }
    }
    let (value, index) = (value_type.handle.get(), index_type.handle.get());
    let pair = PAIRS.iter().find(|row| row.0 == value && row.1 == index);
    pair_type.set(pair.map_or(MPI_DATATYPE_NULL, |row| row.2));
    Ok(())
}
