//! The posterior of the breaking point, on a logarithmic grid of loads.
//!
//! The breaking point is the highest load that lasts. The machine is faster in some levels than in others, and each
//! start has a breaking point of its own. Both spreads are unknown, and so are the parameters of the law: how the share
//! rises with the load, or how much the work of requests varies. So the posterior is over within × unknown × grid:
//! the spread of levels within a start, the unknown parameters, and the breaking point. Over several starts it is over
//! between × within × unknown × grid.

use std::f64::consts::{LN_2, PI};
use std::rc::Rc;

use super::blur::{Blur, GRID_STEP};
use super::kept::Kept;
use super::queue_law::QueueLaw;
use super::share_law::ShareLaw;
use super::spec::{LawSpec, LevelSpec, ShareLawSpec, Weighing};

/// Spreads of levels around their start's breaking point, and of starts around the server's, as logarithms. The smallest
/// cannot be resolved by a level of seconds, the largest makes the figure worthless. Their priors are half-Cauchy
/// distributions with medians of 1 % and 2.5 %, which allow for much larger spreads.
const WITHIN: [f64; 4] = [0.004, 0.012, 0.035, 0.1];
const BETWEEN: [f64; 7] = [0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16];
const WITHIN_MEDIAN: f64 = 0.01;
const BETWEEN_MEDIAN: f64 = 0.025;
/// The share of levels that say nothing of the load, because of a short stall of the machine or by chance. (Wichmann &
/// Hill, *Perception & Psychophysics* 2001: otherwise one outlier moves the whole estimate.)
const LAPSE: f64 = 0.04;
/// How far beyond the loads tried the grid reaches, as a logarithm.
const BEYOND: f64 = LN_2;
/// How many results are kept for the next step of the search: the likelihoods of starts are some megabytes each, those
/// of servers seven times that, and the shares at the load of a level one or two megabytes.
const STARTS_KEPT: usize = 24;
const SERVERS_KEPT: usize = 6;
const SHARES_KEPT: usize = 32;

/// What the likelihood of one start's levels depends on. `is_first`: what was known before the first level counts.
#[derive(Clone, PartialEq)]
struct OfStart {
    law: LawSpec,
    ends: (f64, f64),
    is_first: bool,
    levels: Vec<LevelSpec>,
}

/// What the shares at the load of a level depend on: how many answers count as one does not matter.
#[derive(PartialEq)]
struct OfShares {
    law: ShareLawSpec,
    ends: (f64, f64),
    load: f64,
}

/// What is kept from one `Weighing` to the next. A search asks for all its levels again after each new one.
pub struct Memory {
    blur: Blur,
    /// Within × unknown × grid.
    starts: Kept<OfStart, Rc<Vec<f64>>>,
    /// Between × within × unknown × grid.
    servers: Kept<Vec<OfStart>, Rc<Vec<f64>>>,
    /// Curves × grid.
    shares: Kept<OfShares, Rc<Vec<(f64, f64)>>>,
}

impl Memory {
    pub fn new() -> Self {
        Self {
            blur: Blur::default(),
            starts: Kept::new(STARTS_KEPT),
            servers: Kept::new(SERVERS_KEPT),
            shares: Kept::new(SHARES_KEPT),
        }
    }
}

/// Which kind of likelihood a level has.
enum Law {
    Queue(QueueLaw),
    Shares(ShareLaw),
}

pub struct Posterior<'a> {
    memory: &'a mut Memory,
    spec: LawSpec,
    law: Law,
    ends: (f64, f64),
    grid: Vec<f64>,
    starts: Vec<(u32, OfStart)>,
}

