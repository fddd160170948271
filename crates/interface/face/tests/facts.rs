//! The faces' libraries, both in one process, against what is known of the other interfaces (`facts/`): handles, error
//! codes, the layout of a status, sizes of objects, names.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::null_mut;
use std::sync::OnceLock;

type Facts = BTreeMap<String, String>;

fn facts(face: &str, file: &str) -> Facts {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{face}/facts/{file}.txt"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter_map(|l| l.split_once(' ')).map(|(name, value)| (name.into(), value.into())).collect()
}

/// The folder with the libraries. Filled once: a library that is mapped must not be written.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(filled)
}

/// The folder of TERN_TEST_LIBRARY, else one filled from what cargo builds.
fn filled() -> PathBuf {
    if let Some(library) = std::env::var_os("TERN_TEST_LIBRARY") {
        return Path::new(&library).parent().unwrap().to_owned();
    }
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "-p", "tern-abi", "-p", "tern-mpich", "-p", "tern-openmpi", "--manifest-path"]);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    assert!(command.status().unwrap().success(), "{command:?}");
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(Path::parent).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faces");
    std::fs::create_dir_all(&folder).unwrap();
    for (from, to) in [
        ("libmpi_abi.so", "libmpi_abi.so.1"),
        ("libtern_mpich.so", "libmpi.so.12"),
        ("libtern_openmpi.so", "libmpi.so.40"),
    ] {
        std::fs::copy(built.join(from), folder.join(to)).unwrap();
    }
    folder
}

/// A face's library, loaded so that its names are not seen by others.
#[derive(Clone, Copy)]
struct Library(usize);

impl Library {
    fn open(name: &str) -> Library {
        let path = CString::new(folder().join(name).to_str().unwrap()).unwrap();
        // SAFETY: a library that runs nothing when it is loaded.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        // SAFETY: null, or a string that stays until the next call.
        let why = || unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy();
        assert!(!handle.is_null(), "{name}: {}", why());
        Library(handle as usize)
    }

    fn find(self, name: &str) -> Option<*mut c_void> {
        let symbol = CString::new(name).unwrap();
        // SAFETY: the library stays loaded.
        let found = unsafe { libc::dlsym(self.0 as *mut c_void, symbol.as_ptr()) };
        (!found.is_null()).then_some(found)
    }

    /// The function of that name.
    ///
    /// # Safety
    /// `F` is its type.
    unsafe fn function<F: Copy>(self, name: &str) -> F {
        let found = self.find(name).unwrap_or_else(|| panic!("no {name}"));
        // SAFETY: the caller's.
        unsafe { std::mem::transmute_copy(&found) }
    }
}

/// Both libraries, MPI initialised by the first.
fn both() -> (Library, Library) {
    static BOTH: OnceLock<(Library, Library)> = OnceLock::new();
    *BOTH.get_or_init(|| {
        let (mpich, open) = (Library::open("libmpi.so.12"), Library::open("libmpi.so.40"));
        let (mut flag, mut provided) = (7, 0);
        // SAFETY: as the standard has them; THREAD_MULTIPLE is 3 in MPICH's interface, for tests are threads.
        unsafe {
            type Init = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
            let initialized: unsafe extern "C" fn(*mut c_int) -> c_int = open.function("MPI_Initialized");
            assert_eq!((initialized(&mut flag), flag), (0, 0));
            assert_eq!(mpich.function::<Init>("MPI_Init_thread")(null_mut(), null_mut(), 3, &mut provided), 0);
            assert_eq!(provided, 3);
            assert_eq!((initialized(&mut flag), flag), (0, 1), "one core for both");
        }
        (mpich, open)
    })
}

/// A handle as C passes it: int or address, which go the same way.
fn handle(library: Library, facts: &Facts, name: &str) -> Option<usize> {
    let value = facts.get(name)?;
    match value.parse::<i64>() {
        Ok(number) => Some(number as u32 as usize),
        Err(_) => Some(library.find(value).unwrap_or_else(|| panic!("no object {value}")) as usize),
    }
}

/// Names that another name has first.
const ALIASES: [&str; 3] = ["MPI_LONG_LONG_INT", "MPI_C_FLOAT_COMPLEX", "MPI_DATATYPE_NULL"];

