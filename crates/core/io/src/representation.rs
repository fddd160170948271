//! Data representations (MPI 5.0, section 14.5): what basic types look like in a file.

mod convert;
mod file_type;

use std::fmt;
use std::rc::Rc;

use tern_layout::{Basic, Type};

pub(crate) use convert::Converter;

use crate::{Class, Error, Memory};

/// What basic types look like in a file.
#[derive(Clone)]
pub enum Representation {
    /// As in memory.
    Native,
    /// As in memory, too: all processes of a job have the same machine.
    Internal,
    /// Big-endian, with the sizes of MPI 5.0, section 14.5.2.
    External32,
    /// The user's functions (MPI_REGISTER_DATAREP), under the name they are registered with.
    User(Rc<str>, Rc<dyn Conversion>),
}

/// The functions of a user's data representation (MPI 5.0, section 14.5.3). Data *items* are the
/// basic elements of the type map; a pair is two.
pub trait Conversion {
    /// Bytes that an item of this type takes in the file. The error is for the user's eyes.
    fn extent(&self, basic: Basic) -> Result<u64, String>;

    /// Whether data is converted when it is read; if not, files are read as native ones are.
    fn converts_reads(&self) -> bool;

    /// Whether data is converted when it is written.
    fn converts_writes(&self) -> bool;

    /// Converts `items` items, which lie one after the other in `file`, to the places in `memory` of
    /// its items from `position` on.
    ///
    /// # Safety
    /// Those places may be written; `file` has the extents of the items.
    unsafe fn read(&self, memory: &Memory<'_>, items: u64, file: &[u8], position: u64) -> Result<(), String>;

    /// Converts `items` items of `memory`, from its item `position` on, to `file`.
    ///
    /// # Safety
    /// Those items may be read; `file` has room for their extents.
    unsafe fn write(&self, memory: &Memory<'_>, items: u64, file: &mut [u8], position: u64) -> Result<(), String>;
}

impl Representation {
    /// The predefined representation of this name (MPI 5.0, section 14.5.1 lists three).
    pub fn predefined(name: &str) -> Option<Representation> {
        Some(match name {
            "native" => Representation::Native,
            "internal" => Representation::Internal,
            "external32" => Representation::External32,
            _ => return None,
        })
    }

    pub fn name(&self) -> &str {
        match self {
            Representation::Native => "native",
            Representation::Internal => "internal",
            Representation::External32 => "external32",
            Representation::User(name, _) => name,
        }
    }

    /// Whether files hold what memory holds.
    pub fn is_plain(&self) -> bool {
        matches!(self, Representation::Native | Representation::Internal)
    }

    /// The layout that `ty` has in a file: the same constructors over basic types of file size, without
    /// alignment (MPI_FILE_GET_TYPE_EXTENT is its extent). Displacements in bytes stay as they are: who
    /// uses them asks for file extents first (MPI 5.0, section 14.5.1).
    pub fn file_type(&self, ty: &Rc<Type>) -> Result<Rc<Type>, Error> {
        match self {
            Representation::Native | Representation::Internal => Ok(ty.clone()),
            _ => file_type::in_file(self, ty),
        }
    }

    /// Bytes that one `basic` takes in a file; a pair takes what its two parts take.
    pub(crate) fn item_bytes(&self, basic: Basic) -> Result<u64, Error> {
        match self {
            Representation::Native | Representation::Internal => Ok(basic.size() as u64),
            Representation::External32 => Ok(basic.external_size() as u64),
            Representation::User(name, conversion) => {
                let one = |basic| conversion.extent(basic).map_err(|text| convert::failed(name, &text));
                match basic.pair() {
                    None => one(basic),
                    Some((value, _, index)) => Ok(one(value)? + one(index)?),
                }
            }
        }
    }

    /// Bytes in the file of `count` elements of `ty`.
    pub fn file_bytes(&self, ty: &Rc<Type>, count: i64) -> Result<u64, Error> {
        let each = match self {
            Representation::Native | Representation::Internal => Some(ty.size() as u64),
            Representation::External32 => ty.external_size(1).map(|bytes| bytes as u64),
            Representation::User(..) => {
                let mut sum = Some(0u64);
                for (basic, repeat) in ty.signature(1) {
                    let bytes = self.item_bytes(basic)?.checked_mul(repeat);
                    sum = sum.and_then(|sum| sum.checked_add(bytes?));
                }
                sum
            }
        };
        let bytes = each.and_then(|each| each.checked_mul(count.max(0) as u64));
        bytes
            .filter(|&bytes| i64::try_from(bytes).is_ok())
            .ok_or_else(|| Error::new(Class::Argument, format!("{count} elements of {} bytes are too many", ty.size())))
    }
}

impl fmt::Debug for Representation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Representation {
    fn eq(&self, other: &Representation) -> bool {
        self.name() == other.name()
    }
}
