//! MPI_Dims_create: dimensions of a grid, as close to each other as they can be (MPI 5.0
//! section 8.5.2).

use crate::args::OutArray;
use crate::constants::*;
use crate::error::Result;

/// Splits `product` into `parts` factors, the largest first, so that the largest and the smallest are as close to each
/// other as they can be. Of several such splits it takes the one with the least sum: a grid of these dimensions has the
/// shortest borders.
fn balance(product: i32, parts: usize) -> Vec<i32> {
    let between = match parts {
        0 => return Vec::new(),
        1 => return vec![product],
        _ => parts - 2,
    };
    let divisors = divisors(product);
    let mut spans = spans(&divisors, product, between);
    spans.sort_unstable_by_key(|(largest, smallest)| largest - smallest);
    for equal in spans.chunk_by(|a, b| a.0 - a.1 == b.0 - b.1) {
        let mut best = None;
        for &(largest, smallest) in equal {
            let within = divisors.iter().copied().filter(|d| (smallest..=largest).contains(d)).rev().collect();
            let mut search = Search { within, factors: vec![largest], smallest, best: best.take() };
            search.fill(0, product / largest / smallest, between);
            best = search.best;
        }
        if let Some(factors) = best {
            return factors;
        }
    }
    unreachable!("product x 1 x 1 ... always is one");
}

fn divisors(product: i32) -> Vec<i32> {
    let small = (1..).take_while(|&d| d as i64 * d as i64 <= product as i64).filter(|d| product % d == 0);
    let small: Vec<i32> = small.collect();
    let large = small.iter().rev().map(|d| product / d).filter(|d| product / d != *d);
    small.iter().copied().chain(large).collect()
}

/// True when `product` may have `parts` factors between `smallest` and `largest`, as far as their sizes tell.
fn is_in_reach(product: i32, parts: usize, smallest: i32, largest: i32) -> bool {
    let power = |factor: i32| (factor as f64).powi(parts as i32);
    (power(smallest)..=power(largest)).contains(&(product as f64))
}

/// The pairs of a largest and a smallest factor between which there may be `between` others.
fn spans(divisors: &[i32], product: i32, between: usize) -> Vec<(i32, i32)> {
    let pairs = divisors.iter().flat_map(|&l| divisors.iter().map(move |&s| (l, s)).take_while(|(l, s)| s <= l));
    let fits = |&(largest, smallest): &(i32, i32)| {
        let rest = product / largest;
        rest % smallest == 0 && is_in_reach(rest / smallest, between, smallest, largest)
    };
    pairs.filter(fits).collect()
}

/// The factors between a largest and a smallest one.
struct Search {
    /// Those that there may be, in falling order.
    within: Vec<i32>,
    /// Chosen so far.
    factors: Vec<i32>,
    smallest: i32,
    /// The split with the least sum so far.
    best: Option<Vec<i32>>,
}

impl Search {
    /// Adds `parts` factors of `product`, none larger than number `first`.
    fn fill(&mut self, first: usize, product: i32, parts: usize) {
        if parts == 0 {
            let sum = |factors: &[i32]| factors.iter().map(|&f| f as i64).sum::<i64>();
            if product == 1 {
                let found: Vec<i32> = self.factors.iter().copied().chain([self.smallest]).collect();
                if self.best.as_ref().is_none_or(|best| sum(&found) < sum(best)) {
                    self.best = Some(found);
                }
            }
            return;
        }
        for at in first..self.within.len() {
            let factor = self.within[at];
            if product % factor == 0 && is_in_reach(product / factor, parts - 1, self.smallest, factor) {
                self.factors.push(factor);
                self.fill(at, product / factor, parts - 1);
                self.factors.pop();
            }
        }
    }
}