fn datatypes_have_their_names(library: Library, facts: &Facts) -> usize {
    let constants = std::fs::read_to_string(tern_tables().join("constants.txt")).unwrap();
    let list = constants.split("handle MPI_Datatype").nth(1).unwrap().split("\n\n").next().unwrap();
    let mut seen = 0;
    for name in list.lines().skip(1).filter_map(|line| line.split_whitespace().next()) {
        let Some(datatype) = handle(library, facts, name).filter(|_| !ALIASES.contains(&name)) else { continue };
        let (mut text, mut length) = ([0 as c_char; 256], 0);
        // SAFETY: as the standard has it, with room enough.
        unsafe {
            type GetName = unsafe extern "C" fn(usize, *mut c_char, *mut c_int) -> c_int;
            let code = library.function::<GetName>("MPI_Type_get_name")(datatype, text.as_mut_ptr(), &mut length);
            assert_eq!(code, 0, "{name}");
            assert_eq!(CStr::from_ptr(text.as_ptr()).to_str().unwrap(), name);
        }
        seen += 1;
    }
    seen
}

fn tern_tables() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../table/tables")
}

fn errors_have_their_texts(library: Library, facts: &Facts) -> usize {
    let mut seen = 0;
    for (name, value) in facts {
        // Classes of fault tolerance, which MPICH knows by their older names.
        let name = name.replacen("MPIX_ERR_", "MPI_ERR_", 1);
        let is_class = name.starts_with("MPI_ERR_") || name.starts_with("MPI_T_ERR_");
        if !is_class || name == "MPI_ERR_LASTCODE" {
            continue;
        }
        let (mut text, mut length, mut class) = ([0 as c_char; 512], 0, -1);
        let code: c_int = value.parse().unwrap();
        // SAFETY: as the standard has them, with room enough.
        unsafe {
            type ErrorString = unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int;
            type ErrorClass = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
            library.function::<ErrorString>("MPI_Error_string")(code, text.as_mut_ptr(), &mut length);
            let said = CStr::from_ptr(text.as_ptr()).to_str().unwrap();
            assert!(said.contains(name.as_str()), "{name} is {code}: {said}");
            library.function::<ErrorClass>("MPI_Error_class")(code, &mut class);
        }
        assert_eq!(class, code, "{name}");
        seen += 1;
    }
    seen
}

/// Error classes of fault tolerance go both ways: as arguments, as results, and in a status.
fn classes_of_failures_are(library: Library, facts: &Facts, wanted: [c_int; 3]) {
    let error = facts["offsetof(MPI_Status,MPI_ERROR)"].parse::<usize>().unwrap() / 4;
    for class in wanted {
        let (mut code, mut found, mut status) = (0, 0, [0 as c_int; 8]);
        // SAFETY: as the standard has them, with room enough.
        unsafe {
            type Convert = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
            type Set = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
            assert_eq!(library.function::<Convert>("MPI_Add_error_code")(class, &mut code), 0);
            assert_eq!(library.function::<Convert>("MPI_Error_class")(code, &mut found), 0);
            assert_eq!(library.function::<Set>("MPI_Status_set_error")(status.as_mut_ptr(), class), 0);
        }
        assert!(code > facts["MPI_ERR_LASTCODE"].parse().unwrap(), "{code}");
        assert_eq!((found, status[error]), (class, class));
    }
}

/// The key of the attribute that tells whether failures are survived, and MPI_COMM_WORLD as C passes it.
fn survival_is_told(library: Library, keyval: c_int, world: usize) -> bool {
    let (mut value, mut flag) = (std::ptr::null::<c_int>(), 0);
    // SAFETY: as the standard has it; the value is the address of an int that stays.
    unsafe {
        type Get = unsafe extern "C" fn(usize, c_int, *mut *const c_int, *mut c_int) -> c_int;
        let code = library.function::<Get>("MPI_Comm_get_attr")(world, keyval, &mut value, &mut flag);
        code == 0 && flag == 1 && [0, 1].contains(&*value)
    }
}

