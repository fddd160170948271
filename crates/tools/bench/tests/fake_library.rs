//! The runner as a whole, on a library that is not one: a script in place of mpiexec prints
//! figures, fails or hangs as told.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that is removed with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tern-bench-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An installed prefix whose mpiexec is the script, and sources of a program that it ignores.
fn fake(folder: &Path, script: &str) {
    for part in ["prefix/bin", "prefix/lib", "prefix/include", "source"] {
        fs::create_dir_all(folder.join(part)).unwrap();
    }
    fs::write(folder.join("prefix/include/mpi.h"), "").unwrap();
    fs::write(folder.join("source/main.c"), "#include <mpi.h>\nint main(void) { return 0; }\n").unwrap();
    fs::write(folder.join("empty.c"), "int tern_fake;\n").unwrap();
    let library = folder.join("prefix/lib/libmpi_abi.so.1");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(library)
        .arg(folder.join("empty.c"))
        .status()
        .expect("these tests need a C compiler");
    assert!(compiled.success());
    let launcher = folder.join("prefix/bin/mpiexec");
    fs::write(&launcher, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
}

fn bench(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tern-bench"))
        .args(arguments)
        .args(["--cores", "1", "--patience", "0", "--tern"])
        .arg(folder.join("prefix"))
        .arg("--source")
        .arg(folder.join("source"))
        .arg("--output")
        .arg(folder.join("out"))
        .env("TERN_PEERS_DIR", folder.join("no-peers"))
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn figures_come_into_the_table_and_the_files() {
    let scratch = Scratch::new("figures");
    fake(&scratch.0, "echo 'a warning of the library'; echo 'rate 8 30.5 M/s low=1'");
    let output = bench(&scratch.0, &["p2p", "--only", "rate", "--rounds", "3", "--libraries", "tern"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("| rate | 8 B | M/s | **30.5** ±0 | - | 3 |"));
    let csv = fs::read_to_string(scratch.0.join("out/figures.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 3, "{csv}");
    let json = fs::read_to_string(scratch.0.join("out/figures.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["figures"][0]["median"], 30.5);
    assert_eq!(json["figures"][0]["count"], 3);
}

#[test]
fn a_missing_peer_is_told_and_does_not_stop_the_others() {
    let scratch = Scratch::new("missing");
    fake(&scratch.0, "echo 'rate 8 30.5 M/s'");
    let output = bench(&scratch.0, &["p2p", "--only", "rate", "--rounds", "1"]);
    assert!(output.status.success());
    for peer in ["mpich", "openmpi", "openmpi-ucx", "impi"] {
        assert!(text(&output.stderr).contains(&format!("SKIPPED {peer}")), "{peer}");
        assert!(text(&output.stdout).contains(&format!("- {peer}, all: ")), "{peer}");
    }
}

#[test]
fn a_benchmark_that_fails_leaves_its_neighbours_their_figures() {
    let scratch = Scratch::new("neighbours");
    let script = "case \"$*\" in *bcast*) echo tern_mpi_bench: no bcast >&2; exit 1;; esac\n\
                  echo 'barrier 0 0.1 us'";
    fake(&scratch.0, script);
    let output = bench(&scratch.0, &["coll", "--only", "barrier,bcast", "--rounds", "2", "--libraries", "tern"]);
    let table = text(&output.stdout);
    assert!(table.contains("| barrier | 0 B | us | **0.100** | - |"), "{table}");
    assert!(table.contains("- tern, bcast with 2 ranks: exit status: 1: tern_mpi_bench: no bcast"), "{table}");
}

#[test]
fn a_library_that_hangs_is_stopped_and_told() {
    let scratch = Scratch::new("hang");
    fake(&scratch.0, "sleep 1000");
    let arguments = ["p2p", "--only", "rate", "--rounds", "2", "--libraries", "tern", "--timeout", "1"];
    let output = bench(&scratch.0, &arguments);
    assert!(!output.status.success(), "nothing was measured, so this is a failure");
    assert!(text(&output.stdout).contains("stopped after 1 s"));
}

#[test]
fn a_launch_that_is_stopped_leaves_the_figures_that_it_had() {
    let scratch = Scratch::new("stopped");
    fake(&scratch.0, "echo 'barrier 0 0.1 us'; echo >> \"$(dirname \"$0\")/launches\"; sleep 1000");
    let arguments = ["coll", "--only", "barrier,bcast", "--rounds", "2", "--libraries", "tern", "--timeout", "1"];
    let table = text(&bench(&scratch.0, &arguments).stdout);
    assert!(table.contains("| barrier | 0 B | us | **0.100** | - |"), "{table}");
    assert!(table.contains("stopped after 1 s, with the figures that it had"), "{table}");
    let launches = fs::read_to_string(scratch.0.join("prefix/bin/launches")).unwrap();
    assert_eq!(launches.lines().count(), 1, "it is not tried again");
}

#[test]
fn start_up_figures_include_the_wall_time() {
    let scratch = Scratch::new("startup");
    fake(&scratch.0, "case \"$*\" in *hello*) echo 'hello 2 1.5 ms';; *) echo 'memory 2 3.5 MiB';; esac");
    let arguments = ["startup", "--ranks", "2", "--rounds", "1", "--libraries", "tern"];
    let output = bench(&scratch.0, &arguments);
    let table = text(&output.stdout);
    for row in ["| hello | 2 ranks | ms |", "| launch | 2 ranks | ms |", "| memory | 2 ranks | MiB |"] {
        assert!(table.contains(row), "{table}");
    }
}

#[test]
fn a_line_runs_a_library_with_settings() {
    let scratch = Scratch::new("line");
    fake(&scratch.0, "echo \"rate 8 ${TERN_SPIN:-5} M/s\"");
    let arguments =
        ["p2p", "--only", "rate", "--rounds", "1", "--libraries", "tern", "--line", "patient=tern:TERN_SPIN=7"];
    let output = bench(&scratch.0, &arguments);
    let table = text(&output.stdout);
    assert!(table.contains("| Tern | patient | Tern's lead |"), "{table}");
    assert!(table.contains("| rate | 8 B | M/s | 5.00 | **7.00** | - | 1 |"), "{table}");
}

/// The ranks look where their cores are: figures from near each other and from far apart have a table each, and what was
/// measured while that changed has none.
#[test]
fn near_and_far_have_a_table_each() {
    let scratch = Scratch::new("places");
    let lines = ["3 M/s line_ns=50.0,60.0", "1 M/s line_ns=150.0,260.0", "9 M/s line_ns=50.0,160.0"];
    let script: Vec<String> = lines.iter().map(|line| format!("echo 'rate 8 {line}'")).collect();
    fake(&scratch.0, &script.join("; "));
    let output = bench(&scratch.0, &["p2p", "--only", "rate", "--rounds", "3", "--libraries", "tern"]);
    let table = text(&output.stdout);
    assert!(table.contains("took 55 ns") && table.contains("far apart (205 ns)"), "{table}");
    assert!(table.contains("| rate | 8 B | M/s | **3.00** ±0 | - | 3 |"), "{table}");
    let (_, far) = table.split_once("cores far apart**").unwrap();
    assert!(far.contains("| rate | 8 B | M/s | **1.00** ±0 | - | 3 |"), "{far}");
}

/// The experiments about KNEM have a column for each mechanism; what is not there is told, the kernel module too.
#[test]
fn mechanisms_have_a_column_each_and_what_is_not_there_is_told() {
    let scratch = Scratch::new("knem");
    fake(
        &scratch.0,
        "echo \"pingpong 65536 ${TERN_MECHANISM:-auto} us\" | sed 's/auto/1.5/; s/pipe/2.5/; s/cma/3.5/; s/mapped/4.5/'",
    );
    let output = bench(&scratch.0, &["knem", "--quick", "--only", "pingpong,exchange", "--libraries", "tern"]);
    let (table, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}");
    assert!(table.contains("| Tern | pipe | mapped | cma | Tern's lead |"), "{table}");
    assert!(table.contains("| pingpong | 64 KiB | us | **1.50** | 2.50 | 4.50 | 3.50 | - | 1 |"), "{table}");
    assert!(
        table.contains("| sender writes | receiver reads | both halves | region to region | copy thread |"),
        "{table}"
    );
    for (missing, why) in [("asp", "demo/asp.c is not there"), ("is.A.2", "--npb names the folder")] {
        assert!(told.contains(&format!("SKIPPED {missing}")) && told.contains(why), "{told}");
    }
    if !Path::new("/dev/tern").exists() {
        assert!(told.contains("SKIPPED module, all: /dev/tern: "), "{told}");
    }
    let plots = fs::read_dir(scratch.0.join("out/knem")).unwrap().flatten().map(|file| file.file_name());
    let plots: Vec<String> =
        plots.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".svg")).collect();
    assert_eq!(plots.len(), 2, "{plots:?}");
}

/// Runs `scale` with these words after its own, on one core and thus with two ranks that share it.
fn scale(folder: &Path, words: &[&str]) -> Output {
    let own = ["scale", "--only", "barrier", "--sizes", "8", "--timeout", "1", "--libraries"];
    bench(folder, &[&own, words].concat())
}

fn launches(folder: &Path) -> usize {
    fs::read_to_string(folder.join("prefix/bin/launches")).map_or(0, |text| text.lines().count())
}

const NOTED: &str = "echo >> \"$(dirname \"$0\")/launches\"; ";

/// Rounds that are there are not measured again; what is asked for otherwise is measured anew.
#[test]
fn scale_goes_on_where_it_stopped() {
    let scratch = Scratch::new("scale-on");
    fake(&scratch.0, &format!("{NOTED}echo 'barrier 0 1.5 us'"));
    let told = |words: &[&str]| {
        let output = scale(&scratch.0, words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stderr), launches(&scratch.0))
    };
    assert_eq!(told(&["tern", "--rounds", "1"]).1, 1);
    let (said, count) = told(&["tern", "--rounds", "3"]);
    assert!(said.contains("goes on: 2 of 3 jobs and rounds are left"), "{said}");
    assert_eq!(count, 3);
    let (said, count) = told(&["tern", "--rounds", "3"]);
    assert!(said.contains("3 rounds of all jobs: nothing is left"), "{said}");
    assert_eq!(count, 3);
    let report = fs::read_to_string(scratch.0.join("out/scale/report.md")).unwrap();
    assert!(report.contains("| - | **1.50** ±0 | - | 3 |"), "{report}");
    let (said, count) = told(&["tern", "--rounds", "1", "--line", "patient=tern:TERN_SPIN=7"]);
    assert!(said.contains("measured anew: 1 job, "), "{said}");
    assert_eq!(count, 5);
    assert_eq!(told(&["tern", "--rounds", "1", "--line", "patient=tern:TERN_SPIN=7", "--again"]).1, 7);
}

/// An Open MPI of which a component is there and another is not: the one has a line with its priority, the other is told.
#[test]
fn scale_gives_components_that_are_there_their_priority() {
    let scratch = Scratch::new("scale-components");
    fake(&scratch.0, "echo \"barrier 0 ${OMPI_MCA_coll_xhc_priority:-9} us\"");
    let prefix = scratch.0.join("prefix");
    fs::copy(prefix.join("lib/libmpi_abi.so.1"), prefix.join("lib/libmpi.so.40")).unwrap();
    let info = prefix.join("bin/ompi_info");
    fs::write(&info, "#!/bin/sh\necho 'mca:coll:xhc:version:\"mca:2.1.0\"'\n").unwrap();
    fs::set_permissions(&info, fs::Permissions::from_mode(0o755)).unwrap();
    let output = scale(&scratch.0, &["tern,openmpi,mpich", "--rounds", "1", "--openmpi", prefix.to_str().unwrap()]);
    let (told, report) = (text(&output.stderr), fs::read_to_string(scratch.0.join("out/scale/report.md")).unwrap());
    assert!(report.contains("| size | Tern | Open MPI | openmpi-xhc | ratio | n |"), "{report}");
    assert!(report.contains("| - | **9.00** | **9.00** | 40.0 | 1.00 | 1 |"), "{report}");
    for (missing, why) in [("openmpi-acoll", "no component coll/acoll"), ("mpich", "run `tern-bench peers`")] {
        assert!(told.contains(&format!("SKIPPED {missing}, all: ")) && told.contains(why), "{told}");
        assert!(report.contains(&format!("- {missing}, all: ")), "{report}");
    }
}

/// A line that hangs is stopped once, and the others have their rounds.
#[test]
fn scale_does_not_wait_again_for_a_line_that_hangs() {
    let scratch = Scratch::new("scale-hang");
    fake(&scratch.0, &format!("{NOTED}[ -z \"$TERN_SPIN\" ] || sleep 1000; echo 'barrier 0 1.5 us'"));
    let output = scale(&scratch.0, &["tern", "--rounds", "3", "--line", "stuck=tern:TERN_SPIN=7"]);
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert_eq!(told.matches("SKIPPED stuck, barrier with 2 ranks: stopped after 1 s").count(), 1, "{told}");
    assert_eq!(launches(&scratch.0), 3 + 1);
}

/// What cannot be asked for is refused before anything runs.
#[test]
fn scale_refuses_what_it_does_not_have() {
    let scratch = Scratch::new("scale-words");
    fake(&scratch.0, NOTED);
    for (words, why) in [
        (["tern", "--only", "pingpong"], "no benchmark pingpong in this suite, which has barrier,"),
        (["tern", "--ranks", "1"], "--ranks 1: a collective has two ranks or more"),
        (["tern", "--sizes", "12"], "--sizes 12: a size is a multiple of 8"),
        (["tern", "--results", "/dev/null"], "/dev/null: "),
    ] {
        let output = scale(&scratch.0, &words);
        assert!(!output.status.success() && text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
    assert_eq!(launches(&scratch.0), 0);
}
