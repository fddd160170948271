//! The list of communicators that a debugger goes along in a stopped process ([`crate::debugger`]).

use crate::guarded::Guarded;
use std::cell::{Cell, OnceCell};
use std::mem::offset_of;
use std::ptr;
use tern_adi::{Places, Proc};

/// What there is to read of a communicator: it lies still, and names what else does.
#[repr(C)]
struct Record {
    next: Cell<*const Record>,
    previous: Cell<*const Record>,
    /// Contexts of its messages, and of its collectives.
    context: u32,
    collective: u32,
    /// The process's own rank.
    rank: i32,
    /// Processes that ranks of messages mean: of the remote group, if there is one.
    count: u32,
    procs: *const Proc,
    name: *const String,
}

/// The youngest one.
static FIRST: Guarded<Cell<*const Record>> = Guarded::new(Cell::new(ptr::null()));

/// A communicator's place in the list, once it has a handle.
#[derive(Default)]
pub struct Listed(OnceCell<Box<Record>>);

/// The record at `at`, if that is one.
fn record<'a>(at: *const Record) -> Option<&'a Record> {
    // SAFETY: the list has records that live: each leaves it when it is dropped, under the library's lock.
    unsafe { at.as_ref() }
}

/// A communicator as the list has it.
pub struct Entry<'a> {
    pub contexts: [u32; 2],
    pub rank: i32,
    pub procs: &'a [Proc],
    pub name: *const String,
}

impl Listed {
    /// Puts a communicator into the list, which it leaves when it is dropped. What the entry names lives as long.
    pub fn list(&self, entry: Entry) {
        if self.0.get().is_some() {
            return;
        }
        let [context, collective] = entry.contexts;
        let new: *const Record = &**self.0.get_or_init(|| {
            Box::new(Record {
                next: Cell::new(FIRST.get().get()),
                previous: Cell::default(),
                context,
                collective,
                rank: entry.rank,
                count: entry.procs.len() as u32,
                procs: entry.procs.as_ptr(),
                name: entry.name,
            })
        });
        if let Some(next) = record(FIRST.get().replace(new)) {
            next.previous.set(new);
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let Some(own) = self.0.get() else { return };
        let (next, previous) = (own.next.get(), own.previous.get());
        if let Some(next) = record(next) {
            next.previous.set(previous);
        }
        match record(previous) {
            Some(previous) => previous.next.set(next),
            None => FIRST.get().set(next),
        }
    }
}

/// Where the list is, and how its records lie.
pub fn put_places(places: &mut Places) {
    places.put_address("comms", FIRST.get());
    places.put_fields(
        "comm",
        &[
            ("next", offset_of!(Record, next)),
            ("context", offset_of!(Record, context)),
            ("collective", offset_of!(Record, collective)),
            ("rank", offset_of!(Record, rank)),
            ("count", offset_of!(Record, count)),
            ("procs", offset_of!(Record, procs)),
            ("name", offset_of!(Record, name)),
        ],
    );
    places.put_text("text");
}
