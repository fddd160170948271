//! Initialisation and finalisation (MPI 5.0 section 11.2), and memory for communication (section 10.2).

use crate::args::Out;
use crate::comm;
use crate::constants::*;
use crate::context::{self, ContextId};
use crate::errhandler;
use crate::error::{Error, Result, no_memory};
use crate::forked;
use crate::guarded::Guarded;
use crate::mode::{Mode, set_mode};
use crate::objects::{Comm, Group, Info, objects};
use crate::runtime::{Runtime, adi, install, installed, runtime};
use crate::stats;
use crate::undeliverable;
use std::alloc::GlobalAlloc;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, Ordering};
use tern_adi::{Adi, Rendezvous};
use tern_coll::Peers;
use tern_mcm::{AfterFork, Mcm};
use tern_settings::Explain;

/// Where the world model stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum World {
    Before,
    Up,
    After,
}

/// A [`World`]. A thread may ask by MPI_Initialized until another one has initialised MPI, and then call MPI.
static WORLD: AtomicU8 = AtomicU8::new(World::Before as u8);

fn world() -> World {
    // Acquire: pairs with the release in `set_world`.
    match WORLD.load(Ordering::Acquire) {
        stage if stage == World::Before as u8 => World::Before,
        stage if stage == World::Up as u8 => World::Up,
        _ => World::After,
    }
}

fn set_world(stage: World) {
    // Release: pairs with the acquire in `world`. What has been set up, or taken down, comes before.
    WORLD.store(stage as u8, Ordering::Release);
}

struct State {
    /// Initialisations that are not finalised: of the world, and sessions.
    users: Cell<u32>,
    level: Cell<i32>,
    main_thread: Cell<u64>,
}

static STATE: Guarded<State> =
    Guarded::new(State { users: Cell::new(0), level: Cell::new(MPI_THREAD_SINGLE), main_thread: Cell::new(0) });

/// Brings the runtime up for one more user: the world model, or a session.
pub fn acquire(level: i32) -> Result<()> {
    if installed().is_none() {
        install(start()?);
        crate::debugger::prepare(runtime());
        crate::reach::start();
        crate::stall::start();
        if crate::check::is_on() {
            adi().use_packets();
        }
        crate::process::parent::meet()?;
    } else if STATE.get().users.get() == 0 {
        runtime().hello();
        adi().mcm().returns();
        crate::fault::returns();
    }
    let state = STATE.get();
    state.users.set(state.users.get() + 1);
    if level == MPI_THREAD_MULTIPLE {
        tern_mcm::lock::enable();
    }
    set_mode(match tern_mcm::lock::enabled() {
        _ if crate::observe::is_wanted() => Mode::Observed,
        true => Mode::Multiple,
        false => Mode::Single,
    });
    Ok(())
}

/// Whether [`release`] takes MPI down.
pub fn is_last() -> bool {
    STATE.get().users.get() == 1
}

/// Gives up one use; the last one takes MPI down.
pub fn release() {
    let state = STATE.get();
    state.users.set(state.users.get() - 1);
    if state.users.get() == 0 {
        // Nothing of what was sent may depend on this process.
        settle();
        adi().mcm().ended();
        runtime().finalized();
        set_mode(Mode::Down);
    }
}

/// Bytes of memory that messages without a receive may always take.
const UNEXPECTED: u64 = 64 << 20;

