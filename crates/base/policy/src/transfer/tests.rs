use super::chooser::tests::situations;
use super::*;
use crate::costs::Curve;
use proptest::prelude::*;

const ALL_MECHANISMS: [Mechanism; 5] =
    [Mechanism::Auto, Mechanism::Pipe, Mechanism::Cma, Mechanism::Module, Mechanism::Mapped];

/// A published receive between shared buffers with everything proven.
fn published(size: u64) -> Situation {
    Situation {
        size,
        stage: Stage::Published,
        source_shared: true,
        target_shared: true,
        push: true,
        pull: true,
        eager: size <= 64 << 10,
        ..Situation::default()
    }
}

/// What the default costs choose.
fn auto(situation: Situation) -> Transfer {
    choose(&Costs::default(), Mechanism::Auto, &situation).transfer
}

/// Costs in which nothing counts but these nanoseconds per mover, whatever the size.
fn flat(movers: [f64; 8]) -> Costs {
    let curve = |ns: f64| Curve::new(vec![(0, ns), (1, ns)]).unwrap();
    let mut costs = Costs::default();
    for pace in &mut costs.paces {
        pace.packet = 0.0;
        pace.movers = movers.map(|ns| [curve(ns), curve(ns)]);
    }
    costs
}

#[test]
fn a_receiver_that_computes_is_left_alone() {
    let computes = |situation| Situation { other_waits: false, ..situation };
    for size in [8 << 10, 1 << 20, 1 << 30] {
        let shared = computes(published(size));
        assert_eq!(auto(shared), Transfer::Mapped { by: By::Sender });
        let private = Situation { target_shared: false, ..shared };
        // Slower than the pipe at these sizes, and still better for the receiver.
        assert_eq!(auto(private), Transfer::Cma { by: By::Sender });
        let refused = Situation { push: false, pull: false, source_shared: false, ..private };
        let ring = auto(refused);
        assert!(ring.by().is_none(), "{ring:?}");
    }
}

#[test]
fn a_receive_is_published_where_that_saves_what_it_costs() {
    let pays = |situation: Situation, eager, mapped, kernel| {
        let mut movers = [1e9; 8];
        movers[Mover::Eager as usize] = eager;
        movers[Mover::MappedBoth as usize] = mapped;
        movers[Mover::CmaBoth as usize] = kernel;
        choose(&flat(movers), Mechanism::Auto, &situation).pays_to_publish(situation.size, 100.0)
    };
    let shared = published(64 << 10);
    assert!(pays(shared, 1000.0, 899.0, 1e6));
    assert!(!pays(shared, 1000.0, 900.0, 1e6));
    let private = Situation { source_shared: false, target_shared: false, ..shared };
    let short = |kernel| {
        let mut movers = [1e9; 8];
        movers[Mover::Eager as usize] = 1000.0;
        movers[Mover::CmaPush as usize] = kernel;
        let situation = Situation { size: CMA_BOTH_FROM - 1, ..private };
        choose(&flat(movers), Mechanism::Auto, &situation).pays_to_publish(situation.size, 100.0)
    };
    assert!(short(899.0));
    assert!(!short(900.0), "nothing is tried");
    assert!(pays(private, 1000.0, 0.0, 1000.0 * CLOSE - 1.0), "both are tried");
    assert!(!pays(private, 1000.0, 0.0, 1000.0 * CLOSE));
    assert!(!pays(Situation { push: false, pull: false, ..private }, 1000.0, 0.0, 0.0));
    assert!(pays(Situation { eager: false, ..private }, 0.0, 0.0, 1e6), "it cannot go at once");
}

#[test]
fn one_who_waits_helps() {
    for size in [256 << 10, 1 << 20, 1 << 30] {
        assert_eq!(auto(published(size)), Transfer::Mapped { by: By::Both });
    }
    // Too little for two.
    assert_eq!(auto(published(8 << 10)), Transfer::Mapped { by: By::Sender });
}

