//! Error handlers (MPI 5.0 section 9.3), and what happens to an error.

use crate::advice;
use crate::args::Out;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::errorcode::{class_of, full_text_of, name_of, text_of};
use crate::forked;
use crate::guarded::Guarded;
use crate::last_error::remember;
use crate::objects::{Comm, Session, objects};
use crate::scope::{Errhandler, ErrhandlerKind, InCharge, OnError, Scope, StatedErrhandler, UserErrhandler};
use crate::stated::State;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use tern_settings::{ErrorHandler, INITIAL_ERRHANDLER};

/// The error handler that `handle` names, or MPI_ERR_ERRHANDLER.
pub fn lookup(handle: usize) -> Result<Rc<Errhandler>> {
    if let MPI_ERRORS_ARE_FATAL..=MPI_ERRORS_RETURN = handle {
        return Ok(predefined(handle));
    }
    if let Some(errhandler) = objects().errhandlers.borrow().get(handle) {
        return Ok(errhandler.clone());
    }
    if handle == MPI_ERRHANDLER_NULL {
        return err!(MPI_ERR_ERRHANDLER, "the error handler is MPI_ERRHANDLER_NULL");
    }
    err!(MPI_ERR_ERRHANDLER, "{handle:#x} is not an error handler: it was freed, or never made")
}

/// The handler named MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT or MPI_ERRORS_RETURN.
pub fn predefined(handle: usize) -> Rc<Errhandler> {
    static ALL: Guarded<OnceCell<[Rc<Errhandler>; 3]>> = Guarded::new(OnceCell::new());
    let new = |handle, action| Rc::new(Errhandler { handle: Cell::new(handle), references: Cell::new(1), action });
    let all = ALL.get().get_or_init(|| {
        [
            new(MPI_ERRORS_ARE_FATAL, OnError::Fatal),
            new(MPI_ERRORS_ABORT, OnError::Abort),
            new(MPI_ERRORS_RETURN, OnError::Return),
        ]
    });
    all[handle - MPI_ERRORS_ARE_FATAL].clone()
}

static NO_FILE: Guarded<RefCell<Option<Rc<Errhandler>>>> = Guarded::new(RefCell::new(None));

/// The error handler of MPI_FILE_NULL: MPI_ERRORS_RETURN until the program sets another one.
pub fn default_errhandler() -> Rc<Errhandler> {
    NO_FILE.get().borrow().clone().unwrap_or_else(|| predefined(MPI_ERRORS_RETURN))
}

/// Sets the error handler of MPI_FILE_NULL.
pub fn set_default(errhandler: Rc<Errhandler>) {
    NO_FILE.get().replace(Some(errhandler));
}

/// The initial error handler (section 9.3), as mpiexec or the info key `mpi_initial_errhandler` of those that spawned this
/// process has set it.
pub fn initial() -> Rc<Errhandler> {
    // Errors may come before MPI is initialised.
    tern_settings::load();
    predefined(match INITIAL_ERRHANDLER.get() {
        ErrorHandler::Fatal => MPI_ERRORS_ARE_FATAL,
        ErrorHandler::Abort => MPI_ERRORS_ABORT,
        ErrorHandler::Return => MPI_ERRORS_RETURN,
    })
}

impl InCharge for Session {
    fn handle(&self) -> usize {
        self.handle.get()
    }

    fn errhandler(&self) -> Rc<Errhandler> {
        self.errhandler.borrow().clone()
    }
}

/// An object that was not made: the error handler that it would have had takes the errors of the call (sections 7.4.2 and 11.3.1).
struct Unmade {
    null: usize,
    errhandler: Rc<Errhandler>,
}

impl InCharge for Unmade {
    fn handle(&self) -> usize {
        self.null
    }

    fn errhandler(&self) -> Rc<Errhandler> {
        self.errhandler.clone()
    }
}

