//! The predefined datatypes of the standard ABI: handles, names, representation (MPI 5.0
//! sections 3.2.2 and 20.4).
//!
//! Each becomes an object on its first use. What the Fortran types are depends on the compiler
//! that the program uses; MPI_Abi_set_fortran_info tells.

use crate::constants::*;
use crate::guarded::Guarded;
use crate::objects::{Attributes, Contents, Datatype};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tern_adi::Data;
use tern_layout::{Basic, Type};

/// What is behind a predefined handle.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// The same for every program.
    Fixed(Basic),
    /// A Fortran type whose size the compiler chooses.
    Default(Fortran),
    /// A Fortran type of a fixed size that a compiler may lack; with its bit in
    /// [`FortranInfo::supported`].
    Sized(Basic, u32),
}

#[derive(Clone, Copy, Debug)]
enum Fortran {
    Logical,
    Integer,
    Real,
    Complex,
    DoublePrecision,
    DoubleComplex,
    TwoReal,
    TwoDoublePrecision,
    TwoInteger,
}

/// What is known of the Fortran compiler (MPI 5.0 section 20.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FortranInfo {
    /// Bytes of LOGICAL, INTEGER, REAL and DOUBLE PRECISION.
    pub logical: i32,
    pub integer: i32,
    pub real: i32,
    pub double_precision: i32,
    /// A bit for each entry of [`SIZED_FORTRAN`]: whether the compiler has the type. The next one
    /// is for DOUBLE COMPLEX.
    pub supported: u32,
}

impl FortranInfo {
    const DEFAULT: FortranInfo = FortranInfo { logical: 4, integer: 4, real: 4, double_precision: 8, supported: !0 };
}

/// The Fortran types of fixed sizes, in the order of their bits in [`FortranInfo::supported`].
/// The info key of `MPI_INTEGER1` is `mpi_integer1_supported`.
pub const SIZED_FORTRAN: [&str; 18] = [
    "MPI_LOGICAL1",
    "MPI_LOGICAL2",
    "MPI_LOGICAL4",
    "MPI_LOGICAL8",
    "MPI_LOGICAL16",
    "MPI_INTEGER1",
    "MPI_INTEGER2",
    "MPI_INTEGER4",
    "MPI_INTEGER8",
    "MPI_INTEGER16",
    "MPI_REAL2",
    "MPI_REAL4",
    "MPI_REAL8",
    "MPI_REAL16",
    "MPI_COMPLEX4",
    "MPI_COMPLEX8",
    "MPI_COMPLEX16",
    "MPI_COMPLEX32",
];

const DOUBLE_COMPLEX_BIT: usize = SIZED_FORTRAN.len();

/// The first handle of the table of predefined datatypes, and how many follow it.
const FIRST: usize = MPI_DATATYPE_NULL;
const SLOTS: usize = 256;

struct Entry {
    handle: usize,
    name: &'static str,
    form: Form,
}

const fn fixed(handle: usize, name: &'static str, basic: Basic) -> Entry {
    Entry { handle, name, form: Form::Fixed(basic) }
}
const fn fortran(handle: usize, name: &'static str, which: Fortran) -> Entry {
    Entry { handle, name, form: Form::Default(which) }
}
const fn sized(handle: usize, bit: u32, basic: Basic) -> Entry {
    Entry { handle, name: SIZED_FORTRAN[bit as usize], form: Form::Sized(basic, bit) }
}

