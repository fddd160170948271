//! What can be wrong with the arguments of a constructor.

use std::fmt;
use tern_memory::Lack;

/// An argument of a datatype constructor, by the name that the MPI standard gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the standard names them")]
pub enum Argument {
    Count,
    Blocklength,
    Displacement,
    Ndims,
    Sizes,
    Subsizes,
    Starts,
    Size,
    Rank,
    Gsizes,
    Distribs,
    Dargs,
    Psizes,
    /// Precision or range of MPI_TYPE_CREATE_F90_*.
    Precision,
}

/// Why a datatype could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// This argument has a value that the standard does not allow. `index` is the position in
    /// an array argument, 0 for a scalar.
    #[allow(missing_docs, reason = "named above")]
    Invalid { argument: Argument, index: usize },
    /// Two array arguments differ in length.
    Lengths,
    /// A size, bound or number of elements does not fit 64 bits.
    TooLarge,
    /// There is no memory for its lists.
    #[allow(missing_docs, reason = "named above")]
    NoMemory { bytes: usize },
    /// More levels of nesting that do not collapse than a walk is made for.
    TooDeep,
}

impl Error {
    pub(crate) fn scalar(argument: Argument) -> Error {
        Error::Invalid { argument, index: 0 }
    }

    pub(crate) fn entry(argument: Argument, index: usize) -> Error {
        Error::Invalid { argument, index }
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Argument::Count => "count",
            Argument::Blocklength => "blocklength",
            Argument::Displacement => "displacement",
            Argument::Ndims => "ndims",
            Argument::Sizes => "array_of_sizes",
            Argument::Subsizes => "array_of_subsizes",
            Argument::Starts => "array_of_starts",
            Argument::Size => "size",
            Argument::Rank => "rank",
            Argument::Gsizes => "array_of_gsizes",
            Argument::Distribs => "array_of_distribs",
            Argument::Dargs => "array_of_dargs",
            Argument::Psizes => "array_of_psizes",
            Argument::Precision => "p or r",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Invalid { argument, index: 0 } => write!(f, "invalid {argument}"),
            Error::Invalid { argument, index } => write!(f, "invalid {argument}, entry {index}"),
            Error::Lengths => f.write_str("array arguments differ in length"),
            Error::TooLarge => f.write_str("the datatype does not fit 64-bit sizes"),
            Error::NoMemory { bytes } => write!(f, "there is no memory for the datatype: {}", Lack { bytes: *bytes }),
            Error::TooDeep => f.write_str("the datatype is nested too deeply"),
        }
    }
}

impl From<Lack> for Error {
    fn from(Lack { bytes }: Lack) -> Error {
        Error::NoMemory { bytes }
    }
}

impl std::error::Error for Error {}
