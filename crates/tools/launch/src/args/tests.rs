use super::*;
use crate::options::Streams;
use crate::place::{Bind, Map, Policy, RankBy};
use tern_node::Unit;
use tern_settings::Starter;

fn run(line: &str) -> Options {
    match parse(line.split(' ').map(OsString::from), &|_| None) {
        Ok(Command::Run(options)) => *options,
        other => panic!("{line}: {other:?}"),
    }
}

fn error(line: &str) -> String {
    parse(line.split(' ').map(OsString::from), &|_| None).unwrap_err()
}

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

#[test]
fn options_end_at_the_program() {
    let options = run("-n 3 prog -n 7 --bind-to x");
    assert_eq!(options.programs.len(), 1);
    assert_eq!(options.programs[0].count, 3);
    assert_eq!(options.programs[0].command, words("prog -n 7 --bind-to x"));
    assert_eq!(run("-n 2 -- -odd name").programs[0].command, words("-odd name"));
    assert_eq!(run("prog").programs[0].count, 1);
}

#[test]
fn one_dash_or_two_or_an_equals_sign() {
    for line in ["-np 4 p", "--np 4 p", "-n 4 p", "--n 4 p", "--np=4 p", "-n=4 p"] {
        assert_eq!(run(line).programs[0].count, 4, "{line}");
    }
    for line in ["-bind-to none p", "--bind-to none p", "--bind-to=none p"] {
        assert_eq!(run(line).policy.bind, Bind::None, "{line}");
    }
    for line in ["-wdir /tmp p", "--wdir /tmp p", "-wd /tmp p", "--wdir=/tmp p"] {
        assert_eq!(run(line).programs[0].wdir, Some("/tmp".into()), "{line}");
    }
}

#[test]
fn each_program_has_its_own_options() {
    let options = run("-n 2 -env A 1 a x : -n 1 -x B=2=3 -genv C 4 b : c");
    let counts: Vec<u32> = options.programs.iter().map(|program| program.count).collect();
    assert_eq!(counts, [2, 1, 1]);
    assert_eq!(options.programs[0].env, [("A".into(), "1".into())]);
    assert_eq!(options.programs[1].env, [("B".into(), "2=3".into())]);
    assert_eq!(options.env, [("C".into(), "4".into())]);
    assert_eq!(options.programs[2].command, words("c"));
}

#[test]
fn hosts_in_the_manners_of_others() {
    for line in ["--hosts a,b:2 p", "-host a,b:2 p", "-H a,b:2 p", "--host=a,b:2 p"] {
        assert_eq!(run(line).blocks[0].hosts.len(), 2, "{line}");
    }
    assert_eq!(run("--hosts a,b -ppn 3 p").per_host, Some(3));
}

#[test]
fn nodes_are_of_the_whole_job() {
    assert_eq!(run("-n 1 --nodes 2 p : q").nodes, Some(2));
    assert_eq!(run("p").nodes, None);
}

#[test]
fn habits_from_other_launchers() {
    let options = run("--oversubscribe --allow-run-as-root -prepend-rank -n 2 p");
    assert!(options.streams.tag);
    assert_eq!(options.programs[0].count, 2);
    assert_eq!(options.left_out, [""; 0]);
    assert_eq!(run("-c 3 p").programs[0].count, 3);
    assert_eq!(run("-npernode 3 p").per_host, Some(3));
    assert_eq!(run("--bind-to core:overload-allowed p").policy.bind, Bind::Unit(Unit::Core));
    let policy = run("-map-by socket --rank-by=core -bind-to core:2 --use-hwthread-cpus --cpu-set 0-1 p").policy;
    assert_eq!((policy.map, policy.rank), (Map::Unit(Unit::Package), Some(RankBy::Unit(Unit::Core))));
    assert_eq!((policy.each, policy.threads, policy.cpus), (Some(2), true, Some(vec![0, 1])));
    assert_eq!(run("--bynode p").policy.map, Map::Node);
}

