use super::*;

const LINE: Name = (0, 0, false);

fn milan() -> Machine {
    Machine::named("2x-epyc-7r13").expect("a machine")
}

#[test]
fn a_hit_is_free_and_a_write_takes_the_line_from_its_readers() {
    let machine = milan();
    let mut lines = Lines::new(&machine);
    assert_eq!(lines.write(0, LINE, 64, 0.0), 0.0);
    assert_eq!(lines.read(1, LINE, 64, 0.0), 23.0);
    assert_eq!(lines.read(1, LINE, 64, 30.0), 30.0);
    assert_eq!(lines.read(48, LINE, 64, 30.0), 227.0);
    assert_eq!(lines.holders(LINE), [0, 1, 48]);
    assert_eq!(lines.write(0, LINE, 64, 300.0), 497.0);
    assert_eq!(lines.holders(LINE), [0]);
    assert_eq!(lines.read(1, LINE, 64, 497.0), 520.0);
    assert_eq!(lines.crossings, Crossings { package: 2, numa: 2, cache: 2 });
}

#[test]
fn each_level_has_its_distance() {
    let machine = milan();
    let cost = |reader| {
        let mut lines = Lines::new(&machine);
        lines.write(0, LINE, 64, 0.0);
        (lines.read(reader, LINE, 64, 0.0), lines.crossings)
    };
    let crossed = |package, numa, cache| Crossings { package, numa, cache };
    // The other hyper-thread, the same cache, another cache of the node, another node of the package, and the other package.
    assert_eq!(cost(96), (9.8, crossed(0, 0, 0)));
    assert_eq!(cost(1), (23.0, crossed(0, 0, 0)));
    assert_eq!(cost(8), (107.0, crossed(0, 0, 1)));
    assert_eq!(cost(24), (107.0, crossed(0, 1, 1)));
    assert_eq!(cost(48), (197.0, crossed(1, 1, 1)));
}

#[test]
fn readers_of_one_line_wait_for_each_other() {
    let machine = milan();
    let mut lines = Lines::new(&machine);
    lines.write(0, LINE, 64, 0.0);
    let last = (1..8).map(|core| lines.read(core, LINE, 64, 0.0)).fold(0.0, f64::max);
    assert_eq!(last, 7.0 * 23.0);
    // Those of other caches have a queue of their own, and the second of a cache gets it from the first one.
    let far: Vec<f64> = [8, 16, 24].map(|core| lines.read(core, LINE, 64, 0.0)).to_vec();
    assert!(far.windows(2).all(|pair| pair[1] - pair[0] == 107.0), "{far:?}");
    assert_eq!(lines.read(9, LINE, 64, 1000.0), 1023.0);
}

#[test]
fn readers_of_a_payload_follow_each_other_by_one_line() {
    let machine = milan();
    let mut lines = Lines::new(&machine);
    lines.write(0, LINE, 8192, 0.0);
    let alone = 23.0 + 8128.0 / 25.0;
    assert_eq!(lines.read(1, LINE, 8192, 0.0), alone);
    assert_eq!(lines.read(2, LINE, 8192, 0.0), 23.0 + alone);
    assert_eq!(lines.read(2, LINE, 8192, 1000.0), 1000.0 + 8128.0 / 25.0, "a hit is read as fast as a core copies");
}

#[test]
fn a_link_moves_one_after_the_other() {
    let machine = milan();
    let mut lines = Lines::new(&machine);
    let name = |owner: usize| (owner, 0, true);
    // Two payloads of one cache for two other ones share its link.
    lines.write(0, name(0), 65536, 0.0);
    lines.write(1, name(1), 65536, 0.0);
    let alone = 107.0 + (65536.0 - 64.0) / 15.0;
    assert_eq!(lines.read(8, name(0), 65536, 0.0), alone);
    assert_eq!(lines.read(16, name(1), 65536, 0.0), alone + 65536.0 / 51.0);
    // Over the packages, that of each package as well.
    lines.write(2, name(2), 65536, 10_000.0);
    lines.write(9, name(9), 65536, 10_000.0);
    let far = |begin: f64| begin + 197.0 + (65536.0 - 64.0) / 10.0;
    assert_eq!(lines.read(48, name(2), 65536, 10_000.0), far(10_000.0));
    assert_eq!(lines.read(56, name(9), 65536, 10_000.0), far(10_000.0 + 65536.0 / 100.0));
}

#[test]
fn what_nobody_holds_comes_from_the_memory_of_its_home() {
    let machine = milan();
    let mut lines = Lines::new(&machine);
    let name = |turn: u64| (0, turn, false);
    assert_eq!(lines.read(0, name(1), 64, 0.0), 110.0, "the own node, which touched it first");
    lines.lay(name(2), 1);
    assert_eq!(lines.read(0, name(2), 64, 1000.0), 1110.0, "another node of the package, as far as another cache");
    lines.lay(name(3), 2);
    assert_eq!(lines.read(0, name(3), 64, 2000.0), 2200.0, "the other package");
    assert_eq!(lines.read(1, name(3), 64, 3000.0), 3023.0, "the cache has it by then");
    // Two long ones share the memory's bandwidth.
    lines.lay(name(4), 1);
    lines.lay(name(5), 1);
    let first = lines.read(24, name(4), 1 << 20, 9000.0);
    let behind = lines.read(32, name(5), 1 << 20, 9000.0) - first;
    assert!((behind - (1 << 20) as f64 / 102.0).abs() < 1e-6, "{behind}");
}
