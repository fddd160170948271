use super::*;

fn run(line: &str) -> Options {
    match parse(line.split(' ').map(OsString::from)) {
        Ok(Command::Run(options)) => options,
        other => panic!("{line}: {other:?}"),
    }
}

fn error(line: &str) -> String {
    parse(line.split(' ').map(OsString::from)).unwrap_err()
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
        assert_eq!(run(line).bind, Bind::None, "{line}");
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
        assert_eq!(run(line).hosts.len(), 2, "{line}");
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
    assert!(options.tag_output);
    assert_eq!(options.programs[0].count, 2);
    assert_eq!(options.left_out, [""; 0]);
    assert_eq!(run("-c 3 p").programs[0].count, 3);
    assert_eq!(run("-npernode 3 p").per_host, Some(3));
    assert_eq!(run("-genvlist A,B p").programs[0].command, words("p"));
    for line in ["--bind-to core:overload-allowed p", "--bind-to hwthread p"] {
        assert_eq!(run(line).bind, Bind::Core, "{line}");
    }
}

#[test]
fn what_only_other_launchers_know_is_left_out_and_told() {
    let options = run("--mca btl self,tcp -np 2 --map-by ppr:1:node --rank-by=slot --bind-to socket p --mca q r");
    assert_eq!(options.left_out, ["--mca btl self,tcp", "--map-by ppr:1:node", "--rank-by slot", "--bind-to socket"]);
    assert_eq!(options.programs[0].command, words("p --mca q r"));
    assert_eq!(options.bind, Bind::Auto);
    assert_eq!(error("-n 2 --mca btl"), "--mca needs a value after it");
}

#[test]
fn errors_say_what_to_do() {
    assert_eq!(error("--tag-ouput p"), "unknown option --tag-ouput; did you mean --tag-output?");
    assert_eq!(error("-n4 p"), "unknown option -n4; did you mean -n 4?");
    assert_eq!(error("--zzzzzzzz p"), "unknown option --zzzzzzzz; mpiexec --help lists the options");
    assert_eq!(error("-n"), "-n needs a number after it");
    assert_eq!(error("-n 0 p"), "-n needs a number of processes, 1 or more, not 0");
    assert_eq!(error("-n -1 p"), "-n needs a number of processes, 1 or more, not -1");
    assert_eq!(error("-n 2"), "no program given after 2");
    assert_eq!(error("-n 2 p :"), "no program given on one side of ':'");
    assert_eq!(error("--timeout soon p"), "--timeout needs a number of seconds above 0, not soon");
    assert_eq!(error("--bind-to chair p"), "--bind-to needs core or none, not chair");
    assert_eq!(error("-n 99999999 p").split(' ').next(), Some("99999999"));
    assert_eq!(error("--nodes 0 p"), "--nodes needs a number of nodes, 1 or more, not 0");
    assert_eq!(
        error("-n 1 --nodes 3 p : q"),
        "--nodes 3: each node needs a process, but there are only 2; give -n 3 or more, or fewer nodes"
    );
    assert!(error("--hosts a,b --nodes 2 -n 2 p").contains("leave it out"));
    assert!(error("--hosts a:0 p").contains("1 or more"));
    assert!(parse([]).unwrap_err().contains("--help"));
}

#[test]
fn help_and_version() {
    assert_eq!(parse(words("-n 2 --help")), Ok(Command::Help));
    assert_eq!(parse(words("--version")), Ok(Command::Version));
    // After the program they are the program's.
    assert_eq!(run("p --help").programs[0].command, words("p --help"));
}