#[test]
fn what_only_other_launchers_know_is_left_out_and_told() {
    let options = run("--mca btl self,tcp -np 2 --rankfile f --prefix=/opt p --mca q r");
    assert_eq!(options.left_out, ["--mca btl self,tcp", "--rankfile f", "--prefix /opt"]);
    assert_eq!(options.programs[0].command, words("p --mca q r"));
    assert_eq!(options.policy, Policy::default());
    assert_eq!(error("-n 2 --mca btl"), "--mca needs a value after it");
}

#[test]
fn errors_say_what_to_do() {
    assert_eq!(error("--tag-ouput p"), "unknown option --tag-ouput; did you mean --tag-output?");
    assert_eq!(error("-n4 p"), "unknown option -n4; did you mean -n 4?");
    assert_eq!(error("--ntasks 4 p"), "unknown option --ntasks; did you mean -n?");
    assert_eq!(error("--zzzzzzzz p"), "unknown option --zzzzzzzz; mpiexec --help lists the options");
    assert_eq!(error("-n"), "-n needs a number after it");
    assert_eq!(error("-n 0 p"), "-n needs a number of processes, 1 or more, not 0");
    assert_eq!(error("-n -1 p"), "-n needs a number of processes, 1 or more, not -1");
    assert_eq!(error("-n 2"), "no program given after 2");
    assert_eq!(error("-n 2 p :"), "no program given on one side of ':'");
    assert_eq!(error("--timeout soon p"), "--timeout needs a number of seconds above 0, not soon");
    assert_eq!(
        error("--bind-to chair p"),
        "--bind-to needs none, hwthread, core, l1cache, l2cache, l3cache, numa, package (socket) or board, not chair"
    );
    assert_eq!(error("-n 99999999 p").split(' ').next(), Some("99999999"));
    assert_eq!(error("--nodes 0 p"), "--nodes needs a number of nodes, 1 or more, not 0");
    assert_eq!(error("--ppn 0 p"), "--ppn needs a number of processes, 1 or more, not 0");
    assert_eq!(error("--stdin 4 -n 4 p"), "--stdin 4: the last rank is 3");
    assert_eq!(error("--stdin some p"), "--stdin needs the number of a rank, all or none, not some");
    assert_eq!(error("-soft 5:9 -n 4 p"), "-soft 5:9 allows no number of processes from 1 to 4 (-n)");
    assert!(error("-soft x -n 4 p").starts_with("-soft needs numbers or ranges first:last:step"));
    assert!(error("-initial-errhandler mine p").starts_with("-initial-errhandler needs mpi_errors_are_fatal or "));
    assert!(error("--nolocal --hosts localhost,127.0.0.1 p").starts_with("--nolocal leaves no host"));
    assert!(error("-configfile /dev/null p").contains("p is too much"));
    assert!(error("-file /dev/null/x p").starts_with("-file /dev/null/x: "));
    assert!(error("--hosts a,b --nodes 2 -n 2 p").contains("leave it out"));
    assert!(error("--hosts a:0 p").contains("1 or more"));
    assert!(parse([], &|_| None).unwrap_err().contains("--help"));
}

#[test]
fn help_and_version() {
    assert_eq!(parse(words("-n 2 --help"), &|_| None), Ok(Command::Help));
    assert_eq!(parse(words("--version"), &|_| None), Ok(Command::Version));
    // After the program they are the program's.
    assert_eq!(run("p --help").programs[0].command, words("p --help"));
}

#[test]
fn fewer_ranks_than_nodes_make_fewer_nodes() {
    let options = run("-n 1 --nodes 3 p : q");
    assert_eq!(options.nodes, Some(2));
    assert_eq!(options.notes, ["--nodes 3: there are 2 ranks, so that there are as many nodes"]);
    assert_eq!(run("--nodes 2 p").notes, ["--nodes 2: there is one rank, so that there are as many nodes"]);
    assert_eq!(run("--nodes 2 -n 2 p").notes, [""; 0]);
}

