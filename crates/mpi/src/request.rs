//! Requests: what a program waits for.

use crate::objects::Comm;
use std::rc::Rc;

/// A request of the program's (MPI 5.0 section 3.7).
pub struct Request {
    pub comm: Option<Rc<Comm>>,
}

/// A message that a matched probe took out of matching.
pub struct Message {
    pub comm: Option<Rc<Comm>>,
    pub message: Option<tern_adi::Message>,
}
