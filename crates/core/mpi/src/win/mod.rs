//! One-sided communication (MPI 5.0 chapter 12) as programs see it: windows as objects, checks of
//! arguments, and which call is legal when. How bytes get to the other process is in `tern_rma`.
//!
//! | file | what |
//! |---|---|
//! | `object` | the window itself |
//! | `create` | making windows and freeing them; attached memory |
//! | `hints` | info of windows |
//! | `query` | group, name, attributes, memory of others |
//! | `epoch` | the epochs: a plain state machine |
//! | `errhandler` | error handlers of windows |
//! | `active` | fence, post, start, complete, wait |
//! | `passive` | locks and flushes |
//! | `checked`, `exposed`, `image` | what TERN_CHECK looks at: accesses that meet, epochs of start and post, stores of the program |
//! | `target` | checks of what a call wants of its target |
//! | `transfer` | put and get |
//! | `accumulate` | accumulate and its kin |
//! | `fast` | the short ways into them, and into locks and flushes |

mod accumulate;
mod active;
pub(crate) mod checked;
mod create;
pub(crate) mod epoch;
mod errhandler;
pub(crate) mod exposed;
pub(crate) mod fast;
mod hints;
mod image;
pub(crate) mod object;
mod passive;
mod query;
mod ranks;
pub(crate) mod target;
mod transfer;

pub use accumulate::{accumulate, compare_and_swap, fetch_and_op, get_accumulate, raccumulate, rget_accumulate};
pub use active::{win_complete, win_fence, win_post, win_start, win_test, win_wait};
pub use create::{win_allocate, win_allocate_shared, win_attach, win_create, win_create_dynamic, win_detach, win_free};
pub use errhandler::{win_call_errhandler, win_get_errhandler, win_set_errhandler};
pub use hints::{win_get_info, win_set_info};
pub use object::{Win, lookup, wins};
pub use passive::{
    win_flush, win_flush_all, win_flush_local, win_flush_local_all, win_lock, win_lock_all, win_sync, win_unlock,
    win_unlock_all,
};
pub use query::{
    win_delete_attr, win_get_attr, win_get_group, win_get_name, win_set_attr, win_set_name, win_shared_query,
};
pub use transfer::{get, put, rget, rput};
