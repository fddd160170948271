//! Objects of one maker or the other.

use crate::{Error, Result};

#[derive(Clone)]
pub(crate) enum Made<S, R> {
    Software(S),
    RdmaCore(R),
}

impl<S, R> Made<S, R> {
    /// The object of the software HCA.
    ///
    /// # Errors
    /// [`Invalid`](Error::Invalid): rdma-core has made it.
    pub(crate) fn software(&self) -> Result<&S> {
        match self {
            Made::Software(it) => Ok(it),
            Made::RdmaCore(_) => Err(mixed()),
        }
    }

    /// The object of rdma-core.
    ///
    /// # Errors
    /// [`Invalid`](Error::Invalid): the software HCA has made it.
    pub(crate) fn rdma_core(&self) -> Result<&R> {
        match self {
            Made::RdmaCore(it) => Ok(it),
            Made::Software(_) => Err(mixed()),
        }
    }
}

/// Objects of two makers in one call.
fn mixed() -> Error {
    Error::Invalid("the objects of a call belong to different HCAs".into())
}

/// Calls the same method of whichever maker there is.
macro_rules! made_by {
    ($made:expr, $it:ident => $call:expr) => {
        match $made {
            crate::made::Made::Software($it) => $call,
            crate::made::Made::RdmaCore($it) => $call,
        }
    };
}
pub(crate) use made_by;
