//! MPI_Dims_create: dimensions of a grid, as close to each other as they can be (MPI 5.0
//! section 8.5.2).

use crate::args::OutArray;
use crate::constants::*;
use crate::error::Result;

/// Splits `product` into `parts` factors, the largest first, so that the largest is as small as
/// it can be, then the second, and so on.
fn balance(product: i32, parts: usize) -> Vec<i32> {
    let divisors: Vec<i32> = (1..)
        .take_while(|d| d * d <= product as i64)
        .flat_map(|d| {
            let d = d as i32;
            let other = product / d;
            let pair = if product % d == 0 { vec![d, other] } else { Vec::new() };
            pair.into_iter().take(if d == other { 1 } else { 2 })
        })
        .collect();
    let mut divisors = divisors;
    divisors.sort_unstable();
    let mut factors = Vec::with_capacity(parts);
    let found = choose(&divisors, product, parts, i32::MAX, &mut factors);
    debug_assert!(found, "product x 1 x 1 ... always is one");
    factors
}

/// Appends `parts` factors of `product`, none above `most`; false when there are none.
fn choose(divisors: &[i32], product: i32, parts: usize, most: i32, factors: &mut Vec<i32>) -> bool {
    if parts == 0 {
        return product == 1;
    }
    for &largest in divisors.iter().take_while(|&&d| d <= most) {
        // The others are not larger, so all of them must be able to make up the product.
        let reach = (largest as f64).powi(parts as i32);
        if reach < product as f64 || product % largest != 0 {
            continue;
        }
        factors.push(largest);
        if choose(divisors, product / largest, parts - 1, largest, factors) {
            return true;
        }
        factors.pop();
    }
    false
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

    #[test]
    fn no_better_split_exists() {
        for n in 1..=240 {
            let factors = balance(n, 3);
            assert_eq!(factors.iter().product::<i32>(), n);
            assert!(factors.is_sorted_by(|a, b| a >= b));
            let best = (1..=n)
                .flat_map(|a| (1..=a).map(move |b| (a, b)))
                .filter(|(a, b)| n % (a * b) == 0 && n / (a * b) <= *b)
                .map(|(a, _)| a)
                .min();
            assert_eq!(Some(factors[0]), best, "{n}");
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
