//! Choices that the dump of all choices does not show: what is forced, reasons, and the short paths.

use super::*;
use tern_settings::Mechanism;

const CAPACITY: usize = 32 << 10;
const NODE: Beside = Beside::Lines { capacity: CAPACITY, tree: false };
const LARGE_NODE: Beside = Beside::Lines { capacity: CAPACITY, tree: true };
const NODES: Beside = Beside::Levels { capacity: CAPACITY, widest: 2 };

fn members(size: usize, beside: Beside) -> Members {
    Members { size, beside, crowded: false, asked: Mechanism::Auto }
}

fn shape(what: Collective, bytes: usize) -> Shape {
    if what.reduces() { Shape::of_vectors(bytes, true) } else { Shape::of(bytes) }
}

fn plan(text: &str, what: Collective, size: usize, beside: Beside, bytes: usize, learned: InPlace) -> CollPlan {
    let selection = Selection::parse(text).unwrap();
    collective(what, &members(size, beside), &shape(what, bytes), &selection, learned)
}

#[test]
fn what_is_forced_is_taken_where_it_serves() {
    use Collective::*;
    for (text, what, beside, bytes, names, taken) in [
        ("bcast=lines", Bcast, NODE, 1 << 20, "lines", true),
        ("bcast=lines", Bcast, NODE, 8 << 20, "lines", true),
        ("bcast=lines", Bcast, NODE, 32 << 20, "region or chain", false),
        ("bcast=region", Bcast, NODE, 1 << 20, "region or lines", true),
        ("bcast=levels", Bcast, NODE, 8, "lines", false),
        ("bcast=chain", Bcast, NODE, 8, "chain", true),
        ("bcast=tree", Bcast, NODE, 8 << 20, "tree", true),
        ("allgather=tree", Allgather, NODE, 32 << 10, "lines", false),
        ("bcast=lines", Bcast, LARGE_NODE, 8, "lines", true),
        ("scatter=lines", Scatter, NODE, 8 << 10, "lines", true),
        ("scatter=lines", Scatter, NODE, 64 << 10, "region or linear", false),
        ("allreduce=in_place", Allreduce, NODE, 1 << 20, "in_place or lines", true),
        ("allreduce=in_place", Allreduce, NODE, 8, "lines", false),
        ("allreduce=region", Allreduce, NODE, 1 << 20, "in_place or lines", true),
        ("allreduce=levels", Allreduce, NODES, 8 << 20, "levels", true),
        ("allreduce=lines", Allreduce, NODES, 8, "levels", false),
        ("allreduce=ring", Allreduce, NODES, 8, "ring", true),
        ("reduce=shares", Reduce, NODE, 1 << 20, "shares or rabenseifner", true),
        ("alltoall=lines", Alltoall, NODE, 1 << 20, "lines", true),
        ("gather=region", Gather, NODES, 8, "region", true),
        ("reduce=region", Reduce, NODES, 8 << 20, "rabenseifner", false),
    ] {
        let plan = plan(text, what, 4, beside, bytes, InPlace::Rest);
        assert_eq!(plan.names(), names, "{text}, {bytes} bytes");
        let is_asked = plan.steps().any(|step| step.reason == CollReason::Asked);
        assert_eq!(is_asked, taken, "{text}, {bytes} bytes");
    }
}

#[test]
fn what_was_learned_decides_about_reading_in_place() {
    let with = |learned| plan("", Collective::Allgather, 4, NODE, 64 << 10, learned);
    let reason = |plan: CollPlan| plan.first.unwrap_or(plan.last).reason;
    assert_eq!(with(InPlace::Ask).names(), "in_place or lines");
    assert_eq!([InPlace::Rest, InPlace::Otherwise].map(|learned| with(learned).names()), ["lines", "lines"]);
    assert_eq!(
        [InPlace::Ask, InPlace::Rest, InPlace::Otherwise].map(|learned| reason(with(learned))),
        [CollReason::Read, CollReason::NotAsked, CollReason::Tried]
    );
    assert_eq!([InPlace::Ask, InPlace::Rest].map(|learned| with(learned).uses_memory), [false, true]);
    let asked = |text| {
        let selection = Selection::parse(text).unwrap();
        may_read_in_place(Collective::Allgather, &members(4, NODE), &Shape::of(64 << 10), &selection)
    };
    assert!(asked("") && asked("allgather=levels"));
    assert!(!asked("allgather=in_place") && !asked("allgather=region"), "nothing need be learned");
    assert!(!asked("allgather=lines") && !asked("allgather=ring"));
}

