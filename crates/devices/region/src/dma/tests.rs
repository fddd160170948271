use super::standin::{BAD_OPERATION, Fate, Standin};
use super::*;

const COST: Cost = Cost { hand_over: 1000.0, engine: (2000.0, 0.04), processor: (50.0, 0.1) };

/// Copies `len` bytes; what became of it, and the target.
fn copy(dma: &Dma, len: usize) -> (Option<Outcome>, Vec<u8>) {
    let from: Vec<u8> = (0..len).map(|at| (at * 7) as u8 | 1).collect();
    let mut to = vec![0; len];
    // SAFETY: two buffers, which stay until the flight was dropped.
    let flight = unsafe { dma.start(from.as_ptr(), to.as_mut_ptr(), len) };
    let outcome = flight.map(|flight| {
        while flight.outcome() == Outcome::Flying {
            std::thread::yield_now();
        }
        flight.outcome()
    });
    (outcome, to)
}

#[test]
fn layouts_are_those_of_the_device() {
    assert_eq!((size_of::<Descriptor>(), align_of::<Descriptor>()), (64, 64));
    assert_eq!((size_of::<Record>(), align_of::<Record>()), (32, 32));
    let at = [std::mem::offset_of!(Descriptor, record), std::mem::offset_of!(Descriptor, len)];
    assert_eq!(at, [8, 32]);
    assert_eq!([std::mem::offset_of!(Record, moved), std::mem::offset_of!(Record, fault)], [4, 8]);
}

#[test]
fn what_the_engine_tells_is_understood() {
    let plan = |number| match number {
        0 => Fate::Done,
        1 => Fate::Missing(100),
        _ => Fate::Refused(BAD_OPERATION),
    };
    let standin = Standin::new(4, 1 << 16, plan);
    let dma = Dma::with(standin.clone(), COST);
    let (outcome, to) = copy(&dma, 1000);
    assert_eq!(outcome, Some(Outcome::Done));
    assert!(to.iter().all(|byte| *byte != 0));
    let (outcome, to) = copy(&dma, 1000);
    assert_eq!(outcome, Some(Outcome::Missing(100)));
    assert!(to[..100].iter().all(|byte| *byte != 0) && to[100..].iter().all(|byte| *byte == 0));
    assert_eq!(copy(&dma, 1000).0, Some(Outcome::Refused(BAD_OPERATION)));
    // The stand-in checks what it reads.
    assert!(matches!(copy(&dma, 1 << 17).0, Some(Outcome::Refused(_))));
    assert_eq!((standin.taken(), standin.landed_so_far()), (4, 4));
}

#[test]
fn a_full_queue_takes_nothing() {
    let standin = Standin::new(0, 1 << 16, |_| Fate::Done);
    let dma = Dma::with(standin.clone(), COST);
    assert_eq!(copy(&dma, 10), (None, vec![0; 10]));
    assert_eq!((standin.taken(), standin.landed_so_far()), (0, 0));
}

#[test]
fn costs_choose() {
    // Handing over costs 1 us: what the processor does in less is not handed over.
    assert!(!COST.pays(1000));
    // The engine would need more than twice as long.
    assert!(!COST.pays(9_600));
    assert!(COST.pays(20_000) && COST.pays(1 << 20));
    let slow = Cost { engine: (2000.0, 0.3), ..COST };
    assert!(!slow.pays(20_000) && !slow.pays(1 << 30));
    assert_eq!(line((1000, 500.0), (2000, 700.0)), (300.0, 0.2));
    // Noise is no reason for a time below nothing.
    assert_eq!(line((1000, 500.0), (2000, 400.0)), (500.0, 0.0));
}

#[test]
fn costs_are_measured_by_copies() {
    let standin = Standin::new(4, 1 << 20, |_| Fate::Done);
    let dma = Dma::with(standin.clone(), COST);
    let cost = dma.measure().expect("an engine that copies");
    assert!(cost.processor.1 >= 0.0 && cost.engine.0 >= 0.0);
    assert_eq!(standin.taken(), 20);
    let refusing = Dma::with(Standin::new(4, 1 << 20, |_| Fate::Refused(BAD_OPERATION)), COST);
    assert_eq!(refusing.measure(), None);
}

#[test]
fn hardware_copies_where_it_is() {
    match Dma::open() {
        Ok(dma) => assert_eq!(copy(&dma, 5000).0, Some(Outcome::Done)),
        Err(error) => eprintln!("skipped: no work queue of DSA here: {error}"),
    }
}
