//! What the MPI standard defines: communicators, groups, datatypes, requests, operations, windows and files.
//!
//! Below this crate the engine (`tern_adi`) moves messages between processes, `tern_coll` makes schedules of collectives, `tern_rma`
//! accesses windows and `tern_io` files. Those crates know processes and layouts, and no handles. This crate knows handles, checks
//! arguments, and turns a call of MPI into calls of the crates below. The C entry points (`tern_abi`) convert the arguments of one
//! binary interface, call the function of [`api`] with the same name, and give an error to [`errhandler::raise`].
//!
//! # Layers
//!
//! A module names modules below it only. A test finds circles (`crates/tools/bench/tests/circles/main.rs`).
//!
//! ```text
//!  api  enter  fast                                 what the entry points call
//!  session  init  leaks  environment  tool  stats   MPI comes up and goes down; what users and tools are told
//! ─────────────────────────────────────────────────────────────────────────────────────────────────────
//!  win  file  topology  process                     calls of one chapter of the standard each
//!  comm                                             making, copying and freeing communicators
//!  p2p  collective  meeting                         messages; collectives; jobs that come to know each other
//! ─────────────────────────────────────────────────────────────────────────────────────────────────────
//!  check  errhandler  stall                         mistakes of the program; errors; what a process waits for
//!  request  op  datatype  buffer  group  info  ...  what can be done with an object of one kind
//!  objects                                          what handles name: Comm, Group, Datatype, Operation, Info
//! ─────────────────────────────────────────────────────────────────────────────────────────────────────
//!  context  exchange  bridge                        agreements of processes that have no communicator yet
//!  runtime  task  identity  lost  abort  forked     this process while MPI is up, and its children
//!  error  args  handle                              errors; arguments as addresses; tables of handles
//!  scope  mode  observe  constants  ...             plain values and flags
//! ```
//!
//! - **Objects.** [`objects`] holds the types that refer to each other: a communicator has groups, a topology, an attached buffer and
//!   an error handler. The types have data there, and no calls of MPI. Requests, windows and files are made of these types, and their
//!   modules keep their tables.
//! - **Errors.** Every call returns [`error::Result`]. An error may say which object is in charge of it ([`scope::Scope`]). An object is
//!   only known there as [`scope::InCharge`]: so errors lie below all objects. [`errhandler::raise`] asks the object for its handler.
//! - **Requests.** [`request`] knows a transfer of the engine and *work*: closures that say whether it is over, and how it ended. So a
//!   request of a collective, a file or a window needs no variant of its own, and `request` names none of those.
//! - **Waiting inside a call.** What needs several steps of several processes is an `async` function over an
//!   [`exchange::Circle`]. [`task`] runs it: to its end for a blocking call, and with the progress of the engine for a nonblocking one.
//!
//! # The short way
//!
//! The entry points of the calls that programs make most ask [`fast`] first. It serves a call that is ordinary in every respect, and
//! declines every other one before anything has happened. The general way follows then:
//!
//! ```text
//!  MPI_Send ──► fast::send ──► engine                         dense type, known communicator, rank in range
//!                  │ declined
//!                  ▼
//!              enter ──► convert arguments ──► api::send ──► engine
//!                                                  │ error
//!                                                  ▼
//!                                           errhandler::raise ──► handler of the communicator
//! ```
//!
//! All state is behind the library's lock ([`guarded`]), which is taken only at MPI_THREAD_MULTIPLE ([`mode`], [`enter`](mod@enter)).

// The functions of `api` take the addresses that a C program gave, which MPI trusts as C does;
// marking each of them unsafe would tell the one caller, the generated entry points, nothing.
#![allow(clippy::not_unsafe_ptr_arg_deref)]

#[macro_use]
pub mod error;

pub mod abi_info;
pub mod abort;
pub mod advice;
pub mod api;
pub mod args;
pub mod attribute;
mod awaits;
pub mod bridge;
pub mod buffer;
pub mod check;
pub mod collective;
pub mod comm;
pub mod constants;
pub mod context;
pub mod datatype;
mod debugger;
pub mod enter;
pub mod environment;
pub mod errhandler;
pub mod errorcode;
pub mod exchange;
pub mod fast;
pub mod fault;
pub mod file;
pub mod forked;
pub mod group;
pub mod guarded;
pub mod handle;
pub mod identity;
pub mod info;
pub mod info_map;
pub mod init;
pub mod lack;
pub mod last_error;
mod leaks;
mod lost;
pub mod meeting;
pub mod memory_kinds;
pub mod mode;
mod noted;
pub mod objects;
pub mod observe;
pub mod op;
pub mod p2p;
pub mod process;
mod python;
mod reach;
pub mod request;
pub mod runtime;
pub mod scope;
pub mod session;
pub mod stall;
pub mod stated;
pub mod stats;
pub mod task;
pub mod tool;
pub mod topology;
mod undeliverable;
mod underway;
mod used;
pub mod win;

pub use enter::{enter, enter_any_time};
