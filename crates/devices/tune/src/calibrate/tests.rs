use super::*;

fn found() -> Found {
    let mut found = Found { packet: Some(60.0), ..Found::default() };
    for moves in &mut found.moves {
        for warmth in moves {
            *warmth = SIZES.map(|size| Some(size as f64));
        }
    }
    found
}

#[test]
fn what_was_found_stands_and_the_rest_is_default() {
    let mut one = found();
    // A point alone is no curve; one that falls is noise.
    one.moves[0][1] = [None; SIZES.len()];
    one.moves[0][1][3] = Some(5.0);
    one.moves[1][0][0] = Some(1e9);
    let calibration = conclude(vec![(Placement::L3, one)]);
    let (costs, default) = (&calibration.costs, Costs::default());
    let near = costs.pace(Placement::L3);
    assert_eq!(near.packet, 60.0 + HANDLING);
    assert_eq!(near.at(Mover::Mapped, Warmth::Cold, 4096), 4096.0);
    assert_eq!(near.at(Mover::Eager, Warmth::Warm, 4096), 4096.0);
    let known = default.pace(Placement::L3);
    for (mover, warmth) in [(Mover::Pipe, Warmth::Cold), (Mover::Cma, Warmth::Warm)] {
        assert_eq!(near.at(mover, warmth, 4096), known.at(mover, warmth, 4096));
    }
    assert_eq!(calibration.gaps.len(), 2, "{:?}", calibration.gaps);
    assert_eq!(calibration.gaps[0], "pipe cold: was not measured");
    assert!(calibration.gaps[1].starts_with("cma warm: falls from "));
}

#[test]
fn placements_that_are_not_there_follow_the_nearest() {
    let ratio = |from: Placement, to: Placement| {
        let default = Costs::default();
        default.pace(to).packet / default.pace(from).packet
    };
    let at = |costs: &Costs, placement| costs.pace(placement).at(Mover::Pipe, Warmth::Warm, 4096);
    let mut far = found();
    far.moves[0][0] = SIZES.map(|size| Some(3.0 * size as f64));
    let costs = conclude(vec![(Placement::L3, found()), (Placement::Machine, far.clone())]).costs;
    assert_eq!(at(&costs, Placement::L3), 4096.0);
    let node = 4096.0 * ratio(Placement::L3, Placement::Numa);
    assert!((at(&costs, Placement::Numa) - node).abs() < 1e-6);
    assert_eq!(at(&costs, Placement::Machine), 3.0 * 4096.0);
    // Nothing nearer was measured.
    let costs = conclude(vec![(Placement::Machine, far)]).costs;
    let near = 3.0 * 4096.0 * ratio(Placement::Machine, Placement::L3);
    assert!((at(&costs, Placement::L3) - near).abs() < 1e-6);
}

#[test]
fn two_sockets_have_figures_by_class() {
    let between = |factor: f64| {
        let mut found = found();
        found.packet = Some(factor);
        found.piece = Some(factor);
        for moves in found.moves.iter_mut().flatten() {
            *moves = SIZES.map(|size| Some(factor * size as f64));
        }
        found
    };
    let factors = [1.0, 2.0, 4.0, 8.0, 16.0];
    let costs = conclude(Placement::ALL.into_iter().zip(factors.map(between)).collect()).costs;
    for (placement, factor) in Placement::ALL.into_iter().zip(factors) {
        let pace = costs.pace(placement);
        assert_eq!(pace.packet, factor + HANDLING, "{placement:?}");
        for warmth in Warmth::ALL {
            assert_eq!(pace.at(Mover::Pipe, warmth, 4096), factor * 4096.0, "{placement:?} {warmth:?}");
        }
    }
    assert_eq!(costs.piece, 2.0, "not between threads of one core");
}

#[test]
fn one_core_is_not_enough() {
    let why = calibrate(&tern_node::affinity()[..1], Duration::from_millis(10), 1, || {});
    assert_eq!(why.err().as_deref(), Some("there is only one core"));
}

/// Whatever the machine does to the two processes meanwhile: there are sound costs, or a reason
/// why not.
#[test]
fn measuring_ends() {
    let cores = tern_node::affinity();
    for budget in [0, 5, 70] {
        match calibrate(&cores, Duration::from_millis(budget), 2, || {}) {
            Ok(calibration) => {
                let text = crate::text::encode(&calibration.costs);
                assert!(crate::text::decode(&text).is_ok(), "{text}");
            }
            Err(why) => eprintln!("not measured: {why}"),
        }
    }
}

#[test]
fn cores_that_do_not_exist_are_refused() {
    let why = measure([1022, 1023], Duration::from_millis(10));
    assert_eq!(why.err().as_deref(), Some("a process may not choose its core"));
}

#[test]
fn rounds_give_their_median() {
    let round = |packet, mapped| {
        let mut round = Found { packet, ..Found::default() };
        round.moves[3][1][2] = mapped;
        round
    };
    let median = Found::median(&[round(Some(1.0), None), round(Some(9.0), Some(5.0)), round(Some(2.0), None)]);
    assert_eq!(median.packet, Some(2.0));
    assert_eq!(median.moves[3][1][2], Some(5.0));
    assert_eq!(median.moves[3][1][1], None);
    assert_eq!(median.piece, None);
}