/// The parts of a status lie where the facts say.
fn status_has_its_layout(library: Library, facts: &Facts) {
    let offset = |field: &str| facts[&format!("offsetof(MPI_Status,{field})")].parse::<usize>().unwrap() / 4;
    let size = facts["sizeof(MPI_Status)"].parse::<usize>().unwrap() / 4;
    let mut status = [0x5555_5555 as c_int; 16];
    // SAFETY: as the standard has them, with room enough, aligned as a status is.
    unsafe {
        type Set = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
        type Elements = unsafe extern "C" fn(*mut c_int, usize, i64) -> c_int;
        type Count = unsafe extern "C" fn(*const c_int, usize, *mut i64) -> c_int;
        status[..size].fill(0);
        let status = status.as_mut_ptr();
        let int = handle(library, facts, "MPI_INT").unwrap();
        let set = |name: &str, value| assert_eq!(library.function::<Set>(name)(status, value), 0, "{name}");
        set("MPI_Status_set_source", 11);
        set("MPI_Status_set_tag", 12);
        set("MPI_Status_set_error", facts["MPI_ERR_TRUNCATE"].parse().unwrap());
        let many = 5_000_000_000;
        assert_eq!(library.function::<Elements>("MPI_Status_set_elements_x")(status, int, many), 0);
        set("MPI_Status_set_cancelled", 1);
        let at = |index: usize| *status.add(index);
        assert_eq!((at(offset("MPI_SOURCE")), at(offset("MPI_TAG"))), (11, 12));
        assert_eq!(at(offset("MPI_ERROR")).to_string(), facts["MPI_ERR_TRUNCATE"]);
        let mut elements = 0;
        assert_eq!(library.function::<Count>("MPI_Get_elements_x")(status, int, &mut elements), 0);
        assert_eq!(elements, many);
        type Cancelled = unsafe extern "C" fn(*const c_int, *mut c_int) -> c_int;
        let mut cancelled = 0;
        library.function::<Cancelled>("MPI_Test_cancelled")(status, &mut cancelled);
        assert_eq!(cancelled, 1);
        if facts.contains_key("offsetof(MPI_Status,_ucount)") {
            assert_eq!(at(offset("_cancelled")), 1);
            let count = status.add(offset("_ucount")).cast::<u64>().read_unaligned();
            assert_eq!(count, 4 * many as u64);
        } else {
            let count = 4 * many as u64;
            assert_eq!(at(offset("count_lo")) as u32, count as u32);
            assert_eq!(at(offset("count_hi_and_cancelled")) as u64, count >> 32 << 1 | 1);
        }
        assert_eq!(at(size), 0x5555_5555, "nothing is written behind a status");
    }
}

/// MPI_PROC_NULL as a source, and MPI_ANY_TAG, both ways.
fn proc_null_answers(library: Library, facts: &Facts) {
    let value = |name: &str| facts[name].parse::<c_int>().unwrap();
    let offset = |field: &str| facts[&format!("offsetof(MPI_Status,{field})")].parse::<usize>().unwrap() / 4;
    let of = |name: &str| handle(library, facts, name).unwrap();
    let mut status = [0 as c_int; 8];
    // SAFETY: as the standard has it.
    unsafe {
        type Recv = unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, c_int, usize, *mut c_int) -> c_int;
        let recv = library.function::<Recv>("MPI_Recv");
        let (source, tag) = (value("MPI_PROC_NULL"), value("MPI_ANY_TAG"));
        let code = recv(null_mut(), 0, of("MPI_INT"), source, tag, of("MPI_COMM_WORLD"), status.as_mut_ptr());
        assert_eq!(code, 0);
    }
    assert_eq!(status[offset("MPI_SOURCE")], value("MPI_PROC_NULL"));
    assert_eq!(status[offset("MPI_TAG")], value("MPI_ANY_TAG"));
}

#[test]
fn mpich_is_as_the_facts_say() {
    let (library, facts) = (both().0, facts("mpich", "constants"));
    assert!(datatypes_have_their_names(library, &facts) > 65);
    assert!(errors_have_their_texts(library, &facts) > 75);
    classes_of_failures_are(library, &facts, [101, 102, 103]);
    status_has_its_layout(library, &facts);
    proc_null_answers(library, &facts);
}

#[test]
fn open_mpi_is_as_the_facts_say() {
    let (library, facts) = (both().1, facts("openmpi", "constants"));
    assert!(datatypes_have_their_names(library, &facts) > 60);
    assert!(errors_have_their_texts(library, &facts) > 75);
    classes_of_failures_are(library, &facts, [75, 76, 77]);
    let world = handle(library, &facts, "MPI_COMM_WORLD").unwrap();
    assert!(survival_is_told(library, facts["MPI_FT"].parse().unwrap(), world));
    status_has_its_layout(library, &facts);
    proc_null_answers(library, &facts);
}

