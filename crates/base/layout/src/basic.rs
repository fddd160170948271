//! The basic types: machine representation and meaning of every predefined datatype.

/// The groups of types for which the standard defines the predefined reduction operations
/// (MPI 5.0, section 6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Integers of C.
    CInteger,
    /// Integers of Fortran.
    FortranInteger,
    /// MPI_AINT, MPI_COUNT, MPI_OFFSET.
    MultiLanguage,
    /// Real numbers of both languages.
    FloatingPoint,
    /// LOGICAL and bool.
    Logical,
    /// Complex numbers of both languages.
    Complex,
    /// MPI_BYTE
    Byte,
    /// Value and index, for MPI_MINLOC and MPI_MAXLOC (section 6.9.4).
    Pair,
    /// Characters and packed data: no predefined operation applies.
    NoReduction,
}

/// How the external32 form of a basic type is made from the native one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// The same bytes.
    Plain,
    /// Units of this many bytes, each turned to big-endian.
    Swap(usize),
    /// 8-byte integer, 4 bytes outside, sign or zero extended on the way in.
    Narrow { signed: bool },
    /// 4-byte wide character, 2 bytes outside.
    Wide,
    /// x87 extended in 16 bytes, IEEE binary128 outside; so many of them.
    Extended(usize),
}

