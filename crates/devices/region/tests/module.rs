//! The kernel module, where it is loaded: `tests/kmod-test.sh` runs this in a virtual machine and says so by TERN_TEST_MODULE.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use tern_region::Run;
use tern_region::module::{Module, READ, WRITE};
use tern_region::space::{Direction, Error, Flags, Mechanism, Options, Protection, Shape, Space, Standing};

/// Two opens, as of two processes; `None` without the module.
fn pair() -> Option<[Module; 2]> {
    match Module::open() {
        Ok(first) => Some([first, Module::open().expect("a second one")]),
        Err(error) => {
            assert!(std::env::var_os("TERN_TEST_MODULE").is_none(), "/dev/tern: {error}");
            eprintln!("skipped: /dev/tern: {error}");
            None
        }
    }
}

fn bytes(memory: &[u8]) -> Run {
    Run::new(memory.as_ptr(), memory.len())
}

/// A page that cannot be pinned and that no other test's mapping fills. It is shared: before Linux 6.2 the module pins private
/// pages by force, whatever their protection.
///
/// # Safety
/// Nobody refers to the page at `at`.
unsafe fn hole(at: *mut std::ffi::c_void) {
    // SAFETY: the caller's promise.
    unsafe { mmap_anonymous(at, 4096, ProtFlags::empty(), MapFlags::SHARED | MapFlags::FIXED) }.expect("a hole");
}

#[test]
fn copies_by_cookie_and_offset() {
    let Some([owner, other]) = pair() else { return };
    let mut table = *b"first...----last";
    let base = table.as_mut_ptr();
    let segments = [Run::new(base, 8), Run::new(base.wrapping_add(12), 4)];
    let region = owner.create(&segments, READ | WRITE).expect("declared");
    let mut buffer = [b' '; 6];
    let parts = [Run::new(buffer.as_mut_ptr(), 1), Run::new(&raw const buffer[1], 5)];
    // SAFETY: the buffer is this test's own, and nobody refers to it meanwhile.
    assert_eq!(unsafe { other.read(region.cookie, 6, &parts) }, Ok(6));
    assert_eq!(&buffer, b"..last");
    // SAFETY: it can be read.
    assert_eq!(unsafe { other.write(region.cookie, 7, &[bytes(b"!LAST")]) }, Ok(5));
    assert_eq!(&table, b"first..!----LAST");

    let target = other.create(&[Run::new(buffer.as_mut_ptr(), 6)], WRITE).expect("declared");
    assert_eq!(owner.copy((region.cookie, 0), (target.cookie, 1), 5), Ok(5));
    assert_eq!(&buffer, b".first");
    let errno = |result: Result<usize, tern_region::cma::Failed>| result.expect_err("refused").errno;
    assert_eq!(errno(owner.copy((target.cookie, 0), (region.cookie, 0), 1)), libc::EACCES);
    assert_eq!(errno(owner.copy((region.cookie, 8), (target.cookie, 0), 5)), libc::ERANGE);

    owner.destroy(region);
    // SAFETY: as above.
    assert_eq!(errno(unsafe { other.read(region.cookie, 0, &parts) }), libc::ENOENT);
    assert!(!owner.is_current(&region));
    other.destroy(target);
}

