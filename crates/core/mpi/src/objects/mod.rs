//! The objects that handles name, and where they are kept.

pub mod channels;
pub mod comm;
pub mod listed;
pub mod pool;
pub mod topology;
pub mod user_function;

use crate::bridge::{self, Bridge};
use crate::guarded::Guarded;
use crate::handle::{Kind, Table};
use crate::info_map::InfoMap;
use crate::scope::Errhandler;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::{Rc, Weak};
use tern_adi::Proc;

pub use channels::Channels;
pub use comm::Comm;
pub use pool::Pool;
pub use topology::Topology;
pub use user_function::UserFunction;

/// An ordered set of processes (MPI 5.0 section 7.2.1).
pub struct Group {
    /// Process of each rank.
    pub procs: Rc<[Proc]>,
    /// The session that it was derived from, if any (section 11.3).
    pub session: Option<Rc<Session>>,
    /// What those of other jobs are reached over.
    pub bridges: Vec<Rc<Bridge>>,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.procs.fmt(f)
    }
}

impl Group {
    pub fn new(procs: Vec<Proc>) -> Rc<Group> {
        let bridges = bridge::under(&procs);
        Rc::new(Group { procs: procs.into(), session: None, bridges })
    }
    /// A group derived from this one.
    pub fn derive(&self, procs: Vec<Proc>) -> Rc<Group> {
        let bridges = bridge::under(&procs);
        Rc::new(Group { procs: procs.into(), session: self.session.clone(), bridges })
    }
    pub fn size(&self) -> i32 {
        self.procs.len() as i32
    }
    pub fn rank_of(&self, proc: Proc) -> Option<i32> {
        self.procs.iter().position(|&p| p == proc).map(|r| r as i32)
    }
}

/// A datatype: its layout, with what programs attach to it.
pub struct Datatype {
    pub handle: Cell<usize>,
    pub layout: Rc<tern_layout::Type>,
    pub committed: Cell<bool>,
    /// True for predefined ones, which cannot be freed.
    pub predefined: bool,
    /// How it was made, with the children that MPI_Type_get_contents hands out.
    pub contents: Contents,
    pub name: RefCell<String>,
    pub attributes: Attributes,
}

/// Arguments of the constructor call, as MPI_Type_get_contents returns them.
#[derive(Default, Clone)]
pub struct Contents {
    /// `MPI_COMBINER_…`
    pub combiner: i32,
    /// Integer arguments (counts of the `int` form of the constructor).
    pub integers: Vec<i64>,
    pub addresses: Vec<i64>,
    /// Counts of a constructor called in its large-count form.
    pub large_counts: Vec<i64>,
    pub datatypes: Vec<Rc<Datatype>>,
}

/// What an operation does to a pair of elements.
#[derive(Clone, Debug)]
pub enum Operator {
    Predefined(tern_coll::ops::Op),
    User(UserFunction),
}

/// A reduction operation.
pub struct Operation {
    pub handle: Cell<usize>,
    pub operator: Operator,
    pub commutative: bool,
    pub predefined: bool,
}

pub struct Info {
    pub handle: Cell<usize>,
    pub map: RefCell<InfoMap>,
}

/// Attribute values with their keyvals, in the order of setting (MPI 5.0 section 7.7). What
/// works on them is in [`crate::attribute`]; callbacks run without a borrow.
#[derive(Default)]
pub struct Attributes {
    pub values: RefCell<Vec<(Rc<Keyval>, *mut c_void)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyvalKind {
    Comm,
    Type,
    Win,
}

/// `int copy(object, keyval, extra_state, value_in, void *value_out, int *flag)`
pub type CopyFunction = unsafe extern "C" fn(usize, i32, *mut c_void, *mut c_void, *mut c_void, *mut i32) -> i32;
/// `int delete(object, keyval, value, extra_state)`
pub type DeleteFunction = unsafe extern "C" fn(usize, i32, *mut c_void, *mut c_void) -> i32;

#[derive(Debug)]
pub struct Keyval {
    pub id: i32,
    pub kind: KeyvalKind,
    pub copy: KeyvalCopy,
    pub delete: Option<DeleteFunction>,
    pub extra_state: *mut c_void,
}

#[derive(Clone, Copy, Debug)]
pub enum KeyvalCopy {
    /// MPI_COMM_NULL_COPY_FN
    Never,
    /// MPI_COMM_DUP_FN
    Always,
    User(CopyFunction),
}

/// A session (MPI 5.0 section 11.3).
pub struct Session {
    pub handle: Cell<usize>,
    pub errhandler: RefCell<Rc<Errhandler>>,
    pub info: RefCell<InfoMap>,
    pub thread_level: i32,
    /// Buffer for buffered sends in communicators derived from it (section 3.6).
    pub buffer: RefCell<Option<Rc<Pool>>>,
}

/// The objects of this process, by handle; reached as [`objects`]. Requests, files and windows, which are made of these, are kept by
/// their own modules.
pub struct Objects {
    pub comms: RefCell<Table<Rc<Comm>>>,
    pub groups: RefCell<Table<Rc<Group>>>,
    pub datatypes: RefCell<Table<Rc<Datatype>>>,
    pub ops: RefCell<Table<Rc<Operation>>>,
    pub errhandlers: RefCell<Table<Rc<Errhandler>>>,
    pub infos: RefCell<Table<Rc<Info>>>,
    pub sessions: RefCell<Table<Rc<Session>>>,
    pub keyvals: RefCell<BTreeMap<i32, Rc<Keyval>>>,
    /// Keyvals that were freed: they go with the last attribute that has them.
    pub freed_keyvals: RefCell<BTreeMap<i32, Weak<Keyval>>>,
    /// MPI_COMM_WORLD, from initialisation to finalisation of the world model.
    pub world: RefCell<Option<Rc<Comm>>>,
    /// MPI_COMM_SELF, likewise.
    pub own: RefCell<Option<Rc<Comm>>>,
    /// The intercommunicator with the processes that spawned this one, until it is freed.
    pub parent: RefCell<Weak<Comm>>,
}

static OBJECTS: Guarded<Objects> = Guarded::new(Objects {
    comms: RefCell::new(Table::new(Kind::Comm)),
    groups: RefCell::new(Table::new(Kind::Group)),
    datatypes: RefCell::new(Table::new(Kind::Datatype)),
    ops: RefCell::new(Table::new(Kind::Op)),
    errhandlers: RefCell::new(Table::new(Kind::Errhandler)),
    infos: RefCell::new(Table::new(Kind::Info)),
    sessions: RefCell::new(Table::new(Kind::Session)),
    keyvals: RefCell::new(BTreeMap::new()),
    freed_keyvals: RefCell::new(BTreeMap::new()),
    world: RefCell::new(None),
    own: RefCell::new(None),
    parent: RefCell::new(Weak::new()),
});

/// The objects of this process. The caller holds the library's lock.
#[inline]
pub fn objects() -> &'static Objects {
    OBJECTS.get()
}