static TABLE: &[Entry] = &[
    fixed(MPI_AINT, "MPI_AINT", Basic::Aint),
    fixed(MPI_COUNT, "MPI_COUNT", Basic::Count),
    fixed(MPI_OFFSET, "MPI_OFFSET", Basic::Offset),
    fixed(MPI_PACKED, "MPI_PACKED", Basic::Packed),
    fixed(MPI_SHORT, "MPI_SHORT", Basic::Int16),
    fixed(MPI_INT, "MPI_INT", Basic::Int32),
    fixed(MPI_LONG, "MPI_LONG", Basic::Long),
    fixed(MPI_LONG_LONG, "MPI_LONG_LONG", Basic::Int64),
    fixed(MPI_UNSIGNED_SHORT, "MPI_UNSIGNED_SHORT", Basic::Uint16),
    fixed(MPI_UNSIGNED, "MPI_UNSIGNED", Basic::Uint32),
    fixed(MPI_UNSIGNED_LONG, "MPI_UNSIGNED_LONG", Basic::Ulong),
    fixed(MPI_UNSIGNED_LONG_LONG, "MPI_UNSIGNED_LONG_LONG", Basic::Uint64),
    fixed(MPI_FLOAT, "MPI_FLOAT", Basic::Float32),
    fixed(MPI_C_COMPLEX, "MPI_C_COMPLEX", Basic::ComplexFloat),
    fixed(MPI_CXX_FLOAT_COMPLEX, "MPI_CXX_FLOAT_COMPLEX", Basic::ComplexFloat),
    fixed(MPI_DOUBLE, "MPI_DOUBLE", Basic::Float64),
    fixed(MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX", Basic::ComplexDouble),
    fixed(MPI_CXX_DOUBLE_COMPLEX, "MPI_CXX_DOUBLE_COMPLEX", Basic::ComplexDouble),
    fortran(MPI_LOGICAL, "MPI_LOGICAL", Fortran::Logical),
    fortran(MPI_INTEGER, "MPI_INTEGER", Fortran::Integer),
    fortran(MPI_REAL, "MPI_REAL", Fortran::Real),
    fortran(MPI_COMPLEX, "MPI_COMPLEX", Fortran::Complex),
    fortran(MPI_DOUBLE_PRECISION, "MPI_DOUBLE_PRECISION", Fortran::DoublePrecision),
    fortran(MPI_DOUBLE_COMPLEX, "MPI_DOUBLE_COMPLEX", Fortran::DoubleComplex),
    fixed(MPI_CHARACTER, "MPI_CHARACTER", Basic::Char),
    fixed(MPI_LONG_DOUBLE, "MPI_LONG_DOUBLE", Basic::LongDouble),
    fixed(MPI_C_LONG_DOUBLE_COMPLEX, "MPI_C_LONG_DOUBLE_COMPLEX", Basic::ComplexLongDouble),
    fixed(MPI_CXX_LONG_DOUBLE_COMPLEX, "MPI_CXX_LONG_DOUBLE_COMPLEX", Basic::ComplexLongDouble),
    fixed(MPI_FLOAT_INT, "MPI_FLOAT_INT", Basic::FloatInt),
    fixed(MPI_DOUBLE_INT, "MPI_DOUBLE_INT", Basic::DoubleInt),
    fixed(MPI_LONG_INT, "MPI_LONG_INT", Basic::LongInt),
    fixed(MPI_2INT, "MPI_2INT", Basic::TwoInt),
    fixed(MPI_SHORT_INT, "MPI_SHORT_INT", Basic::ShortInt),
    fixed(MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", Basic::LongDoubleInt),
    fortran(MPI_2REAL, "MPI_2REAL", Fortran::TwoReal),
    fortran(MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", Fortran::TwoDoublePrecision),
    fortran(MPI_2INTEGER, "MPI_2INTEGER", Fortran::TwoInteger),
    fixed(MPI_C_BOOL, "MPI_C_BOOL", Basic::Bool),
    fixed(MPI_CXX_BOOL, "MPI_CXX_BOOL", Basic::Bool),
    fixed(MPI_WCHAR, "MPI_WCHAR", Basic::WChar),
    fixed(MPI_INT8_T, "MPI_INT8_T", Basic::Int8),
    fixed(MPI_UINT8_T, "MPI_UINT8_T", Basic::Uint8),
    fixed(MPI_CHAR, "MPI_CHAR", Basic::Char),
    fixed(MPI_SIGNED_CHAR, "MPI_SIGNED_CHAR", Basic::Int8),
    fixed(MPI_UNSIGNED_CHAR, "MPI_UNSIGNED_CHAR", Basic::Uint8),
    fixed(MPI_BYTE, "MPI_BYTE", Basic::Byte),
    fixed(MPI_INT16_T, "MPI_INT16_T", Basic::Int16),
    fixed(MPI_UINT16_T, "MPI_UINT16_T", Basic::Uint16),
    fixed(MPI_INT32_T, "MPI_INT32_T", Basic::Int32),
    fixed(MPI_UINT32_T, "MPI_UINT32_T", Basic::Uint32),
    fixed(MPI_INT64_T, "MPI_INT64_T", Basic::Int64),
    fixed(MPI_UINT64_T, "MPI_UINT64_T", Basic::Uint64),
    sized(MPI_LOGICAL1, 0, Basic::Logical1),
    sized(MPI_LOGICAL2, 1, Basic::Logical2),
    sized(MPI_LOGICAL4, 2, Basic::Logical4),
    sized(MPI_LOGICAL8, 3, Basic::Logical8),
    sized(MPI_LOGICAL16, 4, Basic::Logical16),
    sized(MPI_INTEGER1, 5, Basic::Integer1),
    sized(MPI_INTEGER2, 6, Basic::Integer2),
    sized(MPI_INTEGER4, 7, Basic::Integer4),
    sized(MPI_INTEGER8, 8, Basic::Integer8),
    sized(MPI_INTEGER16, 9, Basic::Integer16),
    sized(MPI_REAL2, 10, Basic::Float16),
    sized(MPI_REAL4, 11, Basic::Float32),
    sized(MPI_REAL8, 12, Basic::Float64),
    sized(MPI_REAL16, 13, Basic::Float128),
    sized(MPI_COMPLEX4, 14, Basic::ComplexHalf),
    sized(MPI_COMPLEX8, 15, Basic::ComplexFloat),
    sized(MPI_COMPLEX16, 16, Basic::ComplexDouble),
    sized(MPI_COMPLEX32, 17, Basic::ComplexQuad),
];

/// The objects made so far, by handle - FIRST.
struct Predefined {
    slots: RefCell<[Option<Rc<Datatype>>; SLOTS]>,
    /// Bytes of an element of those that are dense and may be communicated; else 0.
    dense: [Cell<u32>; SLOTS],
    /// The basic type of those.
    basic: [Cell<Basic>; SLOTS],
    fortran: Cell<FortranInfo>,
}

static PREDEFINED: Guarded<Predefined> = Guarded::new(Predefined {
    slots: RefCell::new([const { None }; SLOTS]),
    dense: [const { Cell::new(0) }; SLOTS],
    basic: [const { Cell::new(Basic::Byte) }; SLOTS],
    fortran: Cell::new(FortranInfo::DEFAULT),
});

/// The datatype of a predefined handle. MPI_DATATYPE_NULL and handles that name nothing: `None`.
pub fn predefined(handle: usize) -> Option<Rc<Datatype>> {
    let slot = handle.wrapping_sub(FIRST);
    if slot >= SLOTS {
        return None;
    }
    if let Some(found) = &PREDEFINED.get().slots.borrow()[slot] {
        return Some(found.clone());
    }
    let entry = TABLE.iter().find(|entry| entry.handle == handle)?;
    let made = make(entry);
    PREDEFINED.get().slots.borrow_mut()[slot] = Some(made.clone());
    let dense = made.committed.get() && made.layout.is_contiguous();
    PREDEFINED.get().dense[slot].set(if dense { made.layout.size() as u32 } else { 0 });
    PREDEFINED.get().basic[slot].set(made.layout.named().unwrap_or(Basic::Byte));
    Some(made)
}

/// The handle of a predefined datatype that `basic` represents, if there is one.
pub fn predefined_of(basic: Basic) -> Option<usize> {
    let info = fortran_info();
    TABLE.iter().find(|entry| basic_of(entry.form, &info) == Some(basic)).map(|entry| entry.handle)
}

/// Bytes of an element of a predefined type whose elements lie one behind the other; `None` for
/// other types, and before the first call of [`predefined`] for it.
#[inline(always)]
pub fn dense_size(handle: usize) -> Option<usize> {
    let size = PREDEFINED.get().dense.get(handle.wrapping_sub(FIRST))?.get();
    (size != 0).then_some(size as usize)
}

/// Longest data served, in bytes: far from where a count times a size could overflow.
const LONGEST: u64 = 1 << 40;

/// The memory of a buffer, if there is nothing to say about it.
#[inline(always)]
pub(crate) fn dense(buf: *mut u8, count: i64, datatype: usize) -> Option<Data> {
    let size = dense_size(datatype)?;
    // A negative count is a very large one here.
    if count as u64 > LONGEST || (buf.is_null() && count != 0) {
        return None;
    }
    Some(Data::Bytes(buf, count as usize * size))
}

/// The basic type of a datatype for which [`dense_size`] gives a size.
#[inline(always)]
pub fn dense_basic(handle: usize) -> Option<Basic> {
    dense_size(handle)?;
    Some(PREDEFINED.get().basic[handle - FIRST].get())
}

fn make(entry: &Entry) -> Rc<Datatype> {
    let basic = basic_of(entry.form, &fortran_info());
    Rc::new(Datatype {
        handle: Cell::new(entry.handle),
        // A type that the compiler lacks moves nothing; `committed` keeps it out of every call.
        layout: Type::basic(basic.unwrap_or(Basic::Byte)),
        committed: Cell::new(basic.is_some()),
        predefined: true,
        contents: Contents { combiner: MPI_COMBINER_NAMED, ..Contents::default() },
        name: RefCell::new(entry.name.into()),
        attributes: Attributes::default(),
    })
}

/// What represents a form for this compiler; `None` when there is no such type.
fn basic_of(form: Form, info: &FortranInfo) -> Option<Basic> {
    match form {
        Form::Fixed(basic) => Some(basic),
        Form::Sized(basic, bit) => (info.supported >> bit & 1 == 1).then_some(basic),
        Form::Default(which) => match which {
            Fortran::Logical => logical(info.logical),
            Fortran::Integer => integer(info.integer),
            Fortran::Real => real(info.real),
            Fortran::Complex => complex(info.real),
            Fortran::DoublePrecision => real(info.double_precision),
            Fortran::DoubleComplex if info.supported >> DOUBLE_COMPLEX_BIT & 1 == 0 => None,
            Fortran::DoubleComplex => complex(info.double_precision),
            Fortran::TwoReal => real_pair(info.real),
            Fortran::TwoDoublePrecision => real_pair(info.double_precision),
            Fortran::TwoInteger => match info.integer {
                4 => Some(Basic::TwoInt),
                8 => Some(Basic::TwoInteger8),
                _ => None,
            },
        },
    }
}

fn logical(bytes: i32) -> Option<Basic> {
    Some(match bytes {
        1 => Basic::Logical1,
        2 => Basic::Logical2,
        4 => Basic::Logical4,
        8 => Basic::Logical8,
        16 => Basic::Logical16,
        _ => return None,
    })
}

fn integer(bytes: i32) -> Option<Basic> {
    Some(match bytes {
        1 => Basic::Integer1,
        2 => Basic::Integer2,
        4 => Basic::Integer4,
        8 => Basic::Integer8,
        16 => Basic::Integer16,
        _ => return None,
    })
}

fn real(bytes: i32) -> Option<Basic> {
    Some(match bytes {
        2 => Basic::Float16,
        4 => Basic::Float32,
        8 => Basic::Float64,
        16 => Basic::Float128,
        _ => return None,
    })
}

/// The complex type of two reals of `bytes` each.
fn complex(bytes: i32) -> Option<Basic> {
    Some(match bytes {
        2 => Basic::ComplexHalf,
        4 => Basic::ComplexFloat,
        8 => Basic::ComplexDouble,
        16 => Basic::ComplexQuad,
        _ => return None,
    })
}

fn real_pair(bytes: i32) -> Option<Basic> {
    match bytes {
        4 => Some(Basic::TwoReal4),
        8 => Some(Basic::TwoReal8),
        _ => None,
    }
}

/// What is known of the Fortran compiler now.
pub fn fortran_info() -> FortranInfo {
    PREDEFINED.get().fortran.get()
}

/// Takes over what MPI_Abi_set_fortran_info tells. Predefined types made before change only if
/// their representation does; what programs built from them keeps the old one.
pub fn set_fortran_info(info: FortranInfo) {
    let this = PREDEFINED.get();
    let before = this.fortran.replace(info);
    for entry in TABLE {
        if basic_of(entry.form, &before) != basic_of(entry.form, &info) {
            this.slots.borrow_mut()[entry.handle - FIRST] = None;
            this.dense[entry.handle - FIRST].set(0);
        }
    }
}

/// Handle of the predefined Fortran type of `basic`, for MPI_Type_match_size. `None`: the
/// compiler has none.
pub fn sized_fortran(wanted: Basic) -> Option<usize> {
    let info = fortran_info();
    TABLE.iter().find_map(|entry| match entry.form {
        Form::Sized(basic, _) if basic == wanted => basic_of(entry.form, &info).map(|_| entry.handle),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_handle_is_in_the_table_once() {
        for (i, entry) in TABLE.iter().enumerate() {
            assert!((FIRST + 1..FIRST + SLOTS).contains(&entry.handle), "{}", entry.name);
            assert!(TABLE[..i].iter().all(|other| other.handle != entry.handle && other.name != entry.name));
        }
        assert_eq!(TABLE.len(), 70);
    }

    #[test]
    fn lookup_knows_names_and_refuses_what_is_not_there() {
        assert_eq!(&*predefined(MPI_DOUBLE).unwrap().name.borrow(), "MPI_DOUBLE");
        assert!(Rc::ptr_eq(&predefined(MPI_INT).unwrap(), &predefined(MPI_INT).unwrap()));
        for wrong in [MPI_DATATYPE_NULL, MPI_DATATYPE_NULL + 4, MPI_DATATYPE_NULL + SLOTS, 0, MPI_SUM] {
            assert!(predefined(wrong).is_none(), "{wrong:#x}");
        }
    }

    #[test]
    fn the_compiler_decides_what_its_types_are() {
        let wide = FortranInfo { integer: 8, real: 16, supported: !(1 << 9), ..FortranInfo::DEFAULT };
        let of = |handle| TABLE.iter().find(|e| e.handle == handle).map(|e| basic_of(e.form, &wide)).unwrap();
        assert_eq!(of(MPI_INTEGER), Some(Basic::Integer8));
        assert_eq!(of(MPI_COMPLEX), Some(Basic::ComplexQuad));
        assert_eq!(of(MPI_2REAL), None);
        assert_eq!(of(MPI_INTEGER16), None);
        assert_eq!(of(MPI_INTEGER8), Some(Basic::Integer8));
        assert_eq!(of(MPI_INT), Some(Basic::Int32));
    }
}