macro_rules! basics {
    ($($(#[$doc:meta])* $name:ident: $size:literal, $align:literal, $class:ident, $coding:expr, $outside:literal;)*) => {
        /// A basic element type. Predefined types with the same representation and the same
        /// meaning share one: MPI_FLOAT, MPI_REAL and MPI_REAL4 are all `Float32`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "their names say which they are")]
        pub enum Basic { $($(#[$doc])* $name),* }

        impl Basic {
            /// Every basic type, in the order of declaration.
            pub const ALL: &'static [Basic] = &[$(Basic::$name),*];

            const fn row(self) -> (i64, i64, Class, Coding, i64) {
                match self { $(Basic::$name => ($size, $align, Class::$class, $coding, $outside)),* }
            }
        }
    };
}

use Coding::{Extended, Narrow, Plain, Swap, Wide};

/// So many numbers of C's `long double`: x87 extended on x86-64, IEEE binary128 on arm64 and RISC-V.
const fn long_double(count: usize) -> Coding {
    if cfg!(target_arch = "x86_64") { Extended(count) } else { Swap(16) }
}

basics! {
    /// MPI_BYTE.
    Byte: 1, 1, Byte, Plain, 1;
    /// MPI_PACKED; in a signature it stands for anything.
    Packed: 1, 1, NoReduction, Plain, 1;
    /// MPI_CHAR, MPI_CHARACTER: character data, not a number.
    Char: 1, 1, NoReduction, Plain, 1;
    /// MPI_WCHAR: wchar_t of 4 bytes.
    WChar: 4, 4, NoReduction, Wide, 2;
    /// MPI_SIGNED_CHAR, MPI_INT8_T.
    Int8: 1, 1, CInteger, Plain, 1;
    Int16: 2, 2, CInteger, Swap(2), 2;
    Int32: 4, 4, CInteger, Swap(4), 4;
    /// MPI_LONG_LONG, MPI_INT64_T.
    Int64: 8, 8, CInteger, Swap(8), 8;
    /// MPI_UNSIGNED_CHAR, MPI_UINT8_T.
    Uint8: 1, 1, CInteger, Plain, 1;
    Uint16: 2, 2, CInteger, Swap(2), 2;
    Uint32: 4, 4, CInteger, Swap(4), 4;
    Uint64: 8, 8, CInteger, Swap(8), 8;
    /// MPI_LONG: as Int64, but 4 bytes in external32.
    Long: 8, 8, CInteger, Narrow { signed: true }, 4;
    /// MPI_UNSIGNED_LONG: as Uint64, but 4 bytes in external32.
    Ulong: 8, 8, CInteger, Narrow { signed: false }, 4;
    Aint: 8, 8, MultiLanguage, Swap(8), 8;
    Count: 8, 8, MultiLanguage, Swap(8), 8;
    Offset: 8, 8, MultiLanguage, Swap(8), 8;
    /// MPI_REAL2: IEEE binary16.
    Float16: 2, 2, FloatingPoint, Swap(2), 2;
    Float32: 4, 4, FloatingPoint, Swap(4), 4;
    Float64: 8, 8, FloatingPoint, Swap(8), 8;
    /// MPI_REAL16: IEEE binary128.
    Float128: 16, 16, FloatingPoint, Swap(16), 16;
    /// MPI_LONG_DOUBLE: on x86-64 10 bytes of value in 16.
    LongDouble: 16, 16, FloatingPoint, long_double(1), 16;
    /// MPI_COMPLEX4: two binary16.
    ComplexHalf: 4, 2, Complex, Swap(2), 4;
    ComplexFloat: 8, 4, Complex, Swap(4), 8;
    ComplexDouble: 16, 8, Complex, Swap(8), 16;
    /// MPI_COMPLEX32: two binary128.
    ComplexQuad: 32, 16, Complex, Swap(16), 32;
    ComplexLongDouble: 32, 16, Complex, long_double(2), 32;
    /// MPI_C_BOOL, MPI_CXX_BOOL.
    Bool: 1, 1, Logical, Plain, 1;
    Logical1: 1, 1, Logical, Plain, 1;
    Logical2: 2, 2, Logical, Swap(2), 2;
    Logical4: 4, 4, Logical, Swap(4), 4;
    Logical8: 8, 8, Logical, Swap(8), 8;
    Logical16: 16, 16, Logical, Swap(16), 16;
    /// Fortran INTEGER of so many bytes.
    Integer1: 1, 1, FortranInteger, Plain, 1;
    Integer2: 2, 2, FortranInteger, Swap(2), 2;
    Integer4: 4, 4, FortranInteger, Swap(4), 4;
    Integer8: 8, 8, FortranInteger, Swap(8), 8;
    Integer16: 16, 16, FortranInteger, Swap(16), 16;
    /// struct { float; int; } and so on: sizes are those of the data, without padding.
    FloatInt: 8, 4, Pair, Plain, 8;
    DoubleInt: 12, 8, Pair, Plain, 12;
    LongInt: 12, 8, Pair, Plain, 8;
    TwoInt: 8, 4, Pair, Plain, 8;
    ShortInt: 6, 4, Pair, Plain, 6;
    LongDoubleInt: 20, 16, Pair, Plain, 20;
    /// MPI_2INTEGER with INTEGER of 8 bytes (with 4 bytes it is `TwoInt`).
    TwoInteger8: 16, 8, Pair, Plain, 16;
    /// MPI_2REAL with REAL of 4 bytes.
    TwoReal4: 8, 4, Pair, Plain, 8;
    /// MPI_2DOUBLE_PRECISION with DOUBLE PRECISION of 8 bytes.
    TwoReal8: 16, 8, Pair, Plain, 16;
}

impl Basic {
    /// Bytes of data. Pairs: without padding, so DoubleInt has 12.
    pub const fn size(self) -> i64 {
        self.row().0
    }

    /// The alignment that the C compiler gives it, in bytes.
    pub const fn align(self) -> i64 {
        self.row().1
    }

    /// The group of types, for the predefined reduction operations.
    pub const fn class(self) -> Class {
        self.row().2
    }

    pub(crate) const fn coding(self) -> Coding {
        self.row().3
    }

    /// Bytes in external32 (MPI 5.0, section 15.5.2, table of external32 sizes).
    pub const fn external_size(self) -> i64 {
        self.row().4
    }

    /// Distance from one to the next in a C array.
    pub const fn extent(self) -> i64 {
        match self.pair() {
            Some((_, offset, second)) => {
                let end = offset + second.size();
                let align = self.align();
                (end + align - 1) / align * align
            }
            None => self.size(),
        }
    }

    /// The parts of a pair: the value, the byte offset of the index, and the index.
    pub const fn pair(self) -> Option<(Basic, i64, Basic)> {
        Some(match self {
            Basic::FloatInt => (Basic::Float32, 4, Basic::Int32),
            Basic::DoubleInt => (Basic::Float64, 8, Basic::Int32),
            Basic::LongInt => (Basic::Long, 8, Basic::Int32),
            Basic::TwoInt => (Basic::Int32, 4, Basic::Int32),
            Basic::ShortInt => (Basic::Int16, 4, Basic::Int32),
            Basic::LongDoubleInt => (Basic::LongDouble, 16, Basic::Int32),
            Basic::TwoInteger8 => (Basic::Integer8, 8, Basic::Integer8),
            Basic::TwoReal4 => (Basic::Float32, 4, Basic::Float32),
            Basic::TwoReal8 => (Basic::Float64, 8, Basic::Float64),
            _ => return None,
        })
    }

    /// What the signature check compares: integers of one size and signedness are equal
    /// whatever the language, since programs mix their names freely.
    pub const fn canonical(self) -> Basic {
        match self {
            Basic::Long | Basic::Aint | Basic::Count | Basic::Offset | Basic::Integer8 => Basic::Int64,
            Basic::Ulong => Basic::Uint64,
            Basic::Integer1 => Basic::Int8,
            Basic::Integer2 => Basic::Int16,
            Basic::Integer4 => Basic::Int32,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_the_layout_of_c_structs() {
        let want = [
            (Basic::FloatInt, 8, 8),
            (Basic::DoubleInt, 12, 16),
            (Basic::LongInt, 12, 16),
            (Basic::TwoInt, 8, 8),
            (Basic::ShortInt, 6, 8),
            (Basic::LongDoubleInt, 20, 32),
            (Basic::TwoReal8, 16, 16),
        ];
        for (basic, size, extent) in want {
            assert_eq!((basic.size(), basic.extent()), (size, extent), "{basic:?}");
        }
    }

    #[test]
    fn pair_rows_agree_with_their_parts() {
        for &basic in Basic::ALL {
            if let Some((value, offset, index)) = basic.pair() {
                assert_eq!(basic.class(), Class::Pair);
                assert_eq!(basic.size(), value.size() + index.size());
                assert_eq!(basic.external_size(), value.external_size() + index.external_size());
                assert_eq!(basic.align(), value.align().max(index.align()));
                assert!(offset >= value.size() && offset % index.align() == 0);
            } else {
                assert_ne!(basic.class(), Class::Pair);
            }
        }
    }
}
