//! What the loaded objects could do behind our back, by the functions that they import.
//!
//! Shared memory can be told from private memory by who calls madvise (MADV_DONTNEED gives zeros in
//! private memory only); mremap makes an alias of it in two of its forms (an old size of 0, and MREMAP_DONTUNMAP); memory in the heap that is not malloc's comes from brk; and a process made
//! past fork's handlers would share the memory. All that needs a call into the C library, so it
//! shows in an object's relocations, except for system calls in assembly and functions looked
//! up by name at run time.

use super::owner::object_of;
use super::refusal::Refusal;
use std::ffi::{CStr, c_int, c_void};

const TELLING: [&CStr; 10] = [
    c"madvise",
    c"process_madvise",
    c"mremap",
    c"brk",
    c"sbrk",
    c"_Fork",
    c"clone",
    c"vmsplice",
    c"remap_file_pages",
    c"syscall",
];

/// Known to use `syscall` for futexes and the like only, and `mremap` for mappings of their own.
const HARMLESS: [(&str, &CStr); 4] =
    [("libstdc++.so", c"syscall"), ("libgomp.so", c"syscall"), ("libnuma.so", c"mremap"), ("libsqlite3.so", c"mremap")];

/// The outcome for the objects that were loaded when it was last found out.
#[derive(Default)]
pub struct Imports {
    seen: Option<Seen>,
}

struct Seen {
    /// How many objects were ever loaded.
    loads: u64,
    outcome: Result<(), Refusal>,
}

impl Imports {
    /// Whether no loaded object but the C library, the dynamic linker and the one that holds this
    /// code imports a function that could tell. Looks again when something was loaded.
    pub fn check(&mut self) -> Result<(), Refusal> {
        let loads = loads();
        if let Some(seen) = &self.seen
            && seen.loads == loads
        {
            return seen.outcome.clone();
        }
        let outcome = look();
        self.seen = Some(Seen { loads, outcome: outcome.clone() });
        outcome
    }
}

fn loads() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, loads: *mut c_void) -> c_int {
        // SAFETY: the caller gives a valid `info`, and `loads` from below.
        unsafe { *loads.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut loads = 0u64;
    // SAFETY: `first` matches what dl_iterate_phdr calls, and gets a pointer to a u64.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut loads).cast()) };
    loads
}

struct Look {
    own: [Option<usize>; 3],
    outcome: Result<(), Refusal>,
}

fn look() -> Result<(), Refusal> {
    let this = object_of(look as *const c_void);
    let libc = object_of(crate::host::symbol(c"gnu_get_libc_version"));
    // In the dynamic linker.
    let linker = object_of(crate::host::symbol(c"_dl_find_object"));
    let mut look = Look { own: [this, libc, linker], outcome: Ok(()) };
    // SAFETY: `each` matches what dl_iterate_phdr calls, and gets a pointer to a `Look`.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut look).cast()) };
    look.outcome
}

unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, look: *mut c_void) -> c_int {
    // SAFETY: the caller gives a valid `info`, and the `Look` of `look`.
    let (info, look) = unsafe { (&*info, &mut *look.cast::<Look>()) };
    // SAFETY: the dynamic linker's names are strings that live as long as the object.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy();
    let Some(object) = Object::of(info) else {
        look.outcome = Err(Refusal::Import { object: called(&name), function: "something unknown".into() });
        return 1;
    };
    if look.own.contains(&object.home) {
        return 0;
    }
    let file = name.rsplit('/').next().unwrap_or("");
    let is_harmless = |import: &CStr| HARMLESS.iter().any(|(known, calls)| *calls == import && file.starts_with(known));
    match object.imports().find(|import| TELLING.contains(import) && !is_harmless(import)) {
        Some(function) => {
            let function = function.to_string_lossy().into_owned();
            look.outcome = Err(Refusal::Import { object: called(&name), function });
            1
        }
        None => 0,
    }
}

fn called(name: &str) -> String {
    if name.is_empty() { "the program".into() } else { name.into() }
}

/// The parts of a loaded object's dynamic section that matter here.
struct Object {
    home: Option<usize>,
    symbols: *const libc::Elf64_Sym,
    strings: *const libc::c_char,
    /// The relocations of data and those of calls, which name every symbol that is used.
    relocations: [(*const Rela, usize); 2],
}

/// `Elf64_Rela`.
#[repr(C)]
struct Rela {
    offset: u64,
    info: u64,
    addend: i64,
}

const DT_NULL: u64 = 0;
const DT_PLTRELSZ: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_REL: u64 = 17;
const DT_JMPREL: u64 = 23;

impl Object {
    /// `None` if the object's tables cannot be found, or are of a kind not known here.
    fn of(info: &libc::dl_phdr_info) -> Option<Object> {
        let base = info.dlpi_addr as usize;
        // SAFETY: the dynamic linker's table of that many headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let load = headers.iter().find(|header| header.p_type == libc::PT_LOAD)?;
        let home = object_of(std::ptr::with_exposed_provenance(base + load.p_vaddr as usize));
        let mut values = [0u64; 24];
        let mut entry = std::ptr::with_exposed_provenance::<[u64; 2]>(base + dynamic.p_vaddr as usize);
        loop {
            // SAFETY: the dynamic section of a loaded object, which ends with DT_NULL.
            let [tag, value] = unsafe { entry.read() };
            if tag == DT_NULL {
                break;
            }
            if let Some(place) = values.get_mut(tag as usize) {
                *place = value;
            }
            // SAFETY: not yet at the end.
            entry = unsafe { entry.add(1) };
        }
        let value = |tag: u64| values[tag as usize] as usize;
        // Most are absolute by now, but not where the section is read-only (the vDSO's).
        let address = |tag: u64| {
            if value(tag) < base { base + value(tag) } else { value(tag) }
        };
        let table = |start: u64, bytes: u64| {
            (std::ptr::with_exposed_provenance(address(start)), value(bytes) / size_of::<Rela>())
        };
        let known = value(DT_SYMTAB) != 0 && value(DT_STRTAB) != 0 && value(DT_REL) == 0;
        known.then(|| Object {
            home,
            symbols: std::ptr::with_exposed_provenance(address(DT_SYMTAB)),
            strings: std::ptr::with_exposed_provenance(address(DT_STRTAB)),
            relocations: [table(DT_RELA, DT_RELASZ), table(DT_JMPREL, DT_PLTRELSZ)],
        })
    }

    fn imports(&self) -> impl Iterator<Item = &CStr> {
        let all = self.relocations.iter().flat_map(|&(table, count)| {
            // SAFETY: the object's tables of relocations, of that many entries.
            (0..count).map(move |index| unsafe { &*table.add(index) })
        });
        all.filter_map(|relocation| {
            let symbol = (relocation.info >> 32) as usize;
            if symbol == 0 {
                return None;
            }
            // SAFETY: relocations name symbols of the object, and these their names.
            unsafe {
                let symbol = &*self.symbols.add(symbol);
                (symbol.st_shndx == 0).then(|| CStr::from_ptr(self.strings.add(symbol.st_name as usize)))
            }
        })
    }
}
