//! What the rounds of a row say, and how much of it chance explains: pure functions of numbers.
//!
//! - A row's *effect* is the median over its rounds; its *noise* is the standard error of that median, by bootstrap over the rounds.
//! - Its *score* is the effect over its noise and the typical noise of the sitting together. So rows of very different noise have scores of one
//!   kind, and a row that is quiet by chance has no large score ([`score`]).
//! - Rows that cannot have an effect are the sitting's *controls*. The p-value of a row is the share of controls whose scores are as large
//!   ([`p_values`]). Such a rank takes no distribution for granted. Where only few controls are as large, a rank is too coarse: the largest
//!   controls are taken for the tail of an exponential distribution then.
//! - Over many rows the share of false ones among those that are shown is bounded by Benjamini and Hochberg's procedure ([`discoveries`]). It bears that
//!   the p-values depend on each other by their common controls (Bates, Candès, Lei, Romano, Sesia 2023). Holm's procedure would bound the
//!   chance of a single false row among all. That is more than is asked: a verdict wants a row to repeat itself in other sittings anyway.

/// Rounds from which an effect has a noise to speak of.
pub const ENOUGH: usize = 5;
/// How often the bootstrap of the bound draws.
const DRAWS: usize = 200;
/// The largest controls by which the tail is estimated: so many, or one in so many where these are more.
const TAIL: usize = 10;
/// By what the mean of the tail is multiplied. Scores of rows of very unlike noise fall more slowly than an exponential: without it 400 controls
/// showed a false row of 300 in 9 of 100 sittings that were made up (`tests`), with it in 4.
const WIDER: f64 = 1.25;
/// Controls without which there are ranks only.
const MANY: usize = 40;

/// A row's effect and its noise, in the unit of the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    pub size: f64,
    pub noise: f64,
}

/// Numbers for the bootstrap, the same in each run (SplitMix64).
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// So many draws, with replacement, from `0..count`.
    fn places(&mut self, count: usize) -> Vec<usize> {
        (0..count).map(|_| (self.next() % count as u64) as usize).collect()
    }
}

/// The median; of an even number of values the mean of the two in the middle. 0 of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
    }
}

/// The chance that so many of `count` draws or more fall among `of` in `count`.
fn at_least(least: usize, count: usize, of: usize) -> f64 {
    let share = of as f64 / count as f64;
    let mut ways = 1.0;
    let mut sum = 0.0;
    for hits in 0..=count {
        if hits >= least {
            sum += ways * share.powi(hits as i32) * (1.0 - share).powi((count - hits) as i32);
        }
        ways *= (count - hits) as f64 / (hits + 1) as f64;
    }
    sum
}

/// The standard deviation of the median over all draws of as many values with replacement, without drawing: each of the ascending values is the
/// median of so large a share of the draws.
fn deviation_of_median(values: &[f64]) -> f64 {
    let (count, middle) = (values.len(), median(values));
    let mut sorted: Vec<f64> = values.iter().map(|value| value - middle).collect();
    sorted.sort_by(f64::total_cmp);
    // Of an even number of draws both that lie in the middle.
    let halves = [count.div_ceil(2), count / 2 + 1];
    let up_to = |of: usize| halves.iter().map(|least| at_least(*least, count, of)).sum::<f64>() / 2.0;
    let shares: Vec<f64> = (1..=count).map(|of| up_to(of) - up_to(of - 1)).collect();
    let mean: f64 = sorted.iter().zip(&shares).map(|(value, share)| value * share).sum();
    sorted.iter().zip(&shares).map(|(value, share)| share * (value - mean).powi(2)).sum::<f64>().sqrt()
}

/// Effect and noise of a row, by what each round says. `None` of fewer rounds than [`ENOUGH`].
pub fn effect(rounds: &[f64]) -> Option<Effect> {
    (rounds.len() >= ENOUGH).then(|| Effect { size: median(rounds), noise: deviation_of_median(rounds) })
}

/// The typical noise of a sitting: the median over all its rows, those of controls among them.
pub fn typical(effects: &[Effect]) -> f64 {
    median(&effects.iter().map(|effect| effect.noise).collect::<Vec<_>>())
}

