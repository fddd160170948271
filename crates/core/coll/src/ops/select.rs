//! From an operation and a basic type to its kernels.

use super::half_float;
use super::long_double;
use super::loops::{Each, Kernels, Level, Run, plain, vectorised};
use super::pair::{CopyPair, Locate, MaxLoc, MinLoc};
use super::scalar::{Band, Bor, Bxor, Combine, Complex, First, Land, Lor, Lxor, Max, Min, Prod, Scalar, Second, Sum};
use super::{Op, allowed};
use tern_layout::{Basic, Class};

/// The kernels of `op` on `basic` for the instruction set `level`, if there are any.
pub(super) fn kernels(op: Op, basic: Basic, level: Level) -> Option<Kernels> {
    if !allowed(op, basic) {
        return None;
    }
    if long_double::computes(basic) && !matches!(op, Op::Replace | Op::NoOp) {
        return long_double::kernels(op, basic);
    }
    match op {
        Op::Max => order!(Max, basic, level),
        Op::Min => order!(Min, basic, level),
        Op::Sum => sum(basic, level),
        Op::Prod => prod(basic, level),
        Op::Land => bits::<Land>(basic, level),
        Op::Lor => bits::<Lor>(basic, level),
        Op::Lxor => bits::<Lxor>(basic, level),
        Op::Band => bits::<Band>(basic, level),
        Op::Bor => bits::<Bor>(basic, level),
        Op::Bxor => bits::<Bxor>(basic, level),
        Op::MinLoc => locate!(MinLoc, basic),
        Op::MaxLoc => locate!(MaxLoc, basic),
        Op::Replace => copy::<First, true>(basic, level),
        Op::NoOp => copy::<Second, false>(basic, level),
    }
}

/// Operation `F` on elements of Rust type `T`.
fn scalar<F: Combine<T>, T: Copy>(level: Level) -> Option<Kernels> {
    Some(vectorised::<Each<Scalar<F, T>>>(level))
}

/// Operation `F` on elements of two `T` each, which do not mix.
fn parts<F: Combine<T>, T: Copy>(level: Level) -> Option<Kernels> {
    Some(vectorised::<Each<Scalar<F, T>, 2>>(level))
}

fn unvectorised<R: Run>() -> Option<Kernels> {
    Some(plain::<R>())
}

/// Maximum or minimum.
macro_rules! order {
    ($op:ty, $basic:expr, $level:expr) => {
        match $basic {
            Basic::Char => scalar::<$op, std::ffi::c_char>($level),
            Basic::Int8 | Basic::Integer1 => scalar::<$op, i8>($level),
            Basic::Int16 | Basic::Integer2 => scalar::<$op, i16>($level),
            Basic::Int32 | Basic::Integer4 => scalar::<$op, i32>($level),
            Basic::Int64 | Basic::Integer8 | Basic::Long | Basic::Aint | Basic::Count | Basic::Offset => {
                scalar::<$op, i64>($level)
            }
            Basic::Integer16 => scalar::<$op, i128>($level),
            Basic::Uint8 => scalar::<$op, u8>($level),
            Basic::Uint16 => scalar::<$op, u16>($level),
            Basic::Uint32 => scalar::<$op, u32>($level),
            Basic::Uint64 | Basic::Ulong => scalar::<$op, u64>($level),
            Basic::Float16 => Some(half_float::kernels::<$op, f32>($level)),
            Basic::Float32 => scalar::<$op, f32>($level),
            Basic::Float64 => scalar::<$op, f64>($level),
            _ => None,
        }
    };
}
use order;

/// MPI_MINLOC or MPI_MAXLOC.
macro_rules! locate {
    ($op:ty, $basic:expr) => {
        match $basic {
            Basic::FloatInt => unvectorised::<Each<Locate<$op, f32, i32>>>(),
            Basic::DoubleInt => unvectorised::<Each<Locate<$op, f64, i32>>>(),
            Basic::LongInt => unvectorised::<Each<Locate<$op, i64, i32>>>(),
            Basic::TwoInt => unvectorised::<Each<Locate<$op, i32, i32>>>(),
            Basic::ShortInt => unvectorised::<Each<Locate<$op, i16, i32>>>(),
            Basic::TwoInteger8 => unvectorised::<Each<Locate<$op, i64, i64>>>(),
            Basic::TwoReal4 => unvectorised::<Each<Locate<$op, f32, f32>>>(),
            Basic::TwoReal8 => unvectorised::<Each<Locate<$op, f64, f64>>>(),
            _ => None,
        }
    };
}
use locate;

fn sum(basic: Basic, level: Level) -> Option<Kernels> {
    match basic {
        Basic::Float16 => Some(half_float::kernels::<Sum, f32>(level)),
        Basic::ComplexHalf => Some(half_float::kernels::<Sum, Complex<f32>>(level)),
        Basic::Float32 => scalar::<Sum, f32>(level),
        Basic::Float64 => scalar::<Sum, f64>(level),
        Basic::ComplexFloat => parts::<Sum, f32>(level),
        Basic::ComplexDouble => parts::<Sum, f64>(level),
        _ if is_integer(basic) => bits::<Sum>(basic, level),
        _ => None,
    }
}

fn prod(basic: Basic, level: Level) -> Option<Kernels> {
    match basic {
        Basic::Float16 => Some(half_float::kernels::<Prod, f32>(level)),
        Basic::ComplexHalf => Some(half_float::kernels::<Prod, Complex<f32>>(level)),
        Basic::Float32 => scalar::<Prod, f32>(level),
        Basic::Float64 => scalar::<Prod, f64>(level),
        Basic::ComplexFloat => scalar::<Prod, Complex<f32>>(level),
        Basic::ComplexDouble => scalar::<Prod, Complex<f64>>(level),
        _ if is_integer(basic) => bits::<Prod>(basic, level),
        _ => None,
    }
}

fn is_integer(basic: Basic) -> bool {
    matches!(basic.class(), Class::CInteger | Class::FortranInteger | Class::MultiLanguage) || basic == Basic::Char
}

/// Operations that look at nothing but the bits: one set of kernels for each size.
fn bits<F>(basic: Basic, level: Level) -> Option<Kernels>
where
    F: Combine<u8> + Combine<u16> + Combine<u32> + Combine<u64> + Combine<u128>,
{
    match basic.size() {
        1 => scalar::<F, u8>(level),
        2 => scalar::<F, u16>(level),
        4 => scalar::<F, u32>(level),
        8 => scalar::<F, u64>(level),
        16 => scalar::<F, u128>(level),
        _ => None,
    }
}

/// MPI_REPLACE or MPI_NO_OP: copies of one operand, on every type.
fn copy<F, const FIRST: bool>(basic: Basic, level: Level) -> Option<Kernels>
where
    F: Combine<u8> + Combine<u16> + Combine<u32> + Combine<u64> + Combine<u128>,
{
    match (basic.size(), basic.extent()) {
        // The pairs with padding.
        (6, 8) => unvectorised::<Each<CopyPair<i16, i32, FIRST>>>(),
        (12, 16) => unvectorised::<Each<CopyPair<i64, i32, FIRST>>>(),
        (20, 32) => unvectorised::<Each<CopyPair<u128, i32, FIRST>>>(),
        (32, 32) => parts::<F, u128>(level),
        _ => bits::<F>(basic, level),
    }
}
