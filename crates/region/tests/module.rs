//! The kernel module, where it is loaded: `tests/kmod-test.sh` runs this in a virtual machine and says so by TERN_TEST_MODULE.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use tern_region::Run;
use tern_region::module::{Module, READ, WRITE};

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
    unsafe { munmap(at, 4096) }.expect("unmapped");
    assert!(!owner.is_current(&region));
    let mut word = [0; 8];
    // SAFETY: the word is this test's own.
    let gone = unsafe { other.read(region.cookie, 4096, &[Run::new(word.as_mut_ptr(), 8)]) };
    assert_eq!(gone.expect_err("gone").errno, libc::ENOENT);
    assert_eq!(owner.create(&[Run::new(at.cast(), 4096)], READ), Err(libc::EFAULT));
}
