//! Several programs, their environment, directories and cores.

mod common;

use common::{Job, mpiexec};

#[test]
fn programs_are_ranked_in_order() {
    let run = mpiexec(&[
        "-n",
        "2",
        "sh",
        "-c",
        "echo $TERN_RANK/$TERN_SIZE a",
        ":",
        "-np",
        "1",
        "sh",
        "-c",
        "echo $TERN_RANK/$TERN_SIZE b",
        ":",
        "sh",
        "-c",
        "echo $TERN_RANK/$TERN_SIZE c",
    ]);
    assert_eq!(run.sorted(), ["0/4 a", "1/4 a", "2/4 b", "3/4 c"]);
}

#[test]
fn environment_is_inherited_added_and_replaced() {
    let script = "echo $TERN_RANK:$INHERITED:$ADDED:$REPLACED:$GLOBAL";
    let job = Job::new(&[
        "-genv",
        "GLOBAL",
        "g",
        "-n",
        "1",
        "-env",
        "ADDED",
        "a b=c",
        "-x",
        "REPLACED=new",
        "-x",
        "INHERITED",
        "sh",
        "-c",
        script,
        ":",
        "-n",
        "1",
        "-env",
        "GLOBAL",
        "own",
        "sh",
        "-c",
        script,
    ]);
    let run = job.with(|command| {
        command.env("INHERITED", "i").env("REPLACED", "old");
    });
    assert_eq!(run.run().sorted(), ["0:i:a b=c:new:g", "1:i::old:own"]);
}

#[test]
fn each_variable_is_there_once() {
    let run = mpiexec(&["-env", "A", "1", "-env", "A", "2", "sh", "-c", "env | grep ^A="]);
    assert_eq!(run.out, "A=2\n");
    // A job inside a job: the inner ranks are told their own places only.
    let mpiexec_path = env!("CARGO_BIN_EXE_mpiexec");
    let inner = "env | grep -c ^TERN_LAUNCH=; echo $TERN_RANK/$TERN_SIZE";
    let run = mpiexec(&["-n", "1", mpiexec_path, "-n", "2", "sh", "-c", inner]);
    assert_eq!(run.sorted(), ["0/2", "1", "1", "1/2"]);
}

#[test]
fn each_program_has_its_directory() {
    let run = mpiexec(&["-wdir", "/usr", "pwd", ":", "--wdir=/etc", "pwd"]);
    assert_eq!(run.sorted(), ["/etc", "/usr"]);
    // A relative program is meant in that directory.
    let run = mpiexec(&["-wdir", "/bin", "./sh", "-c", "pwd -P"]);
    assert_eq!(run.out.trim_end(), std::fs::canonicalize("/bin").unwrap().to_str().unwrap());
}

#[test]
fn a_wrong_setting_is_told_once() {
    let run = Job::new(&["-n", "2", "-env", "TERN_YEILD", "1", "true"]).with(|command| {
        command.env("TERN_SPIN", "lots").env("TERN_LOGG", "debug");
    });
    let run = run.run();
    assert_eq!(run.code, Some(0));
    for says in ["did you mean TERN_YIELD?", "TERN_SPIN=lots: ", "did you mean TERN_LOG?"] {
        assert_eq!(run.err.matches(says).count(), 1, "{says}: {}", run.err);
    }
    assert_eq!(run.err.lines().count(), 3, "{}", run.err);
    let run = Job::new(&["-n", "2", "sh", "-c", "echo $TERN_LAUNCH"]).with(|command| {
        command.env("TERN_SPIN", "lots");
    });
    let run = run.run();
    assert_eq!(run.out.matches("warned=TERN_SPIN").count(), 2, "{}", run.out);
}

/// A file of settings that is removed with it.
struct Conf(std::path::PathBuf);