impl<'a> Posterior<'a> {
    pub fn new(asked: &Weighing, memory: &'a mut Memory) -> Self {
        let ends = (asked.lowest, asked.highest);
        let (law, spec) = match asked.law.clone() {
            LawSpec::Queue(spec) => (Law::Queue(QueueLaw::new(spec.clone())), LawSpec::Queue(spec)),
            LawSpec::Shares(spec) => (Law::Shares(ShareLaw::new(spec.clone())), LawSpec::Shares(spec)),
        };
        let mut numbers: Vec<u32> = asked.levels.iter().map(|level| level.start).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let starts = numbers.iter().map(|&number| {
            let levels = asked.levels.iter().filter(|level| level.start == number).cloned().collect();
            (number, OfStart { law: of_likelihood(&spec), ends, is_first: number == numbers[0], levels })
        });
        Self { starts: starts.collect(), memory, law, ends, grid: grid(ends), spec }
    }

    /// Returns the loads below which the server breaks with these probabilities.
    pub fn of_server(&mut self, shares: &[f64]) -> Vec<f64> {
        let weights = if let [(_, only)] = &self.starts[..] {
            // One start does not show how its own breaking point differs from the server's.
            let only = only.clone();
            self.likelihood(&only).to_vec()
        } else {
            let starts: Vec<_> = self.starts.iter().map(|(_, start)| start.clone()).collect();
            let all = self.product(&starts);
            sum_of(&prior(&BETWEEN, BETWEEN_MEDIAN), &all)
        };
        self.loads(&weights, shares, false)
    }

    /// Returns the loads below which one start breaks with these probabilities, which may have no level yet; `telling`:
    /// the loads at which levels say most instead.
    pub fn of_start(&mut self, number: u32, shares: &[f64], telling: bool) -> Vec<f64> {
        let own = self.starts.iter().find(|(other, _)| *other == number).map(|(_, start)| start.clone());
        let others: Vec<_> = self
            .starts
            .iter()
            .filter(|(other, _)| *other != number)
            .map(|(_, start)| start.clone())
            .collect();
        let size = WITHIN.len() * self.prior().len() * self.grid.len();
        let mut weights = own.map_or_else(|| vec![1.0; size], |own| self.likelihood(&own).to_vec());
        if !others.is_empty() {
            let all = self.product(&others);
            let mut known = vec![0.0; size];
            let each = prior(&BETWEEN, BETWEEN_MEDIAN).into_iter().zip(BETWEEN).zip(all.chunks_exact(size));
            for ((share, spread), other) in each {
                let blurred = self.memory.blur.blurred(other, self.grid.len(), &[spread]);
                known.iter_mut().zip(blurred).for_each(|(known, value)| *known += share * value);
            }
            multiply(&mut weights, &known);
        }
        self.loads(&weights, shares, telling)
    }

    fn prior(&self) -> &[f64] {
        match &self.law {
            Law::Queue(law) => &law.prior,
            Law::Shares(law) => &law.prior,
        }
    }

    /// Within × unknown × grid: how likely the levels of one start are. The product of those before the last is kept.
    fn likelihood(&mut self, start: &OfStart) -> Rc<Vec<f64>> {
        if let Some(kept) = self.memory.starts.get(start) {
            return kept;
        }
        let is_before = |kept: &OfStart| {
            let alike = kept.law == start.law && kept.ends == start.ends && kept.is_first == start.is_first;
            (alike && start.levels.starts_with(&kept.levels)).then_some(kept.levels.len())
        };
        let (known, mut product) = match self.memory.starts.take_best(is_before) {
            Some((kept, product)) => (kept.levels.len(), Rc::unwrap_or_clone(product)),
            None => (0, self.before_levels(start.is_first)),
        };
        for level in &start.levels[known..] {
            multiply(&mut product, &self.of_level(level));
            scale_to_1(&mut product);
        }
        let product = Rc::new(product);
        self.memory.starts.insert(start.clone(), Rc::clone(&product));
        product
    }