/// An effect over its noise and the typical one. 0 where neither row nor sitting has noise: such figures are counts, not measurements.
pub fn score(effect: Effect, typical: f64) -> f64 {
    let noise = effect.noise + typical;
    if noise > 0.0 { effect.size / noise } else { 0.0 }
}

/// How likely each score is by chance, without regard to the sign: its rank among the controls, of which it is one itself then. A score among or
/// beyond the largest ones has the share of an exponential tail with the mean of theirs. That mean is widened by one standard error, since few
/// values tell it, and by [`WIDER`].
pub fn p_values(scores: &[f64], controls: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = controls.iter().map(|score| score.abs()).collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let rank =
        |score: f64| (1 + count - sorted.partition_point(|control| *control < score)) as f64 / (1 + count) as f64;
    if count < MANY {
        return scores.iter().map(|score| rank(score.abs())).collect();
    }
    let tail = TAIL.max(count / TAIL);
    let (from, largest) = (sorted[count - tail - 1], &sorted[count - tail..]);
    let mean = largest.iter().map(|control| control - from).sum::<f64>() / tail as f64;
    let mean = WIDER * mean * (1.0 + 1.0 / (tail as f64).sqrt());
    let share = |score: f64| (1 + tail) as f64 / (1 + count) as f64 * (-(score - from) / mean).exp();
    let p = |score: f64| if score > from && mean > 0.0 { share(score) } else { rank(score) };
    scores.iter().map(|score| p(score.abs())).collect()
}

/// Which of the p-values are shown, so that on average no more than the share `rate` of these is false (Benjamini and Hochberg 1995).
pub fn discoveries(p_values: &[f64], rate: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let allowed = |place: usize| rate * (place + 1) as f64 / p_values.len() as f64;
    let last = (0..order.len()).rev().find(|place| p_values[order[*place]] <= allowed(*place));
    let mut shown = vec![false; p_values.len()];
    for place in last.map_or(0..0, |last| 0..last + 1) {
        shown[order[place]] = true;
    }
    shown
}

/// What so many controls in a hundred stay below by chance, and within what limits that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    pub value: f64,
    /// The middle nine tenths of what the bootstrap over rounds finds.
    pub limits: [f64; 2],
}

/// The value that the share `1 - rate` of further controls stays below: of n ascending ones that at place (n + 1) (1 - rate). The largest one, where
/// there are too few.
fn high(magnitudes: &mut [f64], rate: f64) -> f64 {
    magnitudes.sort_by(f64::total_cmp);
    let place = ((magnitudes.len() + 1) as f64 * (1.0 - rate)).ceil() as usize;
    magnitudes[place.clamp(1, magnitudes.len()) - 1]
}

/// The bound on the effects of the controls, each with the values of its rounds. All are drawn by the same rounds, since what disturbs a round
/// disturbs many rows. `None` without controls.
pub fn bound(controls: &[Vec<f64>], rate: f64) -> Option<Bound> {
    let rounds = controls.iter().map(Vec::len).max().filter(|rounds| *rounds > 0)?;
    let of = |places: &[usize]| {
        let drawn =
            |control: &Vec<f64>| -> Vec<f64> { places.iter().filter_map(|&at| control.get(at).copied()).collect() };
        let mut magnitudes: Vec<f64> = controls.iter().map(|control| median(&drawn(control)).abs()).collect();
        high(&mut magnitudes, rate)
    };
    let mut numbers = Numbers::new(controls.len() as u64);
    let mut drawn: Vec<f64> = (0..DRAWS).map(|_| of(&numbers.places(rounds))).collect();
    drawn.sort_by(f64::total_cmp);
    let value = of(&(0..rounds).collect::<Vec<_>>());
    // Draws are noisier than the rounds that they are drawn from, so that all of them may lie above.
    let limits = [drawn[DRAWS / 20].min(value), drawn[DRAWS - 1 - DRAWS / 20].max(value)];
    Some(Bound { value, limits })
}

#[cfg(test)]
mod tests;
