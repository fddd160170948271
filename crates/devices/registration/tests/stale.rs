//! Whatever a program does to its address space, no registration outlives the memory that it is of.
//!
//! A program of its own without a harness: it forks, and nothing else may run beside it. Where the kernel
//! refuses the watch, what needs it is skipped aloud.

use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap, mmap_anonymous, mremap, munmap};
use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;
use tern_registration::{Limits, Registrations};

const PAGE: usize = 4096;
const LEN: usize = 64 * PAGE;

/// A registration, and how many of them live.
struct Region(Rc<Cell<i32>>);

impl Drop for Region {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

struct World {
    registrations: Registrations<Region>,
    alive: Rc<Cell<i32>>,
}

impl World {
    fn new() -> World {
        let limits = Limits { bytes: 1 << 30, entries: 10_000 };
        World { registrations: Registrations::new(limits), alive: Rc::default() }
    }

    /// One transfer of these bytes: true when their memory was registered for it.
    fn registers(&mut self, at: *mut c_void, len: usize) -> bool {
        let made = self.registrations.totals().made;
        let register = |_, _| {
            self.alive.set(self.alive.get() + 1);
            Ok::<_, ()>(Region(self.alive.clone()))
        };
        let it = self.registrations.acquire(at.addr() as u64, len as u64, register).unwrap();
        self.registrations.release(it);
        self.registrations.totals().made > made
    }