    fn before_levels(&mut self, is_first: bool) -> Vec<f64> {
        let before = match &self.law {
            Law::Queue(law) if is_first => law.before(&self.grid),
            _ => None,
        };
        let Some(before) = before else {
            return vec![1.0; WITHIN.len() * self.prior().len() * self.grid.len()];
        };
        let mut blurred = self.memory.blur.blurred(&before, self.grid.len(), &WITHIN);
        scale_to_1(&mut blurred);
        blurred
    }

    /// Within × unknown × grid: how likely the level is if the machine's speed varies by each of these spreads.
    fn of_level(&mut self, level: &LevelSpec) -> Vec<f64> {
        let (likely, blind) = match &self.law {
            Law::Queue(law) => (law.likelihood(level, &self.grid), QueueLaw::blind(level)),
            Law::Shares(law) => {
                let key = OfShares { law: of_curves(&self.spec), ends: self.ends, load: level.load };
                let shares = self.memory.shares.get(&key).unwrap_or_else(|| {
                    let shares = Rc::new(law.shares(level.load, &self.grid));
                    self.memory.shares.insert(key, Rc::clone(&shares));
                    shares
                });
                (law.likelihood(level, &shares), law.blind(level))
            }
        };
        let mut blurred = self.memory.blur.blurred(&likely, self.grid.len(), &WITHIN);
        for value in &mut blurred {
            *value = *value * (1.0 - LAPSE) + LAPSE * blind;
        }
        blurred
    }

    /// Between × within × unknown × grid of the server: how likely the levels of several starts are. The product of
    /// those before the last is kept, as only the last has new levels.
    fn product(&mut self, starts: &[OfStart]) -> Rc<Vec<f64>> {
        let key = starts.to_vec();
        if let Some(kept) = self.memory.servers.get(&key) {
            return kept;
        }
        let (last, before) = starts.split_last().expect("there is a start");
        let likely = self.likelihood(last);
        let mut product = self.memory.blur.blurred(&likely, self.grid.len(), &BETWEEN);
        if !before.is_empty() {
            let before = self.product(before);
            multiply(&mut product, &before);
        }
        scale_to_1(&mut product);
        let product = Rc::new(product);
        self.memory.servers.insert(key, Rc::clone(&product));
        product
    }

    /// Returns quantiles of a posterior (within × unknown × grid) over the grid, or of what tells it.
    fn loads(&self, weights: &[f64], shares: &[f64], telling: bool) -> Vec<f64> {
        let (width, unknown) = (self.grid.len(), self.prior().len());
        let mut each = sum_of(&prior(&WITHIN, WITHIN_MEDIAN), weights);
        for (row, likely) in each.chunks_exact_mut(width).zip(self.prior()) {
            row.iter_mut().for_each(|value| *value *= likely);
        }
        if telling {
            let at = match &self.law {
                Law::Queue(law) => law.reach(&self.grid),
                Law::Shares(law) => law.reach(&self.grid),
            };
            let mut order: Vec<u32> = (0..at.len() as u32).collect();
            // The rows are in order, which a stable sort makes use of.
            order.sort_by(|one, other| at[*one as usize].total_cmp(&at[*other as usize]));
            return quantiles(order.iter().map(|place| (at[*place as usize], each[*place as usize])), shares);
        }
        // The loads are those of the grid in every row, so nothing need be sorted.
        let by_load = (0..width).flat_map(|at| (0..unknown).map(move |row| (at, row)));
        quantiles(by_load.map(|(at, row)| (self.grid[at], each[row * width + at])), shares)
    }
}

/// Returns the law without what does not matter to how likely a level is.
fn of_likelihood(spec: &LawSpec) -> LawSpec {
    match spec.clone() {
        LawSpec::Queue(mut spec) => {
            (spec.known_to, spec.level_s) = (0.0, 0.0);
            LawSpec::Queue(spec)
        }
        shares @ LawSpec::Shares(_) => shares,
    }
}