#[test]
fn a_late_receiver_pulls_from_a_sender_that_computes() {
    let late = |other_waits| Situation { stage: Stage::Requested, other_waits, ..published(1 << 20) };
    assert_eq!(auto(late(false)), Transfer::Mapped { by: By::Receiver });
    assert_eq!(auto(late(true)), Transfer::Mapped { by: By::Both });
    let private = Situation { source_shared: false, ..late(false) };
    assert_eq!(auto(private), Transfer::Cma { by: By::Receiver });
}

#[test]
fn small_messages_are_eager() {
    for size in [0, 8, 1 << 10, 4 << 10] {
        let unseen = Situation { stage: Stage::Unseen, source_shared: size <= 1 << 10, ..published(size) };
        assert_eq!(auto(unseen), Transfer::Eager);
    }
}

#[test]
fn two_on_one_core_do_not_share_the_work() {
    let crowded = Situation { crowded: true, ..published(1 << 20) };
    assert_eq!(auto(crowded), Transfer::Mapped { by: By::Sender });
    let private = Situation { target_shared: false, source_shared: false, ..crowded };
    assert_eq!(auto(private).mover(), Mover::Pipe);
}

#[test]
fn small_pieces_keep_the_kernel_out() {
    let private = Situation { size: 1 << 20, eager: false, pull: true, ..Situation::default() };
    let costs = flat([100.0, 9000.0, 8000.0, 8000.0, 8000.0, 100.0, 100.0, 100.0]);
    let chosen = |block| {
        let situation = Situation { block, ..private };
        choose(&costs, Mechanism::Auto, &situation).transfer
    };
    assert_eq!(chosen(0), Transfer::Cma { by: By::Receiver });
    assert_eq!(chosen(1024), Transfer::Pipe);
}

#[test]
fn the_mechanism_that_was_asked_for_is_used_where_it_can() {
    let asked = |mechanism, situation: &Situation| choose(&Costs::default(), mechanism, situation).transfer.mover();
    let all = published(1 << 20);
    assert_eq!(asked(Mechanism::Pipe, &all), Mover::Pipe);
    assert_eq!(asked(Mechanism::Cma, &all), Mover::CmaBoth);
    assert_eq!(asked(Mechanism::Mapped, &all), Mover::MappedBoth);
    let nothing = Situation { size: 1 << 20, eager: false, ..Situation::default() };
    for mechanism in ALL_MECHANISMS {
        assert_eq!(asked(mechanism, &nothing), Mover::Pipe);
    }
    let short = Situation { stage: Stage::Unseen, ..published(100) };
    assert_eq!(asked(Mechanism::Cma, &short), Mover::Eager);
    // From 1 KiB up the ring is no longer an answer, though it costs less.
    let longer = Situation { size: FORCED_FROM, ..short };
    assert!(matches!(asked(Mechanism::Cma, &longer), Mover::Cma | Mover::CmaPush | Mover::CmaBoth));
}

#[test]
fn costs_decide_among_equals() {
    // Each mover in turn costs nothing.
    let situation = Situation { size: 1 << 20, eager: true, ..published(1 << 20) };
    for cheap in Mover::ALL {
        let mut movers = [1000.0; 8];
        movers[cheap as usize] = 0.0;
        let choice = choose(&flat(movers), Mechanism::Auto, &situation);
        assert_eq!(choice.transfer.mover(), cheap);
        assert_eq!(choice.ns, 0.0);
    }
}

