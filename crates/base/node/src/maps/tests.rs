use super::*;

/// A shared mapping of two pages of a file.
fn map() -> (OwnedFd, usize) {
    let file = fs::memfd_create("maps", fs::MemfdFlags::CLOEXEC).unwrap();
    fs::ftruncate(&file, 16 * 4096).unwrap();
    let protection = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let at =
        unsafe { rustix::mm::mmap(std::ptr::null_mut(), 8192, protection, rustix::mm::MapFlags::SHARED, &file, 4096) };
    (file, at.unwrap().addr())
}

#[test]
fn question_and_text_agree() {
    let (file, at) = map();
    let id = FileId::of(&file).unwrap();
    let maps = match Maps::open_exact() {
        Ok(maps) => maps,
        Err(error) => return eprintln!("skipped: no PROCMAP_QUERY here: {error}"),
    };
    let ours = |all: Vec<Vma>| all.into_iter().find(|vma| vma.file == id).unwrap();
    let asked = ours(maps.shared().unwrap());
    assert_eq!((asked.start, asked.end, asked.offset), (at, at + 8192, 4096));
    assert_eq!(ours(maps.shared_by_text().unwrap()), asked);
    assert_eq!(maps.at(at + 5000), Some(asked));
    assert!(asked.is_shared(id) && !asked.is_plain() && !asked.is_own());
}

#[test]
fn the_stack_is_own_and_code_is_not() {
    let maps = Maps::open().unwrap();
    let here = (&raw const maps).addr() & !4095;
    let code = Vma::parse as fn(&'static str) -> _ as usize & !4095;
    for own in [Maps::are_own, Maps::are_own_by_text] {
        assert!(own(&maps, here..here + 4096));
        assert!(!own(&maps, code..code + 4096));
        assert!(!own(&maps, 0..4096), "nothing is mapped there");
        assert!(!own(&maps, here..usize::MAX & !4095), "not all of it is mapped");
    }
}

#[test]
fn lines_are_understood() {
    let parse = |line| Vma::parse(line).map(|vma| (vma.start, vma.end, vma.is_own()));
    let heap = "7f10-7f20 rw-p 00000000 00:00 0                [heap]";
    assert_eq!(parse(heap), Some((0x7f10, 0x7f20, true)));
    assert_eq!(parse("10-20 rw-p 00001000 fe:01 77 /lib/x.so"), Some((0x10, 0x20, false)));
    assert_eq!(parse("10-20 rw-s 00000000 00:01 9 /dev/zero (deleted)"), Some((0x10, 0x20, false)));
    assert_eq!(parse("nonsense"), None);
}