impl Conf {
    fn new(name: &str, text: &str) -> Conf {
        let path = std::env::temp_dir().join(format!("tern-conf-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("a file");
        Conf(path)
    }
}

impl Drop for Conf {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn ranks_get_what_files_say_unless_the_user_says_otherwise() {
    let conf =
        Conf::new("passed", "TERN_SPIN = 7   # looks\nTERN_YIELD=5\nTERN_YIELD = lots\nTERN_LOGG = debug\nnothing\n");
    let show = "echo $TERN_SPIN/$TERN_YIELD/$TERN_STALL";
    let job = Job::new(&["-n", "2", "sh", "-c", show]).with(|command| {
        command.env("TERN_CONF", &conf.0).env("TERN_STALL", "9s");
    });
    let run = job.run();
    assert_eq!((run.code, run.out.as_str()), (Some(0), "7//9s\n7//9s\n"), "{}", run.err);
    let place = conf.0.display();
    for says in [":3: TERN_YIELD=lots: ", ":4: TERN_LOGG is not a setting", ":5: \"nothing\" is not a line"] {
        assert_eq!(run.err.matches(&format!("{place}{says}")).count(), 1, "{says}: {}", run.err);
    }
    assert_eq!(run.err.lines().count(), 3, "{}", run.err);
    let job = Job::new(&["-n", "1", "-x", "TERN_SPIN=8", "sh", "-c", show]).with(|command| {
        command.env("TERN_CONF", &conf.0).env("TERN_LOG", "error").env_remove("TERN_STALL");
    });
    assert_eq!(job.run().out, "8//\n");
}

/// The cores that this test may use, as the launcher sees them.
fn cores() -> Vec<usize> {
    tern_node::affinity()
}

const MASK: &str = "grep Cpus_allowed_list /proc/self/status | tr -d '\\t' | cut -d: -f2";

#[test]
fn ranks_get_equal_shares_of_the_cores() {
    let cores = cores();
    let ranks = cores.len().min(2);
    let run = mpiexec(&["-n", &ranks.to_string(), "sh", "-c", MASK]);
    let masks: Vec<Vec<usize>> = run.out.lines().map(parse_list).collect();
    assert_eq!(masks.len(), ranks);
    let mut all = masks.concat();
    all.sort_unstable();
    assert_eq!(all, cores, "every core is given once");
    assert!(masks.iter().all(|mask| mask.len() >= cores.len() / ranks));
}

#[test]
fn ranks_are_not_bound_if_there_are_too_many_or_nobody_wants_it() {
    let cores = cores();
    let many = (cores.len() + 1).to_string();
    for args in [&["-n", &many][..], &["-n", "1", "--bind-to", "none"], &["-n", &many, "-bind-to", "core"]] {
        let run = mpiexec(&[args, &["sh", "-c", MASK]].concat());
        // Who has asked for it is told.
        let asked = args.contains(&"core");
        assert_eq!((run.code, run.err.contains("ranks are not bound: ")), (Some(0), asked), "{}", run.err);
        for line in run.out.lines() {
            assert_eq!(parse_list(line), cores, "{args:?}");
        }
    }
}

#[test]
fn bindings_are_reported() {
    let run = mpiexec(&["--report-bindings", "-n", "1", "true"]);
    assert!(run.err.contains("rank 0 (process ") && run.err.contains(") is bound to cores "), "{}", run.err);
    let many = (cores().len() + 1).to_string();
    let run = mpiexec(&["--report-bindings", "-n", &many, "true"]);
    assert_eq!(run.err.matches("is not bound (cores ").count(), cores().len() + 1, "{}", run.err);
}

#[test]
fn on_a_machine_that_is_only_shown_nobody_is_bound_for_real() {
    let folder = std::env::temp_dir().join(format!("tern-shown-{}", std::process::id()));
    "2x1x6x8x1".parse::<tern_node::Made>().unwrap().write(&folder).unwrap();
    let run = |args: &[&str]| {
        let show = format!("echo $TERN_BOUND; {MASK}");
        let job = Job::new(&[args, &["sh", "-c", &show]].concat()).with(|command| {
            command.env("TERN_TOPOLOGY", &folder).env_remove("TERN_BOUND");
        });
        job.run()
    };
    let real = tern_node::list(&tern_node::kernel_affinity());
    let two = run(&["-n", "2", "--report-bindings"]);
    assert_eq!(two.sorted(), {
        let mut lines = ["0-47", "48-95", &real, &real];
        lines.sort_unstable();
        lines
    });
    assert!(two.err.contains(") is bound to cores 48-95 ["), "{}", two.err);
    assert_eq!(run(&["-n", "1", "--cpu-set", "95"]).out, format!("95\n{real}\n"));
    // Who is bound to nothing counts as being anywhere.
    assert_eq!(run(&["-n", "1", "--bind-to", "none"]).out, format!("\n{real}\n"));
    std::fs::remove_dir_all(&folder).unwrap();
    let gone = run(&["-n", "1"]);
    assert!(gone.code == Some(2) && gone.err.contains("there is no list of hardware threads"), "{gone:?}");
}

fn parse_list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        from.parse::<usize>().unwrap()..=to.parse().unwrap()
    };
    text.trim().split(',').flat_map(range).collect()
}

#[test]
fn only_what_is_asked_for_is_inherited() {
    let run = |args: &[&str]| {
        let job = Job::new(&[args, &["/usr/bin/env"]].concat()).with(|command| {
            command.env("TERN_TEST_ONE", "1").env("TERN_TEST_TWO", "2");
        });
        let run = job.run();
        assert_eq!(run.code, Some(0), "{run:?}");
        let own = ["TERN_RANK", "TERN_SIZE", "TERN_LAUNCH", "LD_LIBRARY_PATH"];
        let lines = run.out.lines().filter(|line| own.iter().all(|own| !line.starts_with(own)));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort();
        lines.join(" ")
    };
    assert_eq!(run(&["-envnone", "-x", "A=1"]), "A=1");
    assert_eq!(run(&["-genvlist", "TERN_TEST_TWO", "-genv", "B", "3"]), "B=3 TERN_TEST_TWO=2");
    assert!(run(&["-envall"]).contains("TERN_TEST_ONE=1 TERN_TEST_TWO=2"));
    // A program without a path is still found.
    assert_eq!(mpiexec(&["-envnone", "true"]).code, Some(0));
}

#[test]
fn programs_are_looked_for_where_the_user_says() {
    let run = mpiexec(&["-path", "/usr/bin:/bin", "-x", "PATH=/no/where", "true"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = mpiexec(&["-path", "/no/where", "true"]);
    assert_eq!(run.code, Some(127), "{run:?}");
    let run = mpiexec(&["-arch", "m68k", "true"]);
    assert!(run.code == Some(126) && run.err.contains("true is for m68k (-arch); this machine is "), "{run:?}");
}

#[test]
fn a_file_may_stand_for_the_command_line() {
    let path = std::env::temp_dir().join(format!("tern-config-{}", std::process::id()));
    std::fs::write(&path, "# two\n-n 1 -env A 'a b' sh -c 'echo 0 $A' :\n-n 2 sh -c \"echo 1\"\n").unwrap();
    let run = mpiexec(&["-l", "-configfile", path.to_str().unwrap()]);
    std::fs::remove_file(path).unwrap();
    assert_eq!(run.sorted(), ["[0] 0 a b", "[1] 1", "[2] 1"]);
}

#[test]
fn this_machine_by_any_name_needs_no_agent() {
    let run = mpiexec(&["-v", "--hosts", "127.0.0.1,::1", "--remote-shell", "/no/shell", "-n", "2", "true"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(!run.err.contains("host 127"), "{run:?}");
}

#[test]
fn the_end_of_each_rank_is_told_if_asked_for() {
    let run = mpiexec(&["-print-all-exitcodes", "-n", "2", "sh", "-c", "exit 0"]);
    assert_eq!(run.err.matches("exited with code 0").count(), 2, "{run:?}");
}

#[test]
fn ranks_run_where_the_user_says() {
    let cores = cores();
    let Some(last) = cores.last().filter(|_| cores.len() > 1).map(usize::to_string) else {
        eprintln!("skipped: this process may use one core only");
        return;
    };
    let affinity = "taskset -pc $$ | sed 's/.*: //'";
    let at = |options: &[&str]| {
        let run = mpiexec(&[options, &["-l", "sh", "-c", affinity]].concat());
        (run.sorted().join(" "), run.err)
    };
    assert_eq!(at(&["--cpu-set", &last]).0, format!("[0] {last}"));
    let turned = format!("{last},{}", cores[0]);
    assert_eq!(at(&["-n", "2", "--cpu-list", &turned]).0, format!("[0] {last} [1] {}", cores[0]));
    let (out, err) = at(&["-n", "2", "--map-by", "hwthread", "--report-bindings"]);
    assert_eq!(out.split("] ").count(), 3, "{out}");
    assert!(err.contains("rank 1 (process ") && err.contains('B'), "{err}");
    let many = (cores.len() + 1).to_string();
    let (_, err) = at(&["-n", &many, "--bind-to", "hwthread"]);
    assert!(err.contains("ranks are not bound: they need"), "{err}");
    let (_, err) = at(&["-n", &many, "--nooversubscribe"]);
    assert!(err.contains("--oversubscribe allows that"), "{err}");
    let (_, err) = at(&["-n", "3", "--map-by", "ppr:2:node"]);
    assert!(err.contains("ppr:2:node places 2 ranks on one host, not 3 (-n)"), "{err}");
}