/// Returns the law of shares without what does not matter to its curves.
fn of_curves(spec: &LawSpec) -> ShareLawSpec {
    match spec {
        LawSpec::Shares(spec) => ShareLawSpec { together: 0.0, telling: 0.0, ..spec.clone() },
        LawSpec::Queue(_) => unreachable!("the law of queues has no curves"),
    }
}

/// Returns a grid of loads, as logarithms, that reaches beyond the lowest and highest load tried.
fn grid((lowest, highest): (f64, f64)) -> Vec<f64> {
    let (from, to) = (lowest.ln() - BEYOND, highest.ln() + BEYOND);
    (0..((to - from) / GRID_STEP).ceil() as usize).map(|number| from + GRID_STEP * number as f64).collect()
}

/// Returns the prior of each spread: the share of a half-Cauchy distribution that is nearest to it.
fn prior(spreads: &[f64], median: f64) -> Vec<f64> {
    let below = |at: usize| match at {
        0 => 0.0,
        _ if at == spreads.len() => PI / 2.0,
        _ => ((spreads[at - 1] + spreads[at]) / 2.0 / median).atan(),
    };
    (0..spreads.len()).map(|at| (below(at + 1) - below(at)) / (PI / 2.0)).collect()
}

/// Returns the sum of the equal parts that `values` has, each weighted with its share.
fn sum_of(shares: &[f64], values: &[f64]) -> Vec<f64> {
    let size = values.len() / shares.len();
    let mut sum = vec![0.0; size];
    for (share, part) in shares.iter().zip(values.chunks_exact(size)) {
        sum.iter_mut().zip(part).for_each(|(sum, value)| *sum += share * value);
    }
    sum
}

fn multiply(product: &mut [f64], factors: &[f64]) {
    product.iter_mut().zip(factors).for_each(|(product, factor)| *product *= factor);
}

/// Scales likelihoods so that the largest is 1, to avoid underflow.
fn scale_to_1(likely: &mut [f64]) {
    let largest = likely.iter().copied().fold(0.0, f64::max);
    likely.iter_mut().for_each(|value| *value /= largest);
}

/// Returns the loads up to which these shares of all weight lie. `weighted`: loads, as logarithms, in their order.
fn quantiles(weighted: impl Iterator<Item = (f64, f64)>, shares: &[f64]) -> Vec<f64> {
    let mut total = 0.0;
    let below: Vec<_> = weighted
        .map(|(log, weight)| {
            total += weight;
            (log, total)
        })
        .collect();
    let of_share = |share: &f64| {
        let after = below.partition_point(|(_, sum)| sum / total <= *share);
        if after == 0 || after == below.len() {
            return below[after.min(below.len() - 1)].0.exp();
        }
        let ((from, least), (to, most)) = (below[after - 1], below[after]);
        (from + (to - from) * (share - least / total) / ((most - least) / total)).exp()
    };
    shares.iter().map(of_share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prior_of_a_spread_has_its_median() {
        let within = prior(&WITHIN, WITHIN_MEDIAN);
        assert!((within.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        // Half of it lies below 1 %, the middle of which is between the first two.
        assert!(within[0] < 0.5 && within[0] + within[1] > 0.5);
    }

    #[test]
    fn a_quantile_lies_between_its_neighbours() {
        let weighted = [(0.0, 1.0), (1.0, 1.0), (2.0, 2.0)].into_iter();
        let loads = quantiles(weighted, &[0.1, 0.25, 0.375, 0.75]);
        for (load, log) in loads.iter().zip([0.0, 0.0, 0.5, 1.5]) {
            assert!((load.ln() - log).abs() < 1e-12, "{loads:?}");
        }
    }

    #[test]
    fn the_grid_reaches_to_twice_the_loads_tried() {
        let grid = grid((100.0, 200.0));
        assert!((grid[0].exp() - 50.0).abs() < 1e-9);
        assert!((grid[grid.len() - 1].exp() / 400.0 - 1.0).abs() < GRID_STEP);
    }
}