/// The scope of a call that makes an object of some kind, and got the handle of the object's error handler. A handler that
/// is not valid, or is for another kind of object, takes no error.
#[cold]
pub fn of_unmade(errhandler: usize, kind: ErrhandlerKind) -> Scope {
    let null = if kind == ErrhandlerKind::Session { MPI_SESSION_NULL } else { MPI_COMM_NULL };
    match lookup(errhandler) {
        Ok(errhandler) if errhandler.check_kind(kind).is_ok() => Scope::of(Rc::new(Unmade { null, errhandler })),
        _ => Scope::None,
    }
}

impl Errhandler {
    fn is_predefined(&self) -> bool {
        !matches!(self.action, OnError::User(..) | OnError::Stated(..))
    }

    /// A handle for the program: one more reference.
    pub(crate) fn hand_out(self: &Rc<Errhandler>) -> usize {
        if !self.is_predefined() {
            let references = self.references.get();
            if references == 0 {
                // The program gave up all it had, but an object still uses the handler.
                let put = |handle| {
                    self.handle.set(handle);
                    self.clone()
                };
                objects().errhandlers.borrow_mut().insert_with(put);
            }
            self.references.set(references + 1);
        }
        self.handle.get()
    }

    /// Whether an error ends the job.
    pub fn ends_the_job(&self) -> bool {
        matches!(self.action, OnError::Fatal | OnError::Abort)
    }

    /// Fails when this is a function for another kind of object.
    pub fn check_kind(&self, kind: ErrhandlerKind) -> Result<()> {
        match self.action {
            OnError::User(own, _) | OnError::Stated(own, ..) if own != kind => {
                err!(MPI_ERR_ERRHANDLER, "the error handler was made for a {own:?} and cannot be used for a {kind:?}")
            }
            _ => Ok(()),
        }
    }
}

/// Hands an error to its error handler. Returns the code that the MPI call returns; does not
/// return when the handler ends the program. `function` is the name of the call (`MPI_Send`).
/// The caller holds no borrow: a handler of the program's may call MPI.
pub fn raise(scope: Scope, function: &str, error: Box<Error>) -> i32 {
    let scope = match &error.scope {
        Scope::None => scope,
        of => of.clone(),
    };
    if let Scope::Object(object) = &scope
        && !error.begun
    {
        object.refused(function);
    }
    remember(function, &error);
    let code = hand_over(&scope, function, &error);
    // A handler of the program's may have called MPI, and failed.
    remember(function, &error);
    code
}

/// The program hands an error code to the error handler in charge, as MPI_Comm_call_errhandler does. The code may be that of the thread's
/// last failed call: what is known of that stays.
pub fn report(scope: Scope, function: &str, code: i32) {
    hand_over(&scope, function, &called(code));
}

fn hand_over(scope: &Scope, function: &str, error: &Error) -> i32 {
    match scope {
        Scope::Object(object) => invoke(&object.errhandler(), object.handle(), scope, function, error),
        Scope::NoFile => invoke(&default_errhandler(), MPI_FILE_NULL, scope, function, error),
        Scope::None => {
            let own = objects().own.borrow().clone();
            match own {
                Some(own) => {
                    let handler = own.errhandler.borrow().clone();
                    invoke(&handler, own.handle.get(), scope, function, error)
                }
                None => match initial().action {
                    OnError::Return => error.code,
                    OnError::Abort => die(scope, function, error, "MPI_ERRORS_ABORT (MPI is not initialised)"),
                    _ => die(scope, function, error, "MPI_ERRORS_ARE_FATAL (MPI is not initialised)"),
                },
            }
        }
    }
}

/// [`raise`] before the call has done all that it must. Gives the error with which it returns then: no handler is called once more for
/// it, and its code is what the handler has made of it.
pub fn raise_now(scope: Scope, function: &str, error: Box<Error>) -> Box<Error> {
    let code = raise(scope, function, error.clone());
    let told = Unmade { null: MPI_COMM_NULL, errhandler: predefined(MPI_ERRORS_RETURN) };
    Box::new(Error { code, scope: Scope::of(Rc::new(told)), ..*error })
}

