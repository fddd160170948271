//! How two processes of a job that meet on a socket prove to each other that they belong to it, before either says anything
//! else, and how they go on in secret where that is wanted.
//!
//! | file | subject |
//! |---|---|
//! | `proof` | the handshake and the keys that follow from it, a state machine without I/O |
//! | `seal` | messages that nobody else can read, change, repeat or put in another order |
//! | `crowd` | who gives way when too many have called and not proven themselves |
//! | `shake` | a handshake on a socket that never blocks |
//! | `knock` | the handshake of two processes that have one secret in common, and no numbers |
//! | `door` | a socket on which callers knock that know a secret |
//! | `socket` | the sockets of calls |

mod crowd;
mod door;
mod knock;
mod proof;
mod seal;
mod shake;
mod socket;

pub use crowd::gives_way;
pub use door::Door;
pub use knock::{Knock, Progress, Proven};
pub use proof::{Hello, Keys, Nonce, Session, Stranger, Token, derive};
pub use seal::{Sealer, TAG};
pub use shake::{End, PROOF_TIME, Shake, Stage, Step, Verdict};
pub use socket::{connect, prepare};