#[test]
fn unmapped_memory_is_declared_no_more() {
    let Some([owner, other]) = pair() else { return };
    // SAFETY: a new mapping, which this test alone uses.
    let at = unsafe {
        mmap_anonymous(std::ptr::null_mut(), 8192, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
            .expect("memory")
    };
    let region = owner.create(&[Run::new(at.cast(), 8192)], READ).expect("declared");
    assert!(owner.is_current(&region));
    // SAFETY: nobody refers to it any more.
    unsafe { hole(at) };
    assert!(!owner.is_current(&region));
    let mut word = [0; 8];
    // SAFETY: the word is this test's own.
    let gone = unsafe { other.read(region.cookie, 4096, &[Run::new(word.as_mut_ptr(), 8)]) };
    assert_eq!(gone.expect_err("gone").errno, libc::ENOENT);
    assert_eq!(owner.create(&[Run::new(at.cast(), 4096)], READ), Err(libc::EFAULT));
}

/// The owner answers what nobody can reach, so that a copy never waits for ever.
const MODULE: Options = Options { mapped: false, module: true, cma: false, server: true, dma: false };

/// Members of a space whose private memory goes by the module alone.
fn spaces<const N: usize>() -> [Space; N] {
    let file = rustix::fs::memfd_create("tern-test", rustix::fs::MemfdFlags::CLOEXEC).expect("memfd_create");
    let shape = Shape { members: N as u32, span: 1 << 20 };
    std::array::from_fn(|me| {
        Space::join(file.try_clone().expect("dup"), 0, shape, me as u32, MODULE).expect("a place in the space")
    })
}

fn read(space: &Space, spot: tern_region::space::Spot, into: &mut [u8]) -> Result<(), Error> {
    let local = [Run::new(into.as_mut_ptr(), into.len())];
    // SAFETY: a buffer of the caller's own.
    unsafe { space.inline_copy(&local, spot, into.len() as u64, Direction::Read) }
}

#[test]
fn a_space_copies_by_the_module() {
    if pair().is_none() {
        return;
    }
    let [owner, other, third] = spaces();
    let mut table = vec![0u8; 300_000];
    for (index, byte) in table.iter_mut().enumerate() {
        *byte = (index * 31 + (index >> 8)) as u8;
    }
    let expected = table.clone();
    // Two pieces, the later one first.
    let segments = [bytes(&table[1000..]), bytes(&[]), bytes(&table[..1000])];
    // SAFETY: the table stays until the region is destroyed.
    let region = unsafe { owner.create_region(&segments, Protection::Read, Flags::NONE) }.expect("a region");
    assert_eq!(other.standing(0, Mechanism::KernelModule), Standing::Unproven);
    let mut buffer = vec![0; 2000];
    assert_eq!(read(&other, region.at(298_000), &mut buffer), Ok(()));
    assert!(buffer[..1000] == expected[299_000..] && buffer[1000..] == expected[..1000]);
    assert_eq!(other.standing(0, Mechanism::KernelModule), Standing::Works);
    assert_eq!(
        read(&other, region.at(299_000), &mut buffer),
        Err(Error::Bounds { offset: 299_000, bytes: 2000, len: 300_000 })
    );

    // Between regions of two others, in steps and at once.
    let target = vec![0u8; 300_000];
    // SAFETY: as above; nobody refers to the target until the region is destroyed.
    let into = unsafe { other.create_region(&[bytes(&target)], Protection::Write, Flags::NONE) }.expect("a region");
    assert_eq!(third.copy(region.at(0), into.at(1000), 299_000), Ok(()));
    let status = third.start_copy(region.at(299_000), into.at(0), 1000, Default::default()).expect("a copy");
    assert_eq!(third.wait(&status), Ok(()));
    assert_eq!(third.copy(into.at(0), region.at(0), 1), Err(Error::Protection));
    assert_eq!(other.destroy_region(into), Ok(()));
    assert!(target == expected);
    for member in [0, 1] {
        assert_eq!(third.standing(member, Mechanism::KernelModule), Standing::Works);
    }

    // One use.
    // SAFETY: as above.
    let once = unsafe { owner.create_region(&segments, Protection::Read, Flags::SINGLE_USE) }.expect("a region");
    assert_eq!(read(&other, once.at(7), &mut buffer), Ok(()));
    assert_eq!(read(&other, once.at(7), &mut buffer), Err(Error::NoRegion));
    assert_eq!(owner.destroy_region(region), Ok(()));
    assert_eq!(read(&other, region.at(0), &mut buffer), Err(Error::NoRegion));
}

#[test]
fn a_region_that_the_module_loses_is_reached_otherwise() {
    if pair().is_none() {
        return;
    }
    let [owner, other] = spaces();
    let (len, protection) = (8 * 4096, ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a new mapping, which this test alone uses.
    let at = unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE) }.expect("memory");
    // SAFETY: as above.
    unsafe { at.cast::<u8>().write_bytes(7, len) };
    // SAFETY: the memory stays.
    let region = unsafe { owner.create_region(&[Run::new(at.cast(), len)], Protection::Read, Flags::NONE) };
    let region = region.expect("a region");
    let mut buffer = vec![0; len];
    assert_eq!(read(&other, region.at(0), &mut buffer), Ok(()));
    assert!(buffer.iter().all(|byte| *byte == 7));
    // Its pages are others from here on, and the module has let the old ones go.
    // SAFETY: nobody refers to the memory.
    unsafe { rustix::mm::madvise(at, 4096, rustix::mm::Advice::LinuxDontNeed) }.expect("madvise");
    assert_eq!(read(&other, region.at(0), &mut buffer), Ok(()));
    assert!(buffer[..4096].iter().all(|byte| *byte == 0) && buffer[4096..].iter().all(|byte| *byte == 7));
    assert_eq!(owner.destroy_region(region), Ok(()));
}

#[test]
fn memory_that_cannot_be_pinned_is_reached_otherwise() {
    if pair().is_none() {
        return;
    }
    let [owner, other] = spaces();
    // A hole in the middle: the module refuses the region, and the part that is there is reached.
    let (len, protection) = (3 * 4096, ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a new mapping, which this test alone uses.
    let at = unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE) }.expect("memory");
    // SAFETY: as above.
    unsafe { hole(at.byte_add(2 * 4096)) };
    // SAFETY: nobody copies what is not there.
    let region = unsafe { owner.create_region(&[Run::new(at.cast(), len)], Protection::Read, Flags::NONE) };
    let mut buffer = vec![1; 100];
    assert_eq!(read(&other, region.expect("a region").at(4096), &mut buffer), Ok(()));
    assert!(buffer.iter().all(|byte| *byte == 0));
    assert_eq!(other.standing(0, Mechanism::KernelModule), Standing::Unproven);
}