    /// That it is kept, as a second transfer shows.
    fn keeps(&mut self, at: *mut c_void, len: usize) -> bool {
        self.registers(at, len);
        !self.registers(at, len)
    }
}

fn map(at: *mut c_void, len: usize, flags: MapFlags) -> *mut c_void {
    // SAFETY: fresh memory, or over memory of the test's own.
    unsafe { mmap_anonymous(at, len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | flags) }.unwrap()
}

fn unmap(at: *mut c_void, len: usize) {
    // SAFETY: memory of the test's own.
    unsafe { munmap(at, len) }.unwrap();
}

fn what_stays_is_found(world: &mut World) {
    let at = map(std::ptr::null_mut(), LEN, MapFlags::empty());
    assert!(world.registers(at, LEN) && !world.registers(at, LEN));
    assert!(!world.registers(at.wrapping_byte_add(5000), 1), "a part");
    assert!(world.registers(at.wrapping_byte_sub(PAGE), PAGE), "the page before");
}

fn the_same_address_again(world: &mut World) {
    let mut at = map(std::ptr::null_mut(), LEN, MapFlags::empty());
    for round in 0..20_000 {
        assert!(world.registers(at, LEN), "round {round}");
        assert!(!world.registers(at, LEN), "round {round}");
        unmap(at, LEN);
        at = map(at, LEN, MapFlags::FIXED);
    }
    unmap(at, LEN);
}

fn a_page_in_the_middle(world: &mut World) {
    let at = map(std::ptr::null_mut(), LEN, MapFlags::empty());
    let middle = at.wrapping_byte_add(7 * PAGE);
    assert!(world.keeps(at, LEN));
    assert!(world.keeps(at, PAGE), "covered by the first");
    // Over what is there, without an unmapping of its own.
    map(middle, PAGE, MapFlags::FIXED);
    assert!(world.registers(at, LEN));
    unmap(at, LEN);
}

fn moved_and_resized(world: &mut World) {
    let flags = MremapFlags::MAYMOVE;
    // What follows is in the way of growing in place.
    let at = map(std::ptr::null_mut(), LEN + PAGE, MapFlags::empty());
    assert!(world.keeps(at, LEN));
    // SAFETY: memory of the test's own, and nobody refers to it.
    let to = unsafe { mremap(at, LEN, 2 * LEN, flags) }.unwrap();
    assert!(world.registers(to, LEN), "at its new place");
    assert_ne!(to, at);
    let again = map(at, LEN, MapFlags::FIXED);
    assert!(world.registers(again, LEN), "another at its old place");
    unmap(again, LEN + PAGE);
    assert!(world.keeps(to, 2 * LEN));
    // SAFETY: as above.
    unsafe { mremap(to, 2 * LEN, LEN, flags) }.unwrap();
    assert!(world.registers(to, LEN), "its end has gone");
    unmap(to, LEN);
}

fn emptied(world: &mut World) {
    let at = map(std::ptr::null_mut(), LEN, MapFlags::empty());
    assert!(world.keeps(at, LEN));
    // SAFETY: memory of the test's own.
    unsafe { madvise(at.wrapping_byte_add(PAGE), PAGE, Advice::LinuxDontNeed) }.unwrap();
    assert!(world.registers(at, LEN), "its pages are others");
    unmap(at, LEN);
}

fn malloc_and_free(world: &mut World) {
    let mut again = 0;
    let mut last = std::ptr::null_mut();
    for _ in 0..200 {
        // SAFETY: freed below, and not used after it.
        unsafe {
            let at = libc::malloc(1 << 20);
            libc::memset(at, 1, 1 << 20);
            again += (at == last) as u32;
            let (fresh, other) = (world.registers(at, 1 << 20), is_another_page(at));
            // Memory of a chunk with a mapping of its own, or trimmed from the heap: another's now. If it
            // was neither, the same pages are still there and may be found.
            assert!(fresh || !other, "stale");
            libc::free(at);
            last = at;
        }
    }
    eprintln!("     the allocator gave the same address {again} times of 200");
}

thread_local! {
    static SEEN: Cell<u64> = const { Cell::new(0) };
}

/// Whether the page at `at` is another than the last one asked about, as its physical address tells.
fn is_another_page(at: *mut c_void) -> bool {
    use std::os::unix::fs::FileExt;
    let mut word = [0; 8];
    let file = std::fs::File::open("/proc/self/pagemap").unwrap();
    file.read_exact_at(&mut word, (at.addr() / PAGE) as u64 * 8).unwrap();
    let frame = u64::from_ne_bytes(word) & ((1 << 55) - 1);
    frame != 0 && SEEN.replace(frame) != frame
}

fn stacks(world: &mut World) {
    #[inline(never)]
    fn deeper(world: &mut World, depth: u32) -> u32 {
        let mut buffer = std::hint::black_box([0u8; 3 * PAGE]);
        let fresh = world.registers((&raw mut buffer).cast(), buffer.len());
        if depth == 0 { fresh as u32 } else { fresh as u32 + deeper(world, depth - 1) }
    }
    let first = deeper(world, 20);
    assert_eq!(deeper(world, 20), 0, "the stack is where it was, after {first} registrations");
    // A thread's stack, and the next one's, which may lie at the same place.
    let place = || {
        std::thread::spawn(|| {
            let buffer = std::hint::black_box([0u8; 3 * PAGE]);
            (&raw const buffer).addr() as *mut c_void as usize
        })
    };
    let one = place().join().unwrap();
    assert!(world.registers(one as *mut c_void, 3 * PAGE));
}

fn another_thread_unmaps(world: &mut World) {
    let at = map(std::ptr::null_mut(), LEN, MapFlags::empty());
    for round in 0..2000 {
        assert!(world.keeps(at, LEN), "round {round}");
        let address = at.addr();
        std::thread::spawn(move || {
            let at = address as *mut c_void;
            unmap(at, LEN);
            map(at, LEN, MapFlags::FIXED);
        })
        .join()
        .unwrap();
        assert!(world.registers(at, LEN), "round {round}");
    }
    unmap(at, LEN);
}

fn other_threads_are_not_held_up(world: &mut World) {
    // Threads that map and unmap watched and other memory, while this one registers.
    let at = map(std::ptr::null_mut(), 4 * LEN, MapFlags::empty());
    world.registers(at, 4 * LEN);
    let address = at.addr();
    let threads: Vec<_> = (0..3)
        .map(|part| {
            std::thread::spawn(move || {
                let mine = (address + part * LEN) as *mut c_void;
                for _ in 0..1000 {
                    // Not unmapped first: another thread's memory might come to lie there.
                    map(mine, LEN, MapFlags::FIXED);
                    drop(std::hint::black_box(vec![1u8; 1 << 18]));
                }
            })
        })
        .collect();
    let last = (address + 3 * LEN) as *mut c_void;
    while !threads.iter().all(std::thread::JoinHandle::is_finished) {
        world.registers(last, LEN);
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(world.registers(at, LEN));
}

/// The memory of the thread that reads what is unmapped, and all the allocator has, is given back after the watch.
fn all_memory_is_registered(world: &mut World) {
    let mappings = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut number = 0;
    for words in mappings.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()) {
        let own = words[1] == "rw-p" && (words.len() == 5 || words[5] == "[heap]");
        let (start, end) = words[0].split_once('-').unwrap();
        let address = |word| usize::from_str_radix(word, 16).unwrap();
        let (start, end) = (address(start), address(end));
        if own {
            world.registers(start as *mut c_void, end - start);
            number += 1;
        }
    }
    assert!(number > 3, "{mappings}");
    // A child has the userfaultfd for longer.
    let (ends, child) = child_that_waits();
    world.registrations = World::new().registrations;
    unmap(map(std::ptr::null_mut(), LEN, MapFlags::empty()), LEN);
    drop(ends);
    ends_well(child);
}

/// Waits for a child of fork, which exits with 0.
fn ends_well(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: fills in the status alone.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "what the child has seen");
}