/// Finds the job and joins its shared memory.
fn start() -> Result<Runtime> {
    crate::abort::report_panics();
    crate::lack::prepare();
    let job = tern_pmi::init().map_err(|e| Error::new(MPI_ERR_OTHER, e.to_string()))?;
    if !tern_settings::MODEL.get().is_empty() {
        let core = tern_node::affinity().first().map_or(0, |&core| core as u32);
        let joined = tern_atomics::join(tern_settings::MODEL.get(), job.rank, core);
        joined.map_err(|e| Error::new(MPI_ERR_OTHER, format!("TERN_MODEL: {e}")))?;
    }
    let mcm = Mcm::open(&job).map_err(|e| {
        use std::io::ErrorKind;
        let remedy = match e.kind() {
            ErrorKind::FileTooLarge => "; raise the limit on file sizes (ulimit -f)",
            _ => "",
        };
        let class = match e.kind() {
            ErrorKind::OutOfMemory | ErrorKind::StorageFull | ErrorKind::FileTooLarge => MPI_ERR_NO_MEM,
            _ => MPI_ERR_OTHER,
        };
        Error::new(class, format!("{e}{remedy}"))
    })?;
    let eager = tern_settings::EAGER_LIMIT.get().map(|bytes| bytes as usize);
    let adi = Adi::new(Rc::new(mcm), eager);
    match tern_settings::EXPLAIN.get() {
        Explain::Choices if job.rank == 0 && job.size > 1 => explain_collectives(&adi, job.size),
        explain if explain.is_used() => adi.note_ways(),
        _ => {}
    }
    adi.use_rendezvous(match tern_settings::RENDEZVOUS.get() {
        tern_settings::Rendezvous::Auto => Rendezvous::Auto,
        tern_settings::Rendezvous::Rget => Rendezvous::Rget,
        tern_settings::Rendezvous::Rput => Rendezvous::Rput,
        tern_settings::Rendezvous::Packets => Rendezvous::Packets,
    });
    match tern_settings::UNEXPECTED.get() {
        Some(bytes) => adi.cap_unexpected(bytes),
        None => {
            let takers = 2 * u64::from(job.machine_size.max(1));
            adi.cap_unexpected_by(UNEXPECTED, Box::new(move || tern_node::memory_free() / takers));
        }
    }
    tern_coll::tell_bound(&adi, job.local_size as usize);
    crate::p2p::lost::watch(&adi);
    adi.on_damage(crate::lost::end_by_damage);
    crate::fault::prepare(&adi);
    adi.on_undeliverable(undeliverable::tell);
    Ok(Runtime::new(adi, job))
}

/// Prints the ways of the collectives of all processes.
fn explain_collectives(adi: &Adi, size: u32) {
    let world: Rc<[u32]> = (0..size).collect();
    let crowded = adi.mcm().crowds(&world);
    let context = ContextId::predefined(context::WORLD).collective();
    let text = Peers::new(context, adi.me(), world, None, 0).with_crowd(crowded).explain(adi);
    // Nobody can be told when the standard error itself fails.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
}

/// MPI_Init
pub fn init() -> Result<()> {
    bring_up(MPI_THREAD_SINGLE).map(|_| ())
}

/// MPI_Init_thread
pub fn init_thread(required: i32, provided: Out<i32>) -> Result<()> {
    provided.set(bring_up(required)?);
    Ok(())
}

fn bring_up(required: i32) -> Result<i32> {
    forked::check()?;
    match world() {
        World::Before => {}
        World::Up => return err!(MPI_ERR_OTHER, "MPI is initialised already"),
        World::After => {
            return err!(MPI_ERR_OTHER, "MPI was finalised and cannot be initialised again; sessions can");
        }
    }
    let level = required.clamp(MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE);
    acquire(level)?;
    let state = STATE.get();
    state.level.set(level);
    state.main_thread.set(thread());
    let world = Group::new((0..runtime().world_size).collect());
    let own = Group::new(vec![runtime().me]);
    comm::install(
        Comm::predefined(MPI_COMM_WORLD, context::WORLD, world, "MPI_COMM_WORLD", errhandler::initial()),
        Comm::predefined(MPI_COMM_SELF, context::OWN, own, "MPI_COMM_SELF", errhandler::initial()),
    );
    crate::python::watch();
    set_world(World::Up);
    tern_atomics::begin();
    Ok(level)
}

fn thread() -> u64 {
    rustix::thread::gettid().as_raw_nonzero().get() as u64
}

/// MPI_Finalize: what is under way with other processes ends first.
pub fn finalize() -> Result<()> {
    match world() {
        World::Up => {}
        _ => return err!(MPI_ERR_OTHER, "MPI is not initialised, or finalised already"),
    }
    let own = objects().own.borrow().clone().expect("MPI_COMM_SELF exists");
    // Attributes of MPI_COMM_SELF go first, while MPI still works (section 11.2.4).
    crate::attribute::delete_all(&own.attributes, MPI_COMM_SELF)?;
    let world = objects().world.borrow().clone().expect("MPI_COMM_WORLD exists");
    crate::attribute::delete_all(&world.attributes, MPI_COMM_WORLD)?;
    if crate::python::is_leaving() {
        crate::stall::observe();
    }
    crate::p2p::buffered::flush_all();
    crate::check::meet(&world)?;
    quiesce(&world);
    crate::bridge::end();
    tern_atomics::end();
    let failed = undeliverable::fail_last_call("MPI_Finalize", undeliverable::scope);
    crate::tool::hand_on();
    crate::leaks::report();
    comm::uninstall();
    set_world(World::After);
    release();
    failed.map_or(Ok(()), Err)
}

