//! What a program may ask about the binary interface, and tell about its Fortran compiler
//! (MPI 5.0 sections 20.2 and 20.5). At any time.

use crate::args::Out;
use crate::constants::*;
use crate::datatype::predefined::{FortranInfo, SIZED_FORTRAN, fortran_info, set_fortran_info};
use crate::error::{Error, Result};
use crate::guarded::Guarded;
use crate::info;
use crate::info_map::InfoMap;
use crate::objects::Info;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// MPI_Abi_get_version
pub fn abi_get_version(abi_major: Out<i32>, abi_minor: Out<i32>) -> Result<()> {
    abi_major.set(MPI_ABI_VERSION);
    abi_minor.set(MPI_ABI_SUBVERSION);
    Ok(())
}

/// MPI_Abi_get_info: bytes of the integer types.
pub fn abi_get_info(info: Out<usize>) -> Result<()> {
    let sizes = ["mpi_aint_size", "mpi_count_size", "mpi_offset_size"];
    info.set(info::hand_out(sizes.map(|key| (key.to_string(), "8".to_string())).to_vec()));
    Ok(())
}

/// What the program has told.
struct Told {
    info: Cell<bool>,
    booleans: RefCell<Option<Booleans>>,
}

/// `.TRUE.` and `.FALSE.` in memory.
#[derive(Clone)]
struct Booleans {
    yes: Vec<u8>,
    no: Vec<u8>,
}

static TOLD: Guarded<Told> = Guarded::new(Told { info: Cell::new(false), booleans: RefCell::new(None) });

/// The key of a type that a compiler may lack.
fn supported_key(bit: usize) -> String {
    let name = SIZED_FORTRAN.get(bit).map_or("mpi_double_complex".into(), |name| name.to_lowercase());
    format!("{name}_supported")
}

/// The keys and values that describe `fortran`.
fn describe(fortran: &FortranInfo) -> InfoMap {
    let sizes = [
        ("mpi_logical_size", fortran.logical),
        ("mpi_integer_size", fortran.integer),
        ("mpi_real_size", fortran.real),
        ("mpi_double_precision_size", fortran.double_precision),
    ];
    let mut map: InfoMap = sizes.iter().map(|(key, size)| (key.to_string(), size.to_string())).collect();
    for bit in 0..=SIZED_FORTRAN.len() {
        map.push((supported_key(bit), (fortran.supported >> bit & 1 == 1).to_string()));
    }
    map
}

/// Changes `fortran` by what `map` says; keys that are not known are ignored (section 20.5).
fn learn(fortran: &mut FortranInfo, map: &InfoMap) -> Result<()> {
    let wrong = |key: &str, value: &str, what: &str| -> Box<Error> {
        Error::new(MPI_ERR_INFO_VALUE, format!("{key} is \"{value}\", but must be {what}"))
    };
    for (key, value) in map {
        let size = match key.as_str() {
            "mpi_logical_size" => Some(&mut fortran.logical),
            "mpi_integer_size" => Some(&mut fortran.integer),
            "mpi_real_size" => Some(&mut fortran.real),
            "mpi_double_precision_size" => Some(&mut fortran.double_precision),
            _ => None,
        };
        if let Some(size) = size {
            let number = value.parse().ok().filter(|n| [1, 2, 4, 8, 16].contains(n));
            *size = number.ok_or_else(|| wrong(key, value, "1, 2, 4, 8 or 16"))?;
        } else if let Some(bit) = (0..=SIZED_FORTRAN.len()).find(|&bit| supported_key(bit) == *key) {
            match value.as_str() {
                "true" => fortran.supported |= 1 << bit,
                "false" => fortran.supported &= !(1 << bit),
                _ => return Err(wrong(key, value, "true or false")),
            }
        }
    }
    Ok(())
}

/// MPI_Abi_get_fortran_info
pub fn abi_get_fortran_info(info: Out<usize>) -> Result<()> {
    info.set(info::hand_out(describe(&fortran_info())));
    Ok(())
}

