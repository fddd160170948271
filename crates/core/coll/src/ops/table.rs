//! Which operation MPI allows on which type.

use super::Op;
use tern_layout::{Basic, Class};

/// Whether `op` works on elements of `basic`: where MPI allows it (MPI 5.0, sections 6.9.2 and 6.9.4), and as far as programs
/// rely on it, because other libraries do it: all operations on MPI_CHAR as an integer, and logical ones on MPI_AINT,
/// MPI_COUNT and MPI_OFFSET.
///
/// MPI_REPLACE and MPI_NO_OP are for one-sided communication, where they take every predefined
/// type (section 12.3.4); that they have no place in a reduction is for the caller to check.
pub fn allowed(op: Op, basic: Basic) -> bool {
    use Class::*;
    let class = match basic {
        Basic::Char => CInteger,
        _ => basic.class(),
    };
    match op {
        Op::Max | Op::Min => {
            matches!(class, CInteger | FortranInteger | FloatingPoint | MultiLanguage)
        }
        Op::Sum | Op::Prod => {
            matches!(class, CInteger | FortranInteger | FloatingPoint | Complex | MultiLanguage)
        }
        Op::Land | Op::Lor | Op::Lxor => matches!(class, CInteger | Logical | MultiLanguage),
        Op::Band | Op::Bor | Op::Bxor => {
            matches!(class, CInteger | FortranInteger | Byte | MultiLanguage)
        }
        Op::MinLoc | Op::MaxLoc => matches!(class, Pair),
        Op::Replace | Op::NoOp => true,
    }
}