#[test]
fn options_of_the_standard() {
    let options = run("-n 5 -soft 2:4 -path /a:/b -arch m68k -wdir /tmp p : -n 4 -soft 1:9:2 q");
    let counts: Vec<u32> = options.programs.iter().map(|program| program.count).collect();
    assert_eq!(counts, [4, 3]);
    let program = &options.programs[0];
    assert_eq!((program.path.clone(), program.arch.clone()), (Some("/a:/b".into()), Some("m68k".into())));
    let options = run("-initial-errhandler MPI_ERRORS_RETURN -memory-alloc-kinds system,mpi p : q");
    let set = [("TERN_INITIAL_ERRHANDLER", "mpi_errors_return"), ("TERN_MEMORY_ALLOC_KINDS", "system,mpi")];
    assert_eq!(options.programs[0].env, set.map(|(name, value)| (name.into(), value.into())));
    assert_eq!(options.programs[1].env, []);
}

#[test]
fn files_stand_for_options() {
    let scratch = std::env::temp_dir().join(format!("tern-args-{}-{:x}", std::process::id(), tern_pmi::new_job_id()));
    std::fs::create_dir(&scratch).unwrap();
    let (config, keys) = (scratch.join("config"), scratch.join("keys"));
    std::fs::write(&config, "# two programs\n-n 2 one 'a b'\n-n 1 -env A 1 other\n").unwrap();
    let options = run(&format!("-l -wdir /tmp -configfile {}", config.display()));
    assert!(options.streams.tag);
    assert_eq!(options.programs[0].command, [OsString::from("one"), "a b".into()]);
    assert_eq!(options.programs[1].env, [("A".into(), "1".into())]);
    assert!(options.programs.iter().all(|program| program.wdir == Some("/tmp".into())));
    std::fs::write(&config, format!("-configfile {}\n", config.display())).unwrap();
    assert!(error(&format!("-configfile {}", config.display())).ends_with("names a further one"));
    std::fs::write(&keys, "wdir = /there\npath=/bin\nsoft = 2\nother = x\n").unwrap();
    let options = run(&format!("-n 3 -wdir /here -file {} p", keys.display()));
    let program = &options.programs[0];
    assert_eq!((program.count, &program.wdir, &program.path), (2, &Some("/here".into()), &Some("/bin".into())));
    std::fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn each_program_may_have_hosts_of_its_own() {
    let options = run("-n 2 -host a p : -n 3 q : -n 1 -host b r");
    let blocks: Vec<(&str, u32)> =
        options.blocks.iter().map(|block| (block.hosts[0].name.as_str(), block.ranks)).collect();
    assert_eq!(blocks, [("a", 5), ("b", 1)]);
    assert_eq!(run("--hosts 127.0.0.1,::1,localhost -n 2 p").blocks, []);
    assert_eq!(run("--nolocal --hosts localhost,a -n 2 p").blocks[0].hosts.len(), 1);
}

#[test]
fn as_many_on_each_node() {
    let count = |line: &str| run(line).programs[0].count;
    assert_eq!(count("-pernode -H a,b,c p"), 3);
    assert_eq!(count("--npernode 2 -H a,b p"), 4);
    assert_eq!(count("-N 2 -n 3 -H a,b p"), 3);
    assert_eq!(count("--npernode 2 --nodes 3 p"), 6);
    assert_eq!(count("--npernode 2 p"), 2);
    assert_eq!(count("--ppn 2 -H a,b p"), 1);
}

#[test]
fn what_is_inherited() {
    // SAFETY: no other test of this program reads or writes the environment by these names.
    unsafe { std::env::set_var("TERN_TEST_ARGS_ONE", "one") };
    let options =
        run("-genv G 1 -genvlist TERN_TEST_ARGS_ONE,TERN_TEST_ARGS_TWO -env A 2 p : -envall q : -envnone -x B=3 r");
    let env = |number: usize| {
        let program: &Program = &options.programs[number];
        let shown: Vec<String> =
            program.env.iter().map(|(n, v)| format!("{}={}", n.to_string_lossy(), v.to_string_lossy())).collect();
        (program.clean, shown.join(" "))
    };
    assert_eq!(env(0), (true, "TERN_TEST_ARGS_ONE=one G=1 A=2".into()));
    assert_eq!(env(1), (false, "".into()));
    assert_eq!(env(2), (true, "G=1 B=3".into()));
}

#[test]
fn streams_in_the_manners_of_others() {
    let streams = |line: &str| run(line).streams;
    assert_eq!(streams("p"), Streams::default());
    assert_eq!(streams("--stdin none p").stdin, Stdin::Nobody);
    assert_eq!(streams("-s all p").stdin, Stdin::All);
    assert_eq!(streams("--stdin 1 -n 2 p").stdin, Stdin::Rank(1));
    assert!(streams("--timestamp-output p").timestamp && streams("--merge-stderr-to-stdout p").merge);
    let files = streams("--output-filename a%b:nocopy p");
    assert_eq!((files.out, files.err), (Some(b"a%%b.%r.out".to_vec()), Some(b"a%%b.%r.err".to_vec())));
    let files = streams("-outfile-pattern o.%r -errfile-pattern=e p");
    assert_eq!((files.out, files.err), (Some(b"o.%r".to_vec()), Some(b"e".to_vec())));
    let options = run("--output tag,timestamp,merge,file=x,xml p");
    assert!(options.streams.tag && options.streams.timestamp && options.streams.merge && options.streams.out.is_some());
    assert_eq!(options.left_out, ["--output xml"]);
}

#[test]
fn debuggers_run_the_programs() {
    let options = run("--gdb -n 2 a x : b");
    let commands: Vec<String> =
        options.programs.iter().map(|program| program.command.join(OsStr::new(" ")).into_string().unwrap()).collect();
    assert_eq!(commands, ["gdb -q --args a x", "gdb -q --args b"]);
    assert!(options.streams.tag && options.streams.merge && options.streams.stdin == Stdin::Addressed);
}

#[test]
fn windows_are_around_debuggers() {
    let options = run("--xterm 1 --gdb -n 2 a x");
    let words = &options.programs[0].command;
    assert_eq!((&words[..2], &words[3..]), (&self::words("sh -c")[..], &self::words("sh gdb -q --args a x")[..]));
    assert_eq!(options.streams, Streams::default());
    assert_eq!(run("--xterm a").programs[0].command[3..], self::words("sh a")[..]);
}

#[test]
fn each_option_of_another_launcher_is_taken() {
    let line = "--rankfile f --prefix /opt -iface eth0 -bootstrap ll -tv p";
    let expected = ["--rankfile f", "--prefix /opt", "--iface eth0", "--bootstrap ll"];
    let options = run(line);
    assert_eq!(options.left_out[..4], expected);
    assert_eq!(options.left_out[4..], ["--tv"]);
    assert!(run("-print-all-exitcodes p").exit_codes);
    assert_eq!(run("-bootstrap-exec rsh p").shell, Some("rsh".into()));
}

/// The value of TERN_FT that all ranks get.
fn told(options: &Options) -> Option<&OsStr> {
    let all = options.env.iter().chain(options.programs.iter().flat_map(|program| &program.env));
    all.filter(|(name, _)| name == "TERN_FT").map(|(_, value)| value.as_os_str()).next_back()
}

#[test]
fn a_job_may_go_on_when_it_loses_ranks() {
    for how in [
        "--with-ft",
        "-with-ft ulfm",
        "--with-ft mpi",
        "--with-ft=ULFM",
        "--with-ft true",
        "--with-ft yes",
        "--with-ft on",
        "--with-ft 1",
        "-disable-auto-cleanup",
        "--enable-recovery",
        "--continuous",
        "-genv TERN_FT on",
        "--with-ft off --with-ft",
    ] {
        let options = run(&format!("{how} -n 2 p x"));
        assert_eq!(told(&options), Some(OsStr::new("on")), "{how}");
        assert!(options.goes_on, "{how}");
        assert_eq!((options.programs[0].count, options.programs[0].command.clone()), (2, words("p x")), "{how}");
    }
    for how in
        ["--with-ft off", "--with-ft false", "--with-ft=no", "--with-ft 0", "--with-ft none", "--disable-recovery"]
    {
        let options = run(&format!("--with-ft {how} -n 2 p"));
        assert_eq!((told(&options), options.goes_on), (Some(OsStr::new("off")), false), "{how}");
    }
    let options = run("-n 2 p");
    assert_eq!((told(&options), options.goes_on), (None, false));
    // What is no word for it is the program, or the next option; programs that inherit nothing are told, too.
    assert_eq!(run("--with-ft p ulfm").programs[0].command, words("p ulfm"));
    assert_eq!(told(&run("-envnone --with-ft p")), Some(OsStr::new("on")));
    assert_eq!(run("-envnone --with-ft p").programs[0].env, [("TERN_FT".into(), "on".into())]);
    assert_eq!(error("--with-ft=p p"), "--with-ft=p needs ulfm, mpi, on or off, if something stands behind it");
}

#[test]
fn hosts_of_a_resource_manager() {
    let env = |name: &str| {
        let value = match name {
            "SLURM_JOB_ID" => "17",
            "SLURM_JOB_NODELIST" => "n[1-2]",
            "SLURM_TASKS_PER_NODE" => "3,1",
            _ => return None,
        };
        Some(value.into())
    };
    let run = |line: &str| match parse(line.split(' ').map(OsString::from), &env) {
        Ok(Command::Run(options)) => *options,
        other => panic!("{line}: {other:?}"),
    };
    let all = run("p");
    assert_eq!((all.blocks[0].ranks, all.blocks[0].hosts.len(), all.allocation), (4, 2, Some(Manager::Slurm)));
    assert_eq!(run("-n 2 p").blocks[0].ranks, 2);
    assert_eq!(run("-ppn 2 p").blocks[0].ranks, 4);
    assert_eq!(run("-npernode 5 p").blocks[0].ranks, 10);
    assert_eq!(run("-n 2 p : q").blocks[0].ranks, 3);
    assert_eq!(run("-n 5 p").notes, ["5 ranks share the 4 slots of Slurm job 17; --nooversubscribe refuses that"]);
    let refused = parse(words("-n 5 --nooversubscribe p"), &env).unwrap_err();
    assert!(refused.contains("the 4 slots of Slurm job 17"), "{refused}");
    // What the user names goes first.
    assert_eq!(run("--hosts n2 -n 2 p").blocks[0].hosts.len(), 1);
    assert_eq!((run("-rmk none p").blocks, run("-rmk none p").allocation), (vec![], None));
    assert!(parse(words("-rmk pbs p"), &env).unwrap_err().contains("-rmk"));
    assert_eq!(run("-launcher slurm p").starter, Some(Starter::Srun));
}

#[test]
fn hosts_of_other_launchers_variables() {
    let path = std::env::temp_dir().join(format!("tern-args-{}-{:x}", std::process::id(), tern_pmi::new_job_id()));
    std::fs::write(&path, "w-0 slots=2\nw-1 slots=1\nw-2 slots=0\n").expect("written");
    let env = |name: &str| match name {
        "OMPI_MCA_orte_default_hostfile" => Some(path.clone().into_os_string()),
        "OMPI_MCA_plm_rsh_args" => Some("-o ConnectionAttempts=10".into()),
        // A job of Slurm, too: the file goes first.
        "SLURM_JOB_ID" => Some("17".into()),
        "SLURM_JOB_NODELIST" => Some("n[1-2]".into()),
        "SLURM_TASKS_PER_NODE" => Some("2(x2)".into()),
        _ => None,
    };
    let run = |line: &str| match parse(line.split(' ').map(OsString::from), &env) {
        Ok(Command::Run(options)) => *options,
        other => panic!("{line}: {other:?}"),
    };
    let all = run("p");
    assert_eq!((all.blocks[0].ranks, all.blocks[0].hosts.len(), all.allocation), (3, 2, None));
    assert!(all.shell.is_some_and(|shell| shell.starts_with("ssh ") && shell.ends_with("-o ConnectionAttempts=10")));
    assert_eq!(run("-ppn 4 p").blocks[0].ranks, 8);
    assert_eq!(run("--remote-shell rsh p").shell, Some("rsh".into()));
    // What the command line says goes before.
    assert_eq!(run("--hosts a -n 2 p").blocks[0].hosts[0].name, "a");
    assert_eq!(run("-rmk none p").blocks, []);
    let slurm = run("-rmk slurm p");
    assert_eq!((slurm.allocation, slurm.shell), (Some(Manager::Slurm), None));
    std::fs::remove_file(&path).expect("removed");
}
