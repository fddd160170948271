//! Costs for machines that were not measured: those of one that was, an AMD EPYC (Zen 4)
//! with Linux 6.18. It had pairs of cores that share a cache of level 3. What shares more is taken to cost as much, and what shares less is
//! guessed from it.

use super::{Costs, Curve, Mover, Pace};

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

/// Points (bytes, nanoseconds).
type Points = &'static [(u64, f64)];

const EAGER: [Points; 2] = [
    &[
        (0, 5.0),
        (256, 50.0),
        (K, 96.0),
        (4 * K, 217.0),
        (16 * K, 584.0),
        (64 * K, 1_970.0),
        (256 * K, 6_000.0),
        (M, 27_000.0),
    ],
    &[(0, 100.0), (K, 450.0), (4 * K, 500.0), (16 * K, 1_500.0), (64 * K, 4_300.0), (256 * K, 16_700.0), (M, 66_500.0)],
];
const PIPE: [Points; 2] = [
    &[
        (0, 5.0),
        (4 * K, 220.0),
        (16 * K, 600.0),
        (64 * K, 2_000.0),
        (256 * K, 6_000.0),
        (M, 26_800.0),
        (4 * M, 120_000.0),
    ],
    &[
        (0, 100.0),
        (4 * K, 500.0),
        (16 * K, 1_500.0),
        (64 * K, 4_400.0),
        (256 * K, 16_700.0),
        (M, 66_500.0),
        (4 * M, 240_000.0),
    ],
];
const CMA: [Points; 2] = [
    &[(0, 330.0), (4 * K, 1_300.0), (64 * K, 5_500.0), (256 * K, 18_700.0), (M, 80_000.0), (4 * M, 330_000.0)],
    &[(0, 600.0), (4 * K, 2_000.0), (64 * K, 9_800.0), (256 * K, 33_000.0), (M, 129_000.0), (4 * M, 520_000.0)],
];
/// Of the kernel module, whose copies were counted in instructions on another machine: what it saves of [`CMA`] in the same ratio.
const MODULE: [Points; 2] = [
    &[(0, 300.0), (4 * K, 950.0), (64 * K, 3_400.0), (256 * K, 11_500.0), (M, 48_000.0), (4 * M, 200_000.0)],
    &[(0, 570.0), (4 * K, 1_650.0), (64 * K, 7_700.0), (256 * K, 25_800.0), (M, 97_000.0), (4 * M, 390_000.0)],
];
const MAPPED: [Points; 2] = [
    &[
        (0, 5.0),
        (K, 51.0),
        (4 * K, 100.0),
        (16 * K, 269.0),
        (64 * K, 980.0),
        (256 * K, 4_600.0),
        (M, 21_800.0),
        (4 * M, 100_000.0),
    ],
    &[(0, 100.0), (4 * K, 400.0), (64 * K, 3_300.0), (256 * K, 13_100.0), (M, 52_400.0), (4 * M, 210_000.0)],
];
const MAPPED_BOTH: [Points; 2] = [
    &[
        (0, 100.0),
        (K, 150.0),
        (4 * K, 180.0),
        (16 * K, 320.0),
        (64 * K, 886.0),
        (256 * K, 3_050.0),
        (M, 14_400.0),
        (4 * M, 65_000.0),
    ],
    &[(0, 200.0), (4 * K, 400.0), (64 * K, 2_800.0), (256 * K, 11_000.0), (M, 44_000.0), (4 * M, 180_000.0)],
];

impl Default for Costs {
    fn default() -> Costs {
        let near = Pace {
            packet: 100.0,
            movers: [
                EAGER,
                PIPE,
                CMA,
                CMA,
                // A page costs the kernel as much whoever asks; two processes ask side by side.
                CMA,
                MAPPED,
                MAPPED,
                MAPPED_BOTH,
                MODULE,
            ]
            .map(|pair| pair.map(|points| Curve::new(points.to_vec()).expect("sound points"))),
        };
        let mut costs = Costs {
            vectors: false,
            paces: [near.clone(), near.clone(), near.clone(), near.further(1.5), near.further(2.5)],
            promote: curve(&[(0, 250_000.0), (64 * K, 290_000.0), (256 * K, 380_000.0), (M, 820_000.0)]),
            pin: curve(&[(4 * K, 1_000.0), (64 * K, 1_800.0), (M, 14_000.0)]),
            unpin: curve(&[(4 * K, 800.0), (64 * K, 1_200.0), (M, 8_000.0)]),
            attach: curve(&[(4 * K, 3_000.0), (64 * K, 8_000.0), (M, 80_000.0)]),
            module: false,
            lookup: 530.0,
            piece: 4.0,
            kernel_piece: 320.0,
            wake: 4_000.0,
            switch: 2_000.0,
            origin: "figures of another machine".into(),
        };
        for pace in &mut costs.paces {
            let both = pace.movers[Mover::Cma as usize].each_ref();
            pace.movers[Mover::CmaBoth as usize] = both.map(|cma| cma.scaled(0.6));
        }
        costs
    }
}

fn curve(points: &[(u64, f64)]) -> Curve {
    Curve::new(points.to_vec()).expect("sound points")
}

impl Pace {
    /// The same between cores that are further apart.
    pub fn further(&self, factor: f64) -> Pace {
        Pace {
            packet: self.packet * factor,
            movers: self.movers.each_ref().map(|pair| pair.each_ref().map(|curve| curve.scaled(factor))),
        }
    }
}
