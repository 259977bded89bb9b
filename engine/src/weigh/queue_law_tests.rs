use super::*;

// One worker with random (exponential) times and independent users: the variances of gaps and work are 1 each. The
// breaking point lies 18.4 below the capacity.
const LIMIT: f64 = 0.01;
const LIMIT_S: f64 = 0.25;
const CAPACITY: f64 = 1_000.0;
const EDGE: f64 = 981.6;
/// The deviation of the variance that is nearest to none.
const AS_COMPUTED_AT: usize = 3;

fn law(pace: Option<(u64, f64)>) -> QueueLaw {
    let log_share = (1.0 / LIMIT).ln();
    QueueLaw::new(QueueLawSpec {
        log_share,
        room_s: LIMIT_S,
        variance: 2.0,
        work_variance: 1.0,
        known_to: 0.3,
        beyond_s_per_load: LIMIT_S * LIMIT_S / (log_share * log_share),
        level_s: 3.0,
        pace,
    })
}

/// Breaking points, as logarithms.
fn grid() -> Vec<f64> {
    (700..=1_400).map(|load| f64::from(load).ln()).collect()
}

fn level(load: f64, passed_s: Option<f64>) -> LevelSpec {
    LevelSpec {
        load,
        start: 0,
        known: 3_000,
        against: if passed_s.is_some() { 100 } else { 0 },
        settled_s: 1.0,
        watched_s: 3.0,
        passed_s,
        limit_s: Some(LIMIT_S),
        pace: None,
    }
}

/// How likely the level is at each of the breaking points, with the variance as computed.
fn likely(level: &LevelSpec) -> Vec<f64> {
    as_computed(&law(None).likelihood(level, &grid()))
}

fn as_computed(all: &[f64]) -> Vec<f64> {
    all.chunks_exact(grid().len()).nth(AS_COMPUTED_AT).unwrap().to_vec()
}

/// The value at a breaking point.
fn at(likelihoods: &[f64], load: f64) -> f64 {
    likelihoods[(load - 700.0).round() as usize]
}

/// The breaking point with the highest likelihood.
fn best(likelihoods: &[f64]) -> f64 {
    let (place, _) = likelihoods.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1)).unwrap();
    700.0 + place as f64
}

fn assert_near(found: f64, expected: f64, within: f64) {
    assert!((found / expected - 1.0).abs() < within, "{found} is not {expected}");
}

#[test]
fn a_level_that_held_says_little_of_loads_just_below_the_capacity() {
    // A level at 990 often holds although only 981.6 lasts; far above the load that lasts it does not.
    let held = likely(&level(990.0, None));
    assert!(at(&held, EDGE) > 0.5 && at(&held, 850.0) < 0.02);
}

#[test]
fn a_level_that_held_longer_says_more() {
    let [short, long] =
        [2.0, 8.0].map(|watched_s| at(&likely(&LevelSpec { watched_s, ..level(990.0, None) }), 960.0));
    assert!(long < 0.75 * short);
}

#[test]
fn a_queue_that_passed_the_limit_sooner_means_a_lower_breaking_point() {
    // The queue is empty a second before measuring begins, and the wait grows by load / capacity - 1.
    for (passed_s, grew_s) in [(0.5, 1.5), (2.0, 3.0)] {
        let found = best(&likely(&level(1_200.0, Some(passed_s))));
        assert_near(found, 1_200.0 / (1.0 + LIMIT_S / grew_s) - 18.4, 0.06);
    }
}

#[test]
fn a_queue_beyond_the_limit_before_measuring_may_have_passed_at_any_time() {
    // At 1.6 times the capacity the wait is 250 ms after 0.42 s of the second before measuring began.
    let found = likely(&level(1_600.0, Some(-0.25)));
    assert!(at(&found, 800.0) > 0.99 && at(&found, EDGE) > 0.99 && at(&found, 1_390.0) < 0.3);
    // The instant is not seen if it is before measuring began, and is seen if it is a little later.
    let [one, other] = [0.1, 0.1 - 1e-9].map(|passed_s| at(&likely(&level(1_600.0, Some(passed_s))), 800.0));
    assert_near(one, other, 1e-6);
    assert!(at(&likely(&level(1_600.0, Some(0.5))), 800.0) < 0.01);
}

#[test]
fn what_was_answered_before_the_first_level_says_where_the_capacity_is() {
    let before = as_computed(&law(Some((1_050, 1.0))).before(&grid()).unwrap());
    assert_near(best(&before), 1_050.0 - 18.4, 0.01);
    assert!(law(None).before(&grid()).is_none());
}

#[test]
fn under_a_closed_load_the_capacity_may_differ_a_little() {
    // Even a million answers are no more exact than that.
    let before = as_computed(&law(Some((1_000_000, 1_000.0))).before(&grid()).unwrap());
    let ratio = at(&before, EDGE * 1.03) / at(&before, EDGE);
    assert!(0.4 < ratio && ratio < 0.8, "{ratio}");
}

#[test]
fn the_throughput_at_capacity_gives_the_capacity() {
    let paced = LevelSpec { pace: Some((1_050, 1.0)), ..level(1_200.0, Some(0.25)) };
    assert_near(best(&likely(&paced)), 1_050.0 - 18.4, 0.02);
}

#[test]
fn the_most_informative_load_is_where_half_of_the_levels_hold_or_the_capacity() {
    let mut spec = law(None).spec;
    spec.room_s = 0.05;
    // With a limit of 50 ms the breaking point lies 92.1 below the capacity.
    let reach = QueueLaw::new(spec).reach(&[(CAPACITY - 92.1).ln()])[AS_COMPUTED_AT].exp();
    assert!(CAPACITY - 92.1 < reach && reach < CAPACITY);
    let (spread, drift) = (2.0 / CAPACITY, (reach / CAPACITY - 1.0) * 0.05);
    assert!((below(drift / spread, 3.0 * spread / (0.05 * 0.05)) - 0.5).abs() < 0.02);
    // Below the capacity three seconds are too short for most waits to grow to 250 ms.
    assert_near(law(None).reach(&[(CAPACITY - 18.42).ln()])[AS_COMPUTED_AT].exp(), CAPACITY, 1e-3);
}

#[test]
fn the_prior_is_highest_at_the_computed_variance() {
    let prior = law(None).prior;
    assert_near(prior.iter().sum(), 1.0, 1e-12);
    assert!(prior.iter().all(|each| *each <= prior[AS_COMPUTED_AT]));
    let mut spec = law(None).spec;
    spec.known_to = 0.15;
    assert!(QueueLaw::new(spec).prior[AS_COMPUTED_AT] > 1.3 * prior[AS_COMPUTED_AT]);
}

#[test]
fn a_level_that_fits_no_load_has_a_stated_chance() {
    assert_near(QueueLaw::blind(&level(1.0, None)), 0.5, 1e-12);
    assert_near(QueueLaw::blind(&level(1.0, Some(1.0))), 0.1, 1e-12);
}

#[test]
fn the_density_is_that_of_students_t() {
    // The whole of it is 1, and its quantile at 97.5 % is 2.776.
    let area =
        |to: f64| (0..100_000).map(|number| student(to * (f64::from(number) + 0.5) / 1e5) * to / 1e5).sum();
    let (all, middle): (f64, f64) = (area(1e3), area(2.776_445));
    assert!((all - 0.5).abs() < 1e-6 && (middle - 0.475).abs() < 1e-6);
}
