//! The objects that handles name, and where they are kept.

use crate::guarded::Guarded;
use crate::handle::{Kind, Table};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::{Rc, Weak};
use tern_adi::Proc;
use tern_coll::Peers;

/// An ordered set of processes (MPI 5.0 section 7.2.1).
pub struct Group {
    /// Process of each rank.
    pub procs: Rc<[Proc]>,
    /// The session that it was derived from, if any (section 11.3).
    pub session: Option<Rc<Session>>,
    /// What those of other jobs are reached over.
    pub bridges: Vec<Rc<crate::process::bridge::Bridge>>,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.procs.fmt(f)
    }
}

impl Group {
    pub fn new(procs: Vec<Proc>) -> Rc<Group> {
        let bridges = crate::process::bridge::under(&procs);
        Rc::new(Group { procs: procs.into(), session: None, bridges })
    }
    /// A group derived from this one.
    pub fn derive(&self, procs: Vec<Proc>) -> Rc<Group> {
        let bridges = crate::process::bridge::under(&procs);
        Rc::new(Group { procs: procs.into(), session: self.session.clone(), bridges })
    }
    pub fn size(&self) -> i32 {
        self.procs.len() as i32
    }
    pub fn rank_of(&self, proc: Proc) -> Option<i32> {
        self.procs.iter().position(|&p| p == proc).map(|r| r as i32)
    }
}

/// A communicator (MPI 5.0 section 7.2.2).
pub struct Comm {
    pub handle: Cell<usize>,
    /// Context of point-to-point messages; collectives use `peers.context`.
    pub context: u32,
    /// The id that both contexts come from: free again when the communicator is dropped.
    pub id: crate::comm::context::ContextId,
    pub rank: i32,
    pub local: Rc<Group>,
    /// The remote group when this is an intercommunicator.
    pub remote: Option<Rc<Group>>,
    pub peers: Rc<Peers>,
    /// Collectives may take the short way: an intracommunicator on which no call was refused lately.
    pub quick: Cell<bool>,
    pub errhandler: RefCell<Rc<Errhandler>>,
    pub name: RefCell<String>,
    pub attributes: Attributes,
    pub info: RefCell<InfoMap>,
    /// Topology (MPI 5.0 chapter 8), if it has one.
    pub topology: RefCell<Option<Rc<crate::topology::Topology>>>,
    /// Buffer for buffered sends attached to this communicator (section 3.6).
    pub buffer: RefCell<Option<Rc<crate::p2p::buffered::Pool>>>,
    /// What matches its partitioned sends and receives (chapter 4).
    pub channels: crate::p2p::partitioned::Channels,
}

impl Comm {
    pub fn size(&self) -> i32 {
        self.local.size()
    }
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }
    /// The group that destinations and sources of messages are ranks in.
    pub fn target(&self) -> &Group {
        self.remote.as_ref().unwrap_or(&self.local)
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
    User(crate::op::UserFunction),
}

/// A reduction operation.
pub struct Operation {
    pub handle: Cell<usize>,
    pub operator: Operator,
    pub commutative: bool,
    pub predefined: bool,
}

/// What an error handler does.
#[derive(Clone, Debug)]
pub enum OnError {
    /// Ends all processes of the job.
    Fatal,
    /// Ends the processes of the communicator.
    Abort,
    Return,
    /// The user's function for communicators, windows, files or sessions; its C signature is
    /// `void (handle *, int *, ...)` in all of them.
    User(ErrhandlerKind, UserErrhandler),
    /// The same of another binary interface.
    Stated(ErrhandlerKind, StatedErrhandler, crate::stated::State),
}

/// `void (MPI_Comm *, int *, ...)`: called with two arguments.
pub type UserErrhandler = unsafe extern "C" fn(*mut usize, *mut i32, ...);

/// `void (void *state, handle *, int *)`
pub type StatedErrhandler = unsafe extern "C" fn(*mut std::ffi::c_void, *mut usize, *mut i32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrhandlerKind {
    Comm,
    Win,
    File,
    Session,
}

#[derive(Debug)]
pub struct Errhandler {
    pub handle: Cell<usize>,
    /// References that programs hold: MPI_Errhandler_free gives up one (MPI 5.0 section 9.3.4).
    pub references: Cell<u32>,
    pub action: OnError,
}

/// Keys and values of an info object, in the order of their first setting.
pub type InfoMap = Vec<(String, String)>;

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
    pub buffer: RefCell<Option<Rc<crate::p2p::buffered::Pool>>>,
}

/// Every object of this process, by handle; reached as [`objects`].
pub struct Objects {
    pub comms: RefCell<Table<Rc<Comm>>>,
    pub groups: RefCell<Table<Rc<Group>>>,
    pub datatypes: RefCell<Table<Rc<Datatype>>>,
    pub ops: RefCell<Table<Rc<Operation>>>,
    pub errhandlers: RefCell<Table<Rc<Errhandler>>>,
    pub infos: RefCell<Table<Rc<Info>>>,
    pub requests: RefCell<Table<crate::request::Request>>,
    pub messages: RefCell<Table<crate::request::Message>>,
    pub sessions: RefCell<Table<Rc<Session>>>,
    pub files: RefCell<Table<Rc<crate::file::File>>>,
    pub wins: RefCell<Table<Rc<crate::win::Win>>>,
    pub keyvals: RefCell<BTreeMap<i32, Rc<Keyval>>>,
    /// Keyvals that were freed: they go with the last attribute that has them.
    pub freed_keyvals: RefCell<BTreeMap<i32, Weak<Keyval>>>,
    /// MPI_COMM_WORLD, from initialisation to finalisation of the world model.
    pub world: RefCell<Option<Rc<Comm>>>,
    /// MPI_COMM_SELF, likewise.
    pub own: RefCell<Option<Rc<Comm>>>,
}

static OBJECTS: Guarded<Objects> = Guarded::new(Objects {
    comms: RefCell::new(Table::new(Kind::Comm)),
    groups: RefCell::new(Table::new(Kind::Group)),
    datatypes: RefCell::new(Table::new(Kind::Datatype)),
    ops: RefCell::new(Table::new(Kind::Op)),
    errhandlers: RefCell::new(Table::new(Kind::Errhandler)),
    infos: RefCell::new(Table::new(Kind::Info)),
    requests: RefCell::new(Table::new(Kind::Request)),
    messages: RefCell::new(Table::new(Kind::Message)),
    sessions: RefCell::new(Table::new(Kind::Session)),
    files: RefCell::new(Table::new(Kind::File)),
    wins: RefCell::new(Table::new(Kind::Win)),
    keyvals: RefCell::new(BTreeMap::new()),
    freed_keyvals: RefCell::new(BTreeMap::new()),
    world: RefCell::new(None),
    own: RefCell::new(None),
});

/// The objects of this process. The caller holds the library's lock.
#[inline]
pub fn objects() -> &'static Objects {
    OBJECTS.get()
}
