use super::*;
use crate::Signs;

/// A directory that is removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("tern-tune-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn cache(&self) -> Private {
        Private::open(&self.0, NAME).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn named(name: &str) -> Costs {
    Costs { origin: name.into(), ..Costs::default() }
}

fn files(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_directory_follows_the_base_directory_rules() {
    let with = |variables: &'static [(&str, &str)]| {
        base_in(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    };
    let both = with(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]);
    assert_eq!(both, Some("/x".into()));
    assert_eq!(with(&[("HOME", "/h")]), Some("/h/.cache".into()));
    let relative = with(&[("XDG_CACHE_HOME", "x"), ("HOME", "/h")]);
    assert_eq!(relative, Some("/h/.cache".into()));
    assert_eq!(with(&[]), None);
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let scratch = Scratch::new("whole");
    let file = scratch.0.join("costs");
    write(&file, &named("one")).unwrap();
    write(&file, &named("two")).unwrap();
    assert_eq!(read(&file).unwrap().origin, "two");
    assert_eq!(files(file.parent().unwrap()), ["costs"]);
    // A directory stands where the file should go: nothing is left beside it.
    let taken = scratch.0.join("taken");
    std::fs::create_dir_all(taken.join("by")).unwrap();
    assert!(write(&taken, &named("three")).is_err());
    assert_eq!(files(&scratch.0), ["costs", "taken"]);
}

#[test]
fn writers_at_once_do_not_mix() {
    let scratch = Scratch::new("mix");
    let file = scratch.0.join("costs");
    write(&file, &named("first")).unwrap();
    // Threads share a process number, so they take turns at writing; readers do not.
    let turn = std::sync::Mutex::new(());
    std::thread::scope(|scope| {
        for name in ["a", "b"] {
            let (file, turn) = (&file, &turn);
            scope.spawn(move || {
                for _ in 0..50 {
                    let _turn = turn.lock();
                    write(file, &named(name)).unwrap();
                }
            });
            scope.spawn(move || {
                for _ in 0..50 {
                    read(file).unwrap();
                }
            });
        }
    });
    assert!(["a", "b"].contains(&&*read(&file).unwrap().origin));
}

#[test]
fn a_known_machine_is_not_measured() {
    let scratch = Scratch::new("known");
    let cache = scratch.cache();
    let cores = tern_node::affinity();
    let name = Machine::new(&cores).file();
    cache.write(&name, b"tern-costs 5\nnonsense\n").unwrap();
    assert!(!is_good(&cache, &name));
    cache.write(&name, text::encode(&named("a test")).as_bytes()).unwrap();
    let file = cache.path().join(&name);
    assert_eq!(provide_in(&cache, &cores, BUDGET), Some(file.clone()));
    assert_eq!(read(&file).unwrap().origin, "a test");
    // Not even locked.
    assert_eq!(files(cache.path()).len(), 1);
}

#[test]
fn where_nothing_could_be_trusted_the_defaults_stand_for_a_moment() {
    let scratch = Scratch::new("busy");
    let cache = scratch.cache();
    let keep = |origin: &str| cache.write("costs", text::encode(&named(origin)).as_bytes()).unwrap();
    let age = || {
        let opened = std::fs::File::options().write(true).open(cache.path().join("costs")).unwrap();
        opened.set_modified(std::time::SystemTime::now() - SECOND_TRY * 2).unwrap();
    };
    keep(&format!("{DOUBTFUL}, since: x, {AGAIN}: y"));
    assert!(is_good(&cache, "costs"));
    age();
    assert!(!is_good(&cache, "costs"));
    keep("measured: x");
    age();
    assert!(is_good(&cache, "costs"));
}

#[test]
fn figures_that_others_have_disturbed_are_not_kept() {
    let judged = |signs: Signs| {
        let mut costs = Costs { lookup: 77.0, ..Costs::default() };
        costs.origin.clear();
        let mut calibration = Calibration { costs, signs, gaps: Vec::new() };
        judge(&mut calibration, "a machine of glass");
        calibration.costs
    };
    let quiet = Signs { lost: 0.005, stolen: 0.0, spread: 0.1 };
    let some = judged(Signs { lost: 0.05, ..quiet });
    assert!(some.is_measured() && !is_lasting(&some), "{}", some.origin);
    assert!(some.origin.contains("glass") && some.origin.contains("5.0 %"), "{}", some.origin);
    assert_eq!(some.lookup, 77.0, "it is good enough until then");
    let much = judged(Signs { lost: 0.5, ..quiet });
    assert!(!much.is_measured() && !is_lasting(&much), "{}", much.origin);
    assert_eq!(much.lookup, Costs::default().lookup);
    let good = judged(quiet);
    assert_eq!(good.origin, "measured: a machine of glass");
    assert!(is_lasting(&good) && good.lookup == 77.0);
}

#[test]
fn a_pipe_far_slower_than_a_copy_is_not_believed() {
    assert!(is_plausible(&Costs::default()));
    let mut far = Costs::default();
    let curve = &mut far.paces[Placement::L3 as usize].movers[Mover::Pipe as usize][Warmth::Warm as usize];
    *curve = tern_policy::costs::Curve::new(vec![(1, 1.0), (256 << 10, 110_000.0)]).unwrap();
    assert!(!is_plausible(&far));
}

#[test]
fn a_packet_as_between_two_caches_is_not_believed() {
    let with = |packet| {
        let mut costs = Costs::default();
        costs.paces[Placement::L3 as usize].packet = packet;
        costs
    };
    assert!(is_plausible(&with(FARTHEST - 1.0)));
    assert!(!is_plausible(&with(284.0)), "as cores of a virtual machine were seen that had moved apart");
}

#[test]
fn while_another_measures_the_defaults_do() {
    let scratch = Scratch::new("lock");
    let cache = scratch.cache();
    let held = cache.lock(LOCK).unwrap();
    assert!(held.is_some());
    assert_eq!(provide_in(&cache, &tern_node::affinity(), BUDGET), None);
}

#[test]
fn a_fifo_is_no_file_of_costs() {
    let scratch = Scratch::new("fifo");
    let fifo = scratch.0.join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let wrong = load_from(fifo.to_str().unwrap(), None).unwrap_err();
    assert!(wrong.ends_with("fifo: it is no plain file"), "{wrong}");
}

#[test]
fn what_cannot_be_stored_is_kept_in_memory() {
    let file = keep(&named("memory")).unwrap();
    assert_eq!(read(&file).unwrap().origin, "memory");
}

#[test]
fn the_setting_decides() {
    let scratch = Scratch::new("setting");
    let file = scratch.0.join("costs");
    write(&file, &named("stored")).unwrap();
    let origin = |setting: &str, told| load_from(setting, told).map(|costs| costs.origin);
    let default = Costs::default().origin;
    assert_eq!(origin("default", Some(&file)), Ok(default.clone()));
    assert_eq!(origin("auto", Some(&file)), Ok("stored".into()));
    assert_eq!(origin("auto", None), Ok(default.clone()));
    let gone = scratch.0.join("gone");
    assert_eq!(origin("auto", Some(&gone)), Ok(default));
    assert_eq!(origin(file.to_str().unwrap(), None), Ok("stored".into()));
    let wrong = origin(gone.to_str().unwrap(), Some(&file)).unwrap_err();
    assert!(wrong.contains("gone: No such file"), "{wrong}");
    std::fs::write(&file, "tern-costs 5\nwake -3\n").unwrap();
    let wrong = origin(file.to_str().unwrap(), None).unwrap_err();
    assert!(wrong.ends_with("costs: line 2: \"-3\" is not a time in nanoseconds"), "{wrong}");
}
