use super::*;
use proptest::prelude::*;

const RATE: f64 = 0.05;

/// Sittings whose truth is known.
struct World {
    numbers: Numbers,
}

impl World {
    fn uniform(&mut self) -> f64 {
        ((self.numbers.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// The rounds of a row of such an effect. Rows are of unlike noise. A line keeps what it has for all its rounds, such as where its memory
    /// lies; one round in ten is disturbed.
    fn rounds(&mut self, truth: f64, rounds: usize) -> Vec<f64> {
        let noise = 0.01 * 10f64.powf(self.uniform());
        // Double exponential: now and then a line has very bad or good luck.
        let luck = noise * if self.uniform() < 0.5 { self.uniform().ln() } else { -self.uniform().ln() };
        let line = truth + luck;
        let round = |world: &mut Self| {
            let disturbed = if world.uniform() < 0.1 { 8.0 } else { 1.0 };
            line + disturbed * noise * world.normal()
        };
        (0..rounds).map(|_| round(self)).collect()
    }

    /// Which of the rows are shown: some without effect and some of this one, beside controls.
    fn sitting(&mut self, controls: usize, without: usize, with: (usize, f64)) -> Vec<bool> {
        let truths = [vec![0.0; controls + without], vec![with.1; with.0]].concat();
        let effects: Vec<Effect> = truths.iter().map(|&truth| effect(&self.rounds(truth, 7)).unwrap()).collect();
        let typical = typical(&effects);
        let scores: Vec<f64> = effects.iter().map(|effect| score(*effect, typical)).collect();
        discoveries(&p_values(&scores[controls..], &scores[..controls]), RATE)
    }
}

fn worlds(count: u64) -> impl Iterator<Item = World> {
    (0..count).map(|seed| World { numbers: Numbers::new(seed << 32) })
}

fn count(shown: &[bool]) -> usize {
    shown.iter().filter(|shown| **shown).count()
}

/// Where no row has an effect, any row that is shown is false, and the rate of Benjamini and Hochberg bounds the share of sittings with one.
#[test]
fn where_nothing_has_an_effect_a_row_is_shown_in_one_sitting_of_twenty_at_most() {
    const SITTINGS: u64 = 300;
    for (controls, rows) in [(20, 1), (60, 5), (60, 40), (200, 40), (400, 300)] {
        let false_ones = worlds(SITTINGS)
            .filter_map(|mut world| world.sitting(controls, rows, (0, 0.0)).contains(&true).then_some(()));
        // Three standard deviations of a count of which one in twenty is expected.
        let most = SITTINGS as f64 * RATE + 3.0 * (SITTINGS as f64 * RATE * (1.0 - RATE)).sqrt();
        let false_ones = false_ones.count();
        assert!(false_ones as f64 <= most, "{controls} controls, {rows} rows: {false_ones} of {SITTINGS} sittings");
    }
}

/// Of rows that are shown one in twenty is false at most, on average over sittings in which some have an effect.
#[test]
fn where_some_rows_have_an_effect_few_of_those_shown_are_false() {
    const SITTINGS: u64 = 100;
    let share = |mut world: World| {
        let shown = world.sitting(200, 30, (10, 0.5));
        count(&shown[..30]) as f64 / count(&shown).max(1) as f64
    };
    let mean = worlds(SITTINGS).map(share).sum::<f64>() / SITTINGS as f64;
    assert!(mean <= RATE * 1.2, "{mean}");
}

#[test]
fn an_effect_that_is_large_beside_the_noise_is_found() {
    let found = |mut world: World| count(&world.sitting(200, 30, (10, 0.8))[30..]);
    let found: usize = worlds(50).map(found).sum();
    assert!(found >= 425, "{found} of 500");
    let small = |mut world: World| count(&world.sitting(200, 30, (10, 0.01))[30..]);
    let small: usize = worlds(50).map(small).sum();
    assert!(small <= 50, "an effect below the noise is found {small} times of 500");
}

#[test]
fn what_one_round_says_does_not_count() {
    assert_eq!(effect(&[0.1; ENOUGH - 1]), None);
    let quiet = effect(&[0.1; ENOUGH]).unwrap();
    assert_eq!(quiet, Effect { size: 0.1, noise: 0.0 });
    let disturbed = effect(&[0.0, 0.0, 9.0, 0.0, 0.0]).unwrap();
    assert_eq!(disturbed.size, 0.0);
    assert!(disturbed.noise > 0.0);
}

#[test]
fn a_rank_is_as_fine_as_there_are_controls() {
    assert_eq!(p_values(&[9.0, -9.0, 0.0, 2.0], &[1.0, -2.0, 3.0]), [0.25, 0.25, 1.0, 0.75]);
    assert_eq!(p_values(&[9.0], &[]), [1.0]);
}

#[test]
fn beyond_many_controls_a_larger_score_is_less_likely() {
    let controls: Vec<f64> = (0..100).map(|control| f64::from(control) / 100.0).collect();
    let p = p_values(&[0.5, 0.89, 0.95, 0.99, 2.0, -4.0], &controls);
    assert_eq!(p[..2], [51.0 / 101.0, 12.0 / 101.0], "ranks");
    assert!(p.windows(2).all(|pair| pair[0] > pair[1]), "{p:?}");
    assert!(p[3] > 1.0 / 101.0, "as large as the largest control: {}", p[3]);
    assert_eq!(p_values(&[1.0, 2.0], &[0.0; 100]), [1.0 / 101.0; 2], "there is no tail");
}

/// What is computed is what draws come to.
#[test]
fn the_noise_is_that_of_a_bootstrap_over_the_rounds() {
    let mut numbers = Numbers::new(3);
    for rounds in [vec![1.0, 5.0, 2.0, 2.5, 9.0], vec![3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]] {
        let drawn = |places: Vec<usize>| median(&places.iter().map(|&place| rounds[place]).collect::<Vec<_>>());
        let medians: Vec<f64> = (0..20_000).map(|_| drawn(numbers.places(rounds.len()))).collect();
        let mean = medians.iter().sum::<f64>() / medians.len() as f64;
        let by_draws = (medians.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / medians.len() as f64).sqrt();
        let noise = effect(&rounds).unwrap().noise;
        // Of an even number the median of a draw is the mean of two values, which lie a little nearer to each other.
        let most = if rounds.len() % 2 == 1 { 0.02 } else { 0.2 };
        assert!((noise / by_draws - 1.0).abs() < most, "{noise} beside {by_draws}");
    }
}

#[test]
fn the_bound_is_what_most_controls_stay_below() {
    let controls: Vec<Vec<f64>> = (1..=99).map(|size| vec![f64::from(size) / 100.0; 7]).collect();
    let quiet = bound(&controls, RATE).unwrap();
    assert_eq!(quiet, Bound { value: 0.95, limits: [0.95, 0.95] });
    let mut world = World { numbers: Numbers::new(7) };
    let noisy: Vec<Vec<f64>> = (0..100).map(|_| world.rounds(0.0, 7)).collect();
    let noisy = bound(&noisy, RATE).unwrap();
    assert!(noisy.limits[0] <= noisy.value * 1.001 && noisy.limits[0] < noisy.limits[1], "{noisy:?}");
    assert_eq!(bound(&[], RATE), None);
}

fn of_row() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-1.0..1.0f64, ENOUGH..12)
}

proptest! {
    /// A row is as good as its opposite is bad.
    #[test]
    fn the_opposite_has_the_opposite_score(rounds in of_row(), typical in 0.0..1.0f64) {
        let opposite: Vec<f64> = rounds.iter().map(|round| -round).collect();
        let [one, other] = [rounds, opposite].map(|rounds| score(effect(&rounds).unwrap(), typical));
        prop_assert!((one + other).abs() < 1e-9, "{one} {other}");
    }

    /// Another unit changes no score.
    #[test]
    fn a_score_has_no_unit(rounds in of_row(), unit in 0.01..100.0f64) {
        let of = |rounds: &[f64], typical| score(effect(rounds).unwrap(), typical);
        let scaled: Vec<f64> = rounds.iter().map(|round| round * unit).collect();
        let (one, other) = (of(&rounds, 0.1), of(&scaled, 0.1 * unit));
        prop_assert!((one - other).abs() <= 1e-6 * one.abs().max(1.0), "{one} {other}");
    }

    /// Whatever is shown is shown by its own p-value, and a smaller one is shown too. What Bonferroni shows is shown.
    #[test]
    fn smaller_p_values_are_shown_first(p_values in prop::collection::vec(0.0..1.0f64, 0..40)) {
        let shown = discoveries(&p_values, RATE);
        prop_assert_eq!(shown.len(), p_values.len());
        for (one, p) in shown.iter().zip(&p_values) {
            prop_assert!(!one || *p <= RATE);
            prop_assert!(*one || *p > RATE / p_values.len() as f64);
            prop_assert!(shown.iter().zip(&p_values).all(|(other, q)| *other || !one || q > p));
        }
    }

    /// A further row without effect makes nothing shown that was not.
    #[test]
    fn more_rows_ask_for_more(p_values in prop::collection::vec(0.0..0.2f64, 1..40)) {
        let more = discoveries(&[p_values.as_slice(), &[1.0]].concat(), RATE);
        let less = discoveries(&p_values, RATE);
        prop_assert!(more.iter().zip(&less).all(|(more, less)| *less || !more));
    }

    /// A p-value is a rank: between the finest and 1, and it falls as the score grows.
    #[test]
    fn ranks_fall_as_scores_grow(scores in prop::collection::vec(-5.0..5.0f64, 2), controls in prop::collection::vec(-5.0..5.0f64, 0..80)) {
        let p = p_values(&scores, &controls);
        prop_assert!(p.iter().all(|p| *p > 0.0 && *p <= 1.0));
        prop_assert!((scores[0].abs() < scores[1].abs()) <= (p[0] >= p[1]), "{p:?}");
    }
}
