//! Processes of a test: a thread each, with an engine of its own over one segment of shared memory, or over a network.

#![allow(dead_code, reason = "not every test program uses all of it")]

pub mod missing;

use missing::Missing;
use rustix::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tern_adi::{Adi, Data};
use tern_coll::Peers;
use tern_device::Channel;
use tern_layout::Type;
use tern_mcm::{Mcm, Patience};
use tern_rma::{Error, Exposure, Started, Window};
use tern_settings::Mechanism;
use tern_shm::Shm;
use tern_verbs::{Endpoint, Settings};

/// How bytes move, each in turn.
pub const MECHANISMS: [Mechanism; 3] = [Mechanism::Auto, Mechanism::Cma, Mechanism::Pipe];

/// One process.
pub struct Process<'a> {
    pub adi: &'static Adi,
    pub rank: u32,
    pub size: u32,
    turn: &'a AtomicUsize,
    windows: std::cell::Cell<u32>,
}

/// What the window of a test is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Allocated,
    Contiguous,
    Separate,
    /// MPI_Win_create over private memory, and over memory that is shared.
    Private,
    Common,
    /// Attached memory.
    DynamicPrivate,
    DynamicCommon,
    /// As if the members were on several nodes: allocated, and attached.
    Apart,
    DynamicApart,
    /// On several nodes, served by the network card: allocated, the program's, and attached.
    Card,
    PrivateCard,
    DynamicCard,
    /// Private, where the kernel misses some of it at some times: the program's, and attached.
    Missing,
    DynamicMissing,
}

impl Memory {
    pub fn is_card(self) -> bool {
        matches!(self, Memory::Card | Memory::PrivateCard | Memory::DynamicCard)
    }

    pub fn is_dynamic(self) -> bool {
        matches!(
            self,
            Memory::DynamicPrivate
                | Memory::DynamicCommon
                | Memory::DynamicApart
                | Memory::DynamicCard
                | Memory::DynamicMissing
        )
    }

    pub fn is_missing(self) -> bool {
        matches!(self, Memory::Missing | Memory::DynamicMissing)
    }

    /// Where it is, it moves bytes in its own way.
    pub fn knows(self, mechanism: Mechanism) -> bool {
        !(self.is_card() || self.is_missing()) || mechanism == Mechanism::Auto
    }
}

pub const MEMORIES: [Memory; 14] = [
    Memory::Allocated,
    Memory::Contiguous,
    Memory::Separate,
    Memory::Private,
    Memory::Common,
    Memory::DynamicPrivate,
    Memory::DynamicCommon,
    Memory::Apart,
    Memory::DynamicApart,
    Memory::Card,
    Memory::PrivateCard,
    Memory::DynamicCard,
    Memory::Missing,
    Memory::DynamicMissing,
];

/// A window and what it lies in.
pub struct Made {
    pub window: Rc<Window>,
    pub base: *mut u8,
    /// To be added to displacements at each rank.
    pub origins: Vec<i64>,
    shared: Option<*mut u8>,
    private: Vec<u64>,
}

