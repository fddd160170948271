use super::*;

fn machine(name: &str) -> Machine {
    Machine::named(name).expect("a machine")
}

/// Nanoseconds of each algorithm that serves such a call.
struct All(Vec<Reference>);

impl All {
    fn of(name: &str, operation: Operation, bytes: usize, ranks: usize) -> All {
        All(each(&machine(name), operation, bytes, ranks, true))
    }

    fn by(&self, name: &str) -> f64 {
        let found = self.0.iter().find(|found| found.name == name);
        found.unwrap_or_else(|| panic!("no {name} in {:?}", self.0)).cost.nanoseconds
    }
}

/// XHC's documentation and its figures for two EPYC: levels beat a flat form, and a tree that does not know the machine. Ramos and Hoefler's: the tree
/// that the model finds beats both, and an exchange among several in each round beats one among two.
#[test]
fn short_operations_come_in_the_published_order() {
    let all = All::of("2x-epyc-7r13", Operation::Barrier, 0, 64);
    assert!(all.by("xhc") < all.by("flat"), "{:?}", all.0);
    assert!(all.by("flat") < all.by("binomial"), "{:?}", all.0);
    assert!(all.by("optimal tree") <= all.by("xhc"), "{:?}", all.0);
    assert!(all.by("optimal tree") < all.by("release-gather"), "{:?}", all.0);
    assert!(all.by("radix by level") < all.by("recursive doubling"), "{:?}", all.0);
}

/// The paper of ext_mpi_collectives: longer vectors are reduced best by a reduce-scatter and an allgather with a radix for each level. XHC's: one copy and
/// a shared reduction beat trees of two copies.
#[test]
fn longer_reductions_come_in_the_published_order() {
    let all = All::of("2x-epyc-7r13", Operation::Allreduce, 16 << 10, 48);
    assert!(all.by("radix by level") < all.by("xhc"), "{:?}", all.0);
    assert!(all.by("xhc") < all.by("release-gather"), "{:?}", all.0);
    assert!(all.by("xhc") < all.by("flat"), "{:?}", all.0);
}

#[test]
fn the_best_is_one_of_all() {
    let all = All::of("graviton3", Operation::Bcast, 8, 32);
    let best = best(&machine("graviton3"), Operation::Bcast, 8, 32, true);
    assert!(all.0.iter().all(|other| best.cost.nanoseconds <= other.cost.nanoseconds));
}

#[test]
fn every_operation_has_references() {
    for name in ["barrier", "bcast", "reduce", "allreduce", "allgather", "gather", "scatter", "alltoall"] {
        let all = All::of("2x-epyc-9654", name.parse().expect("an operation"), 8, 16);
        assert!(all.0.len() >= 2 && all.by("flat") > 0.0, "{name}: {:?}", all.0);
    }
    assert!("pingpong".parse::<Operation>().is_err());
}