#[test]
fn reasons_tell_what_stands_in_the_way() {
    let last = |size, beside, bytes| plan("", Collective::Bcast, size, beside, bytes, InPlace::Ask).last.reason;
    assert_eq!(last(2, NODE, 64 << 10), CollReason::LeftByTwo);
    assert_eq!(last(3, NODE, 64 << 10), CollReason::NoRegion(None));
    assert_eq!(last(3, NODE, 8), CollReason::Size);
    assert_eq!(last(3, Beside::Nothing(Without::Checked), 8), CollReason::Without(Without::Checked));
    let others = Shape { operands: Operands::Others { commutative: true }, ..Shape::of(8) };
    let plan = collective(Collective::Scan, &members(3, NODE), &others, &Selection::default(), InPlace::Ask);
    assert_eq!((plan.names(), plan.last.reason), ("recursive_doubling".into(), CollReason::Operands));
}

#[test]
fn without_its_mechanism_no_region_is_told() {
    let pipe = Members { asked: Mechanism::Pipe, ..members(4, NODE) };
    let plan = collective(Collective::Bcast, &pipe, &Shape::of(1 << 20), &Selection::default(), InPlace::Ask);
    assert_eq!(plan.names(), "lines");
}

#[test]
fn the_short_paths_serve_what_goes_in_one_turn_and_nothing_else() {
    for size in (2..200).chain([1000]) {
        let short = Short::new(size, CAPACITY);
        for (what, end) in [
            (Collective::Bcast, short.bcast),
            (Collective::Gather, short.gather),
            (Collective::Scatter, short.scatter),
            (Collective::Reduce, short.reduce),
            (Collective::Allreduce, short.allreduce),
        ] {
            let most = end - 1;
            let at_once = |bytes| {
                let plan = plan("", what, size, NODE, bytes, InPlace::Ask);
                matches!(plan.way(), CollWay::Lines { part } if part >= bytes)
            };
            assert!((0..=most).step_by(61).chain([most]).all(at_once), "{what}, {size} members, {most} bytes");
            assert!(!at_once(end), "{what}, {size} members, {most} bytes");
        }
    }
}

#[test]
fn a_tree_serves_members_of_a_large_node_that_have_cores() {
    use Collective::*;
    let way = |what, beside, crowded, bytes| {
        let members = Members { crowded, ..members(96, beside) };
        collective(what, &members, &shape(what, bytes), &Selection::default(), InPlace::Ask).names()
    };
    for (what, longest) in [(Barrier, 0), (Bcast, 4 << 20), (Reduce, (32 << 10) - 1), (Allreduce, (32 << 10) - 1)] {
        assert_eq!(way(what, LARGE_NODE, false, longest), "tree", "{what}");
        assert_ne!(way(what, LARGE_NODE, true, longest), "tree", "{what}, more members than cores");
        assert_ne!(way(what, NODE, false, longest), "tree", "{what}, members without a tree");
        assert!(what == Barrier || way(what, LARGE_NODE, false, longest + 1) != "tree", "{what}, longer");
    }
    assert_eq!(way(Allgather, LARGE_NODE, false, CAPACITY / 96), "tree");
    assert_ne!(way(Allgather, LARGE_NODE, false, CAPACITY / 96 + 1), "tree");
    let short = Short::beside_tree(96, CAPACITY);
    assert_eq!([short.bcast, short.reduce, short.allreduce], [0; 3], "the short paths leave it alone");
    assert_eq!(short.gather, Short::new(96, CAPACITY).gather);
}
