//! Errors of the file engine as errors of MPI (MPI 5.0 section 14.7).

use crate::constants::*;
use crate::error::Error;
use tern_io::Class;

impl From<tern_io::Error> for Box<Error> {
    fn from(error: tern_io::Error) -> Box<Error> {
        Error::new(class_of(error.class), error.text)
    }
}

fn class_of(class: Class) -> i32 {
    match class {
        Class::NoSuchFile => MPI_ERR_NO_SUCH_FILE,
        Class::FileExists => MPI_ERR_FILE_EXISTS,
        Class::Access => MPI_ERR_ACCESS,
        Class::ReadOnly => MPI_ERR_READ_ONLY,
        Class::NoSpace => MPI_ERR_NO_SPACE,
        Class::Quota => MPI_ERR_QUOTA,
        Class::BadFile => MPI_ERR_BAD_FILE,
        Class::FileInUse => MPI_ERR_FILE_IN_USE,
        Class::Io => MPI_ERR_IO,
        Class::Amode => MPI_ERR_AMODE,
        Class::NotSame => MPI_ERR_NOT_SAME,
        Class::UnsupportedDatarep => MPI_ERR_UNSUPPORTED_DATAREP,
        Class::UnsupportedOperation => MPI_ERR_UNSUPPORTED_OPERATION,
        Class::DupDatarep => MPI_ERR_DUP_DATAREP,
        Class::Conversion => MPI_ERR_CONVERSION,
        Class::Buffer => MPI_ERR_BUFFER,
        Class::NoMemory => MPI_ERR_NO_MEM,
        Class::Type => MPI_ERR_TYPE,
        Class::Argument => MPI_ERR_ARG,
    }
}