/// A child of fork that has all descriptors, until what is returned with it is dropped.
fn child_that_waits() -> (std::io::PipeWriter, libc::pid_t) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    // SAFETY: the child reads and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(writer);
        let read = std::io::Read::read(&mut reader, &mut [0]);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(!matches!(read, Ok(0)) as i32) };
    }
    (writer, child)
}

fn more_unmappings_than_are_noted(world: &mut World) {
    let at = map(std::ptr::null_mut(), 2000 * 2 * PAGE, MapFlags::empty());
    let part = |number: usize| at.wrapping_byte_add(number * 2 * PAGE);
    let untouched = map(std::ptr::null_mut(), LEN, MapFlags::empty());
    (0..2000).for_each(|number| assert!(world.registers(part(number), PAGE)));
    world.registers(untouched, LEN);
    for number in 0..2000 {
        unmap(part(number), PAGE);
        map(part(number), PAGE, MapFlags::FIXED);
    }
    (0..2000).for_each(|number| assert!(world.registers(part(number), PAGE), "{number}"));
}

fn fork(world: &mut World) {
    let at = map(std::ptr::null_mut(), LEN, MapFlags::empty());
    assert!(world.keeps(at, LEN));
    let alive = world.alive.get();
    // SAFETY: the child does what a child of a process with threads may (no lock is held by them), and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut good = world.alive.get() == alive;
        // Nothing is kept, and the parent's registrations are not given up.
        good &= world.registers(at, LEN) && world.registers(at, LEN);
        good &= world.alive.get() == alive;
        unmap(at, LEN);
        good &= world.registrations.why_not().is_some();
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(!good as i32) };
    }
    ends_well(child);
    assert!(!world.registers(at, LEN), "the parent's memory is where it was");
    unmap(at, LEN);
    let at = map(at, LEN, MapFlags::FIXED);
    assert!(world.registers(at, LEN), "the watch goes on after a fork");
}

fn memory_that_others_may_empty_is_not_kept(world: &mut World) {
    let shared = map(std::ptr::null_mut(), LEN, MapFlags::empty());
    // SAFETY: over memory of the test's own, then a file's mapping.
    unsafe {
        mmap_anonymous(shared, LEN, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::FIXED).unwrap();
        let file = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, LEN as u64).unwrap();
        let flags = ProtFlags::READ | ProtFlags::WRITE;
        let private = mmap(std::ptr::null_mut(), LEN, flags, MapFlags::PRIVATE, &file, 0).unwrap();
        assert!(world.registers(shared, LEN) && world.registers(shared, LEN), "shared memory");
        assert!(world.registers(private, LEN) && world.registers(private, LEN), "of a file");
    }
    let alive = world.alive.get();
    let plain = map(std::ptr::null_mut(), LEN, MapFlags::empty());
    assert!(world.keeps(plain, LEN));
    assert_eq!(world.alive.get(), alive + 1, "what is not kept is deregistered");
}