/// MPI_Abi_set_fortran_info: once.
pub fn abi_set_fortran_info(info: Option<Rc<Info>>) -> Result<()> {
    if TOLD.get().info.get() {
        return err!(MPI_ERR_ABI, "MPI_Abi_set_fortran_info was called before: what it told cannot change");
    }
    let mut fortran = fortran_info();
    learn(&mut fortran, &info::map_of(&info))?;
    set_fortran_info(fortran);
    TOLD.get().info.set(true);
    Ok(())
}

/// The size of a LOGICAL, or MPI_ERR_ARG.
fn logical_size(size: i32) -> Result<usize> {
    match size {
        1 | 2 | 4 | 8 | 16 => Ok(size as usize),
        _ => err!(MPI_ERR_ARG, "logical_size is {size}, but must be 1, 2, 4, 8 or 16"),
    }
}

fn null_address<T>() -> Result<T> {
    err!(MPI_ERR_ARG, "logical_true or logical_false is a null pointer")
}

/// MPI_Abi_set_fortran_booleans: once.
pub fn abi_set_fortran_booleans(size: i32, logical_true: *mut u8, logical_false: *mut u8) -> Result<()> {
    let size = logical_size(size)?;
    if logical_true.is_null() || logical_false.is_null() {
        return null_address();
    }
    let mut told = TOLD.get().booleans.borrow_mut();
    if told.is_some() {
        return err!(MPI_ERR_ABI, "MPI_Abi_set_fortran_booleans was called before: what it told cannot change");
    }
    // SAFETY: the program vouches for values of `size` bytes.
    let value = |at: *mut u8| unsafe { std::slice::from_raw_parts(at, size) }.to_vec();
    *told = Some(Booleans { yes: value(logical_true), no: value(logical_false) });
    Ok(())
}

/// MPI_Abi_get_fortran_booleans
pub fn abi_get_fortran_booleans(
    size: i32, logical_true: *mut u8, logical_false: *mut u8, is_set: Out<i32>,
) -> Result<()> {
    let size = logical_size(size)?;
    let told = TOLD.get().booleans.borrow();
    is_set.set(told.is_some() as i32);
    let Some(booleans) = &*told else { return Ok(()) };
    if booleans.yes.len() != size {
        let known = booleans.yes.len();
        return err!(MPI_ERR_ABI, "logical_size is {size}, but what is known are values of {known} bytes");
    }
    if logical_true.is_null() || logical_false.is_null() {
        return null_address();
    }
    // SAFETY: the program vouches for room of `size` bytes at each.
    unsafe {
        logical_true.copy_from_nonoverlapping(booleans.yes.as_ptr(), size);
        logical_false.copy_from_nonoverlapping(booleans.no.as_ptr(), size);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(key: &str, value: &str) -> Result<FortranInfo> {
        let mut fortran = fortran_info();
        learn(&mut fortran, &vec![(key.to_owned(), value.to_owned())])?;
        Ok(fortran)
    }

    #[test]
    fn a_description_is_understood_again() {
        let mut fortran = FortranInfo { integer: 8, real: 16, ..fortran_info() };
        fortran.supported &= !(1 << 9 | 1 << SIZED_FORTRAN.len());
        let map = describe(&fortran);
        assert_eq!(map.len(), 23);
        assert_eq!(info::find(&map, "mpi_integer16_supported"), Some("false"));
        assert_eq!(info::find(&map, "mpi_double_complex_supported"), Some("false"));
        let mut learned = fortran_info();
        learn(&mut learned, &map).unwrap();
        assert_eq!(describe(&learned), map);
    }

    #[test]
    fn wrong_values_are_refused_and_other_keys_are_not() {
        assert_eq!(said("mpi_real_size", "3").unwrap_err().code, MPI_ERR_INFO_VALUE);
        assert_eq!(said("mpi_real2_supported", "maybe").unwrap_err().code, MPI_ERR_INFO_VALUE);
        assert_eq!(said("colour", "blue").unwrap(), fortran_info());
        assert_eq!(said("mpi_real_size", "8").unwrap().real, 8);
    }
}
