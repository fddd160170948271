//! How a type was made: what MPI_TYPE_GET_ENVELOPE and MPI_TYPE_GET_CONTENTS report.

use std::rc::Rc;

use super::Type;
use crate::{Basic, Count, DistArg, Distribution, Order};

/// A constructor call with its arguments (MPI 5.0, section 5.1.13). Displacements of the
/// forms without `h` are in extents of the child, all others in bytes.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields are the arguments of the call, by their names in the standard")]
pub enum Constructor {
    /// A predefined type.
    Named(Basic),
    /// MPI_TYPE_DUP
    Dup(Rc<Type>),
    /// MPI_TYPE_CONTIGUOUS
    Contiguous { count: Count, child: Rc<Type> },
    /// MPI_TYPE_VECTOR; the stride in extents.
    Vector { count: Count, blocklength: Count, stride: Count, child: Rc<Type> },
    /// MPI_TYPE_CREATE_HVECTOR
    Hvector { count: Count, blocklength: Count, stride: Count, child: Rc<Type> },
    /// MPI_TYPE_INDEXED
    Indexed { blocklengths: Box<[Count]>, displacements: Box<[Count]>, child: Rc<Type> },
    /// MPI_TYPE_CREATE_HINDEXED
    Hindexed { blocklengths: Box<[Count]>, displacements: Box<[Count]>, child: Rc<Type> },
    /// MPI_TYPE_CREATE_INDEXED_BLOCK
    IndexedBlock { blocklength: Count, displacements: Box<[Count]>, child: Rc<Type> },
    /// MPI_TYPE_CREATE_HINDEXED_BLOCK
    HindexedBlock { blocklength: Count, displacements: Box<[Count]>, child: Rc<Type> },
    /// MPI_TYPE_CREATE_STRUCT
    Struct { blocklengths: Box<[Count]>, displacements: Box<[Count]>, children: Box<[Rc<Type>]> },
    /// MPI_TYPE_CREATE_RESIZED
    Resized { lb: Count, extent: Count, child: Rc<Type> },
    /// MPI_TYPE_CREATE_SUBARRAY
    Subarray { sizes: Box<[Count]>, subsizes: Box<[Count]>, starts: Box<[Count]>, order: Order, child: Rc<Type> },
    /// MPI_TYPE_CREATE_DARRAY
    Darray {
        size: i32,
        rank: i32,
        gsizes: Box<[Count]>,
        distribs: Box<[Distribution]>,
        dargs: Box<[DistArg]>,
        psizes: Box<[Count]>,
        order: Order,
        child: Rc<Type>,
    },
    /// MPI_TYPE_CREATE_F90_INTEGER; its elements are the basic type.
    F90Integer { range: i32, basic: Basic },
    /// MPI_TYPE_CREATE_F90_REAL; None stands for MPI_UNDEFINED.
    F90Real { precision: Option<i32>, range: Option<i32>, basic: Basic },
    /// MPI_TYPE_CREATE_F90_COMPLEX.
    F90Complex { precision: Option<i32>, range: Option<i32>, basic: Basic },
}

impl Constructor {
    /// The types that it was made from, in the order of MPI_TYPE_GET_CONTENTS.
    pub fn children(&self) -> &[Rc<Type>] {
        use Constructor::*;
        match self {
            Named(_) | F90Integer { .. } | F90Real { .. } | F90Complex { .. } => &[],
            Dup(child)
            | Contiguous { child, .. }
            | Vector { child, .. }
            | Hvector { child, .. }
            | Indexed { child, .. }
            | Hindexed { child, .. }
            | IndexedBlock { child, .. }
            | HindexedBlock { child, .. }
            | Resized { child, .. }
            | Subarray { child, .. }
            | Darray { child, .. } => std::slice::from_ref(child),
            Struct { children, .. } => children,
        }
    }

    /// The same of one that is given up.
    pub(crate) fn into_children(self) -> Vec<Rc<Type>> {
        match self {
            // The list itself: nothing is allocated to free a type of many.
            Constructor::Struct { children, .. } => children.into(),
            one => one.children().to_vec(),
        }
    }
}