fn costs() -> impl Strategy<Value = Costs> {
    let ns = prop_oneof![Just(0.0), 0.0..1e9f64, Just(1e300)];
    let curve =
        (ns.clone(), 0.0..1e9f64).prop_map(|(ns, more)| Curve::new(vec![(0, ns), (1 << 20, ns + more)]).unwrap());
    (prop::collection::vec(curve, 80), prop::collection::vec(ns, 5)).prop_map(|(curves, ns)| {
        let mut costs = Costs::default();
        let mut curves = curves.into_iter();
        for pace in &mut costs.paces {
            pace.packet = ns[0];
            for pair in &mut pace.movers {
                *pair = std::array::from_fn(|_| curves.next().unwrap());
            }
        }
        costs.piece = ns[1];
        costs.kernel_piece = ns[2];
        costs.switch = ns[3];
        costs.wake = ns[4];
        costs
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the costs: what is chosen can be done, leaves a process that computes alone if
    /// anything that can be done does, and is of the mechanism that was asked for if any is.
    #[test]
    fn any_costs_give_a_legal_choice(costs in costs(), size: u64, eager_size in any::<bool>()) {
        let size = if eager_size { size % 100_000 } else { size };
        for situation in situations() {
            let situation = Situation { size, ..situation };
            for asked in ALL_MECHANISMS {
                let choice = choose(&costs, asked, &situation);
                let chosen = choice.transfer;
                prop_assert!(situation.allows(chosen), "{situation:?} {chosen:?}");
                prop_assert!(choice.ns.is_finite() && choice.ns >= 0.0);
                let at = Transfer::ALL.iter().position(|all| *all == chosen).unwrap();
                prop_assert_eq!(choice.all[at], Some(choice.ns));
                let possible = |filter: &dyn Fn(Transfer) -> bool| {
                    Transfer::ALL.into_iter().any(|other| situation.allows(other) && filter(other))
                };
                if size >= FORCED_FROM && possible(&|other| other.is(asked)) {
                    prop_assert!(chosen.is(asked));
                }
                let sparing = |other| situation.spares_the_other(other) && other.is(asked);
                if !situation.other_waits && possible(&sparing) {
                    prop_assert!(sparing(chosen), "{situation:?} {chosen:?}");
                }
            }
        }
    }
}

#[test]
fn the_kernel_is_tried_where_it_is_not_far_from_packets() {
    let may = |packets, kernel| {
        let mut movers = [1e9; 8];
        movers[Mover::Eager as usize] = packets;
        movers[Mover::Cma as usize] = kernel;
        let mut costs = flat(movers);
        costs.paces[Placement::L3 as usize].packet = 0.0;
        may_fetch_by_kernel(&costs, Placement::L3, 64 << 10)
    };
    assert!(may(1000.0, 1000.0 * DOUBT - 1.0));
    assert!(!may(1000.0, 1000.0 * DOUBT));
}

#[test]
fn one_copy_between_buffers_that_both_see_has_no_rival_here() {
    for size in [128 << 10, crate::pair::CACHED as u64] {
        let situation = Situation { other_waits: true, ..published(size) };
        assert_eq!(choose(&Costs::default(), Mechanism::Auto, &situation).rival(&situation), None, "{size}");
    }
}

#[test]
fn what_is_not_the_quickest_has_its_reason() {
    let costs = Costs::default();
    let reason = |asked, situation: &Situation| choose(&costs, asked, situation).passes_over(asked, situation);
    for size in [64, 64 << 10, 1 << 20] {
        let waits = Situation { other_waits: true, ..published(size) };
        assert_eq!(reason(Mechanism::Auto, &waits), None, "the quickest is taken: {size}");
        let asked = choose(&costs, Mechanism::Auto, &waits);
        let forced = choose(&costs, Mechanism::Pipe, &waits);
        let says = (forced.ns > asked.ns).then_some("TERN_MECHANISM asks for it");
        assert_eq!(reason(Mechanism::Pipe, &waits), says, "{size}");
        let computes = Situation { other_waits: false, ..waits };
        let chosen = choose(&costs, Mechanism::Auto, &computes);
        let is_quickest = chosen.all.iter().flatten().all(|ns| *ns >= chosen.ns);
        assert_eq!(reason(Mechanism::Auto, &computes).is_none(), is_quickest, "{size}");
    }
}