/// Runs `body` as `size` processes.
pub fn world(size: u32, body: impl Fn(&Process<'_>) + Sync) {
    on_a_node(size, |shm| Box::new(shm), body);
}

fn on_a_node(size: u32, device: impl Fn(Shm) -> Box<dyn Channel> + Sync, body: impl Fn(&Process<'_>) + Sync) {
    let memory: OwnedFd = rustix::fs::memfd_create("tern-test", rustix::fs::MemfdFlags::CLOEXEC).expect("memfd");
    let shm = |rank| Shm::new(memory.as_fd(), rank, size, 2, Some(64 << 10)).expect("shared memory");
    world_over(size, |rank| device(shm(rank)), body);
}

/// The same where that kind of memory is: those of the card are on nodes of their own.
pub fn world_of(memory: Memory, size: u32, body: impl Fn(&Process<'_>) + Sync) {
    if memory.is_missing() {
        return on_a_node(size, |shm| Box::new(Missing::new(shm)), body);
    }
    if !memory.is_card() {
        return world(size, body);
    }
    let endpoints: Vec<_> =
        (0..size).map(|rank| Endpoint::open(rank, size, &Settings::default()).expect("a network")).collect();
    let addresses: Vec<Vec<u8>> = endpoints.iter().map(Endpoint::address).collect();
    let endpoints: Vec<_> = endpoints.into_iter().map(|endpoint| Mutex::new(Some(endpoint))).collect();
    let network = |rank: u32| {
        let endpoint = endpoints[rank as usize].lock().expect("no panic").take().expect("each joins once");
        Box::new(endpoint.join(&addresses).expect("buffers")) as Box<dyn Channel>
    };
    world_over(size, network, body);
}

fn world_over(size: u32, device: impl Fn(u32) -> Box<dyn Channel> + Sync, body: impl Fn(&Process<'_>) + Sync) {
    let turn = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for rank in 0..size {
            let (device, body, turn) = (&device, &body, &turn);
            scope.spawn(move || {
                // A process of a test that fails ends all of them: the others would wait for it.
                let bomb = Bomb;
                let mcm = Rc::new(Mcm::new(device(rank), rank, size, Patience::new(size, 2)));
                let adi = Box::into_raw(Box::new(Adi::new(mcm, None)));
                // SAFETY: it stays until nothing refers to it.
                let process = Process { adi: unsafe { &*adi }, rank, size, turn, windows: Default::default() };
                body(&process);
                process.barrier();
                // SAFETY: made above; windows are gone.
                drop(unsafe { Box::from_raw(adi) });
                std::mem::forget(bomb);
            });
        }
    });
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

impl Process<'_> {
    /// A communicator of all, with a context that nothing else uses.
    pub fn peers(&self) -> Rc<Peers> {
        let id = self.windows.get() + 1;
        self.windows.set(id);
        Rc::new(Peers::new(2 * id + 1, self.rank, (0..self.size).collect(), None, id))
    }

    /// Waits for all, while it serves them.
    pub fn barrier(&self) {
        let peers = self.peers();
        tern_coll::run(self.adi, &peers, tern_coll::barrier(&peers)).expect("a barrier");
    }

    /// Waits for turn number `turn` of all, while it serves others.
    pub fn await_turn(&self, turn: usize) {
        while self.turn.load(Ordering::Acquire) < turn {
            // A wait, in which it also makes accesses to its memory, but of a few looks.
            let mut looks = 0;
            self.adi.wait_until(&mut || {
                looks += 1;
                looks > 6
            });
            std::thread::yield_now();
        }
    }

    pub fn end_turn(&self) {
        self.turn.fetch_add(1, Ordering::Release);
    }

    /// A window with `bytes` of zeros at each rank and displacement unit 1.
    pub fn window(&self, memory: Memory, bytes: usize, mechanism: Mechanism) -> Made {
        let apart = matches!(memory, Memory::Apart | Memory::DynamicApart);
        let make = |exposure| match apart {
            true => Window::apart(self.adi, self.peers(), exposure, 1).expect("a window"),
            false => self.make(exposure, 1, mechanism).expect("a window"),
        };
        let mut private = vec![0u64; bytes.div_ceil(8)];
        let direct = self.adi.mcm().direct().expect("shared memory");
        let shared = matches!(memory, Memory::Common | Memory::DynamicCommon)
            .then(|| direct.allocate(bytes, tern_mcm::AfterFork::Shared).expect("shared memory"));
        let own = shared.unwrap_or(private.as_mut_ptr().cast());
        let window = make(match memory {
            Memory::Allocated | Memory::Apart | Memory::Card => Exposure::Allocate { bytes },
            Memory::Contiguous => Exposure::Shared { bytes, contiguous: true },
            Memory::Separate => Exposure::Shared { bytes, contiguous: false },
            Memory::Private | Memory::Common | Memory::PrivateCard | Memory::Missing => {
                Exposure::Existing { base: own, bytes }
            }
            _ => Exposure::Dynamic,
        });
        let dynamic = memory.is_dynamic();
        let mut origins = vec![0i64; self.size as usize];
        if dynamic {
            window.attach(own, bytes).expect("room");
            let peers = self.peers();
            let ty = tern_layout::Type::basic(tern_layout::Basic::Int64);
            let mine = [own as i64];
            let buffer =
                |base: *const i64| tern_coll::Buffer { base: base.cast_mut().cast(), count: 1, ty: ty.clone() };
            let told = tern_coll::allgather(&peers, Some(&buffer(mine.as_ptr())), &buffer(origins.as_mut_ptr()));
            tern_coll::run(self.adi, &peers, told).expect("addresses");
        }
        let base = if dynamic { own } else { window.base() };
        self.barrier();
        Made { window, base, origins, shared, private }
    }

    pub fn make(&self, exposure: Exposure, unit: i64, mechanism: Mechanism) -> Result<Rc<Window>, Error> {
        Window::with(self.adi, self.peers(), exposure, unit, mechanism)
    }

    /// Waits until an access is complete.
    pub fn complete(&self, window: &Window, started: Result<Started, Error>) {
        if let Started::Pending(ticket) = started.expect("an access") {
            self.adi.wait_until(&mut || window.is_done(ticket));
        }
    }

    pub fn free(&self, made: Made) {
        made.window.free();
        drop(made.window);
        if let Some(at) = made.shared {
            // SAFETY: the window over it is gone.
            unsafe { self.adi.mcm().direct().expect("shared memory").free(at) };
        }
        drop(made.private);
    }
}

impl Process<'_> {
    /// Waits for a turn without any progress of the library.
    pub fn sleep_until_turn(&self, turn: usize) {
        while self.turn.load(Ordering::Acquire) < turn {
            std::thread::yield_now();
        }
    }

    /// Numbers of all.
    pub fn tell<const N: usize>(&self, mine: [u64; N]) -> Vec<[u64; N]> {
        let peers = self.peers();
        let ty = tern_layout::Type::basic(tern_layout::Basic::Uint64);
        let mut all = vec![[0; N]; self.size as usize];
        let buffer =
            |base: *const u64| tern_coll::Buffer { base: base.cast_mut().cast(), count: N as i64, ty: ty.clone() };
        let told = tern_coll::allgather(&peers, Some(&buffer(mine.as_ptr())), &buffer(all.as_mut_ptr().cast()));
        tern_coll::run(self.adi, &peers, told).expect("numbers");
        all
    }
}

/// Runs a test for each kind of memory and mechanism.
pub fn everywhere(size: u32, body: impl Fn(&Process<'_>, Memory, Mechanism) + Sync) {
    for memory in MEMORIES {
        for mechanism in MECHANISMS {
            if memory.knows(mechanism) {
                world_of(memory, size, |process| body(process, memory, mechanism));
            }
        }
    }
}

/// A row of numbers as origin.
pub fn row<T>(values: &[T], ty: &Rc<Type>) -> Data {
    Data::new(values.as_ptr().cast(), values.len() as i64, ty)
}

/// It has begun, or is done.
pub fn fine(result: Result<tern_rma::Started, tern_rma::Error>) {
    result.expect("an access");
}

/// The words of this process's own memory.
pub fn words<T: Copy>(base: *const u8, count: usize) -> Vec<T> {
    // SAFETY: the window has so many, and nobody changes them now.
    unsafe { std::slice::from_raw_parts(base.cast::<T>(), count).to_vec() }
}
