use super::*;

fn milan() -> Machine {
    Machine::named("2x-epyc-7r13").expect("a machine")
}

#[test]
fn every_machine_has_its_numbers_with_sources() {
    for name in Machine::names() {
        Machine::named(name).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    }
    assert!(Machine::parse("packages 2 #").is_err(), "a number without a source");
}

#[test]
fn a_hit_is_free_and_a_write_takes_the_line_from_its_readers() {
    let machine = milan();
    let mut lines = Lines::new(&machine);
    let name = (0, 0, false);
    assert_eq!(lines.write(0, name, 64, 0.0), 0.0);
    assert_eq!(lines.read(1, name, 64, 0.0), 23.0);
    assert_eq!(lines.read(1, name, 64, 30.0), 30.0);
    assert_eq!(lines.read(48, name, 64, 30.0), 227.0);
    assert_eq!(lines.write(0, name, 64, 300.0), 497.0);
    assert_eq!(lines.read(1, name, 64, 497.0), 520.0);
    assert_eq!(lines.crossings, Crossings { package: 2, cache: 2 });
}

#[test]
fn readers_of_one_line_wait_for_each_other() {
    let machine = milan();
    let mut lines = Lines::new(&machine);
    lines.write(0, (0, 0, false), 64, 0.0);
    let last = (1..8).map(|core| lines.read(core, (0, 0, false), 64, 0.0)).fold(0.0, f64::max);
    assert_eq!(last, 7.0 * 23.0);
}