/// MPI_Dims_create: entries of `dims` above 0 stay as they are, those that are 0 are filled in.
pub fn dims_create(nnodes: i32, ndims: i32, dims: OutArray<i32>) -> Result<()> {
    if nnodes <= 0 {
        return err!(MPI_ERR_ARG, "the number of nodes is {nnodes}; at least one is needed");
    }
    let given: Vec<i32> = (0..ndims as usize).map(|d| dims.get(d)).collect();
    if let Some(negative) = given.iter().find(|&&dim| dim < 0) {
        return err!(MPI_ERR_DIMS, "the dimension {negative} is negative");
    }
    let fixed = given.iter().filter(|&&dim| dim > 0).map(|&dim| dim as i64).try_fold(1i64, i64::checked_mul);
    let free = given.iter().filter(|&&dim| dim == 0).count();
    let Some(fixed) = fixed.filter(|f| nnodes as i64 % f == 0 && (free > 0 || *f == nnodes as i64)) else {
        return err!(MPI_ERR_DIMS, "{nnodes} nodes cannot be divided by the given dimensions {given:?}");
    };
    let mut factors = balance((nnodes as i64 / fixed) as i32, free).into_iter();
    for (d, _) in given.iter().enumerate().filter(|(_, dim)| **dim == 0) {
        dims.set(d, factors.next().expect("one factor for each free dimension"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(nnodes: i32, mut dims: Vec<i32>) -> std::result::Result<Vec<i32>, i32> {
        // SAFETY: a local array of that length.
        let out = unsafe { OutArray::new(dims.as_mut_ptr()) };
        dims_create(nnodes, dims.len() as i32, out).map_err(|e| e.code)?;
        Ok(dims)
    }

    #[test]
    fn the_examples_of_the_standard() {
        assert_eq!(create(6, vec![0, 0]), Ok(vec![3, 2]));
        assert_eq!(create(7, vec![0, 0]), Ok(vec![7, 1]));
        assert_eq!(create(6, vec![0, 3, 0]), Ok(vec![2, 3, 1]));
        assert_eq!(create(7, vec![0, 3, 0]), Err(MPI_ERR_DIMS));
    }

    #[test]
    fn factors_are_balanced_and_fall() {
        assert_eq!(balance(16, 3), [4, 2, 2]);
        assert_eq!(balance(24, 3), [4, 3, 2]);
        assert_eq!(balance(36, 2), [6, 6]);
        assert_eq!(balance(1000, 3), [10, 10, 10]);
        assert_eq!(balance(1, 4), [1, 1, 1, 1]);
        assert_eq!(balance(2 * 3 * 5 * 7 * 11 * 13, 6), [13, 11, 7, 5, 3, 2]);
        assert_eq!(balance(0x7fff_ffff, 3), [0x7fff_ffff, 1, 1]);
    }

    /// All splits of `product` into `parts` factors that fall.
    fn all(product: i32, parts: usize, most: i32) -> Vec<Vec<i32>> {
        if parts == 0 {
            return if product == 1 { vec![Vec::new()] } else { Vec::new() };
        }
        let factors = (1..=most.min(product)).filter(|factor| product % factor == 0);
        let with = |factor: i32| {
            let rest = all(product / factor, parts - 1, factor).into_iter();
            rest.map(move |rest| [vec![factor], rest].concat())
        };
        factors.flat_map(with).collect()
    }

    #[test]
    fn no_better_split_exists() {
        let measure = |f: &Vec<i32>| (f[0] - f[f.len() - 1], f.iter().sum::<i32>());
        for (parts, most) in [(2, 400), (3, 1200), (4, 400), (5, 150)] {
            for n in 1..=most {
                let factors = balance(n, parts);
                assert_eq!(factors.iter().product::<i32>(), n);
                assert!(factors.is_sorted_by(|a, b| a >= b), "{factors:?}");
                let best = all(n, parts, n).iter().map(measure).min();
                assert_eq!(Some(measure(&factors)), best, "{n} as {factors:?}");
            }
        }
        assert_eq!(balance(7488, 3), [26, 18, 16]);
    }

    #[test]
    fn large_numbers_take_no_time() {
        for (n, parts) in [(1_396_755_360, 4), (2_095_133_040, 6), (1_009 * 720_720, 5), (1 << 30, 20)] {
            assert_eq!(balance(n, parts).iter().map(|&f| f as i64).product::<i64>(), n as i64);
        }
    }

    #[test]
    fn given_dimensions_must_divide() {
        assert_eq!(create(12, vec![4, 3]), Ok(vec![4, 3]));
        assert_eq!(create(12, vec![4, 2]), Err(MPI_ERR_DIMS));
        assert_eq!(create(12, vec![-1, 0]), Err(MPI_ERR_DIMS));
        assert_eq!(create(0, vec![0]), Err(MPI_ERR_ARG));
        assert_eq!(create(1, vec![]), Ok(vec![]));
    }
}
