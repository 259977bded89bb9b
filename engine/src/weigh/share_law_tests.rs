use super::*;

const LIMIT: f64 = 0.01;
/// The middle of the grid.
const HERE: usize = 200;

fn law(together: f64, gap: f64) -> ShareLaw {
    // The share that says most has twice the odds of the limit.
    let odds = 2.0 * LIMIT / (1.0 - LIMIT);
    ShareLaw::new(ShareLawSpec { limit: LIMIT, telling: odds / (1.0 + odds), together, gap })
}

/// Breaking points from 100 to 10,000 per second, as logarithms; levels are at 1,000.
fn grid() -> Vec<f64> {
    (0..=2 * HERE).map(|number| 100_f64.ln() + 100_f64.ln() * number as f64 / (2 * HERE) as f64).collect()
}

fn level(known: u64, against: u64) -> LevelSpec {
    LevelSpec {
        load: 1_000.0,
        start: 0,
        known,
        against,
        settled_s: 0.0,
        watched_s: 0.0,
        passed_s: None,
        limit_s: None,
        pace: None,
    }
}

/// Curves × breaking points.
fn likelihood(law: &ShareLaw, known: u64, against: u64) -> Vec<Vec<f64>> {
    let all = law.likelihood(&level(known, against), &law.shares(1_000.0, &grid()));
    all.chunks_exact(grid().len()).map(<[f64]>::to_vec).collect()
}

/// The same, averaged over all curves.
fn likely(law: &ShareLaw, known: u64, against: u64) -> Vec<f64> {
    let rows = likelihood(law, known, against);
    (0..grid().len())
        .map(|at| rows.iter().zip(&law.prior).map(|(row, prior)| row[at] * prior).sum())
        .collect()
}

#[test]
fn the_prior_is_uniform_over_curves() {
    let prior = law(1.0, 0.0).prior;
    assert!((prior.iter().sum::<f64>() - 1.0).abs() < 1e-12 && prior.iter().all(|each| *each == prior[0]));
}

#[test]
fn slow_answers_lower_the_breaking_point_and_their_absence_raises_it() {
    let (held, broke) = (likely(&law(1.0, 0.0), 308, 0), likely(&law(1.0, 0.0), 50, 25));
    assert!(held.windows(2).all(|pair| pair[1] >= pair[0] - 1e-12) && held[2 * HERE] > 3.0 * held[0]);
    assert!(broke.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12) && broke[0] > 10.0 * broke[2 * HERE]);
}

#[test]
fn every_curve_has_the_limit_at_the_breaking_point() {
    // So a level there does not distinguish curves, and a share at the limit fits each of them perfectly.
    for row in likelihood(&law(1.0, 0.0), 10_000, 100) {
        assert!((row[HERE] - 1.0).abs() < 1e-6);
    }
    let all = likely(&law(1.0, 0.0), 10_000, 100);
    assert!(all.iter().all(|each| *each <= all[HERE]));
}

#[test]
fn shares_far_beyond_the_limit_count_equally() {
    // If the breaking point is a tenth of the load, all answers are slow by the steepest curve; here half were.
    let steepest = |against| likelihood(&law(1.0, 0.0), 1_000, against).pop().unwrap()[0];
    assert!((steepest(500) - 1.0).abs() < 1e-6 && steepest(20) < 1e-6);
}

#[test]
fn answers_that_count_as_one_have_the_weight_of_one() {
    let (ten, one) = (likely(&law(10.0, 0.0), 3_080, 50), likely(&law(1.0, 0.0), 308, 5));
    assert!(ten.iter().zip(&one).all(|(ten, one)| (ten - one).abs() < 1e-12));
}

#[test]
fn bunched_answers_have_less_weight() {
    let range = |together| {
        let found = likely(&law(together, 0.0), 1_000, 30);
        let ends = [f64::min, f64::max].map(|of| found.iter().copied().reduce(of).unwrap());
        (ends[1] / ends[0]).ln()
    };
    assert!(range(10.0) < 0.5 * range(1.0));
}

#[test]
fn if_levels_may_hold_above_the_lasting_load_the_breaking_point_may_be_lower() {
    let (wide, plain) = (law(1.0, 0.5), law(1.0, 0.0));
    let below_950 = HERE - 5;
    for (wide, plain) in likely(&wide, 308, 0).iter().zip(likely(&plain, 308, 0)).take(below_950) {
        assert!(*wide > plain);
    }
    assert_eq!(wide.prior.len(), 3 * plain.prior.len());
}

#[test]
fn the_most_informative_level_has_twice_the_odds_of_the_limit() {
    let reach = law(1.0, 0.0).reach(&[0.0]);
    // The first curve has no floor: -ln(1 - share) rises with this power of the load.
    let share = -((-LIMIT).ln_1p() * (POWER_MIN * reach[0]).exp()).exp_m1();
    assert!((share / (1.0 - share) / (2.0 * LIMIT / (1.0 - LIMIT)) - 1.0).abs() < 1e-9);
    // The steeper the curve, the nearer to the breaking point.
    assert!(reach.iter().all(|each| *each > 0.0) && reach[reach.len() - 1] < 0.01 && reach[0] > 0.01);
}

#[test]
fn a_level_that_fits_no_load_may_show_any_share() {
    for (known, against) in [(308, 0), (308, 30), (308, 308)] {
        let blind = law(1.0, 0.0).blind(&level(known, against));
        assert!(0.01 < blind && blind < 1.0);
    }
}