/// The code that the call returns: a function of the program's may have changed it.
fn invoke(handler: &Errhandler, mut object: usize, scope: &Scope, function: &str, error: &Error) -> i32 {
    match &handler.action {
        OnError::Return => error.code,
        // A function of the program's may call MPI, and fail again.
        OnError::User(..) | OnError::Stated(..) if forked::is_child() => die(scope, function, error, ""),
        OnError::Fatal => die(scope, function, error, "MPI_ERRORS_ARE_FATAL"),
        OnError::Abort => die(scope, function, error, "MPI_ERRORS_ABORT"),
        // SAFETY: a function of the program's, called as section 9.3.1 says.
        OnError::User(_, call) => ask(error, |code| unsafe { call(&mut object, code) }),
        // SAFETY: as above; the state lives as long as the handler, which the caller holds.
        OnError::Stated(_, call, state) => ask(error, |code| unsafe { call(state.pointer(), &mut object, code) }),
    }
}

/// Calls a function of the program's with the code of the error; in place of MPI_ERR_IN_STATUS it gets that of the first request that has failed
/// (section 9.3.1). Gives the code that the call returns: what the function has put there, or the call's own.
fn ask(error: &Error, call: impl FnOnce(&mut i32)) -> i32 {
    let given = error.in_statuses.first().map_or(error.code, |(code, _)| *code);
    let mut code = given;
    call(&mut code);
    if code == given { error.code } else { code }
}

/// Says what failed where, and what to try, and ends the job.
fn die(scope: &Scope, function: &str, error: &Error, handler: &str) -> ! {
    let class = class_of(error.code);
    let exit_code = if (1..=255).contains(&class) { class } else { 1 };
    if forked::is_child() {
        forked::end(exit_code, &forked::told(function, error));
    }
    // A code of the program's has a text of its own.
    let meaning = text_of(error.code).filter(|t| !t.is_empty()).unwrap_or_else(|| name_of(class));
    let place = place(scope);
    let mut text = format!("{function} failed{place}: {}\n  {meaning}\n", error.message);
    if let Some(advice) = advice::of(error, class) {
        text.push_str(&format!("  What to try: {advice}\n"));
    }
    let whose = match scope {
        Scope::None if objects().own.borrow().is_some() => {
            " of MPI_COMM_SELF, which is in charge of calls without a communicator, window or file,"
        }
        _ => "",
    };
    text.push_str(&format!("  The error handler{whose} is {handler}: the job ends."));
    if class == MPI_ERR_PROC_ABORTED {
        // The launcher sees how that process has ended, and tells it better, unless it was only the connection.
        std::thread::sleep(CAUSE);
    }
    crate::abort::abort(exit_code, &text)
}

/// How long the news of a process's end may take to the launcher.
pub const CAUSE: std::time::Duration = std::time::Duration::from_millis(300);

/// Where the call was made, as " in rank 2 of MPI_COMM_WORLD (size 4)".
fn place(scope: &Scope) -> String {
    let own = crate::runtime::installed().map(|r| (r.me, r.world_size));
    let (object, place) = match scope {
        Scope::Object(object) => (object.handle(), object.place()),
        Scope::None | Scope::NoFile => (0, None),
    };
    let Some(mut text) = place else {
        return own.map_or_else(String::new, |(me, world)| format!(" in rank {me} of MPI_COMM_WORLD (size {world})"));
    };
    if let Some((me, world)) = own.filter(|_| object != MPI_COMM_WORLD) {
        text.push_str(&format!(", rank {me} of {world} of MPI_COMM_WORLD"));
    }
    text
}

fn create(kind: ErrhandlerKind, function: usize, errhandler: Out<usize>) -> Result<()> {
    if function == 0 {
        return err!(MPI_ERR_ARG, "the error handling function is a null pointer");
    }
    // SAFETY: the program gives the address of a function of this type.
    let function = unsafe { std::mem::transmute::<usize, UserErrhandler>(function) };
    make(OnError::User(kind, function), errhandler)
}