/// All processes have come, and all that this one has sent is with them. Where the job goes on without lost processes, the living have agreed
/// on that: a collective would wait for those that have ended since.
fn quiesce(world: &Rc<Comm>) {
    let counted = stats::wanted();
    let explains = tern_settings::EXPLAIN.get().is_used();
    let (all_count, all_explain) = match crate::lost::is_survived() {
        true => {
            let wish = counted.is_some() || explains;
            let all_wish = crate::fault::leave(world, is_last(), wish);
            (all_wish && stats::meet(world, counted.is_some()), all_wish && explains)
        }
        false => (stats::meet(world, counted.is_some()), explains),
    };
    if let (true, Some(counted)) = (all_count, counted) {
        stats::print(world, counted);
    }
    if all_explain {
        crate::used::print(world);
    }
    adi().wait_until(&mut || adi().is_flushed());
    settle();
}

/// All that this process has sent has left it. What could not, and to whom, is told.
pub fn settle() {
    // What goes to peers that have left is of no concern.
    adi().mcm().settle(!crate::fault::has_left(), &|| _ = adi().progress());
    adi().progress();
}

/// MPI_Initialized
pub fn initialized(flag: Out<i32>) -> Result<()> {
    flag.set((world() != World::Before || forked::is_child()) as i32);
    Ok(())
}

/// MPI_Finalized
pub fn finalized(flag: Out<i32>) -> Result<()> {
    flag.set((world() == World::After || forked::is_child()) as i32);
    Ok(())
}

/// MPI_Query_thread
pub fn query_thread(provided: Out<i32>) -> Result<()> {
    provided.set(STATE.get().level.get());
    Ok(())
}

/// MPI_Is_thread_main
pub fn is_thread_main(flag: Out<i32>) -> Result<()> {
    flag.set((STATE.get().main_thread.get() == thread()) as i32);
    Ok(())
}

/// MPI_Abort (section 11.4.2). Where the job goes on without lost processes, one that aborts a communicator of its own alone ends alone.
pub fn abort(comm: Rc<Comm>, errorcode: i32) -> Result<()> {
    let text = format!("called MPI_Abort on {} with code {errorcode}", comm.label());
    let is_alone = comm.remote.is_none() && comm.local.procs.len() == 1;
    if is_alone && crate::lost::is_survived() {
        crate::abort::abort_alone(errorcode, &text);
    }
    crate::abort::abort(errorcode, &text)
}

const ALIGNMENT: usize = 4096;

/// MPI_Alloc_mem: memory that all processes of the node reach, or else private memory on pages of its
/// own, with the size in front. The child of a fork has a copy of its own of either.
pub fn alloc_mem(size: i64, _info: Option<Rc<Info>>, baseptr: Out<usize>) -> Result<()> {
    if size < 0 {
        return err!(MPI_ERR_ARG, "size {size} is negative");
    }
    if let Some(direct) = adi().mcm().direct()
        && let Some(shared) = direct.allocate(size as usize, AfterFork::Copied)
    {
        baseptr.set(shared as usize);
        return Ok(());
    }
    let total = size as usize + ALIGNMENT;
    let layout = std::alloc::Layout::from_size_align(total, ALIGNMENT)
        .map_err(|_| Error::new(MPI_ERR_NO_MEM, format!("no memory can hold {size} bytes")).advise("check the size"))?;
    let base = tern_memory::raw(layout, false);
    let base = base.map_err(|lack| no_memory(&format!("the {size} bytes that are asked for"), lack))?;
    // SAFETY: the first page is ours.
    unsafe { base.cast::<usize>().write(total) };
    baseptr.set(base as usize + ALIGNMENT);
    Ok(())
}

/// MPI_Free_mem
pub fn free_mem(base: *mut u8) -> Result<()> {
    if base.is_null() {
        return Ok(());
    }
    // SAFETY: the program uses it no more (MPI's own rule).
    if adi().mcm().direct().is_some_and(|direct| unsafe { direct.free(base) }) {
        return Ok(());
    }
    let start = base.wrapping_sub(ALIGNMENT);
    // SAFETY: the program gives an address that `alloc_mem` gave (MPI's own rule); the page in
    // front of it holds the size.
    unsafe {
        let total = start.cast::<usize>().read();
        std::alloc::System.dealloc(start, std::alloc::Layout::from_size_align_unchecked(total, ALIGNMENT));
    }
    Ok(())
}