fn without_the_kernels_help_nothing_is_kept() {
    let limits = Limits { bytes: 1 << 30, entries: 1000 };
    let mut world = World { registrations: Registrations::unwatched(limits), alive: Rc::default() };
    assert!(world.registrations.why_not().unwrap().contains("userfaultfd"));
    let at = map(std::ptr::null_mut(), LEN, MapFlags::empty());
    assert!(world.registers(at, LEN) && world.registers(at, LEN));
    assert_eq!(world.alive.get(), 0);
}

fn what_is_registered_by_address_is_kept_and_not_watched() {
    let limits = Limits { bytes: 1 << 30, entries: 1000 };
    let mut world = World { registrations: Registrations::of(false, limits), alive: Rc::default() };
    assert!(world.registrations.why_not().is_none());
    let at = map(std::ptr::null_mut(), LEN, MapFlags::empty());
    assert!(world.keeps(at, LEN));
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let flags = smaps.lines().filter(|line| line.starts_with("VmFlags:"));
    assert!(flags.flat_map(str::split_whitespace).all(|flag| flag != "uw"), "watched");
    unmap(at, LEN);
    let again = map(at, LEN, MapFlags::FIXED);
    assert!(!world.registers(again, LEN), "the same addresses");
    unmap(again, LEN);
}

fn refused_registrations_make_room() {
    let limits = Limits { bytes: 1 << 30, entries: 1000 };
    let mut registrations = Registrations::new(limits);
    let alive = Rc::new(Cell::new(0));
    // A card with room for three.
    let register = |_, _| {
        if alive.get() == 3 {
            return Err("no room");
        }
        alive.set(alive.get() + 1);
        Ok(Region(alive.clone()))
    };
    let at = map(std::ptr::null_mut(), 10 * LEN, MapFlags::empty()).addr() as u64;
    let place = |number: u64| at + number * LEN as u64;
    for number in 0..8 {
        let it = registrations.acquire(place(number), PAGE as u64, register).unwrap();
        registrations.release(it);
    }
    let held: Vec<_> =
        (0..3).map(|number| registrations.acquire(place(number), PAGE as u64, register).unwrap()).collect();
    assert_eq!(registrations.acquire(place(5), PAGE as u64, register), Err("no room"));
    assert_eq!(registrations.totals().refused, 1);
    held.into_iter().for_each(|it| registrations.release(it));
    assert!(registrations.acquire(place(5), PAGE as u64, register).is_ok());
}

fn main() {
    without_the_kernels_help_nothing_is_kept();
    refused_registrations_make_room();
    what_is_registered_by_address_is_kept_and_not_watched();
    if let Some(why) = World::new().registrations.why_not() {
        eprintln!("SKIP what needs the watch: {why}");
        return println!("3 passed, 0 failed, 13 skipped");
    }
    type Test = fn(&mut World);
    let tests: [(&str, Test); 13] = [
        ("what stays is found", what_stays_is_found),
        ("the same address again", the_same_address_again),
        ("a page in the middle", a_page_in_the_middle),
        ("moved and resized", moved_and_resized),
        ("emptied", emptied),
        ("malloc and free", malloc_and_free),
        ("stacks", stacks),
        ("another thread unmaps", another_thread_unmaps),
        ("other threads are not held up", other_threads_are_not_held_up),
        ("all memory is registered", all_memory_is_registered),
        ("more unmappings than are noted", more_unmappings_than_are_noted),
        ("fork", fork),
        ("memory that others may empty is not kept", memory_that_others_may_empty_is_not_kept),
    ];
    for (name, test) in tests {
        let mut world = World::new();
        let begin = std::time::Instant::now();
        test(&mut world);
        eprintln!("ok   {name} ({:.2} s, {:?})", begin.elapsed().as_secs_f64(), world.registrations.totals());
        drop(world.registrations);
        assert_eq!(world.alive.get(), 0, "all are deregistered in the end");
    }
    println!("16 passed, 0 failed, 0 skipped");
}
