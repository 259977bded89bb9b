use super::*;

fn constant(per_s: f64, arrivals: Arrivals) -> Open {
    open(&[(per_s, per_s, 1.0)], arrivals)
}

fn open(stretches: &[(f64, f64, f64)], arrivals: Arrivals) -> Open {
    let stretches = stretches
        .iter()
        .map(|&(from, to, seconds)| Stretch {
            from_per_ns: from / 1e9,
            to_per_ns: to / 1e9,
            length_ns: seconds * 1e9,
        })
        .collect();
    Open { connections: 1, arrivals, stretches, part: Part::WHOLE }
}

fn due_before(shape: &Open, seconds: f64, seed: u64) -> Vec<u64> {
    shape.schedule(0, seed).take_while(|&due_ns| (due_ns as f64) < seconds * 1e9).collect()
}

fn gaps(due_ns: &[u64]) -> Vec<f64> {
    due_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
}

/// Returns the standard deviation of the gaps over their mean.
fn variation(gaps: &[f64]) -> f64 {
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    variance.sqrt() / mean
}

#[test]
fn even_gaps_are_equal_however_long_it_goes() {
    for per_s in [0.5, 3.0, 1_000.0, 20_000.0, 333_333.0] {
        let due_ns: Vec<u64> = constant(per_s, Arrivals::Even).schedule(0, 1).take(100_000).collect();
        assert_eq!(due_ns[0], 0);
        let gap_ns = 1e9 / per_s;
        assert!(gaps(&due_ns).iter().all(|gap| (gap - gap_ns).abs() <= 1.5), "{per_s} per second");
        let last = due_ns[99_999] as f64;
        assert!((last - 99_999.0 * gap_ns).abs() < gap_ns.max(1e3) * 1e-6 + 2.0, "no drift: {last}");
    }
}

#[test]
fn in_any_window_exactly_as_many_are_due_as_its_rate_times_its_length() {
    let rates = (1..=200).chain([333, 500, 777, 1_000, 1_234, 9_999, 10_000, 54_321, 100_000]);
    for per_s in rates {
        for length_ms in [100_u64, 200, 300, 500, 700, 1_000, 1_500, 2_200, 3_000, 7_000, 10_000] {
            if per_s * length_ms % 1_000 != 0 {
                continue;
            }
            for lead_ms in [0, 100, 300, 1_000, 2_200] {
                if per_s * lead_ms % 1_000 != 0 {
                    continue;
                }
                let (from_ns, to_ns) = (lead_ms * 1_000_000, (lead_ms + length_ms) * 1_000_000);
                let mut one_by_one = constant(per_s as f64, Arrivals::Even).schedule(from_ns, 1);
                let mut skipping = constant(per_s as f64, Arrivals::Even).schedule(from_ns, 1);
                let before = skipping.skip_to(from_ns);
                let within = skipping.skip_to(to_ns);
                let said = format!("{per_s} per second, from {lead_ms} ms for {length_ms} ms");
                assert_eq!((before, within), (per_s * lead_ms / 1_000, per_s * length_ms / 1_000), "{said}");
                if per_s <= 1_000 {
                    let due = one_by_one.by_ref().take_while(|&due_ns| due_ns < to_ns);
                    let counted = due.filter(|&due_ns| due_ns >= from_ns).count() as u64;
                    assert_eq!(counted, within, "{said}, one by one");
                }
            }
        }
    }
}

#[test]
fn poisson_gaps_are_exponential() {
    for seed in 0..5 {
        let due_ns: Vec<u64> =
            constant(20_000.0, Arrivals::Poisson).schedule(0, seed).take(100_001).collect();
        let mut gaps = gaps(&due_ns);
        assert!((variation(&gaps) - 1.0).abs() < 0.02, "{}", variation(&gaps));
        // Kolmogorov-Smirnov against 1 - exp(-x): the distance exceeds 1.95 / sqrt(n) once in a thousand.
        gaps.sort_by(f64::total_cmp);
        let count = gaps.len() as f64;
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(place, gap)| ((1.0 - (-gap / 50_000.0).exp()) - (place as f64 + 0.5) / count).abs())
            .fold(0.0, f64::max);
        assert!(distance < 1.95 / count.sqrt(), "{distance}");
    }
}

#[test]
fn poisson_counts_have_the_variance_of_their_mean() {
    let due_ns = due_before(&constant(10_000.0, Arrivals::Poisson), 20.0, 9);
    let mut counts = vec![0.0; 2_000];
    for due in &due_ns {
        counts[(due / 10_000_000) as usize] += 1.0;
    }
    let mean = counts.iter().sum::<f64>() / 2_000.0;
    let variance = counts.iter().map(|count: &f64| (count - mean).powi(2)).sum::<f64>() / 2_000.0;
    assert!((mean - 100.0).abs() < 1.2, "{mean}");
    // The standard error of a variance over 2,000 counts is 3.2 %.
    assert!((variance / mean - 1.0).abs() < 0.16, "{variance}");
}

#[test]
fn the_seed_decides() {
    let shape = constant(1_000.0, Arrivals::Poisson);
    assert_eq!(due_before(&shape, 1.0, 4), due_before(&shape, 1.0, 4));
    assert_ne!(due_before(&shape, 1.0, 4), due_before(&shape, 1.0, 5));
}

