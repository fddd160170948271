//! Data representations (MPI 5.0, section 14.5): what basic types look like in a file.

use std::fmt;
use std::rc::Rc;

use tern_layout::{Basic, Type};

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

    /// The layout that `ty` has in a file: the same constructors over basic types of file size
    /// (MPI_FILE_GET_TYPE_EXTENT is its extent).
    pub fn file_type(&self, ty: &Rc<Type>) -> Result<Rc<Type>, Error> {
        if self.is_plain() {
            return Ok(ty.clone());
        }
        Err(Error::new(Class::UnsupportedDatarep, format!("{} is not built yet", self.name())))
    }

    /// Bytes in the file of `count` elements of `ty`.
    pub fn file_bytes(&self, ty: &Rc<Type>, count: i64) -> Result<u64, Error> {
        let bytes = self.file_type(ty)?.pack_size(count);
        let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
        bytes.ok_or_else(|| Error::new(Class::Argument, format!("{count} elements of {} bytes are too many", ty.size())))
    }

    /// All data of `memory` in file representation: collective access converts first, and then moves
    /// plain bytes.
    ///
    /// # Safety
    /// All data of `memory` is readable.
    pub unsafe fn pack(&self, memory: &Memory<'_>) -> Result<Vec<u8>, Error> {
        let _ = memory;
        Err(Error::new(Class::UnsupportedDatarep, format!("{} is not built yet", self.name())))
    }

    /// Converts `file`, the beginning of the data, into `memory`; returns the bytes of data that were
    /// written there: of whole basic elements only, where a representation is not plain.
    ///
    /// # Safety
    /// All data of `memory` is writable.
    pub unsafe fn unpack(&self, memory: &Memory<'_>, file: &[u8]) -> Result<u64, Error> {
        let _ = (memory, file);
        Err(Error::new(Class::UnsupportedDatarep, format!("{} is not built yet", self.name())))
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
