use super::*;

/// Times from 0 on: some evenly spaced ones, then geometric ones.
fn times(even_to: f64, to: f64) -> Vec<f64> {
    let even = (0..100).map(|number| even_to * f64::from(number) / 100.0);
    let geometric = (0..=5_000).map(|number| even_to * (to / even_to).powf(f64::from(number) / 5_000.0));
    even.chain(geometric).collect()
}

#[test]
fn without_a_drift_it_is_the_closed_form() {
    for time in [0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 4.0] {
        let term = |number: i32| {
            let odd = f64::from(2 * number + 1);
            let sign = if number % 2 == 0 { 1.0 } else { -1.0 };
            4.0 / PI * sign / odd * (-(odd * PI).powi(2) / 8.0 * time).exp()
        };
        let closed: f64 = (0..100).map(term).sum();
        assert!((below(0.0, time) - closed).abs() < 2e-3, "{time}");
    }
}

#[test]
fn the_mean_time_to_reach_1_is_the_known_one() {
    for drift in [-2.0, -1.0, 1.0, 3.0, 10.0, 20.0, 30.0, 60.0, 400.0_f64] {
        let mean = 1.0 / drift - (1.0 - (-2.0 * drift).exp()) / (2.0 * drift * drift);
        let times = times(mean / 50.0, 50.0 * mean);
        let area = |pair: &[f64]| (pair[1] - pair[0]) * (below(drift, pair[0]) + below(drift, pair[1])) / 2.0;
        let found: f64 = times.windows(2).map(area).sum();
        assert!((found / mean - 1.0).abs() < 0.03, "{drift}: {found}, not {mean}");
    }
}

#[test]
fn the_share_that_has_passed_begins_at_zero_and_never_falls() {
    for drift in [-60.0, -5.0, 0.0, 5.0, 30.0, 59.0, 60.0, 300.0] {
        let stays: Vec<f64> = times(1e-9, 1e4).iter().map(|time| below(drift, *time)).collect();
        assert!((stays[0] - 1.0).abs() < 1e-12 && (stays[1] - 1.0).abs() < 1e-6, "{drift}");
        assert!(stays.windows(2).all(|pair| pair[1] <= pair[0] + 1e-6 && pair[1] >= 0.0), "{drift}");
        assert!(drift < 0.0 || stays[stays.len() - 1] < 1e-6, "{drift}");
    }
}

#[test]
fn a_faster_drift_passes_sooner() {
    for time in [0.004, 0.03, 0.3, 3.0] {
        let stays: Vec<f64> = (-160..=160).map(|half| below(f64::from(half) / 2.0, time)).collect();
        assert!(stays.windows(2).all(|pair| pair[1] <= pair[0] + 0.02), "{time}");
    }
}

#[test]
fn beyond_the_table_it_is_extrapolated_evenly() {
    let [one, two, four] = [60.0, 120.0, 240.0].map(|time| below(-2.0, time).ln());
    assert!((two / one - 2.0).abs() < 1e-9 && (four / one - 4.0).abs() < 1e-9);
}

#[test]
fn half_of_the_walks_pass_at_the_returned_drift() {
    let mut before = f64::INFINITY;
    for time in (0..TIMES).map(time).filter(|time| (0.05..20.0).contains(time)) {
        let drift = half(time);
        assert!((below(drift, time) - 0.5).abs() < 0.02, "{time}");
        assert!(drift <= before);
        before = drift;
    }
}

#[test]
fn far_below_the_mean_the_share_is_that_of_the_series() {
    // Where both are exact to a double's last digits.
    for z in [-12.0, -15.0, -25.0] {
        let near = (libm::erfc(-z / SQRT_2) / 2.0).ln();
        assert!((log_normal_below(z) / near - 1.0).abs() < 1e-13, "{z}");
    }
    // Beyond the smallest double there is only the series.
    assert!((log_normal_below(-100.0) + 5_005.524_208_694_205).abs() < 1e-8);
}