#[test]
fn fortrans_numbers_of_open_mpi_are_as_the_facts_say() {
    let (_, library) = both();
    let (c, fortran) = (facts("openmpi", "constants"), facts("openmpi", "fortran"));
    let mut seen = 0;
    for (name, number) in &fortran {
        let Some(handle) = handle(library, &c, name) else { continue };
        let object = &c[name];
        let kind =
            ["comm", "group", "op", "errhandler", "errors", "info", "request", "message", "win", "file", "instance"]
                .into_iter()
                .find(|kind| object.split('_').nth(2) == Some(kind) || object.split('_').nth(1) == Some(kind));
        let function = match kind {
            Some("comm") => "MPI_Comm_c2f",
            Some("group") => "MPI_Group_c2f",
            Some("op") => "MPI_Op_c2f",
            Some("errhandler" | "errors") => "MPI_Errhandler_c2f",
            Some("info") => "MPI_Info_c2f",
            Some("request") => "MPI_Request_c2f",
            Some("message") => "MPI_Message_c2f",
            Some("win") => "MPI_Win_c2f",
            Some("file") => "MPI_File_c2f",
            Some("instance") => "MPI_Session_c2f",
            _ => "MPI_Type_c2f",
        };
        if ["MPI_LB", "MPI_UB", "MPI_2COMPLEX", "MPI_2DOUBLE_COMPLEX"].contains(&name.as_str()) {
            continue;
        }
        // SAFETY: as the interface has it.
        unsafe {
            let to: unsafe extern "C" fn(usize) -> c_int = library.function(function);
            let from: unsafe extern "C" fn(c_int) -> usize = library.function(&function.replace("c2f", "f2c"));
            assert_eq!(to(handle).to_string(), *number, "{name}");
            assert_eq!(from(to(handle)), handle, "{name}");
        }
        seen += 1;
    }
    assert!(seen > 90, "{seen}");
}

fn listing(library: &str) -> String {
    let output = Command::new("readelf").args(["-W", "-d", "--dyn-syms"]).arg(folder().join(library)).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Programs that copy an object to themselves copy as many bytes as these.
#[test]
fn objects_of_open_mpi_have_their_sizes() {
    let listing = listing("libmpi.so.40");
    let mut seen = 0;
    for (name, size) in facts("openmpi", "constants") {
        let Some(object) = name.strip_prefix("size(").and_then(|n| n.strip_suffix(')')) else { continue };
        let line = listing.lines().find(|line| line.split_whitespace().last() == Some(object));
        let line = line.unwrap_or_else(|| panic!("no object {object}"));
        assert_eq!(line.split_whitespace().nth(2), Some(size.as_str()), "{object}");
        seen += 1;
    }
    assert!(seen > 95, "{seen}");
}

/// All functions of the standard and its extensions, so that none of the core's is found for one of the face's; and what MPI-3.0 removed.
#[test]
fn faces_export_every_function_and_find_the_core() {
    let functions = listing("libmpi_abi.so.1");
    for face in ["libmpi.so.12", "libmpi.so.40"] {
        let listing = listing(face);
        assert!(listing.contains(&format!("soname: [{face}]")));
        assert!(listing.contains("[libmpi_abi.so.1]") && listing.contains("[$ORIGIN]"));
        let names: Vec<&str> =
            listing.lines().filter(|l| !l.contains(" UND ")).filter_map(|l| l.split_whitespace().last()).collect();
        let all = functions.lines().filter(|l| l.contains(" FUNC ") && !l.contains(" UND "));
        let mut missing: Vec<&str> = all.filter_map(|l| l.split_whitespace().last()).collect();
        // Questions about graphics cards have no handles: a face has those of its library, and the core answers the others alike.
        let is_answered = |name: &str| ["MPIX_Query_", "MPIX_GPU_query_"].iter().any(|part| name.starts_with(part));
        missing.retain(|name| !is_answered(name));
        missing.retain(|name| ["MPI_", "MPIX_"].iter().any(|part| name.contains(part)) && !names.contains(name));
        assert!(missing.is_empty(), "{face}: {missing:?}");
        for old in ["Address", "Errhandler_create", "Errhandler_get", "Errhandler_set", "Type_extent", "Type_hindexed"]
            .into_iter()
            .chain(["Type_hvector", "Type_lb", "Type_struct", "Type_ub", "Status_c2f", "Status_f2c", "Comm_c2f"])
        {
            assert!(names.contains(&format!("MPI_{old}").as_str()), "{face}: MPI_{old}");
            assert!(names.contains(&format!("PMPI_{old}").as_str()), "{face}: PMPI_{old}");
        }
    }
}
