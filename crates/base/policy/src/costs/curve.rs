//! A cost as a function of size.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
/// Nanoseconds by size: points with the sizes rising, straight lines between them.
///
/// What moving bytes costs is a fixed part and a part per byte, with bends where a cache ends, so
/// straight lines between points at powers of two or four miss little. Below the first point the
/// cost is that of the first point; beyond the last it goes on as steeply as before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    points: Vec<(u64, f64)>,
}

/// How far a point may lie below an earlier one before a curve is taken for nonsense: measuring is
/// noisy, but moving more does not cost a fraction of moving less.
const NOISE: f64 = 8.0;
/// The most points of a curve: one for every power of two.
const MOST: usize = 64;

impl Curve {
    /// A curve through `points` (bytes, nanoseconds). The error says what is wrong with them.
    pub fn new(points: Vec<(u64, f64)>) -> Result<Curve, String> {
        if points.is_empty() {
            return Err("has no points".into());
        }
        if points.len() > MOST {
            return Err(format!("has more than {MOST} points"));
        }
        let mut highest: (u64, f64) = (0, 0.0);
        for (at, &(size, ns)) in points.iter().enumerate() {
            if !ns.is_finite() || ns < 0.0 {
                return Err(format!("has {ns} ns at {size} bytes"));
            }
            if at > 0 && size <= points[at - 1].0 {
                return Err(format!("has its sizes out of order at {size}"));
            }
            if ns * NOISE < highest.1 {
                let (earlier, above) = highest;
                return Err(format!("falls from {above} ns at {earlier} bytes to {ns} ns at {size}"));
            }
            if ns > highest.1 {
                highest = (size, ns);
            }
        }
        Ok(Curve { points })
    }

    /// The points (bytes, nanoseconds), at least one.
    pub fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// Nanoseconds for `size` bytes: finite and not negative.
    pub fn at(&self, size: u64) -> f64 {
        let points = &self.points;
        let above = points.partition_point(|point| point.0 <= size);
        if above == 0 {
            return points[0].1;
        }
        let from = points[above - 1];
        if above < points.len() {
            let to = points[above];
            return from.1 + slope(from, to) * (size - from.0) as f64;
        }
        let steep = match above {
            // One point alone: nothing is known but the cost per byte up to it.
            1 => from.1 / from.0.max(1) as f64,
            _ => slope(points[above - 2], from).max(0.0),
        };
        (from.1 + steep * (size - from.0) as f64).min(f64::MAX)
    }

    /// The curve with every cost multiplied.
    pub fn scaled(&self, factor: f64) -> Curve {
        let scale = |&(size, ns): &(u64, f64)| (size, ns * factor);
        Curve { points: self.points.iter().map(scale).collect() }
    }
}

/// Nanoseconds per byte from one point to the next.
fn slope(from: (u64, f64), to: (u64, f64)) -> f64 {
    (to.1 - from.1) / (to.0 - from.0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curve(points: &[(u64, f64)]) -> Curve {
        Curve::new(points.to_vec()).unwrap()
    }

    #[test]
    fn lines_between_points_and_beyond() {
        let curve = curve(&[(1024, 100.0), (2048, 200.0), (4096, 600.0)]);
        assert_eq!(curve.at(0), 100.0);
        assert_eq!(curve.at(1024), 100.0);
        assert_eq!(curve.at(1536), 150.0);
        assert_eq!(curve.at(3072), 400.0);
        assert_eq!(curve.at(4096), 600.0);
        assert_eq!(curve.at(8192), 1400.0);
    }

    #[test]
    fn one_point_gives_a_cost_per_byte() {
        assert_eq!(curve(&[(1000, 50.0)]).at(2000), 100.0);
        assert_eq!(curve(&[(0, 50.0)]).at(2), 150.0);
    }

    #[test]
    fn a_falling_end_does_not_go_below_its_last_point() {
        assert_eq!(curve(&[(1024, 100.0), (2048, 90.0)]).at(1 << 40), 90.0);
    }

    #[test]
    fn nonsense_is_refused() {
        for points in [
            vec![],
            vec![(0, f64::NAN)],
            vec![(0, f64::INFINITY)],
            vec![(0, -1.0)],
            vec![(8, 1.0), (8, 2.0)],
            vec![(8, 1.0), (4, 2.0)],
            vec![(1024, 1000.0), (2048, 100.0)],
            vec![(1, 1.0), (2, 1000.0), (3, 990.0), (4, 10.0)],
            (0..65).map(|size| (size, 1.0)).collect(),
        ] {
            assert!(Curve::new(points.clone()).is_err(), "{points:?} was taken");
        }
    }

    proptest! {
        #[test]
        fn any_curve_gives_finite_costs(
            sizes in prop::collection::btree_set(any::<u64>(), 1..20),
            ns in prop::collection::vec(1.0..8.0f64, 20),
            scale in 0.0..1e300f64,
            size: u64,
        ) {
            let points = sizes.into_iter().zip(ns).map(|(size, ns)| (size, ns * scale)).collect();
            let cost = Curve::new(points).unwrap().at(size);
            prop_assert!(cost.is_finite() && cost >= 0.0, "{cost}");
        }
    }
}