#[test]
fn steps_have_their_counts() {
    let shape = open(&[(100.0, 100.0, 1.0), (1_000.0, 1_000.0, 2.0), (50.0, 50.0, 1.0)], Arrivals::Even);
    let due_ns = due_before(&shape, 10.0, 1);
    let between = |from: f64, to: f64| {
        due_ns.iter().filter(|&&due| (from * 1e9..to * 1e9).contains(&(due as f64))).count()
    };
    assert_eq!(between(0.0, 1.0), 100);
    assert_eq!(between(1.0, 3.0), 2_000);
    assert_eq!(between(3.0, 4.0), 50);
    // The last rate goes on.
    assert_eq!(between(4.0, 10.0), 300);
}

#[test]
fn a_ramp_rises_by_the_integral_of_its_rate() {
    let shape = open(&[(0.0, 1_000.0, 10.0)], Arrivals::Even);
    let due_ns = due_before(&shape, 10.0, 1);
    assert!((4_999..=5_001).contains(&due_ns.len()), "{}", due_ns.len());
    for tenth in 1..=10 {
        let seconds = f64::from(tenth);
        let due = due_ns.iter().filter(|&&due| (due as f64) < seconds * 1e9).count() as f64;
        assert!((due - 50.0 * seconds * seconds).abs() <= 1.0, "{due} in {seconds} s");
    }
}

#[test]
fn a_falling_rate_ends_where_it_should() {
    let shape = open(&[(1_000.0, 100.0, 10.0)], Arrivals::Even);
    let due_ns = due_before(&shape, 10.0, 1);
    assert!((5_499..=5_501).contains(&due_ns.len()), "{}", due_ns.len());
    assert!(due_ns.windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn a_lead_goes_before_all_the_rest() {
    let shape = open(&[(10.0, 10.0, 1.0), (1_000.0, 1_000.0, 1.0)], Arrivals::Even);
    let due_ns: Vec<u64> = shape.schedule(5_000_000_000, 1).take(60 + 1_000).collect();
    assert_eq!(due_ns.iter().filter(|&&due| due < 6_000_000_000).count(), 60);
    assert_eq!(due_ns.iter().filter(|&&due| due >= 6_000_000_000).count(), 1_000);
}

fn all_kinds() -> Vec<Open> {
    let rates = [(0.0, 3_000.0, 0.7), (3_000.0, 0.0, 0.4), (50.0, 50.0, 0.3), (9_000.0, 700.0, 0.5)];
    [Arrivals::Even, Arrivals::Poisson].map(|arrivals| open(&rates, arrivals)).to_vec()
}

#[test]
fn skipping_counts_what_going_on_one_by_one_would() {
    for shape in all_kinds() {
        for (taken, end_s) in [(0, 0.0), (0, 0.2), (7, 0.7), (500, 1.1), (1_500, 1.3), (10, 3.0)] {
            let end_ns = (end_s * 1e9) as u64;
            let mut schedule = shape.schedule(0, 5);
            schedule.by_ref().take(taken).for_each(drop);
            let skipped = schedule.skip_to(end_ns);
            let before = due_before(&shape, end_s, 5).len();
            assert_eq!(skipped as usize, before.saturating_sub(taken), "{taken} taken, to {end_s} s");
        }
    }
}

#[test]
fn after_skipping_the_schedule_goes_on_at_its_rate() {
    for shape in all_kinds() {
        let mut schedule = shape.schedule(0, 5);
        schedule.skip_to(1_500_000_000);
        let next: Vec<u64> = schedule.take(2_000).collect();
        assert!(next[0] >= 1_500_000_000 && next.is_sorted());
        // The rate is 7,340 a second at 1.5 s, and falls by 16.6 a second each millisecond: 473 are due within 70 ms.
        let within = next.iter().filter(|&&due| due < 1_570_000_000).count() as f64;
        assert!((within - 473.0).abs() < 5.0 * 473_f64.sqrt(), "{within}");
    }
}

#[test]
fn a_day_of_millions_a_second_is_skipped_at_once() {
    for (arrivals, off) in [(Arrivals::Even, 1.0), (Arrivals::Poisson, 6.0 * 864e9_f64.sqrt())] {
        let shape = constant(10_000_000.0, arrivals);
        let mut schedule = shape.schedule(0, 3);
        let skipped = schedule.skip_to(86_400_000_000_000) as f64;
        assert!((skipped - 864e9).abs() <= off, "{skipped}");
    }
}

#[test]
fn the_number_of_many_poisson_arrivals_varies_as_theirs_does() {
    let shape = constant(1_000_000.0, Arrivals::Poisson);
    let off = |seed| (shape.schedule(0, seed).skip_to(1_000_000_000) as f64 - 1e6) / 1e3;
    let mean_square = (0..2_000).map(|seed| off(seed) * off(seed)).sum::<f64>() / 2_000.0;
    // The bounds are five standard errors of a variance over 2,000 away.
    assert!((mean_square - 1.0).abs() < 0.16, "{mean_square}");
}

#[test]
fn due_times_never_fall_from_one_stretch_to_the_next() {
    for rates in [[(1e7, 0.01, 86_400.0), (1e7, 1e7, 1.0)], [(1e7, 1.0, 50_000.0), (1e7, 1e7, 1.0)]] {
        let mut schedule = open(&rates, Arrivals::Even).schedule(0, 1);
        schedule.skip_to((rates[0].2 * 1e9) as u64 - 100_000_000);
        assert!(schedule.take(100_000).is_sorted());
    }
}