/// An error handler of another binary interface: `call` gets `state` with each error.
pub fn create_stated(kind: ErrhandlerKind, call: StatedErrhandler, state: State, errhandler: Out<usize>) -> Result<()> {
    make(OnError::Stated(kind, call, state), errhandler)
}

fn make(action: OnError, errhandler: Out<usize>) -> Result<()> {
    let new = |handle| Rc::new(Errhandler { handle: Cell::new(handle), references: Cell::new(1), action });
    errhandler.set(objects().errhandlers.borrow_mut().insert_with(new));
    Ok(())
}

pub(crate) fn set(place: &RefCell<Rc<Errhandler>>, kind: ErrhandlerKind, errhandler: Rc<Errhandler>) -> Result<()> {
    errhandler.check_kind(kind)?;
    *place.borrow_mut() = errhandler;
    Ok(())
}

fn called(code: i32) -> Box<Error> {
    let text = full_text_of(code).filter(|t| !t.is_empty()).unwrap_or_else(|| name_of(code));
    Error::from_code(code, format!("the program reports {text}"))
}

/// MPI_Comm_create_errhandler
pub fn comm_create_errhandler(function: usize, errhandler: Out<usize>) -> Result<()> {
    create(ErrhandlerKind::Comm, function, errhandler)
}

/// MPI_Comm_set_errhandler
pub fn comm_set_errhandler(comm: Rc<Comm>, errhandler: Rc<Errhandler>) -> Result<()> {
    set(&comm.errhandler, ErrhandlerKind::Comm, errhandler)
}

/// MPI_Comm_get_errhandler
pub fn comm_get_errhandler(comm: Rc<Comm>, errhandler: Out<usize>) -> Result<()> {
    errhandler.set(comm.errhandler.borrow().hand_out());
    Ok(())
}

/// MPI_Comm_call_errhandler: returns MPI_SUCCESS when the handler returns (section 9.3.5).
pub fn comm_call_errhandler(comm: Rc<Comm>, errorcode: i32) -> Result<()> {
    report(Scope::of(comm), "MPI_Comm_call_errhandler", errorcode);
    Ok(())
}

/// MPI_Session_create_errhandler
pub fn session_create_errhandler(function: usize, errhandler: Out<usize>) -> Result<()> {
    create(ErrhandlerKind::Session, function, errhandler)
}

/// MPI_Session_set_errhandler
pub fn session_set_errhandler(session: Rc<Session>, errhandler: Rc<Errhandler>) -> Result<()> {
    set(&session.errhandler, ErrhandlerKind::Session, errhandler)
}

/// MPI_Session_get_errhandler
pub fn session_get_errhandler(session: Rc<Session>, errhandler: Out<usize>) -> Result<()> {
    errhandler.set(session.errhandler.borrow().hand_out());
    Ok(())
}

/// MPI_Session_call_errhandler
pub fn session_call_errhandler(session: Rc<Session>, errorcode: i32) -> Result<()> {
    report(Scope::of(session), "MPI_Session_call_errhandler", errorcode);
    Ok(())
}

/// MPI_Win_create_errhandler
pub fn win_create_errhandler(function: usize, errhandler: Out<usize>) -> Result<()> {
    create(ErrhandlerKind::Win, function, errhandler)
}

/// MPI_File_create_errhandler
pub fn file_create_errhandler(function: usize, errhandler: Out<usize>) -> Result<()> {
    create(ErrhandlerKind::File, function, errhandler)
}

/// MPI_Errhandler_free: gives up the program's reference. Objects that have the handler keep it.
pub fn errhandler_free(errhandler: Out<usize>) -> Result<()> {
    let handler = lookup(errhandler.get())?;
    if !handler.is_predefined() {
        handler.references.set(handler.references.get() - 1);
        if handler.references.get() == 0 {
            objects().errhandlers.borrow_mut().remove(errhandler.get());
        }
    }
    errhandler.set(MPI_ERRHANDLER_NULL);
    Ok(())
}
